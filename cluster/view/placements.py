"""The records of a partition's log by offset: (producer, serial number).

A serial number n means the producer's n-th record to this partition. It identifies a record independently of its
offset: after a truncation offsets are used again, and a producer without idempotence may append a record twice.

A log keeps its records for days and a reader is near its end: older runs are packed, at three to five bytes instead of
90. A keyframe of an hour is half as large for it, and is decoded in a tenth of the time.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from cluster.storage.offset_ranges import IntervalSet

Serials = dict[str, IntervalSet]
"""Records by identity: producer → serial numbers."""

Run = tuple[int, int, str, int]
"""Offsets first … end - 1 hold records of a producer ("" for markers), from this serial number on."""


def note_run(serials: Serials, producer: str, first: int, end: int) -> int:
    """Add records of one producer. Returns the number of new ones."""
    known = serials.get(producer)
    if known is None:
        known = serials[producer] = IntervalSet()
    return known.add(first, end)


NOWHERE: Final = 1 << 62


class ReplicaGaps(msgspec.Struct, gc=False):
    """Offsets of one replica's log whose records compaction has removed.

    From `parted` on they were not the records that the leader's log has there: the replica truncates its log there, or
    leads with it again.
    """

    offsets: IntervalSet = msgspec.field(default_factory=IntervalSet)
    parted: int = NOWHERE

    def shared(self) -> IntervalSet:
        """The offsets at which the leader's log has, or had, the same records."""
        if self.parted == NOWHERE:
            return self.offsets
        low = IntervalSet(list(self.offsets.starts), list(self.offsets.ends))
        low.truncate(self.parted)
        return low

    def copied(self) -> "ReplicaGaps":
        """The gaps of a replica that copied this one's log."""
        return ReplicaGaps(IntervalSet(list(self.offsets.starts), list(self.offsets.ends)), self.parted)

    def part(self, offset: int) -> None:
        """The leader's log is another one from an offset on."""
        if self.offsets.ends and self.offsets.ends[-1] > offset:
            self.parted = min(self.parted, offset)

    def truncate(self, offset: int) -> None:
        """The replica truncates its log."""
        self.offsets.truncate(offset)
        if offset <= self.parted:
            self.parted = NOWHERE


PACKED_RUNS: Final = 32
LEAST_LOOSE_RUNS: Final = 32  # below these, a cut or a reader near the end unpacks nothing


class _PackedRuns(msgspec.Struct, array_like=True, gc=False):
    """Successive runs: their lengths, the place of each one's producer in `names`, and jumps of serial numbers.

    A jump is the distance of a run's first serial number from the end of its producer's run before; usually 0.
    """

    names: list[str]
    lengths: list[int]
    places: bytes
    jumps: list[int]


_Columns = tuple[Sequence[int], Sequence[str], Sequence[int]]
"""Ends, producers and shifts of successive runs."""

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_PackedRuns)


def _packed(begin: int, columns: _Columns) -> bytes:
    """Pack at most 256 successive runs, the first of which begins at `begin`."""
    places: dict[str, int] = {}
    serial_ends: dict[str, int] = {}
    runs = _PackedRuns([], [], bytes(places.setdefault(name, len(places)) for name in columns[1]), [])
    for end, producer, shift in zip(*columns, strict=True):
        runs.lengths.append(end - begin)
        runs.jumps.append(begin + shift - serial_ends.get(producer, 0))
        serial_ends[producer] = end + shift
        begin = end
    runs.names.extend(places)
    return _ENCODER.encode(runs)


@lru_cache(maxsize=64)
def _unpacked(begin: int, packed: bytes) -> _Columns:
    runs = _DECODER.decode(packed)
    producers = [runs.names[place] for place in runs.places]
    ends, shifts = list[int](), list[int]()
    serial_ends = dict.fromkeys(runs.names, 0)
    for length, producer, jump in zip(runs.lengths, producers, runs.jumps, strict=True):
        serial = serial_ends[producer] + jump
        shifts.append(serial - begin)
        begin += length
        ends.append(begin)
        serial_ends[producer] = serial + length
    return ends, producers, shifts


