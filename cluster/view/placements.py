"""Whose records stand where: the log that counts, offset by offset, as (producer, serial number).

A record is its producer's n-th record to this partition, whatever its offset: after a truncation offsets are given
again, and a producer without idempotence may append a record twice.
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
    """Add records of one producer; returns how many of them are new."""
    known = serials.get(producer)
    if known is None:
        known = serials[producer] = IntervalSet()
    return known.add(first, end)


class Placements(msgspec.Struct, gc=False):
    """Runs of offsets in order: where each ends, whose it is, and what makes a serial number of an offset.

    `first` is where the first run begins: what is below was deleted from the log, and is settled.
    """

    first: int = 0
    ends: list[int] = []
    producers: list[str] = []
    shifts: list[int] = []

    @property
    def end(self) -> int:
        """Where the last run ends."""
        return self.ends[-1] if self.ends else self.first

    def append(self, first: int, end: int, producer: str, serial: int) -> None:
        """The log goes on with these."""
        shift = serial - first if producer else 0  # coordinators' records have no numbers: one run
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
        """The log ends here: longer than was known (a replica had more than any leader knew), or shorter."""
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
        if index < len(ends) and end <= ends[index] and first >= self.first:  # nearly always: within one run
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
        """Drop everything from `offset` on; returns what was dropped."""
        gone = list(self.between(offset, self.end))
        while self.ends and self.ends[-1] > offset:
            start = self.ends[-2] if len(self.ends) > 1 else self.first
            if start < offset:
                self.ends[-1] = offset
                break
            del self.ends[-1], self.producers[-1], self.shifts[-1]
        self.first = min(self.first, offset)
        return gone

    def drop_before(self, offset: int) -> None:
        """Forget the runs that end at `offset` or before."""
        count = bisect_right(self.ends, offset)
        if count:
            self.first = self.ends[count - 1]
            del self.ends[:count], self.producers[:count], self.shifts[:count]
