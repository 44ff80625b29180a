"""Who leads a partition: the controller's choice among its replicas.

Theory of operation. Replicas stand in assignment order, the first is the preferred leader. Only members of the ISR hold
every committed record, so an election is *clean* when it picks one of them. ONLINE keeps a leader that may stay,
PREFERRED moves to the first replica when that is possible, UNCLEAN goes as far as to take a replica that may lack
committed records, and the ISR becomes that replica alone: what only others had is lost.
A new leader is a new leader epoch; every change, of leader or ISR, is a new partition epoch.
Source: `org.apache.kafka.controller.PartitionChangeBuilder`, without eligible leader replicas (KIP-966).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

NO_LEADER: Final = -1

ElectionKind = Literal["ONLINE", "PREFERRED", "UNCLEAN"]


class Election(NamedTuple):
    """The outcome: a broker id or −1, the ISR that goes with it, and whether no committed record can be lost."""

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

    `replicas` is in assignment order; `available(broker)` says that it may lead: registered, unfenced, not shutting
    down. `current_leader` may be −1. The answer may be the current leader: then nothing changes.
    """

    def may_lead(broker: int) -> bool:
        return broker in isr and available(broker)

    wishes = (replicas[0], current_leader) if kind == "PREFERRED" else (current_leader,)
    for broker in (*wishes, *replicas):
        if may_lead(broker):
            return Election(broker, tuple(isr), clean=True)
    if kind == "UNCLEAN":
        for broker in replicas:
            if available(broker):
                return Election(broker, (broker,), clean=False)
    return Election(NO_LEADER, tuple(isr), clean=True)


def isr_without(isr: Sequence[int], broker: int) -> tuple[int, ...]:
    """The ISR after `broker` fell out of it; the last member stays, although it may be dead.

    It is the only one known to hold every committed record, so it alone can lead again without loss.
    Source: `PartitionChangeBuilder`: an empty target ISR is not written.
    """
    return tuple(member for member in isr if member != broker) or tuple(isr)


def epoch_steps(*, leader_changes: bool, isr_changes: bool = False, replica_leaves: bool = False) -> EpochSteps:
    """How far a change moves a partition's epochs.

    A change of the ISR alone leaves the leader epoch (since 3.6, KAFKA-15021: producers and consumers need not look for
    a leader that stayed). A replica that leaves the assignment raises it although the leader stays, so that it is
    fenced.
    Source: `PartitionChangeBuilder` (its triggers of a leader epoch bump), `PartitionRegistration.merge`.
    """
    leader_epoch = leader_changes or replica_leaves
    return EpochSteps(int(leader_epoch), int(leader_epoch or isr_changes))
