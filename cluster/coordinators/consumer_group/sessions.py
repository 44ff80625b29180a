"""Sessions and rebalance timeouts of members, and the answers of heartbeats.

A session begins anew with each accepted heartbeat. A member that has partitions to give up must confirm it within its
rebalance timeout, or it is removed. Kafka keeps both as timers beside the group: not even a failed append stops them.
Source: Kafka's `scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupRebalanceTimeout`.
"""

from collections.abc import Callable
from typing import Final

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.decision import Call, Decision, coordinator_error
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import NOT_ARMED, REVOCATION, SESSION
from cluster.events import Event, HeartbeatAnswered
from cluster.protocol.consumer_group_messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cluster.protocol.errors import ErrorCode

RETRY_US: Final = 500_000  # CoordinatorTimerImpl: a timer whose append failed runs again


def arm_session(
    context: GroupContext, group_id: str, member_id: str, now_us: int, timeout_us: int | None = None
) -> int:
    """Start a member's session anew; `timeout_us`: of a member that brings its own. Returns its end (µs)."""
    at_us = now_us + (context.settings.consumer_session_timeout_us if timeout_us is None else timeout_us)
    context.deadlines.set((SESSION, group_id, member_id), at_us)
    return at_us


def session_deadline_us(context: GroupContext, group_id: str, member_id: str) -> int:
    """When a member's session ends, `NOT_ARMED` for one that the group does not have."""
    group = context.consumer_groups.get(group_id)
    if group is None or member_id not in group.members:
        return NOT_ARMED
    at_us = context.deadlines.get((SESSION, group_id, member_id))
    return NOT_ARMED if at_us is None else at_us


def arm_revocation(context: GroupContext, group_id: str, member: ConsumerGroupMember, now_us: int) -> int:
    """Give a member its rebalance timeout to confirm that it gave up partitions. Returns its end (µs)."""
    name = REVOCATION, group_id, member.member_id
    at_us = now_us + 1_000 * member.rebalance_timeout_ms
    context.deadlines.set(name, at_us)
    context.revoking_epochs[name] = member.epoch
    return at_us


def disarm_revocation(context: GroupContext, group_id: str, member_id: str) -> None:
    """The member has nothing more to confirm."""
    name = REVOCATION, group_id, member_id
    context.deadlines.cancel(name)
    context.revoking_epochs.pop(name, None)


def fenced_at_us(context: GroupContext, group: ConsumerGroup) -> dict[str, int]:
    """Member id → the end of its rebalance timeout, of those that have partitions to give up."""
    ends = {name: context.deadlines.get((REVOCATION, group.group_id, name)) for name in group.members}
    return {name: at_us for name, at_us in ends.items() if at_us is not None}


def refuse(request: ConsumerGroupHeartbeatRequest, call: Call, refusal: Refusal, name: str = "") -> Decision:
    """Refuse a heartbeat, behind the answers of earlier ones."""
    response = ConsumerGroupHeartbeatResponse(refusal.error, message=refusal.message)

    def then(error: ErrorCode, now_us: int) -> Decision:
        del error, now_us
        return Decision((), [(call, response)], _answered(request, refusal.error, name or request.client_id, NOT_ARMED))

    return Decision(then=then, after_log=True, events=[] if refusal.noted is None else [refusal.noted])


def answering(
    context: GroupContext,
    request: ConsumerGroupHeartbeatRequest,
    call: Call,
    response: ConsumerGroupHeartbeatResponse,
    name: str,
) -> Callable[[ErrorCode, int], Decision]:
    """Answer a heartbeat when its records, and those before it, are committed."""

    def then(error: ErrorCode, now_us: int) -> Decision:
        del now_us
        failed = coordinator_error(error)
        deadline_us = session_deadline_us(context, request.group, request.member_id)
        sent = response if failed is ErrorCode.NONE else ConsumerGroupHeartbeatResponse(failed)
        return Decision((), [(call, sent)], _answered(request, failed, name, deadline_us))

    return then


def _answered(request: ConsumerGroupHeartbeatRequest, error: ErrorCode, name: str, deadline_us: int) -> list[Event]:
    if request.member_epoch < JOIN_EPOCH:
        return []  # a leaving member has no session
    return [
        HeartbeatAnswered(
            group=request.group,
            member=name,
            member_id=request.member_id,
            error=error.name,
            session_deadline_us=deadline_us,
        )
    ]
