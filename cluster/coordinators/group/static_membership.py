"""Static membership (KIP-345): a restarted member rejoins under its group.instance.id, with a new member id.

The newest process wins: calls parked under the old member id are fenced at once, and later calls with it too.
Source: Kafka's `GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin`,
`ClassicGroup.replaceStaticMember`.
"""

from typing import Final

from cluster.coordinators.decision import Call, Draft, coordinator_error
from cluster.coordinators.group.context import GroupContext, reply_parked
from cluster.coordinators.group.group import ClassicGroup, GroupMember
from cluster.coordinators.group.join_barrier import join_answer, join_received, rebalance_or_close
from cluster.coordinators.group.rebalance_causes import static_replaced
from cluster.coordinators.group.states import GroupState
from cluster.events import StaticMemberReplaced
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import NO_MEMBER, JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from cluster.reach import reached

FIRST_VERSION_WITH_SKIP_ASSIGNMENT: Final = 9  # JoinGroupRequest.supportsSkippingAssignment


def replace_static_member(
    context: GroupContext, group: ClassicGroup, new_id: str, request: JoinGroupRequest, call: Call, draft: Draft
) -> None:
    """Give the instance its new member id, and rebalance only if the group needs it.

    A Stable group whose protocol vote is unchanged does not rebalance: the coordinator writes the new id to the log.
    Only the selected protocol is compared, so a restarted static member's changed subscription has no effect. The
    JoinGroup is parked until the record is committed: a rebalance meanwhile has the member at its barrier.
    """
    assert request.instance_id is not None
    old = group.members[group.static_members[request.instance_id]]
    old_leader = group.leader
    before = (old.protocols, old.session_timeout_ms, old.rebalance_timeout_ms)
    new = _swap(context, group, old, new_id, request.client_id, draft)
    group.update(new, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    goes_on = group.state is GroupState.STABLE and group.select_protocol() == group.protocol
    draft.emit(_replaced(group, old, new, goes_on=goes_on))
    reached("static: replaced, the group goes on" if goes_on else "static: replaced, it rebalances")
    if not goes_on:
        group.park_join(new_id, call)
        context.disarm(new)
        received = join_received(group, new, newcomer=False)
        rebalance_or_close(context, group, static_replaced(group, new, request.reason), draft, received)
        return

    group.park_join(new_id, call)
    draft.records.append(group.record(group.assignment))

    def stored(error: ErrorCode, later: Draft) -> None:
        waits = group.parked_joins.get(new_id) is call  # else it has its answer: fenced, removed, or from a barrier
        if waits:
            del group.parked_joins[new_id]
        if error is ErrorCode.NONE:
            if waits:
                later.reply(call, _answer(group, new, old_leader, request.version))
            return
        if waits:
            later.reply(
                call,
                JoinGroupResponse(
                    coordinator_error(error), group.generation, group.protocol, leader=old_leader, member_id=NO_MEMBER
                ),
            )
        if group.state is not GroupState.DEAD and group.members.get(new_id) is new:
            group.update(new, *before)
            reached("static: not written")
            restored = _swap(context, group, new, old.member_id, old.client_id, later)
            later.emit(_replaced(group, new, restored, goes_on=False))

    draft.when_committed(stored)


def _swap(
    context: GroupContext, group: ClassicGroup, old: GroupMember, new_id: str, client_id: str, draft: Draft
) -> GroupMember:
    """Replace the old member by one with the new id, and fence the old member's parked calls."""
    join_call = group.parked_joins.get(old.member_id)
    sync_call = group.parked_syncs.get(old.member_id)
    if join_call is not None:
        reached("static: a parked JoinGroup is fenced")
        fenced = JoinGroupResponse(ErrorCode.FENCED_INSTANCE_ID, member_id=old.member_id)
        reply_parked(draft, join_call, fenced)
    if sync_call is not None:
        reached("static: a parked SyncGroup is fenced")
        draft.reply(sync_call, SyncGroupResponse(ErrorCode.FENCED_INSTANCE_ID))
    new = group.replace_static(old, new_id, client_id)
    context.disarm(old)
    context.arm(new, draft.now_us)  # Kafka arms it before it takes over the new session timeout
    return new


def _replaced(group: ClassicGroup, old: GroupMember, new: GroupMember, *, goes_on: bool) -> StaticMemberReplaced:
    return StaticMemberReplaced(
        group=group.group_id,
        member=new.client_id,
        old_member_id=old.member_id,
        member_id=new.member_id,
        session_deadline_us=new.session_deadline_us,
        goes_on=goes_on,
        leader=group.leader_name,
    )


def _answer(group: ClassicGroup, new: GroupMember, old_leader: str, version: int) -> JoinGroupResponse:
    """The answer for a committed new id. Before v9 a restarted leader gets the old leader's id and so follows."""
    if version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT:
        answer = join_answer(group, new.member_id)
        answer.skip_assignment = new.member_id == group.leader
        return answer
    return JoinGroupResponse(ErrorCode.NONE, group.generation, group.protocol, old_leader, new.member_id)
