"""A group of the new protocol on a new coordinator, and its requests of either protocol.

Everything that the group has is in its records, so a failover loses nothing but uncommitted ones: the new coordinator
replays the partition and gives every member a new session, and a member that has partitions to give up a new timeout.
Source: Kafka's `GroupMetadataManager` (onLoaded, onUnloaded, and the callers of `groups.get` for classic requests).
"""

from typing import Any

from cluster.coordinators.consumer_group.admin import describe_as_classic
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, ordered, preferred_assignor
from cluster.coordinators.consumer_group.leave import revocation_deadline, session_deadline
from cluster.coordinators.consumer_group.offsets import commit, fetch
from cluster.coordinators.consumer_group.regexes import regex_deadline
from cluster.coordinators.consumer_group.sessions import arm_revocation, arm_session, fenced_at_us, session_deadline_us
from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.coordinators.decision import Call, Decision, Draft
from cluster.coordinators.group.context import GroupContext, sender_of
from cluster.coordinators.group.group import NOT_ARMED, REVOCATION, SESSION
from cluster.events import ConsumerGroupLoaded, GroupUnloaded, HeartbeatAnswered
from cluster.protocol.api import Request
from cluster.protocol.api_table import error_response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DescribeGroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)
from cluster.reach import reached


def handle_for(
    context: GroupContext, group: ConsumerGroup, request: Request, call: Call, now_us: int
) -> Decision | None:
    """Serve a request for a group of the new protocol; None for one that the group's protocol does not matter to."""
    match request:
        case OffsetCommitRequest():
            return commit(context, group, request, call, now_us)
        case OffsetFetchRequest():
            return fetch(group, request, call)
        case DescribeGroupRequest():
            return describe_as_classic(call)
        case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest() | LeaveGroupRequest():
            return _classic_request(group, request, call)
        case _:
            return None


def _classic_request(group: ConsumerGroup, request: Any, call: Call) -> Decision:  # noqa: ANN401 - of four kinds
    """Refuse a request of the classic protocol: no member of the group speaks it."""
    reached("consumer group: a classic request")
    if isinstance(request, JoinGroupRequest):
        return Decision((), [(call, error_response(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))])
    if isinstance(request, LeaveGroupRequest):
        unknown = tuple((one.member_id, one.instance_id, ErrorCode.UNKNOWN_MEMBER_ID) for one in request.members)
        return Decision((), [(call, LeaveGroupResponse(ErrorCode.NONE, unknown))])
    decision = Decision((), [(call, error_response(request, ErrorCode.UNKNOWN_MEMBER_ID))])
    if isinstance(request, HeartbeatRequest):
        decision.events.append(
            HeartbeatAnswered(
                group=group.group_id,
                member=sender_of(request),
                member_id=request.member_id,
                error=ErrorCode.UNKNOWN_MEMBER_ID.name,
                session_deadline_us=NOT_ARMED,
            )
        )
    return decision


def consumer_deadline(context: GroupContext, group: ConsumerGroup, kind: int, member_id: str, now_us: int) -> Decision:
    """Handle one due deadline of a group of the new protocol."""
    if kind == SESSION:
        return session_deadline(context, group, member_id, now_us)
    if kind == REVOCATION:
        return revocation_deadline(context, group, member_id, now_us)
    return regex_deadline(context, group, now_us)


def load(context: GroupContext, group: ConsumerGroup, now_us: int) -> ConsumerGroupLoaded:
    """Start the sessions of a replayed group."""
    group.offsets = dict(group.logged_offsets)
    for member in group.members.values():
        arm_session(context, group.group_id, member.member_id, now_us)
        if member.state is MemberAssignmentState.UNREVOKED_PARTITIONS:
            arm_revocation(context, group.group_id, member, now_us)
    group.settle_state()
    members = group.members
    return ConsumerGroupLoaded(
        group=group.group_id,
        broker=context.broker,
        state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=preferred_assignor(members.values(), context.settings.consumer_assignors[0]),
        members={name: one.client_id for name, one in members.items()},
        states={name: one.state.value for name, one in members.items()},
        epochs={name: one.epoch for name, one in members.items()},
        previous_epochs={name: one.previous_epoch for name, one in members.items()},
        assigned={name: ordered(one.assigned) for name, one in members.items()},
        pending_revocation={
            name: ordered(one.pending_revocation) for name, one in members.items() if one.pending_revocation
        },
        target=dict(group.targets),
        fenced_at_us=fenced_at_us(context, group),
        session_deadlines_us={name: session_deadline_us(context, group.group_id, name) for name in members},
        offsets={partition: record.offset for partition, record in group.offsets.items()},
    )


def unload(context: GroupContext, group: ConsumerGroup, draft: Draft) -> None:
    """End the group here: the answers that wait for the log get NOT_COORDINATOR from the runtime."""
    for call, _ in group.parked_fetches:
        draft.reply(call, OffsetFetchResponse(ErrorCode.NOT_COORDINATOR, {}))
    group.parked_fetches.clear()
    group.end()
    draft.emit(GroupUnloaded(group=group.group_id, broker=context.broker))
