"""Groups of a swarm flight that speak the new protocol (KIP-848): static members, patterns, assignors that change."""

import re
from random import Random
from typing import Final

import msgspec

from cluster.config import DEFAULT_ASSIGNORS, Value
from cluster.spec import GroupSpec, MemberSpec, ScenarioSpec, StepSpec
from recordings.swarm.faults import FAULTS_BEGIN_US, SECOND_US, step

BROKER_DECIDES: Final = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""Keys that a consumer of the new protocol may not set."""

ASSIGNORS: Final = ("uniform", "range")
EVERY_TOPIC: Final = "t[0-9]+"  # of producers: applications write to `out`, `side` and `letters`


def consumer_protocol(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Groups speak the new protocol, with sessions as short as the drawn one."""
    keys = quick_sessions(stream)
    if stream.random() < 0.2:
        keys["group.consumer.assignors"] = ("range", "uniform")
    steps: list[StepSpec] = []
    groups = tuple(_drawn(spec, group, steps, stream) for group in spec.groups)
    return msgspec.structs.replace(spec, config=spec.config | keys, groups=groups, steps=(*spec.steps, *steps))


def quick_sessions(stream: Random) -> dict[str, Value]:
    """Brokers' keys that end the sessions of the new protocol as early as those of classic groups."""
    session_ms, beat_ms = stream.choice((6_000, 10_000)), stream.choice((500, 1_000, 3_000))
    return {
        "group.consumer.session.timeout.ms": session_ms,
        "group.consumer.min.session.timeout.ms": session_ms,
        "group.consumer.heartbeat.interval.ms": beat_ms,
        "group.consumer.min.heartbeat.interval.ms": beat_ms,
        "group.consumer.assignment.interval.ms": stream.choice((0, 1_000)),
    }


def _drawn(spec: ScenarioSpec, group: GroupSpec, steps: list[StepSpec], stream: Random) -> GroupSpec:
    """The group with what is drawn for it; all is drawn for a group that stays classic, too."""
    stays, static, pattern, asks = (stream.random() for _ in range(4))
    asked, own, changes, to = stream.choice(ASSIGNORS), stream.random(), stream.random(), stream.choice(ASSIGNORS)
    at_us = stream.randrange(FAULTS_BEGIN_US, FAULTS_BEGIN_US + 4 * SECOND_US, 1_000)
    if group.assign or "group.instance.id" in group.config or (len(spec.groups) > 1 and stays < 0.3):
        return group
    config = _allowed(group.config) | {"group.protocol": "consumer"}
    if asks < 0.3:
        config["group.remote.assignor"] = asked
    members = {one.name: msgspec.structs.replace(one, config=_allowed(one.config), assignors=None) for one in group.own}
    if own < 0.3:
        last = group.instances()[-1]
        one = members.get(last, MemberSpec(last))
        members[last] = msgspec.structs.replace(one, config=one.config | {"group.remote.assignor": to})
    if changes < 0.3:  # a changed key holds for the next process
        steps.append(step(at_us, f"set {group.name} group.remote.assignor {to}"))
        steps.append(step(at_us + SECOND_US, f"rolling restart {group.name} every 2s down 1s"))
    by_pattern = pattern < 0.25 and not group.subscriptions
    return msgspec.structs.replace(
        group,
        config=config,
        own=tuple(members.values()),
        static=static < 0.3,
        assignors=DEFAULT_ASSIGNORS,
        topics=() if by_pattern else group.topics,
        topic_regex=_pattern(group.topics) if by_pattern else "",
    )


def _allowed(config: dict[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in config.items() if key not in BROKER_DECIDES}


def _pattern(topics: tuple[str, ...]) -> str:
    """A regular expression for these topics."""
    return EVERY_TOPIC if len(topics) > 1 else topics[0]


def topics_read(spec: ScenarioSpec, group: GroupSpec) -> tuple[str, ...]:
    """The topics that the group subscribes to, or that its pattern matches."""
    if not group.topic_regex:
        return group.topics
    return tuple(topic.name for topic in spec.topics if re.fullmatch(group.topic_regex, topic.name))
