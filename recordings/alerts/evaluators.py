"""One evaluator for each kind of alert rule: it is shown lag and commits, and says when its condition holds.

It sees what a monitor outside of the cluster sees: committed offsets, log ends, last stable offsets, dates of records.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from recordings.alerts.burrow import Window
from recordings.alerts.rules import AlertRule


class ReadPartition(NamedTuple):
    """A partition as a group reads it: offsets, its lag in records, and the age of the first uncommitted record.

    `last_stable_offset` is the high watermark for a group that reads uncommitted records.
    """

    partition: str
    high_watermark: int
    last_stable_offset: int
    lag: int
    time_lag_us: int


class GroupLag(NamedTuple):
    """A look at a group."""

    group: str
    at_us: int
    partitions: tuple[ReadPartition, ...]

    @property
    def lag(self) -> int:
        """The records of all partitions that the group has not committed."""
        return sum(one.lag for one in self.partitions)


class Evaluator(ABC):
    """The condition of a rule for one group. `committed` comes before the look at the same instant."""

    def __init__(self, rule: AlertRule) -> None:
        self.rule = rule

    def committed(self, partition: str, offset: int, at_us: int) -> None:  # noqa: B027 - few need more than lag
        """Take an offset commit. For most rules it counts by the lag that it leaves."""

    @abstractmethod
    def look(self, lag: GroupLag) -> str:
        """Why the condition holds, in words; "" while it does not."""


class ThresholdEvaluator(Evaluator):
    """The group's lag is at least so many records."""

    def look(self, lag: GroupLag) -> str:
        """Why the condition holds, in words; "" while it does not."""
        return f"lag is {lag.lag:,}" if lag.lag >= self.rule.records else ""


class TimeLagEvaluator(Evaluator):
    """The first uncommitted record of a partition is at least so old."""

    def look(self, lag: GroupLag) -> str:
        """Why the condition holds, in words; "" while it does not."""
        oldest = max(lag.partitions, key=lambda one: one.time_lag_us, default=None)
        if oldest is None or oldest.time_lag_us < self.rule.age_us:
            return ""
        return f"{oldest.partition} is {oldest.time_lag_us / 1_000_000:.1f} s behind"


class GrowthEvaluator(Evaluator):
    """The group's lag has grown by at least so many records over a window, and was never 0 in it."""

    def __init__(self, rule: AlertRule) -> None:
        super().__init__(rule)
        self._seen: deque[tuple[int, int]] = deque()

    def look(self, lag: GroupLag) -> str:
        """Why the condition holds, in words; "" while it does not."""
        self._seen.append((lag.at_us, lag.lag))
        since_us = lag.at_us - self.rule.window_us
        while len(self._seen) > 1 and self._seen[1][0] <= since_us:
            self._seen.popleft()
        began_us, before = self._seen[0]
        if began_us > since_us or not all(seen for _, seen in self._seen):
            return ""
        grown = lag.lag - before
        return f"lag has grown by {grown:,}" if grown >= self.rule.records else ""


class LastStableOffsetEvaluator(Evaluator):
    """The last stable offset of a partition has not moved for so long, while records wait behind it."""

    def __init__(self, rule: AlertRule) -> None:
        super().__init__(rule)
        self._since: dict[str, tuple[int, int]] = {}

    def look(self, lag: GroupLag) -> str:
        """Why the condition holds, in words; "" while it does not."""
        why = ""
        for one in lag.partitions:
            stable, since_us = self._since.get(one.partition, (-1, lag.at_us))
            if one.last_stable_offset != stable or one.last_stable_offset >= one.high_watermark:
                since_us = lag.at_us
            self._since[one.partition] = one.last_stable_offset, since_us
            age_us = lag.at_us - since_us
            if age_us >= self.rule.age_us:
                why = why or f"last stable offset of {one.partition} is {age_us / 1_000_000:.0f} s old"
        return why


class BurrowEvaluator(Evaluator):
    """Burrow's status of a partition is one of those that the rule names."""

    def __init__(self, rule: AlertRule) -> None:
        super().__init__(rule)
        self._windows: dict[str, Window] = {}
        self._refresh_us = 0

    def committed(self, partition: str, offset: int, at_us: int) -> None:
        """Store the commit; one before the first log end is dropped."""
        if partition in self._windows:
            self._windows[partition].committed(offset, at_us)

    def look(self, lag: GroupLag) -> str:
        """Why the condition holds, in words; "" while it does not."""
        if lag.at_us >= self._refresh_us:
            self._refresh_us = lag.at_us + self.rule.offset_refresh_us
            for one in lag.partitions:
                if one.partition not in self._windows:
                    self._windows[one.partition] = Window(self.rule.intervals, self.rule.min_distance_us)
                self._windows[one.partition].refreshed(one.high_watermark)
        for partition, window in self._windows.items():
            status = window.status(lag.at_us, self.rule.minimum_complete)
            if status in self.rule.statuses:
                return f"{partition} is {status}"
        return ""


EVALUATORS: Final[dict[str, Callable[[AlertRule], Evaluator]]] = {
    "burrow": BurrowEvaluator,
    "threshold": ThresholdEvaluator,
    "time_lag": TimeLagEvaluator,
    "growth": GrowthEvaluator,
    "last_stable_offset_age": LastStableOffsetEvaluator,
}
"""Kind of rule → its evaluator."""
