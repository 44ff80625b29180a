"""What a tool's line that changes nothing prints of a flight at an instant."""

from collections.abc import Callable
from typing import Final, NamedTuple

from cluster.spec import ScenarioSpec
from cluster.view.state import NEVER, ClusterView, GroupView
from recordings.kafka_tools.config_tables import describe_configs, value_text
from recordings.kafka_tools.group_descriptions import (
    buffered_rows,
    coordinator_of,
    exists,
    list_rows,
    member_rows,
    offset_rows,
    state_row,
)
from recordings.kafka_tools.group_tables import buffered_table, list_table, members_table, offsets_table, state_table
from recordings.kafka_tools.leader_logs import LeaderLog, LogOf
from recordings.kafka_tools.log_dump import DUMP_LOG, dump_log, dumped_logs
from recordings.kafka_tools.offset_list import GET_OFFSETS, get_offsets, offset_logs
from recordings.kafka_tools.printed import Printed, failed
from recordings.kafka_tools.reassignments import generate, list_reassignments, verify
from recordings.kafka_tools.refusals import only_plans, refusal_of
from recordings.kafka_tools.tool_lines import ToolLine, java_split, read_tool_line
from recordings.kafka_tools.topic_tables import Configs, describe_topics, list_topics
from recordings.kafka_tools.transaction_tables import (
    describe_producers,
    describe_transaction,
    find_hanging,
    list_transactions,
    searched,
)

_TYPES: Final = ("Consumer", "Classic")
_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
"""Of which `--list` takes some; no two Java processes order them alike. Source: `GroupState.groupStatesForType`."""


class LookedAtFlight(NamedTuple):
    """A flight at an instant; `configs`: what its scenario and `set` have set. `log_of` tells logs that were read."""

    view: ClusterView
    now_us: int
    configs: Configs
    log_of: LogOf


def configs_of(spec: ScenarioSpec | None, view: ClusterView) -> dict[str, dict[str, str]]:
    """What a scenario sets for its topics and its cluster, and what `set` has changed since."""
    found: dict[str, dict[str, str]] = {}
    if spec is not None:
        found["cluster"] = {key: value_text(value) for key, value in spec.config.items()}
        found |= {topic.name: {key: value_text(value) for key, value in topic.config.items()} for topic in spec.topics}
    for scope, keys in view.settings.items():
        found[scope] = {**found.get(scope, {}), **keys}
    return found


def only_looks(line: ToolLine) -> bool:
    """Whether a line changes nothing."""
    return (line.tool, line.action) in _LOOKS


def logs_needed(view: ClusterView, line: ToolLine) -> list[str]:
    """The partitions whose logs a line asks for, which no view has. Raises CommandError."""
    asks = _LOGS.get((line.tool, line.action))
    return asks(view, line) if asks is not None else []


def look(flight: LookedAtFlight, line: ToolLine) -> Printed:
    """What the line prints; of a dry run, its plan.

    Raises CommandError for options that do not go together, or name nothing.
    """
    if only_plans(line):
        return refusal_of(flight.view, line) or Printed()
    return _LOOKS[line.tool, line.action](flight, line)


def _describe_groups(flight: LookedAtFlight, line: ToolLine) -> Printed:
    if not line.has("group") and not line.has("all-groups"):
        raise line.wrong("Option [describe] takes one of these options: [group], [all-groups]")
    kinds = [option for option in ("members", "offsets", "state", "buffered") if line.has(option)]
    if len(kinds) > 1:
        raise line.wrong(
            "Option [describe] takes at most one of these options: [members], [offsets], [state]", kinds[-1]
        )
    if line.one("state"):
        raise line.wrong("Option [describe] does not take a value for [state]", "state")
    view = flight.view
    if line.has("buffered"):
        return _buffered(view, sorted(set(line.all("group"))) if line.has("group") else sorted(view.groups))
    names = sorted(set(line.all("group"))) if line.has("group") else [name for name, _, _ in list_rows(view)]
    for name in names:
        group = view.groups.get(name)
        if group is None or not exists(group):
            return _no_group(name)
        if coordinator_of(view, group) == NEVER:
            return failed(f"the coordinator of {name} is offline: Kafka's tool waits for it until --timeout, and fails")
    printed = Printed()
    for name in names:
        printed += _describe_group(
            view, view.groups[name], kinds[0] if kinds else "offsets", verbose=line.has("verbose")
        )
    return printed


def _buffered(view: ClusterView, names: list[str]) -> Printed:
    """What the processes of groups hold; a group of consumers with assign() is known to no coordinator."""
    for name in names:
        if name not in view.groups:
            return _no_group(name)
    return buffered_table([row for name in names for row in buffered_rows(view, view.groups[name])])


