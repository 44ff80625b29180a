"""The geometry of the report's charts; templates draw it as SVG, which needs no script to be shown.

Widths and heights are pixels of a chart that is `WIDTH` wide; the page scales it. Texts are placed by an estimate of
their width, because this process has no fonts to measure.
"""

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10, sqrt
from typing import NamedTuple

from recordings.spark.formatting import MINUTE_US, SECOND_US, clock, count, duration, exact_clock, many
from recordings.spark.lanes import Stretch, lanes
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.report_model import CONSUMER, Attendance, FlightReport, Group, Heat, LagSeries, Rebalance

WIDTH, LEFT, RIGHT = 1160, 132, 14
PLOT = WIDTH - LEFT - RIGHT
LETTER = 6.3  # mean width of a letter of 11 pixels
ROW, LABEL_ROWS, LABEL_LETTERS = 17, 4, 34
LAG_HEIGHT, AGE_HEIGHT, GAP, LANE_ROW = 92, 34, 18, 17
TICKS_AT_MOST = 13
LEVELS = 8
HEAT_ROW = 11
CASE_WIDTH, CASE_LEFT, CASE_ROW = 760, 118, 20

STEPS_US = tuple(
    step * unit
    for unit, steps in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1_000, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (SECOND_US, (1, 2, 5, 10, 15, 30)),
        (MINUTE_US, (1, 2, 5, 10, 15, 30)),
        (60 * MINUTE_US, (1, 2, 3, 6, 12, 24)),
    )
    for step in steps
)


class Tick(NamedTuple):
    """A grid line at `at` (pixels), and its label."""

    at: float
    label: str


class Band(NamedTuple):
    """A stretch from `x` on of this `width`; a tooltip shows `title`."""

    x: float
    width: float
    title: str
    label: str = ""
    label_x: float = 0
    row: int = 0


class Curve(NamedTuple):
    """A series as the `d` of a path: its line, and the same closed to an area down to its floor."""

    line: str
    area: str


class ChartPanel(NamedTuple):
    """A group's part of the timeline: lag above, the age of the oldest unread record below, its rebalances across."""

    group: str
    note: str
    top: float
    lag: Curve
    lag_ticks: list[Tick]
    peak: tuple[float, float, str, str]  # x, y, text, anchor
    age_top: float
    age: Curve
    age_max: str
    bottom: float
    rebalances: list[Band]


class PlacedLane(NamedTuple):
    """A lane above the groups: its name, what it is about, and its bands by kind."""

    name: str
    about: str
    y: float
    bands: list[tuple[str, Band]]


class FlightTimeline(NamedTuple):
    """A whole flight from left to right."""

    height: float
    ticks: list[Tick]
    incidents: list[Band]
    labels_height: float
    panels: list[ChartPanel]
    lanes: list[PlacedLane]


class HeatMap(NamedTuple):
    """Partitions from top to bottom, time from left to right: for each level of lag the `d` of its cells."""

    height: float
    names: list[Tick]
    levels: list[str]
    most: str


class Lane(NamedTuple):
    """A member in a rebalance's chart: its stop (`Band`, if it stopped), its join and sync (x, None: neither came).

    Of the consumer protocol: the stretch in which it revoked partitions, and when it had its target assignment.
    """

    member: str
    newcomer: bool
    y: float
    stopped: Band | None
    joined: float | None
    synced: float | None
    gives_up: Band | None = None
    reached: float | None = None


class CaseFile(NamedTuple):
    """One rebalance, enlarged: the coordinator's phases above, members below."""

    height: float
    ticks: list[Tick]
    phases: list[Band]
    lanes: list[Lane]


def time_ticks(from_us: int, until_us: int, left: float, width: float, most: int = TICKS_AT_MOST) -> list[Tick]:
    """Ticks at round instants, at most this many."""
    span = max(1, until_us - from_us)
    step = next((step for step in STEPS_US if span / step <= most), span)
    first = ceil(from_us / step) * step
    write = clock if step >= SECOND_US else exact_clock
    return [Tick(left + (at - from_us) / span * width, write(at)) for at in range(first, until_us + 1, step)]


def nice_top(value: float) -> float:
    """The next round number not below a value: 1, 2, 2.5 or 5 with zeros."""
    if value <= 0:
        return 1
    unit = 10.0 ** floor(log10(value))
    return next(unit * step for step in (1, 2, 2.5, 5, 10) if unit * step >= value * (1 - 1e-9))


