"""The records of a partition's log by offset: (producer, serial number).

A serial number n means the producer's n-th record to this partition. It identifies a record independently of its
offset: after a truncation offsets are used again, and a producer without idempotence may append a record twice.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

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


class Placements(msgspec.Struct, gc=False):
    """Runs of offsets in order: the end of each, its producer, and the difference of serial number and offset.

    `first` is the begin of the first run: records below it were deleted from the log, and their counts are settled.
    """

    first: int = 0
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
        if index < len(ends) and end <= ends[index] and first >= self.first:  # usual: within one run
            producer = self.producers[index]
            return ((first, end, producer, first + self.shifts[index]),) if producer and first < end else ()
        return self._from_run(index, first, end)

    def _from_run(self, index: int, first: int, end: int) -> Iterator[Run]:
        ends = self.ends
        at = max(first, ends[index - 1] if index else self.first)
        while at < end and index < len(ends):
            stop = min(end, ends[index])
            if self.producers[index]:
                yield at, stop, self.producers[index], at + self.shifts[index]
            at = stop
            index += 1

    def cut(self, offset: int) -> list[Run]:
        """Drop everything from `offset` on. Returns the dropped runs."""
        dropped = list(self.between(offset, self.end))
        while self.ends and self.ends[-1] > offset:
            start = self.ends[-2] if len(self.ends) > 1 else self.first
            if start < offset:
                self.ends[-1] = offset
                break
            del self.ends[-1], self.producers[-1], self.shifts[-1]
        self.first = min(self.first, offset)
        return dropped

    def drop_before(self, offset: int) -> None:
        """Drop the runs that end at `offset` or before."""
        count = bisect_right(self.ends, offset)
        if count:
            self.first = self.ends[count - 1]
            del self.ends[:count], self.producers[:count], self.shifts[:count]
