"""The constrained path of the sticky assignors where racks matter: equal subscriptions, consumers in racks (KIP-881).

Theory of operation. With P partitions and C members each member gets P // C, and P % C members one more. A member keeps
what it owned, up to that, if a replica is in its rack. Then free partitions, those with the fewest members in their
racks first, go in turn to members in their racks, and what is left in turn to any. Members below the quota come before
those at it. Balance comes before racks.
Source: `AbstractStickyAssignor.ConstrainedAssignmentBuilder`. Members come in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from cluster.assignors.racks import Racks
from cluster.protocol.names import TopicPartition


class RackAwareQuotas:
    """One run. `counts`: topic → partitions; `held`: the valid claims; `voided`: claims of two members at once."""

    def __init__(
        self,
        counts: Mapping[str, int],
        held: Mapping[str, list[TopicPartition]],
        voided: Mapping[TopicPartition, None],
        racks: Racks,
    ) -> None:
        self._counts, self._voided, self._racks = counts, voided, racks
        self._quota, self._fuller = divmod(sum(counts.values()), len(held))
        self._below: list[str] = []  # members with less than the quota
        self._at_quota: list[str] = []  # members that may get one more
        self._given_up: dict[TopicPartition, str] = {}
        self.assignment: dict[str, list[TopicPartition]] = {member: [] for member in held}
        self.transferring: dict[TopicPartition, str] = {}
        for member, claims in held.items():
            self._keep(member, claims)

    @property
    def _most(self) -> int:
        return self._quota + (sum(self._counts.values()) % len(self.assignment) > 0)

    def _keep(self, member: str, claims: list[TopicPartition]) -> None:
        """Let a member keep what it owned in its rack, up to the quota, or one more while some may have it."""
        self._given_up.update({one: member for one in claims if self._racks.mismatch(member, one)})
        near = sorted((one for one in claims if one not in self._given_up), key=lambda one: (one.partition, one.topic))
        if len(near) < self._quota:
            self.assignment[member] = near
            self._below.append(member)
            return
        keeps = self._quota
        if len(near) >= self._most and self._fuller:
            keeps = self._most
            self._filled()
        elif self._fuller:
            self._at_quota.append(member)
        self.assignment[member] = near[:keeps]
        self._given_up.update(dict.fromkeys(near[keeps:], member))

    def _filled(self) -> None:
        """One of the members that may have more than the quota has it; after the last one no other may."""
        self._fuller -= 1
        if not self._fuller:
            self._at_quota.clear()

    def assign(self) -> None:
        """Assign what no member kept."""
        kept = dict.fromkeys([one for claims in self.assignment.values() for one in claims])
        counts = self._counts
        every = [TopicPartition(topic, number) for topic in sorted(counts) for number in range(counts[topic])]
        free = self._racks.scarcest_first([one for one in every if one not in kept])
        self._in_turn(self._within_racks(free))

    def _within_racks(self, free: list[TopicPartition]) -> list[TopicPartition]:
        """Give partitions to members in their racks; returns those that none of them can have."""
        left: list[TopicPartition] = []
        turn = 0
        for partition in free:
            place = self._racks.next_near(partition, self._below, turn)
            if place >= 0:
                member = self._below[place]
                turn = self._after(place, len(self.assignment[member]) + 1)
            else:
                place = self._racks.next_near(partition, self._at_quota, 0)
                if place < 0:
                    left.append(partition)
                    continue
                member = self._at_quota.pop(place)
                self._filled()
            self._give(partition, member)
        return left

    def _after(self, place: int, size: int) -> int:
        """Whose turn is next when the member below the quota at this place has this many."""
        following = place + 1
        if size >= self._quota:
            member = self._below.pop(place)
            if size < self._most and self._fuller:
                self._at_quota.append(member)
            following = place
        return following % len(self._below) if self._below else 0

    def _in_turn(self, free: list[TopicPartition]) -> None:
        """Give partitions to the members below the quota in turn, then to those at it."""
        turn = 0
        for partition in free:
            if not self._below:
                self._give(partition, self._at_quota.pop(0))
                continue
            turn %= len(self._below)
            member = self._below[turn]
            self._give(partition, member)
            if len(self.assignment[member]) == self._quota:
                self._at_quota.append(self._below.pop(turn))
                turn = turn if turn < len(self._below) else 0
            else:
                turn += 1

    def _give(self, partition: TopicPartition, member: str) -> None:
        self.assignment[member].append(partition)
        if self._given_up.get(partition, member) != member or partition in self._voided:
            self.transferring[partition] = member
