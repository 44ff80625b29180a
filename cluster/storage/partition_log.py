"""One replica's log: record batches in offset order, their leader epochs, and the state of their producers.

Replicas share the batches that they hold. A log appends and drops whole batches only. Batches at its end are dropped
when they diverge from the leader's, or were not on disk at a crash of the host. Batches at its beginning are dropped by
retention. The log start may lie inside the held batches: DeleteRecords only forbids reading below it. Disk: Kafka
leaves writing to the operating system. Linux checks every five seconds and writes pages that have been dirty for half a
minute (`dirty_expire_centisecs`, `dirty_writeback_centisecs`). Only `flush.messages` makes a log write earlier. Source:
`org.apache.kafka.storage.internals.log.UnifiedLog`.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from cluster.protocol.record_batch import NO_PRODUCER_ID, RecordBatch
from cluster.storage.batch_list import BatchList
from cluster.storage.compaction import BatchFilter, CleanedTransactions, Compaction, compact, offset_map
from cluster.storage.leader_epochs import LeaderEpochs
from cluster.storage.log_config import CompactionConfig, Retention
from cluster.storage.offset_ranges import IntervalSet
from cluster.storage.producer_memory import ProducerMemory
from cluster.storage.producer_state import ProducerStates
from cluster.storage.segment_list import SegmentList
from cluster.storage.transaction_index import TransactionIndex

WRITEBACK_EVERY_US: Final = 5_000_000
NEVER: Final = 9_223_372_036_854_775_807
_CHECKS_UNTIL_WRITTEN: Final = 7  # six times five seconds lie between seven checks


class PartitionLog:
    """The log of one replica; `log_end` is the offset of the next record.

    `appended_records` counts the records that were appended and not truncated again, also those that compaction had
    removed from the leader's log before this replica fetched them. `producers` and `transactions`
    are up to date while the replica leads (`recall_producers`). Records below `flushed` are on disk.
    `deleted` (ground truth): the serial numbers of each producer's records that retention or compaction deleted here.
    `segments`: of a log that is or was compacted, else None. Such a log may have gaps: offsets without a batch.
    """

    __slots__ = (
        "_dirty_ends",
        "_epoch",
        "_memory",
        "appended_records",
        "batches",
        "bytes",
        "deleted",
        "epochs",
        "flushed",
        "log_end",
        "log_start",
        "partition",
        "segments",
    )

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.batches = BatchList()
        self.log_start = self.log_end = self.bytes = self.appended_records = 0
        self.epochs = LeaderEpochs()
        self._epoch = -1  # the epoch of the last append; −1: unknown
        self._memory: ProducerMemory | None = None  # a follower that was never truncated has none
        self.deleted: dict[str, IntervalSet] | None = None
        self.flushed = 0
        self._dirty_ends: tuple[int, ...] = ()
        self.segments: SegmentList | None = None

    @property
    def producers(self) -> ProducerStates:
        """The state of each producer."""
        return self._read_memory().states

    @property
    def transactions(self) -> TransactionIndex:
        """The transactions of the log."""
        return self._read_memory().transactions

    def _read_memory(self) -> ProducerMemory:
        memory = self._memory
        if memory is None:
            memory = self._memory = ProducerMemory()
        return memory

    def append(self, batch: RecordBatch) -> None:
        """Append a batch that has its offset. Raises AssertionError when the offset is not the log's end.

        A follower may get one behind a gap that compaction has made in its leader's log.
        """
        gap = batch.base_offset - self.log_end
        assert not gap or (gap > 0 and self.segments is not None), (
            f"{self.partition}: {batch.base_offset} after {self.log_end}"
        )
        self.batches.append(batch)
        count = batch.count
        self.log_end += count + gap
        self.bytes += batch.bytes
        if not batch.marker:
            self.appended_records += count
        if batch.leader_epoch != self._epoch:  # rare; a call of `epochs` for each batch would cost
            self._epoch = batch.leader_epoch
            self.epochs.assign(batch.leader_epoch, batch.base_offset)

    def append_fetched(self, batches: Sequence[RecordBatch], leader: "PartitionLog") -> None:
        """Append batches of the leader's log. What had stood in a gap that compaction made there counts, too."""
        for batch in batches:
            first = self.log_end
            self.append(batch)
            if batch.base_offset > first and self.segments is not None and leader.segments is not None:
                self.segments.copy_markers(leader.segments, first, batch.base_offset)
                self.appended_records += self.segments.records_in(first, batch.base_offset)

    def recall_producers(self) -> None:
        """Read the producers up to the log's end: the replica leads from now on, in an epoch that has no entry yet."""
        self._epoch = -1
        self._read_memory().read_on(self.batches, self.log_end)

    def recall_transactions(self) -> None:
        """Read the transactions up to the log's end, as a follower that serves a consumer."""
        self._read_memory().read_on(self.batches, self.log_end)

    def append_as_leader(self, batch: RecordBatch) -> None:
        """Append a batch and update its producer; `recall_producers` was called when this replica became leader."""
        self.append(batch)
        memory = self._read_memory()
        if batch.producer_id != NO_PRODUCER_ID:
            memory.remember(batch)
        memory.read_to = self.log_end

    def read(self, offset: int, end: int, max_bytes: int) -> list[RecordBatch]:
        """Read whole batches from the one that holds `offset` up to `end`; the first even above `max_bytes`."""
        if offset >= end:
            return []
        batches = self.batches
        tail = batches.tail
        index = bisect_right(batches.bases, offset) - 1
        if index < 0 or self.segments is not None:  # rare: a reader that is far behind, or a log that may have gaps
            found = batches.since(offset) if index < 0 else iter(tail[index:])
            return _fitting([batch for batch in found if batch.next_offset > offset], end, max_bytes)
        if index + 1 == len(tail):  # the common case: a reader at the end of the log
            return [tail[index]] if tail[index].base_offset < end else []
        return _fitting(tail[index:], end, max_bytes)

    def first_since(self, instant_us: int) -> int:
        """The offset of the first batch whose timestamp is not before an instant; the log's end without one."""
        return max(next(self.batches.younger(instant_us), self.log_end), self.log_start)

    def truncate_to(self, offset: int, segment_starts: Collection[int] | None = ()) -> int:
        """Drop every batch that reaches beyond `offset`; returns the number of dropped records.

        Without `segment_starts` (None) the process is dead, and rebuilds the producers when it starts.

        An offset below the log start becomes the log start, of an empty log. An epoch that began at the end is removed
        in any case: this broker was elected, then another one, before this one wrote (`UnifiedLog.truncateTo`).
        """
        before, dropped, known_from = self.log_end, 0, self.log_start
        below_start = offset < self.log_start
        if below_start:
            self.log_start = offset
        while self.batches and self.batches[-1].next_offset > offset:
            batch = self.batches.pop()
            dropped += batch.count
            self.log_end = max(min(batch.base_offset, offset), self.log_start)  # the offset may lie in a gap
            self.bytes -= batch.bytes
            if not batch.marker:
                self.appended_records -= batch.count
            if batch.base_offset < self.log_start:  # the rest of the log is below its start
                self.drop_before(self.log_end)
        if self.log_end > offset and self.segments is not None:  # it ended in a gap
            self.log_end = max(offset, self.log_start)
        if below_start and not self.batches:
            self.log_end = offset
        self.epochs.truncate_from_end(self.log_end)
        self._epoch = -1
        if self.segments is not None:
            self._drop_gaps(max(self.log_end, known_from), before, dropped)
            self.segments.truncate_to(self.log_end)
        if self.log_end != before:
            self.flushed = min(self.flushed, self.log_end)
            self._dirty_ends = tuple([min(end, offset) for end in self._dirty_ends])
            if segment_starts is not None:
                self._read_memory().reload(self.batches, self.log_start, self.log_end, segment_starts)
        return before - self.log_end

    def _drop_gaps(self, first: int, end: int, in_batches: int) -> None:
        """Offsets first … end - 1 were truncated: beside those of batches, gaps of a compacted log."""
        assert self.segments is not None
        if end - first > in_batches:
            self.appended_records -= self.segments.records_in(first, end) - in_batches

    def advance_start(self, offset: int) -> None:
        """Raise the log start: no reader may read below `offset`. Deleted records count as written to disk."""
        self.log_start = offset
        self.flushed = max(self.flushed, offset)
        self._epoch = -1
        self.epochs.truncate_from_start(offset)

    def drop_before(self, offset: int) -> None:
        """Delete the batches that end at or before an offset (old segments). Their producers stay known."""
        oldest = self.batches.oldest
        if oldest is not None and oldest.next_offset <= offset:
            memory = self._read_memory()
            memory.read_on(self.batches, self.log_end)
            for batch in self.batches.shed(offset):
                memory.shed(batch)
                self.bytes -= batch.bytes
                self._deleted_of(batch.producer).add(batch.first_serial, batch.first_serial + batch.count)
        if self._memory is not None:
            self._memory.transactions.drop_before(offset)
        if self.segments is not None:
            self.segments.drop_before(offset)
        if offset > self.log_start:
            self.advance_start(offset)

    def _deleted_of(self, producer: str) -> IntervalSet:
        if self.deleted is None:
            self.deleted = {}
        return self.deleted.setdefault(producer, IntervalSet())

    def inherit_deleted(self, other: "PartitionLog") -> None:
        """Know (ground truth) what was deleted in the log of a replica that is removed: it was in this one, too."""
        for producer, serials in (other.deleted or {}).items():
            for first, end in serials.ranges():
                self._deleted_of(producer).add(first, end)

    @property
    def compacted(self) -> bool:
        """Whether the topic's `cleanup.policy` compacts this log now."""
        return self.segments is not None and self.segments.config is not None

    def compact_by(self, config: CompactionConfig | None) -> None:
        """Compact by another configuration from now on, or no more. The cleaner goes on from its checkpoint."""
        if self.segments is not None:
            self.segments.config = config
        elif config is not None:
            self.segments = SegmentList(config, self.log_start)

    def clean(self, high_watermark: int) -> None:
        """Compact an internal topic: keep the newest record of each key, among records that no crash can lose."""
        self.batches.clean(min(high_watermark, self.flushed))

    def compact(self, end: int, retention: Retention, now_us: int) -> Compaction:
        """Clean the log below `end`, where a segment begins; what is cleaned is on disk (`Cleaner.doClean`)."""
        segments, memory = self.segments, self._read_memory()
        assert segments is not None
        memory.read_on(self.batches, self.log_end)
        memory.roll(self.batches, self.log_end, [segment.base_offset for segment in segments.all])
        dirty, index = segments.first_dirty, memory.transactions
        before = [batch for batch in self.batches if batch.base_offset < end]
        latest = offset_map(_ending_after(before, dirty), dirty, end, index.collect(dirty, end)[0])
        transactions = CleanedTransactions(index.collect(self.log_start, end)[0])
        keeps_us, last = segments.in_force.delete_retention_us, memory.states.last_records()
        rules = BatchFilter(latest, transactions, last, end, now_us, keeps_us)
        result = compact(before, rules)
        left = {batch.base_offset for batch in result.batches if batch.marker}
        for batch in before:
            if batch.marker and batch.base_offset not in left:
                segments.removed_markers.add(batch.base_offset, batch.next_offset)
        self.batches.replace_below(end, result.batches)
        index.compacted(end, result.aborted)
        self.bytes += sum(batch.bytes for batch in result.batches) - sum(batch.bytes for batch in before)
        self._note_deleted(before, result.removed)
        segments.cleaned(latest.end, result.batches, retention.segment_bytes)
        self.flushed = max(self.flushed, end)
        return result

    def _note_deleted(self, batches: Iterable[RecordBatch], removed: Iterable[tuple[int, int]]) -> None:
        gone = IntervalSet()
        for first, end in removed:
            gone.add(first, end)
        for batch in batches:
            if not batch.marker and gone.covered(batch.base_offset, batch.next_offset):
                shift = batch.first_serial - batch.base_offset
                serials = self._deleted_of(batch.producer)
                for place in batch.places:
                    offset = batch.base_offset + place
                    if gone.covered(offset, offset + 1):
                        serials.add(offset + shift, offset + shift + 1)

    def start_over(self, offset: int) -> None:
        """Empty the log and continue at an offset (the leader's log starts after this log's end)."""
        self.drop_before(self.log_end)
        self.log_start = self.log_end = self.flushed = offset
        self._dirty_ends = ()
        self._epoch = -1
        self.epochs = LeaderEpochs()
        self._read_memory().start_over(offset)
        if self.segments is not None:
            self.segments.start_over(offset)

    def beyond(self, offset: int) -> list[RecordBatch]:
        """The batches that a truncation to `offset` would drop, in order."""
        return [batch for batch in self.batches.since(offset) if batch.next_offset > offset]

    def has_at_its_place(self, batch: RecordBatch) -> bool:
        """Whether this log holds the same records at the batch's offset."""
        here = next(self.batches.since(batch.base_offset), None)
        return here is not None and (here.base_offset, here.producer, here.first_serial) == (
            batch.base_offset,
            batch.producer,
            batch.first_serial,
        )

    def has_deleted(self, batch: RecordBatch) -> bool:
        """Whether retention or compaction deleted records of this batch here."""
        serials = self.deleted.get(batch.producer) if self.deleted is not None else None
        return serials is not None and serials.covered(batch.first_serial, batch.first_serial + batch.count) > 0

    def has_deleted_record(self, producer: str, serial: int) -> bool:
        """Whether retention or compaction deleted this record here."""
        serials = self.deleted.get(producer) if self.deleted is not None else None
        return serials is not None and serials.covered(serial, serial + 1) > 0

    # --- the process ----------------------------------------------------------------------------------------------

    def stopped_cleanly(self) -> None:
        """The process stops cleanly: it flushes the log and takes a snapshot of the producers."""
        self.flush()
        memory = self._read_memory()
        memory.read_on(self.batches, self.log_end)
        memory.take_snapshot(self.log_end)

    def started(self, segment_starts: Collection[int]) -> None:
        """The process starts again: it reads the producers' snapshots and the log from disk."""
        memory = self._read_memory()
        memory.process_ended(segment_starts)
        memory.reload(self.batches, self.log_start, self.log_end, segment_starts)

    # --- the disk -------------------------------------------------------------------------------------------------

    def write_back(self) -> None:
        """The operating system writes, every `WRITEBACK_EVERY_US`, the records that are half a minute old."""
        if self.log_end == self.flushed:  # nothing to write, at any of the last checks
            self._dirty_ends = ()
            return
        ends = self._dirty_ends = (*self._dirty_ends[-_CHECKS_UNTIL_WRITTEN + 1 :], self.log_end)
        if len(ends) == _CHECKS_UNTIL_WRITTEN and ends[0] > self.flushed:
            self.flushed = ends[0]

    def flush(self) -> None:
        """Write the whole log (fsync), at a clean stop and for `flush.messages`."""
        self.flushed = self.log_end


