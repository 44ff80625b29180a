"""What a partition remembers of each producer id: its epoch, its last five batches, its open transaction.

A batch is appended once: an exact repetition of one of the last five is answered with the old offset, a gap in the
sequence is refused. A marker ends the transaction, and may carry a higher epoch: it fences whoever writes under an
older one. Followers never refuse.
Source: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`, `VerificationStateEntry`.
"""

from typing import NamedTuple

from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch

NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
BATCHES_REMEMBERED = 5


class Appended(NamedTuple):
    """A batch that was appended: its sequence range and its first offset."""

    first_sequence: int
    last_sequence: int
    base_offset: int


class ProducerEntry:
    """One producer id in one partition.

    `first_offset` is where its open transaction begins, -1 without one; `coordinator_epoch` is that of the newest
    marker; `last_us` when it last wrote.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "first_offset", "last_us")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[Appended] = []
        self.first_offset = -1
        self.coordinator_epoch = -1
        self.last_us = -1

    def begin_epoch(self, epoch: int) -> None:
        """Sequences begin anew at 0; an open transaction stays open."""
        self.epoch = epoch
        self.batches = []


class ProducerStates:
    """Every producer id that wrote to one log.

    `verifying` are producer ids whose transaction is being verified with its coordinator (KIP-890): the lowest
    sequence that came meanwhile, and its epoch.
    """

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.verifying: dict[int, tuple[int, int]] = {}

    def check(self, batch: RecordBatch) -> tuple[ErrorCode, int]:
        """What a leader says to a client's batch: (error, offset of the earlier copy or -1).

        NONE with an offset ≥ 0 is a duplicate: confirm it, append nothing.
        """
        if batch.producer_id == NO_PRODUCER_ID:
            return ErrorCode.NONE, -1
        entry = self.entries.get(batch.producer_id)
        if (
            entry is not None
            and entry.batches
            and batch.epoch == entry.epoch
            and batch.base_sequence == entry.batches[-1].last_sequence + 1
            and entry.first_offset < 0
            and not self.verifying
        ):
            return ErrorCode.NONE, -1  # nearly every batch; the rest is looked at more closely
        error = self._refusal(entry, batch)
        if error is not ErrorCode.NONE and entry is not None and batch.epoch == entry.epoch:
            first, last = batch.base_sequence, batch.last_sequence
            for known in entry.batches:
                if known.first_sequence == first and known.last_sequence == last:
                    return ErrorCode.NONE, known.base_offset
        return error, -1

    def refusal(self, batch: RecordBatch) -> ErrorCode:
        """The check without the search for duplicates; NONE when the batch may be appended."""
        return self._refusal(self.entries.get(batch.producer_id), batch)

    def _refusal(self, entry: ProducerEntry | None, batch: RecordBatch) -> ErrorCode:
        first = batch.base_sequence
        if entry is None:
            return self._while_verifying(batch)
        if batch.epoch < entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if batch.epoch > entry.epoch or not entry.batches:
            if first not in (0, NO_SEQUENCE):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        elif first != NO_SEQUENCE and first != ((entry.batches[-1].last_sequence + 1) & 0x7FFFFFFF):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry.first_offset >= 0 and not batch.transactional:
            return ErrorCode.INVALID_TXN_STATE
        return self._while_verifying(batch)

    def _while_verifying(self, batch: RecordBatch) -> ErrorCode:
        """While a transaction is being verified, what came first must be appended first (KIP-890)."""
        lowest, epoch = self.verifying.get(batch.producer_id, (NO_SEQUENCE, NO_SEQUENCE))
        if lowest != NO_SEQUENCE and batch.epoch == epoch and batch.base_sequence > lowest:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> ErrorCode:
        """What a leader says to a marker: whoever wrote it must not be older than what is known."""
        entry = self.entries.get(producer_id)
        if entry is None:
            return ErrorCode.NONE
        if epoch < entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < entry.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def verification_started(self, producer_id: int, epoch: int, sequence: int) -> None:
        """The leader asks the coordinator whether the transaction is ongoing; keep the lowest sequence that waits."""
        lowest, known_epoch = self.verifying.get(producer_id, (sequence, epoch))
        if epoch > known_epoch:
            lowest = sequence
        self.verifying[producer_id] = min(lowest, sequence) if epoch >= known_epoch else lowest, max(epoch, known_epoch)

    def update(self, batch: RecordBatch) -> int:
        """A batch was appended, on a leader or a follower; a marker returns where its transaction began, else -1."""
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            entry = self.entries[batch.producer_id] = ProducerEntry(batch.epoch)
        elif batch.epoch != entry.epoch:
            entry.begin_epoch(batch.epoch)
        entry.last_us = batch.append_us
        if batch.marker:
            return self._end(entry, batch)
        if batch.transactional:
            self.verifying.pop(batch.producer_id, None)
            if entry.first_offset < 0:
                entry.first_offset = batch.base_offset
        batches = entry.batches
        if batch.base_sequence != NO_SEQUENCE:
            batches.append(Appended(batch.base_sequence, batch.last_sequence, batch.base_offset))
            if len(batches) > BATCHES_REMEMBERED:
                del batches[0]
        return -1

    @staticmethod
    def _end(entry: ProducerEntry, marker: RecordBatch) -> int:
        first_offset, entry.first_offset = entry.first_offset, -1
        entry.coordinator_epoch = max(entry.coordinator_epoch, marker.coordinator_epoch)
        return first_offset

    def late(self, now_us: int, late_us: int) -> list[int]:
        """Producer ids whose transaction is open and has not been written to for so long that it hangs (KIP-664)."""
        return [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.first_offset >= 0 and now_us - entry.last_us > late_us
        ]

    def expire(self, now_us: int, expiration_us: int) -> None:
        """Forget who has not written for `producer.id.expiration.ms`, unless its transaction is open."""
        for producer_id, entry in list(self.entries.items()):
            if entry.first_offset < 0 and now_us - entry.last_us >= expiration_us:
                del self.entries[producer_id]
