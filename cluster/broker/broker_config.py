"""The broker keys that a broker reads once, when it is built, as typed values.

Keys that `set` changes in a running cluster are not here: coordinators read those again from `Broker.config`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from cluster.config import RACK_AWARE_SELECTORS
from cluster.config.broker_values import broker_number

MS: Final = 1_000


class BrokerConfig(msgspec.Struct, frozen=True):
    """Kafka's broker configuration, as far as it is fixed at startup; durations in µs."""

    heartbeat_interval_us: int
    controlled_shutdown_enable: bool
    replica_lag_time_max_us: int
    replica_fetch_wait_max_us: int
    producer_id_expiration_us: int
    producer_id_expiration_check_us: int
    log_retention_check_us: int
    log_cleaner_backoff_us: int
    selects_read_replicas: bool
    offsets_topic_partitions: int
    offsets_commit_timeout_us: int
    transaction_topic_partitions: int
    transaction_version: int
    transaction_verification_enable: bool
    add_partitions_retry_us: int
    add_partitions_retry_max_us: int

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "BrokerConfig":
        """The values of a broker's keys; Kafka's default for an absent one."""
        number = partial(broker_number, config)
        return cls(
            heartbeat_interval_us=number("broker.heartbeat.interval.ms") * MS,
            controlled_shutdown_enable=bool(number("controlled.shutdown.enable")),
            replica_lag_time_max_us=number("replica.lag.time.max.ms") * MS,
            replica_fetch_wait_max_us=number("replica.fetch.wait.max.ms") * MS,
            producer_id_expiration_us=number("producer.id.expiration.ms") * MS,
            producer_id_expiration_check_us=number("producer.id.expiration.check.interval.ms") * MS,
            selects_read_replicas=config.get("replica.selector.class") in RACK_AWARE_SELECTORS,
            log_cleaner_backoff_us=number("log.cleaner.backoff.ms") * MS,
            log_retention_check_us=number("log.retention.check.interval.ms") * MS,
            offsets_topic_partitions=number("offsets.topic.num.partitions"),
            offsets_commit_timeout_us=number("offsets.commit.timeout.ms") * MS,
            transaction_topic_partitions=number("transaction.state.log.num.partitions"),
            transaction_version=number("transaction.version"),
            transaction_verification_enable=bool(number("transaction.partition.verification.enable")),
            add_partitions_retry_us=number("add.partitions.to.txn.retry.backoff.ms") * MS,
            add_partitions_retry_max_us=number("add.partitions.to.txn.retry.backoff.max.ms") * MS,
        )
