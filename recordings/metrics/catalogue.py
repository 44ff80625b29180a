"""The metrics that a flight exports: name, type, label sets, and where the value is in Kafka.

Names, types and labels are those of kafka_exporter 1.9.0 and of jmx_exporter 1.0.1 to 1.6.0 with its example rules
(`kafka-kraft-3_0_0.yml` in brokers, `kafka-connect.yml` in clients) beside Kafka 4.3.1. JMX exporter has no label
`instance`: Prometheus adds it to what it scrapes from each process, and here one page is of all processes.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

INSTANCE: Final = "instance"

GROUP: Final = ("consumergroup",)
GROUP_TOPIC: Final = ("consumergroup", "topic")
GROUP_PARTITION: Final = ("consumergroup", "topic", "partition")
TOPIC: Final = ("topic",)
PARTITION: Final = ("topic", "partition")
CLIENT: Final = ("clientId",)
CLIENT_TOPIC: Final = ("clientId", "topic")
CLIENT_PARTITION: Final = ("clientId", "topic", "partition")


class ExportedMetric(NamedTuple):
    """A metric: `name` is that of its samples, `labels` its label sets without `instance`, `source` Kafka's name.

    `per_process`: a sample has the label `instance`, with the name of the broker or client.
    """

    name: str
    kind: Literal["gauge", "counter"]
    labels: tuple[tuple[str, ...], ...]
    meaning: str
    source: str
    per_process: bool = True

    @property
    def family(self) -> str:
        """The name of the metric family: a counter's is without `_total`."""
        return self.name.removesuffix("_total") if self.kind == "counter" else self.name


def _exporter(name: str, labels: tuple[str, ...], meaning: str, source: str) -> ExportedMetric:
    return ExportedMetric(f"kafka_{name}", "gauge", (labels,), meaning, source, per_process=False)


KAFKA_EXPORTER: Final = (
    _exporter("brokers", (), "Brokers that the controller has not fenced.", "Metadata"),
    _exporter("topic_partitions", TOPIC, "Partitions of the topic.", "Metadata"),
    _exporter("topic_partition_current_offset", PARTITION, "High watermark of the leader.", "ListOffsets, latest"),
    _exporter("topic_partition_oldest_offset", PARTITION, "Log start offset of the leader.", "ListOffsets, earliest"),
    _exporter("topic_partition_leader", PARTITION, "Broker id of the leader.", "Metadata"),
    _exporter("topic_partition_replicas", PARTITION, "Replicas of the partition.", "Metadata"),
    _exporter("topic_partition_in_sync_replica", PARTITION, "In-sync replicas of the partition.", "Metadata"),
    _exporter("topic_partition_leader_is_preferred", PARTITION, "1 if the first replica leads, else 0.", "Metadata"),
    _exporter("topic_partition_under_replicated_partition", PARTITION, "1 if ISR < replicas, else 0.", "Metadata"),
    _exporter("consumergroup_current_offset", GROUP_PARTITION, "Committed offset; -1 for none.", "OffsetFetch"),
    _exporter("consumergroup_current_offset_sum", GROUP_TOPIC, "Sum of the offsets, -1 included.", "OffsetFetch"),
    _exporter("consumergroup_lag", GROUP_PARTITION, "High watermark - committed offset; -1 for none.", "both"),
    _exporter("consumergroup_lag_sum", GROUP_TOPIC, "Sum of the lags of partitions with an offset.", "both"),
    _exporter("consumergroup_members", GROUP, "Members of a classic group; 0 of a consumer group.", "DescribeGroups"),
)  # fmt: skip


def _broker(name: str, meaning: str, source: str, *labels: tuple[str, ...]) -> ExportedMetric:
    kind: Literal["gauge", "counter"] = "counter" if name.endswith("_total") else "gauge"
    return ExportedMetric(f"kafka_{name}", kind, labels or ((),), meaning, source)


_MANAGER: Final = "kafka.server:type=ReplicaManager"
_PARTITION: Final = "kafka.cluster:type=Partition"
_LOG: Final = "kafka.log:type=Log"
_TOPICS: Final = "kafka.server:type=BrokerTopicMetrics"
_CONTROLLER: Final = "kafka.controller:type=KafkaController"
_GROUPS: Final = "kafka.coordinator.group:type=GroupMetadataManager"
_COORDINATOR: Final = "kafka.server:type=group-coordinator-metrics"

