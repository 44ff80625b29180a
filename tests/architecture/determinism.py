"""One seed, one flight: what `cluster/` must not touch.

Time is the Timeline's, draws are `rng(name)`'s, waiting is `park`'s. A trio primitive wakes tasks in an order that trio
shuffles on purpose, a wall clock differs on every machine, and a hash or an address differs in every process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Project, dotted, used_names, within

TIMELINE = "cluster.virtual_time.timeline"
TRIO_FOR_ALL = ("trio.Nursery", "trio.open_nursery", "trio.CancelScope", "trio.Cancelled", "trio.run")
TRIO_FOR_THE_TIMELINE = ("trio.abc.Clock", "trio.lowlevel")

WALL_CLOCKS = ("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today")
RANDOMNESS = ("os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4", "uuid.getnode", "secrets")
OUTSIDE = (
    "asyncio",
    "io",
    "multiprocessing",
    "os",
    "pathlib",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
)
PROCESS_BOUND = {
    "hash": "differs in every process",
    "id": "is an address",
    "open": "is a file",
    "input": "is a terminal",
}
MAY_AWAIT = (TIMELINE, "cluster.clients", "cluster.simulation")


def check_waiting(project: Project) -> Iterator[Breach]:
    """Actors wait on the Timeline only: no primitive, sleep or deadline of trio's."""
    for module in project.inside("cluster"):
        allowed = TRIO_FOR_ALL + (TRIO_FOR_THE_TIMELINE if module.name == TIMELINE else ())
        for node, name in used_names(module):
            if within(name, "trio") and name != "trio" and not within(name, *allowed):
                yield module.breach(node, f"{name}: waiting and waking are the Timeline's")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call):
                yield from _deadline_or_bare_start(module, node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if node.attr in {"deadline", "relative_deadline"}:
                    yield module.breach(node, f".{node.attr} =: a timeout is a heap entry of the Timeline")
            elif isinstance(node, ast.AsyncFunctionDef) and not module.within(*MAY_AWAIT):
                yield module.breach(node, f"async def {node.name}: rules, brokers and links are plain functions")


def check_clock(project: Project) -> Iterator[Breach]:
    """Nothing reads a wall clock; the Timeline alone paces itself, by `time.perf_counter`."""
    for module in project.inside("cluster"):
        for node, name in used_names(module):
            paces = module.name == TIMELINE and name in {"time.perf_counter", "time"}
            wall = within(name, "time") and _imports(module, "time") and not paces
            if wall or within(name, *WALL_CLOCKS):
                yield module.breach(node, f"{name}: time in the cluster is now_us")


def check_randomness(project: Project) -> Iterator[Breach]:
    """All randomness comes from a seeded stream with a name."""
    for module in project.inside("cluster"):
        for node, name in used_names(module):
            own_stream = (
                within(name, "random") and _imports(module, "random") and name not in {"random", "random.Random"}
            )
            if own_stream or within(name, *RANDOMNESS):
                yield module.breach(node, f"{name}: draws come from rng(name)")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and dotted(node.func).endswith("Random") and not node.args:
                yield module.breach(node, "Random() without a seed: draws come from rng(name)")


def check_outside(project: Project) -> Iterator[Breach]:
    """The cluster has no files, threads, sockets or processes, and looks at nothing that differs between processes."""
    for module in project.inside("cluster"):
        for imported in module.imports:
            if within(imported.target, *OUTSIDE):
                yield Breach(module.path, imported.line, f"imports {imported.target}: the cluster has no outside")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PROCESS_BOUND:
                yield module.breach(node, f"{node.func.id}() {PROCESS_BOUND[node.func.id]}")


def check_logger(project: Project) -> Iterator[Breach]:
    """The logger is given to the simulation: nobody configures structlog for the whole process."""
    for module in project.modules:
        for node, name in used_names(module):
            is_global = within(name, "structlog.configure", "structlog.configure_once", "structlog.get_logger")
            if is_global or within(name, "structlog.stdlib.get_logger"):
                yield module.breach(node, f"{name}: the logger is given, not found")


def _deadline_or_bare_start(module: Module, call: ast.Call) -> Iterator[Breach]:
    function = dotted(call.func)
    owner, _, method = function.rpartition(".")
    if method == "start_soon" and module.name != TIMELINE:
        yield module.breach(call, f"{function}: tasks started together run in any order; use timeline.start")
    elif method == "start" and owner.lower().endswith("nursery"):
        yield module.breach(call, f"{function}: use timeline.start")
    elif function.endswith("CancelScope") and (call.args or {word.arg for word in call.keywords} - {"shield"}):
        yield module.breach(call, f"{function} with a deadline: a timeout is a heap entry of the Timeline")


def _imports(module: Module, library: str) -> bool:
    return any(within(imported.target, library) for imported in module.imports)
