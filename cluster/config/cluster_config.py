"""The configuration of the cluster as a typed struct, from which the simulation builds brokers and internal topics.

What a broker process reads is `cluster/broker/broker_config.py`; what a log reads is `LogConfig` of `cluster.storage`.
Source: `KafkaConfig`.
"""

from cluster.config.client_config import TypedConfig, key_of_field


class ClusterConfig(TypedConfig, frozen=True, rename=key_of_field):
    """The keys of brokers that hold for the whole cluster: sessions, internal topics, leader balance, features."""

    broker_session_timeout_ms: int
    auto_leader_rebalance_enable: bool
    leader_imbalance_check_interval_seconds: int
    leader_imbalance_per_broker_percentage: int
    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    offsets_topic_num_partitions: int
    offsets_topic_replication_factor: int
    transaction_state_log_num_partitions: int
    transaction_state_log_replication_factor: int
    transaction_state_log_min_isr: int
    transaction_version: int