def _no_group(name: str) -> Printed:
    return failed(
        "Executing consumer group command failed due to"
        f" org.apache.kafka.common.errors.GroupIdNotFoundException: Group {name} not found."
    )


def _describe_group(view: ClusterView, group: GroupView, kind: str, *, verbose: bool) -> Printed:
    if kind == "offsets":
        return offsets_table(group.group, group.state, offset_rows(view, group), verbose=verbose)
    if kind == "state":
        return state_table(state_row(view, group), verbose=verbose)
    static_ids = {one.member: one.instance_id for one in view.members.values()}
    return members_table(group.group, group.state, member_rows(group, static_ids), verbose=verbose)


def _list_groups(flight: LookedAtFlight, line: ToolLine) -> Printed:
    rows = list_rows(flight.view)
    for option, column, valid in (("type", 1, _TYPES), ("state", 2, _STATES)):
        given = line.one(option)
        wanted = {word.strip().lower() for word in java_split(given, ",")} if given else set()
        if not wanted <= {one.lower() for one in valid}:
            kinds = f"{option}s" if option == "type" else option
            listed = f"Invalid {kinds} list '{given}'. Valid {option}s are: {', '.join(valid)}"
            raise line.wrong(listed, option)
        rows = [row for row in rows if not wanted or row[column].lower() in wanted]
    return list_table(rows, types=line.has("type"), states=line.has("state"))


_LOOKS: Final[dict[tuple[str, str], Callable[[LookedAtFlight, ToolLine], Printed]]] = {
    ("kafka-consumer-groups", "describe"): _describe_groups,
    ("kafka-consumer-groups", "list"): _list_groups,
    ("kafka-topics", "describe"): lambda flight, line: describe_topics(flight.view, flight.configs, line),
    ("kafka-topics", "list"): lambda flight, line: list_topics(flight.view, line),
    ("kafka-reassign-partitions", "list"): lambda flight, line: list_reassignments(flight.view, line),
    ("kafka-reassign-partitions", "generate"): lambda flight, line: generate(flight.view, line),
    ("kafka-reassign-partitions", "verify"): lambda flight, line: verify(flight.view, line),
    ("kafka-configs", "describe"): lambda flight, line: describe_configs(flight.view, flight.configs, line),
    ("kafka-transactions", "list"): lambda flight, line: list_transactions(flight.view, flight.now_us, line),
    ("kafka-transactions", "describe"): lambda flight, line: describe_transaction(flight.view, flight.now_us, line),
    ("kafka-transactions", "describe-producers"): lambda flight, line: describe_producers(
        flight.view, flight.log_of, line
    ),
    ("kafka-transactions", "find-hanging"): lambda flight, line: find_hanging(
        flight.view, flight.log_of, flight.now_us, line
    ),
    (GET_OFFSETS, ""): lambda flight, line: get_offsets(flight.view, flight.log_of, line),
    (DUMP_LOG, ""): lambda flight, line: dump_log(flight.view, flight.log_of, line),
}


_LOGS: Final[dict[tuple[str, str], Callable[[ClusterView, ToolLine], list[str]]]] = {
    ("kafka-transactions", "describe-producers"): searched,
    ("kafka-transactions", "find-hanging"): searched,
    (GET_OFFSETS, ""): offset_logs,
    (DUMP_LOG, ""): dumped_logs,
}
"""The partitions whose logs a look asks for."""


SUBJECTS: Final = {
    "groups": "kafka-consumer-groups.sh --describe --all-groups",
    "group-list": "kafka-consumer-groups.sh --list",
    "topics": "kafka-topics.sh --describe",
    "configs": "kafka-configs.sh --describe",
    "reassignments": "kafka-reassign-partitions.sh --list",
    "transactions": "kafka-transactions.sh list",
    "transaction": "kafka-transactions.sh describe",
    "producers": "kafka-transactions.sh describe-producers",
    "hanging": "kafka-transactions.sh find-hanging",
    "offsets": "kafka-get-offsets.sh",
    "records": "kafka-dump-log.sh --print-data-log",
}
"""What can be described, and the line of Kafka's tool that it stands for; further options follow."""


def subject_of(line: ToolLine) -> str:
    """The subject that stands for a line, but for its options. Raises StopIteration without one."""
    return next(name for name, text in SUBJECTS.items() if read_tool_line(text)[:2] == line[:2])


def line_of(subject: str, options: str) -> str:
    """The line that a subject with options stands for: `groups --group billing` does not ask for all groups."""
    line = SUBJECTS[subject]
    if subject == "groups" and "--group" in options.replace("=", " ").split():
        line = line.removesuffix(" --all-groups")
    return f"{line} {options}".rstrip()


def no_log(_: str) -> LeaderLog:
    """A log where no events can be read again."""
    return LeaderLog()
