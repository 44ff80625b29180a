"""Burrow's evaluation of one partition of a group: a window of offset commits becomes a status, without a threshold.

The rules are those of Burrow at ced55ba (`core/internal/evaluator/caching.go`), with what its in-memory storage keeps
(`core/internal/storage/inmemory.go`): a ring of commits, each with the lag of its instant, and a ring of log ends.
"""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

STATUSES: Final[tuple[str, ...]] = ("OK", "WARN", "STALL", "STOP", "REWIND")
SECOND_US: Final = 1_000_000


class StoredCommit(NamedTuple):
    """An offset commit in the window; `lag` in records at its instant, None where Burrow could not know it."""

    offset: int
    at_us: int
    lag: int | None


def status_of(commits: Sequence[StoredCommit], log_ends: Sequence[int], lag: int, now_us: int) -> str:
    """The status of a partition: `commits` and `log_ends` (newest last) are what is stored, `lag` the present one.

    The instant counts in whole seconds, as Burrow's does. A later status in this order is looked for only if none
    before it holds: STOP, then (unless the lag was 0 somewhere in the window) REWIND, STALL, WARN.
    """
    if lag <= 0 or not commits:
        return "OK"
    if _stopped(commits, now_us) and not _was_caught_up(commits, log_ends):
        return "STOP"
    if any(one.lag == 0 for one in commits):
        return "OK"
    steps = list(pairwise(commits))
    if any(after.offset < before.offset for before, after in steps):
        return "REWIND"
    if all(after.offset == before.offset for before, after in steps):
        return "STALL"
    lags = [one.lag for one in commits if one.lag is not None]
    return "OK" if any(after < before for before, after in pairwise(lags)) else "WARN"


def _stopped(commits: Sequence[StoredCommit], now_us: int) -> bool:
    """Whether the last commit is longer ago than the window is long."""
    first, last = commits[0], commits[-1]
    return now_us // SECOND_US * SECOND_US - last.at_us > last.at_us - first.at_us


def _was_caught_up(commits: Sequence[StoredCommit], log_ends: Sequence[int]) -> bool:
    """Whether the last commit reaches one of the stored log ends: new records have only just come."""
    return any(end <= commits[-1].offset for end in log_ends)


class Window:
    """What Burrow stores of one partition of a group.

    `intervals`: how many commits and log ends. A commit sooner than `min_distance_us` after the last one replaces it,
    and keeps its instant.
    """

    def __init__(self, intervals: int, min_distance_us: int) -> None:
        self.intervals, self._min_distance_us = intervals, min_distance_us
        self.commits: deque[StoredCommit] = deque(maxlen=intervals)
        self.log_ends: deque[int] = deque(maxlen=intervals)

    def refreshed(self, log_end: int) -> None:
        """Store a log end as the brokers give it."""
        self.log_ends.append(log_end)

    def committed(self, offset: int, at_us: int) -> None:
        """Store a commit, with its lag behind the newest stored log end; without one it is dropped."""
        if not self.log_ends:
            return
        lag = max(0, self.log_ends[-1] - offset)
        if self.commits and at_us - self.commits[-1].at_us < self._min_distance_us:
            at_us = self.commits.pop().at_us
        self.commits.append(StoredCommit(offset, at_us, lag))

    def status(self, now_us: int, minimum_complete: float = 0.0) -> str:
        """The status now; OK while fewer than `minimum_complete` of the window are filled."""
        if not self.commits or len(self.commits) / self.intervals < minimum_complete:
            return "OK"
        lag = max(0, self.log_ends[-1] - self.commits[-1].offset)
        return status_of(self.commits, self.log_ends, lag, now_us)
