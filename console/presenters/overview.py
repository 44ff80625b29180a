"""The overview's tables: groups, brokers, producers."""

import math
from itertools import pairwise

from cluster.view.brokers import BrokerView
from cluster.view.document import group_lag, group_time_lag_us
from cluster.view.rebalances import RebalanceView
from cluster.view.state import NEVER, ClusterView, GroupView, ProducerView, Series
from console.presenters import states
from console.presenters.active_faults import fault_label
from console.presenters.awaited_members import awaited_joins, awaited_syncs, silent_ids
from console.presenters.consumer_groups.overview import consumer_rebalance, number_column, reconciled
from console.presenters.coordinator_status import DOWN, FROZEN, UP, coordinator_status, outage_of
from console.presenters.formatting import (
    SECOND_US,
    UNKNOWN,
    count,
    countdown,
    duration,
    partition_seconds,
    rate,
    resampled,
    spark,
)
from console.presenters.list_view import BUILDING, Listing
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
    line,
    middle,
)
from console.presenters.table import TableColumn, layout

TREND_SECONDS, TREND_HALF, TREND_FLOOR, TREND_LEAST = 60, 30, 15, 10

GROUP_COLUMNS = (
    TableColumn("group", 10, grow=1, most=20),
    TableColumn("state", 21),
    TableColumn("gen", 4, right=True),
    TableColumn("members", 7, right=True, rank=1),
    TableColumn("lag", 6, right=True),
    TableColumn("last minute", 11, rank=3, grow=2, most=30),
    TableColumn("time lag", 8, right=True, rank=2),
    TableColumn("rebalance", 28, rank=4, grow=6),
)

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


def lag_trend(group: GroupView) -> tuple[str, str]:
    """An arrow and its tone: the change of lag over half a minute, without the saw-tooth of commits.

    The least-squares line through the samples has to rise or fall by more than their scatter around it. The arrow is
    amber only when the line and the floor of the last minute rise, too. Fewer than ten samples give no arrow.
    """
    values = group.lag_series.values
    if len(values) < TREND_LEAST:
        return "", MUTED
    change, scatter = _slope(values[-TREND_HALF:])
    if abs(change) <= max(10, scatter):
        return "→", MUTED
    if change < 0:
        return "↘", MUTED
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


