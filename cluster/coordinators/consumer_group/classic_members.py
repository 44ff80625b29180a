"""Members of a consumer group that speak the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Theory of operation. A classic member moves by its JoinGroup, whose answer is its member epoch as a generation, with no
barrier: the broker computes the target, and the SyncGroup that follows gets what the member is assigned so far. A
heartbeat answers REBALANCE_IN_PROGRESS while a JoinGroup would bring the member nearer to its target: it lags behind
the assignment epoch, must give up partitions, or the partitions that it waits for are free. Two timers stand in for the
rebalance timeout: from that answer on the member must join, and from its join on it must sync.
Source: Kafka's `GroupMetadataManager` (classicGroupJoinToConsumerGroup, …SyncTo…, …HeartbeatTo…, …LeaveTo…).
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.heartbeat import step, subscribed
from cluster.coordinators.consumer_group.leave import Departure, remove, retrying
from cluster.coordinators.consumer_group.member import ClassicMemberMetadata, ConsumerGroupMember
from cluster.coordinators.consumer_group.membership import protocol_changed, replace_static
from cluster.coordinators.consumer_group.migration import downgrade, may_downgrade_for
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.consumer_group.regexes import change_regex
from cluster.coordinators.consumer_group.sessions import arm_session, session_deadline_us
from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.coordinators.consumer_group.target import MemberTarget, check_metadata, update_target
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.decision import Call, Decision, coordinator_error
from cluster.coordinators.group.context import GroupContext, sender_of
from cluster.coordinators.group.group import CLASSIC_JOIN, CLASSIC_SYNC, NOT_ARMED
from cluster.coordinators.group.rebalance_causes import Trigger, cause_of_leaving
from cluster.events import (
    ClassicMemberAwaited,
    ClassicMemberIdAssigned,
    Event,
    GroupConversionRefused,
    HeartbeatAnswered,
    SessionRenewed,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    NO_MEMBER,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.reach import reached

_E = ErrorCode
FIRST_VERSION_WITH_KNOWN_ID: Final = 4  # JoinGroupRequest.requiresKnownMemberId


# --- JoinGroup -------------------------------------------------------------------------------------------------------


def join(context: GroupContext, group: ConsumerGroup, request: JoinGroupRequest, call: Call, now_us: int) -> Decision:
    """JoinGroup (API 11) to a consumer group with members.

    Answers, in the order of the checks: INVALID_SESSION_TIMEOUT, INCONSISTENT_GROUP_PROTOCOL (policy disabled),
    GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL (no protocol that all classic members support),
    MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID (a static member with an id), NONE.
    """
    unknown = request.member_id == NO_MEMBER
    member_id = context.new_consumer_member_id() if unknown else request.member_id
    error, emitted = _join_refusal(context, group, request, member_id)
    if error is _E.NONE and unknown and request.instance_id is None and request.version >= FIRST_VERSION_WITH_KNOWN_ID:
        error = _E.MEMBER_ID_REQUIRED
        emitted.append(
            ClassicMemberIdAssigned(
                group=group.group_id, member=request.client_id, member_id=member_id, broker=context.broker
            )
        )
    if error is not _E.NONE:
        known = member_id if error is _E.MEMBER_ID_REQUIRED else request.member_id
        return Decision((), [(call, JoinGroupResponse(error, member_id=known))], emitted)
    write = GroupWrite(context, group, now_us)
    former = group.static_members.get(request.instance_id) if request.instance_id is not None else None
    replaced = group.members[former] if former is not None else None
    member = _joining(write, request, member_id, replaced)
    if isinstance(member, Refusal):
        return Decision((), [(call, JoinGroupResponse(member.error, member_id=request.member_id))])
    return _join(write, member, replaced, request, call)


def _join_refusal(
    context: GroupContext, group: ConsumerGroup, request: JoinGroupRequest, member_id: str
) -> tuple[ErrorCode, list[Event]]:
    settings = context.settings
    if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
        return _E.INVALID_SESSION_TIMEOUT, []
    if not (settings.upgrades or settings.downgrades):
        reached("migration: a classic member may not join")
        reason, of = "the group migration is disabled", context.broker
        refused = GroupConversionRefused(
            group=group.group_id, broker=of, protocol="", reason=reason, member=request.client_id
        )
        return _E.INCONSISTENT_GROUP_PROTOCOL, [refused]
    if len(group.members) >= settings.consumer_max_size and member_id not in group.members:
        return _E.GROUP_MAX_SIZE_REACHED, []
    if not group.supports_classic(request.protocol_type, request.protocols):
        reached("migration: classic protocols differ")
        return _E.INCONSISTENT_GROUP_PROTOCOL, []
    return _E.NONE, []


def _joining(
    write: GroupWrite, request: JoinGroupRequest, member_id: str, former: ConsumerGroupMember | None
) -> ConsumerGroupMember | Refusal:
    """The member that joins: a known one, a new one, or one in the place of a static member (`former`)."""
    group = write.group
    if request.instance_id is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    if request.member_id == NO_MEMBER:
        return (
            ConsumerGroupMember(member_id)
            if former is None
            else replace_static(write, former, member_id, NOT_ARMED, classic=True)
        )
    if former is None:
        return Refusal(_E.UNKNOWN_MEMBER_ID, f"Instance id {request.instance_id} is unknown.")
    if former.member_id != member_id:
        return Refusal(_E.FENCED_INSTANCE_ID, f"Static member {member_id} was fenced by member {former.member_id}.")
    return former


def _join(
    write: GroupWrite,
    member: ConsumerGroupMember,
    replaced: ConsumerGroupMember | None,
    request: JoinGroupRequest,
    call: Call,
) -> Decision:
    context, group = write.context, write.group
    downgrades = replaced is not None and may_downgrade_for(write, replaced)
    updated = _updated(member, request)
    joined = member.member_id not in group.members and replaced is None
    if updated != member:
        write.metadata(updated)
    regex = change_regex(write, member, updated)
    assert not isinstance(regex, Refusal), "a classic member has no regular expression"
    if member.classic is None and (replaced is None or replaced is member):
        write.facts.append(protocol_changed(write, updated, "classic"))
    deadline_us = session_deadline_us(context, group.group_id, member.member_id)
    write.facts.append(subscribed(write, updated, member.epoch, deadline_us))
    changed = updated.topics != member.topics or regex.changed
    cause = RebalanceCause.MEMBER_JOINED if joined else RebalanceCause.SUBSCRIPTION_CHANGED
    check_metadata(write, updated, cause if changed else None)
    owned = next(iter(request.protocols.values())).owned_partitions
    if downgrades:
        stepped = _downgrade(write, updated, owned, cause)
    else:
        stepped = step(write, updated, update_target(write, updated), owned, subscription_changed=changed)
    return write.decision(_answer_join(context, stepped, request, call))


def _updated(member: ConsumerGroupMember, request: JoinGroupRequest) -> ConsumerGroupMember:
    """The member with what its JoinGroup says. All its protocols have the same subscription: the first will do."""
    subscription = next(iter(request.protocols.values()))
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        client_id=request.client_id,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=subscription.rack or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topics=tuple(sorted(dict.fromkeys(subscription.topics))),
        topic_regex="",
        classic=ClassicMemberMetadata(request.session_timeout_ms, tuple(request.protocols.items())),
    )


def _downgrade(
    write: GroupWrite, member: ConsumerGroupMember, owned: tuple[str, ...], cause: RebalanceCause
) -> ConsumerGroupMember:
    """Make the group classic: this static member takes the place of the last one that spoke the new protocol."""
    group, stepped = write.group, member
    stale = group.assignment_epoch < write.epoch
    trigger = None
    if stale:
        detail = f"Downgrade group {group.group_id} from consumer to classic with stale assignment."
        trigger = Trigger(cause, member.client_id, member.member_id, detail)
    else:
        target = MemberTarget(group.assignment_epoch, group.target_of(member.member_id, member.instance_id))
        stepped = step(write, member, target, owned, subscription_changed=False)
    downgrade(write, (), trigger, member)
    return stepped


def _answer_join(
    context: GroupContext, member: ConsumerGroupMember, request: JoinGroupRequest, call: Call
) -> Callable[[ErrorCode, int], Decision]:
    """Answer a JoinGroup when its records are committed; then the member's session begins anew, and it must sync."""
    assert member.classic is not None
    response = JoinGroupResponse(_E.NONE, member.epoch, member.classic.protocol, member_id=member.member_id)

    def then(error: ErrorCode, now_us: int) -> Decision:
        failed = coordinator_error(error)
        if failed is not _E.NONE:
            return Decision((), [(call, JoinGroupResponse(failed, member_id=request.member_id))])
        group = context.consumer_groups.get(request.group)
        if group is None or member.member_id not in group.members:
            return Decision((), [(call, response)])
        context.deadlines.cancel((CLASSIC_JOIN, request.group, member.member_id))
        emitted = [_session(context, group, member, now_us), _await(context, group, member, CLASSIC_SYNC, now_us)]
        return Decision((), [(call, response)], [one for one in emitted if one is not None])

    return then


