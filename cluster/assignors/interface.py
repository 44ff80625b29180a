"""What a partition assignor is: the contract for Kafka's four and for one of your own.

An assignor runs in the group's leader, between its JoinGroup answer and its SyncGroup: it sees every member's
subscription and decides who reads what. It is a pure function. Its answer must not depend on the order in which
mappings were filled, because two flights with one seed must agree.
Source: `org.apache.kafka.clients.consumer.ConsumerPartitionAssignor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol

import msgspec

from cluster.protocol.names import TopicPartition

RebalanceProtocol = Literal["EAGER", "COOPERATIVE"]
PartitionsPerTopic = Mapping[str, int]


class Subscription(msgspec.Struct, frozen=True):
    """What one member tells the leader: the topics it wants and what it holds.

    `owned_partitions` and `generation_id` matter to the sticky assignors only; −1 means no generation is known.
    Source: `ConsumerPartitionAssignor.Subscription`, with generation in version 2 (KIP-792).
    """

    topics: Sequence[str]
    owned_partitions: Sequence[TopicPartition] = ()
    generation_id: int = -1
    group_instance_id: str | None = None


class Assignor(Protocol):
    """A strategy that can be named in partition.assignment.strategy."""

    @property
    def name(self) -> str:
        """The name that members vote for in JoinGroup."""
        ...

    @property
    def protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The rebalance protocols it supports; a member uses COOPERATIVE only when all its assignors support it."""
        ...

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Give the partitions to the members.

        `partitions_per_topic` has a count for each topic that exists and that somebody subscribes to; a topic without
        metadata is absent. The answer has every member as a key, in the order of member ids; members that get nothing
        get an empty list.
        """
        ...


ASSIGNORS: Final[dict[str, Assignor]] = {}
"""Every assignor by name. The package fills it with Kafka's four; add your own to fly it."""


def members_in_order(subscriptions: Mapping[str, Subscription], members: Iterable[str]) -> list[str]:
    """Static members by instance id, then dynamic members by member id.

    A static member keeps its place across restarts although its member id changes.
    Source: `AbstractPartitionAssignor.MemberInfo.compareTo`.
    """

    def place(member: str) -> tuple[bool, str, str]:
        instance = subscriptions[member].group_instance_id
        return (True, "", member) if instance is None else (False, instance, member)

    return sorted(members, key=place)


def protocols_of(assignor: Assignor) -> tuple[RebalanceProtocol, ...]:
    """The rebalance protocols that an assignor supports; one of your own may say so, else it is EAGER."""
    said: Iterable[RebalanceProtocol] = getattr(
        assignor, "protocols", getattr(assignor, "supported_protocols", ("EAGER",))
    )
    return tuple(said)


def assignor_named(name: str) -> Assignor:
    """The assignor of this name. Raises KeyError."""
    return ASSIGNORS[name]