class GroupsListing(Listing):
    """Every group: its state, its lag and its last rebalance."""

    title = "groups"
    vacant = line(("this scenario declares no consumer group", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.now_us = view, now_us
        if not view.brokers:
            self.vacant = BUILDING
        self.layout = layout(group_columns(view), width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The groups' names, in the scenario's order."""
        return list(self.view.groups)

    def rows(self, key: str) -> tuple[Line]:
        """One group."""
        group = self.view.groups[key]
        state = states.group(group.state, consumer=group.consumer is not None)
        lag = group_lag(self.view, group)
        arrow, tone = lag_trend(group)
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
        if state != UP and (group.under_way is not None or state in {DOWN, FROZEN}):
            return line(("✖ ", ERROR), outage_of(self.view, group, self.now_us, None).reason)
        if group.consumer is not None and group.consumer.rebalance is not None:
            return consumer_rebalance(self.view, group, self.now_us, self.layout.width_of(7))
        if group.open_rebalance is not None:
            missing = awaited_joins(self.view, group, self.now_us) or awaited_syncs(self.view, group, self.now_us)
            if group.open_rebalance.initial and group.open_rebalance.completed_us == NEVER:
                left = countdown(group.open_rebalance.closes_at_us - self.now_us)
                return line(("↻ ", MOVING), f"first members gather: {left}")
            if missing:
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                return line(("↻ ", MOVING), (missing[0].member, WARN), f"{more}: {missing[0].reason}")
            return line(("↻ ", MOVING), group.open_rebalance.cause)
        if not group.rebalances:
            return line(("none yet", FAINT))
        return rebalance_words(group.rebalances[-1], self.now_us, self.layout.width_of(7))


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


class BrokersListing(Listing):
    """Every broker: its state, the partitions that it leads, its missing ISRs, the groups that it coordinates."""

    title = "brokers"
    vacant = BUILDING

    def __init__(self, view: ClusterView, width: int) -> None:
        super().__init__(width)
        self.view = view
        self.layout = layout(BROKER_COLUMNS, width)
        self.leads, self.internal = dict.fromkeys(view.brokers, 0), dict.fromkeys(view.brokers, 0)
        self.out = dict.fromkeys(view.brokers, 0)
        for partition in view.partitions.values():
            if partition.leader in self.leads:
                leads = self.internal if view.topics[partition.topic].internal else self.leads
                leads[partition.leader] += 1
            if len(partition.isr) < len(partition.replicas):
                for broker in partition.replicas:
                    if broker not in partition.isr and broker in self.out:
                        self.out[broker] += 1

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def note(self) -> Line:
        """The legend: the sign beside a name, and the second number of the column `leads`."""
        return line(("◆", ACCENT), (" controller  ", MUTED), "+n", (" internal partitions", MUTED))

    def row_keys(self) -> list[str]:
        """Broker tokens, by id."""
        return [f"broker-{broker}" for broker in sorted(self.view.brokers)]

    def rows(self, key: str) -> tuple[Line]:
        """One broker."""
        broker = self.view.brokers[int(key.removeprefix("broker-"))]
        name = broker_state(broker)
        state = states.BROKER[name]
        out = self.out[broker.broker]
        label = fault_label(self.view, key) if self.view.faults and name == "up" else ""
        cells: list[Line | Span | str] = [
            line((key, STRONG), (" ◆" if self.view.controller == broker.broker else "", ACCENT)),
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
    return "starting" if broker.starting or broker.fenced else "up"


PRODUCER_COLUMNS = (
    TableColumn("producer", 11, grow=1, most=20),
    TableColumn("state", 9),
    TableColumn("acked/s", 7, right=True),
    TableColumn("last minute", 11, rank=3, grow=1, most=20),
    TableColumn("acked", 6, right=True, rank=1),
    TableColumn("failed", 6, right=True, rank=1),
    TableColumn("retries", 7, right=True, rank=2),
    TableColumn("last error", 12, rank=4, grow=3),
)

TRANSACTIONAL_COLUMNS = (
    *PRODUCER_COLUMNS[:3],
    *(column._replace(rank=max(column.rank, 1)) for column in PRODUCER_COLUMNS[3:]),
    TableColumn("transaction", 22),
)


class ProducersListing(Listing):
    """Every producer instance: its acknowledged rate and its errors."""

    title = "producers"
    vacant = line(("this scenario declares no producer", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view = view
        if not view.brokers:
            self.vacant = BUILDING
        self.transactions = {one.producer_id: one for one in view.transactions.values() if one.producer_id >= 0}
        self.now_us = now_us
        self.layout = layout(TRANSACTIONAL_COLUMNS if self.transactions else PRODUCER_COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The instances' names, in the scenario's order."""
        return list(self.view.producers)

    def rows(self, key: str) -> tuple[Line]:
        """One producer."""
        producer = self.view.producers[key]
        state = states.producer(producer.state)
        rates, room = acked_rates(producer, self.now_us), self.layout.width_of(3)
        second = self.now_us // SECOND_US - len(rates) + 1
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((f"{state.glyph} {producer.state}", state.tone)),
            rate(rates[-1]) if rates else ((UNKNOWN, FAINT),),
            line((spark(resampled(second, rates, room), room), ACCENT)),
            count(producer.acked),
            line((count(producer.failed), ERROR if producer.failed else FAINT)),
            line((count(producer.retries), WARN if producer.retries else FAINT)),
            line((producer.last_error, WARN)),
            self._transaction(producer),
        ]
        return (self.layout.row(cells[: len(self.layout.columns)]),)

    def _transaction(self, producer: ProducerView) -> Line:
        """The state of the producer's transactional id and the age of its open transaction; a dash without one."""
        one = self.transactions.get(producer.producer_id)
        if one is None or not one.state:
            return line((UNKNOWN, FAINT))
        state = states.transaction(one.state)
        open_for = f" {duration(self.now_us - one.start_us)}" if one.start_us != NEVER else ""
        return line((f"{state.glyph} {one.state}{open_for}", state.tone))


def acked_rates(producer: ProducerView, now_us: int) -> list[int]:
    """Records acknowledged in each of the last virtual seconds, oldest first.

    Seconds that began after the last event have no sample yet: they count 0 records.
    """
    series = producer.acked_series
    values = series.values
    quiet = min(now_us // SECOND_US - (series.first_second + len(values) - 1), TREND_SECONDS) if values else 0
    return [after - before for before, after in pairwise([*values, *[producer.acked] * quiet])]


__all__ = [
    "PLAIN",
    "BrokersListing",
    "GroupsListing",
    "ProducersListing",
    "broker_state",
    "lag_trend",
    "rebalance_words",
]
