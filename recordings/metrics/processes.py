"""What JMX exporter reads in each process: brokers with their controller and coordinator, producers, consumers.

A process that has ended, or stands still, answers no scrape: it has no series. A broker's gauges say what the
controller's metadata says; a real broker learns of it one message later.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from cluster.view import ClusterView
from cluster.view.brokers import BrokerView
from cluster.view.state import NEVER, MemberView, PartitionView, ProducerView
from recordings.kafka_tools.group_descriptions import exists
from recordings.metrics.counts import ProcessCounts
from recordings.metrics.kafka_exporter import Sample, answers, committed, coordinator_of

BROKER_STATES: Final = {"NotRunning": 0, "Starting": 1, "Running": 3, "PendingControlledShutdown": 6}
"""Source: `org.apache.kafka.metadata.BrokerState`."""

CLASSIC_STATES: Final = {
    "PreparingRebalance": "numgroupspreparingrebalance",
    "CompletingRebalance": "numgroupscompletingrebalance",
    "Stable": "numgroupsstable",
    "Empty": "numgroupsempty",
}
CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable")
NO_COUNTS: Final[Mapping[tuple[str, str], int]] = Counter()


def samples_of_processes(view: ClusterView, counts: ProcessCounts) -> Iterator[Sample]:
    """Every sample of the processes that run."""
    yield from _of_brokers(view, counts)
    for member in view.members.values():
        if member.alive and not member.paused:
            for name, labels, value in _consumer(view, member, counts.consumers.get(member.member, NO_COUNTS)):
                yield Sample(f"kafka_consumer_fetch_manager_{name}", labels, value, member.member)
    for producer in view.producers.values():
        if producer.state in {"Running", "Fenced"}:
            for name, labels, value in _producer(producer, counts.producers.get(producer.producer, NO_COUNTS)):
                yield Sample(f"kafka_producer_{name}", labels, value, producer.producer)


def _of_brokers(view: ClusterView, counts: ProcessCounts) -> Iterator[Sample]:
    running = [one for one in view.brokers.values() if one.state != "NotRunning" and not one.paused]
    hosted: dict[int, list[PartitionView]] = {broker.broker: [] for broker in running}
    for partition in view.partitions.values():
        for number in partition.replicas:
            if number in hosted:
                hosted[number].append(partition)
    for broker in running:
        counted = _counted(counts.brokers.get(broker.broker, NO_COUNTS))
        for name, labels, value in chain(_broker(view, broker, hosted[broker.broker]), counted):
            yield Sample(f"kafka_{name}", labels, value, f"broker-{broker.broker}")


Found = Iterator[tuple[str, dict[str, str], float]]


def _broker(view: ClusterView, broker: BrokerView, hosted: list[PartitionView]) -> Found:
    yield "server_kafkaserver_brokerstate", {}, BROKER_STATES[broker.state]
    under_replicated = under_min = at_min = led = reassigning = 0
    for partition in hosted:
        leads = partition.leader == broker.broker
        labels = {"topic": partition.topic, "partition": str(partition.number)}
        in_sync, replicas = (len(partition.isr), partition.replication_factor) if leads else (0, 0)
        # Partition.effectiveMinIsr: replicas that are being added count
        least = min(view.topics[partition.topic].min_insync_replicas, len(partition.replicas) if leads else 0)
        lacks, below, at = in_sync < replicas, leads and in_sync < least, leads and in_sync == least
        led, under_replicated = led + leads, under_replicated + lacks
        reassigning += leads and bool(partition.adding or partition.removing)
        under_min, at_min = under_min + below, at_min + at
        yield "cluster_partition_underreplicated", labels, lacks
        yield "cluster_partition_underminisr", labels, below
        yield "cluster_partition_atminisr", labels, at
        yield "cluster_partition_insyncreplicascount", labels, in_sync
        yield "cluster_partition_replicascount", labels, replicas
        if leads and answers(view, partition):
            lag = partition.high_watermark - partition.last_stable_offset
            yield "cluster_partition_laststableoffsetlag", labels, lag
            yield "log_log_logendoffset", labels, partition.log_end
            yield "log_log_logstartoffset", labels, partition.log_start
            yield "log_log_size", labels, partition.bytes
    manager = "server_replicamanager_"
    yield f"{manager}leadercount", {}, led
    yield f"{manager}partitioncount", {}, len(hosted)
    yield f"{manager}underreplicatedpartitions", {}, under_replicated
    yield f"{manager}underminisrpartitioncount", {}, under_min
    yield f"{manager}atminisrpartitioncount", {}, at_min
    yield f"{manager}reassigningpartitions", {}, reassigning
    yield from _controller(view, broker)
    yield from _coordinator(view, broker.broker)


def _controller(view: ClusterView, broker: BrokerView) -> Found:
    """The gauges of the metadata, which every controller publishes. Source: `ControllerMetadataMetricsPublisher`."""
    controller = "controller_kafkacontroller_"
    fenced = sum(1 for one in view.brokers.values() if one.fenced)
    partitions = view.partitions.values()
    yield f"{controller}activecontrollercount", {}, view.controller == broker.broker
    yield f"{controller}activebrokercount", {}, len(view.brokers) - fenced
    yield f"{controller}fencedbrokercount", {}, fenced
    yield f"{controller}globaltopiccount", {}, len(view.topics)
    yield f"{controller}globalpartitioncount", {}, len(partitions)
    yield f"{controller}offlinepartitionscount", {}, sum(1 for one in partitions if one.leader < 0)
    away = sum(1 for one in partitions if one.replicas and one.leader != one.replicas[0])
    yield f"{controller}preferredreplicaimbalancecount", {}, away


def _coordinator(view: ClusterView, broker: int) -> Found:
    """The gauges of the groups that a broker coordinates. Source: `GroupCoordinatorMetrics`."""
    classic, consumer = Counter[str](), Counter[str]()
    offsets = 0
    for group in view.groups.values():
        if coordinator_of(view, group) == broker and broker != NEVER and exists(group):
            (classic if group.consumer is None else consumer)[group.state] += 1
            offsets += sum(1 for _ in committed(group))
    manager, metrics = "coordinator_group_groupmetadatamanager_", "server_group_coordinator_metrics_"
    yield f"{manager}numgroups", {}, classic.total()
    for state, name in CLASSIC_STATES.items():
        yield f"{manager}{name}", {}, classic[state]
    yield f"{manager}numoffsets", {}, offsets
    yield f"{metrics}protocol_classic_group_count", {}, classic.total()
    yield f"{metrics}protocol_consumer_group_count", {}, consumer.total()
    for state in CONSUMER_STATES:
        yield f"{metrics}state_{state.lower()}_consumer_group_count", {}, consumer[state]


def _counted(counts: Mapping[tuple[str, str], int]) -> Found:
    """What a broker has counted since its start."""
    for what in ("messagesin", "bytesin"):
        yield f"server_brokertopicmetrics_{what}_total", {}, counts.get((what, ""), 0)
    for (what, topic), value in counts.items():
        if topic:
            yield f"server_brokertopicmetrics_{what}_total", {"topic": topic}, value
    metrics = "server_group_coordinator_metrics_"
    unclean = counts.get(("uncleanleaderelections", ""), 0)
    yield "controller_controllerstats_uncleanleaderelections_total", {}, unclean
    yield f"{metrics}group_completed_rebalance_count", {}, counts.get(("completed_rebalances", ""), 0)
    yield f"{metrics}offset_commit_count", {}, counts.get(("offset_commits", ""), 0)


def _consumer(view: ClusterView, member: MemberView, counts: Mapping[tuple[str, str], int]) -> Found:
    client = {"clientId": member.member}
    stable = view.groups[member.group].read_committed
    yield "records_consumed", client, counts.get(("consumed", ""), 0)
    for name in member.owned:
        partition = view.partitions[name]
        labels = client | {"topic": partition.topic, "partition": str(partition.number)}
        yield "preferred_read_replica", labels, member.read_from.get(name, -1)
        position = member.positions.get(name)
        if position is not None:
            end = partition.last_stable_offset if stable else partition.high_watermark
            yield "records_lag", labels, max(0, end - position)  # SubscriptionState.partitionLag
            yield "records_lead", labels, max(0, position - partition.log_start)


def _producer(producer: ProducerView, counts: Mapping[tuple[str, str], int]) -> Found:
    client = {"clientId": producer.producer}
    for what in ("send", "retry", "error"):
        yield f"record_{what}", client, counts.get((what, ""), 0)
    yield "batch_split", client, counts.get(("split", ""), 0)
    yield "requests_in_flight", client, len(producer.in_flight)
    for topic in sorted({topic for _, topic in counts if topic}):
        for what in ("send", "retry", "error"):
            yield f"topic_record_{what}", client | {"topic": topic}, counts.get((what, topic), 0)
