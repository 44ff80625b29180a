"""The join barrier: how a rebalance begins, waits and ends (the state PreparingRebalance, and leaving it).

A group that was Empty waits by time only: `delay = D`, `remaining = max(RT - D, 0)`. A window in which a member joined
is followed by another of `min(D, remaining)` while time remains. Any other group waits until every member has a
JoinGroup outstanding and no pending member id is missing, at most RT. D is group.initial.rebalance.delay.ms, RT the
longest rebalance timeout of the members when the barrier opens.
Source: Kafka's `GroupMetadataManager` (prepareRebalance, tryCompleteInitialRebalanceElseSchedule,
completeClassicGroupJoin).
"""

from typing import Final

from cluster.coordinators.decision import Draft
from cluster.coordinators.group.context import GroupContext, reply_parked
from cluster.coordinators.group.group import JOIN_BARRIER, SYNC, ClassicGroup, GroupMember
from cluster.coordinators.group.rebalance_causes import Trigger
from cluster.coordinators.group.states import GroupEvent, GroupState
from cluster.events import (
    Event,
    JoinBarrierCompleted,
    JoinBarrierExtended,
    JoinReceived,
    ProtocolElected,
    RebalanceStarted,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupResponse, SyncGroupResponse
from cluster.protocol.rebalance_causes import BarrierExtension, RebalanceCause
from cluster.reach import reached

TIMER_TICK_US: Final = 1_000  # Kafka's SystemTimer cannot wait for less than a millisecond


def rebalance_or_close(
    context: GroupContext, group: ClassicGroup, trigger: Trigger, draft: Draft, joined: Event | None = None
) -> None:
    """Begin a rebalance unless the join barrier is already open; then close the barrier if no member is missing.

    `joined` is emitted once the barrier is open.
    """
    if group.state is not GroupState.PREPARING_REBALANCE:
        prepare_rebalance(context, group, trigger, draft)
    if joined is not None:
        draft.emit(joined)
    close_if_all_joined(context, group, draft)


def prepare_rebalance(
    context: GroupContext,
    group: ClassicGroup,
    trigger: Trigger,
    draft: Draft,
    sync_error: ErrorCode = ErrorCode.REBALANCE_IN_PROGRESS,
) -> None:
    """Open the join barrier. Parked syncs are answered `sync_error`, and their members' sessions restart.

    The session of a member with a parked JoinGroup as well (its connection broke after its SyncGroup) does not restart:
    it cannot expire while the JoinGroup waits (`ClassicGroupMember.hasSatisfiedHeartbeat`).
    """
    now_us = draft.now_us
    if group.state is GroupState.COMPLETING_REBALANCE:
        group.assignment_reset = True
    rearmed = {}
    for member_id, call in group.parked_syncs.items():
        if member_id not in group.parked_joins:
            rearmed[member_id] = context.arm(group.members[member_id], now_us)
        draft.reply(call, SyncGroupResponse(sync_error))
    group.parked_syncs.clear()
    group.awaited_syncs.clear()
    context.deadlines.cancel((SYNC, group.group_id, ""))

    initial = group.state is GroupState.EMPTY
    group.transition(GroupEvent.REBALANCE_NEEDED, now_us)
    group.rebalance_started_us = now_us
    if initial:
        group.window_us = context.settings.initial_rebalance_delay_us
        group.remaining_us = max(group.rebalance_timeout_us - group.window_us, 0)
        wait_us = group.window_us
    else:
        wait_us = group.rebalance_timeout_us
    _wait(context, group, now_us + wait_us)
    draft.emit(
        RebalanceStarted(
            group=group.group_id,
            generation=group.generation,
            cause=trigger.cause.value,
            trigger=trigger.member,
            member_id=trigger.member_id,
            detail=trigger.detail,
            initial=initial,
            closes_at_us=group.barrier_deadline_us,
            broker=context.broker,
            session_deadlines_us=rearmed,
        )
    )


def close_if_all_joined(context: GroupContext, group: ClassicGroup, draft: Draft, waited_for: str = "") -> None:
    """Close the barrier if no member is missing; an initial barrier never closes for that reason.

    `waited_for` is the client id of the member whose removal ended the wait.
    """
    if group.state is GroupState.PREPARING_REBALANCE and not group.initial and group.all_joined:
        close_barrier(context, group, draft, waited_for)


def barrier_deadline(context: GroupContext, group: ClassicGroup, draft: Draft) -> None:
    """Handle the barrier's deadline: begin another initial window, or close it with the members that joined."""
    if group.initial and group.newcomer_in_window and group.remaining_us:
        group.newcomer_in_window = False
        last_us = group.window_us
        group.window_us = min(context.settings.initial_rebalance_delay_us, group.remaining_us)
        group.remaining_us = max(group.remaining_us - last_us, 0)
        reached("barrier: more newcomers")
        _extend(context, group, group.window_us, BarrierExtension.NEW_MEMBERS, draft)
    else:
        close_barrier(context, group, draft)


def close_barrier(context: GroupContext, group: ClassicGroup, draft: Draft, waited_for: str = "") -> None:
    """End the join phase: remove dynamic members that did not join, fix the generation, answer the parked joins.

    Static members that did not join stay until their session ends. If no member joined, the barrier waits another RT.
    """
    context.deadlines.cancel((JOIN_BARRIER, group.group_id, ""))
    absent = [member for member in group.members.values() if member.member_id not in group.parked_joins]
    if absent:
        waited_for = waited_for or absent[0].client_id
    for member in absent:
        if member.instance_id is None:
            reached("barrier: a member is dropped")
            context.remove_member(group, member.member_id, RebalanceCause.POLL_INTERVAL_EXCEEDED, draft)
    if group.members and not group.elect_joined_leader():
        reached("barrier: no member rejoined")
        _extend(context, group, max(group.rebalance_timeout_us, TIMER_TICK_US), BarrierExtension.NO_REJOIN, draft)
        return

    group.generation += 1
    group.loaded_again = group.interrupted = False
    if not waited_for and group.parked_joins:
        waited_for = group.members[next(reversed(group.parked_joins))].client_id
    if group.members:
        _answer_joins(context, group, draft)
    else:
        group.protocol = ""
        group.transition(GroupEvent.BARRIER_CLOSED_EMPTY, draft.now_us)
        draft.records.append(group.record({}))  # Kafka only warns if this append fails: no request waits for it
    draft.emit(
        JoinBarrierCompleted(
            group=group.group_id,
            generation=group.generation,
            protocol=group.protocol,
            leader=group.leader_name,
            members={member_id: member.client_id for member_id, member in group.members.items()},
            session_deadlines_us={member_id: m.session_deadline_us for member_id, m in group.members.items()},
            last_joined=waited_for,
            waited_us=draft.now_us - group.rebalance_started_us,
        )
    )
    if len({tuple(member.protocols) for member in group.members.values() if member not in absent}) > 1:
        draft.emit(_election(group))


def _election(group: ClassicGroup) -> ProtocolElected:
    """The event of the vote that elected the generation's protocol."""
    candidates = group.candidates()
    return ProtocolElected(
        group=group.group_id,
        generation=group.generation,
        protocol=group.protocol,
        offers={member_id: tuple(member.protocols) for member_id, member in group.members.items()},
        votes={member_id: member.vote(candidates) for member_id, member in group.members.items()},
    )


def _answer_joins(context: GroupContext, group: ClassicGroup, draft: Draft) -> None:
    """Fix the new generation's protocol and members and answer the joins: each member has RT to send a SyncGroup."""
    group.protocol = group.select_protocol()
    group.transition(GroupEvent.BARRIER_CLOSED, draft.now_us)
    calls, group.parked_joins = group.parked_joins, {}
    for member_id, member in group.members.items():
        context.arm(member, draft.now_us)
        member.is_new = False
        if member_id in calls:
            reply_parked(draft, calls[member_id], join_answer(group, member_id))
    group.awaited_syncs = dict.fromkeys(group.members)
    context.deadlines.set((SYNC, group.group_id, ""), draft.now_us + group.rebalance_timeout_us)


def join_answer(group: ClassicGroup, member_id: str) -> JoinGroupResponse:
    """The JoinGroup response with the current generation; only the leader gets the list of members."""
    return JoinGroupResponse(
        ErrorCode.NONE,
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        member_id=member_id,
        members=group.member_list() if member_id == group.leader else (),
    )


def join_received(group: ClassicGroup, member: GroupMember, *, newcomer: bool) -> JoinReceived:
    """The event of a parked JoinGroup."""
    return JoinReceived(
        group=group.group_id,
        member=member.client_id,
        member_id=member.member_id,
        newcomer=newcomer,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_deadline_us=member.session_deadline_us,
        leader=group.leader_name,
    )


def _extend(context: GroupContext, group: ClassicGroup, wait_us: int, reason: str, draft: Draft) -> None:
    _wait(context, group, draft.now_us + wait_us)
    draft.emit(JoinBarrierExtended(group=group.group_id, closes_at_us=group.barrier_deadline_us, reason=reason))


def _wait(context: GroupContext, group: ClassicGroup, at_us: int) -> None:
    group.barrier_deadline_us = at_us
    context.deadlines.set((JOIN_BARRIER, group.group_id, ""), at_us)
