"""Every configuration key of Kafka that a scenario may name: what it is, its default, its bounds and where it stands.

The defaults are those of Kafka 4.x (`kafka-behaviours.md` §1.1–1.3, with the mistakes of §0 put right). `source` is the
class of Apache Kafka that defines the key. `in_flight` says that `set` changes it at once while the cluster runs (a
consumer's timeouts reach the coordinator with its next JoinGroup). A client's other keys wait for its next start; those
of brokers and topics are refused then.
"""

from typing import Final, Literal

import msgspec

Scope = Literal["broker", "topic", "producer", "consumer"]
Kind = Literal["int_ms", "int_bytes", "int", "bool", "string", "enum", "float", "list"]
Value = int | float | bool | str | tuple[str, ...] | None

INT_MAX: Final = 2_147_483_647
LONG_MAX: Final = 9_223_372_036_854_775_807


class ConfigKey(msgspec.Struct, frozen=True):
    """One key in one scope: `low` ≤ value ≤ `high` (None: no bound), in `unit`; None as default: not set.

    `choices`: the values an enum or a list may have; one that ends in `:` is the beginning of a value.
    """

    name: str
    scope: Scope
    kind: Kind
    default: Value
    low: float | None
    high: float | None
    unit: str
    in_flight: bool
    source: str
    choices: tuple[str, ...] = ()


SET_IN_FLIGHT: dict[str, tuple[str, ...]] = {
    "broker": (
        "group.min.session.timeout.ms",
        "group.max.session.timeout.ms",
        "group.initial.rebalance.delay.ms",
        "group.max.size",
        "offset.metadata.max.bytes",
        "offsets.retention.minutes",
        "offsets.retention.check.interval.ms",
        "message.max.bytes",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "log.cleanup.policy",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.delete.retention.ms",
    ),
    "topic": (
        "max.message.bytes",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "retention.ms",
        "retention.bytes",
        "segment.bytes",
        "internal.segment.bytes",
        "segment.ms",
        "cleanup.policy",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "max.compaction.lag.ms",
        "delete.retention.ms",
    ),
}
"""Keys of brokers and topics that `set` changes in a running cluster (`cluster.simulation.set_command` knows how)."""


RACK_AWARE_SELECTORS = ("RackAwareReplicaSelector", "org.apache.kafka.common.replica.RackAwareReplicaSelector")
"""What `replica.selector.class` may be; without it consumers fetch from leaders, as Kafka's LeaderSelector has them."""

_SELECTORS = (*RACK_AWARE_SELECTORS, "org.apache.kafka.common.replica.LeaderSelector")

ROUND_ROBIN = ("roundrobin", "RoundRobinPartitioner", "org.apache.kafka.clients.producer.RoundRobinPartitioner")
"""What `partitioner.class` may be; without it the built-in partitioner decides."""

LIBRDKAFKA_PARTITIONERS = ("consistent_random", "murmur2_random")
"""What `partitioner`, librdkafka's key, may be; a producer without it is Java's."""


class _Keys(msgspec.Struct, frozen=True):
    """Makes the keys of one scope that one class of Kafka defines. `fixed`: a client reads it only when it starts."""

    scope: Scope
    source: str

    def _changes(self, name: str, fixed: bool) -> bool:
        return name in SET_IN_FLIGHT[self.scope] if self.scope in SET_IN_FLIGHT else not fixed

    def ms(
        self, name: str, default: int | None, low: int = 0, high: int = INT_MAX, *, fixed: bool = False
    ) -> ConfigKey:
        return ConfigKey(name, self.scope, "int_ms", default, low, high, "ms", self._changes(name, fixed), self.source)

    def size(
        self, name: str, default: int | None, low: int = 0, high: int = INT_MAX, *, fixed: bool = False
    ) -> ConfigKey:
        return ConfigKey(
            name, self.scope, "int_bytes", default, low, high, "bytes", self._changes(name, fixed), self.source
        )

    def number(
        self, name: str, default: int, low: int = 0, high: int = INT_MAX, *, unit: str = "", fixed: bool = False
    ) -> ConfigKey:
        return ConfigKey(name, self.scope, "int", default, low, high, unit, self._changes(name, fixed), self.source)

    def share(self, name: str, default: float) -> ConfigKey:
        return ConfigKey(name, self.scope, "float", default, 0.0, 1.0, "", self._changes(name, False), self.source)

    def flag(self, name: str, default: bool, *, fixed: bool = False) -> ConfigKey:
        return ConfigKey(name, self.scope, "bool", default, None, None, "", self._changes(name, fixed), self.source)

    def text(self, name: str, default: str | None) -> ConfigKey:
        return ConfigKey(name, self.scope, "string", default, None, None, "", False, self.source)

    def word(self, name: str, choices: tuple[str, ...], *, fixed: bool = False) -> ConfigKey:
        return ConfigKey(
            name, self.scope, "enum", choices[0], None, None, "", self._changes(name, fixed), self.source, choices
        )

    def choice(self, name: str, choices: tuple[str, ...]) -> ConfigKey:
        return ConfigKey(name, self.scope, "enum", None, None, None, "", False, self.source, choices)

    def words(self, name: str, default: tuple[str, ...], choices: tuple[str, ...], *, fixed: bool = False) -> ConfigKey:
        return ConfigKey(
            name, self.scope, "list", default, None, None, "", self._changes(name, fixed), self.source, choices
        )


