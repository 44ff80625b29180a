"""Online migration: a classic group with members becomes a consumer group, and a consumer group a classic one.

Theory of operation. The first member of the new protocol upgrades a classic group, if the policy and the members allow
it. The last generation becomes group, assignment and member epoch, the last assignment the target, and every member
speaks the classic protocol until it is restarted. The last member of the new protocol downgrades the group when it
leaves, is removed, or is replaced by a classic one under its instance id: the targets become the assignment of a
Stable group, which then rebalances. Both are one batch of records, the tombstones of one kind before the records of
the other, so that a failover replays the whole conversion or none of it.
Source: Kafka's `GroupMetadataManager` (validateOnlineUpgrade, convertToConsumerGroup, validateOnlineDowngrade…,
convertToClassicGroup), `ConsumerGroup.fromClassicGroup`, `ClassicGroup.fromConsumerGroup`.
"""

from collections.abc import Collection
from functools import partial

from cluster.coordinators.consumer_group.admin import group_tombstones
from cluster.coordinators.consumer_group.consumer_group import CONSUMER_PROTOCOL_TYPE, ConsumerGroup
from cluster.coordinators.consumer_group.member import ClassicMemberMetadata, ConsumerGroupMember
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.consumer_group.writing import MEMBER_TIMERS, GroupWrite
from cluster.coordinators.decision import Call, Draft
from cluster.coordinators.group.context import ALREADY_ANSWERED, GroupContext
from cluster.coordinators.group.group import JOIN_BARRIER, REGEX, SESSION, SYNC, ClassicGroup, GroupMember
from cluster.coordinators.group.join_barrier import prepare_rebalance
from cluster.coordinators.group.rebalance_causes import Trigger
from cluster.coordinators.group.states import GroupEvent, GroupState
from cluster.coordinators.records import ConsumerGroupEpoch, GroupTombstone, TargetAssignmentMetadata
from cluster.events import (
    ClassicGroupUpgraded,
    ConsumerGroupDowngraded,
    Event,
    GroupConversionRefused,
    SessionRenewed,
)
from cluster.protocol.api import Response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupResponse, SyncGroupResponse
from cluster.reach import reached

_E = ErrorCode


# --- a classic group becomes a consumer group ------------------------------------------------------------------------


def upgrade(context: GroupContext, classic: ClassicGroup, client_id: str, now_us: int) -> GroupWrite | Refusal:
    """Begin the write that makes a classic group with members a consumer group, for a member of the new protocol.

    Answers GROUP_ID_NOT_FOUND (policy, protocol type, size), or UNKNOWN_SERVER_ERROR: Kafka throws before the group's
    first generation, and for a member without the generation's protocol.
    """
    reason = _why_not_upgraded(context, classic)
    if reason:
        reached("migration: no upgrade")
        name, of = classic.group_id, context.broker
        words = f"Cannot upgrade classic group {name} to consumer group because {reason}."
        noted = GroupConversionRefused(group=name, broker=of, protocol="consumer", reason=reason, member=client_id)
        return Refusal(_E.GROUP_ID_NOT_FOUND, words, noted)
    if not all(classic.protocol in member.protocols for member in classic.members.values()):
        reached("migration: the classic group has no generation yet")
        return Refusal(
            _E.UNKNOWN_SERVER_ERROR, "The server experienced an unexpected error when processing the request."
        )
    _reach(classic)
    group = _consumer_group_of(context, classic)
    write = GroupWrite(context, group, now_us)
    _write_upgrade(write)
    sessions_us = {name: now_us + 1_000 * member.session_timeout_ms for name, member in classic.members.items()}
    write.facts.append(_upgraded(context, group, sessions_us))
    write.replies = _parked(classic)
    write.when_appended.append(partial(_replace_classic, context, classic, sessions_us))
    write.when_refused = partial(_go_on_classic, context, classic)
    return write


def _reach(classic: ClassicGroup) -> None:
    if classic.state is GroupState.PREPARING_REBALANCE:
        reached("migration: upgrade at the join barrier")
    elif classic.state is GroupState.COMPLETING_REBALANCE:
        reached("migration: upgrade before the assignment")
    else:
        reached("migration: upgrade of a stable group")


