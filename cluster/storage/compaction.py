"""Log compaction of a topic: which records of which batches stay.

Theory of operation. The cleaner reads the dirty part of a log and notes the last offset of each key. Then it copies the
log from its beginning: a record stays if no later one has its key. Offsets never change, so a compacted log has gaps:
batches that are gone, and batches with fewer records than offsets. A batch without records stays, empty, where it is
the last one of a producer that the log knows, or the last one of the cleaned part. A tombstone is the last record of
its key like any other. Its batch gets a delete horizon when it is first copied, and the tombstone goes with the first
cleaning after that. A marker gets one when its transaction has no batch left. Records of aborted transactions go at
once.
Source: `org.apache.kafka.storage.internals.log.Cleaner`, `CleanedTransactionMetadata`, `MemoryRecords.filterTo`.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop
from typing import Final, NamedTuple

from cluster.protocol.record_batch import ABORT, NO_PRODUCER_ID, RecordBatch, Remains
from cluster.storage.producer_state import LastRecord
from cluster.storage.transaction_index import AbortedTransaction

ANY_NUMBER: Final = 1 << 62
NO_KEY: Final = -1
NO_RECORDS: Final = Remains((), -1)


class OffsetMap(NamedTuple):
    """The last offset of each key in the dirty part of a log, read up to `end`."""

    offsets: dict[int, int]
    end: int


class Compaction(NamedTuple):
    """What the cleaner makes of a log's beginning.

    `removed`: the runs of offsets, first … end - 1, whose records it removed. `aborted`: the aborted transactions that
    still have a batch.
    """

    batches: list[RecordBatch]
    removed: list[tuple[int, int]]
    aborted: list[AbortedTransaction]


class CleanedTransactions:
    """The transactions that the cleaner passes: whether a batch is of an aborted one, whether a marker may go."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ahead = [(entry.first_offset, entry.last_offset, entry) for entry in aborted]
        heapify(self._ahead)
        self._aborted: dict[int, AbortedTransaction] = {}  # under way, by producer id
        self._seen: dict[int, None] = {}  # of those, the ones with a batch
        self._committed: dict[int, None] = {}
        self.kept: list[AbortedTransaction] = []

    def discards(self, batch: RecordBatch) -> bool:
        """Whether the records of the next batch, or the marker that it is, are of no use to any reader."""
        while self._ahead and self._ahead[0][0] < batch.next_offset:
            entry = heappop(self._ahead)[2]
            self._aborted.setdefault(entry.producer_id, entry)
        return self._marker(batch) if batch.marker else self._data(batch)

    def _marker(self, batch: RecordBatch) -> bool:
        if not batch.places:
            return True
        producer_id = batch.producer_id
        if batch.marker != ABORT:
            had_batches = producer_id in self._committed
            self._committed.pop(producer_id, None)
            return not had_batches
        entry, had_batches = self._aborted.pop(producer_id, None), producer_id in self._seen
        self._seen.pop(producer_id, None)
        if entry is not None and had_batches:
            self.kept.append(entry)
        return not had_batches

    def _data(self, batch: RecordBatch) -> bool:
        if not batch.transactional:
            return False
        if batch.producer_id in self._aborted:
            self._seen[batch.producer_id] = None
            return True
        self._committed[batch.producer_id] = None
        return False


def offset_map(
    batches: Iterable[RecordBatch],
    start: int,
    end: int,
    aborted: Iterable[AbortedTransaction],
    most_keys: int = ANY_NUMBER,
) -> OffsetMap:
    """Read the dirty part of a log, start … end - 1. It ends early when `most_keys` are known (the buffer is full).

    Source: `Cleaner.buildOffsetMap`.
    """
    offsets: dict[int, int] = {}
    transactions = CleanedTransactions(aborted)
    read_to = start
    for batch in batches:
        if batch.base_offset >= end:
            break
        if not transactions.discards(batch) and not batch.marker:
            for place in batch.places:
                offset, key = batch.base_offset + place, key_at(batch, place)
                if key == NO_KEY or offset < start:
                    continue
                if len(offsets) >= most_keys:
                    return OffsetMap(offsets, read_to)
                offsets[key], read_to = offset, offset + 1
        read_to = max(read_to, batch.next_offset)
    return OffsetMap(offsets, end)