# --- SyncGroup and Heartbeat -----------------------------------------------------------------------------------------


def sync(context: GroupContext, group: ConsumerGroup, request: SyncGroupRequest, call: Call, now_us: int) -> Decision:
    """SyncGroup (API 14) to a consumer group: it gets what the member is assigned by now.

    Answers UNKNOWN_MEMBER_ID (also for a member of the new protocol), FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS (it lags behind the assignment epoch), NONE.
    """
    member = _classic_member(group, request.member_id, request.instance_id, request.generation)
    if isinstance(member, ErrorCode) or member.classic is None:
        refused = member if isinstance(member, ErrorCode) else _E.UNKNOWN_MEMBER_ID
        return Decision((), [(call, SyncGroupResponse(refused))])
    known = member.classic.protocol
    if request.protocol_type not in (None, "consumer") or request.protocol not in (None, known):
        return Decision((), [(call, SyncGroupResponse(_E.INCONSISTENT_GROUP_PROTOCOL))])
    revokes = member.state is MemberAssignmentState.UNREVOKED_PARTITIONS
    if group.assignment_epoch > member.epoch and not revokes:
        reached("migration: a classic member syncs too late")
        awaited = _await(context, group, member, CLASSIC_JOIN, now_us)
        emitted: list[Event] = [awaited] if awaited is not None else []
        return Decision((), [(call, SyncGroupResponse(_E.REBALANCE_IN_PROGRESS))], emitted)
    assigned = tuple(sorted(member.assigned))

    def then(error: ErrorCode, now_us: int) -> Decision:
        failed = coordinator_error(error)
        if failed is not _E.NONE:
            return Decision((), [(call, SyncGroupResponse(failed))])
        decision = Decision((), [(call, SyncGroupResponse(_E.NONE, request.protocol or known, assigned))])
        held = context.consumer_groups.get(request.group)
        if held is not None and request.member_id in held.members:
            context.deadlines.cancel((CLASSIC_SYNC, request.group, request.member_id))
            decision.events += [_awaited(held, member, "SyncGroup", NOT_ARMED), _session(context, held, member, now_us)]
        return decision

    return Decision(then=then, after_log=True)


