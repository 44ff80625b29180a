"""Racks in an assignment: whether they matter, and who may have what without crossing them (KIP-881).

Racks matter when a consumer's rack has a replica of some partition, and not every partition is in the same racks.
Source: `AbstractPartitionAssignor.useRackAwareAssignment`, `AbstractStickyAssignor.RackInfo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from cluster.assignors.interface import PartitionRacks, Subscription
from cluster.protocol.names import TopicPartition


def racks_matter(member_racks: Iterable[str], partition_racks: Iterable[tuple[str, ...]]) -> bool:
    """Whether an assignment has to match racks. The racks of each partition are sorted."""
    known = list(partition_racks)
    everywhere = tuple(sorted(dict.fromkeys([rack for racks in known for rack in racks])))
    return any(rack in everywhere for rack in member_racks) and any(racks != everywhere for racks in known)


class Racks:
    """The racks of a group's members and partitions; both empty when they do not matter."""

    def __init__(
        self,
        subscriptions: Mapping[str, Subscription],
        partition_racks: PartitionRacks,
        partitions: Iterable[TopicPartition],
    ) -> None:
        rack_of = {member: one.rack_id for member, one in subscriptions.items() if one.rack_id}
        racks_of = {partition: partition_racks.get(partition, ()) for partition in partitions} if rack_of else {}
        self._near = {  # the members in each partition's racks
            partition: sum(rack_of[member] in racks for member in rack_of) for partition, racks in racks_of.items()
        }
        self.matter = bool(rack_of) and racks_matter(rack_of.values(), racks_of.values())
        self._rack_of, self._racks_of = (rack_of, racks_of) if self.matter else ({}, {})

    def mismatch(self, member: str, partition: TopicPartition) -> bool:
        """Whether a member has a rack, and no replica of the partition is in it."""
        rack = self._rack_of.get(member)
        return rack is not None and rack not in self._racks_of.get(partition, ())

    def scarcest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """The partitions, those with the fewest members in their racks first."""
        return sorted(partitions, key=lambda partition: self._near.get(partition, 0))

    def next_near(self, partition: TopicPartition, members: Sequence[str], first: int) -> int:
        """The place of the next member in one of the partition's racks, from `first` on in a circle; -1: none."""
        racks = self._racks_of.get(partition, ())
        for step in range(len(members)):
            place = (first + step) % len(members)
            if self._rack_of.get(members[place]) in racks:
                return place
        return -1


NO_RACKS: Final = Racks({}, {}, ())
"""Racks that do not matter."""

NOWHERE: Final[PartitionRacks] = MappingProxyType({})
"""Partitions without racks."""
