"""The uniform assignor: balance over all topics together, then as few moves as possible.

Theory of operation for members with the same subscription; `uniform_heterogeneous` has that for different ones. With P
partitions and C members each member's quota is P // C, and P % C members may have one more. Members are visited in
order. A member keeps its target up to its quota; what exceeds it is revoked. While members with one more are still to
be found, a member's quota includes the one more. It keeps that if it fills it, or if the members after it are too few
to take all that is over. Then the partitions without an owner, and the revoked ones after them, go to the members below
their quota in the order of the visits.

A member above its quota keeps its first topics whole. Of the topic that exceeds the quota it keeps the partitions that
Java's HashSet returns first.
Source: `org.apache.kafka.coordinator.group.assignor.UniformHomogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from typing import Final

from cluster.coordinators.assignors.interface import (
    ConsumerGroupSpec,
    ServerAssignor,
    TargetAssignment,
    subscribed_counts,
)
from cluster.coordinators.assignors.uniform_heterogeneous import UniformHeterogeneousAssignmentBuilder

_SMALLEST_TABLE: Final = 16


class UniformAssignor(ServerAssignor):
    """Kafka's `uniform`, the default: one algorithm for equal subscriptions, another one for different ones.

    It knows no racks: Kafka's assignors of the coordinator get them and do not use them.
    Source: `org.apache.kafka.coordinator.group.assignor.UniformAssignor`.
    """

    name = "uniform"

    def assign(self, group: ConsumerGroupSpec) -> TargetAssignment:
        """Assign the partitions; the contract is `ServerAssignor.assign`."""
        if group.subscription_type == "HOMOGENEOUS":
            return UniformHomogeneousAssignmentBuilder(group).build()
        return UniformHeterogeneousAssignmentBuilder(group).build()


class UniformHomogeneousAssignmentBuilder:
    """One computation of a target assignment."""

    def __init__(self, group: ConsumerGroupSpec) -> None:
        self._names: list[str] = []
        self._topic_of: list[str] = []
        self._first: dict[str, int] = {}
        for topic, count in subscribed_counts(group).items():
            self._first[topic] = len(self._names)
            prefix = topic + "-"
            self._names += [prefix + str(number) for number in range(count)]
            self._topic_of += [topic] * count
        self._place = dict(zip(self._names, range(len(self._names)), strict=True))
        self._owned = {member: group.members[member].assigned for member in sorted(group.members)}

    def build(self) -> TargetAssignment:
        """Keep, revoke, and assign the rest."""
        place, names = self._place, self._names
        taken: dict[str, None] = {}
        for assigned in self._owned.values():
            taken.update(dict.fromkeys(assigned))
        unassigned = [at for at, name in enumerate(names) if name not in taken]
        target: TargetAssignment = {}
        below: list[tuple[str, list[int], int]] = []
        share, one_more = divmod(len(names), max(1, len(self._owned)))
        members_left = len(self._owned)
        for member, assigned in self._owned.items():
            kept = [place[name] for name in assigned if name in place]
            quota = share + (one_more > 0)
            if len(kept) > quota:
                kept = self._keep(kept, quota, unassigned)
            lacking = quota - len(kept)
            with_one_more = one_more > 0
            if lacking and with_one_more and members_left > one_more:
                lacking -= 1
                with_one_more = False
            one_more -= with_one_more
            members_left -= 1
            if lacking:
                below.append((member, kept, lacking))
            target[member] = assigned if len(kept) == len(assigned) else tuple([names[at] for at in kept])
        begin = 0
        for member, kept, lacking in below:
            held = sorted(kept + unassigned[begin : begin + lacking])
            target[member] = tuple([names[at] for at in held])
            begin += lacking
        return target

    def _keep(self, held: list[int], quota: int, unassigned: list[int]) -> list[int]:
        """Cut a member's partitions to its quota, topic by topic; what it gives up is `unassigned` from now on."""
        of_topic: dict[str, list[int]] = {}
        for at in held:
            of_topic.setdefault(self._topic_of[at], []).append(at)
        kept: list[int] = []
        for topic, mine in sorted(of_topic.items()):
            if len(mine) > quota:
                in_order = in_hash_order(mine, self._first[topic])
                unassigned += in_order[quota:]
                kept += sorted(in_order[:quota])
                quota = 0
            else:
                quota -= len(mine)
                kept += mine
        return kept


def in_hash_order(places: list[int], first: int) -> list[int]:
    """Partitions as the HashSet returns them that Kafka fills from a target assignment's record.

    `places`: ascending; `first`: the place of partition 0. Numbers that share a bucket stay ascending.
    Source: `Assignment.fromRecord`, `java.util.HashMap.tableSizeFor`.
    """
    capacity = max(len(places) * 4 // 3 + 1, _SMALLEST_TABLE)
    mask = (1 << (capacity - 1).bit_length()) - 1
    return [at for _, at in sorted([((at - first) & mask, at) for at in places])]
