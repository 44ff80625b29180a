"""A record batch: the unit of the log, shared by every replica that holds it.

Records have no payload; what the ground truth needs of them is their identity: the producer instance, the
partition's `first_serial` (records of this producer to this partition are numbered from 0, whatever happened to
them on the way), and their keys. Source: Kafka's `DefaultRecordBatch` (magic 2).
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

RECORD_BATCH_OVERHEAD_BYTES = 61  # DefaultRecordBatch.RECORD_BATCH_OVERHEAD
RECORD_OVERHEAD_BYTES = 8  # a typical DefaultRecord header: length, attributes, deltas, key and value lengths
LAST_SEQUENCE = 0x7FFFFFFF  # after it comes 0


NO_PRODUCER_ID = NO_EPOCH = NO_SEQUENCE = -1

COMMIT, ABORT = "COMMIT", "ABORT"
"""What a marker says of its transaction."""

Origin = tuple[str, str, int, int]
"""A run of inputs: producer, partition, first serial number, how many."""


def origins_between(origins: tuple[Origin, ...] | list[Origin], first: int, end: int) -> Iterator[tuple[Origin, int]]:
    """Of records that were written for these inputs, those at places first … end - 1: each run and its first place."""
    place = 0
    for producer, partition, serial, count in origins:
        start, stop = max(place, first), min(place + count, end)
        if start < stop:
            yield (producer, partition, serial + start - place, stop - start), start
        place += count


class RecordBatch(msgspec.Struct, frozen=True, gc=False):
    """Records of one producer for one partition.

    `base_offset`, `leader_epoch` and `append_us` are -1 in a request: the leader stores a copy that has them.
    `payload` holds the records of an internal topic (group metadata, offsets); it is empty for user topics.
    `keys` holds a key number for each record (-1: none), and is empty when the records have no key.
    `marker` makes it a control batch, which ends a transaction (COMMIT or ABORT) in the name of the transaction
    coordinator with `coordinator_epoch`.
    `created_us` is the first record's timestamp (virtual microseconds).
    `origins` are the identities of the inputs for which an application wrote these records; empty when there are none.
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
        )


class Slice(NamedTuple):
    """Records of one batch that one poll() returned: offsets first_offset … next_offset - 1."""

    batch: RecordBatch
    first_offset: int
    next_offset: int
