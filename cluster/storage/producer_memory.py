"""The producer state of one log: read from the log when it is needed, reloaded from a snapshot after a truncation.

Theory of operation. In Kafka every replica updates its producer state batch by batch, and deleting old segments forgets
no producer. Here a replica reads its log only when the state can matter: when it becomes leader, and before batches are
deleted. A truncation or a start of the process drops the state. It is rebuilt from the newest snapshot between the
log's start and end, and from the batches after the snapshot. A snapshot keeps one batch of each producer. Snapshots are
taken where each segment begins, where the log ended at a truncation or a start, and at a clean stop. So a producer
whose batches are deleted is forgotten only by a replica that was truncated or started without a later snapshot.
Source: `ProducerStateManager.truncateAndReload`, `UnifiedLog.rebuildProducerState`, `UnifiedLog.roll`.
"""

from collections.abc import Collection, Iterator

from cluster.protocol.record_batch import COMMIT, NO_PRODUCER_ID, RecordBatch
from cluster.storage.batch_list import BatchList
from cluster.storage.producer_state import ProducerEntry, ProducerStates
from cluster.storage.transaction_index import TransactionIndex


class ProducerMemory:
    """One replica's producer state. `states` and `transactions` include each batch below `read_to`, deleted or not."""

    __slots__ = ("_rolled", "_rolled_to", "_snapshots", "read_to", "states", "transactions")

    def __init__(self) -> None:
        self.states = ProducerStates()
        self.transactions = TransactionIndex()
        self.read_to = 0
        self._snapshots: dict[int, dict[int, ProducerEntry]] = {}  # by the offset where it was taken
        self._rolled: ProducerStates | None = None  # None: without any producer
        self._rolled_to = 0  # snapshots of later segments are not taken yet

    def remember(self, batch: RecordBatch) -> None:
        """Update the state with a batch of the log that has a producer id; earlier batches are included already."""
        self.states.update(batch)
        if batch.marker:
            self.transactions.ended(batch.producer_id, batch.base_offset, committed=batch.marker == COMMIT)
        elif batch.transactional:
            self.transactions.began(batch.producer_id, batch.base_offset)

    def read_on(self, batches: BatchList, log_end: int) -> None:
        """Read the log up to its end."""
        if self.read_to < log_end:
            for batch in _after(batches, self.read_to):
                if batch.producer_id != NO_PRODUCER_ID:
                    self.remember(batch)
            self.read_to = log_end

    def shed(self, batch: RecordBatch) -> None:
        """A batch was deleted from the log's beginning: its producer stays known."""
        if batch.next_offset > self._rolled_to:
            if batch.producer_id != NO_PRODUCER_ID:
                if self._rolled is None:
                    self._rolled = ProducerStates()
                self._rolled.update(batch)
            self._rolled_to = batch.next_offset

    def take_snapshot(self, log_end: int) -> None:
        """Take a snapshot at the log's end; the log was read to its end."""
        self._snapshots[log_end] = self.states.snapshot()

    def reload(self, batches: BatchList, log_start: int, log_end: int, segment_starts: Collection[int]) -> None:
        """The log was truncated, or the process started: rebuild the state from the newest snapshot."""
        self.roll(batches, log_end, segment_starts)
        self._snapshots = {
            offset: snapshot for offset, snapshot in self._snapshots.items() if log_start < offset <= log_end
        }
        newest = max(self._snapshots, default=None)
        if newest is not None and self.read_to < newest:
            self.read_on(batches, log_end)  # the index of aborted transactions is a file: no snapshot stands for it
        if newest is not None or log_start > 0 or self.read_to > log_end:
            self.states.load(self._snapshots[newest] if newest is not None else {})
            self.transactions.reload(self.states.open(), log_end)
            self.read_to = log_start if newest is None else newest
        self.read_on(batches, log_end)
        self._rolled, self._rolled_to = self.states.copy(), log_end
        if log_end > log_start:
            self.take_snapshot(log_end)

    def start_over(self, offset: int) -> None:
        """The log was emptied and continues at an offset."""
        self.states.load({})
        self.transactions.reset()
        self.read_to = self._rolled_to = offset
        self._rolled = None
        self._snapshots.clear()

    def process_ended(self, segment_starts: Collection[int]) -> None:
        """The process ended: verifications are lost; of the snapshots, the newest and those of segments stay."""
        self.states.verifying.clear()
        newest = max(self._snapshots, default=-1)
        self._snapshots = {
            offset: snapshot
            for offset, snapshot in self._snapshots.items()
            if offset in segment_starts or offset == newest > max(segment_starts, default=-1)
        }

    def roll(self, batches: BatchList, log_end: int, segment_starts: Collection[int]) -> None:
        """Take the snapshots that Kafka takes when a segment begins."""
        ahead = sorted(offset for offset in segment_starts if self._rolled_to < offset <= log_end)
        if not ahead:
            return
        for batch in _after(batches, self._rolled_to):
            while ahead and ahead[0] <= batch.base_offset:
                self._snapshots[ahead.pop(0)] = self._rolled.snapshot() if self._rolled is not None else {}
            if not ahead:
                return
            self.shed(batch)


def _after(batches: BatchList, offset: int) -> Iterator[RecordBatch]:
    """The batches that end after an offset."""
    for batch in batches.since(offset):
        if batch.next_offset > offset:
            yield batch
