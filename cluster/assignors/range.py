"""The range assignor: each topic by itself, contiguous ranges, the first members get the remainder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cluster.assignors.interface import (
    PartitionRacks,
    PartitionsPerTopic,
    RebalanceProtocol,
    Subscription,
    members_in_order,
)
from cluster.assignors.racks import racks_matter
from cluster.protocol.names import TopicPartition

Assignment = dict[str, list[TopicPartition]]


class RangeAssignor:
    """Kafka's `range`: assigns each topic's partitions, by number, to its subscribers in member order.

    With n partitions and c subscribers the first n mod c get one more than the others. In topics with equal counts a
    member gets the same partition numbers (joins need that). So many topics with few partitions all go to the first
    members. Where racks matter, members first get partitions with a replica in their rack, within the same shares.
    Source: `org.apache.kafka.clients.consumer.RangeAssignor`.
    """

    name = "range"
    protocols: tuple[RebalanceProtocol, ...] = ("EAGER",)

    def assign(self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]) -> Assignment:
        """Assign ranges; the contract is `Assignor.assign`."""
        return self.assign_by_rack(partitions_per_topic, {}, subscriptions)

    def assign_by_rack(
        self,
        partitions_per_topic: PartitionsPerTopic,
        partition_racks: PartitionRacks,
        subscriptions: Mapping[str, Subscription],
    ) -> Assignment:
        """Assign ranges, within racks where the shares allow it."""
        assignment: Assignment = {member: [] for member in sorted(subscriptions)}
        subscribers: dict[str, list[str]] = {}
        for member in members_in_order(subscriptions, subscriptions):
            for topic in dict.fromkeys(subscriptions[member].topics):
                subscribers.setdefault(topic, []).append(member)
        shares = [
            TopicShares(topic, partitions_per_topic[topic], _racks_of(members, subscriptions), partition_racks)
            for topic, members in sorted(subscribers.items())
            if partitions_per_topic.get(topic)
        ]
        if any(share.matters for share in shares):
            _within_racks(shares, assignment)
        for share in shares:
            share.give_ranges(assignment, by_rack=False)
        for held in assignment.values():
            held.sort()
        return assignment


def _racks_of(members: list[str], subscriptions: Mapping[str, Subscription]) -> dict[str, str]:
    return {member: subscriptions[member].rack_id for member in members}


class TopicShares:
    """One topic's unassigned partitions and what each of its subscribers may still get (`TopicAssignmentState`)."""

    def __init__(self, topic: str, count: int, rack_of: Mapping[str, str], partition_racks: PartitionRacks) -> None:
        self.topic, self.count, self.rack_of = topic, count, rack_of
        self._free = dict.fromkeys([TopicPartition(topic, number) for number in range(count)])
        self._racks_of = {one: partition_racks.get(one, ()) for one in self._free} if any(rack_of.values()) else {}
        self._given = dict.fromkeys(rack_of, 0)
        self._share, self._remainder = divmod(count, len(rack_of))
        self.matters = racks_matter(filter(None, rack_of.values()), self._racks_of.values())

    def near(self, member: str, partition: TopicPartition) -> bool:
        """Whether a replica of the partition is in the member's rack; true for a member without a rack."""
        rack = self.rack_of[member]
        return not rack or rack in self._racks_of.get(partition, ())

    def room(self, member: str) -> int:
        """How many partitions a member may still get."""
        return max(0, self._share + (self._remainder > 0) - self._given[member])

    def give(self, member: str, partitions: Iterable[TopicPartition], assignment: Assignment) -> None:
        """Give partitions to a member, which has room for them."""
        for partition in partitions:
            del self._free[partition]
            assignment[member].append(partition)
            self._given[member] += 1
        if self._given[member] > self._share:
            self._remainder -= 1

    def give_ranges(self, assignment: Assignment, *, by_rack: bool) -> None:
        """Give each member in turn all that it has room for, in the order of the partitions."""
        for member in self.rack_of:
            mine = [one for one in self._free if not by_rack or self.near(member, one)][: self.room(member)]
            if mine:
                self.give(member, mine, assignment)


def _within_racks(shares: list[TopicShares], assignment: Assignment) -> None:
    """Give partitions to members in their racks; topics with equal counts and subscribers stay together."""
    together: dict[tuple[tuple[tuple[str, str], ...], int], list[TopicShares]] = {}
    for share in shares:
        known = share.count if any(share.rack_of.values()) else 0
        together.setdefault((tuple(share.rack_of.items()), known), []).append(share)
    for alike in together.values():
        if len(alike) > 1:
            _co_partitioned(alike, assignment)
        elif alike[0].matters:
            alike[0].give_ranges(assignment, by_rack=True)


def _co_partitioned(alike: list[TopicShares], assignment: Assignment) -> None:
    """Give the partitions of one number in all of these topics to one member that is near to each of them."""
    if not any(alike[0].rack_of.values()):
        return
    for number in range(alike[0].count):
        for member in alike[0].rack_of:
            if all(one.room(member) > 0 and one.near(member, TopicPartition(one.topic, number)) for one in alike):
                for one in alike:
                    one.give(member, (TopicPartition(one.topic, number),), assignment)
                break
