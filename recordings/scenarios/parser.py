"""From TOML tables to a ScenarioSpec: structure, types, units, defaults. `validation` checks what must fit together.

Every function takes one table of the contract `scenario-format.md`, in its order. A wrong value becomes its default
here, so that reading goes on and one pass finds all problems.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Literal

from cluster.commands import Command, CommandError, Mark, text_of
from cluster.spec import (
    INTERNAL_TOPICS,
    START_JITTER_US,
    STARTUP_US,
    BrokerSpec,
    ExpectationSpec,
    LinkSpec,
    NetworkSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
)
from recordings.kafka_tools.pasted import commands_of
from recordings.scenarios.group_parser import read_group
from recordings.scenarios.producer_parser import read_producer
from recordings.scenarios.toml_tables import (
    Problem,
    ReadError,
    Scalar,
    TomlTable,
    ValuesAlone,
    duration,
    filled_text,
    filled_words,
    flag,
    number,
    one_of,
    scalar,
    shown,
    text,
    whole,
)


def read_scenario(
    data: dict[str, Any],
    problems: list[Problem],
    lines: dict[tuple[str | int, ...], int],
    at: list[int],
    reader: type[TomlTable] = TomlTable,
) -> ScenarioSpec:
    """The spec that the file's tables describe; adds every error in them to `problems`.

    `at` gets, for each step, the number of its [[at]]: a line of Kafka's tools may stand for several steps. `reader`
    reads the tables.
    """
    top = reader(data, (), problems)
    top.known += ["topic", "producer", "group", "expect", "defaults"]  # also for one in a table above
    by_table = [tuple(_steps(table)) for table in top.tables("at")]
    at += [number for number, steps in enumerate(by_table) for _ in steps]
    cluster = top.table("cluster")
    brokers = _brokers(cluster)
    config = cluster.config("broker")
    internal = _internal_assignment(cluster.table("replica_assignment"))
    startup_us = cluster.take("startup", duration, STARTUP_US)
    spec = ScenarioSpec(
        title=top.take("title", filled_text, "", required=True),
        module=top.take("module", filled_text, "other"),
        lesson=top.take("lesson", text, "").strip(),
        seed=top.take("seed", whole(0), 1),
        until_us=top.take("until", duration, 300_000_000),
        buggify=top.take("buggify", flag, False),
        start_jitter_us=top.take("start_jitter", duration, START_JITTER_US),
        startup_us=startup_us,
        brokers=brokers,
        config=config,
        network=_network(top.table("network")),
        topics=tuple(_topic(table, min(3, len(brokers))) for table in top.tables("topic")),
        producers=tuple(read_producer(table) for table in top.tables("producer")),
        groups=tuple(read_group(table) for table in top.tables("group")),
        steps=tuple(chain.from_iterable(by_table)),
        internal_assignment=internal,
        expectations=tuple(_expectation(table, lines.get(table.place, 0)) for table in top.tables("expect")),
    )
    cluster.close()
    top.close()
    return spec


def check_defaults(data: dict[str, Any], problems: list[Problem]) -> None:
    """Add errors of the values in `[defaults]` also where every table says something else instead."""
    block = data.get("defaults")
    readers: dict[str, Callable[[TomlTable], object]] = {
        "topic": partial(_topic, replication=1), "producer": read_producer, "group": read_group,
    }  # fmt: skip
    for kind, read in readers.items():
        given = block.get(kind) if isinstance(block, dict) else None
        if isinstance(given, dict):
            read(ValuesAlone(given, ("defaults", kind), problems))


def _brokers(table: TomlTable) -> tuple[BrokerSpec, ...]:
    if isinstance(table.data.get("brokers"), list):
        brokers = []
        seen: set[int] = set()
        for each in table.tables("brokers"):
            broker_id = each.take("id", whole(0), -1, required=True)
            brokers.append(BrokerSpec(broker_id, each.take("rack", filled_text, None)))
            each.close()
            if broker_id in seen:
                each.wrong("id", f"broker {broker_id} is listed twice")
            seen.add(broker_id)
        if not brokers:
            table.wrong("brokers", "brokers: a cluster has at least one broker")
        return tuple(sorted(brokers, key=lambda broker: broker.id)) or (BrokerSpec(1),)
    count = table.take("brokers", whole(1, 1_000), 3)
    return tuple(BrokerSpec(number) for number in range(1, count + 1))


def _network(table: TomlTable) -> NetworkSpec:
    network = NetworkSpec(
        latency_us=table.take("latency", duration, 1_000),
        jitter=table.take("jitter", number(0, 1), 0.2),
        links=tuple(_link(each) for each in table.tables("links")),
        between_racks_us=table.take("between_racks", duration, None),
    )
    table.close()
    return network


def _link(table: TomlTable) -> LinkSpec:
    link = LinkSpec(
        between=table.take("between", _ends, ("", ""), required=True),
        latency_us=table.take("latency", duration, 0, required=True),
    )
    table.close()
    return link


def _ends(value: object) -> tuple[str, str]:
    ends = filled_words(value)
    if len(ends) != 2:
        raise ReadError(f"a link has two ends, not {len(ends)}")
    return ends[0], ends[1]


def _topic(table: TomlTable, replication: int) -> TopicSpec:
    """A topic; the number of its partitions and replicas is that of its assignment, unless the table says it, too."""
    assigned: tuple[tuple[int, ...], ...] = table.take("replica_assignment", _assignment, ())
    topic = TopicSpec(
        name=table.take("name", filled_text, "", required=True),
        partitions=table.take("partitions", whole(1), len(assigned) or 1),
        replication=table.take("replication", whole(1), len(assigned[0]) if assigned else replication),
        config=table.config("topic"),
        created_us=table.take("created", duration, 0),
        replica_assignment=assigned,
    )
    table.close()
    return topic


def _internal_assignment(table: TomlTable) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The brokers of each partition of Kafka's own topics."""
    none: tuple[tuple[int, ...], ...] = ()
    found = {topic: table.take(topic, _assignment, none) for topic in INTERNAL_TOPICS}
    table.close()
    return {topic: assigned for topic, assigned in found.items() if assigned}


