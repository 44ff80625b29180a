"""The overview's tables: groups, brokers, producers."""

import math
from collections.abc import Mapping, Sequence

from cluster.view.brokers import BrokerView
from cluster.view.document import group_lag, group_time_lag_us
from cluster.view.rebalances import OpenRebalance, RebalanceView
from cluster.view.state import NEVER, ClusterView, GroupView, Series
from console.presenters import states
from console.presenters.active_faults import fault_label
from console.presenters.awaited_members import Awaited, awaited_joins, awaited_syncs, silent_ids
from console.presenters.consumer_groups.overview import consumer_rebalance, number_column, reconciled
from console.presenters.coordinator_status import DOWN, FROZEN, UP, coordinator_status, outage_of
from console.presenters.exceptions.group_lag import LAG_IS, stuck_words
from console.presenters.formatting import (
    UNKNOWN,
    count,
    countdown,
    duration,
    partition_seconds,
    resampled,
    spark,
)
from console.presenters.list_view import BUILDING, RowValue, WorstFirstListing, counted_states
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    length,
    line,
    middle,
)
from console.presenters.table import TableColumn, for_names, layout
from console.presenters.topology.standing import replica_counts

TREND_SECONDS, TREND_HALF, TREND_FLOOR, TREND_LEAST = 60, 30, 15, 10

GROUP_COLUMNS = (
    TableColumn("group", 10, grow=1, most=20),
    TableColumn("state", 21),
    TableColumn("gen", 4, rank=1, right=True),
    TableColumn("members", 7, right=True, rank=2),
    TableColumn("lag", 6, right=True),
    TableColumn("last minute", 11, rank=4, grow=2, most=30),
    TableColumn("time lag", 8, right=True, rank=3),
    TableColumn("rebalance", 27, grow=6),
)

NO_GROUPS = line(("no consumer groups in this scenario", MUTED))
SILENT = 13  # `30 (2 silent)`


def group_columns(view: ClusterView) -> tuple[TableColumn, ...]:
    """The columns for these groups: epochs of the new protocol have another title, silent members need room."""
    silent = any(silent_ids(view, group) for group in view.groups.values())
    number = number_column(list(view.groups.values()))
    return tuple(
        number
        if column.title == "gen"
        else column._replace(width=SILENT)
        if silent and column.title == "members"
        else column
        for column in GROUP_COLUMNS
    )


def lag_trend(group: GroupView, lag: int) -> tuple[str, str]:
    """An arrow and its tone: the change of lag over half a minute, without the saw-tooth of commits.

    The least-squares line through the samples has to rise or fall by more than their scatter around it. The arrow is
    amber only when the line and the floor of the last minute rise, too. Fewer than ten samples give no arrow.
    `lag` is the lag beside the arrow: at 0 the group has caught up, and nothing rises.
    """
    values = group.lag_series.values
    if len(values) < TREND_LEAST:
        return "", MUTED
    change, scatter = _slope(values[-TREND_HALF:])
    if abs(change) <= max(10, scatter):
        return "→", MUTED
    if change < 0:
        return "↘", MUTED
    if not lag:
        return "", MUTED
    minute = values[-TREND_SECONDS:]
    change, scatter = _slope(minute)
    floor = min(minute[-TREND_FLOOR:]) - min(minute[:TREND_FLOOR])  # the lag that the commits of a quarter left
    grew = len(minute) == TREND_SECONDS and min(change, floor) > max(10, scatter)
    return "↗", WARN if grew else MUTED


def _slope(values: list[int]) -> tuple[float, float]:
    """The rise of the least-squares line over all values, and the standard deviation from it."""
    count = len(values)
    middle_x, mean = (count - 1) / 2, sum(values) / count
    spread = count * (count * count - 1) / 12
    slope = sum((place - middle_x) * value for place, value in enumerate(values)) / spread
    variance = sum(value * value for value in values) / count - mean * mean - slope * slope * spread / count
    return slope * (count - 1), math.sqrt(max(0.0, variance))


