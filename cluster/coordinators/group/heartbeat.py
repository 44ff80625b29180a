"""The liveness of members: Heartbeat, LeaveGroup, and expired sessions.

Source: Kafka's `GroupMetadataManager` (classicGroupHeartbeat…, classicGroupLeave…, expireClassicGroupMemberHeartbeat).
"""

from cluster.coordinators.decision import Call, Decision, Draft, coordinator_error
from cluster.coordinators.group.context import GroupContext, reply_parked, sender_of
from cluster.coordinators.group.group import NOT_ARMED, ClassicGroup
from cluster.coordinators.group.join_barrier import close_if_all_joined, rebalance_or_close
from cluster.coordinators.group.rebalance_causes import cause_of_leaving, expired, left
from cluster.coordinators.group.states import GroupState
from cluster.events import HeartbeatAnswered
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    NO_MEMBER,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.reach import reached


def heartbeat(context: GroupContext, request: HeartbeatRequest, call: Call, now_us: int) -> Decision:
    """Heartbeat (API 12).

    Answers, in the order of the checks: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (no such group), COORDINATOR_NOT_AVAILABLE
    (Dead), FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID (Empty), REBALANCE_IN_PROGRESS
    (PreparingRebalance; the session restarts all the same), NONE.
    """
    group = context.groups.get(request.group)
    deadline_us = NOT_ARMED
    if group is None:
        error = ErrorCode.UNKNOWN_MEMBER_ID if request.group else ErrorCode.INVALID_GROUP_ID
        name = sender_of(request)
    else:
        member = group.members.get(request.member_id)
        name = sender_of(request) if member is None else member.client_id
        error = group.validate_member(request.member_id, request.instance_id)
        if error is not ErrorCode.NONE or member is None:
            if error is ErrorCode.UNKNOWN_MEMBER_ID:
                reached("heartbeat: unknown member")
        elif request.generation != group.generation:
            reached("heartbeat: old generation")
            error = ErrorCode.ILLEGAL_GENERATION
        else:
            if member.session_deadline_us != NOT_ARMED and not member.is_new:
                deadline_us = context.arm(member, now_us)
            if group.state is GroupState.PREPARING_REBALANCE:
                reached("heartbeat: at the barrier")
                error = ErrorCode.REBALANCE_IN_PROGRESS
    answered = HeartbeatAnswered(
        group=request.group,
        member=name,
        member_id=request.member_id,
        error=error.name,
        session_deadline_us=deadline_us,
    )
    return Decision((), [(call, HeartbeatResponse(error))], [answered])


def leave(context: GroupContext, request: LeaveGroupRequest, call: Call, now_us: int) -> Decision:
    """LeaveGroup (API 13), v3+: a batch, with an error for each member.

    Answers INVALID_GROUP_ID or COORDINATOR_NOT_AVAILABLE (Dead) for the whole request, else NONE, and for each member
    UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or NONE. An instance id with an empty member id is an administrator's removal.
    A pending member id may leave too, and like a member's leave it makes a Stable group rebalance: once for the batch.
    A leaving member's parked JoinGroup is answered UNKNOWN_MEMBER_ID; its parked SyncGroup, as in Kafka, never.
    """
    draft = Draft(now_us)
    group = context.groups.get(request.group)
    if not request.group:
        draft.reply(call, LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID))
        return draft.decision()
    if group is not None and group.state is GroupState.DEAD:
        draft.reply(call, LeaveGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        return draft.decision()
    answers = []
    removed: list[tuple[str, str]] = []  # client id, member id
    causes: list[RebalanceCause] = []
    for leaving in request.members:
        member_id = leaving.member_id
        if group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        else:
            member_id, error = _resolve_leaving(group, leaving)
            if error is ErrorCode.NONE:
                causes.append(cause_of_leaving(leaving.reason))
                name = _remove(context, group, member_id, causes[-1], draft, leaving.reason)
                removed.append((name, member_id))
        answers.append((leaving.member_id, leaving.instance_id, error))
    if group is not None and removed:
        if group.state in {GroupState.STABLE, GroupState.COMPLETING_REBALANCE}:
            rebalance_or_close(context, group, left(causes[0], removed), draft)
        else:
            close_if_all_joined(context, group, draft, removed[-1][0])

    def answer(error: ErrorCode, later: Draft) -> None:
        done = error is ErrorCode.NONE
        later.reply(call, LeaveGroupResponse(coordinator_error(error), tuple(answers) if done else ()))

    if draft.records:  # the last member left: Kafka answers when the empty group is committed
        draft.when_committed(answer)
    else:
        answer(ErrorCode.NONE, draft)
    return draft.decision()


def _resolve_leaving(group: ClassicGroup, leaving: LeavingMember) -> tuple[str, ErrorCode]:
    """The member id that leaves, and the error that refuses it (NONE: it may leave)."""
    if leaving.member_id == NO_MEMBER:
        member_id = group.static_members.get(leaving.instance_id or "")
        return (NO_MEMBER, ErrorCode.UNKNOWN_MEMBER_ID) if member_id is None else (member_id, ErrorCode.NONE)
    if leaving.member_id in group.pending:
        return leaving.member_id, ErrorCode.NONE
    return leaving.member_id, group.validate_member(leaving.member_id, leaving.instance_id)


def _remove(
    context: GroupContext, group: ClassicGroup, member_id: str, reason: str, draft: Draft, client_reason: str = ""
) -> str:
    """Remove a member or pending id; its parked JoinGroup gets UNKNOWN_MEMBER_ID. Returns the client id."""
    parked = group.parked_joins.get(member_id)
    if parked is not None:
        reply_parked(draft, parked, JoinGroupResponse(ErrorCode.UNKNOWN_MEMBER_ID))
    name = group.pending[member_id] if member_id in group.pending else group.members[member_id].client_id
    context.remove_member(group, member_id, reason, draft, client_reason)
    return name


def session_deadline(context: GroupContext, group: ClassicGroup, member_id: str, draft: Draft) -> None:
    """Remove a member or pending id, static or not, at the end of its session, or of a new member's parked join."""
    if member_id not in group.members and member_id not in group.pending:
        return
    was_member = member_id in group.members
    name = _remove(context, group, member_id, RebalanceCause.SESSION_EXPIRED, draft)
    if was_member and group.state in {GroupState.STABLE, GroupState.COMPLETING_REBALANCE}:
        rebalance_or_close(context, group, expired(name, member_id), draft)
    else:
        close_if_all_joined(context, group, draft, name)
