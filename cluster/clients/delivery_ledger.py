"""The delivery ledger: which records one group's applications have processed, how often, and in which order.

A record's identity is its producer, partition and serial number; its offset does not matter. A batch that a leader
appended twice has the same records. So has a batch at other offsets after a truncation. An output record has an
identity of its input's (`RecordBatch.origins`, `cluster.clients.application.outputs`).
The order of a key is the order in which its producer sent it: by serial number within a partition, and by `KeyOrder`
after added partitions have moved keys.
"""

from collections.abc import Callable, Iterable, Iterator

from cluster import events as e
from cluster.clients.application.outputs import input_partition
from cluster.clients.key_order import KeyOrder, Stream
from cluster.protocol.names import topic_of
from cluster.protocol.record_batch import RecordBatch, origins_between
from cluster.storage.offset_ranges import IntervalSet


class DeliveryLedger:
    """The records that a group has processed. `finished` emits KeyOrderBroken once for each key.

    `truncated`: whether a fetched batch has been truncated since: the leader's log does not have it.
    """

    def __init__(
        self,
        group: str,
        emit: Callable[[e.Event], None],
        moves: KeyOrder,
        truncated: Callable[[RecordBatch], bool],
    ) -> None:
        self._group, self._emit, self._moves, self.truncated = group, emit, moves, truncated
        self._known: dict[Stream, IntervalSet] = {}
        self._last: dict[tuple[str, str, str, int], int] = {}
        self._broken: dict[tuple[str, int], None] = {}

    def finished(self, batch: RecordBatch, first_offset: int, next_offset: int) -> Iterable[tuple[int, int]]:
        """Note records of a batch as processed; returns runs (how many, how many repeated).

        Of output records all or none of a run are repeated, so that copies are known one by one.
        """
        first, stop = first_offset - batch.base_offset, next_offset - batch.base_offset
        if batch.origins:
            return self._split_outputs(batch, first, stop)
        stream, count = (batch.producer, batch.partition), stop - first  # records without origins: one run
        return ((count, self._run(batch, stream, batch.first_serial + first, first, count)),)

    def _split_outputs(self, batch: RecordBatch, first: int, stop: int) -> Iterator[tuple[int, int]]:
        for run in _runs(batch, first, stop):
            yield from self._split_runs(batch, *run)

    def _split_runs(
        self, batch: RecordBatch, stream: Stream, serial: int, place: int, count: int
    ) -> Iterator[tuple[int, int]]:
        at, end = serial, serial + count
        known = self._known.get(stream)
        for start, stop in list(known.gaps(at, end)) if known is not None else [(at, end)]:
            if at < start:
                yield start - at, self._run(batch, stream, at, place + at - serial, start - at)
            yield stop - start, self._run(batch, stream, start, place + start - serial, stop - start)
            at = stop
        if at < end:
            yield end - at, self._run(batch, stream, at, place + at - serial, end - at)

    def _run(self, batch: RecordBatch, stream: Stream, serial: int, place: int, count: int) -> int:
        """Note successive records of one stream as processed; returns how many were processed before."""
        known = self._known.get(stream)
        if known is None:
            known = self._known[stream] = IntervalSet()
        if batch.keys:
            for start, stop in list(known.gaps(serial, serial + count)):
                self._first_times(batch, stream, start, stop, place - serial)
        return count - known.add(serial, serial + count)

    def _first_times(self, batch: RecordBatch, stream: Stream, start: int, stop: int, shift: int) -> None:
        producer, came_from = stream
        topic = topic_of(batch.partition)
        source = topic if came_from == batch.partition else topic_of(came_from)
        sent_in = (producer, input_partition(came_from)) if batch.origins else stream
        for serial in range(start, stop):
            key = batch.keys[serial + shift]
            if key < 0:
                continue
            ordered_key = (producer, source, topic, key)
            rank = self._moves.rank(sent_in, serial)
            if self._last.get(ordered_key, -1) > rank:
                if (topic, key) not in self._broken:
                    self._broken[topic, key] = None
                    self._emit(e.KeyOrderBroken(group=self._group, topic=topic, key=key))
            else:
                self._last[ordered_key] = rank


def _runs(batch: RecordBatch, first: int, end: int) -> Iterator[tuple[Stream, int, int, int]]:
    """Yield records first … end - 1 of a batch as runs (stream, first serial, first place, how many)."""
    if not batch.origins:
        yield (batch.producer, batch.partition), batch.first_serial + first, first, end - first
        return
    for (producer, partition, serial, count), start in origins_between(batch.origins, first, end):
        yield (producer, partition), serial, start, count


def origins_of(batch: RecordBatch, first: int, end: int) -> list[tuple[str, str, int, int]]:
    """The identities of records first … end - 1 (offsets), as runs (producer, partition, first serial, count)."""
    base = batch.base_offset
    return [(*stream, serial, count) for stream, serial, _, count in _runs(batch, first - base, end - base)]
