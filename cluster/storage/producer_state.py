"""The state of each producer id in one partition: its epoch, its last five batches, its open transaction.

A batch is appended once: an exact repetition of one of the last five is answered with its first offset, a gap in the
sequence is refused. A marker ends the transaction, and may carry a higher epoch, which fences producers with an older
epoch. Followers never refuse.
Source: `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`, `VerificationStateEntry`.
"""

from typing import Final, NamedTuple

from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import LAST_SEQUENCE, NO_PRODUCER_ID, NO_SEQUENCE, RecordBatch
from cluster.protocol.release_rules import RELEASE_RULES, ReleaseRules
from cluster.reach import reached

BATCHES_REMEMBERED: Final = 5
LAST_MARKERS_EPOCH: Final = 32_767  # Short.MaxValue


class Appended(NamedTuple):
    """A batch that was appended: its sequence range and its first offset."""

    first_sequence: int
    last_sequence: int
    base_offset: int


class LastRecord(NamedTuple):
    """The last data record of a producer that a log knows, -1 without one, and the producer's epoch."""

    offset: int
    epoch: int


class ProducerEntry:
    """One producer id in one partition.

    `first_offset` is that of its open transaction, -1 without one. `coordinator_epoch` is that of the newest marker,
    `last_us` the instant of the last append.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "first_offset", "last_us")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[Appended] = []
        self.first_offset = -1
        self.coordinator_epoch = -1
        self.last_us = -1

    def begin_epoch(self, epoch: int) -> None:
        """Begin a new epoch: sequences start at 0 again; an open transaction stays open."""
        self.epoch = epoch
        self.batches = []

    def copy(self, batches: int = BATCHES_REMEMBERED) -> "ProducerEntry":
        """A copy with the last `batches` batches."""
        other = ProducerEntry(self.epoch)
        other.batches = self.batches[-batches:]
        other.first_offset, other.coordinator_epoch = self.first_offset, self.coordinator_epoch
        other.last_us = self.last_us
        return other


class Verification:
    """A verification of a transaction with its coordinator (KIP-890), and the lowest sequence that waits for it.

    It lasts until the transaction's first batch or its marker is appended: a verification from before a marker is void
    (Kafka's verification guard, compared by identity). Under version 2 (`with_epochs`) the marker of the former
    transaction has this transaction's epoch, and does not void it.
    """

    __slots__ = ("epoch", "lowest_sequence", "with_epochs")

    def __init__(self, epoch: int, sequence: int, *, with_epochs: bool) -> None:
        self.epoch, self.lowest_sequence, self.with_epochs = epoch, sequence, with_epochs


class ProducerStates:
    """Every producer id that wrote to one log, and the verifications under way."""

    __slots__ = ("entries", "rules", "verifying")

    def __init__(self, rules: ReleaseRules = RELEASE_RULES) -> None:
        self.rules = rules
        self.entries: dict[int, ProducerEntry] = {}
        self.verifying: dict[int, Verification] = {}

    def check(self, batch: RecordBatch) -> tuple[ErrorCode, int]:
        """Check a producer's batch at the leader: (error, offset of the first copy or -1).

        NONE with an offset ≥ 0 is a duplicate: it is acknowledged but not appended.
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
            return ErrorCode.NONE, -1  # nearly every batch; the others take the full check
        error = self._refusal(entry, batch)
        if error is not ErrorCode.NONE and entry is not None and batch.epoch == entry.epoch:
            first, last = batch.base_sequence, batch.last_sequence
            for known in entry.batches:
                if known.first_sequence == first and known.last_sequence == last:
                    reached("append: duplicate")
                    return ErrorCode.NONE, known.base_offset
        return error, -1

    def refusal(self, batch: RecordBatch) -> ErrorCode:
        """The check without the search for duplicates; NONE when the batch may be appended."""
        return self._refusal(self.entries.get(batch.producer_id), batch)

    def _refusal(self, entry: ProducerEntry | None, batch: RecordBatch) -> ErrorCode:
        first = batch.base_sequence
        if entry is None:
            return self._of_an_unknown(batch)
        if batch.epoch < entry.epoch:
            reached("append: old producer epoch")
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if batch.epoch > entry.epoch or not entry.batches:
            if first not in (0, NO_SEQUENCE):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        elif first != NO_SEQUENCE and first != ((entry.batches[-1].last_sequence + 1) & 0x7FFFFFFF):
            reached("append: out of order")
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry.first_offset >= 0 and not batch.transactional:
            reached("append: not in its transaction")
            return ErrorCode.INVALID_TXN_STATE
        return self._while_verifying(batch)

    def _of_an_unknown(self, batch: RecordBatch) -> ErrorCode:
        """Accept any sequence; of a producer under version 2 only 0, because its records cannot all be deleted."""
        verification = self.verifying.get(batch.producer_id)
        with_epochs = verification is not None and verification.with_epochs
        if with_epochs and batch.base_sequence > 0 and self.rules.unknown_producer_begins_at_zero:
            reached("append: an unknown producer of version 2")
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return self._while_verifying(batch)

    def _while_verifying(self, batch: RecordBatch) -> ErrorCode:
        """While a transaction is being verified, its batches must be appended in their order (KIP-890)."""
        verification = self.verifying.get(batch.producer_id)
        if verification is not None and batch.base_sequence > verification.lowest_sequence:
            reached("append: overtakes a verification")
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return ErrorCode.NONE

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int, version: int = 1) -> ErrorCode:
        """Check a marker at the leader: its producer epoch and coordinator epoch must not be older than the state's.

        Under version 2 a marker has a newer epoch than the transaction that it ends. A marker with the same epoch is a
        repetition without effect, unless the next transaction has begun meanwhile.
        """
        entry = self.entries.get(producer_id)
        if entry is None:
            return ErrorCode.NONE
        strict = version >= 2 and self.rules.marker_epoch_is_newer
        late = strict and epoch == entry.epoch != LAST_MARKERS_EPOCH and entry.first_offset >= 0
        if epoch < entry.epoch or late:
            reached("marker: old producer epoch")
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < entry.coordinator_epoch:
            reached("marker: coordinator fenced")
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def in_transaction(self, batch: RecordBatch) -> bool:
        """Whether the batch's producer has an open transaction in the batch's epoch."""
        entry = self.entries.get(batch.producer_id)
        return entry is not None and entry.first_offset >= 0 and entry.epoch == batch.epoch

    def fences(self, batch: RecordBatch) -> bool:
        """Whether a batch has an older epoch than its producer's state."""
        entry = self.entries.get(batch.producer_id)
        return entry is not None and batch.epoch < entry.epoch

    def verification_started(
        self, producer_id: int, epoch: int, sequence: int, *, with_epochs: bool = False
    ) -> Verification:
        """The leader asks the coordinator to verify the transaction: keep the lowest sequence that waits."""
        verification = self.verifying.get(producer_id)
        if verification is None:
            verification = self.verifying[producer_id] = Verification(epoch, sequence, with_epochs=with_epochs)
        elif epoch > verification.epoch:
            verification.epoch, verification.lowest_sequence = epoch, sequence
        elif epoch == verification.epoch:
            verification.lowest_sequence = min(verification.lowest_sequence, sequence)
        return verification

    def may_begin(self, batch: RecordBatch, verification: Verification) -> ErrorCode:
        """Whether the verified transaction of a batch is still the one that the batch begins or belongs to."""
        if self.in_transaction(batch) or self.verifying.get(batch.producer_id) is verification:
            return ErrorCode.NONE
        return ErrorCode.INVALID_PRODUCER_EPOCH if self.fences(batch) else ErrorCode.INVALID_TXN_STATE

    def update(self, batch: RecordBatch) -> None:
        """Update the state with an appended batch or marker, on a leader or a follower.

        A marker that compaction has emptied says nothing any more (`ProducerAppendInfo.append`).
        """
        if batch.marker and not batch.places:
            return
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            entry = self.entries[batch.producer_id] = ProducerEntry(batch.epoch)
        elif batch.epoch != entry.epoch:
            entry.begin_epoch(batch.epoch)
        entry.last_us = batch.append_us
        if batch.transactional and self.verifying:
            self._verified(batch)
        if batch.marker:
            entry.first_offset = -1
            entry.coordinator_epoch = max(entry.coordinator_epoch, batch.coordinator_epoch)
            return
        if batch.transactional and entry.first_offset < 0:
            entry.first_offset = batch.base_offset
        batches = entry.batches
        if batch.base_sequence != NO_SEQUENCE:
            batches.append(Appended(batch.base_sequence, batch.last_sequence, batch.base_offset))
            if len(batches) > BATCHES_REMEMBERED:
                del batches[0]

    def _verified(self, batch: RecordBatch) -> None:
        """A batch or marker of a transaction was appended: end its verification."""
        verification = self.verifying.get(batch.producer_id)
        if verification is None:
            return
        spared = self.rules.late_marker_keeps_verification and verification.with_epochs
        if batch.marker and spared and batch.epoch == verification.epoch:
            reached("marker: the next transaction is being verified")
        else:
            del self.verifying[batch.producer_id]

    def late(self, now_us: int, late_us: int) -> list[int]:
        """Producer ids with a hanging transaction: open, and last written to more than `late_us` ago (KIP-664)."""
        return [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.first_offset >= 0 and now_us - entry.last_us > late_us
        ]

    def expire(self, now_us: int, expiration_us: int) -> None:
        """Remove producers that have not written for `producer.id.expiration.ms` and have no open transaction."""
        for producer_id, entry in list(self.entries.items()):
            if entry.first_offset < 0 and now_us - entry.last_us >= expiration_us:
                del self.entries[producer_id]

    def last_records(self) -> dict[int, LastRecord]:
        """The last record of each producer. Source: `UnifiedLog.lastRecordsOfActiveProducers`."""
        found: dict[int, LastRecord] = {}
        for producer_id, entry in self.entries.items():
            last = entry.batches[-1] if entry.batches else None
            offset = last.base_offset + ((last.last_sequence - last.first_sequence) & LAST_SEQUENCE) if last else -1
            found[producer_id] = LastRecord(offset, entry.epoch)
        return found

    # --- snapshots ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[int, ProducerEntry]:
        """A snapshot as Kafka's file on disk: one batch of each producer."""
        return {producer_id: entry.copy(batches=1) for producer_id, entry in self.entries.items()}

    def load(self, snapshot: dict[int, ProducerEntry]) -> None:
        """Replace the state with that of a snapshot."""
        self.entries = {producer_id: entry.copy() for producer_id, entry in snapshot.items()}

    def copy(self) -> "ProducerStates":
        """A copy without the verifications."""
        other = ProducerStates()
        other.load(self.entries)
        return other

    def open(self) -> dict[int, int]:
        """The first offset of each open transaction, by producer id."""
        return {
            producer_id: entry.first_offset for producer_id, entry in self.entries.items() if entry.first_offset >= 0
        }
