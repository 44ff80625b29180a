"""The cooperative sticky assignor: the sticky assignment in two rebalances, without revoking everything."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.assignors.interface import PartitionRacks, PartitionsPerTopic, RebalanceProtocol, Subscription
from cluster.assignors.sticky import assign_sticky
from cluster.protocol.names import TopicPartition
from cluster.reach import reached


class CooperativeStickyAssignor:
    """Kafka's `cooperative-sticky`: as `sticky`, but a partition that changes its owner stays unassigned in this round.

    Its owner revokes it and rejoins; the next round assigns it. So a move costs two rebalances, and partitions that do
    not move are never paused.
    Source: `org.apache.kafka.clients.consumer.CooperativeStickyAssignor` (KIP-429).
    """

    name = "cooperative-sticky"
    protocols: tuple[RebalanceProtocol, ...] = ("COOPERATIVE", "EAGER")

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign the partitions, without those that their owners must revoke first."""
        return self.assign_by_rack(partitions_per_topic, {}, subscriptions)

    def assign_by_rack(
        self,
        partitions_per_topic: PartitionsPerTopic,
        partition_racks: PartitionRacks,
        subscriptions: Mapping[str, Subscription],
    ) -> dict[str, list[TopicPartition]]:
        """Assign within racks where balance allows it, without what owners must revoke first."""
        assignment, transferring = assign_sticky(partitions_per_topic, subscriptions, partition_racks)
        if transferring is None:
            transferring = partitions_changing_hands(assignment, subscriptions)
        for member in dict.fromkeys(transferring.values()):
            reached("cooperative: withheld")
            assignment[member] = [held for held in assignment[member] if held not in transferring]
        return assignment


def partitions_changing_hands(
    assignment: Mapping[str, list[TopicPartition]], subscriptions: Mapping[str, Subscription]
) -> dict[TopicPartition, str]:
    """Partition → its new owner, for partitions that another member has to revoke first."""
    added: dict[TopicPartition, str] = {}
    revoked: dict[TopicPartition, None] = {}
    for member, partitions in assignment.items():
        owned = dict.fromkeys(subscriptions[member].owned_partitions)
        given = dict.fromkeys(partitions)
        added.update(dict.fromkeys([partition for partition in given if partition not in owned], member))
        revoked.update(dict.fromkeys([partition for partition in owned if partition not in given]))
    return {partition: member for partition, member in added.items() if partition in revoked}
