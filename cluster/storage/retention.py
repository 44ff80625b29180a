"""Which of a log's oldest segments may go: `retention.ms`, `retention.bytes`, and what lies below the log's start.

Segments are worked out when somebody looks, every `log.retention.check.interval.ms`: where they begin follows from the
batches alone. A new one begins with the batch that would make the last one larger than `segment.bytes`, or that is more
than `segment.ms` younger than its first. Only whole segments below the high watermark go; when all of them are too old
the active one is rolled, and goes too. Source: `UnifiedLog.deleteOldSegments`, `LogSegment.shouldRoll`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.packed_batches import Chunk, Oldest
from cluster.storage.partition_log import PartitionLog

MS = 1_000
FOREVER = -1


class Retention(NamedTuple):
    """What a topic's configuration says; FOREVER (-1) keeps whatever the age or size."""

    retention_us: int
    retention_bytes: int
    segment_bytes: int
    segment_us: int


def retention_of(config: Mapping[str, object]) -> Retention:
    """A topic's retention."""
    retention_ms = cast(int, config["retention.ms"])
    return Retention(
        retention_ms * MS if retention_ms >= 0 else FOREVER,
        cast(int, config["retention.bytes"]),
        cast(int, config["segment.bytes"]),
        cast(int, config["segment.ms"]) * MS,
    )


class Segment(NamedTuple):
    """A stretch of the log; `newest_us` is its largest timestamp."""

    next_offset: int
    bytes: int
    newest_us: int


def segments(log: PartitionLog, retention: Retention) -> Iterator[Segment]:
    """A log's segments, oldest first; the last is the active one."""
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
    """Where a log's segments begin; one of an internal topic counts as one segment."""
    oldest = log.batches.oldest
    starts = [oldest.base_offset if oldest is not None else log.log_start]
    if retention is not None:
        starts += [segment.next_offset for segment in segments(log, retention)][:-1]
    return starts


def _timestamps(piece: Chunk | RecordBatch) -> tuple[int, int]:
    """The first and the largest one."""
    if isinstance(piece, Chunk):
        return piece.oldest.created_us, piece.newest_us
    return piece.created_us, piece.created_us


def first_kept(log: PartitionLog, retention: Retention, high_watermark: int, now_us: int) -> int:
    """Where the log begins after its old segments are gone; its present beginning when none may go."""
    oldest = log.batches.oldest
    if oldest is None:
        return log.log_start
    begin = oldest.base_offset
    if not _may_go(log, oldest, retention, now_us):
        return begin
    too_much = log.bytes - retention.retention_bytes if retention.retention_bytes >= 0 else FOREVER
    for segment in segments(log, retention):
        too_old = retention.retention_us >= 0 and now_us - segment.newest_us > retention.retention_us
        too_large = too_much >= segment.bytes
        if high_watermark < segment.next_offset or not (too_old or too_large or segment.next_offset <= log.log_start):
            break
        too_much -= segment.bytes
        begin = segment.next_offset
    return begin


def _may_go(log: PartitionLog, oldest: Oldest, retention: Retention, now_us: int) -> bool:
    """Whether it is worth looking: most logs are young, small and whole."""
    return (
        (retention.retention_us >= 0 and now_us - oldest.created_us > retention.retention_us)
        or 0 <= retention.retention_bytes < log.bytes
        or oldest.next_offset <= log.log_start
    )
