"""Successive batches of a log, packed: their fields column by column, numbers as differences, compressed.

Three to eight bytes a batch are left of 350. Replicas get the same batches, pack them at nearly the same time and share
what comes out of it. A reader of a chunk gets batches equal to those that went in.
The records of an internal topic (`payload`) stay objects, see `cluster.storage.batch_list`.
"""

import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import accumulate, repeat
from operator import attrgetter, sub
from typing import NamedTuple, TypeVar

import msgspec

from cluster.protocol.record_batch import Origin, RecordBatch

_LEVEL = 1

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
    """Fields of successive batches. A column of one value holds for all; numbers are a first one and differences."""

    numbers: list[list[int]]
    producers: list[str]
    keys: list[tuple[int, ...]]
    origins: list[tuple[Origin, ...]]
    transactional: list[bool]
    markers: list[str]


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Columns)


class Kept:
    """A record of an internal topic that stands for every older one of its key."""

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

    `payloads`: what stays of their records, by the place of the batch.
    """

    __slots__ = ("_data", "_partition", "bytes", "count", "newest_us", "next_offset", "oldest", "payloads")

    def __init__(self, batches: Sequence[RecordBatch], payloads: dict[int, list[Kept]]) -> None:
        first = batches[0]
        self._partition, self.payloads, self.count = first.partition, payloads, len(batches)
        self.oldest = Oldest(first.base_offset, first.next_offset, first.created_us)
        self.next_offset = batches[-1].next_offset
        self.bytes = sum(batch.bytes for batch in batches)
        self.newest_us = max(batch.created_us for batch in batches)
        self._data = zlib.compress(_ENCODER.encode(_columns(batches)), _LEVEL)

    def of_another_replica(self, payloads: dict[int, list[Kept]]) -> "Chunk":
        """The same batches with the records that stay there."""
        if not payloads and not self.payloads:
            return self
        other = copy(self)
        other.payloads = payloads
        return other

    def __iter__(self) -> Iterator[RecordBatch]:
        """The batches, made anew."""
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
            accumulate(counts, initial=self.oldest.base_offset),
            leader_epochs,
            [at_us + wait_us for at_us, wait_us in zip(created, waited, strict=True)],
            (tuple(kept.record for kept in payloads.get(place, ())) for place in range(count)),
            _values(columns.origins, count),
            _values(columns.transactional, count),
            _values(columns.markers, count),
            coordinators,
        )


_recent: deque[tuple[list[RecordBatch], Chunk]] = deque(maxlen=8)
"""What was packed last, of any log: other replicas pack the same a moment later."""


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
    )


def _column(values: list[_Value]) -> list[_Value]:
    return values[:1] if values.count(values[0]) == len(values) else values


def _values(column: list[_Value], count: int) -> Iterable[_Value]:
    return repeat(column[0], count) if len(column) == 1 else column


def _differences(column: tuple[int, ...]) -> list[int]:
    """A number that stays; one that grows evenly, with its step; or the first one and each difference."""
    if column.count(column[0]) == len(column):
        return [column[0]]
    steps = list(map(sub, column[1:], column))
    return [column[0], steps[0]] if steps.count(steps[0]) == len(steps) else [column[0], *steps]


def _numbers(column: list[int], count: int) -> Iterable[int]:
    if len(column) == 1:
        return repeat(column[0], count)
    if len(column) == 2:  # a first one and a step
        first, step = column
        return range(first, first + step * count, step)
    return accumulate(column)


def whole_payloads(batches: Sequence[RecordBatch]) -> dict[int, list[Kept]]:
    """All of their records."""
    return {place: [Kept(record) for record in batch.payload] for place, batch in enumerate(batches) if batch.payload}
