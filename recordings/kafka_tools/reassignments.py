"""`kafka-reassign-partitions.sh` of a flight: --list, --verify, and what it prints instead of --execute or --cancel.

Source: `ReassignPartitionsCommand` of release 4.3.1.
"""

from typing import Final

from cluster.protocol.names import TopicPartition
from cluster.view.state import ClusterView, PartitionView
from recordings.kafka_log.java_maps import string_map_order
from recordings.kafka_tools.orders import check_reassignment, reassigned_to
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import ToolLine

_EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a"
    " new partition assignment in addition to the existing one. The --additional flag can also be used to change the"
    " throttle by resubmitting the current reassignment."
)
_UNKNOWN: Final = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
_BUCKETS: Final = 16


def list_reassignments(view: ClusterView, line: ToolLine) -> Printed:
    """Each reassignment in progress, by topic and number."""
    check_reassignment(line)
    lines = []
    for name, one in sorted(_active(view).items(), key=lambda entry: (entry[1].topic, entry[1].number)):
        adding = f" adding: {_ids(one.adding)}." if one.adding else ""
        removing = f" removing: {_ids(one.removing)}." if one.removing else ""
        lines.append(f"{name}: replicas: {_ids(one.replicas)}.{adding}{removing}\n")
    head = "Current partition reassignments:\n" if lines else "No partition reassignments found.\n"
    return Printed(head + "".join(lines))


def verify(view: ClusterView, line: ToolLine) -> Printed:
    """Whether each partition of the JSON has arrived; with nothing in progress the tool clears every throttle."""
    check_reassignment(line)
    targets, active = dict(reassigned_to(line)), _active(view)
    said = Printed("Status of partition reassignment:\n")
    for place in sorted(targets):
        target, known = targets[place], view.partitions.get(str(place))
        now = known.replicas if known is not None else ()
        if str(place) in active:
            words = f"Reassignment of partition {place} is still in progress."
        elif now == target:
            words = f"Reassignment of partition {place} is completed."
        else:
            words = (
                f"There is no active reassignment of partition {place}, but replica set is {_ids(now)} rather than"
                f" {_ids(target)}."
            )
        said += Printed(f"{words}\n")
    said += Printed("\n")  # no replica moves between log directories
    return said if active or line.has("preserve-throttles") else said + _cleared(view, targets)


def refused(view: ClusterView, line: ToolLine) -> Printed | None:
    """What the tool prints instead of starting or cancelling anything; None when it does."""
    targets, active = dict(reassigned_to(line)), _active(view)
    if line.action == "cancel":
        if any(str(place) in active for place in targets):
            return None
        nothing = "None of the specified partition reassignments are active.\n"
        moves = "None of the specified partition moves are active."
        cleared = Printed() if line.has("preserve-throttles") else _cleared(view, targets)
        return Printed(nothing + moves) + cleared
    if active and not line.has("additional"):
        return Printed(f"{_EXISTING}\n", ok=False)
    live = {one.broker for one in view.brokers.values() if not one.fenced}
    unknown = sorted({broker for replicas in targets.values() for broker in replicas} - live)
    if unknown:
        return Printed(f"Error: Unknown broker id {unknown[0]}\n", ok=False)
    for topic in dict.fromkeys(place.topic for place in targets):
        if topic not in view.topics:
            return Printed(f"Error: {_UNKNOWN}: Topic {topic} not found.\n", ok=False)
    missing = [str(place) for place in targets if str(place) not in view.partitions]
    if missing:
        return Printed(f"Error: {_UNKNOWN}: Unable to find partition: {', '.join(missing)}\n", ok=False)
    return None


def _active(view: ClusterView) -> dict[str, PartitionView]:
    return {name: one for name, one in view.partitions.items() if one.adding or one.removing}


def _cleared(view: ClusterView, targets: dict[TopicPartition, tuple[int, ...]]) -> Printed:
    """The tool clears throttles of the live brokers, of those in the JSON, and of its topics."""
    live = {one.broker for one in view.brokers.values() if not one.fenced}
    brokers = sorted(live | {broker for replicas in targets.values() for broker in replicas})
    topics = string_map_order(list(dict.fromkeys(place.topic for place in targets)), _BUCKETS)
    return Printed(
        f"Clearing broker-level throttles on broker{'' if len(brokers) == 1 else 's'} {_ids(brokers)}\n"
        f"Clearing topic-level throttles on topic{'' if len(topics) == 1 else 's'} {','.join(topics)}\n"
    )


def _ids(brokers: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, brokers))
