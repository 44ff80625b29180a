"""The round robin assignor: all partitions of all topics, assigned in turn to all members."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

from cluster.assignors.interface import PartitionsPerTopic, RebalanceProtocol, Subscription, members_in_order
from cluster.protocol.names import TopicPartition


class RoundRobinAssignor:
    """Kafka's `roundrobin`: partitions by topic, then number; members in a circle, skipping the unsubscribed.

    With equal subscriptions members differ by at most one partition. Unequal ones may be far out of balance: a skipped
    member gets no partition in return.
    Source: `org.apache.kafka.clients.consumer.RoundRobinAssignor`.
    """

    name = "roundrobin"
    protocols: tuple[RebalanceProtocol, ...] = ("EAGER",)

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign in turn; the contract is `Assignor.assign`."""
        assignment: dict[str, list[TopicPartition]] = {member: [] for member in sorted(subscriptions)}
        topics_of = {member: dict.fromkeys(subscriptions[member].topics) for member in subscriptions}
        circle = cycle(members_in_order(subscriptions, subscriptions))
        for topic in sorted(dict.fromkeys([topic for topics in topics_of.values() for topic in topics])):
            for number in range(partitions_per_topic.get(topic, 0)):
                member = next(member for member in circle if topic in topics_of[member])
                assignment[member].append(TopicPartition(topic, number))
        return assignment
