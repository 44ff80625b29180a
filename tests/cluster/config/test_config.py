"""Kafka's defaults, the reading of values, and the refusals that Kafka itself makes."""

import re
from pathlib import Path
from typing import get_args

import pytest

import cluster
from cluster.config import (
    CONFIG_KEYS,
    NOT_READ_YET,
    TOPIC_FALLBACK,
    UNBUILT,
    ConfigError,
    Scope,
    Value,
    brief,
    coerce,
    cross_errors,
    defaults,
    find,
    resolve,
    resolve_topic,
    scopes_of,
    without_effect,
)

# What stands in kafka-behaviours.md §1.1-1.3, with the mistakes of §0 put right.
KAFKA: dict[Scope, dict[str, Value]] = {
    "consumer": {
        "group.protocol": "classic",
        "session.timeout.ms": 45_000,
        "heartbeat.interval.ms": 3_000,
        "max.poll.interval.ms": 300_000,
        "max.poll.records": 500,
        "fetch.min.bytes": 1,
        "fetch.max.wait.ms": 500,
        "fetch.max.bytes": 52_428_800,
        "max.partition.fetch.bytes": 1_048_576,
        "enable.auto.commit": True,
        "auto.commit.interval.ms": 5_000,
        "auto.offset.reset": "latest",
        "isolation.level": "read_uncommitted",
        "partition.assignment.strategy": ("range", "cooperative-sticky"),
        "default.api.timeout.ms": 60_000,
        "request.timeout.ms": 30_000,
        "retry.backoff.ms": 100,
        "retry.backoff.max.ms": 1_000,
        "metadata.max.age.ms": 300_000,
        "group.instance.id": None,
    },
    "producer": {
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 5,
        "batch.size": 16_384,
        "buffer.memory": 32 * 1024 * 1024,
        "max.block.ms": 60_000,
        "delivery.timeout.ms": 120_000,
        "request.timeout.ms": 30_000,
        "retries": 2_147_483_647,
        "max.in.flight.requests.per.connection": 5,
        "max.request.size": 1_048_576,
        "compression.type": "none",
        "partitioner.class": None,
        "partitioner": None,
        "partitioner.ignore.keys": False,
        "partitioner.adaptive.partitioning.enable": True,
        "partitioner.availability.timeout.ms": 0,
        "transaction.timeout.ms": 60_000,
    },
    "broker": {
        "group.min.session.timeout.ms": 6_000,
        "group.max.session.timeout.ms": 1_800_000,
        "group.initial.rebalance.delay.ms": 3_000,
        "group.max.size": 2_147_483_647,
        "offsets.topic.num.partitions": 50,
        "offsets.topic.replication.factor": 3,
        "offsets.retention.minutes": 10_080,
        "offsets.retention.check.interval.ms": 600_000,
        "offset.metadata.max.bytes": 4_096,
        "offsets.commit.timeout.ms": 5_000,
        "transaction.state.log.num.partitions": 50,
        "transaction.state.log.replication.factor": 3,
        "transaction.state.log.min.isr": 2,
        "transaction.max.timeout.ms": 900_000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
        "transactional.id.expiration.ms": 604_800_000,
        "producer.id.expiration.ms": 86_400_000,
        "producer.id.expiration.check.interval.ms": 600_000,
        "transaction.partition.verification.enable": True,
        "transaction.version": 2,
        "min.insync.replicas": 1,
        "default.replication.factor": 1,
        "num.partitions": 1,
        "auto.create.topics.enable": True,
        "unclean.leader.election.enable": False,
        "replica.lag.time.max.ms": 30_000,
        "replica.fetch.wait.max.ms": 500,
        "replica.fetch.min.bytes": 1,
        "replica.fetch.max.bytes": 1_048_576,
        "auto.leader.rebalance.enable": True,
        "leader.imbalance.check.interval.seconds": 300,
        "leader.imbalance.per.broker.percentage": 10,
        "broker.heartbeat.interval.ms": 2_000,
        "broker.session.timeout.ms": 9_000,
        "controlled.shutdown.enable": True,
        "log.retention.hours": 168,
        "log.segment.bytes": 1 << 30,
        "log.roll.hours": 168,
        "log.retention.check.interval.ms": 300_000,
        "message.max.bytes": 1_048_588,
    },
    "topic": {
        "min.insync.replicas": 1,
        "unclean.leader.election.enable": False,
        "retention.ms": 604_800_000,
        "segment.bytes": 1 << 30,
        "delete.retention.ms": 86_400_000,
        "min.cleanable.dirty.ratio": 0.5,
        "max.message.bytes": 1_048_588,
    },
}


