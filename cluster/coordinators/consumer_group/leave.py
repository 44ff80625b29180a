"""Members that leave or are removed: with epoch -1, at the end of a session, or by a rebalance timeout.

A static member that leaves with epoch -2 stays: its partitions wait for it until its session ends.
Source: Kafka's `GroupMetadataManager` (consumerGroupLeave, consumerGroupFenceMembers).
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cluster.coordinators.consumer_group.consumer_group import LEFT_FOR_A_WHILE, ConsumerGroup
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.membership import existing_group, static_member, unknown_member
from cluster.coordinators.consumer_group.migration import downgrade, may_downgrade
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.consumer_group.sessions import (
    RETRY_US,
    answering,
    refuse,
    session_deadline_us,
)
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.decision import Call, DeadlineName, Decision, coordinator_error
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import REVOCATION, SESSION
from cluster.coordinators.group.rebalance_causes import Trigger
from cluster.coordinators.records import ConsumerGroupTombstone, RegularExpression
from cluster.events import MemberRemoved, SessionRenewed, StaticMemberLeft
from cluster.protocol.consumer_group_messages import (
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.reach import reached


def leave(context: GroupContext, request: ConsumerGroupHeartbeatRequest, call: Call, now_us: int) -> Decision:
    """A heartbeat with epoch -1 or -2.

    Answers GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or NONE.
    """
    group = existing_group(context, request.group)
    if isinstance(group, Refusal):
        return refuse(request, call, group)
    member = _leaver(group, request)
    if isinstance(member, Refusal):
        return refuse(request, call, member)
    write = GroupWrite(context, group, now_us)
    if request.instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
        reached("consumer group: static member leaves for a while")
        _leave_for_a_while(write, member)
    else:
        remove(write, [Departure(member, RebalanceCause.MEMBER_LEFT)])
    response = ConsumerGroupHeartbeatResponse(ErrorCode.NONE, member.member_id, request.member_epoch)
    return write.decision(answering(context, request, call, response, member.client_id))


def _leaver(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember | Refusal:
    if request.instance_id is not None:
        return static_member(group, request.instance_id, request.member_id)
    return group.members.get(request.member_id) or unknown_member(group, request.member_id)


def _leave_for_a_while(write: GroupWrite, member: ConsumerGroupMember) -> None:
    """Keep a static member's partitions; what it had to give up, it has given up by leaving."""
    away = replace(member, epoch=LEFT_FOR_A_WHILE, pending_revocation={}, assigned=dict.fromkeys(member.assigned, 0))
    write.current(away)
    write.facts.append(
        StaticMemberLeft(
            group=write.group.group_id,
            member=member.client_id,
            member_id=member.member_id,
            instance_id=member.instance_id or "",
            session_deadline_us=session_deadline_us(write.context, write.group.group_id, member.member_id),
        )
    )


class Departure(NamedTuple):
    """A member that leaves or is removed, and why; `client_reason`: of a LeaveGroup."""

    member: ConsumerGroupMember
    cause: RebalanceCause
    client_reason: str = ""


def remove(write: GroupWrite, departures: Sequence[Departure]) -> None:
    """Remove members, with regular expressions that only they have. The group epoch rises once for all of them.

    If only classic members stay, the group may become a classic one instead. The members' timers end once this is
    appended.
    """
    context, group = write.context, write.group
    gone = dict.fromkeys([one.member.member_id for one in departures])
    for member, cause, client_reason in departures:
        write.facts.append(
            MemberRemoved(
                group=group.group_id,
                member=member.client_id,
                member_id=member.member_id,
                reason=cause.value,
                client_reason=client_reason,
            )
        )
    first = departures[0]
    if may_downgrade(write, gone):
        detail = f"Downgrade group {group.group_id} from consumer to classic for member leaving."
        downgrade(write, gone, Trigger(first.cause, first.member.client_id, first.member.member_id, detail))
        return
    for member_id in gone:
        write.removal(member_id)
    _forget_regexes(write, gone)
    others = [one for name, one in group.members.items() if name not in gone]
    write.bump(first.cause, [one.member for one in departures], context.topics.hash_of(group.subscribed_topics(others)))


def _forget_regexes(write: GroupWrite, gone: Collection[str]) -> None:
    """Write the tombstones of expressions that no other member subscribes to."""
    group = write.group
    for regex in group.subscribed_regexes([group.members[member_id] for member_id in gone]):
        if not any(one.topic_regex == regex for name, one in group.members.items() if name not in gone):
            write.records.append(ConsumerGroupTombstone.of(RegularExpression, group.group_id, regex))


def session_deadline(context: GroupContext, group: ConsumerGroup, member_id: str, now_us: int) -> Decision:
    """Remove a member at the end of its session, also a static one that is away."""
    member = group.members.get(member_id)
    if member is None:
        return Decision()  # its instance id has another member id now
    reached("consumer group: session expired")
    write = GroupWrite(context, group, now_us)
    remove(write, [Departure(member, RebalanceCause.SESSION_EXPIRED)])
    return write.decision(retrying(context, (SESSION, group.group_id, member_id)))


def revocation_deadline(context: GroupContext, group: ConsumerGroup, member_id: str, now_us: int) -> Decision:
    """Remove a member that did not confirm in time that it gave up partitions."""
    name = REVOCATION, group.group_id, member_id
    member, epoch = group.members.get(member_id), context.revoking_epochs.pop(name, None)
    if member is None or member.epoch != epoch:
        return Decision()
    reached("consumer group: rebalance timeout")
    write = GroupWrite(context, group, now_us)
    remove(write, [Departure(member, RebalanceCause.POLL_INTERVAL_EXCEEDED)])
    return write.decision(retrying(context, name, epoch))


def retrying(
    context: GroupContext, name: DeadlineName, epoch: int | None = None
) -> Callable[[ErrorCode, int], Decision]:
    """Remove the member again a little later if the append of its removal has failed."""

    def then(error: ErrorCode, now_us: int) -> Decision:
        group = context.consumer_groups.get(name[1])
        if error is ErrorCode.NONE or coordinator_error(error) is ErrorCode.NOT_COORDINATOR:
            return Decision()
        member = group.members.get(name[2]) if group is not None else None
        if member is None:
            return Decision()
        again_us = now_us + RETRY_US
        context.deadlines.set(name, again_us)
        if epoch is not None:
            context.revoking_epochs[name] = epoch
        if name[0] != SESSION:
            return Decision()
        later = SessionRenewed(group=name[1], member=member.client_id, member_id=name[2], session_deadline_us=again_us)
        return Decision((), [], [later])

    return then