class Placements(msgspec.Struct, gc=False):
    """Runs of offsets in order: the end of each, its producer, and the difference of serial number and offset.

    `first` is the begin of the first run: records below it were deleted from the log, and their counts are settled.
    `packed` has the older runs in blocks, `packed_ends` the end of each block; the oldest block begins at
    `packed_first` and may hold runs below `first`. The loose runs follow; with packed runs there are loose ones.
    """

    first: int = 0
    packed_first: int = 0
    packed_ends: list[int] = []
    packed: list[bytes] = []
    ends: list[int] = []
    producers: list[str] = []
    shifts: list[int] = []

    @property
    def end(self) -> int:
        """The end of the last run."""
        return self.ends[-1] if self.ends else self.first

    def append(self, first: int, end: int, producer: str, serial: int) -> None:
        """Append a run; `first` may lie beyond or below the known end."""
        shift = serial - first if producer else 0  # coordinators' records have no serial numbers: one run
        ends = self.ends
        if ends:
            if ends[-1] != first:
                self._reach(first)
            elif self.shifts[-1] == shift and self.producers[-1] == producer:
                ends[-1] = end
                return
        elif self.first != first:
            self._reach(first)
        ends.append(end)
        self.producers.append(producer)
        self.shifts.append(shift)
        if len(ends) > LEAST_LOOSE_RUNS + PACKED_RUNS:
            self._pack()

    def _reach(self, offset: int) -> None:
        """Set the end: longer than known (a replica had more than any leader knew), or shorter."""
        if offset < self.end:
            self.cut(offset)
        elif offset > self.end:
            self.ends.append(offset)
            self.producers.append("")
            self.shifts.append(0)

    def between(self, first: int, end: int) -> Iterable[Run]:
        """The runs of producers' records in first … end - 1."""
        ends = self.ends
        index = bisect_right(ends, first)
        # usual: within one loose run
        if index < len(ends) and end <= ends[index] and (index or first >= self._loose_first()):
            producer = self.producers[index]
            return ((first, end, producer, first + self.shifts[index]),) if producer and first < end else ()
        return self._from_block(max(first, self.first), end)

    def _from_block(self, first: int, end: int) -> Iterator[Run]:
        """The runs of a range that may begin among the packed ones."""
        for place in range(bisect_right(self.packed_ends, first), len(self.packed)):
            if first >= end:
                return
            yield from _within(self._block(place), self._begin(place), first, end)
            first = max(first, self.packed_ends[place])
        yield from _within((self.ends, self.producers, self.shifts), self._loose_first(), first, end)

    def cut(self, offset: int) -> list[Run]:
        """Drop everything from `offset` on. Returns the dropped runs."""
        dropped = list(self.between(offset, self.end))
        while self.packed and self.packed_ends[-1] >= offset:
            self._unpack()
        while self.ends and self.ends[-1] > offset:
            start = self.ends[-2] if len(self.ends) > 1 else self._loose_first()
            if start < offset:
                self.ends[-1] = offset
                break
            del self.ends[-1], self.producers[-1], self.shifts[-1]
        self.first = min(self.first, offset)
        return dropped

    def drop_before(self, offset: int) -> None:
        """Drop the runs that end at `offset` or before."""
        blocks = bisect_right(self.packed_ends, offset)
        if blocks:
            self.first = self.packed_first = self.packed_ends[blocks - 1]
            del self.packed_ends[:blocks], self.packed[:blocks]
        ends = self._block(0)[0] if self.packed else self.ends
        count = bisect_right(ends, offset)
        if count:
            self.first = max(self.first, ends[count - 1])
            if not self.packed:
                del self.ends[:count], self.producers[:count], self.shifts[:count]

    def _pack(self) -> None:
        """Pack the oldest loose runs."""
        oldest = self.ends[:PACKED_RUNS], self.producers[:PACKED_RUNS], self.shifts[:PACKED_RUNS]
        if not self.packed:
            self.packed_first = self.first
        self.packed.append(_packed(self._loose_first(), oldest))
        self.packed_ends.append(oldest[0][-1])
        del self.ends[:PACKED_RUNS], self.producers[:PACKED_RUNS], self.shifts[:PACKED_RUNS]

    def _unpack(self) -> None:
        """Make the runs of the newest block loose, without those that were dropped."""
        ends, producers, shifts = self._block(len(self.packed) - 1)
        self.packed.pop()
        self.packed_ends.pop()
        dropped = 0 if self.packed else bisect_right(ends, self.first)
        self.ends[:0], self.producers[:0], self.shifts[:0] = ends[dropped:], producers[dropped:], shifts[dropped:]

    def _block(self, place: int) -> _Columns:
        return _unpacked(self._begin(place), self.packed[place])

    def _begin(self, place: int) -> int:
        """The begin of a block."""
        return self.packed_ends[place - 1] if place else self.packed_first

    def _loose_first(self) -> int:
        """The begin of the first loose run."""
        return self.packed_ends[-1] if self.packed_ends else self.first


def _within(columns: _Columns, begin: int, first: int, end: int) -> Iterator[Run]:
    """The producers' runs in first … end - 1 of successive runs, the first of which begins at `begin`."""
    ends, producers, shifts = columns
    index = bisect_right(ends, first)
    at = max(first, ends[index - 1] if index else begin)
    while at < end and index < len(ends):
        stop = min(end, ends[index])
        if producers[index]:
            yield at, stop, producers[index], at + shifts[index]
        at = stop
        index += 1
