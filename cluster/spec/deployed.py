"""What a running cluster's spec is: the scenario's, and what commands have made of it since."""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from cluster.commands import AddPartitions, Command, CreateTopic, Scale, Set
from cluster.config import ConfigError
from cluster.spec.created_topics import created_topic
from cluster.spec.overrides import why_not, write_over
from cluster.spec.spec import GroupSpec, ScenarioSpec, TopicSpec

ThingT = TypeVar("ThingT", TopicSpec, GroupSpec)


def deployed(spec: ScenarioSpec, commands: Iterable[Command]) -> ScenarioSpec:
    """The spec as these commands leave it, in their order: with the topics, partitions, members and settings they make.

    A command that the cluster refuses for what it says changes nothing, here as there.
    """
    for command in commands:
        spec = _after(spec, command)
    return spec


def _after(spec: ScenarioSpec, command: Command) -> ScenarioSpec:
    match command:
        case CreateTopic(topic=topic) if topic not in {each.name for each in spec.topics}:
            try:
                return msgspec.structs.replace(spec, topics=(*spec.topics, created_topic(spec, command)))
            except ConfigError:  # the cluster refuses it, too
                return spec
        case AddPartitions(topic=topic, to=to):
            grown = [_at_least(each, "partitions", to) if each.name == topic else each for each in spec.topics]
            return msgspec.structs.replace(spec, topics=tuple(grown))
        case Scale(group=group, to=to):
            scaled = [_at_least(each, "members", to) if each.name == group else each for each in spec.groups]
            return msgspec.structs.replace(spec, groups=tuple(scaled))
        case Set(scope=scope, key=key, value=value, for_us=None) if why_not(spec, scope, key, value) is None:
            return write_over(spec, scope, key, value)
    return spec


def _at_least(thing: ThingT, field: str, number: int) -> ThingT:
    """A topic or group with this many partitions or members, or more: names are never taken back."""
    return msgspec.structs.replace(thing, **{field: max(getattr(thing, field), number)})