_consumer = _Keys("consumer", "ConsumerConfig")
_producer = _Keys("producer", "ProducerConfig")
_topic = _Keys("topic", "TopicConfig")
_groups = _Keys("broker", "GroupCoordinatorConfig")
_transactions = _Keys("broker", "TransactionStateManagerConfig")
_transaction_log = _Keys("broker", "TransactionLogConfig")
_adding = _Keys("broker", "AddPartitionsToTxnConfig")
_replication = _Keys("broker", "ReplicationConfigs")
_quorum = _Keys("broker", "KRaftConfigs")
_log = _Keys("broker", "ServerLogConfigs")
_cleaner = _Keys("broker", "CleanerConfig")

_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
DEFAULT_ASSIGNORS = ("range", "cooperative-sticky")
"""Kafka's default for partition.assignment.strategy: eager by range, one bounce away from cooperative."""

_PROTOCOLS = ("classic", "consumer", "share", "streams")
_MIGRATION_POLICIES = ("bidirectional", "upgrade", "downgrade", "disabled")

CONSUMER_KEYS = (
    _consumer.word("group.protocol", ("classic", "consumer"), fixed=True),
    _consumer.text("group.remote.assignor", None),
    _consumer.ms("session.timeout.ms", 45_000, 1),
    _consumer.ms("heartbeat.interval.ms", 3_000, 1),
    _consumer.ms("max.poll.interval.ms", 300_000, 1),
    _consumer.number("max.poll.records", 500, 1),
    _consumer.size("fetch.min.bytes", 1),
    _consumer.ms("fetch.max.wait.ms", 500),
    _consumer.size("fetch.max.bytes", 52_428_800),
    _consumer.size("max.partition.fetch.bytes", 1_048_576),
    _consumer.flag("enable.auto.commit", True, fixed=True),
    _consumer.ms("auto.commit.interval.ms", 5_000),
    _consumer.word("auto.offset.reset", ("latest", "earliest", "none", "by_duration:")),
    _consumer.word("isolation.level", ("read_uncommitted", "read_committed"), fixed=True),
    _consumer.words("partition.assignment.strategy", DEFAULT_ASSIGNORS, _ASSIGNORS, fixed=True),
    _consumer.ms("default.api.timeout.ms", 60_000),
    _consumer.ms("request.timeout.ms", 30_000),
    _consumer.ms("retry.backoff.ms", 100),
    _consumer.ms("retry.backoff.max.ms", 1_000),
    _consumer.ms("reconnect.backoff.ms", 50, fixed=True),
    _consumer.ms("reconnect.backoff.max.ms", 1_000, fixed=True),
    _consumer.ms("socket.connection.setup.timeout.ms", 10_000, fixed=True),
    _consumer.ms("socket.connection.setup.timeout.max.ms", 30_000, fixed=True),
    _consumer.ms("metadata.max.age.ms", 300_000),
    _consumer.text("group.instance.id", None),
    _consumer.text("client.rack", ""),
)

PRODUCER_KEYS = (
    _producer.word("acks", ("all", "-1", "1", "0"), fixed=True),
    _producer.flag("enable.idempotence", True, fixed=True),
    _producer.ms("linger.ms", 5),
    _producer.size("batch.size", 16_384, fixed=True),
    _producer.size("buffer.memory", 33_554_432, 0, LONG_MAX, fixed=True),
    _producer.ms("max.block.ms", 60_000, 0, LONG_MAX),
    _producer.ms("delivery.timeout.ms", 120_000),
    _producer.ms("request.timeout.ms", 30_000),
    _producer.number("retries", INT_MAX, fixed=True),
    _producer.number("max.in.flight.requests.per.connection", 5, 1, fixed=True),
    _producer.size("max.request.size", 1_048_576),
    _producer.word("compression.type", ("none", "gzip", "snappy", "lz4", "zstd"), fixed=True),
    _producer.text("partitioner.class", None),
    _Keys("producer", "librdkafka").choice("partitioner", LIBRDKAFKA_PARTITIONERS),
    _producer.flag("partitioner.ignore.keys", False, fixed=True),
    _producer.flag("partitioner.adaptive.partitioning.enable", True, fixed=True),
    _producer.ms("partitioner.availability.timeout.ms", 0, 0, LONG_MAX, fixed=True),
    _producer.ms("retry.backoff.ms", 100),
    _producer.ms("retry.backoff.max.ms", 1_000),
    _producer.ms("reconnect.backoff.ms", 50, fixed=True),
    _producer.ms("reconnect.backoff.max.ms", 1_000, fixed=True),
    _producer.ms("socket.connection.setup.timeout.ms", 10_000, fixed=True),
    _producer.ms("socket.connection.setup.timeout.max.ms", 30_000, fixed=True),
    _producer.ms("metadata.max.age.ms", 300_000),
    _producer.ms("transaction.timeout.ms", 60_000, 1, fixed=True),
)