def _ending_after(batches: Sequence[RecordBatch], offset: int) -> list[RecordBatch]:
    return [batch for batch in batches if batch.next_offset > offset]


def _fitting(batches: Iterable[RecordBatch], end: int, max_bytes: int) -> list[RecordBatch]:
    """Batches that begin below `end`, up to `max_bytes`; the first one in any case."""
    found: list[RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.base_offset >= end or (found and size + batch.bytes > max_bytes):
            break
        found.append(batch)
        size += batch.bytes
    return found


class EagerlyFlushedLog(PartitionLog):
    """A log that is flushed after every `flush.messages` records."""

    __slots__ = ("flush_messages",)

    def __init__(self, partition: str, flush_messages: int) -> None:
        super().__init__(partition)
        self.flush_messages = flush_messages

    def append(self, batch: RecordBatch) -> None:
        """Append a batch, and flush the log if enough records are not on disk."""
        super().append(batch)
        if self.log_end - self.flushed >= self.flush_messages:
            self.flush()


def make_log(partition: str, flush_messages: int, compaction: CompactionConfig | None = None) -> PartitionLog:
    """An empty log with a topic's `flush.messages`; with a compaction it keeps its segments."""
    log = PartitionLog(partition) if flush_messages >= NEVER else EagerlyFlushedLog(partition, flush_messages)
    log.segments = SegmentList(compaction) if compaction is not None else None
    return log
