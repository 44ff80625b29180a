"""Which of a log's oldest segments are deleted: by `retention.ms`, by `retention.bytes`, and below the log's start.

Segments are computed at each check, every `log.retention.check.interval.ms`, from the batches alone. A batch begins a
new segment when the last one would become larger than `segment.bytes`, or when its first batch is more than
`segment.ms` older. Only whole segments below the high watermark are deleted. When all of them are too old, the active
segment is rolled and deleted too. Source: `UnifiedLog.deleteOldSegments`, `LogSegment.shouldRoll`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.log_config import FOREVER, Retention
from cluster.storage.packed_batches import Chunk, Oldest
from cluster.storage.partition_log import PartitionLog


class Segment(NamedTuple):
    """A segment of the log; `newest_us` is its largest timestamp."""

    next_offset: int
    bytes: int
    newest_us: int


def segments(log: PartitionLog, retention: Retention) -> Iterator[Segment]:
    """A log's segments, oldest first; the last is the active one. A log that is compacted knows its own."""
    if log.segments is not None:
        log.segments.read_on(log.batches, log.log_end, retention)
        for segment in log.segments.all:
            yield Segment(segment.next_offset, segment.bytes, segment.newest_us)
        return
    size = first_us = newest_us = end = 0
    for run in log.batches.runs():
        pieces: Iterable[Chunk | RecordBatch] = (run,)
        if isinstance(run, Chunk):
            since_us = first_us if size else run.oldest.created_us
            rolls = size + run.bytes > retention.segment_bytes or run.newest_us - since_us > retention.segment_us
            pieces = run if rolls else pieces
        for piece in pieces:
            created_us, youngest_us = _timestamps(piece)
            too_large = size + piece.bytes > retention.segment_bytes
            if size and (too_large or created_us - first_us > retention.segment_us):
                yield Segment(end, size, newest_us)
                size = 0
            if not size:
                first_us = newest_us = created_us
            size += piece.bytes
            newest_us = max(newest_us, youngest_us)
            end = piece.next_offset
    if size:
        yield Segment(end, size, newest_us)


def segment_starts(log: PartitionLog, retention: Retention | None) -> list[int]:
    """The base offsets of a log's segments; the log of an internal topic counts as one segment."""
    oldest = log.batches.oldest
    starts = [oldest.base_offset if oldest is not None else log.log_start]
    if log.segments is not None and retention is not None:
        log.segments.read_on(log.batches, log.log_end, retention)
        return [segment.base_offset for segment in log.segments.all]
    if retention is not None:
        starts += [segment.next_offset for segment in segments(log, retention)][:-1]
    return starts


def _timestamps(piece: Chunk | RecordBatch) -> tuple[int, int]:
    """The first and the largest timestamp."""
    if isinstance(piece, Chunk):
        return piece.oldest.created_us, piece.newest_us
    return piece.created_us, piece.created_us


def first_kept(log: PartitionLog, retention: Retention, high_watermark: int, now_us: int) -> int:
    """The first offset after the segments that retention deletes; the log's present beginning when there are none."""
    oldest = log.batches.oldest
    if oldest is None:
        return log.log_start
    begin = oldest.base_offset if log.segments is None else log.log_start  # compaction moves no start
    if not _may_have_old_segments(log, oldest, retention, now_us):
        return begin
    excess_bytes = log.bytes - retention.retention_bytes if retention.retention_bytes >= 0 else FOREVER
    for segment in segments(log, retention):
        too_old = retention.retention_us >= 0 and now_us - segment.newest_us > retention.retention_us
        too_large = excess_bytes >= segment.bytes
        if high_watermark < segment.next_offset or not (too_old or too_large or segment.next_offset <= log.log_start):
            break
        excess_bytes -= segment.bytes
        begin = segment.next_offset
    return begin


def _may_have_old_segments(log: PartitionLog, oldest: Oldest, retention: Retention, now_us: int) -> bool:
    """A cheap check, which most logs (young, small, whole) fail."""
    return (
        (retention.retention_us >= 0 and now_us - oldest.created_us > retention.retention_us)
        or 0 <= retention.retention_bytes < log.bytes
        or oldest.next_offset <= log.log_start
    )
