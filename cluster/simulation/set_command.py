"""`set SCOPE KEY VALUE` in a running cluster: keys that change at once, at the next start, or not at all.

`cluster.spec.overrides` says what a key means in a scope; here is how each is applied. A client's keys that Kafka's
client reads again and again change at once (a session timeout reaches the coordinator with the next JoinGroup), the
others wait for its next start. A broker's or topic's key changes at once if the tables below know how, and is refused
if not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cluster import events as e
from cluster.assignors import ASSIGNORS
from cluster.broker.broker import Broker
from cluster.broker.replica import Replica
from cluster.commands import Scale
from cluster.config import ConfigError, Scope, Value, find, resolve
from cluster.coordinators.group.context import GroupSettings
from cluster.protocol.names import topic_of
from cluster.simulation.active_faults import CommandRefusedError
from cluster.simulation.running_cluster import RunningCluster
from cluster.spec import (
    FIELDS,
    BrokerSpec,
    GroupSpec,
    ProducerSpec,
    ScenarioSpec,
    Thing,
    TopicSpec,
    deployed,
    group_of,
    keys_at,
    put_back,
    why_not,
    write_over,
)
from cluster.storage.log_config import LogConfig

NOW, AT_NEXT_START = "now", "at the next start"


def change(cluster: RunningCluster, scope: str, key: str, text: str) -> Callable[[], None]:
    """Apply a setting and emit it; returns the function that reverts it. Raises CommandRefusedError."""
    before = _with_member(cluster, scope)
    reason = why_not(before, scope, key, text)
    if reason is not None:
        raise CommandRefusedError(reason)
    after = write_over(before, scope, key, text)
    for name in [name for group in after.groups for name in group.every_assignor()]:
        if name not in ASSIGNORS:
            raise CommandRefusedError(f"{name} is not loaded: code is loaded before a flight, if its scenario names it")
    _apply(cluster, after, scope, key)
    return lambda: _apply(cluster, put_back(cluster.spec, before, scope, key), scope, key)


def _with_member(cluster: RunningCluster, name: str) -> ScenarioSpec:
    """The running cluster's spec. It declares a member that an operator's `scale` or `rollout` made, too."""
    consumer = cluster.consumers.get(name)
    if consumer is None or group_of(cluster.spec, name) is not None:
        return cluster.spec
    return deployed(cluster.spec, (Scale(consumer.group, int(name.rpartition("-")[2])),))


def _apply(cluster: RunningCluster, after: ScenarioSpec, scope: str, key: str) -> None:
    before = _with_member(cluster, scope)
    group = group_of(after, scope)
    if scope == "cluster" or scope.startswith("broker-"):
        concerned, effect = _set_brokers(cluster, after, scope, key), NOW
    elif group is not None:
        concerned, effect = _set_members(cluster, group, key, (scope,))
    else:
        thing = _thing(after, scope)
        concerned, effect = _SETTERS[type(thing)](cluster, after, thing, key)
    cluster.spec = after
    cluster.emit(
        e.SettingChanged(
            scope=scope,
            key=key,
            value=_shown(after, scope, key),
            before=_shown(before, scope, key),
            processes=concerned,
            effect=effect,
        )
    )


def created_with(cluster: RunningCluster, topic: TopicSpec) -> None:
    """Emit the configuration of a new topic: Kafka writes a ConfigRecord for each key (`createTopic`)."""
    plain = msgspec.structs.replace(topic, config={}).topic_config(cluster.spec.config)
    for key, value in topic.config.items():
        before = _written(plain[key])
        cluster.emit(
            e.SettingChanged(scope=topic.name, key=key, value=_written(value), before=before, processes=(), effect=NOW)
        )


def _thing(spec: ScenarioSpec, scope: str) -> Thing:
    """The spec that a scope names; for `cluster` the first broker's, for a member its group's as the member has it."""
    group = group_of(spec, scope)
    if group is not None:
        return group.of(scope)
    things: Sequence[Thing] = (*spec.brokers, *spec.topics, *spec.groups, *spec.producers)
    return next((thing for thing in things if thing.name == scope), spec.brokers[0])


def _in_flight(kind: Scope, key: str) -> bool:
    try:
        return find(kind, key).in_flight
    except ConfigError:
        return FIELDS[key].effect == "at once"


def _shown(spec: ScenarioSpec, scope: str, key: str) -> str:
    """The value of a key or field as text: the declared value, else the default."""
    if key in FIELDS:
        value: Any = _thing(spec, scope)
        for name in FIELDS[key].places[type(value)]:
            value = getattr(value, name)
        return FIELDS[key].show(value)
    thing = _thing(spec, scope)
    return _written(_config_of(spec, None if scope == "cluster" else thing, key)[key])


def _written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else ",".join(value) if isinstance(value, tuple) else str(value)


def _config_of(spec: ScenarioSpec, thing: Thing | None, key: str) -> Mapping[str, Value]:
    """This key of a spec and those beside it: its own values, the cluster's, or defaults; None: the cluster's keys."""
    match thing:
        case None:
            return resolve("broker", spec.config)
        case BrokerSpec():
            return spec.broker_config(thing)
        case TopicSpec():
            return thing.topic_config(spec.config)
        case ProducerSpec():
            return thing.producer_config()
        case GroupSpec():
            if keys_at(thing, key)[0] == "producer":
                return resolve("producer", thing.application.producer)
            return thing.consumer_config(thing.name)


# --- brokers and topics -----------------------------------------------------------------------------------------------


def _set_brokers(cluster: RunningCluster, after: ScenarioSpec, scope: str, key: str) -> tuple[str, ...]:
    brokers = [broker for broker in cluster.brokers.values() if scope in ("cluster", broker.name)]
    for spec in after.brokers:
        broker = cluster.brokers[spec.id]
        if broker in brokers:
            config = after.broker_config(spec)
            broker.config[key] = config[key]
            BROKER_SETTERS[key](cluster, after, broker)
    return tuple(broker.name for broker in brokers)


def _group_settings(_: RunningCluster, __: ScenarioSpec, broker: Broker) -> None:
    """Every coordinator of the broker reads its configuration again; running timers keep their deadlines."""
    settings = GroupSettings.of(broker.config)
    for hosted in broker.group_coordinators.hosted.values():
        hosted.coordinator.configure(settings)


def _topic_min_insync_replicas(cluster: RunningCluster, after: ScenarioSpec, topic: TopicSpec) -> None:
    """Set the minimum; leaders advance the high watermark if they may now."""
    wanted = LogConfig.of(topic.topic_config(after.config)).min_insync_replicas
    cluster.control.controller.min_insync_replicas[topic.name] = wanted
    for broker, replica in _replicas_of(cluster, topic):
        replica.min_insync_replicas = wanted
        if replica.is_leader and broker.running:
            replica.advance()


def _topic_unclean_elections(cluster: RunningCluster, after: ScenarioSpec, topic: TopicSpec) -> None:
    """Let the controller elect leaders of leaderless partitions at once, if they may be unclean now."""
    enabled = LogConfig.of(topic.topic_config(after.config)).unclean_leader_election_enable
    cluster.control.allow_unclean(topic.name, enabled=enabled)


def _topic_retention(cluster: RunningCluster, after: ScenarioSpec, topic: TopicSpec) -> None:
    """Set the retention, which the next check applies (`log.retention.check.interval.ms`)."""
    retention = LogConfig.of(topic.topic_config(after.config)).retention
    for _, replica in _replicas_of(cluster, topic):
        replica.retention = retention


def _topic_compaction(cluster: RunningCluster, after: ScenarioSpec, topic: TopicSpec) -> None:
    """Set what the cleaner and retention read (`UnifiedLog.updateConfig`); an idle cleaner looks at once."""
    config = LogConfig.of(topic.topic_config(after.config))
    for broker, replica in _replicas_of(cluster, topic):
        replica.retention = config.retention
        replica.log.compact_by(config.compaction)
        if broker.running:
            broker.log_cleaner.start()


def _topic_max_message_bytes(cluster: RunningCluster, after: ScenarioSpec, topic: TopicSpec) -> None:
    """Set the limit, which leaders apply to the next Produce request."""
    most = LogConfig.of(topic.topic_config(after.config)).max_message_bytes
    for _, replica in _replicas_of(cluster, topic):
        replica.max_message_bytes = most


def _replicas_of(cluster: RunningCluster, topic: TopicSpec) -> Iterator[tuple[Broker, Replica]]:
    for broker in cluster.brokers.values():
        for name, replica in broker.replicas.items():
            if topic_of(name) == topic.name:
                yield broker, replica


TopicSetter = Callable[[RunningCluster, ScenarioSpec, TopicSpec], None]
BrokerSetter = Callable[[RunningCluster, ScenarioSpec, Broker], None]

TOPIC_SETTERS: dict[str, TopicSetter] = {
    "max.message.bytes": _topic_max_message_bytes,
    "min.insync.replicas": _topic_min_insync_replicas,
    "unclean.leader.election.enable": _topic_unclean_elections,
    "retention.ms": _topic_retention,
    "retention.bytes": _topic_retention,
    "segment.bytes": _topic_retention,
    "internal.segment.bytes": _topic_retention,
    "segment.ms": _topic_retention,
    "cleanup.policy": _topic_compaction,
    "min.cleanable.dirty.ratio": _topic_compaction,
    "min.compaction.lag.ms": _topic_compaction,
    "max.compaction.lag.ms": _topic_compaction,
    "delete.retention.ms": _topic_compaction,
}
"""Topic keys that change in flight, and how."""


def _for_topics(key: str) -> BrokerSetter:
    """The setter of the broker key behind this topic key: it changes the topics without a value of their own."""

    def change_topics(cluster: RunningCluster, after: ScenarioSpec, broker: Broker) -> None:
        del broker
        for topic in after.topics:
            if key not in topic.config:
                TOPIC_SETTERS[key](cluster, after, topic)

    return change_topics


BROKER_SETTERS: dict[str, BrokerSetter] = {
    "group.min.session.timeout.ms": _group_settings,
    "group.max.session.timeout.ms": _group_settings,
    "group.initial.rebalance.delay.ms": _group_settings,
    "group.max.size": _group_settings,
    "offset.metadata.max.bytes": _group_settings,
    "offsets.retention.minutes": _group_settings,
    "offsets.retention.check.interval.ms": _group_settings,
    "message.max.bytes": _for_topics("max.message.bytes"),
    "min.insync.replicas": _for_topics("min.insync.replicas"),
    "unclean.leader.election.enable": _for_topics("unclean.leader.election.enable"),
    "log.cleanup.policy": _for_topics("cleanup.policy"),
    "log.cleaner.min.cleanable.ratio": _for_topics("min.cleanable.dirty.ratio"),
    "log.cleaner.min.compaction.lag.ms": _for_topics("min.compaction.lag.ms"),
    "log.cleaner.max.compaction.lag.ms": _for_topics("max.compaction.lag.ms"),
    "log.cleaner.delete.retention.ms": _for_topics("delete.retention.ms"),
}
"""Broker keys that change in flight, and the setter for each broker concerned."""


def _set_topic(cluster: RunningCluster, after: ScenarioSpec, topic: Any, key: str) -> tuple[tuple[str, ...], str]:  # noqa: ANN401
    TOPIC_SETTERS[key](cluster, after, topic)
    return (), NOW


# --- clients ----------------------------------------------------------------------------------------------------------


def _set_group(cluster: RunningCluster, after: ScenarioSpec, group: Any, key: str) -> tuple[tuple[str, ...], str]:  # noqa: ANN401
    del after
    if key == "members":  # the command scales, too
        return (), NOW
    return _set_members(cluster, group, key, tuple(consumer.name for consumer in cluster.consumers.values()))


def _set_members(
    cluster: RunningCluster, group: GroupSpec, key: str, names: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """Let those members of a group that are named read their configuration again; later ones are made by it."""
    cluster.redeclare(group)
    members = [each for each in cluster.consumers.values() if each.group == group.name and each.name in names]
    for member in members:
        member.configure(group)
    now = [member.name for member in members if member.takes_now(key)]
    if _in_flight(keys_at(group, key)[0], key) and (now or not members):
        return tuple(now), NOW
    return tuple(member.name for member in members), AT_NEXT_START


def _set_producer(cluster: RunningCluster, after: ScenarioSpec, spec: Any, key: str) -> tuple[tuple[str, ...], str]:  # noqa: ANN401
    del after
    if key == "rate" and spec.arrivals.kind == "profile":
        raise CommandRefusedError(f"the arrivals of {spec.name} are a profile, which has its own rates")
    producers = [cluster.producers[name] for name in spec.instances()]
    for producer in producers:
        producer.configure(spec)
        if key == "rate":
            producer.change_rate(spec.rate_per_second)
    return tuple(spec.instances()), NOW if _in_flight("producer", key) else AT_NEXT_START


_SETTERS: dict[
    type[msgspec.Struct], Callable[[RunningCluster, ScenarioSpec, Any, str], tuple[tuple[str, ...], str]]
] = {
    TopicSpec: _set_topic,
    GroupSpec: _set_group,
    ProducerSpec: _set_producer,
}
