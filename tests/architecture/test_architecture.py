"""The layering, determinism and size of the code are tests: a rule that only a document states will be broken.

Each checker is tried on the project, and on snippets that break its rule, which it must find, at the right line, and
on snippets that look like a breach and are none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.architecture import classes, data, determinism, layers, printing, sets, sizes, states, vocabulary
from tests.architecture.source import Breach, Project

ROOT = Path(__file__).resolve().parents[2]

Checker = Callable[[Project], Iterator[Breach]]
CHECKERS: tuple[Checker, ...] = (
    layers.check_direction,
    layers.check_libraries,
    layers.check_start,
    layers.check_absolute,
    layers.check_circles,
    layers.check_private_textual,
    layers.check_top_level,
    determinism.check_waiting,
    determinism.check_clock,
    determinism.check_randomness,
    determinism.check_outside,
    determinism.check_logger,
    sets.check_sets,
    sizes.check_sizes,
    sizes.check_loose_modules,
    sizes.check_packages,
    sizes.check_small_modules,
    printing.check_printing,
    classes.check_unique_names,
    classes.check_bases,
    classes.check_protocols,
    data.check_constants,
    data.check_prose,
    data.check_handlers,
    states.check_states,
    vocabulary.check_vocabulary,
)


once = pytest.mark.xdist_group("project")  # one process reads the project


@pytest.fixture(scope="module")
def project() -> Project:
    return Project.read(ROOT)


@once
def test_the_project_is_found(project: Project) -> None:
    assert {"cluster", "console", "recordings"} <= project.names


@once
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
    (layers.check_direction, "cluster/events/event.py", "from cluster.coordinators.group.group import Group  # !"),
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
    (determinism.check_randomness, "cluster/network/network.py", "import random\nx = random.random()  # !"),
    (determinism.check_randomness, "cluster/network/network.py", "from random import shuffle\nshuffle([])  # !"),
    (determinism.check_randomness, "cluster/network/network.py", "import random\nx = random.Random()  # !"),
    (determinism.check_randomness, "cluster/network/network.py", "import random\nx = random.SystemRandom(1)  # !"),
    (determinism.check_randomness, "cluster/network/network.py", "import os\nx = os.urandom(4)  # !"),
    (determinism.check_randomness, "cluster/network/network.py", "from uuid import uuid4\nx = uuid4()  # !"),
    (determinism.check_randomness, "cluster/network/network.py", "import secrets\nx = secrets.token_hex()  # !"),
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
    (layers.check_private_textual, "console/app.py", "def f():\n    from textual._compositor import ChopsUpdate  # !"),
    (layers.check_top_level, "cluster/helpers.py", "# !"),
    (layers.check_top_level, "recordings/misc/format.py", "# !"),
    (sizes.check_small_modules, "console/bridge.py", "# !\nx = 1\n"),
    (classes.check_bases, "cluster/view.py", "class Half:  # !\n    x = 1\nclass Whole(Half): ...\nWhole()"),
    (
        classes.check_bases,
        "cluster/view.py",
        "class Half:  # !\n    x = 1\nclass Whole(Half): ...\ndef f(a: Half): isinstance(a, Half)\nAny = List[Half]",
    ),
    (
        classes.check_protocols,
        "cluster/broker/broker.py",
        """
        class Host(Protocol):  # !
            x: int
            def f(self): ...

        class Broker:
            def __init__(self):
                self.x = 1
            def f(self): ...

        class Nearly:
            x: int
        """,
    ),
    (data.check_constants, "cluster/storage/log.py", "from typing import Final\nA: Final = 1\n_MOST = -2  # !"),
    (data.check_prose, "console/presenters/impact.py", "def f(fault):\n    return fault.text.split()[0]  # !"),
    (data.check_prose, "console/presenters/impact.py", "def f(fault, name):\n    return name in fault.text  # !"),
    (data.check_prose, "recordings/spark/lag.py", "def f(row):\n    return parse(row['text'])  # !"),
    (data.check_prose, "recordings/spark/lag.py", "def f(event):\n    return parse(event.text)  # !"),
    (data.check_prose, "cluster/invariants/logs.py", "x = [f for f in y if f.fault.text.startswith('cut')]  # !"),
    (
        data.check_handlers,
        "cluster/view/fold.py",
        "import cluster.view.fold_groups as groups\ndef f(kind):\n    return getattr(groups, kind)  # !",
    ),
    (data.check_handlers, "cluster/view/fold.py", "import x\nfor module in [x]:\n    getattr(module, kind)  # !"),
    (data.check_handlers, "console/app.py", "def f(self, kind):\n    getattr(self, f'on_{kind}')()  # !"),
    (states.check_states, "cluster/broker/broker.py", "def f(self):\n    self.state = 'Running'  # !"),
    (states.check_states, "cluster/broker/broker.py", "def f(member):\n    member._phase: Phase = Phase.IDLE  # !"),
    (states.check_states, "cluster/protocol/states.py", "class BrokerState(StrEnum):  # !\n    OFF = 'Off'"),
    (
        states.check_states,
        "cluster/protocol/states.py",
        """
        class BrokerState(StrEnum):
            OFF = 'Off'

        class DiskState(StrEnum):  # !
            OFF = 'Off'

        TABLE = by_next_state('broker', BrokerState.OFF, {BrokerState.OFF: ()})
        """,
    ),
    (vocabulary.check_vocabulary, "cluster/hangar.py", "# !"),
    (vocabulary.check_vocabulary, "cluster/view.py", "def mend_links(): ...  # !"),
    (vocabulary.check_vocabulary, "cluster/view.py", "class LinkInjury: ...  # !"),
    (vocabulary.check_vocabulary, "cluster/view.py", "def f(tell):  # !\n    pass"),
    (vocabulary.check_vocabulary, "cluster/view.py", "x = 'the link is mended'  # !"),
    (vocabulary.check_vocabulary, "cluster/view.py", "x = f'{1} is what nobody reads'  # !"),
    (vocabulary.check_vocabulary, "cluster/view.py", "x = f'{1} stands still'  # !"),
    (vocabulary.check_vocabulary, "cluster/view.py", "x = 1\n# whoever reads this  # !"),
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
    ("recordings/spark/runtime/session.py", "import pyspark\nfrom recordings.spark import tables"),
    ("console/cli/play.py", "def report():\n    from recordings.spark import report"),
    (
        "cluster/broker/broker.py",
        "from cluster.coordinators.group.group import Group\nfrom cluster.virtual_time.timeline import Timeline",
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
    ("cluster/view.py", "def f(decks, deckle, tellurium): return 'flightdeck tells what amended facts say'"),
    ("cluster/view.py", "class Base: ...\nclass One(Base): ...\nBase()"),
    ("cluster/view.py", "class Base: ...\nclass One(Base): ...\nkind = One if x else Base"),
    ("cluster/view.py", "class Base: ...\nclass One(Base): ...\nclass Two(Base): ..."),
    ("cluster/view.py", "class Call(Protocol):\n    def __call__(self): ..."),
    ("cluster/view.py", "def f(fault): return fault.text, fault.kind.split('-'), fault.targets"),
    ("cluster/commands/grammar.py", "def f(fault): return fault.text.split()"),
    ("cluster/view.py", "def f(x, name): return getattr(x, 'name', None), getattr(x, name)"),
    (
        "cluster/protocol/states.py",
        """
        class BrokerState(StrEnum):
            OFF = 'Off'

        _S, _E = BrokerState, BrokerEvent
        TABLE = StateTable('broker', _S.OFF, {_S.OFF: {_E.START: _S.OFF}})

        class Broker:
            def __init__(self):
                self.state = BrokerState.OFF

            def start(self):
                self.state = TABLE.next_state(self.state, _E.START)
        """,
    ),
    ("cluster/view/fold.py", "def f(member): member.state = 'Left'"),
    ("console/terminal_output.py", "from textual._compositor import ChopsUpdate"),
)


@pytest.mark.parametrize(("path", "text"), HARMLESS)
def test_what_only_looks_like_a_breach_is_allowed(path: str, text: str, tmp_path: Path) -> None:
    project = _project(tmp_path, {path: text})
    checkers = [check for check in CHECKERS if check is not sizes.check_small_modules]  # every snippet is small
    assert [str(breach) for check in checkers for breach in check(project)] == []


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


@once
def test_every_listed_exception_names_what_is_there(project: Project) -> None:
    paths = {module.path for module in project.modules}
    packages = {path.rpartition("/")[0] for path in paths}
    names = {
        node.name for module in project.modules for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)
    }
    assert {*sizes.LONGER_FILES, *sizes.SMALL_MODULES, *vocabulary.ALLOWED} <= paths
    assert set(sizes.LARGE_PACKAGES) <= packages
    assert {*classes.SINGLE_BASES, *classes.SINGLE_PROTOCOLS} <= names
    listed = {*data.BORDERS, *states.REPEATERS, *printing.BORDER, *printing.DRAWING}
    listed |= {name.rpartition(".")[0] for name in (*data.BY_NAME, *data.SET_BY_TESTS)}
    listed |= {f"{top}.{name}" for top, words in layers.TOP_LEVEL.items() for name in words.split()}
    assert listed <= project.names | {"recordings.library"}


def test_one_loose_module_too_many_is_found_and_packages_do_not_count(tmp_path: Path) -> None:
    loose = {f"cluster/{name}.py": "" for name in ("__init__", "a", "b", "c")}
    project = _project(tmp_path, {**loose, "cluster/spec/d.py": ""})
    assert list(sizes.check_loose_modules(project, {"cluster": 3})) == []
    (breach,) = sizes.check_loose_modules(project, {"cluster": 2})
    assert breach.reason == "is one of 3 loose modules of cluster/, which may have 2"


def test_a_package_of_too_many_modules_is_found(tmp_path: Path) -> None:
    texts = {f"cluster/spec/{name}.py": "" for name in ("__init__", "a", "b", "c")}
    project = _project(tmp_path, texts)
    assert list(sizes.check_packages(project, {"cluster/spec": 3})) == []
    (breach,) = sizes.check_packages(project, {"cluster/spec": 2})
    assert (breach.path, breach.reason) == (
        "cluster/spec/c.py",
        "is one of 3 modules of cluster/spec/, which may have 2",
    )


def test_a_class_name_that_occurs_twice_is_found(tmp_path: Path) -> None:
    texts = {"cluster/view/a.py": "class A: ...\nclass B: ...", "console/app.py": "def f():\n    class A: ..."}
    (breach,) = classes.check_unique_names(_project(tmp_path, texts))
    assert str(breach) == "console/app.py:2: A is also a class of cluster/view/a.py"


def test_a_listed_private_word_is_allowed_in_its_file_only(tmp_path: Path) -> None:
    texts = {f"console/{name}.py": "x = 'hangar'" for name in ("app", "bridge")} | {"console/player.py": "x = 1"}
    listed = {f"console/{name}.py": ("hangar", "an alias") for name in ("app", "player")}
    found = {str(breach) for breach in vocabulary.check_vocabulary(_project(tmp_path, texts), listed)}
    assert found == {
        "console/bridge.py:1: the private word 'hangar': say library",
        "console/player.py:1: 'hangar' is listed as a contract, and does not occur",
    }


def test_one_protocol_too_many_is_found(tmp_path: Path) -> None:
    two = "class A(Protocol):\n    x: int\nclass B(Protocol):\n    x: int\nclass C:\n    x = 1\nclass D:\n    x = 2"
    project = _project(tmp_path, {"cluster/view/a.py": two})
    assert list(classes.check_protocols(project, most=2)) == []
    (breach,) = classes.check_protocols(project, most=1)
    assert breach.reason == "B is one of 2 Protocols; 1 may be"


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
    tried |= {layers.check_circles.__name__, sizes.check_loose_modules.__name__, sizes.check_packages.__name__}
    tried |= {classes.check_unique_names.__name__}
    assert tried == {check.__name__ for check in CHECKERS}


def _project(root: Path, texts: dict[str, str]) -> Project:
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
    return Project.read(root)