CONSUMER_GROUP_BOUNDS: Final = (
    *[
        (f"group.consumer.{low}{name}", f"group.consumer.{high}{name}", "at most")
        for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
        for low, high in (("min.", "max."), ("min.", ""), ("", "max."))
    ],
    ("group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms", "below"),
)
"""Which broker key is at most, or below, which other one. Source: `GroupCoordinatorConfig.validate`."""

COORDINATOR_KEYS = (
    _groups.ms("group.min.session.timeout.ms", 6_000),
    _groups.ms("group.max.session.timeout.ms", 1_800_000),
    _groups.ms("group.initial.rebalance.delay.ms", 3_000),
    _groups.number("group.max.size", INT_MAX, 1),
    _groups.ms("group.consumer.session.timeout.ms", 45_000, 1, fixed=True),
    _groups.ms("group.consumer.min.session.timeout.ms", 45_000, 1, fixed=True),
    _groups.ms("group.consumer.max.session.timeout.ms", 60_000, 1, fixed=True),
    _groups.ms("group.consumer.heartbeat.interval.ms", 5_000, 1, fixed=True),
    _groups.ms("group.consumer.min.heartbeat.interval.ms", 5_000, 1, fixed=True),
    _groups.ms("group.consumer.max.heartbeat.interval.ms", 15_000, 1, fixed=True),
    _groups.number("group.consumer.max.size", INT_MAX, 1, fixed=True),
    _groups.words("group.consumer.assignors", ("uniform", "range"), ("uniform", "range"), fixed=True),
    _groups.word("group.consumer.migration.policy", _MIGRATION_POLICIES, fixed=True),
    _groups.ms("group.consumer.assignment.interval.ms", 1_000, fixed=True),
    _groups.ms("group.consumer.min.assignment.interval.ms", 0, fixed=True),
    _groups.ms("group.consumer.max.assignment.interval.ms", 15_000, fixed=True),
    _groups.ms("group.consumer.regex.refresh.interval.ms", 600_000, 10_000, fixed=True),
    _groups.number("offsets.topic.num.partitions", 50, 1, 10_000, fixed=True),
    _groups.number("offsets.topic.replication.factor", 3, 1, 32_767, fixed=True),
    _groups.number("offsets.retention.minutes", 10_080, 1, unit="min"),
    _groups.ms("offsets.retention.check.interval.ms", 600_000, 1),
    _groups.size("offset.metadata.max.bytes", 4_096),
    _groups.ms("offsets.commit.timeout.ms", 5_000, 1),
    _groups.ms("group.coordinator.append.linger.ms", -1, -1),
    _groups.words("group.coordinator.rebalance.protocols", _PROTOCOLS[:2], _PROTOCOLS, fixed=True),
    _transaction_log.number("transaction.state.log.num.partitions", 50, 1, 10_000, fixed=True),
    _transaction_log.number("transaction.state.log.replication.factor", 3, 1, 32_767, fixed=True),
    _transaction_log.number("transaction.state.log.min.isr", 2, 1, 32_767, fixed=True),
    _transactions.ms("transaction.max.timeout.ms", 900_000, 1),
    _transactions.ms("transaction.abort.timed.out.transaction.cleanup.interval.ms", 10_000, 1),
    _transactions.ms("transactional.id.expiration.ms", 604_800_000, 1),
    _transactions.ms("transaction.remove.expired.transaction.cleanup.interval.ms", 3_600_000, 1),
    _transaction_log.ms("producer.id.expiration.ms", 86_400_000, 1),
    _transaction_log.ms("producer.id.expiration.check.interval.ms", 600_000, 1),
    _transaction_log.flag("transaction.partition.verification.enable", True),
    _adding.ms("add.partitions.to.txn.retry.backoff.max.ms", 100),
    _adding.ms("add.partitions.to.txn.retry.backoff.ms", 20, 1),
    _Keys("broker", "TransactionVersion").number("transaction.version", 2, 1, 2, fixed=True),
)

