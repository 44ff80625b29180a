"""One pass over a recording: when each rule fires, which faults were in force, and how long records really waited.

The wait is the truth that rules are judged by: the age of the first record that a group's applications have not
finished. No rule sees it; rules see commits.
"""

from bisect import bisect_right
from pathlib import Path

import msgspec

from cluster import events as e
from cluster.view import ClusterView, fold
from cluster.view.document import group_partitions, partition_time_lag_us, read_up_to
from cluster.view.state import GroupView
from recordings.alerts.evaluators import EVALUATORS, Evaluator, GroupLag, ReadPartition
from recordings.alerts.rules import AlertRule, RuleSet
from recordings.journal.misfits import taken
from recordings.journal.reader import Recording


class Alert(msgspec.Struct, kw_only=True):
    """A rule that fires for a group from `from_us` on, until `to_us` (None: still at the flight's end)."""

    rule: str
    group: str
    from_us: int
    to_us: int | None = None
    why: str = ""


class WatchedFault(msgspec.Struct, kw_only=True):
    """A fault of the flight. `groups`: those that it concerns; `to_us`: None if it is in force at the end."""

    text: str
    kind: str
    hits: str
    groups: tuple[str, ...]
    from_us: int
    to_us: int | None = None


class Watched(msgspec.Struct, kw_only=True):
    """What a pass has found. `waits`: group → (instant, wait) in µs at each look at which a record waits."""

    recording: str
    end_us: int
    alerts: list[Alert]
    faults: list[WatchedFault]
    waits: dict[str, list[tuple[int, int]]]
    warnings: list[str] = []


def watch(path: Path, rules: RuleSet, *, salvage: bool = False) -> Watched:
    """Evaluate the rules over a recording. Raises RecordingError: no recording, or damaged (unless `salvage`)."""
    recording = Recording(path, salvage=salvage)
    found = Watcher(rules)
    for event in recording.events():
        if not taken(recording, event, found):
            break
    if recording.footer is not None and not (salvage and recording.warnings):
        found.look_until(recording.footer.virtual_us)
    return found.result(str(path), recording.warnings)


class _Firing:
    """A rule and a group: the evaluator, since when its condition holds, and the alert that it fires."""

    def __init__(self, rule: AlertRule) -> None:
        self.rule = rule
        self.evaluator: Evaluator = EVALUATORS[rule.kind](rule)
        self._since_us: int | None = None
        self._alert: Alert | None = None

    def look(self, lag: GroupLag) -> Alert | None:
        """Look at the group; returns an alert that begins."""
        why = self.evaluator.look(lag)
        if not why:
            if self._alert is not None:
                self._alert.to_us = lag.at_us
            self._since_us = self._alert = None
            return None
        if self._since_us is None:
            self._since_us = lag.at_us
        if self._alert is not None or lag.at_us - self._since_us < self.rule.for_us:
            return None
        self._alert = Alert(rule=self.rule.name, group=lag.group, from_us=lag.at_us, why=why)
        return self._alert


