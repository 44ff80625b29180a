"""`uniform` for members with different subscriptions.

Theory of operation. First members keep what they still subscribe to. Then the partitions without an owner are assigned,
topic by topic: most partitions for each subscriber first, then fewest subscribers, then by name. They go to the least
loaded subscribers in passes: each pass gives one partition to every member on the lowest level, and so raises it.

At last the topics with two or more subscribers are balanced, in the same order, again and again: partitions pass from
the most loaded subscribers to the least loaded ones, until their levels differ by one or less. It ends when a whole
round moves nothing, and after 16 rounds at the latest. A load is the member's partitions of all topics.
Source: `org.apache.kafka.coordinator.group.assignor.UniformHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from typing import Final

from cluster.coordinators.assignors.interface import ConsumerGroupSpec, TargetAssignment, subscribed_counts

MOST_ROUNDS: Final = 16
_NO_OWNER: Final = -1


class UniformHeterogeneousAssignmentBuilder:
    """One computation of a target assignment; members are numbered in the order of their ids."""

    def __init__(self, group: ConsumerGroupSpec) -> None:
        self._counts = subscribed_counts(group)
        self._members = sorted(group.members)
        self._loads = [0] * len(self._members)
        self._owners = {topic: [_NO_OWNER] * count for topic, count in self._counts.items()}
        self._subscribers: dict[str, list[int]] = {topic: [] for topic in self._counts}
        for number, member in enumerate(self._members):
            for topic in dict.fromkeys(group.members[member].topics):
                if topic in self._subscribers:
                    self._subscribers[topic].append(number)
        self._keep(group)

    def build(self) -> TargetAssignment:
        """Assign what has no owner, and balance."""
        topics = sorted(self._counts, key=self._rank)
        for topic in topics:
            self._assign_rest(topic)
        self._balance([topic for topic in topics if len(self._subscribers[topic]) > 1])
        held: dict[str, list[str]] = {member: [] for member in self._members}
        lists = list(held.values())
        for topic, owners in self._owners.items():
            prefix = topic + "-"
            for number, owner in enumerate(owners):
                lists[owner].append(prefix + str(number))
        return {member: tuple(partitions) for member, partitions in held.items()}

    def _rank(self, topic: str) -> tuple[float, int, str]:
        subscribers = len(self._subscribers[topic])
        return -self._counts[topic] / subscribers, subscribers, topic

    def _keep(self, group: ConsumerGroupSpec) -> None:
        owners_of: dict[tuple[str, ...], dict[str, list[int]]] = {}
        for number, member in enumerate(self._members):
            spec = group.members[member]
            owners = owners_of.get(spec.topics)
            if owners is None:
                owners = {topic: self._owners[topic] for topic in spec.topics if topic in self._owners}
                owners_of[spec.topics] = owners
            for partition in spec.assigned:
                topic, _, text = partition.rpartition("-")
                if topic in owners and int(text) < len(owners[topic]):
                    owners[topic][int(text)] = number
                    self._loads[number] += 1

    def _assign_rest(self, topic: str) -> None:
        owners, loads = self._owners[topic], self._loads
        free = [number for number, owner in enumerate(owners) if owner == _NO_OWNER]
        if not free:
            return
        levels = Levels(self._subscribers[topic], loads)
        for number in free:
            owners[number] = levels.next_least_loaded()
            loads[owners[number]] += 1

    def _balance(self, topics: list[str]) -> None:
        last_changed = -1
        for _ in range(MOST_ROUNDS):
            for at, topic in enumerate(topics):
                if at == last_changed:
                    return
                if self._balance_topic(topic) or last_changed == -1:
                    last_changed = at

    def _balance_topic(self, topic: str) -> bool:
        """Move partitions of one topic between its subscribers; returns whether any moved."""
        owners, loads = self._owners[topic], self._loads
        levels = Levels(self._subscribers[topic], loads)
        if levels.spread() <= 1:
            return False
        held: dict[int, list[int]] = {member: [] for member in self._subscribers[topic]}
        for number, owner in enumerate(owners):
            held[owner].append(number)
        moved = False
        while True:
            giver = levels.next_most_loaded(held)
            if giver == _NO_OWNER:
                return moved
            number = held[giver].pop()
            taker = levels.next_least_loaded()
            if levels.balanced():
                return moved
            owners[number] = taker
            loads[giver] -= 1
            loads[taker] += 1
            moved = True


class Levels:
    """A topic's subscribers by load: a range of the least loaded, which rises, and one of the most loaded, which falls.

    `loads` is the builder's list, and changes as partitions are moved. Both ranges grow towards the middle. The most
    loaded range also shrinks at its end: a member that has no partition of the topic is taken out.
    Source: `UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`.
    """

    def __init__(self, members: list[int], loads: list[int]) -> None:
        self._loads = loads
        self._order = sorted(members, key=loads.__getitem__)  # stable: equal loads by number
        self._low_end, self._low_next = 0, 0
        self._low_load = loads[self._order[0]] - 1
        self._high_start = self._high_end = len(self._order)
        self._high_next = len(self._order) - 1
        self._high_load = loads[self._order[-1]] + 1

    def spread(self) -> int:
        """The difference between the largest and the smallest load."""
        return self._loads[self._order[-1]] - self._loads[self._order[0]]

    def balanced(self) -> bool:
        """Whether the levels of the two ranges differ by one or less."""
        return self._high_load - self._low_load <= 1

    def next_least_loaded(self) -> int:
        """The member that gets the next partition."""
        order, loads = self._order, self._loads
        if self._low_next >= self._low_end:
            self._low_load += 1
            while self._low_end < len(order) and loads[order[self._low_end]] == self._low_load:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return order[self._low_next - 1]

    def next_most_loaded(self, held: dict[int, list[int]]) -> int:
        """The member that gives up the next partition, or −1; `held`: member → partitions that it can give up."""
        order = self._order
        while True:
            if self._high_next < self._high_start:
                self._lower()
            if self._high_next < 0:
                return _NO_OWNER
            at = self._high_next
            self._high_next -= 1
            if held[order[at]]:
                return order[at]
            self._high_end -= 1
            order[at], order[self._high_end] = order[self._high_end], order[at]

    def _lower(self) -> None:
        """Begin a pass over the most loaded range one level deeper, from its end."""
        order, loads, start = self._order, self._loads, self._high_start
        if start > 0 and self._high_end <= start:
            self._high_load = loads[order[start - 1]]
        else:
            self._high_load -= 1
        while start > 0 and loads[order[start - 1]] == self._high_load:
            start -= 1
        self._high_start, self._high_next = start, self._high_end - 1
