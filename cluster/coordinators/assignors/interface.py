"""The contract of the coordinator's partition assignors (KIP-848): the group as they see it, and its target assignment.

An assignor runs in the group's coordinator, when the group epoch rises. It is a pure function of the specification:
topics are taken in the order of their names and members in the order of their ids, never in the order of a mapping.
Kafka takes both in the order of a hash map, over random topic ids and member ids.
Source: `org.apache.kafka.coordinator.group.api.assignor`, `GroupSpecImpl`, `MemberSubscriptionAndAssignmentImpl`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

SubscriptionType = Literal["HOMOGENEOUS", "HETEROGENEOUS"]
TargetAssignment = dict[str, tuple[str, ...]]
"""Member id → its partitions by topic and number ("orders-2" before "orders-10"); members in the order of their ids."""


class ConsumerMemberSpec(NamedTuple):
    """One member: its topics, with those of its regular expression; its instance id; its target assignment so far.

    `assigned` is in the order of a target assignment. Partitions of topics that it subscribes to no more may be there.
    A static member that replaces another one brings that member's target.
    """

    topics: tuple[str, ...]
    instance_id: str | None = None
    assigned: tuple[str, ...] = ()


class ConsumerGroupSpec(NamedTuple):
    """What an assignor gets: the members, the partitions of each topic that exists, and the subscription type.

    A subscribed topic without metadata is absent from `partitions_per_topic`, and is ignored.
    """

    members: Mapping[str, ConsumerMemberSpec]
    partitions_per_topic: Mapping[str, int]
    subscription_type: SubscriptionType


class ServerAssignor(ABC):
    """An assignor of the coordinator, named in group.consumer.assignors and group.remote.assignor.

    Source: `ConsumerGroupPartitionAssignor`.
    """

    name = ""

    @abstractmethod
    def assign(self, group: ConsumerGroupSpec) -> TargetAssignment:
        """Compute the new target assignment: every member is a key; a member without partitions has ()."""


def subscription_type(subscriptions: Iterable[tuple[tuple[str, ...], str]]) -> SubscriptionType:
    """Whether all members have the same subscription, each given as (topic names, regular expression or "").

    Topics that do not exist count. With regular expressions, all members must have the same one and no topic names.
    Source: `ConsumerGroup.subscriptionType`.
    """
    kinds = dict.fromkeys([(topics, regex) for topics, regex in subscriptions])
    if len(kinds) > 1:
        kinds = dict.fromkeys([(tuple(sorted(dict.fromkeys(topics))), regex) for topics, regex in kinds])
    if len(kinds) > 1 or any(topics and regex for topics, regex in kinds):
        return "HETEROGENEOUS"
    return "HOMOGENEOUS"


def subscribed_counts(group: ConsumerGroupSpec) -> dict[str, int]:
    """Topic → partitions, by name, of the existing topics that members subscribe to."""
    topics: dict[str, None] = {}
    for wanted in dict.fromkeys([member.topics for member in group.members.values()]):
        topics.update(dict.fromkeys(wanted))
    counts = group.partitions_per_topic
    return {topic: counts[topic] for topic in sorted(topics) if topic in counts}
