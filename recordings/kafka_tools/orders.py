"""Lines of Kafka's tools that change a cluster, as the commands that the cluster has.

What has no command is refused with the reason and the nearest that works.
"""

import csv
import re
from collections.abc import Callable
from typing import Final

from cluster.commands import (
    AddPartitions,
    CancelReassignment,
    Command,
    CreateTopic,
    DeleteGroup,
    DeleteOffsets,
    DeleteRecords,
    Elect,
    Mark,
    Names,
    Reassign,
    ResetOffsets,
    ResetToPlan,
    Set,
)
from cluster.commands.arguments import MOST_ID_DIGITS
from cluster.commands.catalogue import AbortHangingTransaction, ResetTo
from cluster.config import FIRST_DATE, nearest, parse_datetime, parse_iso_duration
from cluster.protocol.names import TopicPartition
from cluster.protocol.placement.reassignments import why_not_assigned
from cluster.protocol.placement.topic_creation import name_error
from cluster.spec import LONGEST_FLIGHT_US
from recordings.kafka_tools.config_pairs import pairs_added, pairs_of_create
from recordings.kafka_tools.config_tables import entity_of
from recordings.kafka_tools.json_options import partitions_of_json
from recordings.kafka_tools.reassignment_options import check_reassignment, check_targets, reassigned_to, repeated
from recordings.kafka_tools.tool_lines import ToolLine, java_split, reset_scenario

_ROW: Final = re.compile(r'(?:"(?:[^"]|"")*"|\S)+')
_WHOLE: Final = re.compile("[0-9]{1,18}")
_INTEGER: Final = re.compile("[+-]?[0-9]{1,10}")
_INT: Final = range(-(2**31), 2**31)  # of Java
MOST_REPLICAS: Final = 32_767  # Short.MAX_VALUE
_UNSUPPORTED: Final = {
    ("kafka-topics", "delete"): "no topic is deleted in a flight: kafka-delete-records.sh empties its partitions",
    ("kafka-consumer-groups", "validate-regex"): "`--validate-regex` concerns no cluster",
    ("kafka-transactions", "forceTerminateTransaction"): "the id's next InitProducerId does it: `restart PRODUCER`",
}  # fmt: skip


def orders_of(line: ToolLine, names: Names | None = None) -> list[Command]:
    """The commands of a line. `names` are needed for lines that mean every partition. Raises CommandError."""
    reason = _UNSUPPORTED.get((line.tool, line.action))
    if reason is not None:
        shown = (
            f"{line.tool}.sh --{line.action}" if line.tool != "kafka-transactions" else f"{line.tool}.sh {line.action}"
        )
        raise line.wrong(f"{shown} is not understood here: {reason}", line.action)
    return _ORDERS[line.tool](line, names)


def _topic(line: ToolLine, names: Names | None) -> str:
    topic = line.one("topic")
    if not topic:
        raise line.wrong('Missing required argument "[topic]"')
    if names is not None and topic not in names.topics:
        near = nearest(topic, names.topics)
        raise line.wrong(f"Topic '{topic}' does not exist as expected", "topic", near)
    return topic


def _alter_topic(line: ToolLine, names: Names | None) -> list[Command]:
    for option, why in (("config", "kafka-configs.sh --alter changes it"), ("topic-id", "--topic names a topic")):
        if line.has(option):
            raise line.wrong(f"--{option} is not understood here: {why}", option)
    partitions = line.number("partitions", least=1)
    if partitions is None:
        raise line.wrong('Missing required argument "[partitions]"')
    assigned = replicas_assigned(line)
    return [AddPartitions(_topic(line, names), partitions, assigned)]


