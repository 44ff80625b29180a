"""What a tool prints before anything changes: the plan of a dry run, or why Kafka would refuse, in its own words."""

from collections.abc import Iterable
from typing import Final

from cluster.protocol.names import TopicPartition
from cluster.protocol.offset_resets import cannot_shift, only_inactive, reset_offset
from cluster.protocol.placement.topic_creation import why_no_name, why_no_replicas, why_not_added
from cluster.view.state import NEVER, ClusterView, GroupView
from recordings.kafka_log.java_maps import consumed_order, string_map_order
from recordings.kafka_tools import reassignments
from recordings.kafka_tools.group_descriptions import committed_partitions, exists
from recordings.kafka_tools.group_tables import ResetRow, exported_rows, reset_table
from recordings.kafka_tools.orders import RESETS, no_plan, orders_of, planned_offsets, replicas_assigned
from recordings.kafka_tools.printed import MISSING, Printed, columns, failed, widest
from recordings.kafka_tools.tool_lines import ToolLine, is_tool_line, read_tool_line, reset_scenario
from recordings.kafka_tools.topic_tables import topic_failed

_NO_TIMES: Final = "no view dates every record: with --execute the brokers look the offsets up"
_SUBSCRIBED: Final = (
    "org.apache.kafka.common.errors.GroupSubscribedToTopicException: Deleting offsets of a topic is forbidden while the"
    " consumer group is actively subscribed to it."
)


_EXECUTION: Final = "java.util.concurrent.ExecutionException"
_ERRORS: Final = "org.apache.kafka.common.errors."
_COLLISIONS: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To"
    " avoid issues it is best to use either, but not both."
)


def only_plans(line: ToolLine) -> bool:
    """Whether a line says what a reset of offsets would do, and does nothing. Raises CommandError."""
    if line.action != "reset-offsets":
        return False
    if line.has("dry-run") and line.has("execute"):
        raise line.wrong("Option [reset-offsets] only accepts one of [execute] and [dry-run]", "dry-run")
    return not line.has("execute")


def refusal_of(view: ClusterView, line: ToolLine) -> Printed | None:
    """What the tool prints instead of changing anything, because Kafka refuses or nothing is to be done; else None.

    Raises CommandError for options that do not go together, or name nothing.
    """
    match line.tool, line.action:
        case "kafka-consumer-groups", "reset-offsets":
            groups = _groups(view, line)
            printed, commits = _reset(view, groups, line)
            return None if commits and not only_plans(line) else printed
        case "kafka-consumer-groups", "delete":
            return _delete(view, _groups(view, line))
        case "kafka-consumer-groups", "delete-offsets":
            return _delete_offsets(view, line)
        case "kafka-topics", "alter":
            return _add_partitions(view, line)
        case "kafka-topics", "create":
            return _create_topic(view, line)
        case "kafka-leader-election", _:
            name = f"{line.one('topic')}-{line.one('partition')}"
            one = view.partitions.get(name)
            if one is not None and one.leader != NEVER and (one.leader == one.replicas[0] or _is_unclean(line)):
                return Printed(f"Valid replica already elected for partitions {name}\n")
        case "kafka-transactions", "abort":
            return _abort(view, line)
        case "kafka-reassign-partitions", "execute" | "cancel":
            orders_of(line)  # raises what is wrong with its options and its JSON
            return reassignments.refused(view, line)
    return None


def _create_topic(view: ClusterView, line: ToolLine) -> Printed | None:
    """What the controller refuses, after the tool's own warning; of a topic that is there, and may be, no more."""
    topic, replicas = line.one("topic"), line.number("replication-factor", 1) or 1
    warned = Printed(f"{_COLLISIONS}\n") if "_" in topic or "." in topic else Printed()
    if topic in view.topics and line.has("if-not-exists"):
        return warned if warned.out else Printed("\n")
    unfenced = _unfenced(view)
    assigned = replicas_assigned(line)
    reason = why_no_name(topic, view.topics) or why_no_replicas(assigned, replicas, view.brokers, unfenced)
    return None if reason is None else warned + topic_failed(reason.message)


