"""The contract of a partition assignor: Kafka's four and custom ones.

An assignor runs in the group's leader, between its JoinGroup response and its SyncGroup. It gets every member's
subscription and returns the assignment. It is a pure function: its result must not depend on the insertion order of
mappings, because two flights with the same seed must agree.
Source: `org.apache.kafka.clients.consumer.ConsumerPartitionAssignor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol, runtime_checkable

import msgspec

from cluster.protocol.names import TopicPartition

RebalanceProtocol = Literal["EAGER", "COOPERATIVE"]
PartitionsPerTopic = Mapping[str, int]
PartitionRacks = Mapping[TopicPartition, tuple[str, ...]]
"""Partition → the racks of its replicas, sorted; a replica on a broker that metadata does not list has none."""


class Subscription(msgspec.Struct, frozen=True):
    """One member's subscription: its topics, the partitions that it owns, its `client.rack` (KIP-881).

    Only the sticky assignors use `owned_partitions` and `generation_id`; −1 means an unknown generation.
    Source: `ConsumerPartitionAssignor.Subscription`, with generation in version 2 (KIP-792).
    """

    topics: Sequence[str]
    owned_partitions: Sequence[TopicPartition] = ()
    generation_id: int = -1
    group_instance_id: str | None = None
    rack_id: str = ""


class Assignor(Protocol):
    """An assignment strategy, named in partition.assignment.strategy."""

    @property
    def name(self) -> str:
        """The name that members vote for in JoinGroup."""
        ...

    @property
    def protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The supported rebalance protocols; a member uses COOPERATIVE only if all its assignors support it."""
        ...

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign partitions to members.

        `partitions_per_topic` has a count for each existing topic with a subscriber; a topic without metadata is
        absent. The result has every member as a key, in the order of member ids; a member without partitions has an
        empty list.
        """
        ...


@runtime_checkable
class RackAwareAssignor(Assignor, Protocol):
    """An assignor that can match the racks of members and replicas (KIP-881)."""

    def assign_by_rack(
        self,
        partitions_per_topic: PartitionsPerTopic,
        partition_racks: PartitionRacks,
        subscriptions: Mapping[str, Subscription],
    ) -> dict[str, list[TopicPartition]]:
        """Assign as `assign` does, and within racks where balance allows it."""
        ...


ASSIGNORS: Final[dict[str, Assignor]] = {}
"""Every assignor by name: Kafka's four, and custom ones that a caller adds."""


def members_in_order(subscriptions: Mapping[str, Subscription], members: Iterable[str]) -> list[str]:
    """Static members by instance id, then dynamic members by member id.

    A static member keeps its position across restarts although its member id changes.
    Source: `AbstractPartitionAssignor.MemberInfo.compareTo`.
    """

    def place(member: str) -> tuple[bool, str, str]:
        instance = subscriptions[member].group_instance_id
        return (True, "", member) if instance is None else (False, instance, member)

    return sorted(members, key=place)


def protocols_of(assignor: Assignor) -> tuple[RebalanceProtocol, ...]:
    """The rebalance protocols that an assignor supports; a custom one without the attribute is EAGER."""
    declared: Iterable[RebalanceProtocol] = getattr(
        assignor, "protocols", getattr(assignor, "supported_protocols", ("EAGER",))
    )
    return tuple(declared)


def assignor_named(name: str) -> Assignor:
    """The assignor of this name. Raises KeyError."""
    return ASSIGNORS[name]