def _assignment(value: object) -> tuple[tuple[int, ...], ...]:
    """The brokers of each partition: lists of as many ids, each once."""
    if not isinstance(value, list) or not value or not all(isinstance(each, list) for each in value):
        raise ReadError(f"{shown(value)} is not a list with the brokers of each partition: write [[1, 2], [2, 3]]")
    assigned = tuple(tuple(whole(0)(broker) for broker in each) for each in value)
    for place, replicas in enumerate(assigned):
        if not replicas:
            raise ReadError(f"partition {place} has no broker")
        if len(set(replicas)) < len(replicas):
            twice = next(broker for at, broker in enumerate(replicas) if broker in replicas[:at])
            raise ReadError(f"partition {place} has broker {twice} more than once")
        if len(replicas) != len(assigned[0]):
            counts = f"{len(replicas)} and partition 0 has {len(assigned[0])}"
            raise ReadError(f"all partitions have as many replicas: partition {place} has {counts}")
    return assigned


def _steps(table: TomlTable) -> Iterator[StepSpec]:
    """The commands of one [[at]]: a line of Kafka's tools may stand for several; without a text if unreadable."""
    at_us = table.take("time", duration, 0, required=True)
    commands: list[Command] = table.take("do", _commands, [], required=True)
    after_event: int | None = table.take("after_event", whole(1), None)
    source: Literal["scenario", "game"] = table.take("source", one_of("scenario", "game"), "scenario")
    table.close()
    if not commands:
        yield StepSpec(at_us, Mark(""), "")
    for command in commands:
        yield StepSpec(at_us, command, text_of(command), after_event, source)


def _commands(value: object) -> list[Command]:
    try:
        return commands_of(text(value))
    except CommandError as error:
        raise ReadError(error.message, error.suggestion) from None


def _command(value: object) -> Command:
    first, *more = _commands(value)
    if more:
        raise ReadError(f"this line stands for {len(more) + 1} commands: name one of them, such as `{text_of(first)}`")
    return first


def _command_text(value: object) -> str:
    """A command in its canonical text: `kill broker 2` and `kill broker-2` are one."""
    return text_of(_command(value))


def _expectation(table: TomlTable, line: int) -> ExpectationSpec:
    that = table.take("that", filled_text, None)
    event = table.take("event", filled_text, None)
    if table.has("that") == table.has("event"):
        table.wrong("event", "an expectation has either `that` or `event`")
    expectation = ExpectationSpec(
        that=that,
        event=event,
        where=_where(table.table("where")),
        by_us=table.take("by", duration, None),
        at_us=table.take("at", duration, None),
        always=table.take("always", flag, False),
        from_us=table.take("from", duration, None),
        after=table.take("after", _command_text, None),
        nth=table.take("nth", whole(1), 1),
        to_us=table.take("to", duration, None),
        count=table.take("count", whole(0), None),
        line=line,
    )
    table.close()
    if table.has("that") != table.has("event"):
        _when(table, expectation)
    return expectation


def _where(table: TomlTable) -> dict[str, Scalar]:
    read = {key: table.take(key, scalar, None) for key in table.data}
    return {key: value for key, value in read.items() if value is not None}


_WINDOW = "`by`, `always = true` or an `event`"
_GOES_WITH = {
    "from": _WINDOW,
    "after": _WINDOW,
    "nth": _WINDOW,
    "to": "`always = true` or an `event`",
    "where": "an `event`",
    "count": "an `event`",
}
"""The kinds of expectation that each key of a window or an event belongs to."""

_MAY_HAVE = {"by": {"from", "after", "nth"}, "at": set[str](), "always": {"from", "after", "nth", "to"}}
"""The keys that may stand beside each way of giving the instant of a `that`."""


def _when(table: TomlTable, expectation: ExpectationSpec) -> None:
    """An expectation gives its instant once: `that` by, at or always; an `event` in a window."""
    times = [key for key in _MAY_HAVE if table.has(key)]
    allowed = {key for keys in _MAY_HAVE.values() for key in keys}
    if expectation.event is not None:
        allowed |= {"where", "count"}
        for key in times:
            if key != "by":
                table.wrong(key, f"{key} cannot be combined with an `event`")
    elif len(times) != 1 or table.data.get("always") is False:
        table.wrong(times[-1] if times else "that", "an expectation has one of `by`, `at` and `always = true`")
    else:
        allowed = _MAY_HAVE[times[0]]
    for key, partner in _GOES_WITH.items():
        if table.has(key) and key not in allowed:
            here = "that" if key in ("where", "count") else times[0]
            table.wrong(key, f"{key} cannot be combined with `{here}`, only with {partner}")
    _window(table, expectation, allowed)


def _window(table: TomlTable, expectation: ExpectationSpec, allowed: set[str]) -> None:
    """A window begins once, and before it ends."""
    if table.has("nth") and "nth" in allowed and not table.has("after"):
        table.wrong("nth", "nth needs `after`: it says which of several")
    if table.has("from") and table.has("after"):
        table.wrong("after", "after: a window begins once, and `from` says when")
    for key, end_us in (("by", expectation.by_us), ("to", expectation.to_us)):
        if expectation.from_us is not None and end_us is not None and expectation.from_us > end_us:
            table.wrong(key, f"{key}: it is before `from`")