def _add_partitions(view: ClusterView, line: ToolLine) -> Printed | None:
    """What the controller refuses. Source: `ReplicationControlManager.createPartitions`."""
    topic, to, assigned = view.topics.get(line.one("topic")), line.number("partitions", 0) or 0, replicas_assigned(line)
    if topic is None:
        return None
    known = topic.partitions
    if to == known:
        return topic_failed(f"Topic already has {known} partition(s).")
    if to < known:
        has = f"The topic {topic.topic} currently has {known} partition(s)"
        return topic_failed(f"{has}; {to} would not be an increase.")
    if not assigned:
        return None
    replication = len(view.partitions[f"{topic.topic}-0"].replicas)
    reason = why_not_added(assigned, range(known, to), replication, view.brokers, _unfenced(view))
    return None if reason is None else topic_failed(reason.message)


def _unfenced(view: ClusterView) -> list[int]:
    return [one.broker for one in view.brokers.values() if not one.fenced]


def is_of_groups(text: str) -> bool:
    """Whether a line is one of kafka-consumer-groups.sh that can be read: Kafka refuses most of them by the state."""
    return is_tool_line(text) and read_tool_line(text).tool == "kafka-consumer-groups"


def refused_line(view: ClusterView, text: str) -> Printed | None:
    """What a tool prints instead of doing what a line asks; None when it does it, or for a line of no tool."""
    if not is_tool_line(text):
        return None
    return refusal_of(view, read_tool_line(text))


def _is_unclean(line: ToolLine) -> bool:
    return line.one("election-type").lower() == "unclean"


def _abort(view: ClusterView, line: ToolLine) -> Printed | None:
    """No open transaction begins there; or an older one does, which the cluster's command would abort instead."""
    name = f"{line.one('topic')}-{line.one('partition')}"
    one = view.partitions.get(name)
    known = one.transactions.index.open if one is not None and one.transactions is not None else {}
    start = line.number("start-offset")
    if start is None:
        start = known.get(line.number("producer-id", NEVER) or 0)
    if start is None or start not in known.values():
        where = f"starting at offset {start}" if start is not None else f"of producer id {line.one('producer-id')}"
        return Printed(err=f"Could not find any open transactions {where} on partition {name}\n", ok=False)
    oldest = min(known.values())
    if start == oldest:
        return None
    words = (
        f"only the oldest open transaction of a partition is aborted here: that of {name} starts at offset {oldest}\n"
    )
    return Printed(err=words, ok=False)


# --- groups -----------------------------------------------------------------------------------------------------------


def _groups(view: ClusterView, line: ToolLine) -> list[str]:
    if not line.has("group") and not line.has("all-groups"):
        raise line.wrong(f"Option [{line.action}] takes one of these options: [group], [all-groups]")
    return line.all("group") or sorted(name for name, group in view.groups.items() if exists(group))


def _active(group: GroupView | None) -> bool:
    return group is not None and exists(group) and group.state not in ("Empty", "Dead")


def _reset(view: ClusterView, groups: list[str], line: ToolLine) -> tuple[Printed, bool]:
    """The plan of each inactive group, and whether anything of it is committed.

    Source: `ConsumerGroupService.resetOffsets`, `prepareOffsetsToReset`.
    """
    scenario = reset_scenario(line)
    by_time = scenario in ("by-duration", "to-datetime")
    if by_time:
        orders_of(line)  # raises why its time cannot be read
    if by_time and only_plans(line):
        raise line.wrong(f"--{scenario}: {_NO_TIMES}", scenario)
    said, planned_rows, commits = Printed(), dict[str, list[ResetRow]](), False
    for name in _as_described(groups):
        group = view.groups.get(name)
        if group is not None and _active(group):
            said += failed(only_inactive(name, group.state))
            continue
        committed = committed_partitions(group) if group is not None else {}
        scope = list(committed) if line.has("all-topics") else named_places(view, line)
        planned = planned_offsets(line, name, None) if scenario == "from-file" else {}
        refused = _not_there(view, scope) or _never_found(view, planned)
        if refused:
            return said + failed(f"Executing consumer group command failed due to {refused}"), False
        if scenario == "from-file" and not planned:
            said += failed(no_plan(name))
            continue
        commits = True
        order = () if by_time else consumed_order(map(str, planned or scope))
        planned_rows[name] = [
            _row(view, name, place, committed, line, planned.get(place)) for place in map(TopicPartition.parse, order)
        ]
    rows = [row for name in string_map_order(planned_rows) for row in planned_rows[name]]
    shown = exported_rows(rows, named=len(line.all("group")) != 1) if line.has("export") else reset_table(groups, rows)
    return said + shown, commits


def _as_described(groups: list[str]) -> list[str]:
    """The groups in the order of the map of their descriptions, a copy. Source: `DescribeConsumerGroupsResult`."""
    buckets = 1 << (int(len(groups) / 0.75 + 1) - 1).bit_length()
    return string_map_order(string_map_order(groups), buckets)