@pytest.mark.parametrize("scope", get_args(Scope))
def test_defaults_are_kafkas(scope: Scope) -> None:
    ours = defaults(scope)
    assert {name: ours[name] for name in KAFKA[scope]} == KAFKA[scope]


def test_every_default_is_a_legal_value_of_its_key() -> None:
    for key in CONFIG_KEYS:
        assert coerce(key.scope, key.name, key.default) == key.default
    for scope in get_args(Scope):
        assert resolve(scope, {}) == defaults(scope)


def test_a_key_is_obeyed_or_refused() -> None:
    root = Path(cluster.__file__).parent
    source = "".join(
        path.read_text() for path in sorted(root.rglob("*.py")) if not path.is_relative_to(root / "config")
    )
    read_for_topics = {"log.retention.ms", "log.retention.hours", "log.roll.hours"}
    for topic_key, broker_key in TOPIC_FALLBACK.items():
        if f'"{topic_key}"' in source:
            read_for_topics.add(broker_key)
    for key in CONFIG_KEYS:
        typed = re.search(rf"\.{key.name.replace('.', '_')}\b", source) is not None  # a field of a typed struct
        read = f'"{key.name}"' in source or typed or key.name in read_for_topics
        refused = key.name in NOT_READ_YET or f"{key.name}=consumer" in UNBUILT
        refused |= without_effect(key.scope, key.name) is not None  # a note says so
        refused |= key.name.startswith(("group.consumer.min.", "group.consumer.max."))  # they bound another key
        assert read or refused, f"{key.scope} key {key.name}"


def test_a_key_stands_once_in_a_scope_and_names_its_unit_and_source() -> None:
    assert len({(key.scope, key.name) for key in CONFIG_KEYS}) == len(CONFIG_KEYS)
    assert all(key.unit for key in CONFIG_KEYS if key.kind in {"int_ms", "int_bytes"})
    assert all(key.source for key in CONFIG_KEYS)
    assert find("consumer", "session.timeout.ms").in_flight
    assert not find("producer", "enable.idempotence").in_flight
    assert scopes_of("min.insync.replicas") == ("broker", "topic")
    assert scopes_of("no.such.key") == ()


