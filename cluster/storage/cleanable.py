"""Which log a broker's cleaner takes next, and which part of it.

Theory of operation. A log is clean below its checkpoint (`SegmentList.first_dirty`), and cleanable up to the segment
that holds its last stable offset, up to its active segment, and up to the first segment that is younger than
`min.compaction.lag.ms`. Its dirty ratio is that of the cleanable bytes to the clean and the cleanable ones. Of the logs
above `min.cleanable.dirty.ratio`, and of those with a record older than `max.compaction.lag.ms`, the one with the
highest ratio is cleaned. Source: `org.apache.kafka.storage.internals.log.LogCleanerManager`, `LogToClean`.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cluster.storage.log_config import Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.segment_list import LogSegment, SegmentList

NO_OFFSET: Final = 1 << 62


class LogToClean(NamedTuple):
    """A log that has cleanable bytes or clean ones: what a cleaning would begin with, and where it would end."""

    log: PartitionLog
    segments: SegmentList
    retention: Retention
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    needs_compaction_now: bool

    @property
    def cleanable_ratio(self) -> float:
        """The share of the bytes below the first uncleanable offset that is dirty."""
        return self.cleanable_bytes / (self.clean_bytes + self.cleanable_bytes)

    @property
    def wanted(self) -> bool:
        """Whether the log is dirty enough, or has a record that waits too long."""
        due = self.needs_compaction_now and self.cleanable_bytes > 0
        return due or self.cleanable_ratio > self.segments.in_force.min_cleanable_dirty_ratio


def log_to_clean(log: PartitionLog, retention: Retention, last_stable_offset: int, now_us: int) -> LogToClean | None:
    """What there is to clean in a log; None without any segment but those that cannot be cleaned."""
    segments = log.segments
    assert segments is not None
    segments.read_on(log.batches, log.log_end, retention)
    reset_checkpoint(segments, log.log_start, log.log_end)
    dirty = segments.first_dirty
    bound = max(dirty, first_uncleanable(segments, last_stable_offset, now_us))
    borders = [segment.base_offset for segment in segments.closed if segment.next_offset > bound]
    end = min(borders, default=segments.active.base_offset)
    clean = sum(segment.bytes for segment in segments.all if segment.base_offset < dirty)
    cleanable = sum(segment.bytes for segment in _from(segments.closed, dirty) if segment.base_offset < end)
    if clean + cleanable == 0:
        return None
    return LogToClean(log, segments, retention, end, clean, cleanable, max_lag_exceeded(segments, now_us))


def reset_checkpoint(segments: SegmentList, log_start: int, log_end: int) -> None:
    """Set the checkpoint to the log's start if it is not in the log (`LogCleanerManager.cleanableOffsets`)."""
    if not log_start <= segments.first_dirty <= log_end:
        segments.first_dirty = log_start


def first_uncleanable(segments: SegmentList, last_stable_offset: int, now_us: int) -> int:
    """The first offset that is not decided, not in a closed segment, or too young."""
    young, least_us = NO_OFFSET, segments.in_force.min_compaction_lag_us
    if least_us > 0:
        for segment in _from(segments.closed, segments.first_dirty):
            if segment.newest_us > now_us - least_us:
                young = segment.base_offset
                break
    return min(last_stable_offset, segments.active.base_offset, young)


def max_lag_exceeded(segments: SegmentList, now_us: int) -> bool:
    """Whether a dirty segment began more than `max.compaction.lag.ms` ago (`LogCleanerManager.maxCompactionDelay`)."""
    begun = [segment.first_us for segment in _from(segments.closed, segments.first_dirty) if segment.first_us > 0]
    return min(begun, default=NO_OFFSET) < now_us - segments.in_force.max_compaction_lag_us


def filthiest(logs: Iterable[LogToClean]) -> LogToClean | None:
    """The log to clean next: of those that want it the one with the highest ratio, of equal ones the first."""
    return max((each for each in logs if each.wanted), key=lambda each: each.cleanable_ratio, default=None)


def _from(closed: Sequence[LogSegment], offset: int) -> list[LogSegment]:
    """The closed segments from the one that holds an offset (`LogSegments.nonActiveLogSegmentsFrom`)."""
    return [segment for segment in closed if segment.next_offset > offset]
