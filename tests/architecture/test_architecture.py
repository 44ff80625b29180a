"""The layering, determinism and size of the code are tests: a rule that only a document states will be broken.

Each checker is tried on the project, and on snippets that break its rule, which it must find, at the right line, and
on snippets that look like a breach and are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.architecture import determinism, layers, printing, sets, sizes
from tests.architecture.source import Breach, Project

ROOT = Path(__file__).resolve().parents[2]

Checker = Callable[[Project], Iterator[Breach]]
CHECKERS: tuple[Checker, ...] = (
    layers.check_direction,
    layers.check_libraries,
    layers.check_start,
    layers.check_absolute,
    layers.check_circles,
    determinism.check_waiting,
    determinism.check_clock,
    determinism.check_luck,
    determinism.check_outside,
    determinism.check_logger,
    sets.check_sets,
    sizes.check_sizes,
    sizes.check_loose_modules,
    printing.check_printing,
)


@pytest.fixture(scope="module")
def project() -> Project:
    return Project.read(ROOT)


def test_the_project_is_found(project: Project) -> None:
    assert {"cluster", "console", "recordings"} <= project.names


@pytest.mark.parametrize("check", CHECKERS, ids=lambda check: check.__name__)
def test_the_project_keeps_the_rule(check: Checker, project: Project) -> None:
    breaches = [str(breach) for breach in check(project)]
    assert not breaches, f"{check.__doc__}\n" + "\n".join(breaches)


# Each breach: the checker that must find it, the file it is in, and the file's text; `# !` marks the line to be named.
BREACHES: tuple[tuple[Checker, str, str], ...] = (
    (layers.check_direction, "cluster/view.py", "import recordings.journal.writer  # !"),
    (layers.check_direction, "cluster/view.py", "from console import presenters  # !"),
    (layers.check_direction, "recordings/journal/reader.py", "from console.app import App  # !"),
    (
        layers.check_direction,
        "recordings/journal/reader.py",
        "def f():\n    from cluster.broker.broker import Broker  # !",
    ),
    (layers.check_direction, "console/app.py", "from cluster.simulation import Simulation  # !"),
    (layers.check_direction, "console/widgets/lanes.py", "from cluster import coordinators  # !"),
    (layers.check_direction, "cluster/protocol/messages.py", "from cluster.broker import partition_log  # !"),
    (layers.check_direction, "cluster/assignors/range.py", "import cluster.clients.consumer.consumer  # !"),
    (layers.check_direction, "cluster/coordinators/group/group.py", "from cluster.assignors import ASSIGNORS  # !"),
    (
        layers.check_direction,
        "cluster/coordinators/group/group.py",
        "from cluster.virtual_time.timeline import Timeline  # !",
    ),
    (layers.check_direction, "cluster/broker/broker.py", "from cluster.clients.consumer.consumer import Consumer  # !"),
    (
        layers.check_direction,
        "cluster/clients/consumer/consumer.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cluster.broker.broker import Broker  # !",
    ),
    (layers.check_direction, "cluster/broker/broker.py", "import cluster.simulation  # !"),
    (layers.check_direction, "cluster/events.py", "from cluster.coordinators.group.group import Group  # !"),
    (layers.check_libraries, "cluster/network/network.py", "import trio  # !"),
    (layers.check_libraries, "recordings/flights/rerun.py", "from trio import run  # !"),
    (layers.check_libraries, "recordings/journal/playback.py", "from textual.app import App  # !"),
    (layers.check_libraries, "recordings/tables/export.py", "def f():\n    import pyspark.sql  # !"),
    (layers.check_libraries, "cluster/coordinators/group/group.py", "import random  # !"),
    (layers.check_start, "console/cli/main.py", "from recordings.spark import report  # !"),
    (layers.check_start, "recordings/tables/export.py", "try:\n    import pyarrow  # !\nexcept ImportError:\n    pass"),
    (layers.check_absolute, "cluster/broker/broker.py", "from . import partition_log  # !"),
    (layers.check_absolute, "cluster/broker/broker.py", "from cluster.events import *  # !"),
    (determinism.check_waiting, "cluster/clients/consumer/fetcher.py", "import trio\nready = trio.Event()  # !"),
    (determinism.check_waiting, "cluster/clients/consumer/fetcher.py", "import trio as t\nlock = t.Lock()  # !"),
    (determinism.check_waiting, "cluster/clients/consumer/fetcher.py", "from trio import sleep\nwait = sleep  # !"),
    (
        determinism.check_waiting,
        "cluster/clients/consumer/fetcher.py",
        "import trio\na = trio.open_memory_channel(1)  # !",
    ),
    (
        determinism.check_waiting,
        "cluster/clients/consumer/fetcher.py",
        "import trio\nwith trio.move_on_after(1): pass  # !",
    ),
    (determinism.check_waiting, "cluster/clients/consumer/fetcher.py", "import trio\nwith trio.fail_at(1): pass  # !"),
    (
        determinism.check_waiting,
        "cluster/clients/consumer/fetcher.py",
        "import trio\nx = trio.lowlevel.checkpoint()  # !",
    ),
    (
        determinism.check_waiting,
        "cluster/clients/consumer/fetcher.py",
        "import trio\ns = trio.CancelScope(deadline=3)  # !",
    ),
    (determinism.check_waiting, "cluster/clients/consumer/fetcher.py", "def f(scope):\n    scope.deadline = 3  # !"),
    (
        determinism.check_waiting,
        "cluster/clients/consumer/fetcher.py",
        "def f(nursery, a):\n    nursery.start_soon(a)  # !",
    ),
    (determinism.check_waiting, "cluster/simulation.py", "async def f(self, a):\n    await self.nursery.start(a)  # !"),
    (determinism.check_waiting, "cluster/broker/broker.py", "async def handle(): ...  # !"),
    (determinism.check_clock, "cluster/view.py", "import time\nnow = time.monotonic()  # !"),
    (determinism.check_clock, "cluster/view.py", "from time import perf_counter\nnow = perf_counter()  # !"),
    (determinism.check_clock, "cluster/virtual_time/timeline.py", "import time\nnow = time.time()  # !"),
    (determinism.check_clock, "cluster/view.py", "import datetime\nnow = datetime.datetime.now()  # !"),
    (determinism.check_clock, "cluster/view.py", "from datetime import datetime\nnow = datetime.now  # !"),
    (determinism.check_luck, "cluster/network/network.py", "import random\nx = random.random()  # !"),
    (determinism.check_luck, "cluster/network/network.py", "from random import shuffle\nshuffle([])  # !"),
    (determinism.check_luck, "cluster/network/network.py", "import random\nx = random.Random()  # !"),
    (determinism.check_luck, "cluster/network/network.py", "import random\nx = random.SystemRandom(1)  # !"),
    (determinism.check_luck, "cluster/network/network.py", "import os\nx = os.urandom(4)  # !"),
    (determinism.check_luck, "cluster/network/network.py", "from uuid import uuid4\nx = uuid4()  # !"),
    (determinism.check_luck, "cluster/network/network.py", "import secrets\nx = secrets.token_hex()  # !"),
    (determinism.check_outside, "cluster/spec/spec.py", "from pathlib import Path  # !"),
    (determinism.check_outside, "cluster/spec/spec.py", "text = open('x').read()  # !"),
    (determinism.check_outside, "cluster/spec/spec.py", "x = hash('orders') % 12  # !"),
    (determinism.check_logger, "recordings/journal/writer.py", "import structlog\nstructlog.configure()  # !"),
    (
        determinism.check_logger,
        "cluster/network/network.py",
        "from structlog import get_logger\nlog = get_logger()  # !",
    ),
    (printing.check_printing, "recordings/doctor.py", "print('x')  # !"),
    (printing.check_printing, "console/cli/plain.py", "def f(tell=print):  # !\n    tell('x')"),
    (printing.check_printing, "console/cli/output.py", "import sys\nsys.stderr.write('x')  # !"),
    (printing.check_printing, "console/cli/output.py", "def f(self):\n    self._stream.writelines(['x'])  # !"),
    (printing.check_printing, "console/bridge.py", "import os\nos.write(2, b'x')  # !"),
    (printing.check_printing, "console/screens/new.py", "from textual.strip import Strip\nx = Strip([])  # !"),
    (sets.check_sets, "cluster/view.py", "for x in {1, 2}: pass  # !"),
    (sets.check_sets, "cluster/view.py", "x = [y for y in set('ab')]  # !"),
    (sets.check_sets, "cluster/view.py", "def f(isr: frozenset[int]):\n    return list(isr)  # !"),
    (sets.check_sets, "cluster/view.py", "def f(isr: set[int] | None):\n    return {i: 0 for i in isr or ()}  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set, b):\n    c = a - b\n    yield from c  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a, b):\n    for x in a.keys() & b: yield x  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set[str]):\n    return ', '.join(a)  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set[str]):\n    return f'{a}'  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set[str]):\n    return a.pop()  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set[str]):\n    return sorted(a, key=len)  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set[str]):\n    return [*a]  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: set[str]):\n    one, two = a  # !"),
    (sets.check_sets, "cluster/view.py", "def f(a: dict[str, set[int]]):\n    return tuple(a['x'])  # !"),
    (
        sets.check_sets,
        "cluster/view.py",
        "def f(a: dict[str, set[int]]):\n    for k, v in a.items():\n        list(v)  # !",
    ),
    (sets.check_sets, "cluster/view.py", "def members() -> set[str]: ...\nfor m in members(): pass  # !"),
    (
        sets.check_sets,
        "cluster/view.py",
        """
        class Group:
            def __init__(self) -> None:
                self.members = set()

            def names(self):
                return list(self.members)  # !
        """,
    ),
    (
        sets.check_sets,
        "cluster/view.py",
        """
        class Group:
            members: "set[str]"

        def names(group):
            for name in group.members:  # !
                yield name
        """,
    ),
    (sizes.check_sizes, "console/app.py", "# !\n" + "x = 1\n" * 400),
    (sizes.check_sizes, "console/app.py", "class A:\n    def f():  # !\n" + "        x = 1\n" * 50),
)


@pytest.mark.parametrize(("check", "path", "text"), BREACHES)
def test_a_breach_is_found_where_it_is(check: Checker, path: str, text: str, tmp_path: Path) -> None:
    text = dedent(text)
    line = next(number for number, row in enumerate(text.splitlines(), 1) if row.endswith("# !"))
    assert {(breach.path, breach.line) for breach in check(_project(tmp_path, {path: text}))} == {(path, line)}


# What looks like a breach and is none.
HARMLESS: tuple[tuple[str, str], ...] = (
    ("console/bridge.py", "import trio\nfrom cluster.simulation import Simulation\nevent = trio.Event()"),
    (
        "recordings/flights/runner.py",
        "import trio\nfrom cluster.simulation import Simulation\nfrom cluster import events",
    ),
    ("recordings/spark/session.py", "import pyspark\nfrom recordings.spark import tables"),
    ("console/cli/main.py", "def report():\n    from recordings.spark import report"),
    (
        "cluster/broker/broker.py",
        "from cluster.coordinators.group.group import Group\nfrom cluster.timeline import Timeline",
    ),
    (
        "cluster/clients/consumer/consumer.py",
        "from cluster.assignors import ASSIGNORS\nfrom cluster.network import Network",
    ),
    (
        "cluster/clients/consumer/consumer.py",
        "import trio\nasync def f():\n    async with trio.open_nursery() as n: pass",
    ),
    ("cluster/clients/consumer/consumer.py", "import trio\nscope = trio.CancelScope(shield=True)"),
    (
        "cluster/virtual_time/timeline.py",
        "import time\nimport trio\nnow = time.perf_counter()\ntrio.lowlevel.current_task()",
    ),
    (
        "cluster/virtual_time/timeline.py",
        "import trio\nclass Timeline(trio.abc.Clock): ...\ndef f(nursery, a): nursery.start_soon(a)",
    ),
    ("cluster/simulation.py", "def f(timeline, nursery, actor): timeline.start(nursery, actor)"),
    ("cluster/random_streams.py", "import random\ndef rng(seed, name): return random.Random(f'{seed}/{name}')"),
    ("cluster/network/network.py", "def f(batch, time): return batch.time.now, time.time, batch.random.choice"),
    ("cluster/view.py", "x = sorted({1, 2}), len({1}), 1 in {1}, {1} == {2}, min({1, 2})"),
    ("cluster/view.py", "def f(a: set[int]): return {x + 1 for x in a}, any(x > 1 for x in a), {*a, 1}, sorted(a)"),
    ("cluster/view.py", "def f(a: set[int]):\n    for x in sorted(a): yield x"),
    (
        "cluster/view.py",
        "def f(a: dict[str, set[int]]): return list(a), [k for k, v in a.items()], sum(len(v) for v in a)",
    ),
    ("cluster/view.py", "def f(a: set[int]):\n    for x in a:  # order-free: only counts\n        x"),
    ("cluster/view.py", "class A:\n    x: set[int]\nclass B:\n    x: list[int]\ndef f(b): return list(b.x)"),
    ("cluster/view.py", "class A:\n    x: set[int]\n    def f(self, y):\n        x = [y]\n        return list(x)"),
    ("cluster/view.py", "def f(a: set[int]): return len(a)\ndef g(a: list[int]): return list(a)"),
    ("cluster/view.py", "def f():\n" + "    x = 1\n" * 49),
)


@pytest.mark.parametrize(("path", "text"), HARMLESS)
def test_what_only_looks_like_a_breach_is_allowed(path: str, text: str, tmp_path: Path) -> None:
    project = _project(tmp_path, {path: text})
    assert [str(breach) for check in CHECKERS for breach in check(project)] == []


def test_a_circle_is_found_even_inside_functions(tmp_path: Path) -> None:
    project = _project(
        tmp_path,
        {
            "cluster/a.py": "from cluster import b",
            "cluster/b.py": "from cluster.c import x",
            "cluster/c.py": "def f():\n    import cluster.a",
            "cluster/d.py": "import cluster.a",
        },
    )
    (breach,) = layers.check_circles(project)
    assert breach.reason == "a circle of imports: cluster.a → cluster.b → cluster.c → cluster.a"


def test_two_ways_to_one_module_are_no_circle(tmp_path: Path) -> None:
    texts = {"cluster/a.py": "import cluster.b, cluster.c", "cluster/b.py": "import cluster.c", "cluster/c.py": ""}
    assert list(layers.check_circles(_project(tmp_path, texts))) == []


def test_a_listed_exception_needs_a_reason_and_a_need(tmp_path: Path) -> None:
    project = _project(tmp_path, {"cluster/long.py": "x = 1\n" * 401, "cluster/short.py": "x = 1\n"})
    listed = {"cluster/long.py": "a catalogue", "cluster/short.py": "was a catalogue", "cluster/gone.py": "not yet"}
    assert [breach.path for breach in sizes.check_sizes(project, files=listed)] == ["cluster/short.py"]
    assert [breach.path for breach in sizes.check_sizes(project, files={"cluster/long.py": ""})] == ["cluster/long.py"]


def test_one_loose_module_too_many_is_found_and_packages_do_not_count(tmp_path: Path) -> None:
    loose = {f"cluster/{name}.py": "" for name in ("__init__", "a", "b", "c")}
    project = _project(tmp_path, {**loose, "cluster/spec/d.py": ""})
    assert list(sizes.check_loose_modules(project, {"cluster": 3})) == []
    (breach,) = sizes.check_loose_modules(project, {"cluster": 2})
    assert breach.reason == "is one of 3 loose modules of cluster/, which may have 2"


def test_a_file_that_holds_one_class_may_be_longer(tmp_path: Path) -> None:
    of_one = "class Only:\n" + "    x = 1\n" * 500
    texts = {
        "cluster/one.py": of_one,
        "cluster/two.py": f"class First:\n    pass\n{of_one}",
        "cluster/none.py": "x = 1\n" * 501,
    }
    found = {breach.path for breach in sizes.check_sizes(_project(tmp_path, texts), files={})}
    assert found == {"cluster/two.py", "cluster/none.py"}


def test_every_checker_has_a_breach_to_find() -> None:
    tried = {check.__name__ for check, _, _ in BREACHES}
    tried |= {layers.check_circles.__name__, sizes.check_loose_modules.__name__}
    assert tried == {check.__name__ for check in CHECKERS}


def _project(root: Path, texts: dict[str, str]) -> Project:
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
    return Project.read(root)
