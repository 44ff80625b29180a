"""SyncGroup: the leader's assignment is written to the log, then given to every member.

Source: Kafka's `GroupMetadataManager` (classicGroupSync…, expirePendingSync).
"""

from cluster.coordinators.decision import Call, Decision, Draft, coordinator_error
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import SYNC, ClassicGroup, GroupMember
from cluster.coordinators.group.join_barrier import close_if_all_joined, prepare_rebalance
from cluster.coordinators.group.rebalance_causes import never_synced, not_stored
from cluster.coordinators.group.states import GroupEvent, GroupState
from cluster.events import GroupStabilized, SyncReceived
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import SyncGroupRequest, SyncGroupResponse
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.reach import reached


def sync(context: GroupContext, request: SyncGroupRequest, call: Call, now_us: int) -> Decision:
    """SyncGroup (API 14).

    Answers, in the order of the checks: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (no such group, or an Empty one),
    COORDINATOR_NOT_AVAILABLE (Dead), FENCED_INSTANCE_ID or UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS (PreparingRebalance). In CompletingRebalance the request is
    parked, and the leader's brings the assignment for all. In Stable it gets the stored assignment, and the session
    restarts.
    """
    draft = Draft(now_us)
    group = context.groups.get(request.group)
    error = _refusal(group, request)
    if group is None or error is not ErrorCode.NONE:
        draft.reply(call, SyncGroupResponse(error))
        return draft.decision()
    member = group.members[request.member_id]
    group.awaited_syncs.pop(member.member_id, None)
    if not group.awaited_syncs:
        context.deadlines.cancel((SYNC, group.group_id, ""))
    if group.state is GroupState.STABLE:
        context.arm(member, now_us)
        draft.reply(call, SyncGroupResponse(ErrorCode.NONE, group.protocol, member.assignment))
    else:
        group.parked_syncs[member.member_id] = call
        context.disarm(member)
    draft.emit(
        SyncReceived(
            group=group.group_id,
            member=member.client_id,
            member_id=member.member_id,
            leader=member.member_id == group.leader,
            session_deadline_us=member.session_deadline_us,
            assignments=request.assignments if member.member_id == group.leader else {},
        )
    )
    if group.state is GroupState.COMPLETING_REBALANCE and member.member_id == group.leader:
        _store_assignment(context, group, member, request.assignments, draft)
    return draft.decision()


def _refusal(group: ClassicGroup | None, request: SyncGroupRequest) -> ErrorCode:
    if not request.group:
        return ErrorCode.INVALID_GROUP_ID
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.validate_member(request.member_id, request.instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation != group.generation:
        reached("sync: old generation")
        return ErrorCode.ILLEGAL_GENERATION
    if _contradicts(request.protocol_type, group.protocol_type) or _contradicts(request.protocol, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        reached("sync: the group rebalances")
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _contradicts(requested: str | None, known: str) -> bool:
    """Whether a request's protocol differs from the group's. Requests before version 5 have none."""
    return requested is not None and bool(known) and requested != known


def _store_assignment(
    context: GroupContext,
    group: ClassicGroup,
    leader: GroupMember,
    given: dict[str, tuple[str, ...]],
    draft: Draft,
) -> None:
    """Write the leader's assignment; members that it omits get no partitions. It counts once it is committed."""
    assignment = {member_id: tuple(given.get(member_id, ())) for member_id in group.members}
    generation = group.generation
    draft.records.append(group.record(assignment))

    def stored(error: ErrorCode, later: Draft) -> None:
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != generation:
            return  # another rebalance has begun and has answered the parked syncs
        if error is ErrorCode.NONE:
            _distribute(context, group, assignment, later)
        else:
            reached("sync: the assignment is not written")
            refused = coordinator_error(error)
            prepare_rebalance(context, group, not_stored(leader, refused), later, refused)
            close_if_all_joined(context, group, later)

    draft.when_committed(stored)


def _distribute(
    context: GroupContext, group: ClassicGroup, assignment: dict[str, tuple[str, ...]], draft: Draft
) -> None:
    """Make the group Stable: answer the parked syncs, and restart their members' sessions."""
    group.assignment_reset = False
    for member_id, member in group.members.items():
        member.assignment = assignment.get(member_id, ())  # none for the former id of a failed static replacement
    for member_id, call in group.parked_syncs.items():
        member = group.members[member_id]
        context.arm(member, draft.now_us)
        draft.reply(call, SyncGroupResponse(ErrorCode.NONE, group.protocol, member.assignment))
    group.parked_syncs.clear()
    group.transition(GroupEvent.ASSIGNMENT_STORED, draft.now_us)
    draft.emit(
        GroupStabilized(
            group=group.group_id,
            generation=group.generation,
            assignment=group.assignment,
            session_deadlines_us={member_id: m.session_deadline_us for member_id, m in group.members.items()},
        )
    )


def sync_deadline(context: GroupContext, group: ClassicGroup, draft: Draft) -> None:
    """Remove members without a SyncGroup for this generation, also from a Stable group; the group rebalances."""
    missing = list(group.awaited_syncs)
    if not missing or group.state not in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}:
        return
    removed = [(group.members[member_id].client_id, member_id) for member_id in missing]
    for member_id in missing:
        reached("sync: a member is dropped")
        context.remove_member(group, member_id, RebalanceCause.SYNC_TIMED_OUT, draft)
    prepare_rebalance(context, group, never_synced(removed), draft)
    close_if_all_joined(context, group, draft, removed[0][0])
