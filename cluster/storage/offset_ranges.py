"""A growing set of whole numbers kept as sorted, disjoint, half-open ranges."""

from bisect import bisect_right
from collections.abc import Iterator

import msgspec


class IntervalSet(msgspec.Struct, gc=False):
    """A set of offsets or serial numbers: `starts[i] <= x < ends[i]`."""

    starts: list[int] = []
    ends: list[int] = []

    @property
    def size(self) -> int:
        """The number of members."""
        return sum(self.ends) - sum(self.starts)

    def add(self, first: int, end: int) -> int:
        """Add first … end-1; returns the number of new members. Extending the last range costs O(1)."""
        starts, ends = self.starts, self.ends
        if not ends or first > ends[-1]:
            starts.append(first)
            ends.append(end)
            return end - first
        if first == ends[-1]:
            ends[-1] = end
            return end - first
        return self._merge(first, end)

    def _merge(self, first: int, end: int) -> int:
        starts, ends = self.starts, self.ends
        low = bisect_right(ends, first - 1)  # the first range that touches [first, end]
        high = low
        known = 0
        new_start, new_end = first, end
        while high < len(starts) and starts[high] <= end:
            known += max(0, min(end, ends[high]) - max(first, starts[high]))
            new_start, new_end = min(new_start, starts[high]), max(new_end, ends[high])
            high += 1
        starts[low:high] = [new_start]
        ends[low:high] = [new_end]
        return end - first - known

    def remove(self, first: int, end: int) -> None:
        """Remove first … end-1, those of them that are members."""
        kept = [
            piece
            for start, stop in self.ranges()
            for piece in ((start, min(stop, first)), (max(start, end), stop))
            if piece[0] < piece[1]
        ]
        self.starts[:] = [start for start, _ in kept]
        self.ends[:] = [stop for _, stop in kept]

    def truncate(self, end: int) -> int:
        """Remove everything from `end` on; returns the number of removed members."""
        dropped = 0
        while self.ends and self.ends[-1] > end:
            start, stop = self.starts.pop(), self.ends.pop()
            dropped += stop - max(start, end)
            if start < end:
                self.starts.append(start)
                self.ends.append(end)
        return dropped

    def drop_before(self, first: int) -> int:
        """Remove the ranges that end at `first` or before; returns the number of removed members."""
        count = bisect_right(self.ends, first)
        dropped = sum(self.ends[:count]) - sum(self.starts[:count])
        del self.starts[:count], self.ends[:count]
        return dropped

    def gaps(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges of first … end-1 that are not in the set, in order."""
        at = first
        for index in range(bisect_right(self.ends, first), len(self.starts)):
            if self.starts[index] >= end:
                break
            if self.starts[index] > at:
                yield at, self.starts[index]
            at = self.ends[index]
        if at < end:
            yield at, end

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The ranges (first, end), in order."""
        return zip(self.starts, self.ends, strict=True)

    def within(self, other: "IntervalSet") -> "IntervalSet":
        """The members of both sets."""
        both = IntervalSet()
        for first, end in self.ranges():
            for index in range(bisect_right(other.ends, first), len(other.starts)):
                if other.starts[index] >= end:
                    break
                both.starts.append(max(first, other.starts[index]))
                both.ends.append(min(end, other.ends[index]))
        return both

    def without(self, other: "IntervalSet") -> "IntervalSet":
        """The members of this set that are not in the other."""
        left = IntervalSet()
        for first, end in self.ranges():
            for start, stop in other.gaps(first, end):
                left.starts.append(start)
                left.ends.append(stop)
        return left

    def shared(self, other: "IntervalSet", first: int, end: int) -> int:
        """The number of members of both sets in first … end-1."""
        return sum(other.covered(max(first, start), min(end, stop)) for start, stop in self.ranges())

    def covered(self, first: int, end: int) -> int:
        """The number of members in first … end-1."""
        if end <= first:
            return 0
        total = 0
        for index in range(bisect_right(self.ends, first), len(self.starts)):
            if self.starts[index] >= end:
                break
            total += min(end, self.ends[index]) - max(first, self.starts[index])
        return total