class BatchFilter:
    """Decides what stays of each batch, in the order of the log, at one instant (Kafka's `RecordFilter`)."""

    def __init__(
        self,
        latest: OffsetMap,
        transactions: CleanedTransactions,
        last_records: Mapping[int, LastRecord],
        upper_bound: int,
        now_us: int,
        delete_retention_us: int,
    ) -> None:
        self._latest, self.transactions, self._last_records = latest, transactions, last_records
        self._upper_bound, self._now_us, self._delete_retention_us = upper_bound, now_us, delete_retention_us

    def left(self, batch: RecordBatch) -> RecordBatch | None:
        """The batch as it stays in the log, the same object if nothing changes; None if it goes."""
        unused = self.transactions.discards(batch)
        horizon_us = batch.delete_horizon_us
        discards = unused and (not batch.marker or 0 <= horizon_us <= self._now_us)
        places = batch.places
        kept = () if discards else places if batch.marker else self._kept(batch)
        if not kept:
            if not self._stays_empty(batch):
                return None
            return batch if batch.remains == NO_RECORDS else batch.cleaned(NO_RECORDS)
        waits = bool(unused and batch.marker) or any(place in batch.tombstones for place in kept)
        if waits and horizon_us < 0:
            horizon_us = self._now_us + self._delete_retention_us
        elif len(kept) == len(places):
            return batch
        return batch.cleaned(Remains(tuple(kept), horizon_us))

    def _kept(self, batch: RecordBatch) -> Sequence[int]:
        """The places of the records that stay (`Cleaner.shouldRetainRecord`)."""
        offsets, end = self._latest
        horizon_us = batch.delete_horizon_us
        gone = batch.tombstones if 0 <= horizon_us <= self._now_us else ()
        found: list[int] = []
        for place in batch.places:
            offset, key = batch.base_offset + place, key_at(batch, place)
            last = key != NO_KEY and offset >= offsets.get(key, -1)
            if offset >= end or (last and place not in gone):
                found.append(place)
        return found

    def _stays_empty(self, batch: RecordBatch) -> bool:
        """Whether a batch stays without records: for its producer's state, or for the end of the cleaned part."""
        known = self._last_records.get(batch.producer_id) if batch.producer_id != NO_PRODUCER_ID else None
        if known is not None:
            if known.offset >= 0 and known.offset == batch.next_offset - 1:
                return True
            if known.offset < 0 and batch.marker and batch.epoch == known.epoch:
                return True
        return batch.next_offset == self._upper_bound


def compact(batches: Iterable[RecordBatch], rules: BatchFilter) -> Compaction:
    """Clean these batches, the beginning of a log (`Cleaner.cleanSegments`)."""
    left: list[RecordBatch] = []
    removed: list[tuple[int, int]] = []
    for batch in batches:
        one = rules.left(batch)
        if one is not batch:
            stays = set(one.places) if one is not None else set[int]()
            for place in batch.places:
                if place not in stays:
                    _note(removed, batch.base_offset + place)
        if one is not None:
            left.append(one)
    return Compaction(left, removed, rules.transactions.kept)


def key_at(batch: RecordBatch, place: int) -> int:
    """The key of a record; NO_KEY without one."""
    return batch.keys[place] if batch.keys else NO_KEY


def _note(runs: list[tuple[int, int]], offset: int) -> None:
    if runs and runs[-1][1] == offset:
        runs[-1] = runs[-1][0], offset + 1
    else:
        runs.append((offset, offset + 1))