class GroupsListing(WorstFirstListing):
    """Every group: its state, its lag and its last rebalance."""

    title = "groups"
    vacant = NO_GROUPS

    def __init__(self, view: ClusterView, now_us: int, width: int, lags: Mapping[str, int] | None = None) -> None:
        super().__init__(width)
        self.view, self.now_us = view, now_us
        if not view.brokers:
            self.vacant = BUILDING
        self.layout = layout(for_names(group_columns(view), view.groups), width)
        self.lag = {name: group_lag(view, group) for name, group in view.groups.items()} if lags is None else lags
        self.order(list(view.groups))

    def note(self) -> Line:
        """What `lag` counts: the members' tables count from another offset."""
        return line((LAG_IS, FAINT))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`3 ● Stable`."""
        groups = [self.view.groups[key] for key in keys]
        return line((counted_states([f"{states.group(one.state).glyph} {one.state}" for one in groups]), MUTED))

    def sortable(self) -> dict[str, RowValue]:
        """By its numbers; of a group without lag, the time lag stands last."""
        view, now_us = self.view, self.now_us
        return {
            "lag": lambda key: self.lag[key],
            "time lag": lambda key: group_time_lag_us(view, view.groups[key], now_us) or None,
            "members": lambda key: len(view.groups[key].members),
            self.layout.columns[2].title: lambda key: view.groups[key].generation,
            "group": str,
            "state": lambda key: view.groups[key].state,
        }

    def rank(self, key: str) -> int | None:
        """Without a coordinator, rebalancing, with a silent member, with a lag that grew over a minute."""
        group = self.view.groups[key]
        if group.members and coordinator_status(self.view, group).state != UP:
            return 0
        if group.under_way is not None:
            return 1
        if silent_ids(self.view, group):
            return 2
        rises = lag_trend(group, self.lag[key])[1] == WARN
        return 3 if rises or stuck_words(self.view, group, self.now_us) else None

    def rows(self, key: str) -> tuple[Line]:
        """One group."""
        group = self.view.groups[key]
        state = states.group(group.state, consumer=group.consumer is not None)
        lag = self.lag[key]
        arrow, tone = lag_trend(group, lag)
        late_us = group_time_lag_us(self.view, group, self.now_us)
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((f"{state.glyph} {group.state}", state.tone)),
            str(group.generation) if group.generation else ((UNKNOWN, FAINT),),
            _joined(self.view, group),
            line(count(lag)),
            line((last_minute(group.lag_series, self.layout.width_of(5) - 2), ACCENT), (f" {arrow}", tone)),
            duration(late_us) if late_us else ((UNKNOWN, FAINT),),
            self._rebalance(group),
        ]
        return (self.layout.row(cells),)

    def _rebalance(self, group: GroupView) -> Line:
        state = coordinator_status(self.view, group).state
        if state != UP and (group.under_way is not None or group.members or state in {DOWN, FROZEN}):
            words = outage_of(self.view, group, self.now_us, None).reason
            narrow = len(words) + 2 > self.layout.width_of(7)
            return line(("✖ ", ERROR), words.removeprefix("coordinator ") if narrow else words)
        if group.consumer is not None and group.consumer.rebalance is not None:
            return consumer_rebalance(self.view, group, self.now_us, self.layout.width_of(7))
        if group.open_rebalance is not None:
            missing = awaited_joins(self.view, group, self.now_us) or awaited_syncs(self.view, group, self.now_us)
            if group.open_rebalance.initial and group.open_rebalance.completed_us == NEVER:
                left = countdown(group.open_rebalance.closes_at_us - self.now_us)
                return line(("↻ ", MOVING), f"initial delay: {left}")
            if missing:
                return self._awaits(group, group.open_rebalance, missing)
            return line(("↻ ", MOVING), group.open_rebalance.cause)
        stuck = stuck_words(self.view, group, self.now_us)
        if stuck:
            return next((words for words in stuck if length(words) <= self.layout.width_of(7)), stuck[-1])
        if not group.rebalances:
            return line(("none yet", FAINT))
        return rebalance_words(group.rebalances[-1], self.now_us, self.layout.width_of(7))

    def _awaits(self, group: GroupView, barrier: OpenRebalance, missing: list[Awaited]) -> Line:
        """The first awaited member and why; in a narrow column until when instead."""
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        head = line(("↻ ", MOVING), (missing[0].member, WARN), more)
        whole = line(*head, f": {missing[0].reason}")
        if group.state != "PreparingRebalance" or length(whole) <= self.layout.width_of(7):
            return whole
        room, left = self.layout.width_of(7), f", within {countdown(barrier.closes_at_us - self.now_us)}"
        if length(head) + len(left) <= room:
            return line(*head, left)
        left = (f" +{len(missing) - 1}" if len(missing) > 1 else "") + left
        return line(head[0], (middle(missing[0].member, max(1, room - len(left) - 2)), WARN), left)


def last_minute(series: Series, width: int) -> str:
    """A minute of samples as a sparkline of any width; each cell shows the largest of its seconds."""
    return spark(resampled(series.first_second, series.values, width, TREND_SECONDS), width)


def rebalance_words(last: RebalanceView, now_us: int, width: int) -> Line:
    """`member joined · 10 s · 1:12 ago`, with its trigger and its unowned partition-seconds where there is room."""
    took = duration(last.took_us)
    ago = f"{duration(now_us - last.started_us - last.took_us)} ago"
    who = f"{last.cause} ({last.trigger})" if last.trigger else last.cause
    stopped = f"stopped {partition_seconds(last.stopped_partition_us)} partition-s"
    choices = ((who, f"took {took}", stopped, ago), (who, took, ago), (last.cause, took, ago), (last.cause, ago))
    words = [" · ".join(parts) for parts in choices]
    return line((next((text for text in words if len(text) <= width), words[-1]), MUTED))


def _joined(view: ClusterView, group: GroupView) -> Line:
    """`5`, `5 (1 silent)`; at the barrier, or while members move to their targets, `3/4`."""
    if group.consumer is not None and group.consumer.rebalance is not None:
        return line((reconciled(group.consumer), MOVING))
    barrier = group.open_rebalance
    if barrier is not None and barrier.completed_us == NEVER:
        return line((f"{len(barrier.joined)}/{len(group.members) + len(group.pending)}", MOVING))
    silent = len(silent_ids(view, group))
    return line(str(len(group.members)), (f" ({silent} silent)" if silent else "", WARN))


BROKER_COLUMNS = (
    TableColumn("broker", 11, grow=1, most=14),
    TableColumn("state", 11),
    TableColumn("leads", 7, right=True),
    TableColumn("ISR out", 7, right=True, rank=1),
    TableColumn("coordinates", 11, rank=2, grow=4),
)


class BrokersListing(WorstFirstListing):
    """Every broker: its state, the partitions that it leads, its missing ISRs, the groups that it coordinates."""

    title = "brokers"
    vacant = BUILDING

    def __init__(self, view: ClusterView, width: int) -> None:
        super().__init__(width)
        self.view = view
        self.layout = layout(BROKER_COLUMNS, width)
        self.leads, self.internal, _, self.out = replica_counts(view)
        self.order([f"broker-{broker}" for broker in sorted(view.brokers)])

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def note(self) -> Line:
        """The legend: the sign beside a name, and the second number of the column `leads`."""
        return line((states.CONTROLLER, ACCENT), (" controller  ", MUTED), "+n", (" internal partitions", MUTED))

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`3 ● up`."""
        return line((f"{len(keys)} ● {'all up' if len(keys) == len(self.keys) else 'up'}", MUTED))

    def sortable(self) -> dict[str, RowValue]:
        """By its number and what it leads."""
        numbers = {f"broker-{broker}": broker for broker in self.view.brokers}
        return {
            "leads": lambda key: self.leads[numbers[key]],
            "ISR out": lambda key: self.out[numbers[key]],
            "broker": lambda key: -numbers[key],
        }

    def rank(self, key: str) -> int | None:
        """Not running, starting or shutting down, with a fault or a replica out of sync."""
        broker = self.view.brokers[int(key.removeprefix("broker-"))]
        name = broker_state(broker)
        if name == "up":
            return 2 if self.out[broker.broker] or (self.view.faults and fault_label(self.view, key)) else None
        return 1 if name in {"starting", "stopping"} else 0

    def rows(self, key: str) -> tuple[Line]:
        """One broker."""
        broker = self.view.brokers[int(key.removeprefix("broker-"))]
        name = broker_state(broker)
        state = states.BROKER[name]
        out = self.out[broker.broker]
        label = fault_label(self.view, key) if self.view.faults and name == "up" else ""
        cells: list[Line | Span | str] = [
            line((key, STRONG), (f" {states.CONTROLLER}" if self.view.controller == broker.broker else "", ACCENT)),
            line((f"▲ {label}", WARN) if label else (f"{state.glyph} {name}", state.tone)),
            line(str(self.leads[broker.broker]), (f" +{self.internal[broker.broker]}", MUTED)),
            line((str(out), WARN if out else FAINT)),
            self._coordinates(broker),
        ]
        return (self.layout.row(cells),)

    def _coordinates(self, broker: BrokerView) -> Line:
        partitions = self.view.partitions
        names = [
            name
            for name, group in self.view.groups.items()
            if (partition := partitions.get(group.coordinator_partition)) is not None
            and partition.leader == broker.broker
        ]
        return line((", ".join(names), MUTED))


def broker_state(broker: BrokerView) -> str:
    """The state of a broker's process and registration, as one key of `states.BROKER`."""
    if not broker.alive:
        return "down" if broker.fenced else "silent"
    if broker.paused:
        return "frozen"
    if broker.stopping:
        return "stopping"
    if broker.fenced and not broker.starting:  # only a process that was registered can have been fenced
        return "fenced" if broker.registered else "starting"
    return "starting" if broker.starting else "up"


__all__ = [
    "PLAIN",
    "BrokersListing",
    "GroupsListing",
    "broker_state",
    "lag_trend",
    "rebalance_words",
]
