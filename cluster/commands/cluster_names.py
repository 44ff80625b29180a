"""The names of a cluster that commands may use."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

_RESERVED: Final = re.compile(r"cluster|broker(-[0-9]+)?")
_NUMBERED: Final = re.compile(r"(.+)-(0|[1-9][0-9]*)")


def _partitions_of(topics: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"{topic}-{number}" for topic, count in topics.items() for number in range(count))


def is_reserved(name: str) -> bool:
    """Whether commands read a name as that of the cluster or of a broker, whatever the scenario has."""
    return _RESERVED.fullmatch(name) is not None


class Names(msgspec.Struct, frozen=True):
    """Every name of a cluster, in the order of its scenario.

    `brokers`: `broker-1` …; `groups` and `producers`: a name and its instances; `topics`: a name and its partitions.
    `internal`: the same of Kafka's own topics, which an administrator's commands may name.
    """

    brokers: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}
    producers: dict[str, tuple[str, ...]] = {}
    topics: dict[str, int] = {}
    internal: dict[str, int] = {}

    def members(self) -> tuple[str, ...]:
        """Every member of every group."""
        return tuple(member for members in self.groups.values() for member in members)

    def clients(self) -> tuple[str, ...]:
        """Every member and every producer's instance."""
        return self.members() + tuple(name for instances in self.producers.values() for name in instances)

    def processes(self) -> tuple[str, ...]:
        """Every broker, member and producer's instance."""
        return self.brokers + self.clients()

    def partitions(self) -> tuple[str, ...]:
        """Every partition of every topic."""
        return _partitions_of(self.topics)

    def all_partitions(self) -> tuple[str, ...]:
        """Every partition, those of internal topics last."""
        return _partitions_of({**self.topics, **self.internal})

    def scopes(self) -> tuple[str, ...]:
        """The scopes of settings: the cluster, brokers, topics, groups, their members and producers."""
        return ("cluster", *self.brokers, *self.topics, *self.groups, *self.producers, *self.members())

    def why_not_free(self, name: str) -> str:
        """Why a new topic has not this name, which commands read as that of something else; empty for a free one."""
        others = {"group": self.groups, "producer": self.producers, "process": self.processes()}
        for kind, taken in others.items():
            if name in taken:
                return f"{name} is already the name of a {kind}"
        if is_reserved(name):
            return f"{name} is a reserved word"
        numbered = _NUMBERED.fullmatch(name)
        if numbered is None:
            return ""
        if numbered[1] in self.groups or numbered[1] in self.producers:
            return f"{name} is the name of a process of {numbered[1]}"
        return f"{name} is the name of a partition of {numbered[1]}" if numbered[1] in self.topics else ""

    def instances_of(self, name: str) -> tuple[str, ...]:
        """The instances of a group or producer; empty for any other name."""
        return self.groups.get(name) or self.producers.get(name) or ()
