"""The expiration of offsets and groups (offsets.retention.minutes, KIP-211).

The coordinator checks every offsets.retention.check.interval.ms from its loading on. The retention of an Empty group's
offsets counts from the transition to Empty. It counts from the commit for a Stable consumer group's offsets of topics
that no member subscribes to, and for a group that only stores offsets. A partition with an open transaction's offset is
kept. A group without offsets and members is deleted.
Source: Kafka's `OffsetMetadataManager.cleanupExpiredOffsets`, `ClassicGroup.offsetExpirationCondition`.
"""

from collections.abc import Collection

from cluster.coordinators.consumer_group.admin import group_tombstones
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.decision import Draft
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import RETENTION, SESSION, ClassicGroup
from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.group.offset_replay import has_open_transaction
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.records import CommittedOffset, GroupTombstone, OffsetTombstone
from cluster.events import GroupDeleted, OffsetsDeleted, OffsetsExpired
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import TopicPartition
from cluster.reach import reached

RETENTION_CHECK = (RETENTION, "", "")


def schedule_check(context: GroupContext, now_us: int) -> None:
    """Set the next check."""
    context.deadlines.set(RETENTION_CHECK, now_us + context.settings.retention_check_interval_us)


def retention_deadline(context: GroupContext, draft: Draft) -> None:
    """Write tombstones for expired offsets, and for groups left without offsets and members."""
    for group in context.groups.values():
        expired = expired_partitions(context, group, draft.now_us)
        nothing_left = len(expired) == len(group.logged_offsets) and not group.transactional_offsets
        unused = nothing_left and group.state is GroupState.EMPTY and not group.pending_commits
        if expired:
            reached("offsets: expired")
        if unused:
            reached("offsets: the group expired")
        write_tombstones(context, group, expired, draft, group_too=unused)
    for consumer_group in context.consumer_groups.values():
        expired = expired_of(
            context, consumer_group, consumer_group.subscribed_topics(consumer_group.members.values()), draft.now_us
        )
        nothing_left = len(expired) == len(consumer_group.logged_offsets) and not consumer_group.transactional_offsets
        unused = nothing_left and not consumer_group.members and not consumer_group.pending_commits
        drop_consumer_group(context, consumer_group, expired, draft, group_too=unused)
    schedule_check(context, draft.now_us)


def drop_consumer_group(
    context: GroupContext, group: ConsumerGroup, partitions: tuple[str, ...], draft: Draft, *, group_too: bool
) -> None:
    """Write tombstones for offsets of a group of the new protocol, and for the group, which is gone at once."""
    write_tombstones(context, group, partitions, draft, group_too=False)
    if group_too:
        draft.records.extend(group_tombstones(group))
        draft.when_appended(lambda: [GroupDeleted(group=group.group_id, broker=context.broker)])


def write_tombstones(
    context: GroupContext,
    group: GroupOffsets,
    partitions: tuple[str, ...],
    draft: Draft,
    *,
    group_too: bool,
    dropped_as: type[OffsetsExpired | OffsetsDeleted] = OffsetsExpired,
) -> None:
    """Write tombstones for offsets of these partitions, and for the group; the deletion counts when they are committed.

    A group that a member has joined meanwhile is kept. `dropped_as`: why the offsets go.
    """
    if not partitions and not group_too:
        return
    draft.records.extend(OffsetTombstone(group.group_id, partition) for partition in partitions)
    if group_too:
        draft.records.append(GroupTombstone(group.group_id))

    def committed(error: ErrorCode, later: Draft) -> None:
        held = context.groups.get(group.group_id) or context.consumer_groups.get(group.group_id)
        if (error is not ErrorCode.NONE and error.definite) or held is not group:
            return
        dropped = tuple(
            partition
            for partition in partitions
            if partition in group.offsets and group.offsets[partition] is not group.logged_offsets.get(partition)
        )
        for partition in dropped:
            del group.offsets[partition]
        if dropped:
            later.emit(dropped_as(group=group.group_id, partitions=dropped))
        if group_too and isinstance(group, ClassicGroup) and _nothing_stored(group):
            remove_group(context, group.group_id)
            later.emit(GroupDeleted(group=group.group_id, broker=context.broker))

    draft.when_committed(committed)


def _nothing_stored(group: ClassicGroup) -> bool:
    return group.stored is None and group.state is GroupState.EMPTY and not group.pending_commits


def remove_group(context: GroupContext, group_id: str) -> None:
    """Remove a group with its sessions and pending member ids."""
    group = context.groups.pop(group_id, None)
    if group is not None:
        for member_id in (*group.members, *group.pending):
            context.deadlines.cancel((SESSION, group_id, member_id))


def expired_partitions(context: GroupContext, group: ClassicGroup, now_us: int) -> tuple[str, ...]:
    """Partitions whose offsets have expired, in the order of their first commit."""
    stores_only = not group.protocol_type
    empty = group.state is GroupState.EMPTY and not stores_only
    stable_consumers = group.state is GroupState.STABLE and group.protocol_type == "consumer"
    if not (stores_only or empty or stable_consumers):
        return ()
    topics = {topic for m in group.members.values() for topic in m.protocols[group.protocol].topics}
    return expired_of(context, group, topics, now_us, group.since_us if empty else None)


def expired_of(
    context: GroupContext, group: GroupOffsets, topics: Collection[str], now_us: int, since_us: int | None = None
) -> tuple[str, ...]:
    """The group's expired offsets of other topics. `since_us`: what retention counts from, else each commit."""

    def expires(record: CommittedOffset) -> bool:
        if TopicPartition.parse(record.partition).topic in topics or has_open_transaction(group, record.partition):
            return False
        counted_from_us = record.commit_us if since_us is None else since_us
        return now_us - counted_from_us >= context.settings.offsets_retention_us

    return tuple(partition for partition, record in group.logged_offsets.items() if expires(record))
