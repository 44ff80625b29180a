"""JoinGroup: which member may join, under which member id, and whether the group must rebalance for it.

Source: Kafka's `GroupMetadataManager` (classicGroupJoin…), KIP-394 (assigned member ids), KIP-345 (static membership).
"""

from typing import Final

from cluster.coordinators.decision import Call, Decision, Draft, coordinator_error
from cluster.coordinators.group.context import ALREADY_ANSWERED, GroupContext
from cluster.coordinators.group.group import SESSION, ClassicGroup, GroupMember, same_protocols
from cluster.coordinators.group.join_barrier import close_if_all_joined, join_answer, join_received, rebalance_or_close
from cluster.coordinators.group.rebalance_causes import lost_its_coordinator, newcomer, rejoin
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.group.static_membership import replace_static_member
from cluster.coordinators.records import GroupMetadataValue
from cluster.events import MemberIdAssigned
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import NO_MEMBER, JoinGroupRequest, JoinGroupResponse
from cluster.protocol.rebalance_causes import GROUP_FULL
from cluster.reach import reached

FIRST_VERSION_WITH_KNOWN_ID: Final = 4  # JoinGroupRequest.requiresKnownMemberId


def join(context: GroupContext, request: JoinGroupRequest, call: Call, now_us: int) -> Decision:
    """JoinGroup (API 11).

    Answers, in the order of the checks: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, UNKNOWN_MEMBER_ID (an id for a group
    that does not exist), GROUP_MAX_SIZE_REACHED, COORDINATOR_NOT_AVAILABLE (Dead), INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED (a first join of a dynamic member, v4+), FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID. Otherwise the
    request is parked until the join barrier closes, or answered with the current generation.
    Simplified: an instance id beside a pending member id, which makes Kafka throw, is UNKNOWN_MEMBER_ID.
    """
    draft = Draft(now_us)
    settings = context.settings
    if not request.group:
        _refuse(draft, call, request.member_id, ErrorCode.INVALID_GROUP_ID)
    elif not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
        _refuse(draft, call, request.member_id, ErrorCode.INVALID_SESSION_TIMEOUT)
    elif (group := context.groups.get(request.group)) is not None:
        _validate(context, group, request, call, draft)
    elif request.member_id != NO_MEMBER:
        reached("join: no such group")
        _refuse(draft, call, request.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        _create(context, request, call, draft)
    return draft.decision()


def _create(context: GroupContext, request: JoinGroupRequest, call: Call, draft: Draft) -> None:
    """Create the group with its first JoinGroup, even a refused one, and write it to the log as Empty."""
    group = context.groups[request.group] = ClassicGroup(request.group, draft.now_us)
    draft.records.append(GroupMetadataValue(group=group.group_id, since_us=group.since_us))
    _validate(context, group, request, call, draft)

    def stored(error: ErrorCode, later: Draft) -> None:
        parked = next((member_id for member_id, waiting in group.parked_joins.items() if waiting is call), None)
        if error is not ErrorCode.NONE and parked is not None:
            group.parked_joins[parked] = ALREADY_ANSWERED
            _refuse(later, call, NO_MEMBER, coordinator_error(error))

    draft.when_committed(stored)


def _validate(context: GroupContext, group: ClassicGroup, request: JoinGroupRequest, call: Call, draft: Draft) -> None:
    """The checks that need the group; then the join itself."""
    if not _has_room(group, request.member_id, context.settings.max_size):
        if request.member_id in group.members or request.member_id in group.pending:
            context.remove_member(group, request.member_id, GROUP_FULL, draft)
        reached("join: the group is full")
        _refuse(draft, call, NO_MEMBER, ErrorCode.GROUP_MAX_SIZE_REACHED)
        close_if_all_joined(context, group, draft)  # Kafka's new coordinator omits this, and waits for RT
    elif group.state is GroupState.DEAD:
        _refuse(draft, call, request.member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not group.supports(request.protocol_type, request.protocols):
        reached("join: protocols differ")
        _refuse(draft, call, request.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    else:
        if group.loaded_again and lost_its_coordinator(request.reason):
            group.interrupted = True
        _join_known_or_new(context, group, request, call, draft)


def _join_known_or_new(
    context: GroupContext, group: ClassicGroup, request: JoinGroupRequest, call: Call, draft: Draft
) -> None:
    """Let a member join that the group may have: without a member id, with a pending id, or as a known member."""
    if request.member_id == NO_MEMBER:
        _join_without_member_id(context, group, request, call, draft)
    elif request.member_id in group.pending and request.instance_id is None:
        _add(context, group, request, request.member_id, call, draft)
    elif (error := group.validate_member(request.member_id, request.instance_id)) is not ErrorCode.NONE:
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            reached("join: unknown member id")
        _refuse(draft, call, request.member_id, error)
    else:
        _rejoin(context, group, group.members[request.member_id], request, call, draft)


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """group.max.size: at the barrier parked joins count (so the last members are refused), else members."""
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return member_id in group.parked_joins or len(group.parked_joins) < max_size
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            return member_id in group.members or len(group.members) < max_size
        case _:
            return True


def _join_without_member_id(
    context: GroupContext, group: ClassicGroup, request: JoinGroupRequest, call: Call, draft: Draft
) -> None:
    """A JoinGroup without a member id: a static member's start or restart, or a dynamic member's first request."""
    prefix = request.client_id if request.instance_id is None else request.instance_id
    member_id = f"{prefix}-{context.new_uuid()}"
    if request.instance_id is not None and request.instance_id in group.static_members:
        replace_static_member(context, group, member_id, request, call, draft)
    elif request.instance_id is not None or request.version < FIRST_VERSION_WITH_KNOWN_ID:
        _add(context, group, request, member_id, call, draft)
    else:
        group.pending[member_id] = request.client_id
        expires_at_us = draft.now_us + request.session_timeout_ms * 1000
        context.deadlines.set((SESSION, group.group_id, member_id), expires_at_us)
        _refuse(draft, call, member_id, ErrorCode.MEMBER_ID_REQUIRED)
        draft.emit(
            MemberIdAssigned(
                group=group.group_id,
                member=request.client_id,
                member_id=member_id,
                broker=context.broker,
                expires_at_us=expires_at_us,
            )
        )


def _add(
    context: GroupContext, group: ClassicGroup, request: JoinGroupRequest, member_id: str, call: Call, draft: Draft
) -> None:
    """Add a new member. It sends no heartbeat before its answer, so its parked join has a timeout of its own."""
    member = GroupMember(
        group.group_id,
        member_id,
        request.instance_id,
        request.client_id,
        (request.session_timeout_ms, request.rebalance_timeout_ms),
        request.protocols,
    )
    member.is_new = True
    if group.initial:
        group.newcomer_in_window = True
    group.add(member, request.protocol_type)
    group.park_join(member_id, call)
    context.arm(member, draft.now_us, context.settings.new_member_join_timeout_us)
    received = join_received(group, member, newcomer=True)
    rebalance_or_close(context, group, newcomer(group, member, request.reason), draft, received)


def _rejoin(
    context: GroupContext, group: ClassicGroup, member: GroupMember, request: JoinGroupRequest, call: Call, draft: Draft
) -> None:
    """A known member's JoinGroup: park it, or answer with the current generation again."""
    leader = member.member_id == group.leader
    nothing_new = group.state is not GroupState.PREPARING_REBALANCE and same_protocols(member, request)
    if nothing_new and not (leader and group.state is GroupState.STABLE):
        reached("join: answered again")
        draft.reply(call, join_answer(group, member.member_id))  # the first answer was lost
        return
    trigger = rejoin(group, member, request)
    group.update(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.park_join(member.member_id, call)
    if not member.is_new:
        context.disarm(member)
    received = join_received(group, member, newcomer=False)
    rebalance_or_close(context, group, trigger, draft, received)


def _refuse(draft: Draft, call: Call, member_id: str, error: ErrorCode) -> None:
    draft.reply(call, JoinGroupResponse(error, member_id=member_id))
