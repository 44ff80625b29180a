"""The leader epochs of one log: which leader wrote which offsets, and where two logs diverge.

Theory of operation. Each leader writes under its own epoch, so a log is a sequence of (epoch, start offset), both
growing. A replica whose log may diverge from the leader's asks for the end of its own last epoch in the leader's log.
Its records beyond that end are not committed, and it truncates them (KIP-101). A leader without that epoch answers
with the largest one below, and the replica asks again from there (KIP-279). Truncation at the high watermark instead,
as before these KIPs, loses or duplicates records when leaders change quickly.
Source: `org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`, `AbstractFetcherThread`.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Final, NamedTuple

from cluster.reach import reached

UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1

_epoch = attrgetter("epoch")
_start_offset = attrgetter("start_offset")


class EpochEntry(NamedTuple):
    """An epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The answer to OffsetsForLeaderEpoch: the end offset (exclusive) of an epoch; −1 and −1 when unknown."""

    epoch: int
    end_offset: int


class Truncation(NamedTuple):
    """Where a follower truncates its log; unless `complete`, it asks again with its new last epoch."""

    offset: int
    complete: bool


class LeaderEpochs:
    """The epochs of one replica's log, oldest first. `entries`: epochs and start offsets strictly grow."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: tuple[EpochEntry, ...] = ()

    @property
    def latest_epoch(self) -> int:
        """The last epoch, or −1 in a log without one."""
        return self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Add an epoch that begins at `start_offset`; returns whether it was new.

        The last epoch keeps its start. Entries that contradict the new one (a later epoch, or a start at or after its
        start) are removed: their records were truncated or never written.
        Raises ValueError for negative numbers.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"no leader epoch {epoch} can start at offset {start_offset}")
        entries = self.entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return False
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries = entries[:-1]
        self.entries = *entries, EpochEntry(epoch, start_offset)
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """The largest epoch not above `epoch`, and its end in this log.

        An epoch ends where the next one starts; the last one ends at `log_end_offset`. Below the oldest entry the
        result is `epoch` itself with the start of the oldest: the records before it are deleted, so no divergence is
        known. Above the last epoch, or without any epoch, the result is −1, −1.
        """
        entries = self.entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        following = bisect_right(entries, epoch, key=_epoch)
        if following == len(entries):
            return EpochEnd(epoch, log_end_offset)
        floor = entries[following - 1].epoch if following else epoch
        return EpochEnd(floor, entries[following].start_offset)

    def epoch_for(self, offset: int) -> int:
        """The epoch of the record at `offset`, or −1 before the first entry."""
        place = bisect_right(self.entries, offset, key=_start_offset)
        return self.entries[place - 1].epoch if place else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove epochs that start at or after `end_offset`, the log's new end."""
        while self.entries and self.entries[-1].start_offset >= end_offset:
            self.entries = self.entries[:-1]

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove epochs that end at or before `start_offset`, the log's new start; the epoch around it starts there."""
        place = bisect_right(self.entries, start_offset, key=_start_offset)
        if place:
            self.entries = EpochEntry(self.entries[place - 1].epoch, start_offset), *self.entries[place:]


def follower_truncation(own: LeaderEpochs, answer: EpochEnd, log_end_offset: int, high_watermark: int) -> Truncation:
    """Where a follower truncates its log after its leader's `answer` for the follower's last epoch.

    `log_end_offset` and `high_watermark` are the follower's. If the leader knows no epoch, the follower truncates to
    its high watermark. If the follower lacks the epoch of the answer, it truncates to the end of its largest epoch
    below and asks again. Otherwise both logs agree up to the smaller end of that epoch.
    Source: `AbstractFetcherThread.getOffsetTruncationState` (KIP-101, KIP-279).
    """
    if answer.end_offset == UNDEFINED_OFFSET:
        reached("follower: the epoch is unknown")
        return Truncation(high_watermark, complete=True)
    mine = own.end_offset_for(answer.epoch, log_end_offset)
    if mine.end_offset == UNDEFINED_OFFSET:
        return Truncation(min(answer.end_offset, log_end_offset), complete=True)
    if mine.epoch != answer.epoch:
        reached("follower: asks again")
        return Truncation(min(mine.end_offset, log_end_offset), complete=False)
    return Truncation(min(answer.end_offset, mine.end_offset, log_end_offset), complete=True)
