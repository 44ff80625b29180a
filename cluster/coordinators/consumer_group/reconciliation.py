"""One step of a member from what it has towards its target: the whole of KIP-848's safety is in this rule.

Theory of operation. A member first gives up what its target lacks (UNREVOKED_PARTITIONS): its epoch stays, and nothing
new is assigned, until a heartbeat lists its partitions without those. Then it moves to the target's epoch and gets
every partition of its target that no other member owns. The rest follows when its owners give it up
(UNRELEASED_PARTITIONS). A newer target never interrupts a revocation that the member has not confirmed. No member waits
for another, but for the partitions that it gets from it.
Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Collection, Container, Iterable, Mapping

from msgspec.structs import replace

from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.states import (
    MEMBER_ASSIGNMENT_STATES,
    MemberAssignmentEvent,
    MemberAssignmentState,
)
from cluster.protocol.names import topic_of
from cluster.reach import reached


def next_step(
    member: ConsumerGroupMember,
    target_epoch: int,
    target: Collection[str],
    subscribed: Collection[str],
    owners: Container[str],
    owned: Collection[str] | None,
    *,
    subscription_changed: bool = False,
) -> ConsumerGroupMember:
    """The member after this step; the same object if it cannot move.

    `owned`: the partitions that its heartbeat listed, None: it listed none. `owners`: the partitions that any member
    owns. `subscribed`: the topics of its subscription.
    """
    if member.state is MemberAssignmentState.STABLE and member.epoch == target_epoch:
        return _drop_unsubscribed(member, subscribed, owned) if subscription_changed else member
    if member.state is MemberAssignmentState.UNREVOKED_PARTITIONS and _still_owns(owned, member.pending_revocation):
        reached("reconciliation: revocation not confirmed")
        return _drop_unsubscribed(member, subscribed, owned) if subscription_changed else member
    return _towards(member, target_epoch, target, subscribed, owners, owned)


def _still_owns(owned: Collection[str] | None, pending: Mapping[str, int]) -> bool:
    """Whether the member may still own a partition that it has to give up; without a list it may."""
    return owned is None or any(name in pending for name in owned)


def _drop_unsubscribed(
    member: ConsumerGroupMember, subscribed: Collection[str], owned: Collection[str] | None
) -> ConsumerGroupMember:
    """Take partitions of topics that the member no longer subscribes to, before a target says so."""
    dropped = {name: epoch for name, epoch in member.assigned.items() if topic_of(name) not in subscribed}
    if not dropped:
        return member
    reached("reconciliation: topic unsubscribed")
    kept = {name: epoch for name, epoch in member.assigned.items() if name not in dropped}
    pending = {**member.pending_revocation, **dropped}
    if _still_owns(owned, pending):
        return _moved(member, MemberAssignmentEvent.REVOCATION_NEEDED, member.epoch, kept, pending)
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _towards(
    member: ConsumerGroupMember,
    target_epoch: int,
    target: Collection[str],
    subscribed: Collection[str],
    owners: Container[str],
    owned: Collection[str] | None,
) -> ConsumerGroupMember:
    wanted = [name for name in target if topic_of(name) in subscribed]
    kept = {name: member.assigned[name] for name in wanted if name in member.assigned}
    excess = {name: epoch for name, epoch in member.assigned.items() if name not in kept}
    if excess and _still_owns(owned, excess):
        return _moved(member, MemberAssignmentEvent.REVOCATION_NEEDED, member.epoch, kept, excess)
    missing = [name for name in wanted if name not in kept]
    free = _released(missing, member.pending_revocation, owners)
    assigned = {**kept, **dict.fromkeys(free, target_epoch)}
    waits = len(free) < len(missing)
    event = MemberAssignmentEvent.PARTITIONS_UNRELEASED if waits else MemberAssignmentEvent.TARGET_REACHED
    if waits:
        reached("reconciliation: partitions unreleased")
    return _moved(member, event, target_epoch, assigned, {})


def _released(missing: Iterable[str], pending: Mapping[str, int], owners: Container[str]) -> list[str]:
    """The partitions without an owner. What the member itself has just given up is its own again."""
    return [name for name in missing if name in pending or name not in owners]


def _moved(
    member: ConsumerGroupMember,
    event: MemberAssignmentEvent,
    epoch: int,
    assigned: Mapping[str, int],
    pending: Mapping[str, int],
) -> ConsumerGroupMember:
    return replace(
        member,
        state=MEMBER_ASSIGNMENT_STATES.next_state(member.state, event),
        epoch=epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        pending_revocation=pending,
    )
