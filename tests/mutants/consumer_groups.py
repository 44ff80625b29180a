"""Coordinators of groups of the new protocol (KIP-848) that are broken on purpose."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from cluster.coordinators.consumer_group import heartbeat, leave, membership, offsets, reconciliation, target
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.decision import Decision
from cluster.protocol.errors import ErrorCode

Patch = pytest.MonkeyPatch


def assigns_before_others_gave_up(patch: Patch) -> None:
    """A member gets every partition of its target, whoever owns it."""
    patch.setattr(reconciliation, "_released", lambda missing, *_: list(missing))
    patch.setattr(ConsumerGroup, "put_member", _careless_put)


def takes_silence_for_a_revocation(patch: Patch) -> None:
    """A heartbeat without a list of partitions confirms that the member has given them up."""
    still_owns = reconciliation._still_owns
    patch.setattr(reconciliation, "_still_owns", lambda owned, pending: still_owns(owned or (), pending))


def _careless_put(group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    group.members[member.member_id] = member
    group.owners = {
        name: one.member_id for one in group.members.values() for name in (*one.assigned, *one.pending_revocation)
    }


def answers_before_its_records_are_committed(patch: Patch) -> None:
    def hasty(write: GroupWrite, then: Any, waiting: Any = None) -> Decision:  # noqa: ANN401
        del waiting
        decision = sound(write, lambda *_: Decision())
        answer = then(ErrorCode.NONE, write.now_us)
        decision.replies = answer.replies
        decision.waiting, decision.after_log = [], False
        return decision

    sound = GroupWrite.decision
    patch.setattr(GroupWrite, "decision", hasty)


def accepts_any_member_epoch(patch: Patch) -> None:
    patch.setattr(membership, "_epoch_refusal", lambda *_: None)


def removes_a_member_without_a_new_epoch(patch: Patch) -> None:
    remove = leave.remove

    def quietly(write: GroupWrite, departures: Any) -> None:  # noqa: ANN401
        remove(write, departures)
        del write.records[-1], write.facts[-1]

    patch.setattr(leave, "remove", quietly)


def never_looks_at_its_topics_again(patch: Patch) -> None:
    def blind(write: GroupWrite, member: ConsumerGroupMember, cause: Any) -> None:  # noqa: ANN401
        if cause is not None:
            check(write, member, cause)

    check = target.check_metadata
    patch.setattr(heartbeat, "check_metadata", blind)


def never_ends_a_session(patch: Patch) -> None:
    patch.setattr(heartbeat, "arm_session", lambda *_: 1 << 60)


def forgets_what_must_be_given_up(patch: Patch) -> None:
    """A new coordinator believes that every revocation was confirmed."""
    put = ConsumerGroup.put_member

    def forgetful(group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        put(group, replace(member, pending_revocation={}))

    patch.setattr(ConsumerGroup, "put_member", forgetful)


def keeps_the_target_for_ever(patch: Patch) -> None:
    patch.setattr(target, "_may_compute", lambda _, group, __: not group.targets)


def commits_for_any_epoch(patch: Patch) -> None:
    patch.setattr(offsets, "validate_epoch", lambda *_: ErrorCode.NONE)


BY_RANDOM_MEMBERS = (
    assigns_before_others_gave_up,
    answers_before_its_records_are_committed,
    removes_a_member_without_a_new_epoch,
    never_looks_at_its_topics_again,
    never_ends_a_session,
    forgets_what_must_be_given_up,
    keeps_the_target_for_ever,
)
"""Those that break what random members and failovers hold a coordinator to."""