def replicas_assigned(line: ToolLine) -> tuple[tuple[int, ...], ...]:
    """The brokers of each partition in `--replica-assignment`; empty without one. Raises CommandError.

    What only the controller refuses is refused here where no command can say it. Source:
    `TopicCommand.parseReplicaAssignment`.
    """
    option, assigned = "replica-assignment", list[tuple[int, ...]]()
    for text in java_split(line.one(option), ",") if line.one(option) else ():
        words = [word.strip() for word in java_split(text, ":")]
        wrong = next((word for word in words if not _INTEGER.fullmatch(word) or int(word) not in _INT), None)
        if wrong is not None:
            raise line.wrong(f'For input string: "{wrong[:80]}"', option)
        replicas = tuple(map(int, words))
        if twice := sorted(repeated(replicas)):
            doubled = ",".join(map(str, twice))
            raise line.wrong(f"Partition replica lists may not contain duplicate entries: {doubled}", option)
        assigned.append(replicas)
        if len(replicas) != len(assigned[0]):
            java = f"[{', '.join(map(str, replicas))}]"
            raise line.wrong(f"Partition {len(assigned) - 1} has different replication factor: {java}", option)
    reason = next(filter(None, (why_not_assigned(each, range(10 ** (MOST_ID_DIGITS - 1))) for each in assigned)), "")
    if reason:
        raise line.wrong(reason, option)
    return tuple(assigned)


def _create_topic(line: ToolLine, names: Names | None) -> list[Command]:
    """In the tool's order: its options, the pairs, the numbers; then the controller looks at the name.

    Source: `TopicCommand.CommandTopicPartition`, `createTopic`.
    """
    if not line.has("topic"):
        raise line.wrong('Missing required argument "[topic]"')
    for option in ("partitions", "replication-factor"):
        if line.has("replica-assignment") and line.has(option):
            raise line.wrong(f'Option "[replica-assignment]" can\'t be used with option "[{option}]"', option)
    assigned = replicas_assigned(line)
    topic, partitions, replicas = line.one("topic"), line.number("partitions"), line.number("replication-factor")
    pairs = pairs_of_create(line)
    if replicas is not None and not 1 <= replicas <= MOST_REPLICAS:
        raise line.wrong(f"The replication factor must be between 1 and {MOST_REPLICAS} inclusive",
                         "replication-factor")  # fmt: skip
    if partitions is not None and partitions < 1:
        raise line.wrong("The partitions must be greater than 0", "partitions")
    reason = name_error(topic) or (names.why_not_free(topic) if names is not None else "")
    if reason:
        raise line.wrong(reason, "topic")
    return [CreateTopic(topic, partitions, replicas, pairs, line.has("if-not-exists"), assigned)]


def _topics_tool(line: ToolLine, names: Names | None) -> list[Command]:
    return (_create_topic if line.action == "create" else _alter_topic)(line, names)