BROKER_KEYS = (
    _log.number("min.insync.replicas", 1, 1),
    _replication.number("default.replication.factor", 1, 1, 32_767, fixed=True),
    _log.number("num.partitions", 1, 1, fixed=True),
    _log.flag("auto.create.topics.enable", True, fixed=True),
    _replication.flag("unclean.leader.election.enable", False),
    _replication.ms("replica.lag.time.max.ms", 30_000, 0, LONG_MAX),
    _replication.ms("replica.fetch.wait.max.ms", 500),
    _replication.size("replica.fetch.min.bytes", 1),
    _replication.size("replica.fetch.max.bytes", 1_048_576),
    ConfigKey(
        "replica.selector.class", "broker", "enum", None, None, None, "", False, "ReplicationConfigs", _SELECTORS
    ),
    _replication.flag("auto.leader.rebalance.enable", True),
    _replication.number("leader.imbalance.check.interval.seconds", 300, 1, unit="s"),
    _replication.number("leader.imbalance.per.broker.percentage", 10, unit="%"),
    _quorum.ms("broker.heartbeat.interval.ms", 2_000, 1),
    _quorum.ms("broker.session.timeout.ms", 9_000, 1),
    _Keys("broker", "ServerConfigs").flag("controlled.shutdown.enable", True),
    _log.number("log.retention.hours", 168, -1, unit="h"),
    _log.ms("log.retention.ms", None, -1, LONG_MAX),
    _log.size("log.retention.bytes", -1, -1, LONG_MAX),
    _log.size("log.segment.bytes", 1_073_741_824, 1_048_576),
    _log.number("log.roll.hours", 168, 1, unit="h"),
    _log.ms("log.retention.check.interval.ms", 300_000, 1, LONG_MAX),
    _log.number("log.flush.interval.messages", LONG_MAX, 1, LONG_MAX),
    _log.ms("log.flush.interval.ms", None, 0, LONG_MAX),
    _log.words("log.cleanup.policy", ("delete",), ("delete", "compact")),
    _cleaner.ms("log.cleaner.backoff.ms", 15_000, 0, LONG_MAX),
    _cleaner.ms("log.cleaner.delete.retention.ms", 86_400_000, 0, LONG_MAX),
    _cleaner.ms("log.cleaner.min.compaction.lag.ms", 0, 0, LONG_MAX),
    _cleaner.ms("log.cleaner.max.compaction.lag.ms", LONG_MAX, 1, LONG_MAX),
    _cleaner.share("log.cleaner.min.cleanable.ratio", 0.5),
    _log.size("message.max.bytes", 1_048_588),
)

TOPIC_KEYS = (
    _topic.number("min.insync.replicas", 1, 1),
    _topic.flag("unclean.leader.election.enable", False),
    _topic.ms("retention.ms", 604_800_000, -1, LONG_MAX),
    _topic.size("retention.bytes", -1, -1, LONG_MAX),
    _topic.size("segment.bytes", 1_073_741_824, 1_048_576),
    _topic.size("internal.segment.bytes", None, 1),  # "for testing only": takes the place of segment.bytes
    _topic.ms("segment.ms", 604_800_000, 1, LONG_MAX),
    _topic.number("flush.messages", LONG_MAX, 1, LONG_MAX),
    _topic.ms("flush.ms", LONG_MAX, 0, LONG_MAX),
    _topic.words("cleanup.policy", ("delete",), ("delete", "compact")),
    _topic.ms("delete.retention.ms", 86_400_000, 0, LONG_MAX),
    _topic.ms("min.compaction.lag.ms", 0, 0, LONG_MAX),
    _topic.ms("max.compaction.lag.ms", LONG_MAX, 1, LONG_MAX),
    _topic.share("min.cleanable.dirty.ratio", 0.5),
    _topic.size("max.message.bytes", 1_048_588),
)

CONFIG_KEYS: tuple[ConfigKey, ...] = (*CONSUMER_KEYS, *PRODUCER_KEYS, *COORDINATOR_KEYS, *BROKER_KEYS, *TOPIC_KEYS)
"""Every key of every scope."""

TOPIC_FALLBACK = {
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "retention.ms": "log.retention.ms",
    "retention.bytes": "log.retention.bytes",
    "segment.bytes": "log.segment.bytes",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "cleanup.policy": "log.cleanup.policy",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "max.message.bytes": "message.max.bytes",
}
"""The broker key that a topic key falls back to when the topic does not set it (Kafka's `LogConfig`)."""
