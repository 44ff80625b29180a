"""Replay of a group's offsets: commits, tombstones and transaction markers.

A transaction's offsets wait in `group.transactional_offsets` for its marker. A plain commit of the partition that is
later in the log than a pending one stays in force: `group.log_positions` keeps their order while a transaction is open.
Source: Kafka's `OffsetMetadataManager.replay`, `replayEndTransactionMarker`.
"""

from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.records import CommittedOffset
from cluster.protocol.record_batch import NO_PRODUCER_ID
from cluster.reach import reached


def replay_offset(group: GroupOffsets, record: CommittedOffset) -> None:
    """Apply an offset of the log: to the group, or as pending if it is part of a transaction."""
    if record.producer_id != NO_PRODUCER_ID:
        pending = group.transactional_offsets.setdefault(record.producer_id, {})
        pending[record.partition] = (_next_log_position(group), record)
        return
    group.logged_offsets[record.partition] = record
    if group.transactional_offsets:
        group.log_positions[record.partition] = _next_log_position(group)


def replay_offset_tombstone(group: GroupOffsets, partition: str) -> None:
    """Remove the group's offset of a partition, also a pending one. Fetches see it until the tombstone is committed."""
    group.logged_offsets.pop(partition, None)
    for pending in group.transactional_offsets.values():
        pending.pop(partition, None)
    _overtake(group, partition)


def replay_marker(group: GroupOffsets, producer_id: int, *, committed: bool) -> dict[str, int]:
    """End a producer's transaction: after COMMIT its pending offsets count, except where a later commit is in force.

    Returns the offsets that count now. A marker of a producer without pending offsets has no effect.
    """
    pending = group.transactional_offsets.pop(producer_id, {})
    stored = {}
    for partition, (place, record) in pending.items() if committed else ():
        if place > group.log_positions.get(partition, -1):
            group.logged_offsets[partition] = group.offsets[partition] = record
            group.log_positions[partition] = place
            _overtake(group, partition)
            stored[partition] = record.offset
        else:
            reached("offsets: a transaction's are older")
    if not group.transactional_offsets:
        group.log_positions.clear()
    return stored


def has_open_transaction(group: GroupOffsets, partition: str) -> bool:
    """Whether an offset of this partition waits for a transaction's marker."""
    return any(partition in pending for pending in group.transactional_offsets.values())


def _overtake(group: GroupOffsets, partition: str) -> None:
    """Drop the partition from pending commits: the record just applied is later in the log."""
    for commit in group.pending_commits:
        commit.records = [record for record in commit.records if record.partition != partition]


def _next_log_position(group: GroupOffsets) -> int:
    group.last_log_position += 1
    return group.last_log_position