def _alter_configs(line: ToolLine, names: Names | None) -> list[Command]:
    kind, name = entity_of(line)
    for option in ("delete-config", "add-config-file"):
        if line.has(option):
            raise line.wrong(f"--{option} is not understood here: --add-config KEY=VALUE sets a key", option)
    if not line.has("add-config"):
        raise line.wrong(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    scope = "cluster" if not name and kind == "brokers" else name if kind == "topics" else f"broker-{name}"
    if not scope:
        raise line.wrong("An entity name must be specified with --alter of topics")
    if names is not None and scope not in names.scopes():
        raise line.wrong(f"the cluster has no {kind[:-1]} `{name}`", "entity-name", nearest(scope, names.scopes()))
    return [Set(scope, key, value) for key, value in pairs_added(line, "topic" if kind == "topics" else "broker")]


def _elect(line: ToolLine, names: Names | None) -> list[Command]:
    kind = line.one("election-type").lower()
    if kind not in ("preferred", "unclean"):
        raise line.wrong("Missing required option(s): election-type: PREFERRED or UNCLEAN", "election-type")
    if line.has("path-to-json-file"):
        places = partitions_of_json(line, "path-to-json-file", "partition")
    elif line.has("all-topic-partitions"):
        if names is None:
            raise line.wrong("--all-topic-partitions: name each partition in a scenario", "all-topic-partitions")
        places = [(TopicPartition.parse(name), {}) for name in names.partitions()]
    else:
        number = line.number("partition", least=0)
        if number is None:
            raise line.wrong("One and only one of the following options is required: topic with partition,"
                             " all-topic-partitions, path-to-json-file")  # fmt: skip
        places = [(TopicPartition(_topic(line, names), number), {})]
    return [
        Elect("preferred" if kind == "preferred" else "unclean", place.topic, place.partition) for place, _ in places
    ]


def _delete_records(line: ToolLine, _: Names | None) -> list[Command]:
    places = partitions_of_json(line, "offset-json-file", "offset")
    wrong = [str(place) for place, one in places if not isinstance(one.get("offset"), int) or one["offset"] < 0]
    if wrong:
        raise line.wrong(f"{wrong[0]}: an offset is a whole number from 0; -1 is not understood here",
                         "offset-json-file")  # fmt: skip
    return [DeleteRecords(place.topic, place.partition, one["offset"]) for place, one in places]


def _reassign(line: ToolLine, _: Names | None) -> list[Command]:
    """One command for each partition. Source: `ReassignPartitionsCommand.parseExecuteAssignmentArgs`."""
    check_reassignment(line)
    places = reassigned_to(line)
    if line.action == "cancel":
        return [CancelReassignment(*place) for place, _ in places]
    check_targets(line, places)
    return [Reassign(*place, replicas) for place, replicas in places]


def _abort(line: ToolLine, names: Names | None) -> list[Command]:
    number = line.number("partition", least=0)
    if number is None:
        raise line.wrong("argument --partition is required")
    if not line.has("start-offset") and not line.has("producer-id"):
        raise line.wrong("a transaction to abort is identified by its --start-offset in the partition")
    return [AbortHangingTransaction(_topic(line, names), number)]


def _groups(line: ToolLine, names: Names | None) -> list[str]:
    """The groups of a line; all that the scenario has for --all-groups."""
    if not line.has("all-groups"):
        groups = list(dict.fromkeys(line.all("group")))
        if not groups:
            raise line.wrong(f"Option [{line.action}] takes one of these options: [group], [all-groups]")
        known = groups if names is None else list(names.groups)
        unknown = [group for group in groups if group not in known]
        if unknown:
            raise line.wrong(f"no group is named {unknown[0]}", "group", nearest(unknown[0], known))
        return groups
    if names is None:
        raise line.wrong("--all-groups: name each group in a scenario", "all-groups")
    return list(names.groups)


def _places(line: ToolLine, names: Names | None) -> tuple[str, ...]:
    """The topics and partitions of `--topic orders:0,2 --topic payments`."""
    found: dict[str, None] = {}
    for text in line.all("topic"):
        topic, colon, numbers = text.partition(":")
        if names is not None and topic not in names.topics:
            raise line.wrong(f"there is no topic `{topic}`", "topic", nearest(topic, names.topics))
        for number in numbers.split(",") if colon else ():
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                raise line.wrong(f"Invalid partition '{number}' specified in topic arg '{text}'", "topic")
        found.update(dict.fromkeys([f"{topic}-{int(one)}" for one in numbers.split(",")] if colon else [topic]))
    return tuple(found)


def _instant(line: ToolLine) -> int:
    """The instant of `--to-datetime`: a flight begins in 1970."""
    try:
        instant_us = parse_datetime(line.first("to-datetime"))
    except ValueError as error:
        raise line.wrong(f"--to-datetime: {error}", "to-datetime") from None
    if not 0 <= instant_us <= LONGEST_FLIGHT_US:
        raise line.wrong(f"--to-datetime: a flight begins at {FIRST_DATE}: --by-duration PT30S counts from now",
                         "to-datetime")  # fmt: skip
    return instant_us


def planned_offsets(line: ToolLine, group: str, names: Names | None) -> dict[TopicPartition, int]:
    """A group's offsets in `--from-file`, whose rows stand in the place of the file's name; empty without a row.

    A row is `topic,partition,offset` with one group, or `group,topic,partition,offset`; `--export` quotes long names.
    Raises CommandError. Source: `OffsetsUtils.parseResetPlan`.
    """
    found: dict[TopicPartition, int] = {}
    alone = len(line.all("group")) == 1
    text = line.first("from-file")
    if "," not in text:
        raise line.wrong(
            "--from-file: no file is read here; write its rows in its place: 'orders,0,42 orders,1,7'", "from-file"
        )
    for row in _ROW.findall(text):
        cells = next(csv.reader([row]))
        if len(cells) == 3 and alone:
            cells = [group, *cells]
        if len(cells) != 4 or not all(_WHOLE.fullmatch(cell) for cell in cells[2:]):
            form = "topic,partition,offset" if alone else "group,topic,partition,offset"
            raise line.wrong(f"--from-file: `{row[:80]}` is not {form}", "from-file")
        if names is not None and cells[1] not in names.topics:
            raise line.wrong(f"there is no topic `{cells[1]}`", "from-file", nearest(cells[1], names.topics))
        if cells[0] == group:
            found[TopicPartition(cells[1], int(cells[2]))] = int(cells[3])
    return found


def no_plan(group: str) -> str:
    """The tool's words for a group that `--from-file` has no row of; it goes on with the others."""
    return f"No reset plan for group {group} found"


def _planned(line: ToolLine, names: Names | None) -> list[Command]:
    """The commits of `--from-file`, and a mark for a group without a row. Raises CommandError if no group has one."""
    groups, orders = _groups(line, names), list[Command]()
    plans = {group: planned_offsets(line, group, names) for group in groups}
    if not any(plans.values()):
        raise line.wrong(no_plan(groups[0]), "from-file")
    for group, plan in plans.items():
        places = tuple(str(place) for place in plan)
        orders += [ResetToPlan(group, tuple(plan.values()), places)] if plan else [Mark(no_plan(group))]
    return orders


def _reset_offsets(line: ToolLine, names: Names | None) -> list[Command]:
    """One commit for each group. Source: `ConsumerGroupService.resetOffsets`."""
    scenario = reset_scenario(line)
    amount = 0
    match scenario:
        case "to-datetime":
            amount = _instant(line)
        case "from-file":
            return _planned(line, names)
        case "to-offset":
            amount = max(0, line.whole(scenario, line.first(scenario)))
        case "shift-by":
            amount = line.number(scenario, 0) or 0
        case "by-duration":
            try:
                amount = parse_iso_duration(line.one(scenario))
            except ValueError as error:
                raise line.wrong(f"--by-duration: {error}", scenario) from None
    places = () if line.has("all-topics") else _places(line, names)
    return [ResetOffsets(group, RESETS[scenario], places, amount) for group in _groups(line, names)]


def _groups_tool(line: ToolLine, names: Names | None) -> list[Command]:
    if line.action == "reset-offsets":
        return _reset_offsets(line, names)
    if line.action == "delete":
        if line.has("topic"):
            raise line.wrong("The consumer does not support topic-specific offset deletion from a consumer group.",
                             "topic")  # fmt: skip
        return [DeleteGroup(group) for group in _groups(line, names)]
    if not line.has("group") or not line.has("topic"):
        raise line.wrong("Option [delete-offsets] takes the following options: [group], [topic]")
    line.one("group")  # the tool takes one
    return [DeleteOffsets(_groups(line, names)[0], _places(line, names))]


RESETS: Final[dict[str, ResetTo]] = {
    "to-earliest": "earliest",
    "to-latest": "latest",
    "to-current": "current",
    "to-offset": "offset",
    "shift-by": "shift",
    "by-duration": "ago",
    "to-datetime": "instant",
    "from-file": "offset",
}
"""What each option of `--reset-offsets` is in a command."""

_ORDERS: Final[dict[str, Callable[[ToolLine, Names | None], list[Command]]]] = {
    "kafka-topics": _topics_tool,
    "kafka-configs": _alter_configs,
    "kafka-consumer-groups": _groups_tool,
    "kafka-leader-election": _elect,
    "kafka-delete-records": _delete_records,
    "kafka-reassign-partitions": _reassign,
    "kafka-transactions": _abort,
}