def heartbeat(
    context: GroupContext, group: ConsumerGroup, request: HeartbeatRequest, call: Call, now_us: int
) -> Decision:
    """Heartbeat (API 12) to a consumer group.

    Answers UNKNOWN_MEMBER_ID (also for a member of the new protocol), FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS (the session begins anew all the same), NONE.
    """
    member = _classic_member(group, request.member_id, request.instance_id, request.generation)
    if isinstance(member, ErrorCode):
        return Decision((), [(call, HeartbeatResponse(member))], [_beat(group, request, member, NOT_ARMED)])
    renewed = _session(context, group, member, now_us)
    error, emitted = _E.NONE, []
    if _must_rejoin(group, member):
        reached("migration: a classic member has to rejoin")
        error = _E.REBALANCE_IN_PROGRESS
        awaited = _await(context, group, member, CLASSIC_JOIN, now_us)
        emitted = [awaited] if awaited is not None else []

    def then(failure: ErrorCode, now_us: int) -> Decision:
        del now_us
        failed = coordinator_error(failure)
        answer = error if failed is _E.NONE else failed
        until_us = session_deadline_us(context, request.group, request.member_id)
        return Decision((), [(call, HeartbeatResponse(answer))], [_beat(group, request, answer, until_us)])

    return Decision((), [], list(emitted), then=then, after_log=True, waiting=[renewed])