BROKER: Final = (
    _broker(
        "server_kafkaserver_brokerstate",
        "1 STARTING, 3 RUNNING, 6 PENDING_CONTROLLED_SHUTDOWN.",
        "kafka.server:type=KafkaServer,name=BrokerState",
    ),
    _broker("server_replicamanager_leadercount", "Partitions that the broker leads.", f"{_MANAGER},name=LeaderCount"),
    _broker("server_replicamanager_partitioncount", "Replicas on the broker.", f"{_MANAGER},name=PartitionCount"),
    _broker(
        "server_replicamanager_underreplicatedpartitions",
        "Partitions that the broker leads with fewer in-sync replicas than replicas, but for those being added.",
        f"{_MANAGER},name=UnderReplicatedPartitions",
    ),
    _broker(
        "server_replicamanager_underminisrpartitioncount",
        "Partitions that the broker leads with fewer in-sync replicas than min.insync.replicas.",
        f"{_MANAGER},name=UnderMinIsrPartitionCount",
    ),
    _broker(
        "server_replicamanager_atminisrpartitioncount",
        "Partitions that the broker leads with exactly min.insync.replicas in-sync replicas.",
        f"{_MANAGER},name=AtMinIsrPartitionCount",
    ),
    _broker(
        "server_replicamanager_reassigningpartitions",
        "Partitions that the broker leads with a reassignment in progress.",
        f"{_MANAGER},name=ReassigningPartitions",
    ),
    _broker(
        "server_brokertopicmetrics_messagesin_total",
        "Records that the broker has appended as leader, control records included, since its start.",
        f"{_TOPICS},name=MessagesInPerSec",
        (),
        TOPIC,
    ),
    _broker(
        "server_brokertopicmetrics_bytesin_total",
        "Bytes that the broker has appended as leader since its start.",
        f"{_TOPICS},name=BytesInPerSec",
        (),
        TOPIC,
    ),
    _broker(
        "cluster_partition_underreplicated",
        "1 if the broker leads the partition and an in-sync replica is missing, else 0.",
        f"{_PARTITION},name=UnderReplicated",
        PARTITION,
    ),
    _broker(
        "cluster_partition_underminisr",
        "1 if the broker leads the partition below min.insync.replicas, else 0.",
        f"{_PARTITION},name=UnderMinIsr",
        PARTITION,
    ),
    _broker(
        "cluster_partition_atminisr",
        "1 if the broker leads the partition at min.insync.replicas, else 0.",
        f"{_PARTITION},name=AtMinIsr",
        PARTITION,
    ),
    _broker(
        "cluster_partition_insyncreplicascount",
        "In-sync replicas of a partition that the broker leads, else 0.",
        f"{_PARTITION},name=InSyncReplicasCount",
        PARTITION,
    ),
    _broker(
        "cluster_partition_replicascount",
        "Replicas of a partition that the broker leads, else 0.",
        f"{_PARTITION},name=ReplicasCount",
        PARTITION,
    ),
    _broker(
        "cluster_partition_laststableoffsetlag",
        "High watermark - last stable offset, at the leader.",
        f"{_PARTITION},name=LastStableOffsetLag",
        PARTITION,
    ),
    _broker("log_log_logendoffset", "Log end offset, at the leader.", f"{_LOG},name=LogEndOffset", PARTITION),
    _broker("log_log_logstartoffset", "Log start offset, at the leader.", f"{_LOG},name=LogStartOffset", PARTITION),
    _broker("log_log_size", "Bytes of the log, at the leader.", f"{_LOG},name=Size", PARTITION),
    _broker(
        "controller_kafkacontroller_activecontrollercount",
        "1 on the active controller, else 0.",
        f"{_CONTROLLER},name=ActiveControllerCount",
    ),
    _broker(
        "controller_kafkacontroller_activebrokercount",
        "Brokers that are not fenced.",
        f"{_CONTROLLER},name=ActiveBrokerCount",
    ),
    _broker(
        "controller_kafkacontroller_fencedbrokercount",
        "Brokers that are fenced, stopped ones included.",
        f"{_CONTROLLER},name=FencedBrokerCount",
    ),
    _broker("controller_kafkacontroller_globaltopiccount", "Topics.", f"{_CONTROLLER},name=GlobalTopicCount"),
    _broker(
        "controller_kafkacontroller_globalpartitioncount", "Partitions.", f"{_CONTROLLER},name=GlobalPartitionCount"
    ),
    _broker(
        "controller_kafkacontroller_offlinepartitionscount",
        "Partitions without a leader.",
        f"{_CONTROLLER},name=OfflinePartitionsCount",
    ),
    _broker(
        "controller_kafkacontroller_preferredreplicaimbalancecount",
        "Partitions that their first replica does not lead.",
        f"{_CONTROLLER},name=PreferredReplicaImbalanceCount",
    ),
    _broker(
        "controller_controllerstats_uncleanleaderelections_total",
        "Unclean leader elections since the process started.",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
    ),
    _broker(
        "coordinator_group_groupmetadatamanager_numgroups",
        "Classic groups that the broker coordinates.",
        f"{_GROUPS},name=NumGroups",
    ),
    _broker(
        "coordinator_group_groupmetadatamanager_numgroupspreparingrebalance",
        "Classic groups of the broker in state PreparingRebalance.",
        f"{_GROUPS},name=NumGroupsPreparingRebalance",
    ),
    _broker(
        "coordinator_group_groupmetadatamanager_numgroupscompletingrebalance",
        "Classic groups of the broker in state CompletingRebalance.",
        f"{_GROUPS},name=NumGroupsCompletingRebalance",
    ),
    _broker(
        "coordinator_group_groupmetadatamanager_numgroupsstable",
        "Classic groups of the broker in state Stable.",
        f"{_GROUPS},name=NumGroupsStable",
    ),
    _broker(
        "coordinator_group_groupmetadatamanager_numgroupsempty",
        "Classic groups of the broker in state Empty.",
        f"{_GROUPS},name=NumGroupsEmpty",
    ),
    _broker(
        "coordinator_group_groupmetadatamanager_numoffsets",
        "Committed offsets that the broker keeps: one for each group and partition.",
        f"{_GROUPS},name=NumOffsets",
    ),
    _broker(
        "server_group_coordinator_metrics_protocol_classic_group_count",
        "Classic groups that the broker coordinates.",
        f"{_COORDINATOR},protocol=classic: group-count",
    ),
    _broker(
        "server_group_coordinator_metrics_protocol_consumer_group_count",
        "Consumer groups that the broker coordinates.",
        f"{_COORDINATOR},protocol=consumer: group-count",
    ),
    *(
        _broker(
            f"server_group_coordinator_metrics_state_{state}_consumer_group_count",
            f"Consumer groups of the broker in state {state.title()}.",
            f"{_COORDINATOR},state={state}: consumer-group-count",
        )
        for state in ("empty", "assigning", "reconciling", "stable")
    ),
    _broker(
        "server_group_coordinator_metrics_group_completed_rebalance_count",
        "Rebalances of classic groups that became Stable at this coordinator since its start.",
        f"{_COORDINATOR}: group-completed-rebalance-count",
    ),
    _broker(
        "server_group_coordinator_metrics_offset_commit_count",
        "Offsets that groups have committed at this coordinator since its start.",
        f"{_COORDINATOR}: offset-commit-count",
    ),
)

