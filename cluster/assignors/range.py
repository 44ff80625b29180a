"""The range assignor: each topic by itself, contiguous ranges, the first members get the remainder."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.assignors.interface import PartitionsPerTopic, RebalanceProtocol, Subscription, members_in_order
from cluster.protocol.names import TopicPartition


class RangeAssignor:
    """Kafka's `range`: assigns each topic's partitions, by number, to its subscribers in member order.

    With n partitions and c subscribers the first n mod c get one more than the others. In topics with equal counts a
    member gets the same partition numbers (joins need that). So many topics with few partitions all go to the first
    members.
    Source: `org.apache.kafka.clients.consumer.RangeAssignor`, without racks.
    """

    name = "range"
    protocols: tuple[RebalanceProtocol, ...] = ("EAGER",)

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign ranges; the contract is `Assignor.assign`."""
        assignment: dict[str, list[TopicPartition]] = {member: [] for member in sorted(subscriptions)}
        subscribers: dict[str, list[str]] = {}
        for member in members_in_order(subscriptions, subscriptions):
            for topic in dict.fromkeys(subscriptions[member].topics):
                subscribers.setdefault(topic, []).append(member)
        for topic in sorted(subscribers):
            members = subscribers[topic]
            share, remainder = divmod(partitions_per_topic.get(topic, 0), len(members))
            start = 0
            for place, member in enumerate(members):
                end = start + share + (place < remainder)
                assignment[member].extend(TopicPartition(topic, number) for number in range(start, end))
                start = end
        return assignment
