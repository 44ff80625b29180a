"""A record batch: the unit of the log, shared by every replica that holds it; and keyed records of internal topics.

Records of user topics have no payload. The ground truth needs their identity only: the producer instance, the serial
number and the key. The serial numbers of a producer in a partition count from 0, sent or not.
Source: Kafka's `DefaultRecordBatch` (magic 2).
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

RECORD_BATCH_OVERHEAD_BYTES: Final = 61  # DefaultRecordBatch.RECORD_BATCH_OVERHEAD
RECORD_OVERHEAD_BYTES: Final = 8  # a typical DefaultRecord header: length, attributes, deltas, key and value lengths
LAST_SEQUENCE: Final = 0x7FFFFFFF  # the next sequence is 0
NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

COMMIT: Final = "COMMIT"
ABORT: Final = "ABORT"
"""How a marker ends its transaction."""

Origin = tuple[str, str, int, int]
"""Successive input records: (producer, partition, first serial number, count)."""


def origins_between(origins: tuple[Origin, ...] | list[Origin], first: int, end: int) -> Iterator[tuple[Origin, int]]:
    """The inputs of the records at places first … end - 1, each run with the place of its first record."""
    place = 0
    for producer, partition, serial, count in origins:
        start, stop = max(place, first), min(place + count, end)
        if start < stop:
            yield (producer, partition, serial + start - place, stop - start), start
        place += count


class KeyedRecord(msgspec.Struct, frozen=True):
    """A record of an internal topic with a key; log compaction keeps the newest record of each key."""

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """The key: a later record with the same key replaces this one."""
        raise NotImplementedError

    @property
    def decided_by(self) -> int:
        """The producer id whose transaction marker decides this record; -1 for a record outside transactions."""
        return NO_PRODUCER_ID

    def in_place_of(self, older: "KeyedRecord") -> "KeyedRecord":
        """The record to keep at the place of an older one with the same key."""
        del older
        return self


class Remains(NamedTuple):
    """What compaction has left of a batch. Source: `MemoryRecords.filterTo`, `DefaultRecordBatch.deleteHorizonMs`.

    `kept`: the places of the records that are still there. `delete_horizon_us`: from then on its tombstones may go, or
    the marker that it is; -1 while it has none.
    """

    kept: tuple[int, ...]
    delete_horizon_us: int


class RecordBatch(msgspec.Struct, frozen=True, gc=False):
    """Records of one producer for one partition.

    `base_offset`, `leader_epoch` and `append_us` are -1 in a request; the leader appends a copy with them (`placed`).
    `payload` holds the records of an internal topic (group metadata, offsets); it is empty for user topics.
    `keys` holds a key number for each record (-1: none); it is empty when the records have no key.
    `marker` (COMMIT or ABORT) makes this a control batch, which ends a transaction for the transaction coordinator with
    `coordinator_epoch`. `created_us` is the first record's timestamp (virtual microseconds).
    `origins` are the inputs for which an application wrote these records; empty without inputs.
    `tombstones` are the places of the records without a value. `remains` is set once compaction has changed the batch:
    then `count` is still the number of its offsets, and of its sequences.
    """

    partition: str
    producer: str
    producer_id: int
    epoch: int
    base_sequence: int
    first_serial: int
    count: int
    bytes: int
    created_us: int
    keys: tuple[int, ...] = ()
    base_offset: int = -1
    leader_epoch: int = -1
    append_us: int = -1
    payload: tuple[object, ...] = ()
    origins: tuple[Origin, ...] = ()
    transactional: bool = False
    marker: str = ""
    coordinator_epoch: int = -1
    tombstones: tuple[int, ...] = ()
    remains: Remains | None = None

    @property
    def next_offset(self) -> int:
        """The offset after the last record."""
        return self.base_offset + self.count

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record; wraps from 2147483647 to 0."""
        return (self.base_sequence + self.count - 1) & LAST_SEQUENCE

    def placed(self, base_offset: int, leader_epoch: int, append_us: int) -> "RecordBatch":
        """The copy that the leader appends at `base_offset` in its epoch."""
        return RecordBatch(
            self.partition,
            self.producer,
            self.producer_id,
            self.epoch,
            self.base_sequence,
            self.first_serial,
            self.count,
            self.bytes,
            self.created_us,
            self.keys,
            base_offset,
            leader_epoch,
            append_us,
            self.payload,
            self.origins,
            self.transactional,
            self.marker,
            self.coordinator_epoch,
            self.tombstones,
        )

    @property
    def places(self) -> Sequence[int]:
        """The places of the records that are there: all of them, but for compaction."""
        return range(self.count) if self.remains is None else self.remains.kept

    @property
    def delete_horizon_us(self) -> int:
        """From when on tombstones of this batch, or the marker that it is, may go; -1 while that is not known."""
        return -1 if self.remains is None else self.remains.delete_horizon_us

    @property
    def identity(self) -> tuple[str, int, int, int, int, int, str]:
        """What compaction never changes: whose records these were, at which offsets and sequences."""
        own = self.producer, self.producer_id, self.epoch, self.first_serial
        return *own, self.base_offset, self.count, self.marker

    def cleaned(self, remains: Remains) -> "RecordBatch":
        """The batch as compaction leaves it; offsets, sequences and serial numbers of its records stay."""
        before, content = len(self.places), max(0, self.bytes - RECORD_BATCH_OVERHEAD_BYTES)
        size = RECORD_BATCH_OVERHEAD_BYTES + (content * len(remains.kept) // before if before else 0)
        return msgspec.structs.replace(self, bytes=min(size, self.bytes), remains=remains)


class Slice(NamedTuple):
    """The records of one batch that one poll() returned: offsets first_offset … next_offset - 1."""

    batch: RecordBatch
    first_offset: int
    next_offset: int


def present(batch: RecordBatch, position: int, most: int) -> list[Slice]:
    """The next records of a compacted batch, a slice for each run of successive ones."""
    runs: list[Slice] = []
    for place in batch.places:
        offset = batch.base_offset + place
        if offset < position:
            continue
        if most <= 0:
            break
        if runs and runs[-1].next_offset == offset:
            runs[-1] = Slice(batch, runs[-1].first_offset, offset + 1)
        else:
            runs.append(Slice(batch, offset, offset + 1))
        most -= 1
    return runs


class FetchedRecords(NamedTuple):
    """What a Fetch brought of a partition: `records` at or behind `position`, in batches of `bytes` bytes.

    At `next_offset` all of it is read. Source: `CompletedFetch`.
    """

    broker: int
    position: int
    next_offset: int
    records: int
    bytes: int


def measured(broker: int, batches: list[RecordBatch], position: int, next_offset: int) -> FetchedRecords:
    """Count the records and bytes of batches that were just buffered."""
    records = size = 0
    for batch in batches:
        size += batch.bytes
        if batch.remains is None:
            records += batch.count
        else:
            records += sum(batch.base_offset + place >= position for place in batch.remains.kept)
    first = batches[0]
    if first.base_offset < position and first.remains is None:
        records -= position - first.base_offset
    return FetchedRecords(broker, position, next_offset, records, size)
