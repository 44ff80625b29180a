"""What a partition's leader remembers of each idempotent producer: its epoch and its last five batches.

A batch is appended once: an exact repetition of one of the last five is answered with the old offset, a gap in the
sequence is refused. Followers never refuse. Source: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`.
"""

from typing import NamedTuple

from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch

NO_PRODUCER_ID = -1
BATCHES_REMEMBERED = 5


class Appended(NamedTuple):
    """A batch that was appended: its sequence range and its first offset."""

    first_sequence: int
    last_sequence: int
    base_offset: int


class ProducerEntry:
    """One producer id in one partition."""

    __slots__ = ("batches", "epoch")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[Appended] = []


class ProducerStates:
    """Every producer id that wrote to one log."""

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}

    def check(self, batch: RecordBatch) -> tuple[ErrorCode, int]:
        """What a leader says to a client's batch: (error, offset of the earlier copy or -1).

        NONE with an offset ≥ 0 is a duplicate: confirm it, append nothing.
        """
        if batch.producer_id == NO_PRODUCER_ID:
            return ErrorCode.NONE, -1
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            return ErrorCode.NONE, -1
        if batch.epoch < entry.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, -1
        first = batch.base_sequence
        if batch.epoch > entry.epoch or not entry.batches:
            return (ErrorCode.NONE if first == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), -1
        newest = entry.batches[-1].last_sequence
        if first == ((newest + 1) & 0x7FFFFFFF):
            return ErrorCode.NONE, -1
        last = batch.last_sequence
        for known in entry.batches:
            if known.first_sequence == first and known.last_sequence == last:
                return ErrorCode.NONE, known.base_offset
        return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1

    def update(self, batch: RecordBatch) -> None:
        """A batch was appended, on a leader or a follower."""
        entry = self.entries.get(batch.producer_id)
        if entry is None or batch.epoch != entry.epoch:
            entry = self.entries[batch.producer_id] = ProducerEntry(batch.epoch)
        batches = entry.batches
        batches.append(Appended(batch.base_sequence, batch.last_sequence, batch.base_offset))
        if len(batches) > BATCHES_REMEMBERED:
            del batches[0]