def timeline(flight: FlightReport) -> FlightTimeline:
    """The chart of a flight: its commands, and each group's lag."""
    span = max(1, flight.virtual_us)
    incidents = _place_labels(_incidents(flight, span))
    rows = max((band.row + 1 for band in incidents if band.label), default=0)
    top = rows * ROW + 8.0
    placed = _lanes(flight, span, top)
    top += len(placed) * LANE_ROW + (GAP if placed else 0)
    panels = []
    for group in flight.groups:
        panels.append(_panel(group, flight, span, top))
        top = panels[-1].bottom + GAP
    return FlightTimeline(
        top + 12, time_ticks(0, flight.virtual_us, LEFT, PLOT), incidents, rows * ROW + 4, panels, placed
    )


def _lanes(flight: FlightReport, span: int, top: float) -> list[PlacedLane]:
    def band(one: Stretch) -> tuple[str, Band]:
        x, end = _x(one.from_us, span), _x(min(one.until_us, span), span)
        return one.kind, Band(x, round(max(2.0, end - x), 1), one.title)

    return [
        PlacedLane(lane.name, lane.about, top + place * LANE_ROW, [band(one) for one in lane.stretches])
        for place, lane in enumerate(lanes(flight))
    ]


def _x(at_us: float, span: int) -> float:
    return round(LEFT + at_us / span * PLOT, 1)


def _incidents(flight: FlightReport, span: int) -> Iterator[Band]:
    for incident in flight.incidents:
        ends = flight.virtual_us if incident.fault and incident.cleared_us is None else incident.cleared_us
        lasted = f", for {duration(ends - incident.at_us)}" if ends is not None else ""
        refused = f" (refused: {incident.refused})" if incident.refused else ""
        x = _x(incident.at_us, span)
        width = _x(ends, span) - x if ends is not None else 0.0
        yield Band(x, round(width, 1), f"{clock(incident.at_us)} {incident.text}{lasted}{refused}", incident.text)


def _place_labels(bands: Iterator[Band]) -> list[Band]:
    """Give each label the first row in which it fits; one that fits in none is left out (its title stays)."""
    free = [0.0] * LABEL_ROWS
    placed = []
    for band in bands:
        text = band.label if len(band.label) <= LABEL_LETTERS else band.label[: LABEL_LETTERS - 1] + "…"
        needed = len(text) * LETTER + 10
        x = round(min(band.x + 4, WIDTH - needed), 1)
        row = next((row for row in range(LABEL_ROWS) if free[row] <= x), None)
        if row is not None:
            free[row] = x + needed
        placed.append(band._replace(label=text if row is not None else "", label_x=x, row=row or 0))
    return placed


def _panel(group: Group, flight: FlightReport, span: int, top: float) -> ChartPanel:
    lag, series = group.lag, group.series
    most = nice_top(max(1, lag.lag_peak))
    floor_y, age_top = top + LAG_HEIGHT, top + LAG_HEIGHT + 6
    oldest = max(SECOND_US, lag.time_lag_peak_us)
    peak_x = _x(min(lag.lag_peak_second * SECOND_US, span), span)
    peak_y = round(floor_y - lag.lag_peak / most * LAG_HEIGHT, 1)
    words = f"{count(lag.lag_peak)} at {clock(lag.lag_peak_second * SECOND_US)}"
    anchor = "end" if peak_x > WIDTH - 130 else "start"
    return ChartPanel(
        group=group.group,
        note=many(group.partitions, "partition"),
        top=top,
        lag=_curve(series, series.lag, span, most, floor_y, LAG_HEIGHT),
        lag_ticks=[
            Tick(floor_y - share * LAG_HEIGHT, count(share * most)) for share in (0, 0.5, 1) if share * most % 1 == 0
        ],
        peak=(peak_x, peak_y, words, anchor),
        age_top=age_top,
        age=_curve(series, series.time_lag_us, span, oldest, age_top + AGE_HEIGHT, AGE_HEIGHT),
        age_max=duration(oldest),
        bottom=age_top + AGE_HEIGHT,
        rebalances=[_rebalance_band(each, span) for each in flight.rebalances if each.group == group.group],
    )


def _rebalance_band(rebalance: Rebalance, span: int) -> Band:
    ended = rebalance.ended_us if rebalance.ended_us is not None else span
    x = _x(rebalance.started_us, span)
    title = f"{clock(rebalance.started_us)} rebalance {rebalance.rebalance}: {cause_in_words(rebalance)}"
    return Band(x, round(max(2.0, _x(ended, span) - x), 1), f"{title}, {duration(ended - rebalance.started_us)}")


