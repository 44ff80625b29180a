"""Replay of the records of groups of the new protocol: nothing else changes epochs, members, targets and owners.

Source: the `replay` methods of Kafka's `GroupMetadataManager`.
"""

from msgspec.structs import replace

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, ResolvedRegex
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import NOT_ARMED, ClassicGroup
from cluster.coordinators.records import (
    ConsumerGroupEpoch,
    ConsumerGroupMemberMetadata,
    ConsumerGroupRecord,
    ConsumerGroupTombstone,
    CurrentMemberAssignment,
    RegularExpression,
    TargetAssignmentMember,
    TargetAssignmentMetadata,
)


def replay_consumer_group(context: GroupContext, record: ConsumerGroupRecord) -> None:
    """Apply one record; the first of a group creates it, and takes over the offsets that were stored before."""
    if isinstance(record, ConsumerGroupTombstone):
        group = context.consumer_groups.get(record.group)
        if group is not None:
            _replay_tombstone(context, group, record)
        return
    group = context.consumer_groups.get(record.group) or _created(context, record.group)
    match record:
        case ConsumerGroupMemberMetadata():
            known = group.members.get(record.member_id) or ConsumerGroupMember(record.member_id)
            group.put_member(_with_metadata(known, record))
        case CurrentMemberAssignment():
            known = group.members.get(record.member_id) or ConsumerGroupMember(record.member_id)
            group.put_member(
                replace(
                    known,
                    epoch=record.epoch,
                    previous_epoch=record.previous_epoch,
                    state=record.state,
                    assigned=record.assigned,
                    pending_revocation=record.pending_revocation,
                )
            )
        case ConsumerGroupEpoch():
            group.epoch, group.metadata_hash = record.epoch, record.metadata_hash
        case TargetAssignmentMetadata():
            group.assignment_epoch, group.assigned_at_us = record.epoch, record.at_us
        case TargetAssignmentMember():
            group.targets[record.member_id] = record.partitions
        case RegularExpression():
            group.regexes[record.regex] = ResolvedRegex(record.topics, record.version, record.at_us)


def _with_metadata(member: ConsumerGroupMember, record: ConsumerGroupMemberMetadata) -> ConsumerGroupMember:
    return replace(
        member,
        client_id=record.client_id,
        instance_id=record.instance_id,
        rack_id=record.rack_id,
        rebalance_timeout_ms=record.rebalance_timeout_ms,
        topics=record.topics,
        topic_regex=record.topic_regex,
        assignor=record.assignor,
        classic=record.classic,
    )


def _replay_tombstone(context: GroupContext, group: ConsumerGroup, record: ConsumerGroupTombstone) -> None:
    kind, name = record.key[1], record.key[-1]
    if kind == CurrentMemberAssignment.KEY:
        if name in group.members:
            member = group.members[name]
            group.put_member(replace(member, epoch=-1, previous_epoch=-1, assigned={}, pending_revocation={}))
    elif kind == TargetAssignmentMember.KEY:
        group.targets.pop(name, None)
    elif kind == ConsumerGroupMemberMetadata.KEY:
        group.remove_member(name)
    elif kind == RegularExpression.KEY:
        group.regexes.pop(name, None)
    elif kind == ConsumerGroupEpoch.KEY:
        _removed(context, group)


def _created(context: GroupContext, group_id: str) -> ConsumerGroup:
    group = context.consumer_groups[group_id] = ConsumerGroup(group_id)
    former = context.groups.pop(group_id, None)
    if former is not None:
        group.take_over(former)
    return group


def _removed(context: GroupContext, group: ConsumerGroup) -> None:
    """Drop a group. What offsets it still has belong to a group that only stores them."""
    del context.consumer_groups[group.group_id]
    if group.logged_offsets or group.transactional_offsets:
        kept = context.groups[group.group_id] = ClassicGroup(group.group_id, NOT_ARMED)
        kept.take_over(group)
