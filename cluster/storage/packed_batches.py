"""Successive batches of a log, packed: one column for each field, numbers as differences, compressed.

A packed batch takes three to eight bytes instead of 350. Replicas have the same batches, pack them at nearly the same
time and share the result. Reading a chunk returns batches equal to those that were packed.
The records of an internal topic (`payload`) stay objects, see `cluster.storage.batch_list`.
"""

import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import accumulate, pairwise, repeat
from operator import add, attrgetter, sub
from typing import Final, NamedTuple, TypeVar

import msgspec

from cluster.protocol.record_batch import Origin, RecordBatch, Remains

_LEVEL: Final = 1

_Value = TypeVar("_Value")
_NUMBERS = attrgetter(
    "producer_id",
    "epoch",
    "base_sequence",
    "first_serial",
    "count",
    "bytes",
    "created_us",
    "leader_epoch",
    "append_us",
    "coordinator_epoch",
)
_CREATED_US, _APPEND_US = 6, 8  # places among the numbers


class _Columns(msgspec.Struct, array_like=True, gc=False):
    """Fields of successive batches. One value stands for all batches; numbers are the first one and differences."""

    numbers: list[list[int]]
    producers: list[str]
    keys: list[tuple[int, ...]]
    origins: list[tuple[Origin, ...]]
    transactional: list[bool]
    markers: list[str]
    gaps: list[int]  # offsets without a batch before each one
    tombstones: list[tuple[int, ...]]
    remains: list[Remains | None]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Columns)


class StoredRecord:
    """A record of an internal topic in the log; compaction changes its content to that of a later one of its key."""

    __slots__ = ("record",)

    def __init__(self, record: object) -> None:
        self.record = record


class Oldest(NamedTuple):
    """The first batch of a log: its offsets and its timestamp."""

    base_offset: int
    next_offset: int
    created_us: int


class Chunk:
    """Successive batches of one partition, packed. `newest_us` is their largest timestamp.

    `payloads`: the records that compaction keeps, by the place of their batch.
    """

    __slots__ = ("_data", "_partition", "bytes", "count", "newest_us", "next_offset", "oldest", "payloads")

    def __init__(self, batches: Sequence[RecordBatch], payloads: dict[int, list[StoredRecord]]) -> None:
        first = batches[0]
        self._partition, self.payloads, self.count = first.partition, payloads, len(batches)
        self.oldest = Oldest(first.base_offset, first.next_offset, first.created_us)
        self.next_offset = batches[-1].next_offset
        self.bytes = sum(batch.bytes for batch in batches)
        self.newest_us = max(batch.created_us for batch in batches)
        self._data = zlib.compress(_ENCODER.encode(_columns(batches)), _LEVEL)

    def of_another_replica(self, payloads: dict[int, list[StoredRecord]]) -> "Chunk":
        """The same batches with the records of another replica's log."""
        if not payloads and not self.payloads:
            return self
        other = copy(self)
        other.payloads = payloads
        return other

    def __iter__(self) -> Iterator[RecordBatch]:
        """Unpack the batches."""
        columns: _Columns = _DECODER.decode(zlib.decompress(self._data))
        count, payloads = self.count, self.payloads
        numbers = [list(_numbers(column, count)) for column in columns.numbers]
        producer_ids, epochs, sequences, serials, counts, sizes, created, leader_epochs, waited, coordinators = numbers
        return map(
            RecordBatch,
            repeat(self._partition),
            _values(columns.producers, count),
            producer_ids,
            epochs,
            sequences,
            serials,
            counts,
            sizes,
            created,
            _values(columns.keys, count),
            self._base_offsets(counts, columns.gaps),
            leader_epochs,
            [at_us + wait_us for at_us, wait_us in zip(created, waited, strict=True)],
            (tuple(stored.record for stored in payloads.get(place, ())) for place in range(count)),
            _values(columns.origins, count),
            _values(columns.transactional, count),
            _values(columns.markers, count),
            coordinators,
            _values(columns.tombstones, count),
            _values(columns.remains, count),
        )

    def _base_offsets(self, counts: list[int], gaps: list[int]) -> Iterable[int]:
        first = self.oldest.base_offset
        if gaps == [0]:  # nearly always
            return accumulate(counts, initial=first)
        return accumulate(map(add, counts, gaps[1:]), initial=first)


_recent: deque[tuple[list[RecordBatch], Chunk]] = deque(maxlen=8)
"""The latest chunks of all logs: other replicas pack the same batches a moment later."""


def packed(batches: list[RecordBatch]) -> Chunk:
    """A chunk of these batches, with all of their records."""
    payloads = whole_payloads(batches)
    for known, chunk in tuple(_recent):
        if known == batches:
            return chunk.of_another_replica(payloads)
    chunk = Chunk(batches, payloads)
    _recent.append((batches, chunk))
    return chunk


def _columns(batches: Sequence[RecordBatch]) -> _Columns:
    numbers = list(zip(*map(_NUMBERS, batches), strict=True))
    numbers[_APPEND_US] = tuple(map(sub, numbers[_APPEND_US], numbers[_CREATED_US]))
    return _Columns(
        [_differences(column) for column in numbers],
        _column([batch.producer for batch in batches]),
        _column([batch.keys for batch in batches]),
        _column([batch.origins for batch in batches]),
        _column([batch.transactional for batch in batches]),
        _column([batch.marker for batch in batches]),
        _column(_gaps(batches)),
        _column([batch.tombstones for batch in batches]),
        _column([batch.remains for batch in batches]),
    )


def _gaps(batches: Sequence[RecordBatch]) -> list[int]:
    """How many offsets before each batch have none; compaction makes such gaps."""
    return [0, *[batch.base_offset - before.next_offset for before, batch in pairwise(batches)]]


def _column(values: list[_Value]) -> list[_Value]:
    return values[:1] if values.count(values[0]) == len(values) else values


def _values(column: list[_Value], count: int) -> Iterable[_Value]:
    return repeat(column[0], count) if len(column) == 1 else column


def _differences(column: tuple[int, ...]) -> list[int]:
    """One number if all are equal; first and step if they grow evenly; else the first one and each difference."""
    if column.count(column[0]) == len(column):
        return [column[0]]
    steps = list(map(sub, column[1:], column))
    return [column[0], steps[0]] if steps.count(steps[0]) == len(steps) else [column[0], *steps]


def _numbers(column: list[int], count: int) -> Iterable[int]:
    if len(column) == 1:
        return repeat(column[0], count)
    if len(column) == 2:  # the first one and the step
        first, step = column
        return range(first, first + step * count, step)
    return accumulate(column)


def whole_payloads(batches: Sequence[RecordBatch]) -> dict[int, list[StoredRecord]]:
    """All of their records."""
    return {
        place: [StoredRecord(record) for record in batch.payload]
        for place, batch in enumerate(batches)
        if batch.payload
    }
