"""Leader election: the controller's choice among the replicas of a partition.

Theory of operation. Replicas are in assignment order; the first is the preferred leader. Only members of the ISR hold
every committed record, so an election is *clean* when it elects one of them. ONLINE keeps a leader that may stay.
PREFERRED elects the first replica if possible. UNCLEAN may elect a replica that lacks committed records; the ISR then
is that replica alone, and records that only others hold are lost.
A new leader has a new leader epoch; every change, of leader or ISR, has a new partition epoch.
Source: `org.apache.kafka.controller.PartitionChangeBuilder`, without eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

NO_LEADER: Final = -1

ElectionKind = Literal["ONLINE", "PREFERRED", "UNCLEAN"]


class Election(NamedTuple):
    """The outcome: a broker id or −1, the new ISR, and whether no committed record can be lost."""

    leader: int
    isr: tuple[int, ...]
    clean: bool


class EpochSteps(NamedTuple):
    """By how much a change raises the leader epoch and the partition epoch."""

    leader_epoch: int
    partition_epoch: int


def elect(
    kind: ElectionKind,
    replicas: Sequence[int],
    isr: Sequence[int],
    current_leader: int,
    available: Callable[[int], bool],
) -> Election:
    """Choose the leader of a partition.

    `replicas` is in assignment order; `available(broker)`: the broker is registered, unfenced and not shutting down.
    `current_leader` may be −1. The result may be the current leader: then the leader does not change.
    """

    def may_lead(broker: int) -> bool:
        return broker in isr and available(broker)

    first = (replicas[0], current_leader) if kind == "PREFERRED" else (current_leader,)
    for broker in (*first, *replicas):
        if may_lead(broker):
            return Election(broker, tuple(isr), clean=True)
    if kind == "UNCLEAN":
        for broker in replicas:
            if available(broker):
                return Election(broker, (broker,), clean=False)
    return Election(NO_LEADER, tuple(isr), clean=True)


def isr_without(isr: Sequence[int], broker: int) -> tuple[int, ...]:
    """The ISR without `broker`; the last member stays, although its process may be dead.

    Only the last member is known to hold every committed record, so only it can lead again without loss.
    Source: `PartitionChangeBuilder`: an empty target ISR is not written.
    """
    return tuple(member for member in isr if member != broker) or tuple(isr)


def epoch_steps(*, leader_changes: bool, isr_changes: bool = False, replica_leaves: bool = False) -> EpochSteps:
    """By how much a change raises a partition's epochs.

    A change of the ISR alone keeps the leader epoch (since 3.6, KAFKA-15021: producers and consumers need not refresh
    the metadata of a leader that stayed). A replica that leaves the assignment raises the leader epoch although the
    leader stays, so that the replica is fenced.
    Source: `PartitionChangeBuilder` (its triggers of a leader epoch bump), `PartitionRegistration.merge`.
    """
    leader_epoch = leader_changes or replica_leaves
    return EpochSteps(int(leader_epoch), int(leader_epoch or isr_changes))