_FETCH: Final = "kafka.consumer:type=consumer-fetch-manager-metrics"
_PRODUCER: Final = "kafka.producer:type=producer-metrics"

CONSUMER: Final = (
    _broker(
        "consumer_fetch_manager_records_consumed",
        "Records that poll() has returned since the process started.",
        f"{_FETCH}: records-consumed-total",
        CLIENT,
    ),
    _broker(
        "consumer_fetch_manager_records_lag",
        "High watermark, or last stable offset for read_committed, - position.",
        f"{_FETCH}: records-lag",
        CLIENT_PARTITION,
    ),
    _broker(
        "consumer_fetch_manager_records_lead",
        "Position - log start offset.",
        f"{_FETCH}: records-lead",
        CLIENT_PARTITION,
    ),
    _broker(
        "consumer_fetch_manager_preferred_read_replica",
        "Follower that the consumer reads the partition from; -1 for the leader.",
        f"{_FETCH}: preferred-read-replica",
        CLIENT_PARTITION,
    ),
)
PRODUCER: Final = (
    _broker(
        "producer_record_send",
        "Records sent since the process started, retries included.",
        f"{_PRODUCER}: record-send-total",
        CLIENT,
    ),
    _broker(
        "producer_record_retry",
        "Records queued again after an error since the process started.",
        f"{_PRODUCER}: record-retry-total",
        CLIENT,
    ),
    _broker(
        "producer_record_error",
        "Records that failed for good since the process started.",
        f"{_PRODUCER}: record-error-total",
        CLIENT,
    ),
    _broker(
        "producer_batch_split",
        "Batches split as too large since the process started.",
        f"{_PRODUCER}: batch-split-total",
        CLIENT,
    ),
    _broker("producer_requests_in_flight", "Produce requests in flight.", f"{_PRODUCER}: requests-in-flight", CLIENT),
    *(
        _broker(
            f"producer_topic_record_{what}",
            f"As kafka_producer_record_{what}, of one topic.",
            f"kafka.producer:type=producer-topic-metrics: record-{what}-total",
            CLIENT_TOPIC,
        )
        for what in ("send", "retry", "error")
    ),
)

EXPORTED: Final[Mapping[str, ExportedMetric]] = {
    metric.name: metric for metric in (*KAFKA_EXPORTER, *BROKER, *CONSUMER, *PRODUCER)
}
"""Every metric by the name of its samples, in the order of the page."""
