"""The keys that Kafka's classes printed, beside those that a scenario may name, which were written by hand."""

import pytest
from msgspec import structs

from cluster.config import CONFIG_KEYS, ConfigKey
from cluster.config.assignor_names import KAFKA_ASSIGNORS, KAFKA_PACKAGE
from recordings.lint.kafka_keys import kafka_keys

NOT_OF_THE_RELEASE = {
    "transaction.version": "a feature of the cluster",
    "partitioner": "librdkafka's",
    "leader.imbalance.per.broker.percentage": "no ConfigDef of 4.3.1 has it any more",
}
"""Keys of a scenario that no ConfigDef of the release has."""

OTHER_DEFAULTS = {"group.coordinator.rebalance.protocols": "Kafka's has streams, too, which is not simulated"}

NAMED = [key for key in CONFIG_KEYS if key.name not in NOT_OF_THE_RELEASE | OTHER_DEFAULTS]


def text_of(key: ConfigKey) -> str | None:
    """A default of the table as Kafka prints it."""
    if isinstance(key.default, tuple):
        names = {name: f"{KAFKA_PACKAGE}{class_name}" for class_name, name in KAFKA_ASSIGNORS.items()}
        return ",".join(names.get(word, word) if "assignment" in key.name else word for word in key.default)
    if isinstance(key.default, bool):
        return str(key.default).lower()
    return str(key.default) if key.default is not None else None


@pytest.mark.parametrize("key", NAMED, ids=lambda key: f"{key.scope}:{key.name}")
def test_defaults_are_the_same(key: ConfigKey) -> None:
    assert kafka_keys(key.scope)[key.name].default == text_of(key)


def weaker(key: ConfigKey) -> bool:
    """Whether a scenario may have a number that ConfigDef refuses."""
    kafka = kafka_keys(key.scope)[key.name]
    too_low = kafka.low is not None and (key.low is None or key.low < kafka.low)
    return too_low or (kafka.high is not None and (key.high is None or key.high > kafka.high))


@pytest.mark.parametrize("key", NAMED, ids=lambda key: f"{key.scope}:{key.name}")
def test_no_number_that_kafka_refuses_is_taken(key: ConfigKey) -> None:
    assert not weaker(key)


def test_a_weaker_bound_is_found() -> None:
    (key,) = [key for key in NAMED if (key.scope, key.name) == ("topic", "segment.bytes")]
    assert weaker(structs.replace(key, low=14))
    (ratio,) = [key for key in NAMED if key.name == "min.cleanable.dirty.ratio"]
    assert weaker(structs.replace(ratio, high=2.0))


def test_what_the_release_does_not_have_is_listed() -> None:
    assert {key.name for key in CONFIG_KEYS if key.name not in kafka_keys(key.scope)} == set(NOT_OF_THE_RELEASE)


@pytest.mark.parametrize(
    ("name", "text", "accepted"),
    [("session.timeout.ms", " 45000 ", True), ("session.timeout.ms", "45s", False),
     ("session.timeout.ms", "2147483648", False), ("max.poll.records", "0", False),
     ("enable.auto.commit", "TRUE", True),
     ("auto.offset.reset", "by_duration:PT1H", True), ("isolation.level", "READ_COMMITTED", False),
     ("group.protocol", "consumer", True), ("client.id", "anything", True)],
)  # fmt: skip
def test_values_are_judged_as_by_config_def(name: str, text: str, accepted: bool) -> None:
    assert (kafka_keys("consumer")[name].problem(text) is None) == accepted