def _why_not_upgraded(context: GroupContext, classic: ClassicGroup) -> str:
    if not context.settings.upgrades:
        return "online upgrade is disabled"
    if classic.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return "the group does not use the consumer embedded protocol"
    if len(classic.members) > context.settings.consumer_max_size:
        return "the group size exceeds the consumer group maximum size"
    return ""


def _consumer_group_of(context: GroupContext, classic: ClassicGroup) -> ConsumerGroup:
    """The consumer group that the records will make; nothing holds it until they are replayed."""
    group, epoch = ConsumerGroup(classic.group_id), classic.generation
    group.epoch = group.assignment_epoch = epoch
    group.assigned_at_us = 0
    for member in classic.members.values():
        subscription = member.protocols[classic.protocol]
        assigned = () if classic.assignment_reset else member.assignment
        group.targets[member.member_id] = assigned
        group.put_member(
            ConsumerGroupMember(
                member_id=member.member_id,
                client_id=member.client_id,
                instance_id=member.instance_id,
                rack_id=subscription.rack or None,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                topics=tuple(sorted(subscription.topics)),
                epoch=epoch,
                previous_epoch=epoch,
                assigned=dict.fromkeys(assigned, epoch),
                classic=ClassicMemberMetadata(member.session_timeout_ms, tuple(member.protocols.items())),
            )
        )
    group.metadata_hash = context.topics.hash_of(group.subscribed_topics(group.members.values()))
    return group


def _write_upgrade(write: GroupWrite) -> None:
    """The classic group's tombstone and the consumer group's records, in Kafka's order."""
    group, members = write.group, list(write.group.members.values())
    write.records.append(GroupTombstone(group.group_id))
    for member in members:
        write.metadata(member)
    write.records.append(ConsumerGroupEpoch(group.group_id, group.epoch, group.metadata_hash))
    for member in members:
        write.target(member.member_id, group.targets[member.member_id])
    write.records.append(TargetAssignmentMetadata(group.group_id, group.assignment_epoch, group.assigned_at_us))
    for member in members:
        write.current(member)


def _upgraded(context: GroupContext, group: ConsumerGroup, sessions_us: dict[str, int]) -> ClassicGroupUpgraded:
    members = group.members
    return ClassicGroupUpgraded(
        group=group.group_id,
        broker=context.broker,
        epoch=group.epoch,
        members={name: member.client_id for name, member in members.items()},
        instance_ids={name: member.instance_id for name, member in members.items() if member.instance_id is not None},
        topics={name: member.topics for name, member in members.items()},
        assigned=dict(group.targets),
        session_deadlines_us=dict(sessions_us),
    )


def _parked(classic: ClassicGroup) -> list[tuple[Call, Response]]:
    """REBALANCE_IN_PROGRESS for the calls that the classic group has parked: their members join again."""
    error = _E.REBALANCE_IN_PROGRESS
    joins = [
        (call, JoinGroupResponse(error, member_id=name))
        for name, call in classic.parked_joins.items()
        if call is not ALREADY_ANSWERED
    ]
    return [*joins, *[(call, SyncGroupResponse(error)) for call in classic.parked_syncs.values()]]


def _replace_classic(context: GroupContext, classic: ClassicGroup, sessions_us: dict[str, int]) -> list[Event]:
    """End what the classic group had begun, and start its members' sessions in the consumer group."""
    name = classic.group_id
    context.deadlines.cancel((JOIN_BARRIER, name, ""))
    context.deadlines.cancel((SYNC, name, ""))
    for member_id in classic.pending:
        context.deadlines.cancel((SESSION, name, member_id))
    for member_id, at_us in sessions_us.items():
        context.deadlines.set((SESSION, name, member_id), at_us)
    classic.retire()
    return []


def _go_on_classic(context: GroupContext, classic: ClassicGroup, now_us: int) -> list[Event]:
    """Go on as a classic group, whose parked calls have their answers: the log refused the conversion."""
    reached("migration: the upgrade is not written")
    classic.parked_joins = dict.fromkeys(classic.parked_joins, ALREADY_ANSWERED)
    emitted: list[Event] = []
    for member_id in classic.parked_syncs:
        member = classic.members[member_id]
        if member_id not in classic.parked_joins:
            at_us = context.arm(member, now_us)
            emitted.append(
                SessionRenewed(
                    group=classic.group_id, member=member.client_id, member_id=member_id, session_deadline_us=at_us
                )
            )
    classic.parked_syncs.clear()
    return emitted


