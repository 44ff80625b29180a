"""The general path of the sticky assignors: members subscribe to different topics.

Theory of operation. Every member first keeps its valid claims in topics of its subscription. Free partitions, those
with the fewest subscribers first, go to their least loaded subscriber. Then the balance loop visits each partition and
moves it if its owner has at least two more than another subscriber: to the previous owner if that helps, else to the
least loaded. The loop ends when no topic has an owner with two more than one of its subscribers. Two rules keep it
sticky. A move that would undo an earlier move between the same two members moves that earlier partition of the topic
back instead. A loop that did not improve the balance score is undone (Kafka's safety net: no group is known that needs
it).

A member with all partitions that it can get, none of them shared, takes no part in the loop.
Source: `AbstractStickyAssignor.GeneralAssignmentBuilder`. The balance test is the same predicate, kept by topic:
the original compares every partition with every member on each step.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

from cluster.assignors.interface import Subscription
from cluster.assignors.racks import NO_RACKS, Racks
from cluster.protocol.names import TopicPartition
from cluster.reach import reached

Held = dict[TopicPartition, None]
"""A member's partitions: a dict instead of a set, because it keeps the order of insertion."""


class Movements:
    """The moves since the loop began: for each moved partition its first and its present owner.

    Source: `AbstractStickyAssignor.PartitionMovements`.
    """

    def __init__(self) -> None:
        self._moved: dict[TopicPartition, tuple[str, str]] = {}
        self._between: dict[tuple[str, str, str], Held] = {}

    def record(self, partition: TopicPartition, source: str, target: str) -> None:
        """Note a move from `source` to `target`. A partition back at its first owner has not moved."""
        if partition in self._moved:
            first, _ = self._moved.pop(partition)
            del self._between[partition.topic, first, source][partition]
            if first == target:
                return
            source = first
        self._moved[partition] = (source, target)
        self._between.setdefault((partition.topic, source, target), {})[partition] = None

    def better_choice(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """The partition to move instead of `partition`, so that two partitions of a topic do not swap members."""
        first, _ = self._moved.get(partition, (source, target))
        return next(iter(self._between.get((partition.topic, target, first), {})), partition)


class GeneralBalance:
    """One run of the general path.

    `counts` has the number of partitions of each existing topic with a subscriber; `claims` the partitions that each
    member owns, each existing partition at most once. A claim outside its member's rack is given up, and free
    partitions go to members in their racks first (KIP-881).
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        subscriptions: Mapping[str, Subscription],
        claims: Mapping[str, Sequence[TopicPartition]],
        racks: Racks = NO_RACKS,
    ) -> None:
        self._racks = racks
        members = list(claims)
        self._wanted = {
            member: {topic: None for topic in subscriptions[member].topics if topic in counts} for member in members
        }
        self._subscribers: dict[str, list[str]] = {topic: [] for topic in counts}
        for member, topics in self._wanted.items():
            for topic in topics:
                self._subscribers[topic].append(member)
        self._counts = counts
        self._held: dict[str, Held] = {
            member: {
                claim: None
                for claim in claims[member]
                if claim.topic in self._wanted[member] and not racks.mismatch(member, claim)
            }
            for member in members
        }
        # A member owns partitions outside its subscription or rack: it must revoke anyway, so partitions move at once.
        self._must_revoke = any(len(self._held[member]) < len(claims[member]) for member in members)
        self._owner = {partition: member for member, held in self._held.items() for partition in held}
        self._owners = {topic: dict.fromkeys(subscribers, 0) for topic, subscribers in self._subscribers.items()}
        for partition, member in self._owner.items():
            self._owners[partition.topic][member] += 1
        self._ranking = sorted((len(held), member) for member, held in self._held.items())
        self._previous = self._previous_owners(subscriptions)
        self._movements = Movements()
        self._uneven_topic: str | None = None
        self._is_balanced: bool | None = None

    def assign(self) -> dict[str, list[TopicPartition]]:
        """The balanced assignment; every member is a key, in the order of `claims`."""
        fresh = not self._owner
        partitions = self._partitions_fewest_takers_first()
        free = [partition for partition in partitions if partition not in self._owner]
        for partition in self._left_by_racks(free):
            self._give(partition, self._least_loaded(partition.topic))

        self._ranking = [place for place in self._ranking if self._takes_part(place[1])]
        before, owners_before = {member: held.copy() for member, held in self._held.items()}, dict(self._owner)
        if not self._must_revoke:
            self._reassign([partition for partition in free if self._is_shared(partition.topic)])
        moved = self._reassign([partition for partition in partitions if self._is_shared(partition.topic)])
        if moved and not fresh and self._score(self._held) >= self._score(before):
            self._held, self._owner = before, owners_before
        return {member: list(held) for member, held in self._held.items()}

    def _previous_owners(self, subscriptions: Mapping[str, Subscription]) -> dict[TopicPartition, str]:
        """Partition → its owner in an older generation: the newest such claim of a member that still subscribes."""
        newest = max((subscription.generation_id for subscription in subscriptions.values()), default=-1)
        claims: dict[TopicPartition, tuple[int, str]] = {}
        for member, wanted in self._wanted.items():
            generation = subscriptions[member].generation_id
            if generation >= newest:
                continue
            for partition in subscriptions[member].owned_partitions:
                if partition.topic in wanted and (partition not in claims or generation > claims[partition][0]):
                    claims[partition] = (generation, member)
        return {partition: member for partition, (_, member) in claims.items()}

    def _partitions_fewest_takers_first(self) -> list[TopicPartition]:
        topics = sorted(self._counts, key=lambda topic: (len(self._subscribers[topic]), topic))
        return [TopicPartition(topic, number) for topic in topics for number in range(self._counts[topic])]

    def _is_shared(self, topic: str) -> bool:
        return len(self._subscribers[topic]) > 1

    def _takes_part(self, member: str) -> bool:
        held = self._held[member]
        return len(held) < sum(self._counts[topic] for topic in self._wanted[member]) or any(
            self._is_shared(partition.topic) for partition in held
        )

    def _least_loaded(self, topic: str) -> str:
        return next(member for _, member in self._ranking if topic in self._wanted[member])

    def _left_by_racks(self, free: list[TopicPartition]) -> list[TopicPartition]:
        """Give free partitions to the least loaded subscribers in their racks; returns those without any."""
        if not self._racks.matter:
            return free
        left: list[TopicPartition] = []
        for partition in free:
            member = self._least_loaded_in_its_racks(partition)
            if member is None:
                left.append(partition)
            else:
                self._give(partition, member)
        return left

    def _least_loaded_in_its_racks(self, partition: TopicPartition) -> str | None:
        for _, member in self._ranking:
            if partition.topic in self._wanted[member] and not self._racks.mismatch(member, partition):
                return member
        return None

    def _give(self, partition: TopicPartition, member: str) -> None:
        self._place(member, 1)
        self._held[member][partition] = None
        self._owner[partition] = member
        self._owners[partition.topic][member] += 1

    def _place(self, member: str, change: int) -> None:
        """Move a member in the ranking before its load changes by `change`."""
        load = len(self._held[member])
        del self._ranking[bisect_left(self._ranking, (load, member))]
        insort(self._ranking, (load + change, member))

    def _reassign(self, partitions: list[TopicPartition]) -> bool:
        """Move partitions repeatedly until balanced, or no move helps. Returns whether a partition moved."""
        moved_ever = False
        moved = True
        while moved:
            moved = False
            for partition in partitions:
                if self._balanced():
                    break
                moved |= self._improve(partition)
            moved_ever |= moved
        return moved_ever

    def _improve(self, partition: TopicPartition) -> bool:
        spare = len(self._held[self._owner[partition]]) - 1
        previous = self._previous.get(partition)
        if previous is not None and spare > len(self._held[previous]):
            self._move(partition, previous)
            return True
        least_loaded = self._least_loaded(partition.topic)
        if spare > len(self._held[least_loaded]):
            self._move(partition, least_loaded)
            return True
        return False

    def _move(self, requested: TopicPartition, target: str) -> None:
        partition = self._movements.better_choice(requested, self._owner[requested], target)
        source = self._owner[partition]
        reached("sticky: a partition moves")
        self._movements.record(partition, source, target)
        self._place(source, -1)
        del self._held[source][partition]
        self._owners[partition.topic][source] -= 1
        self._give(partition, target)
        self._is_balanced = None

    def _balanced(self) -> bool:
        """Whether no topic has an owner with two partitions more than one of its subscribers."""
        if self._is_balanced is None:
            if self._uneven_topic is None or self._is_even(self._uneven_topic):
                level = self._ranking[0][0] >= self._ranking[-1][0] - 1
                topics = () if level else self._subscribers
                self._uneven_topic = next((topic for topic in topics if not self._is_even(topic)), None)
            self._is_balanced = self._uneven_topic is None
        return self._is_balanced

    def _is_even(self, topic: str) -> bool:
        loads = {member: len(self._held[member]) for member in self._subscribers[topic]}
        fullest = max((loads[member] for member, owned in self._owners[topic].items() if owned), default=0)
        return fullest - 1 <= min(loads.values())

    def _score(self, held: Mapping[str, Held]) -> int:
        """The sum over pairs of members in the loop of the difference of their loads; 0 is perfect."""
        loads = sorted(len(held[member]) for _, member in self._ranking)
        return sum(load * (2 * place - len(loads) + 1) for place, load in enumerate(loads))