@pytest.mark.parametrize(
    ("scope", "name", "raw", "value"),
    [
        ("consumer", "session.timeout.ms", 10_000, 10_000),
        ("consumer", "session.timeout.ms", "10000", 10_000),
        ("consumer", "session.timeout.ms", "1.5s", 1_500),
        ("producer", "batch.size", "64KiB", 65_536),
        ("broker", "log.retention.hours", "2h", 2),
        ("broker", "leader.imbalance.check.interval.seconds", "5m", 300),
        ("broker", "offsets.retention.minutes", "24h", 1_440),
        (
            *("consumer", "partition.assignment.strategy"),
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor, RangeAssignor,mine.Assignor",
            ("cooperative-sticky", "range", "mine.Assignor"),
        ),
        ("consumer", "partition.assignment.strategy", ["RoundRobinAssignor", "sticky"], ("roundrobin", "sticky")),
        ("consumer", "enable.auto.commit", "false", False),
        ("consumer", "partition.assignment.strategy", ["range"], ("range",)),
        ("consumer", "partition.assignment.strategy", "range, sticky", ("range", "sticky")),
        ("consumer", "auto.offset.reset", "by_duration:PT1H", "by_duration:PT1H"),
        ("producer", "acks", 1, "1"),
        ("producer", "acks", -1, "all"),
        ("broker", "log.retention.ms", None, None),
        ("broker", "log.retention.ms", "-1", -1),
        ("topic", "min.cleanable.dirty.ratio", "0.25", 0.25),
        ("topic", "cleanup.policy", " compact , delete ", ("compact", "delete")),
        ("topic", "cleanup.policy", "", ()),
        ("broker", "log.cleanup.policy", [], ()),
    ],
)
def test_values_are_read_from_files_and_from_text(scope: Scope, name: str, raw: object, value: Value) -> None:
    read = coerce(scope, name, raw)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("scope", "name", "raw", "reason", "suggestion"),
    [
        ("consumer", "session.timout.ms", 1, "unknown consumer configuration key", "session.timeout.ms"),
        ("consumer", "linger.ms", 1, "linger.ms is a producer key, not a consumer key", None),
        ("producer", "min.insync.replicas", 1, "is a broker and topic key, not a producer key", None),
        ("broker", "delete.retention.ms", 1, "is a topic key, not a broker key", "log.cleaner.delete.retention.ms"),
        ("producer", "transactional.id", "a", "it is `transactions", None),
        ("consumer", "session.timeout.ms", "10x", "is a whole number of ms, not '10x' (or text like \"30s\")", None),
        ("consumer", "session.timeout.ms", "1500us", "'1500us' is not a whole number of ms", None),
        ("broker", "log.retention.hours", "90m", "'90m' is not a whole number of h", None),
        ("producer", "batch.size", "64KB", "is a whole number of bytes, not '64KB' (or text like \"64KiB\")", None),
        ("producer", "batch.size", "16s", "is a whole number of bytes, not '16s'", None),
        ("consumer", "max.poll.records", "30s", "is a whole number, not '30s'", None),
        ("consumer", "partition.assignment.strategy", "RangeAsignor", "is one of range", "RangeAssignor"),
        (
            *("consumer", "partition.assignment.strategy"),
            *("org.apache.kafka.clients.consumer.Cooperative", "is one of range", "CooperativeStickyAssignor"),
        ),
        ("consumer", "session.timeout.ms", 1.5, "is a whole number of ms, not 1.5", None),
        ("consumer", "session.timeout.ms", True, "is a whole number of ms, not true", None),
        ("consumer", "max.poll.records", 0, "is at least 1, not 0", None),
        ("producer", "batch.size", 2**40, "is at most 2147483647 bytes", None),
        ("broker", "transaction.version", 3, "is at most 2, not 3", None),
        ("consumer", "enable.auto.commit", "yes", "is true or false, not 'yes'", None),
        ("consumer", "isolation.level", "read_commited", "is one of read_uncommitted", "read_committed"),
        ("consumer", "partition.assignment.strategy", ["rnge"], "is one of range", "range"),
        ("consumer", "partition.assignment.strategy", 3, "is a list of words, not 3", None),
        ("topic", "cleanup.policy", "compact,compact", "values must not be duplicated, and compact is there", None),
        ("broker", "log.cleanup.policy", "compact,", "a value must not be empty", None),
        ("topic", "cleanup.policy", "Compact", "is one of delete, compact, not 'Compact'", "compact"),
        ("broker", "group.consumer.assignors", "", "must not be empty: it is a list of uniform, range", None),
        ("producer", "acks", "two", "is one of all, -1, 1, 0", None),
        ("producer", "acks", True, "is one of all, -1, 1, 0, not true", None),
        ("consumer", "client.rack", 3, "is text, not 3", None),
        ("topic", "min.cleanable.dirty.ratio", "half", "is a number, not 'half'", None),
        ("topic", "min.cleanable.dirty.ratio", float("nan"), "is at least 0", None),
        ("consumer", "session.timeout.ms", None, "not None", None),
    ],
)
def test_a_wrong_value_says_why(scope: Scope, name: str, raw: object, reason: str, suggestion: str | None) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)) as caught:
        coerce(scope, name, raw)
    assert (caught.value.key, caught.value.suggestion) == (name, suggestion)


