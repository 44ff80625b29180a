"""Parts of a drawn scenario that its claims ask for: commands, topics, producers, numbers."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from cluster.commands import Subscribe
from cluster.config import Value
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec
from recordings.swarm.consumer_protocol import topics_read

C = TypeVar("C")


def commands_of(spec: ScenarioSpec, kind: type[C]) -> list[C]:
    """The commands of this kind in the steps."""
    return [step.command for step in spec.steps if isinstance(step.command, kind)]


def counts_of(group: GroupSpec) -> str:
    """The group's counts of records, in an expression."""
    return f'delivery.by_group["{group.name}"]'


def topics_counted(spec: ScenarioSpec, group: GroupSpec) -> set[str]:
    """The topics that the group's counts cover: every topic that a member subscribes to, or once did."""
    subscribed = [command for command in commands_of(spec, Subscribe) if command.member in group.instances()]
    own = {topic for name in group.instances() for topic in group.topics_of(name)}
    return {*topics_read(spec, group), *own, *(topic for command in subscribed for topic in command.topics)}


def producers_of(spec: ScenarioSpec, group: GroupSpec) -> Iterable[ProducerSpec]:
    """The producers of the topics that the group's counts cover."""
    topics = topics_counted(spec, group)
    return [each for each in spec.producers if any(topic in topics for topic in each.topics)]


def is_transactional(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether a producer or a group writes to its topics in transactions."""
    if any(each.transactions is not None for each in producers_of(spec, group)):
        return True
    topics = topics_counted(spec, group)
    return any(
        each.application.commit == "transaction" and bool(topics & set(each.application.topics_written))
        for each in spec.groups
    )


def transaction_version(spec: ScenarioSpec) -> int:
    """The cluster's `transaction.version`."""
    return number(spec.broker_config(spec.brokers[0]), "transaction.version")


def number(config: Mapping[str, Value], key: str) -> int:
    """A key whose value is a number."""
    value = config[key]
    assert isinstance(value, int)
    return value
