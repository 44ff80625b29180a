"""ConsumerGroupHeartbeat: joins, subscriptions, targets and each member's next step, in Kafka's order.

Three parts, as in Kafka: the member is created or updated, and the group epoch rises with what it changes; the target
is computed if it is older than the group epoch; the member makes one step towards the target.
Source: Kafka's `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from collections.abc import Collection

from msgspec.structs import replace

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, ordered
from cluster.coordinators.consumer_group.leave import leave
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.membership import invalid, member_of, open_group, protocol_changed
from cluster.coordinators.consumer_group.reconciliation import next_step
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.consumer_group.regexes import change_regex, schedule_refresh
from cluster.coordinators.consumer_group.sessions import (
    answering,
    arm_revocation,
    arm_session,
    disarm_revocation,
    refuse,
)
from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.coordinators.consumer_group.target import MemberTarget, check_metadata, update_target
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.decision import Call, Decision
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import NOT_ARMED
from cluster.events import ConsumerMemberSubscribed, MemberAssignmentChanged, SessionRenewed
from cluster.protocol.consumer_group_messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.reach import reached


def heartbeat(context: GroupContext, request: ConsumerGroupHeartbeatRequest, call: Call, now_us: int) -> Decision:
    """ConsumerGroupHeartbeat (API 68): a join (epoch 0), a heartbeat, or a leave (-1; -2 of a static member).

    Answers, in the order of the checks: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR; GROUP_ID_NOT_FOUND (no such group, and
    the member does not join; or a classic group with members), GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID or FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, INVALID_REGULAR_EXPRESSION, NONE.
    """
    refusal = invalid(request, context.settings.consumer_assignors)
    if refusal is not None:
        return refuse(request, call, refusal)
    if request.member_epoch < JOIN_EPOCH:
        return leave(context, request, call, now_us)
    write = open_group(context, request, now_us)
    if isinstance(write, Refusal):
        return refuse(request, call, write)
    member = member_of(write, request)
    if isinstance(member, Refusal):
        known = write.group.members.get(request.member_id)
        return refuse(request, call, member, known.client_id if known is not None else "")
    return _regular(write, member, request, call)


def _regular(
    write: GroupWrite, member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, call: Call
) -> Decision:
    context, group = write.context, write.group
    updated = _updated(member, request)
    joined = request.member_id not in group.members and updated.instance_id not in group.static_members
    if updated != member:
        write.metadata(updated)
    regex = change_regex(write, member, updated)
    if isinstance(regex, Refusal):
        return refuse(request, call, regex, updated.client_id)
    topics_changed = updated.topics != member.topics
    if member.classic is not None and member.member_id in group.members:
        write.facts.append(protocol_changed(write, updated, "consumer"))
    if updated != member:
        deadline_us = write.now_us + context.settings.consumer_session_timeout_us
        write.facts.append(subscribed(write, updated, request.member_epoch, deadline_us))
    cause = RebalanceCause.MEMBER_JOINED if joined else RebalanceCause.SUBSCRIPTION_CHANGED
    check_metadata(write, updated, cause if topics_changed or regex.resolved else None)
    target = update_target(write, updated)
    stepped = step(write, updated, target, request.owned, subscription_changed=topics_changed or regex.changed)
    schedule_refresh(write, updated, regex)
    deadline_us = arm_session(context, group.group_id, request.member_id, write.now_us)
    renewed = SessionRenewed(
        group=group.group_id, member=updated.client_id, member_id=updated.member_id, session_deadline_us=deadline_us
    )
    if write.records and updated == member:
        write.facts.append(renewed)
    full = request.owned is not None and request.rebalance_timeout_ms != -1
    full = full and (request.topics is not None or request.topic_regex is not None)
    changed = full or request.member_epoch == JOIN_EPOCH or stepped.assigned != member.assigned
    response = ConsumerGroupHeartbeatResponse(
        error=ErrorCode.NONE,
        member_id=stepped.member_id,
        member_epoch=stepped.epoch,
        heartbeat_interval_ms=context.settings.consumer_heartbeat_interval_ms,
        assignment=ordered(stepped.assigned) if changed else None,
    )
    return write.decision(answering(context, request, call, response, updated.client_id), [renewed])


def _updated(member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember:
    """The member with what the heartbeat says anew."""
    topics = member.topics if request.topics is None else tuple(sorted(dict.fromkeys(request.topics)))
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        client_id=request.client_id,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topics=topics,
        topic_regex=member.topic_regex if request.topic_regex is None else request.topic_regex,
        assignor=member.assignor if request.assignor is None else request.assignor,
        classic=None,
    )


def subscribed(
    write: GroupWrite, member: ConsumerGroupMember, epoch: int, deadline_us: int
) -> ConsumerMemberSubscribed:
    """The event of a member that joins, or changes what it subscribes to; `deadline_us`: of its session."""
    return ConsumerMemberSubscribed(
        group=write.group.group_id,
        member=member.client_id,
        member_id=member.member_id,
        instance_id=member.instance_id or "",
        epoch=epoch,
        topics=member.topics,
        topic_regex=member.topic_regex,
        assignor=member.assignor or "",
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_deadline_us=deadline_us,
    )


def step(
    write: GroupWrite,
    member: ConsumerGroupMember,
    target: MemberTarget,
    owned: Collection[str] | None,
    *,
    subscription_changed: bool,
) -> ConsumerGroupMember:
    """Make the member's step towards its target, and start or end the time that it has to give up partitions.

    A classic member has other limits: it must join again, and ask for what it is assigned.
    """
    if not subscription_changed and member.reconciled_to(target.epoch):
        return member
    context, group = write.context, write.group
    stepped = next_step(
        member,
        target.epoch,
        target.partitions,
        group.topics_of(member),
        group.owners,
        owned,
        subscription_changed=subscription_changed,
    )
    if stepped == member:
        return member
    write.current(stepped)
    until_us = NOT_ARMED
    if stepped.classic is not None:
        reached("migration: a classic member moves towards its target")
    elif stepped.state is MemberAssignmentState.UNREVOKED_PARTITIONS:
        until_us = arm_revocation(context, group.group_id, stepped, write.now_us)
    else:
        disarm_revocation(context, group.group_id, stepped.member_id)
    write.facts.append(changed_assignment(group, stepped, until_us))
    return stepped


def changed_assignment(group: ConsumerGroup, member: ConsumerGroupMember, until_us: int) -> MemberAssignmentChanged:
    """What the view shows of a member's step."""
    return MemberAssignmentChanged(
        group=group.group_id,
        member=member.client_id,
        member_id=member.member_id,
        state=member.state.value,
        epoch=member.epoch,
        previous_epoch=member.previous_epoch,
        assigned=ordered(member.assigned),
        pending_revocation=ordered(member.pending_revocation),
        fenced_at_us=until_us,
    )