@pytest.mark.parametrize(
    ("scope", "overrides", "key"),
    [
        ("consumer", {"heartbeat.interval.ms": 45_000}, "heartbeat.interval.ms"),
        ("consumer", {"session.timeout.ms": 2_000}, "session.timeout.ms"),
        ("consumer", {"group.protocol": "consumer", "session.timeout.ms": 10_000}, "session.timeout.ms"),
        ("producer", {"delivery.timeout.ms": 30_000}, "delivery.timeout.ms"),
        ("producer", {"enable.idempotence": True, "acks": "1"}, "acks"),
        ("producer", {"enable.idempotence": True, "retries": 0}, "retries"),
        ("producer", {"max.in.flight.requests.per.connection": 6}, "max.in.flight.requests.per.connection"),
        ("broker", {"group.min.session.timeout.ms": 2_000_000}, "group.min.session.timeout.ms"),
        ("broker", {"replica.fetch.wait.max.ms": 30_001}, "replica.fetch.wait.max.ms"),
        ("broker", {"broker.heartbeat.interval.ms": 9_000}, "broker.heartbeat.interval.ms"),
        ("broker", {"broker.session.timeout.ms": 1_000}, "broker.session.timeout.ms"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(scope: Scope, overrides: dict[str, Value], key: str) -> None:
    assert [error.key for error in cross_errors(scope, overrides)] == [key]
    with pytest.raises(ConfigError) as caught:
        resolve(scope, overrides)
    assert caught.value.key == key


def test_an_idempotence_nobody_asked_for_goes_off_as_in_kafka() -> None:
    assert resolve("producer", {"acks": "1"})["enable.idempotence"] is False
    assert resolve("producer", {"retries": 0})["enable.idempotence"] is False
    assert resolve("producer", {"acks": "-1"})["enable.idempotence"] is True


def test_a_delivery_timeout_nobody_set_grows_with_linger_and_request_timeout() -> None:
    grown = resolve("producer", {"linger.ms": 100_000, "request.timeout.ms": 60_000})
    assert grown["delivery.timeout.ms"] == 160_000


def test_a_topic_falls_back_to_the_broker_then_to_kafkas_default() -> None:
    cluster: dict[str, Value] = {"min.insync.replicas": 2, "log.retention.hours": 1, "log.roll.hours": 2}
    topic = resolve_topic(cluster, {"internal.segment.bytes": 1_000})
    assert topic["min.insync.replicas"] == 2
    assert topic["retention.ms"] == 3_600_000
    assert topic["segment.ms"] == 7_200_000
    assert topic["internal.segment.bytes"] == 1_000
    assert resolve_topic({"log.retention.hours": 1, "log.retention.ms": 5}, {})["retention.ms"] == 5
    assert resolve_topic({"log.retention.hours": -1}, {})["retention.ms"] == -1
    assert resolve_topic({}, {}) == defaults("topic")


def test_a_quoted_text_stays_on_one_line() -> None:
    """Whatever ends a line in Python's eyes is spelled out, so that a message has one line for each mistake."""
    ends = [chr(code) for code in range(0x3000) if len(f"a{chr(code)}b".splitlines()) > 1]
    assert len(ends) == 10
    assert len(brief(f"a{'b'.join(ends)}").splitlines()) == 1
    assert brief("a\r\nb\u2028") == r"a\r\nb\u2028"
