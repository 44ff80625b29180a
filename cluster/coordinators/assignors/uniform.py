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

from itertools import chain
from typing import Final

from cluster.coordinators.assignors.interface import (
    ConsumerGroupSpec,
    ServerAssignor,
    TargetAssignment,
    subscribed_counts,
)
from cluster.coordinators.assignors.uniform_heterogeneous import UniformHeterogeneousAssignmentBuilder
from cluster.protocol.names import topic_of

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
        self._first: dict[str, int] = {}
        for topic, count in subscribed_counts(group).items():
            self._first[topic] = len(self._names)
            prefix = topic + "-"
            self._names += [prefix + str(number) for number in range(count)]
        self._place = dict(zip(self._names, range(len(self._names)), strict=True))
        self._owned = {member: group.members[member].assigned for member in sorted(group.members)}

    def build(self) -> TargetAssignment:
        """Keep, revoke, and assign the rest."""
        names, place = self._names, self._place
        taken = dict.fromkeys(chain.from_iterable(self._owned.values()))
        if not taken.keys() <= place.keys():
            self._owned = {
                member: tuple([name for name in assigned if name in place]) for member, assigned in self._owned.items()
            }
        unassigned = [at for at, name in enumerate(names) if name not in taken]
        target: TargetAssignment = {}
        below: list[tuple[str, int]] = []
        share, one_more = divmod(len(names), max(1, len(self._owned)))
        members_left = len(self._owned)
        for member, assigned in self._owned.items():
            with_one_more = one_more > 0
            lacking = share + with_one_more - len(assigned)
            target[member] = assigned if lacking >= 0 else self._keep(assigned, share + with_one_more, unassigned)
            if lacking > 0 and with_one_more and members_left > one_more:
                lacking -= 1
                with_one_more = False
            one_more -= with_one_more
            members_left -= 1
            if lacking > 0:
                below.append((member, lacking))
        begin = 0
        for member, lacking in below:
            held = [place[name] for name in target[member]]
            held += unassigned[begin : begin + lacking]
            held.sort()
            target[member] = tuple([names[at] for at in held])
            begin += lacking
        return target

    def _keep(self, held: tuple[str, ...], quota: int, unassigned: list[int]) -> tuple[str, ...]:
        """Cut a member's partitions to its quota, topic by topic; what it gives up is `unassigned` from now on."""
        of_topic: dict[str, list[int]] = {}
        for name in held:
            of_topic.setdefault(topic_of(name), []).append(self._place[name])
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
        return tuple([self._names[at] for at in kept])


def in_hash_order(places: list[int], first: int) -> list[int]:
    """Partitions as the HashSet returns them that Kafka fills from a target assignment's record.

    `places`: ascending; `first`: the place of partition 0. Numbers that share a bucket stay ascending.
    Source: `Assignment.fromRecord`, `java.util.HashMap.tableSizeFor`.
    """
    capacity = max(len(places) * 4 // 3 + 1, _SMALLEST_TABLE)
    mask = (1 << (capacity - 1).bit_length()) - 1
    return [at for _, at in sorted([((at - first) & mask, at) for at in places])]
