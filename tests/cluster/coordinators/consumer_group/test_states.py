"""The tables of states: every pair of state and event, and that the coordinator takes no other way."""

from __future__ import annotations

import pytest

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.reconciliation import next_step
from cluster.coordinators.consumer_group.states import (
    CONSUMER_GROUP_STATES,
    MEMBER_ASSIGNMENT_STATES,
    ConsumerGroupState,
    MemberAssignmentEvent,
    MemberAssignmentState,
)
from cluster.protocol.state_machine import IllegalTransition

S, G = MemberAssignmentState, ConsumerGroupState
HAS, LACKS, NEW = "orders-0", "orders-1", "orders-2"


def group_in(state: ConsumerGroupState, *, epoch: int = 3) -> ConsumerGroup:
    """A group with epochs and members for this state."""
    group = ConsumerGroup("g")
    group.epoch, group.assignment_epoch = epoch, epoch
    if state is not G.EMPTY:
        group.put_member(ConsumerGroupMember("m", epoch=epoch))
    if state is G.ASSIGNING:
        group.epoch += 1
    if state is G.RECONCILING:
        group.put_member(ConsumerGroupMember("m", epoch=epoch - 1))
    group.settle_state()
    assert group.state is state
    return group


@pytest.mark.parametrize("before", [state for state in G if state is not G.DEAD])
@pytest.mark.parametrize("after", [state for state in G if state is not G.DEAD])
def test_a_group_s_state_follows_from_epochs_and_members(before: ConsumerGroupState, after: ConsumerGroupState) -> None:
    group, other = group_in(before), group_in(after)
    group.epoch, group.assignment_epoch, group.members = other.epoch, other.assignment_epoch, other.members
    assert group.settle_state() is (before is not after)
    assert group.state is after
    assert before is after or CONSUMER_GROUP_STATES.allows(before, after)


@pytest.mark.parametrize("state", [state for state in G if state is not G.DEAD])
def test_a_dead_group_stays_dead(state: ConsumerGroupState) -> None:
    group = group_in(state)
    group.end()
    assert group.dead
    with pytest.raises(IllegalTransition):
        CONSUMER_GROUP_STATES.next_state(group.state, state)


OUTCOMES = {
    MemberAssignmentEvent.REVOCATION_NEEDED: ((), {}, None, S.UNREVOKED_PARTITIONS),
    MemberAssignmentEvent.PARTITIONS_UNRELEASED: ((HAS, NEW), {NEW: "other"}, (HAS,), S.UNRELEASED_PARTITIONS),
    MemberAssignmentEvent.TARGET_REACHED: ((HAS, NEW), {}, (HAS,), S.STABLE),
}
"""Event → the target, who owns what, what the heartbeat lists, and the state that follows."""


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("event", MemberAssignmentEvent)
def test_each_event_in_each_state_of_a_member(state: MemberAssignmentState, event: MemberAssignmentEvent) -> None:
    target, owners, owned, expected = OUTCOMES[event]
    pending = {LACKS: 2} if state is S.UNREVOKED_PARTITIONS else {}
    if pending and owned is None:
        owned = (HAS,)  # the former revocation is confirmed, and the next one is not
        owners = {}
    member = ConsumerGroupMember("m", epoch=4, state=state, assigned={HAS: 2}, pending_revocation=pending)
    after = next_step(member, 5, target, {"orders": None}, owners, owned)
    assert MEMBER_ASSIGNMENT_STATES.next_state(state, event) is expected is after.state
    assert after.epoch == (4 if expected is S.UNREVOKED_PARTITIONS else 5)
    assert after.previous_epoch == 4


def test_a_member_that_has_not_confirmed_stays_as_it_is() -> None:
    member = ConsumerGroupMember(
        "m", epoch=4, state=S.UNREVOKED_PARTITIONS, assigned={HAS: 2}, pending_revocation={LACKS: 2}
    )
    for owned in (None, (LACKS,), (HAS, LACKS)):
        assert next_step(member, 9, (NEW,), {"orders": None}, {}, owned) is member
