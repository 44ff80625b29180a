"""`kafka-reassign-partitions.sh` of a flight: what each of its actions prints, and what it refuses.

Source: `ReassignPartitionsCommand` of release 4.3.1, whose directories of logs are `any` here: a broker has one.
"""

import json
from collections.abc import Iterable, Mapping, Sized
from typing import Final

from cluster.protocol.names import TopicPartition
from cluster.protocol.placement.topic_creation import reason_not_placed, striped
from cluster.view.state import ClusterView, PartitionView
from recordings.kafka_log.java_maps import string_map_order
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.reassignment_options import check_reassignment, check_targets, reassigned_to, to_generate
from recordings.kafka_tools.tool_lines import ToolLine

_EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a"
    " new partition assignment in addition to the existing one. The --additional flag can also be used to change the"
    " throttle by resubmitting the current reassignment."
)
_ERRORS: Final = "org.apache.kafka.common.errors."
_UNKNOWN: Final = f"{_ERRORS}UnknownTopicOrPartitionException"
_CALL: Final = "incrementalAlterConfigs"
_BUCKETS: Final = 16
_ROLLBACK: Final = "Save this to use as the --reassignment-json-file option during rollback"
_NO_MOVES: Final = "None of the specified partition moves are active."


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
    for place in targets:  # the tool asks for more partitions than there are, and is one off
        topic = view.topics.get(place.topic)
        if topic is not None and place.partition == topic.partitions:
            return _error(f"Index {place.partition} out of bounds for length {topic.partitions}")
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


def generate(view: ClusterView, line: ToolLine) -> Printed:
    """The replicas of topics, and others on the brokers of `--broker-list` that serve.

    The tool places them as the controller does those of a new topic: from a random broker on, and shuffled after as
    many partitions as there are brokers. Here the first broker comes first (`striped`).
    """
    check_reassignment(line)
    asked, topics = to_generate(line)
    unknown = next((topic for topic in topics if topic not in view.topics), None)
    if unknown is not None:
        return _error(f"{_UNKNOWN}: Topic {unknown} not found.")
    brokers = sorted(_live(view).intersection(asked))
    current, proposed = dict[TopicPartition, tuple[int, ...]](), dict[TopicPartition, tuple[int, ...]]()
    for topic in topics:
        parts = [view.partitions[name] for name in view.partitions_by_topic[topic]]
        replicas = len(parts[0].replicas)
        reason = reason_not_placed(replicas, len(brokers), len(brokers))
        if reason:
            return _error(reason)
        for one in parts:
            place = TopicPartition(topic, one.number)
            current[place], proposed[place] = one.replicas, striped(brokers, (), one.number, replicas)
    return Printed(
        f"Current partition replica assignment\n{_json(current)}\n\n"
        f"Proposed partition reassignment configuration\n{_json(proposed)}\n"
    )


def refused(view: ClusterView, line: ToolLine) -> Printed | None:
    """What the tool prints instead of starting or cancelling anything; None when it does."""
    targets, active = dict(reassigned_to(line)), _active(view)
    if line.action == "cancel":
        if any(str(place) in active for place in targets):
            return None
        cleared = Printed() if line.has("preserve-throttles") else _cleared(view, targets)
        return Printed(f"None of the specified partition reassignments are active.\n{_NO_MOVES}") + cleared
    if active and not line.has("additional"):
        return Printed(f"{_EXISTING}\n", ok=False)
    unknown = sorted({broker for replicas in targets.values() for broker in replicas} - _live(view))
    if unknown:
        return _error(f"Unknown broker id {unknown[0]}")
    for topic in dict.fromkeys(place.topic for place in targets):
        if topic not in view.topics:
            return _error(f"{_UNKNOWN}: Topic {topic} not found.")
    missing = [str(place) for place in targets if str(place) not in view.partitions]
    return _error(f"{_UNKNOWN}: Unable to find partition: {', '.join(missing)}") if missing else None


def done(view: ClusterView, line: ToolLine) -> Printed:
    """What the tool prints of what it has started or cancelled; `view` is that of the instant before."""
    targets = dict(reassigned_to(line))
    if line.action == "cancel":
        active = _active(view)
        ended = sorted(place for place in targets if str(place) in active)
        cleared = Printed() if line.has("preserve-throttles") else _cleared(view, targets)
        return (
            Printed(f"Successfully cancelled partition reassignment{_s(ended)} for: {_named(ended)}\n{_NO_MOVES}")
            + cleared
        )
    check_targets(line, list(targets.items()))
    current = {place: view.partitions[str(place)].replicas for place in targets if str(place) in view.partitions}
    return Printed(
        f"Current partition replica assignment\n\n{_json(current)}\n\n"
        f"{_ROLLBACK}\n"
        f"Successfully started partition reassignment{_s(targets)} for {_named(targets)}\n"
    )


def _active(view: ClusterView) -> dict[str, PartitionView]:
    return {name: one for name, one in view.partitions.items() if one.adding or one.removing}


def _live(view: ClusterView) -> set[int]:
    return {one.broker for one in view.brokers.values() if not one.fenced}


def _cleared(view: ClusterView, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Printed:
    """The tool clears throttles of the live brokers, of those in the JSON, and of its topics.

    It asks each broker itself: for one that is not there it waits until `default.api.timeout.ms`, and fails.
    """
    live, named = _live(view), {broker for replicas in targets.values() for broker in replicas}
    brokers = sorted(live | named)
    said = Printed(f"Clearing broker-level throttles on broker{_s(brokers)} {_ids(brokers)}\n")
    if named - live:
        return said + _error(f"{_ERRORS}TimeoutException: Timed out waiting for a node assignment. Call: {_CALL}")
    topics = string_map_order(list(dict.fromkeys(place.topic for place in targets)), _BUCKETS)
    said += Printed(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}\n")
    unknown = next((topic for topic in topics if topic not in view.topics), None)
    return said if unknown is None else said + _error(f"{_UNKNOWN}: The topic '{unknown}' does not exist.")


def _error(message: str) -> Printed:
    return Printed(f"Error: {message}\n", ok=False)


def _json(replicas: Mapping[TopicPartition, tuple[int, ...]]) -> str:
    """Replicas as `--reassignment-json-file` takes them. Source: `formatAsReassignmentJson`."""
    parts = [
        {"topic": place.topic, "partition": place.partition, "replicas": ids, "log_dirs": ["any"] * len(ids)}
        for place, ids in sorted(replicas.items())
    ]
    return json.dumps({"version": 1, "partitions": parts}, separators=(",", ":"))


def _named(places: Iterable[TopicPartition]) -> str:
    return ",".join(map(str, sorted(places)))


def _s(things: Sized) -> str:
    """The plural of one noun for so many things."""
    return "" if len(things) == 1 else "s"


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
