"""Partition reassignments: to which replicas a partition goes, when it has arrived, and the way back.

Theory of operation. A reassignment first gives the partition its target replicas, and behind them those that it will
lose: they are *adding* and *removing*. New replicas follow the leader as any follower does. Each later change of the
partition asks whether the ISR suffices: it needs every adding replica, one that stays, and with fewer replicas than
before all that stay. Then the removing replicas leave, in the same change. A reassignment that adds nothing may arrive
where it begins. Cancelled, the partition keeps its replicas without those that were being added, in their new order.
Source: `PartitionReassignmentReplicas`, `PartitionReassignmentRevert`, `ReplicationControlManager.
changePartitionReassignment`, `validateManualPartitionAssignment`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

NO_REASSIGNMENT: Final = "No partition reassignment is in progress."


class Reassignment(NamedTuple):
    """The replicas of a partition: all of them, those that are being added, and those that are being removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def in_progress(self) -> bool:
        """Whether replicas are still added or removed."""
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas that stay."""
        return tuple([broker for broker in self.replicas if broker not in self.removing])

    @property
    def original(self) -> tuple[int, ...]:
        """The replicas without those that are being added: what a cancellation leaves."""
        return tuple([broker for broker in self.replicas if broker not in self.adding])


class Reverted(NamedTuple):
    """What a cancellation leaves. `unclean`: no replica of the ISR is left, and the first replica stands in for it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    unclean: bool


def toward(current: Reassignment, target: tuple[int, ...]) -> Reassignment:
    """The replicas on their way from the current ones to `target`.

    An empty list of adding or removing replicas does not replace that of a reassignment in progress: Kafka's builder
    sets lists only if they are not empty. So one that is turned back by its former replicas stays in progress.
    """
    removing = tuple(sorted([broker for broker in current.replicas if broker not in target]))
    adding = tuple(sorted([broker for broker in target if broker not in current.replicas]))
    return Reassignment((*target, *removing), adding or current.adding, removing or current.removing)


def completed(known: Reassignment, isr: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The replicas and the ISR of a reassignment that has arrived with this ISR; None while it has not."""
    if not known.in_progress:
        return None
    replicas = known.target
    left = tuple([broker for broker in isr if broker not in known.removing])
    if not replicas or not left or any(broker not in left for broker in known.adding):
        return None
    if len(known.adding) < len(known.removing) and any(broker not in left for broker in replicas):
        return None
    return replicas, left


def reverted(known: Reassignment, isr: tuple[int, ...]) -> Reverted:
    """What a cancellation of a reassignment in progress leaves."""
    replicas = known.original
    left = tuple([broker for broker in isr if broker not in known.adding])
    return Reverted(replicas, left or replicas[:1], not left)


def why_not_assigned(replicas: tuple[int, ...], registered: Collection[int]) -> str:
    """Why a partition cannot have these replicas; empty when it can."""
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    before = None
    for broker in sorted(replicas):
        if broker not in registered:
            return f"The manual partition assignment includes broker {broker}, but no such broker is registered."
        if broker == before:
            return f"The manual partition assignment includes the broker {broker} more than once."
        before = broker
    return ""


def cannot_revert(partition: str) -> str:
    """Why a reassignment is not cancelled when only adding replicas are in the ISR."""
    topic, _, number = partition.rpartition("-")
    return (
        f"Unable to revert partition assignment for {topic}:{number} because it would require an unclean leader"
        " election."
    )
