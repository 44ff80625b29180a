"""The transactions of one log: which are open, up to where everything is decided, and which were aborted.

Theory of operation. A transaction is *open* from its first record in this partition until its marker. It is *decided*
with the marker, but readers of committed data must not see past its beginning before the high watermark has passed the
marker; until then it stays in `undecided`. The last stable offset is the high watermark, or where the earliest of those
begins. An aborted one leaves an entry in the index, with the last stable offset of that time, which tells a reader
when it may stop to search. Source: `UnifiedLog`, `ProducerStateManager.firstUnstableOffset`, `TransactionIndex`.
"""

from bisect import bisect_left
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
    """What a log knows of transactions.

    `open` maps a producer id to where its open transaction begins; `undecided` a marker's offset to where its
    transaction began, until the high watermark is past the marker; `aborted` is in the order of the markers. Views hold
    one for each partition as well.
    """

    open: dict[int, int] = {}
    undecided: dict[int, int] = {}
    aborted: list[AbortedTransaction] = []

    def began(self, producer_id: int, offset: int) -> None:
        """A transactional batch was appended at `offset`; only the first one of a transaction counts."""
        self.open.setdefault(producer_id, offset)

    def ended(self, producer_id: int, marker_offset: int, *, committed: bool) -> None:
        """A marker was appended; without an open transaction it ends nothing."""
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            return
        self.undecided[marker_offset] = first_offset
        if not committed and self.follows(marker_offset):  # else it is read again
            # Where readers could go at most after this one: the earliest transaction that is still open, or the marker.
            stable = min(self.open.values(), default=marker_offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, first_offset, marker_offset, stable))

    def follows(self, marker_offset: int) -> bool:
        """Whether an aborted transaction with its marker there comes behind all that are in the index."""
        return not self.aborted or self.aborted[-1].last_offset < marker_offset

    @property
    def began_any(self) -> bool:
        """Whether anything here concerns a reader of committed data."""
        return bool(self.open or self.undecided or self.aborted)

    def aborted_between(self, fetch_offset: int, upper_bound: int) -> tuple[tuple[int, int, int], ...]:
        """(Producer id, first offset, marker's offset) of what a reader of committed data must not return."""
        return tuple(entry[:3] for entry in self.collect(fetch_offset, upper_bound)[0])

    def high_watermark_at(self, offset: int) -> None:
        """Markers below the high watermark are decided for good."""
        for marker_offset in [marker for marker in self.undecided if marker < offset]:
            del self.undecided[marker_offset]

    def first_open(self) -> int | None:
        """Where the earliest transaction without a marker begins (Kafka: first undecided offset)."""
        return min(self.open.values(), default=None)

    def first_unstable(self, log_start: int) -> int | None:
        """Where the earliest transaction begins that holds readers back; not below the log's start; None without."""
        if not self.open and not self.undecided:
            return None
        return max(min([*self.open.values(), *self.undecided.values()]), log_start)

    def last_stable_offset(self, high_watermark: int, log_start: int) -> int:
        """Up to where a read_committed reader may read."""
        first = self.first_unstable(log_start)
        return high_watermark if first is None or first > high_watermark else first

    def holds_back(self) -> int | None:
        """The producer id of the earliest open transaction: whom to blame for a last stable offset that stands."""
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
        """The log was cut at `offset`: entries whose marker is gone go too. What is open then, is the log's to find."""
        while self.aborted and self.aborted[-1].last_offset >= offset:
            self.aborted.pop()

    def drop_before(self, offset: int) -> None:
        """Nothing is read below `offset` any more: entries whose marker stood there go."""
        del self.aborted[: bisect_left(self.aborted, offset, key=_last_offset)]

    def reload(self, opened: dict[int, int], log_end: int) -> None:
        """The log was cut, or its process started: these are open at the snapshot from which it reads on."""
        self.open, self.undecided = opened, {}
        self.truncate_to(log_end)

    def reset(self) -> None:
        """The log was emptied."""
        self.open.clear()
        self.undecided.clear()
        self.aborted.clear()
