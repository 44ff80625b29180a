"""What the controller publishes of one partition. Source: `PartitionRegistration`."""

from typing import Final

import msgspec

CONTROLLER_SHRINKS: Final = "shrink: broker-"
"""The start of the reason of an ISR change that the controller makes: it fences a broker, or allows its shutdown."""


class PartitionMetadata(msgspec.Struct, frozen=True):
    """The leadership of one partition; `leader` is -1 while there is none.

    `partition_epoch` grows with each change of the leader, of the ISR or of the replicas. `led_since`: the epoch from
    which the leader leads without a break; a reassignment may raise the epoch of a leader that stays. `adding`,
    `removing`: of `replicas`, those that a reassignment in progress adds and removes.
    """

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int = 0
    led_since: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def epochs(self) -> tuple[int, int]:
        """The order of a partition's metadata: (leader epoch, partition epoch)."""
        return self.leader_epoch, self.partition_epoch

    @property
    def replication_factor(self) -> int:
        """Its replicas without those that a reassignment in progress adds. Source: `OngoingReassignmentState`."""
        return len(self.replicas) - len(self.adding)

    def changed(self, leader: int, leader_epoch: int, isr: tuple[int, ...]) -> "PartitionMetadata":
        """The metadata of the same partition after a change of its leader or ISR."""
        return self.moved(leader, leader_epoch, isr, (self.replicas, self.adding, self.removing))

    def moved(
        self,
        leader: int,
        leader_epoch: int,
        isr: tuple[int, ...],
        places: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    ) -> "PartitionMetadata":
        """The metadata of the same partition after a change; `places`: replicas, adding and removing ones."""
        since = self.led_since if leader == self.leader else leader_epoch
        replicas, adding, removing = places
        epoch = self.partition_epoch + 1
        return PartitionMetadata(leader, leader_epoch, replicas, isr, epoch, since, adding, removing)


def isr_in_order(before: tuple[int, ...], now: tuple[int, ...], reason: str) -> tuple[int, ...]:
    """An ISR in the order that Kafka shows.

    A leader sends the ids of a hash set, which come by number; the controller leaves those that stay in their order.
    Source: `Partition.prepareIsrExpand`, `prepareIsrShrink`, `PartitionChangeBuilder`.
    """
    if not before or before == now:
        return now
    if set(now) <= set(before) and (reason.startswith(CONTROLLER_SHRINKS) or not reason.startswith("shrink: ")):
        return tuple([broker for broker in before if broker in now])
    return tuple(sorted(now))