def _not_there(view: ClusterView, places: list[TopicPartition]) -> str:
    """Why a scope cannot be reset; empty when it can. Source: `OffsetsUtils.checkAllTopicPartitionsValid`."""
    missing = [str(place) for place in places if str(place) not in view.partitions]
    if missing:
        return f'The partitions "{",".join(missing)}" do not exist'
    leaderless = [str(place) for place in places if view.partitions[str(place)].leader == NEVER]
    return f'The partitions "{",".join(leaderless)}" have no leader' if leaderless else ""


def _never_found(view: ClusterView, planned: Iterable[TopicPartition]) -> str:
    """Why the offsets of a plan are not listed. Source: `OffsetsUtils.resetFromFile`, `PartitionLeaderStrategy`.

    The tool looks no partition of a file up: its client asks for their leaders until `--timeout`.
    """
    for place in planned:
        name = str(place)
        if place.topic not in view.topics:
            words = f"for partition {name} because metadata for topic `{place.topic}` could not be found"
            return f"{_EXECUTION}: {_ERRORS}UnknownTopicOrPartitionException: Failed to fetch metadata {words}"
        if name not in view.partitions or view.partitions[name].leader == NEVER:
            words = f"Call(callName=listOffsets(api=METADATA)) timed out: {name} has no leader"
            return f"{_EXECUTION}: {_ERRORS}TimeoutException: {words}"
    return ""


def _row(
    view: ClusterView,
    group: str,
    place: TopicPartition,
    committed: dict[TopicPartition, int],
    line: ToolLine,
    planned: int | None,
) -> ResetRow:
    one, amount, scenario = view.partitions[str(place)], planned or 0, reset_scenario(line)
    if scenario == "shift-by" and place not in committed:
        raise line.wrong(cannot_shift(str(place)), scenario)
    if scenario == "to-offset":
        amount = line.whole(scenario, line.first(scenario))
    elif scenario == "shift-by":
        amount = line.number(scenario) or 0
    offset = reset_offset(RESETS[scenario], amount, one.log_start, one.high_watermark, committed.get(place))
    return ResetRow(group, *place, offset)


def named_places(view: ClusterView, line: ToolLine) -> list[TopicPartition]:
    """The partitions of `--topic orders:0,2 --topic payments`. Raises CommandError for what is none."""
    places = []
    for text in line.all("topic"):
        topic, colon, numbers = text.partition(":")
        if topic not in view.topics:
            raise line.wrong(f"there is no topic `{topic}`", "topic")
        if not colon:
            places += [TopicPartition(topic, number) for number in range(view.topics[topic].partitions)]
            continue
        for number in numbers.split(","):
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                raise line.wrong(f"Invalid partition '{number}' specified in topic arg '{text}''", "topic")
            places.append(TopicPartition(topic, int(number)))
    return places


def _delete(view: ClusterView, groups: list[str]) -> Printed | None:
    refused = []
    for name in groups:
        group = view.groups.get(name)
        if group is None or not exists(group):
            why = "GroupIdNotFoundException: The group id does not exist."
        elif _active(group):
            why = "GroupNotEmptyException: The group is not empty."
        else:
            continue
        refused.append(f"* Group '{name}' could not be deleted due to: org.apache.kafka.common.errors.{why}\n")
    if not refused:
        return None
    return failed("Deletion of some consumer groups failed:") + Printed("".join(refused))


def _delete_offsets(view: ClusterView, line: ToolLine) -> Printed | None:
    """Refused for topics that members subscribe to. Source: `ConsumerGroupService.deleteOffsets`."""
    group = view.groups.get(line.one("group"))
    if group is None or not line.has("topic"):
        raise line.wrong("Option [delete-offsets] takes the following options: [group], [topic]")
    places = sorted(named_places(view, line), key=lambda place: f"{place.topic}{place.partition}")
    topics = {topic for name in group.members.values() if name in view.members for topic in view.members[name].topics}
    if not _active(group) or not any(place.topic in topics for place in places):
        return None
    rows = [("TOPIC", "PARTITION", "STATUS")]
    for topic, number in places:
        status = f"Error: {_SUBSCRIBED}" if topic in topics else MISSING
        rows.append((topic, str(number), status))
    lines = columns(rows, [widest(15, (place.topic for place in places)), 10, 15])
    said = failed("Encountered some partition-level error, see the follow-up details.")
    return said + Printed("".join(f"\n{one}" for one in lines) + "\n")
