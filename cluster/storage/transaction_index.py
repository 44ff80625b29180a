"""The transactions of one log: the open ones, the last stable offset, and the aborted ones.

Theory of operation. A transaction is *open* from its first record in this partition until its marker. The marker
decides it, but read_committed consumers must not read past its beginning before the high watermark has passed the
marker. Until then it stays in `undecided`. The last stable offset is the high watermark, or the beginning of the
earliest open or undecided transaction. An aborted transaction has an entry in the index with the last stable offset of
that time: a reader stops searching there.
Source: `UnifiedLog`, `ProducerStateManager.firstUnstableOffset`, `TransactionIndex`.
"""

from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple

import msgspec


class AbortedTransaction(NamedTuple):
    """An entry of the aborted index: offsets of the first record and of the marker, both inclusive."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


_last_offset = attrgetter("last_offset")


class TransactionIndex(msgspec.Struct, gc=False):
    """The transactions of one log.

    `open` maps a producer id to the first offset of its open transaction. `undecided` maps a marker's offset to the
    first offset of its transaction, until the high watermark has passed the marker. `aborted` is in the order of the
    markers. Views hold an index for each partition too.
    """

    open: dict[int, int] = {}
    undecided: dict[int, int] = {}
    aborted: list[AbortedTransaction] = []

    def began(self, producer_id: int, offset: int) -> None:
        """A transactional batch was appended at `offset`; only the first one of a transaction counts."""
        self.open.setdefault(producer_id, offset)

    def ended(self, producer_id: int, marker_offset: int, *, committed: bool) -> None:
        """A marker was appended; without an open transaction it has no effect."""
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            return
        self.undecided[marker_offset] = first_offset
        if not committed and self.follows(marker_offset):  # else the log is being read a second time
            # The last stable offset behind this transaction: the earliest open one, or the offset after the marker.
            stable = min(self.open.values(), default=marker_offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, first_offset, marker_offset, stable))

    def follows(self, marker_offset: int) -> bool:
        """Whether a marker at this offset comes after all markers in the index."""
        return not self.aborted or self.aborted[-1].last_offset < marker_offset

    @property
    def began_any(self) -> bool:
        """Whether the log has a transaction that a read_committed consumer must take into account."""
        return bool(self.open or self.undecided or self.aborted)

    def aborted_between(self, fetch_offset: int, upper_bound: int) -> tuple[tuple[int, int, int], ...]:
        """(Producer id, first offset, marker's offset) of the transactions that a read_committed consumer skips."""
        return tuple(entry[:3] for entry in self.collect(fetch_offset, upper_bound)[0])

    def high_watermark_at(self, offset: int) -> None:
        """The high watermark advanced: transactions with a marker below it are decided."""
        for marker_offset in [marker for marker in self.undecided if marker < offset]:
            del self.undecided[marker_offset]

    def first_open(self) -> int | None:
        """The first offset of the earliest open transaction (Kafka: first undecided offset); None without one."""
        return min(self.open.values(), default=None)

    def first_unstable(self, log_start: int) -> int | None:
        """The first offset of the earliest open or undecided transaction, at least the log's start; None without."""
        if not self.open and not self.undecided:
            return None
        return max(min([*self.open.values(), *self.undecided.values()]), log_start)

    def last_stable_offset(self, high_watermark: int, log_start: int) -> int:
        """The end of what a read_committed consumer may read."""
        first = self.first_unstable(log_start)
        return high_watermark if first is None or first > high_watermark else first

    def holds_back(self) -> int | None:
        """The producer id of the earliest open transaction, which holds back the last stable offset."""
        return min(self.open, key=lambda producer_id: self.open[producer_id], default=None)

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """The aborted transactions in [fetch_offset, upper_bound), and whether later entries cannot matter."""
        found: list[AbortedTransaction] = []
        for place in range(bisect_left(self.aborted, fetch_offset, key=_last_offset), len(self.aborted)):
            entry = self.aborted[place]
            if entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """The log was truncated to `offset`: remove entries whose marker is gone. The log finds the open ones."""
        while self.aborted and self.aborted[-1].last_offset >= offset:
            self.aborted.pop()

    def drop_before(self, offset: int) -> None:
        """The log starts at `offset` now: remove entries whose marker is below it."""
        del self.aborted[: bisect_left(self.aborted, offset, key=_last_offset)]

    def compacted(self, end: int, kept: Iterable[AbortedTransaction]) -> None:
        """The log was compacted below `end`: of the aborted transactions there, these still have batches."""
        later = bisect_left(self.aborted, end, key=_last_offset)
        self.aborted[:later] = sorted(kept, key=_last_offset)

    def reload(self, opened: dict[int, int], log_end: int) -> None:
        """The log was truncated or loaded: these transactions are open at the snapshot from which it reads on."""
        self.open, self.undecided = opened, {}
        self.truncate_to(log_end)

    def reset(self) -> None:
        """The log was emptied."""
        self.open.clear()
        self.undecided.clear()
        self.aborted.clear()