def _must_rejoin(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Whether a JoinGroup would bring a classic member nearer to its target."""
    if member.epoch < group.assignment_epoch or member.state is MemberAssignmentState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberAssignmentState.UNRELEASED_PARTITIONS and not group.waits_for_release(member)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> ConsumerGroupMember | ErrorCode:
    """The sender, if it is a classic member in its epoch; else the error that refuses it."""
    if instance_id is not None:
        current = group.static_members.get(instance_id)
        if current is None:
            return _E.UNKNOWN_MEMBER_ID
        if current != member_id:
            return _E.FENCED_INSTANCE_ID
    member = group.members.get(member_id)
    if member is None or member.classic is None:
        return _E.UNKNOWN_MEMBER_ID
    if member.epoch != generation:
        reached("migration: a classic member of another generation")
        return _E.ILLEGAL_GENERATION
    return member


def _beat(group: ConsumerGroup, request: HeartbeatRequest, error: ErrorCode, until_us: int) -> HeartbeatAnswered:
    member = group.members.get(request.member_id)
    return HeartbeatAnswered(
        group=group.group_id,
        member=sender_of(request) if member is None else member.client_id,
        member_id=request.member_id,
        error=error.name,
        session_deadline_us=until_us,
    )


# --- LeaveGroup ------------------------------------------------------------------------------------------------------


def leave(context: GroupContext, group: ConsumerGroup, request: LeaveGroupRequest, call: Call, now_us: int) -> Decision:
    """LeaveGroup (API 13), v3+, to a consumer group: a batch, with an error for each member, of either protocol.

    Answers for each member UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or NONE.
    """
    answers, departures = [], {}
    for leaving in request.members:
        member = _leaver(group, leaving)
        error = member if isinstance(member, ErrorCode) else _E.NONE
        if not isinstance(member, ErrorCode):
            departures[member.member_id] = Departure(member, cause_of_leaving(leaving.reason), leaving.reason)
        answers.append((leaving.member_id, leaving.instance_id, error))
    write = GroupWrite(context, group, now_us)
    if departures:
        remove(write, list(departures.values()))

    def then(error: ErrorCode, now_us: int) -> Decision:
        del now_us
        done = error is _E.NONE
        return Decision((), [(call, LeaveGroupResponse(coordinator_error(error), tuple(answers) if done else ()))])

    return write.decision(then)


def _leaver(group: ConsumerGroup, leaving: LeavingMember) -> ConsumerGroupMember | ErrorCode:
    """The member that leaves; an instance id with an empty member id is an administrator's removal."""
    if leaving.instance_id is None:
        return group.members.get(leaving.member_id) or _E.UNKNOWN_MEMBER_ID
    current = group.static_members.get(leaving.instance_id)
    if current is None:
        return _E.UNKNOWN_MEMBER_ID
    if leaving.member_id not in (NO_MEMBER, current):
        return _E.FENCED_INSTANCE_ID
    return group.members[current]


# --- timers ----------------------------------------------------------------------------------------------------------


def classic_deadline(context: GroupContext, group: ConsumerGroup, kind: int, member_id: str, now_us: int) -> Decision:
    """Remove a member that did not join, or did not sync, within its rebalance timeout."""
    member = group.members.get(member_id)
    if member is None:
        return Decision()
    reached("migration: a classic member did not join" if kind == CLASSIC_JOIN else "migration: it did not sync")
    cause = RebalanceCause.POLL_INTERVAL_EXCEEDED if kind == CLASSIC_JOIN else RebalanceCause.SYNC_TIMED_OUT
    write = GroupWrite(context, group, now_us)
    remove(write, [Departure(member, cause)])
    return write.decision(retrying(context, (kind, group.group_id, member_id)))


def _await(
    context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember, kind: int, now_us: int
) -> ClassicMemberAwaited | None:
    """Give a member its rebalance timeout to send a JoinGroup, unless that time runs already, or a SyncGroup."""
    name = kind, group.group_id, member.member_id
    if kind == CLASSIC_JOIN and context.deadlines.get(name) is not None:
        return None
    until_us = now_us + 1_000 * member.rebalance_timeout_ms
    context.deadlines.set(name, until_us)
    return _awaited(group, member, "JoinGroup" if kind == CLASSIC_JOIN else "SyncGroup", until_us)


def _awaited(group: ConsumerGroup, member: ConsumerGroupMember, request: str, until_us: int) -> ClassicMemberAwaited:
    return ClassicMemberAwaited(
        group=group.group_id, member=member.client_id, member_id=member.member_id, request=request, until_us=until_us
    )


def _session(context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember, now_us: int) -> SessionRenewed:
    assert member.classic is not None
    timeout_us = 1_000 * member.classic.session_timeout_ms
    deadline_us = arm_session(context, group.group_id, member.member_id, now_us, timeout_us)
    return SessionRenewed(
        group=group.group_id, member=member.client_id, member_id=member.member_id, session_deadline_us=deadline_us
    )