def _curve(series: LagSeries, values: Sequence[int], span: int, most: float, floor_y: float, height: float) -> Curve:
    """A stepped curve: a point stands for the highest value of its seconds."""
    if not values:
        return Curve("", "")
    step_us = series.seconds_per_point * SECOND_US
    points = []
    for place, value in enumerate(values):
        x, y = _x(min(place * step_us, span), span), round(floor_y - min(1.0, value / most) * height, 1)
        points.append(f"{x},{y}")
    line = "M" + "L".join(points)
    end = points[-1].partition(",")[0]
    return Curve(line, f"{line}L{end},{floor_y}L{LEFT},{floor_y}Z")


def heat_map(heat: Heat) -> HeatMap:
    """The lag of single partitions; shades by the square root of the lag, so that small ones show beside large ones."""
    most = max((max(row, default=0) for row in heat.rows), default=0)
    columns = max((len(row) for row in heat.rows), default=1)
    width = PLOT / max(1, columns)
    levels: list[list[str]] = [[] for _ in range(LEVELS)]
    for place, row in enumerate(heat.rows):
        y = place * HEAT_ROW
        for start, end, level in _runs([_level(value, most) for value in row]):
            x, right = round(LEFT + start * width, 1), round(LEFT + end * width, 1)
            levels[level - 1].append(f"M{x},{y}H{right}v{HEAT_ROW - 1}H{x}Z")
    names = [Tick(place * HEAT_ROW + HEAT_ROW / 2, name) for place, name in enumerate(heat.partitions)]
    return HeatMap(len(heat.rows) * HEAT_ROW, names, ["".join(level) for level in levels], count(most))


def _level(value: int, most: int) -> int:
    return 0 if value <= 0 or most <= 0 else max(1, ceil(sqrt(value / most) * LEVELS))


def _runs(levels: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Neighbours of the same level as one: (from, to, level), without the empty ones."""
    start = 0
    for place in range(1, len(levels) + 1):
        if place == len(levels) or levels[place] != levels[start]:
            if levels[start]:
                yield start, place, levels[start]
            start = place


def case_file(rebalance: Rebalance, virtual_us: int) -> CaseFile:
    """A rebalance enlarged to its own time: from its beginning (or the first member's stop) until all were ready."""
    ended = rebalance.ended_us if rebalance.ended_us is not None else virtual_us
    marks = [rebalance.started_us, ended]
    for each in rebalance.attendance:
        marks += [us for us in (each.stopped_us, each.ready_us, each.asked_us, each.gave_up_us) if us is not None]
    from_us, until_us = min(marks), max(marks)
    margin = max(1, (until_us - from_us) // 50)
    from_us, until_us = max(0, from_us - margin), until_us + margin
    scale = (CASE_WIDTH - CASE_LEFT - 12) / (until_us - from_us)

    def x(at_us: int) -> float:
        return round(CASE_LEFT + (at_us - from_us) * scale, 1)

    def band(start: int, end: int, label: str) -> Band:
        return Band(x(start), max(1.5, round(x(end) - x(start), 1)), f"{label}: {duration(end - start)}", label)

    def lane(place: int, each: Attendance) -> Lane:
        stopped = None
        if each.stopped_us is not None and each.ready_us is not None:
            stopped = band(each.stopped_us, each.ready_us, "not reading")
        gives_up = None
        if each.asked_us is not None:
            until_us = ended if each.gave_up_us is None else each.gave_up_us
            gives_up = band(each.asked_us, until_us, "revoking partitions")
        dots = [None if us is None else x(us) for us in (each.joined_us, each.synced_us, each.reached_us)]
        y = 30.0 + place * CASE_ROW
        return Lane(each.member, each.newcomer, y, stopped, dots[0], dots[1], gives_up, dots[2])

    lanes = [lane(place, each) for place, each in enumerate(rebalance.attendance)]
    ticks = time_ticks(from_us, until_us, CASE_LEFT, CASE_WIDTH - CASE_LEFT - 12, 5)
    return CaseFile(34.0 + len(lanes) * CASE_ROW + 16, ticks, [band(*phase) for phase in phases(rebalance)], lanes)


def phases(rebalance: Rebalance) -> list[tuple[int, int, str]]:
    """The coordinator's phases, as far as it came: (from, until, name), in µs; of the consumer protocol, its states."""
    stable_us = rebalance.ended_us if rebalance.ends == "Stable" else None
    if rebalance.protocol == CONSUMER:
        marks = [(rebalance.closed_us, "Assigning"), (stable_us, "Reconciling")]
    else:
        marks = [(rebalance.closed_us, "joining"), (rebalance.assigned_us, "assigning"), (stable_us, "syncing")]
    found, start = [], rebalance.started_us
    for until, what in marks:
        if until is None:
            break
        found.append((start, until, what))
        start = until
    return found
