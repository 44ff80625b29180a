"""What kafka_exporter reads of a cluster by Kafka's protocol: Metadata, ListOffsets, DescribeGroups, OffsetFetch.

It asks as a client: what has no leader or no coordinator has no series, and the group's lag is what its committed
offset lacks to the high watermark. Source: `getTopicMetrics` and `getConsumerGroupMetrics` of kafka_exporter 1.9.0 with
its default `--offset.show-all`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cluster.view import ClusterView
from cluster.view.state import NEVER, GroupView, PartitionView
from recordings.kafka_tools.group_descriptions import exists


class Sample(NamedTuple):
    """A value of a metric; `instance` is the broker or client whose process has it, "" for kafka_exporter's own."""

    name: str
    labels: Mapping[str, str]
    value: float
    instance: str = ""


def samples_of_exporter(view: ClusterView) -> Iterator[Sample]:
    """Every sample of kafka_exporter's page."""
    yield Sample("kafka_brokers", {}, sum(1 for broker in view.brokers.values() if not broker.fenced))
    offsets: dict[str, dict[str, int]] = {}
    for topic in view.topics.values():
        yield Sample("kafka_topic_partitions", {"topic": topic.topic}, topic.partitions)
        ends = offsets[topic.topic] = {}
        for name in view.partitions_by_topic[topic.topic]:
            partition = view.partitions[name]
            yield from _partition(view, partition)
            if answers(view, partition):
                ends[name] = partition.high_watermark
    for group in view.groups.values():
        if coordinator_of(view, group) != NEVER and exists(group):
            yield from _group(view, group, offsets)


def answers(view: ClusterView, partition: PartitionView) -> bool:
    """Whether a broker answers for a partition: the elected leader runs and knows that it leads."""
    leader = view.brokers.get(partition.leader)
    return leader is not None and leader.up and not leader.paused and partition.taken_epoch == partition.leader_epoch


def coordinator_of(view: ClusterView, group: GroupView) -> int:
    """The broker that coordinates a group and has loaded it; NEVER while no broker does."""
    partition = view.partitions.get(group.coordinator_partition)
    if partition is None or not answers(view, partition) or group.coordinated_by not in {NEVER, partition.leader}:
        return NEVER
    return partition.leader


def committed(group: GroupView) -> Iterator[tuple[str, int]]:
    """The partitions in which the group has an offset, and the offset."""
    return ((name, one.committed) for name, one in group.readers.items() if one.committed != NEVER)


def _partition(view: ClusterView, partition: PartitionView) -> Iterator[Sample]:
    if not partition.replicas:  # not yet in the metadata
        return
    labels = {"topic": partition.topic, "partition": str(partition.number)}
    if partition.leader >= 0:
        yield Sample("kafka_topic_partition_leader", labels, partition.leader)
    if answers(view, partition):
        yield Sample("kafka_topic_partition_current_offset", labels, partition.high_watermark)
        yield Sample("kafka_topic_partition_oldest_offset", labels, partition.log_start)
    yield Sample("kafka_topic_partition_replicas", labels, len(partition.replicas))
    yield Sample("kafka_topic_partition_in_sync_replica", labels, len(partition.isr))
    preferred = partition.leader == partition.replicas[0]
    yield Sample("kafka_topic_partition_leader_is_preferred", labels, preferred)
    lacks = len(partition.isr) < len(partition.replicas)
    yield Sample("kafka_topic_partition_under_replicated_partition", labels, lacks)


def _group(view: ClusterView, group: GroupView, offsets: Mapping[str, Mapping[str, int]]) -> Iterator[Sample]:
    members = 0 if group.consumer is not None else len(group.members)  # DescribeGroups knows classic groups only
    yield Sample("kafka_consumergroup_members", {"consumergroup": group.group}, members)
    stored = dict(committed(group))
    for topic in dict.fromkeys(view.partitions[name].topic for name in stored):
        both = {"consumergroup": group.group, "topic": topic}
        total = lags = 0
        for name in view.partitions_by_topic[topic]:
            labels = both | {"partition": str(view.partitions[name].number)}
            offset = stored.get(name, -1)
            total += offset
            yield Sample("kafka_consumergroup_current_offset", labels, offset)
            end = offsets[topic].get(name)
            if end is None:
                continue
            lag = -1 if offset == -1 else end - offset
            lags += lag if offset != -1 else 0
            yield Sample("kafka_consumergroup_lag", labels, lag)
        yield Sample("kafka_consumergroup_current_offset_sum", both, total)
        yield Sample("kafka_consumergroup_lag_sum", both, lags)