class Watcher:
    """A listener to a flight's events that looks at every group each `every_us`, after the events of that instant."""

    def __init__(self, rules: RuleSet) -> None:
        self._rules = rules
        self._view = ClusterView()
        self._next_us = rules.every_us
        self._firing: dict[str, list[_Firing]] = {}
        self._finished: dict[tuple[str, str], int] = {}
        self._faults: dict[int, WatchedFault] = {}
        self._alerts: list[Alert] = []
        self._waits: dict[str, list[tuple[int, int]]] = {}

    def __call__(self, event: e.Event) -> None:
        """Take the next event."""
        self.look_until(event.at_us - 1)
        fold(self._view, event)
        match event:
            case e.OffsetsCommitted():
                for firing in self._firing_of(event.group):
                    for name, offset in event.offsets.items():
                        firing.evaluator.committed(name, offset, event.at_us)
            case e.RecordsProcessed():
                self._progress(event.group, event.partition, event.next_offset)
            case e.RecordSkipped():
                self._progress(event.group, event.partition, event.offset + 1)
            case e.PositionsMovedOn():
                for name, position in event.positions.items():
                    self._progress(event.group, name, position)
            case e.LeadershipTaken() | e.LogTruncated():
                self._truncated(event.partition)
            case e.FaultStarted():
                self._faults[event.fault] = self._fault(event)
            case e.FaultEnded():
                self._faults[event.fault].to_us = event.at_us

    def look_until(self, now_us: int) -> None:
        """Look at every due instant up to `now_us`: no event comes before it any more."""
        while self._next_us <= now_us:
            self._look(self._next_us)
            self._next_us += self._rules.every_us

    def result(self, recording: str, warnings: list[str]) -> Watched:
        """What has been found so far."""
        return Watched(
            recording=recording,
            end_us=max(self._view.at_us, self._next_us - self._rules.every_us),
            alerts=sorted(self._alerts, key=lambda one: (one.from_us, one.rule, one.group)),
            faults=list(self._faults.values()),
            waits=self._waits,
            warnings=warnings,
        )

    def _firing_of(self, group: str) -> list[_Firing]:
        firing = self._firing.get(group)
        if firing is None:
            firing = self._firing[group] = [_Firing(rule) for rule in self._rules.rules]
        return firing

    def _progress(self, group: str, partition: str, next_offset: int) -> None:
        key = group, partition
        self._finished[key] = max(self._finished.get(key, 0), next_offset)

    def _truncated(self, partition: str) -> None:
        """Offsets beyond the log's end are not finished: the leader gives them to other records."""
        end = self._view.partitions[partition].log_end
        for key, finished in self._finished.items():
            if key[1] == partition:
                self._finished[key] = min(finished, end)

    def _look(self, at_us: int) -> None:
        for name, group in self._view.groups.items():
            lags = tuple(self._partition_lag(group, one, at_us) for one in group_partitions(self._view, group))
            lag = GroupLag(name, at_us, lags)
            self._alerts += [alert for firing in self._firing_of(name) if (alert := firing.look(lag)) is not None]
            wait_us = max((self._wait_us(group, one.partition, at_us) for one in lags), default=0)
            if wait_us:
                self._waits.setdefault(name, []).append((at_us, wait_us))

    def _partition_lag(self, group: GroupView, name: str, at_us: int) -> ReadPartition:
        partition = self._view.partitions[name]
        return ReadPartition(
            partition=name,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset if group.read_committed else partition.high_watermark,
            lag=max(0, partition.high_watermark - max(read_up_to(self._view, group, name), partition.log_start)),
            time_lag_us=partition_time_lag_us(self._view, group, name, at_us),
        )

    def _wait_us(self, group: GroupView, name: str, at_us: int) -> int:
        """How long the first record that the group has not finished has been in the partition."""
        partition = self._view.partitions[name]
        offset = self._finished.get((group.group, name))
        offset = max(read_up_to(self._view, group, name) if offset is None else offset, partition.log_start)
        if offset >= partition.high_watermark:
            return 0
        index = bisect_right(partition.append_ends, offset)
        return at_us - partition.append_times_us[index] if index < len(partition.append_times_us) else 0

    def _fault(self, event: e.FaultStarted) -> WatchedFault:
        """A fault of members, groups or topics concerns their groups; every other one concerns all."""
        view = self._view
        concerned: dict[str, None] = {}
        for target in event.targets:
            topic = view.partitions[target].topic if target in view.partitions else target
            if target in view.members:
                concerned[view.members[target].group] = None
            elif target in view.groups:
                concerned[target] = None
            elif topic in view.topics:
                concerned |= dict.fromkeys(name for name, group in view.groups.items() if topic in group.topics)
        hits = "producer" if any(target in view.producers for target in event.targets) else "cluster"
        if any(target.startswith("broker-") for target in event.targets):
            hits = "broker"
        return WatchedFault(
            text=event.text,
            kind=event.fault_kind.replace("_", " ") or "fault",
            hits="consumer" if concerned else hits,
            groups=tuple(concerned or view.groups),
            from_us=event.at_us,
        )
