"""The round robin assignor: all partitions of all topics, dealt in turn to all members."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

from cluster.assignors.interface import PartitionsPerTopic, RebalanceProtocol, Subscription, members_in_order
from cluster.protocol.names import TopicPartition


class RoundRobinAssignor:
    """Kafka's `roundrobin`: partitions by topic, then number; members in a circle, the unsubscribed passed over.

    Equal subscriptions differ by one partition at most. Unequal ones may be far out of balance, for a member that is
    passed over gets nothing in return.
    Source: `org.apache.kafka.clients.consumer.RoundRobinAssignor`.
    """

    name = "roundrobin"
    protocols: tuple[RebalanceProtocol, ...] = ("EAGER",)

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Deal the partitions; the contract is `Assignor.assign`."""
        assignment: dict[str, list[TopicPartition]] = {member: [] for member in sorted(subscriptions)}
        wanted = {member: dict.fromkeys(subscriptions[member].topics) for member in subscriptions}
        circle = cycle(members_in_order(subscriptions, subscriptions))
        for topic in sorted(dict.fromkeys(topic for topics in wanted.values() for topic in topics)):
            for number in range(partitions_per_topic.get(topic, 0)):
                member = next(member for member in circle if topic in wanted[member])
                assignment[member].append(TopicPartition(topic, number))
        return assignment
