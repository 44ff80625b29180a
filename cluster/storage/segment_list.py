"""The segments of a log that compaction cleans: where each begins, and how far the log is cleaned.

A log without compaction works its segments out when retention looks, from the batches (`cluster.storage.retention`).
Compaction changes the sizes of batches, and must not move the borders of segments: so a compacted log keeps them. They
are read from the batches when they are needed, by the same rule (`LogSegment.shouldRoll`). The last segment is the
active one. `first_dirty` is the cleaner's checkpoint; `config` is None while the topic's policy compacts no more: what
was removed stays removed. `removed_markers` (ground truth): the offsets in the log's gaps
at which markers stood, not records. Source: `LogSegments`, `LogCleanerManager`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.batch_list import BatchList
from cluster.storage.log_config import CompactionConfig, Retention
from cluster.storage.offset_ranges import IntervalSet


class LogSegment(NamedTuple):
    """A segment; `next_offset` is where the next one begins. Its first and its largest timestamp, -1 without any."""

    base_offset: int
    next_offset: int
    bytes: int
    first_us: int
    newest_us: int


class SegmentList:
    """The segments of one replica's log."""

    __slots__ = ("active", "closed", "config", "first_dirty", "removed_markers")

    def __init__(self, config: CompactionConfig, log_start: int = 0) -> None:
        self.config: CompactionConfig | None = config
        self.start_over(log_start)

    @property
    def in_force(self) -> CompactionConfig:
        """The configuration of a log that is compacted now."""
        assert self.config is not None
        return self.config

    def start_over(self, offset: int) -> None:
        """The log was emptied and continues at an offset."""
        self.closed: list[LogSegment] = []
        self.active = LogSegment(offset, offset, 0, -1, -1)
        self.first_dirty = offset
        self.removed_markers = IntervalSet()

    @property
    def all(self) -> list[LogSegment]:
        """All segments, the active one last."""
        return [*self.closed, self.active]

    def read_on(self, batches: BatchList, log_end: int, retention: Retention) -> None:
        """Read the batches that were appended since the last look, and roll segments for them."""
        if self.active.next_offset < log_end:
            for batch in batches.since(self.active.next_offset):
                if batch.next_offset > self.active.next_offset:
                    self._append(batch, retention)

    def _append(self, batch: RecordBatch, retention: Retention) -> None:
        active, created_us = self.active, batch.created_us
        if active.bytes:
            too_large = active.bytes + batch.bytes > retention.segment_bytes
            if too_large or created_us - active.first_us > retention.segment_us:
                self.roll(batch.base_offset)
                active = self.active
        self.active = LogSegment(
            active.base_offset,
            batch.next_offset,
            active.bytes + batch.bytes,
            active.first_us if active.bytes else created_us,
            max(active.newest_us, created_us),
        )

    def records_in(self, first: int, end: int) -> int:
        """How many records producers had appended at the offsets of a gap, first … end - 1."""
        return end - first - self.removed_markers.covered(first, end)

    def copy_markers(self, leader: "SegmentList", first: int, end: int) -> None:
        """A gap of the leader's log, first … end - 1, is one of this log, too."""
        for start, stop in leader.removed_markers.ranges():
            if start < end and stop > first:
                self.removed_markers.add(max(start, first), min(stop, end))

    def roll(self, offset: int) -> None:
        """Begin a new active segment."""
        self.closed.append(self.active._replace(next_offset=offset))
        self.active = LogSegment(offset, offset, 0, -1, -1)

    def truncate_to(self, offset: int) -> None:
        """The log was truncated: the segment that holds its new end is the active one, and is read again."""
        self.first_dirty = min(self.first_dirty, offset)
        self.removed_markers.truncate(offset)
        if offset >= self.active.next_offset:
            return
        base = self.active.base_offset
        while self.closed and base > offset:
            base = self.closed.pop().base_offset
        base = min(base, offset)
        self.active = LogSegment(base, base, 0, -1, -1)

    def drop_before(self, offset: int) -> None:
        """The batches that end at or before an offset were deleted."""
        self.removed_markers.drop_before(offset)
        self.closed = [segment for segment in self.closed if segment.next_offset > offset]
        if not self.closed and self.active.next_offset <= offset:
            self.active = LogSegment(offset, offset, 0, -1, -1)

    def cleaned(self, end: int, batches: Sequence[RecordBatch], most_bytes: int) -> None:
        """The segments that begin below `end` were cleaned and hold these batches now (`Cleaner.groupSegmentsBySize`).

        Neighbours that were small together before have become one segment.
        """
        count = sum(segment.base_offset < end for segment in self.closed)
        cleaned, place = list[LogSegment](), 0
        for group in grouped(self.closed[:count], most_bytes):
            base, following = group[0].base_offset, group[-1].next_offset
            size, first_us, newest_us = 0, -1, -1
            while place < len(batches) and batches[place].base_offset < following:
                batch = batches[place]
                first_us = batch.created_us if not size else first_us
                size, newest_us, place = size + batch.bytes, max(newest_us, batch.created_us), place + 1
            newest_us = newest_us if size else group[-1].newest_us  # an empty one has its file's time
            cleaned.append(LogSegment(base, following, size, first_us, newest_us))
        self.closed[:count] = cleaned
        self.first_dirty = end


def grouped(segments: Sequence[LogSegment], most_bytes: int) -> list[list[LogSegment]]:
    """Successive segments, each group within a segment's size. Source: `Cleaner.groupSegmentsBySize`."""
    groups: list[list[LogSegment]] = []
    size = 0
    for segment in segments:
        if groups and size + segment.bytes <= most_bytes:
            groups[-1].append(segment)
            size += segment.bytes
        else:
            groups.append([segment])
            size = segment.bytes
    return groups
