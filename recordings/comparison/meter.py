"""The meter of a flight's bill: one pass over its events, beside the fold that serves every screen.

The view keeps most of the bill. What it forgets or never counts is counted here on the way: rebalances that it has
dropped, members that a rebalance stops, late acknowledgements, dead letters, time lags, stalled partitions, and
partitions without a live leader.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from cluster import events as e
from cluster.protocol.client_states import MemberState
from cluster.protocol.errors import ErrorCode
from cluster.view import ClusterView, fold
from cluster.view.delivery import fates_in_full
from cluster.view.document import group_partitions, group_time_lag_us
from cluster.view.fold_groups import stopped_partition_us
from cluster.view.rebalances import RebalanceView
from cluster.view.state import GroupView, LogEntry
from recordings.comparison.availability import AvailabilityMeter
from recordings.comparison.bill import BEHIND_US, LATE_US, Bill, ClusterBill, GroupBill, ProducerBill
from recordings.comparison.stalled import StalledMeter

SECOND_US: Final = 1_000_000
ANSWERS: Final = frozenset(code.name for code in ErrorCode)
"""The errors that a leader's answer can name. An exception of the client itself has another name."""


class BillMeter:
    """A listener to a flight's events that knows its bill at any moment.

    It folds the events into a view of its own, or shares one that another fold keeps. With `keep_log` it keeps the
    lines of the view's log of events in `log`; the view drops old ones. Events after `until_us` do not count: such a
    meter has a view of its own.
    """

    def __init__(self, *, keep_log: bool = False, until_us: int | None = None) -> None:
        self.until_us = until_us
        self._folds = True
        self.view = ClusterView()
        self.log: list[LogEntry] = []
        self._keeps_log = keep_log
        self._groups: dict[str, _GroupMeter] = {}
        self._members: dict[str, _MemberMeter] = {}
        self._late: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._dead_lettered: dict[str, int] = {}
        self._next_sample_us = 0
        self._read(self.view)

    def share(self, view: ClusterView) -> None:
        """Read a view that another fold keeps, from the flight's first event on: take each event after it."""
        if self.until_us is not None:
            return
        self._folds, self.view = False, view
        self._read(view)

    def _read(self, view: ClusterView) -> None:
        self._availability, self._stalled = AvailabilityMeter(view), StalledMeter(view)
        self._handlers: dict[type[e.Event], list[Callable[[Any], None]]] = {}
        for part in (self._own_handlers(), self._availability.handlers(), self._stalled.handlers()):
            for kind, handle in part.items():
                self._handlers.setdefault(kind, []).append(handle)

    def __call__(self, event: e.Event) -> None:
        """Take the next event."""
        if self.until_us is not None and event.at_us > self.until_us:
            return
        if self._folds:
            fold(self.view, event)
        for handle in self._handlers.get(type(event), ()):
            handle(event)
        if event.at_us >= self._next_sample_us:
            self._sample(event.at_us)
        if self._keeps_log:
            self._note_log()

    def bill(self, now_us: int | None = None) -> Bill:
        """The bill up to `now_us`, by default the last event's instant."""
        view = self.view
        at_us = view.at_us if now_us is None else now_us
        stopped = dict.fromkeys(view.groups, 0)
        for name, member in self._members.items():
            stopped[view.members[name].group] += member.stopped_until(at_us)
        return Bill(
            at_us=at_us,
            groups={name: self._group_bill(group, stopped[name], at_us) for name, group in view.groups.items()},
            producers={
                name: ProducerBill(
                    refused=self._refused.get(name, 0),
                    late=self._late.get(name, 0),
                    failed=producer.failed,
                    retries=producer.retries,
                )
                for name, producer in view.producers.items()
            },
            cluster=ClusterBill(
                leaderless_partition_us=self._availability.leaderless_us(at_us),
                below_min_isr_partition_us=self._availability.below_min_isr_us(at_us),
            ),
        )

    def _group_bill(self, group: GroupView, stopped_member_us: int, at_us: int) -> GroupBill:
        meter = self._groups.get(group.group) or _GroupMeter()
        lag = meter.lag_at(group_time_lag_us(self.view, group, at_us), at_us)
        fates = fates_in_full(self.view, group, group_partitions(self.view, group))
        stalled_us = self._stalled.stalled_us(group.group, at_us)
        return GroupBill(
            unread_partition_us=stopped_partition_us(group, at_us) + stalled_us,
            stalled_partition_us=stalled_us,
            stopped_member_us=stopped_member_us,
            rebalances=group.rebalance_count,
            by_cause=dict(sorted(meter.by_cause.items())),
            delivered=group.delivered,
            duplicated=group.duplicated,
            lost=fates["lost"],
            deleted=fates["deleted"],
            compacted=fates["compacted"],
            skipped=group.skipped,
            dead_lettered=self._dead_lettered.get(group.group, 0),
            reread=meter.dropped_reread + sum(one.reread for one in group.rebalances) + _reread_so_far(group),
            peak_time_lag_us=lag.peak_us,
            peak_at_us=lag.peak_at_us,
            behind_us=lag.behind_us,
        )

    def _own_handlers(self) -> dict[type[e.Event], Callable[[Any], None]]:
        return {
            **dict.fromkeys(
                (e.GroupStabilized, e.JoinBarrierCompleted, e.ConsumerGroupStateChanged), self._rebalance_closed
            ),
            e.PartitionsRevoked: self._partitions_revoked,
            e.PartitionsAssigned: self._partitions_assigned,
            e.PositionsReset: self._positions_reset,
            e.MemberStateChanged: self._member_state_changed,
            e.MemberStarted: self._member_started,
            e.MemberStopped: self._member_stopped,
            e.BatchAcknowledged: self._batch_acknowledged,
            e.BatchRetried: self._batch_answered,
            e.BatchFailed: self._batch_failed,
            e.BatchSplit: self._batch_split,
            e.RecordDeadLettered: self._record_dead_lettered,
        }

    def _note_log(self) -> None:
        """Keep the lines that the last event has added."""
        entries, known = self.view.log_entries, self.log
        if not entries or (known and entries[-1] is known[-1]):
            return
        news = len(entries) - 1
        while news and not (known and entries[news - 1] is known[-1]):
            news -= 1
        known += entries[news:]

    def _sample(self, at_us: int) -> None:
        """Sample the time lags after the first event of a virtual second."""
        self._next_sample_us = (at_us // SECOND_US + 1) * SECOND_US
        for name, group in self.view.groups.items():
            meter = self._groups.get(name)
            if meter is None:
                meter = self._groups[name] = _GroupMeter()
            meter.lag = meter.lag_at(group_time_lag_us(self.view, group, at_us), at_us)

    def _rebalance_closed(
        self, event: e.GroupStabilized | e.JoinBarrierCompleted | e.ConsumerGroupStateChanged
    ) -> None:
        group = self.view.groups[event.group]
        meter = self._groups.get(event.group)
        if meter is None:
            meter = self._groups[event.group] = _GroupMeter()
        meter.closed(group)

    # --- members that a rebalance stops -------------------------------------------------------------------------------

    def _member(self, name: str) -> "_MemberMeter":
        member = self._members.get(name)
        if member is None:
            member = self._members[name] = _MemberMeter()
        return member

    def _partitions_revoked(self, event: e.PartitionsRevoked) -> None:
        member = self._member(event.member)
        if member.has_read and member.empty_since_us is None and not self.view.members[event.member].owned:
            member.empty_since_us, member.joins = event.at_us, False

    def _member_state_changed(self, event: e.MemberStateChanged) -> None:
        if event.state == MemberState.JOINING:
            self._member(event.member).joins = True

    def _partitions_assigned(self, event: e.PartitionsAssigned) -> None:
        if not self.view.members[event.member].owned:  # its assignment is empty: it is idle, and not stopped
            self._member(event.member).reads_or_idles(event.at_us)

    def _positions_reset(self, event: e.PositionsReset) -> None:
        member = self._member(event.member)
        member.has_read = True
        member.reads_or_idles(event.at_us)

    def _member_started(self, event: e.MemberStarted) -> None:
        member = self._member(event.member)
        member.has_read, member.empty_since_us = False, None

    def _member_stopped(self, event: e.MemberStopped) -> None:
        member = self._member(event.member)
        member.reads_or_idles(event.at_us)
        member.has_read = False

    def _record_dead_lettered(self, event: e.RecordDeadLettered) -> None:
        self._dead_lettered[event.group] = self._dead_lettered.get(event.group, 0) + 1

    # --- sends --------------------------------------------------------------------------------------------------------

    def _batch_acknowledged(self, event: e.BatchAcknowledged) -> None:
        if event.latency_us > LATE_US:
            self._late[event.producer] = self._late.get(event.producer, 0) + event.records

    def _refuse(self, producer: str) -> None:
        self._refused[producer] = self._refused.get(producer, 0) + 1

    def _batch_answered(self, event: e.BatchRetried) -> None:
        if event.disconnected_from < 0:
            self._refuse(event.producer)

    def _batch_failed(self, event: e.BatchFailed) -> None:
        """Count an answer with an error that is not retried; delivery.timeout.ms and an abort are no answers."""
        if event.sent and event.disconnected_from < 0 and event.error in ANSWERS:
            self._refuse(event.producer)

    def _batch_split(self, event: e.BatchSplit) -> None:
        self._refuse(event.producer)


def _reread_so_far(group: GroupView) -> int:
    """What the open rebalance has cost: members of the consumer protocol read again before it is over."""
    return 0 if group.under_way is None else group.under_way.reread


class _Lag(msgspec.Struct, frozen=True):
    """The largest time lag so far, its instant, and the time behind up to the last sample, at `at_us`."""

    peak_us: int = 0
    peak_at_us: int = 0
    behind_us: int = 0
    is_behind: bool = False
    at_us: int = 0


class _GroupMeter:
    """What the view forgets of one group: causes and re-read records of dropped rebalances, the peak of its lag."""

    def __init__(self) -> None:
        self.by_cause: dict[str, int] = {}
        self.dropped_reread = 0
        self.lag = _Lag()
        self._formed = False
        self._first: RebalanceView | None = None
        self._last: RebalanceView | None = None

    def closed(self, group: GroupView) -> None:
        """A barrier has closed: count its rebalance, if it is over, and keep what the view drops."""
        rebalances = group.rebalances
        if not rebalances or rebalances[-1] is self._last:
            return
        if self._first is not None and self._first is not rebalances[0]:
            self.dropped_reread += self._first.reread
        self._first, self._last = rebalances[0], rebalances[-1]
        if self._formed:
            self.by_cause[self._last.cause] = self.by_cause.get(self._last.cause, 0) + 1
        self._formed = True

    def lag_at(self, time_lag_us: int, at_us: int) -> _Lag:
        """The peak and the time behind with one more sample; a sample holds until the next one."""
        lag = self.lag
        behind_us = lag.behind_us + (at_us - lag.at_us if lag.is_behind else 0)
        higher = time_lag_us > lag.peak_us
        peak_us, peak_at_us = (time_lag_us, at_us) if higher else (lag.peak_us, lag.peak_at_us)
        return _Lag(peak_us, peak_at_us, behind_us, time_lag_us > BEHIND_US, at_us)


class _MemberMeter:
    """One member's time without partitions between two assignments. `joins`: it sends a JoinGroup meanwhile."""

    def __init__(self) -> None:
        self.has_read = False
        self.empty_since_us: int | None = None
        self.joins = False
        self._stopped_us = 0

    def stopped_until(self, now_us: int) -> int:
        """The time in which a rebalance keeps it from reading. A member that closes does not join, and pays none."""
        if self.empty_since_us is None or not self.joins:
            return self._stopped_us
        return self._stopped_us + now_us - self.empty_since_us

    def reads_or_idles(self, now_us: int) -> None:
        """It has a position in a partition of its new assignment, an empty assignment, or no process any more."""
        self._stopped_us = self.stopped_until(now_us)
        self.empty_since_us = None
