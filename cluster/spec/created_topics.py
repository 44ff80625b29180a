"""Topics that a command creates, as a scenario would declare them."""

from collections.abc import Mapping

from cluster.commands import CreateTopic
from cluster.config import ConfigError, Value, coerce, cross_errors, refused_config, resolve, skipped
from cluster.protocol.placement.topic_creation import why_no_name
from cluster.spec.spec import MOST_PARTITIONS, ScenarioSpec, TopicSpec


class TopicRefusedError(ValueError):
    """Why the controller creates no topic, in the words of its answer."""


def admitted_topic(spec: ScenarioSpec, command: CreateTopic, existing: Mapping[str, int]) -> TopicSpec:
    """The topic of a command beside the existing ones and their partitions, before it is placed on brokers.

    Raises TopicRefusedError.
    """
    reason = why_no_name(command.topic, existing)
    if reason is not None:
        raise TopicRefusedError(str(reason))
    try:
        topic = created_topic(spec, command)
    except ConfigError as error:
        raise TopicRefusedError(f"INVALID_CONFIG: {error}") from error
    if sum(existing.values()) + topic.partitions > MOST_PARTITIONS:
        raise TopicRefusedError(f"a cluster has at most {MOST_PARTITIONS:,} partitions here")
    return topic


def created_topic(spec: ScenarioSpec, command: CreateTopic) -> TopicSpec:
    """The topic of a command in this cluster. Raises ConfigError for what Kafka, or Flightdeck, refuses of its config.

    Source: `ReplicationControlManager.createTopic`, which has `num.partitions` and `default.replication.factor`.
    """
    cluster = resolve("broker", spec.config)
    partitions, replicas, assigned = command.partitions, command.replicas, command.assignment
    if assigned:
        partitions, replicas = len(assigned), len(assigned[0])
    if partitions is None:
        partitions = _number(cluster["num.partitions"])
    if replicas is None:
        replicas = _number(cluster["default.replication.factor"])
    if partitions > MOST_PARTITIONS:
        raise ConfigError("partitions", f"a topic has at most {MOST_PARTITIONS:,} partitions here")
    return TopicSpec(command.topic, partitions, replicas, _config(command.config), replica_assignment=assigned)


def _config(pairs: tuple[str, ...]) -> dict[str, Value]:
    config: dict[str, Value] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        if skipped("topic", key, text):
            continue
        config[key] = coerce("topic", key, text)
        reason = refused_config(key, config[key])
        if reason is not None:
            raise ConfigError(key, reason)
    errors = cross_errors("topic", config)
    if errors:
        raise errors[0]
    return config


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