# --- a consumer group becomes a classic group ------------------------------------------------------------------------


def may_downgrade(write: GroupWrite, leaving: Collection[str]) -> bool:
    """Whether the group becomes classic when these members leave; notes what configuration forbids it."""
    group = write.group
    left = len(group.members) - len(leaving)
    if left <= 0 or len(group.classic_members(leaving)) != left:
        return False
    return _allowed(write, left)


def may_downgrade_for(write: GroupWrite, replaced: ConsumerGroupMember) -> bool:
    """Whether the group becomes classic when a classic member takes this one's place under its instance id."""
    group = write.group
    if replaced.classic is not None or len(group.classic_members()) != len(group.members) - 1:
        return False
    return _allowed(write, len(group.members))


def _allowed(write: GroupWrite, size: int) -> bool:
    settings, reason = write.context.settings, ""
    if not settings.downgrades:
        reason = "the online downgrade is disabled"
    elif size > settings.max_size:
        reason = "its group size is greater than classic group max size"
    if reason:
        reached("migration: no downgrade")
        of = write.context.broker
        write.facts.append(
            GroupConversionRefused(group=write.group.group_id, broker=of, protocol="classic", reason=reason)
        )
    return not reason


def downgrade(
    write: GroupWrite,
    leaving: Collection[str],
    trigger: Trigger | None,
    joining: ConsumerGroupMember | None = None,
) -> None:
    """Write the classic group of the members that stay; `trigger`: of the rebalance that follows, None for none.

    `joining`: the classic member that has taken the place of a static member of the new protocol.
    """
    reached("migration: downgrade" if joining is None else "migration: downgrade for a static member")
    group, replaced = write.group, ""
    if joining is not None and joining.instance_id is not None:
        replaced = group.static_members[joining.instance_id]
    write.records.extend(group_tombstones(group, {replaced: joining.member_id} if joining is not None else {}))
    classic = ClassicGroup(group.group_id, write.now_us)
    stay = [one for name, one in group.members.items() if name not in leaving and name != replaced]
    for member in (*stay, joining):
        if member is not None:
            _add(classic, member, group.targets.get(replaced if member is joining else member.member_id, ()))
    classic.generation, classic.protocol = group.epoch, classic.select_protocol()
    classic.transition(GroupEvent.LOADED, write.now_us)
    write.records.append(classic.record(classic.assignment))
    write.when_appended.append(partial(_begin_classic, write, classic, trigger))


def _add(classic: ClassicGroup, member: ConsumerGroupMember, target: tuple[str, ...]) -> None:
    assert member.classic is not None
    added = GroupMember(
        classic.group_id,
        member.member_id,
        member.instance_id,
        member.client_id,
        (member.classic.session_timeout_ms, member.rebalance_timeout_ms),
        dict(member.classic.protocols),
    )
    added.assignment = target
    classic.add(added, CONSUMER_PROTOCOL_TYPE)


def _begin_classic(write: GroupWrite, classic: ClassicGroup, trigger: Trigger | None) -> list[Event]:
    """Hold the classic group in the place of the one that its records made, which knows only what a log keeps."""
    context, group, name = write.context, write.group, classic.group_id
    for member_id in (*group.members, *classic.members):
        for kind in MEMBER_TIMERS:
            context.deadlines.cancel((kind, name, member_id))
            context.revoking_epochs.pop((kind, name, member_id), None)
    context.deadlines.cancel((REGEX, name, ""))
    replayed = context.groups.pop(name)
    classic.take_over(group)
    classic.stored = replayed.stored
    context.groups[name] = classic
    sessions_us = {member.member_id: context.arm(member, write.now_us) for member in classic.members.values()}
    draft = Draft(write.now_us)
    if trigger is not None:
        prepare_rebalance(context, classic, trigger, draft)
    downgraded = ConsumerGroupDowngraded(
        group=name,
        broker=context.broker,
        generation=classic.generation,
        protocol=classic.protocol,
        leader=classic.leader_name,
        members={member_id: member.client_id for member_id, member in classic.members.items()},
        assignment=classic.assignment,
        session_deadlines_us=sessions_us,
    )
    return [downgraded, *draft.events]
