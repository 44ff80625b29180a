"""One replica's log: record batches in offset order, the leader epochs that wrote them, what producers it knows.

Batches are shared between the replicas that hold them; a log only ever adds whole ones at its end, or drops whole ones
from its end (they parted from the leader's, or were not on disk when the host crashed) or its beginning (retention).
Its start may lie in the middle of what it holds: DeleteRecords only says that nobody may read below it.
What is on disk: Kafka leaves writing to the operating system, which brings a page to disk when it has been dirty for
half a minute, looking every five seconds (Linux's `dirty_expire_centisecs` and `dirty_writeback_centisecs`); only
`flush.messages` makes a log write earlier. Source: `org.apache.kafka.storage.internals.log.UnifiedLog`.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Mapping

from cluster.protocol.record_batch import NO_PRODUCER_ID, RecordBatch
from cluster.storage.batch_list import BatchList
from cluster.storage.leader_epochs import LeaderEpochs
from cluster.storage.offset_ranges import IntervalSet
from cluster.storage.producer_memory import ProducerMemory

WRITEBACK_EVERY_US = 5_000_000
NEVER = 9_223_372_036_854_775_807
_LOOKS_UNTIL_WRITTEN = 7  # six times five seconds lie between seven looks


class PartitionLog:
    """The log of one replica; `log_end` is the offset that the next record will get.

    `appended_records` counts what was ever added and not truncated again. `producers` and `transactions`: what the log
    knows of them, up to date while it leads (`recall_producers`).
    `flushed`: what lies below it is on disk. `deleted` (ground truth): which of each producer's records were here and
    are deleted on purpose, by their serial numbers.
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
        "producers",
        "transactions",
    )

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.batches = BatchList()
        self.log_start = self.log_end = self.bytes = self.appended_records = 0
        self.epochs = LeaderEpochs()
        self._epoch = -1  # the last one that `append` noted; −1: look again
        self._memory = ProducerMemory()
        self.producers, self.transactions = self._memory.states, self._memory.transactions
        self.deleted: dict[str, IntervalSet] = {}
        self.flushed = 0
        self._dirty_ends: deque[int] = deque(maxlen=_LOOKS_UNTIL_WRITTEN)

    def append(self, batch: RecordBatch) -> None:
        """Add a batch that has its offset already. Raises AssertionError when it does not follow the log's end."""
        assert batch.base_offset == self.log_end, f"{self.partition}: {batch.base_offset} after {self.log_end}"
        self.batches.append(batch)
        count = batch.count
        self.log_end += count
        self.bytes += batch.bytes
        if not batch.marker:
            self.appended_records += count
        if batch.leader_epoch != self._epoch:  # nearly never: asking `epochs` each time costs
            self._epoch = batch.leader_epoch
            self.epochs.assign(batch.leader_epoch, batch.base_offset)

    def recall_producers(self) -> None:
        """Bring `producers` up to the log's end; whoever asks leads from now on, in an epoch that is not noted yet."""
        self._epoch = -1
        self._memory.read_on(self.batches, self.log_end)

    def append_as_leader(self, batch: RecordBatch) -> None:
        """Add a batch and remember its producer; the producers were recalled when this replica took over."""
        self.append(batch)
        if batch.producer_id != NO_PRODUCER_ID:
            self._memory.remember(batch)
        self._memory.read_to = self.log_end

    def read(self, offset: int, end: int, max_bytes: int) -> list[RecordBatch]:
        """Whole batches from the one that holds `offset`, below `end`; the first one even above `max_bytes`."""
        if offset >= end:
            return []
        batches = self.batches
        tail = batches.tail
        index = bisect_right(batches.bases, offset) - 1
        if index < 0:  # nearly never: a reader that is far behind
            return _fitting(batches.since(offset), end, max_bytes)
        if index + 1 == len(tail):  # the common case: a reader at the end of the log
            return [tail[index]] if tail[index].base_offset < end else []
        return _fitting(tail[index:], end, max_bytes)

    def first_since(self, instant_us: int) -> int:
        """The offset of the first batch whose records are not older than an instant; the log's end without one."""
        return max(next(self.batches.younger(instant_us), self.log_end), self.log_start)

    def truncate_to(self, offset: int, segment_starts: Collection[int] | None = ()) -> int:
        """Drop every batch that reaches beyond `offset`; returns how many records went.

        Without `segment_starts` (None) the process is dead, and finds out what is left when it starts.

        Below the start, the start goes back to it: nothing is there any more. An epoch that began at the end goes in
        any case: this broker was elected, and another one before it wrote anything (`UnifiedLog.truncateTo`).
        """
        before = self.log_end
        below_start = offset < self.log_start
        if below_start:
            self.log_start = offset
        while self.batches and self.batches[-1].next_offset > offset:
            batch = self.batches.pop()
            self.log_end = max(batch.base_offset, self.log_start)
            self.bytes -= batch.bytes
            if not batch.marker:
                self.appended_records -= batch.count
            if batch.base_offset < self.log_start:  # what is left lies below the start
                self.drop_before(self.log_end)
        if below_start and not self.batches:
            self.log_end = offset
        self.epochs.truncate_from_end(self.log_end)
        self._epoch = -1
        if self.log_end != before:
            self.flushed = min(self.flushed, self.log_end)
            self._dirty_ends = deque((min(end, offset) for end in self._dirty_ends), maxlen=_LOOKS_UNTIL_WRITTEN)
            if segment_starts is not None:
                self._memory.reload(self.batches, self.log_start, self.log_end, segment_starts)
        return before - self.log_end

    def advance_start(self, offset: int) -> None:
        """Nobody reads below `offset` any more; what is deleted need not be written to disk either."""
        self.log_start = offset
        self.flushed = max(self.flushed, offset)
        self._epoch = -1
        self.epochs.truncate_from_start(offset)

    def drop_before(self, offset: int) -> None:
        """Delete the batches that end at or before an offset: their segments are old. Their producers stay known."""
        oldest = self.batches.oldest
        if oldest is not None and oldest.next_offset <= offset:
            self._memory.read_on(self.batches, self.log_end)
            for batch in self.batches.shed(offset):
                self._memory.shed(batch)
                self.bytes -= batch.bytes
                serials = self.deleted.setdefault(batch.producer, IntervalSet())
                serials.add(batch.first_serial, batch.first_serial + batch.count)
        self.transactions.drop_before(offset)
        if offset > self.log_start:
            self.advance_start(offset)

    def clean(self, high_watermark: int) -> None:
        """Of an internal topic's records keep the newest of each key, among those that no crash can take back."""
        self.batches.clean(min(high_watermark, self.flushed))

    def start_over(self, offset: int) -> None:
        """Drop everything, to go on at an offset (the leader's log begins behind this log's end)."""
        self.drop_before(self.log_end)
        self.log_start = self.log_end = self.flushed = offset
        self._dirty_ends.clear()
        self._epoch = -1
        self.epochs = LeaderEpochs()
        self._memory.start_over(offset)

    def beyond(self, offset: int) -> list[RecordBatch]:
        """The batches that truncating to an offset would drop, in order."""
        return [batch for batch in self.batches.since(offset) if batch.next_offset > offset]

    def has_at_its_place(self, batch: RecordBatch) -> bool:
        """Whether the same records stand at the batch's own offset here."""
        here = next(self.batches.since(batch.base_offset), None)
        return here is not None and (here.base_offset, here.producer, here.first_serial) == (
            batch.base_offset,
            batch.producer,
            batch.first_serial,
        )

    def has_deleted(self, batch: RecordBatch) -> bool:
        """Whether the records were here and were deleted on purpose."""
        serials = self.deleted.get(batch.producer)
        return serials is not None and serials.covered(batch.first_serial, batch.first_serial + batch.count) > 0

    # --- the process ----------------------------------------------------------------------------------------------

    def stopped_cleanly(self) -> None:
        """The process stops: it writes everything, and a snapshot of the producers."""
        self.flush()
        self._memory.read_on(self.batches, self.log_end)
        self._memory.take_snapshot(self.log_end)

    def started(self, segment_starts: Collection[int]) -> None:
        """The process starts again with what the disk has: snapshots of the producers, and the log."""
        self._memory.process_ended(segment_starts)
        self._memory.reload(self.batches, self.log_start, self.log_end, segment_starts)

    # --- the disk -------------------------------------------------------------------------------------------------

    def write_back(self) -> None:
        """The operating system looks, every `WRITEBACK_EVERY_US`: what was here half a minute ago is on disk now."""
        ends = self._dirty_ends
        ends.append(self.log_end)
        if len(ends) == _LOOKS_UNTIL_WRITTEN and ends[0] > self.flushed:
            self.flushed = ends[0]

    def flush(self) -> None:
        """Write everything (fsync): a clean stop does, and `flush.messages` asks for it."""
        self.flushed = self.log_end


def _fitting(batches: Iterable[RecordBatch], end: int, max_bytes: int) -> list[RecordBatch]:
    """Batches from the first on that begin below `end`, up to `max_bytes`; the first one in any case."""
    found: list[RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.base_offset >= end or (found and size + batch.bytes > max_bytes):
            break
        found.append(batch)
        size += batch.bytes
    return found


class EagerlyFlushedLog(PartitionLog):
    """A log that is written when `flush.messages` records have come since it last was."""

    __slots__ = ("flush_messages",)

    def __init__(self, partition: str, flush_messages: int) -> None:
        super().__init__(partition)
        self.flush_messages = flush_messages

    def append(self, batch: RecordBatch) -> None:
        """Add a batch, and write it with what came before it if that is enough."""
        super().append(batch)
        if self.log_end - self.flushed >= self.flush_messages:
            self.flush()


def make_log(partition: str, config: Mapping[str, object]) -> PartitionLog:
    """An empty log with a topic's configuration."""
    flush_messages = config["flush.messages"]
    assert isinstance(flush_messages, int)
    return PartitionLog(partition) if flush_messages >= NEVER else EagerlyFlushedLog(partition, flush_messages)
