"""A group of the new protocol on a new coordinator, and its requests of either protocol.

Everything that the group has is in its records, so a failover loses nothing but uncommitted ones: the new coordinator
replays the partition and gives every member a new session, and a member that has partitions to give up a new timeout.
Source: Kafka's `GroupMetadataManager` (onLoaded, onUnloaded, and the callers of `groups.get` for classic requests).
"""

from cluster.coordinators.consumer_group import classic_members
from cluster.coordinators.consumer_group.admin import describe_as_classic
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, ordered, preferred_assignor
from cluster.coordinators.consumer_group.leave import revocation_deadline, session_deadline
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.offsets import commit, fetch
from cluster.coordinators.consumer_group.regexes import regex_deadline
from cluster.coordinators.consumer_group.sessions import arm_revocation, arm_session, fenced_at_us, session_deadline_us
from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.coordinators.decision import Call, Decision, Draft
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import CLASSIC_JOIN, CLASSIC_SYNC, REVOCATION, SESSION
from cluster.events import ConsumerGroupLoaded, Event, GroupUnloaded, MemberProtocolChanged
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DescribeGroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
)


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
        case JoinGroupRequest():
            return classic_members.join(context, group, request, call, now_us)
        case SyncGroupRequest():
            return classic_members.sync(context, group, request, call, now_us)
        case HeartbeatRequest():
            return classic_members.heartbeat(context, group, request, call, now_us)
        case LeaveGroupRequest():
            return classic_members.leave(context, group, request, call, now_us)
        case _:
            return None


def consumer_deadline(context: GroupContext, group: ConsumerGroup, kind: int, member_id: str, now_us: int) -> Decision:
    """Handle one due deadline of a group of the new protocol."""
    if kind == SESSION:
        return session_deadline(context, group, member_id, now_us)
    if kind == REVOCATION:
        return revocation_deadline(context, group, member_id, now_us)
    if kind in (CLASSIC_JOIN, CLASSIC_SYNC):
        return classic_members.classic_deadline(context, group, kind, member_id, now_us)
    return regex_deadline(context, group, now_us)


def load(context: GroupContext, group: ConsumerGroup, now_us: int) -> list[Event]:
    """Start the sessions of a replayed group; a classic member's is as long as the others', as in Kafka."""
    group.offsets = dict(group.logged_offsets)
    for member in group.members.values():
        arm_session(context, group.group_id, member.member_id, now_us)
        if member.state is MemberAssignmentState.UNREVOKED_PARTITIONS:
            arm_revocation(context, group.group_id, member, now_us)
    group.settle_state()
    members = group.members
    classic = [_classic(group, member) for member in group.classic_members()]
    loaded = ConsumerGroupLoaded(
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
    return [loaded, *classic]


def _classic(group: ConsumerGroup, member: ConsumerGroupMember) -> MemberProtocolChanged:
    return MemberProtocolChanged(
        group=group.group_id, member=member.client_id, member_id=member.member_id, protocol="classic"
    )


def unload(context: GroupContext, group: ConsumerGroup, draft: Draft) -> None:
    """End the group here: the answers that wait for the log get NOT_COORDINATOR from the runtime."""
    for call, _ in group.parked_fetches:
        draft.reply(call, OffsetFetchResponse(ErrorCode.NOT_COORDINATOR, {}))
    group.parked_fetches.clear()
    group.end()
    draft.emit(GroupUnloaded(group=group.group_id, broker=context.broker))
