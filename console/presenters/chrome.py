"""The frame of every screen: header, breadcrumb, flight strip, ticker."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from cluster.view.document import group_lag
from cluster.view.state import ClusterView, LogEntry
from console.flight_clock import BUILDING, ENDED, FAILED, LIVE, PAUSED, FlightClock
from console.presenters.event_log import MARKS, entry_line, last_entries, merged_entries
from console.presenters.exceptions.headline import Headline, beside
from console.presenters.formatting import SECOND_US, clock, count, speed
from console.presenters.logged.groups import health as logged_health
from console.presenters.overview import broker_state, lag_trend
from console.presenters.styled_text import (
    ACCENT,
    BANNER,
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    OK,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    apart,
    fit,
    joined,
    length,
    line,
    linked,
    merged,
)

LEADS_ON = "┅"
TICKER_ENTRIES = 60  # the newest log entries that the ticker merges into its lines
GAP: Span = ("   ", PLAIN)
RECORDED = "PLAYBACK"  # the word of every phase of a recording; the glyph shows the phase
SLOWED_DOWN = 0.8  # below this share of the chosen speed the header shows the reached speed

MOVING_GROUPS = {"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}

PHASES = {
    LIVE: ("▶", "LIVE", OK),
    PAUSED: ("‖", "PAUSED", WARN),
    ENDED: ("■", "ENDED", ACCENT),
    FAILED: ("✖", "FAILED", ERROR),
}


def header(
    view: ClusterView,
    at: FlightClock,
    title: str,
    width: int,
    recording: bool,
    lags: Mapping[str, int] | None = None,
) -> Line:
    """One line: the flight's title, its time and speed, the health of the cluster.

    `lags`: the lag of each group in records, where the frame has counted it already.
    """
    name = title.partition(" · ")[0]
    banner = line((" FLIGHTDECK ", BANNER), " ")
    whole, brief, bare = (
        line(*banner, (f" {title}", STRONG)),
        line(*banner, (f" {name}", STRONG)),
        line((f" {name}", STRONG)),
    )
    left: Line = ()
    middle: Line = ()
    right: Line = ()
    lag = _lag(view, lags) if view.logs is None else ()  # of every partition: once for all widths
    for left, detail in ((whole, 3), (whole, 2), (brief, 2), (bare, 2), (bare, 1), ((), 1), ((), 0)):
        middle, right = time_words(at, short=not detail), _health(view, detail, lag, recording=recording)
        if length(left) + length(middle) + length(right) + 5 <= width:
            break
    spare = max(0, width - length(left) - length(middle) - length(right) - 1)
    before = min(3, max(1, spare // 3)) if spare < 30 else spare // 3
    body = fit(line(*left, (" " * before, PLAIN), *middle), width - length(right) - 1)
    return (*body, *right, (" ", PLAIN))


def time_words(at: FlightClock, *, short: bool = False) -> Line:
    """`00:12:41.3 ▶ LIVE ×20`, with the reached speed when it is lower; `short` leaves out the word."""
    if at.phase == BUILDING:
        return line(("building the cluster …", MUTED))
    now = (clock(at.now_us, 1 if at.phase == LIVE else 3).ljust(0 if short else 12), STRONG)
    glyph, word, tone = PHASES[at.phase]
    glyph = "◀" if at.phase == LIVE and at.speed < 0 else glyph
    if at.live_us is not None:
        words = f"{clock(at.now_us, 3)}, live {clock(at.live_us, 0)}"
        if short:
            return line((f"{glyph} ", tone), (words, STRONG))
        skips = "  skips quiet" if at.skips_quiet else ""
        return line((f"{glyph} viewing ", tone), (words, STRONG), (f"  {speed(at.speed)}{skips}", MUTED))
    word = RECORDED if at.recorded else word
    sign = (f"  {glyph}" if short else f"  {glyph} {word}", tone)
    if at.over:
        return line(now, sign)
    if at.phase == PAUSED:
        return line(now, sign, (f"  {speed(at.speed)}", MUTED))
    skips = "" if short or not at.skips_quiet else "  skips quiet"
    return line(now, sign, f"  {speed(at.speed)}", _reached_speed(at, short=short), (skips, MUTED))


def _reached_speed(at: FlightClock, *, short: bool) -> Span:
    reached = at.actual_speed
    if reached <= 0:
        return "", MUTED
    if at.speed == math.inf:
        return f" {speed(reached)}", MUTED
    words = f" ({speed(reached)})" if short else f" (actual {speed(reached)})"
    return (words, WARN) if reached < abs(at.speed) * SLOWED_DOWN else ("", MUTED)


def health(view: ClusterView, detail: int, *, recording: bool = False) -> Line:
    """Brokers, groups, lag and faults; less detail means fewer words, 0 omits lag."""
    return _health(view, detail, _lag(view, None), recording=recording)


def _health(view: ClusterView, detail: int, lag: Line, *, recording: bool) -> Line:
    if view.logs is not None:
        return logged_health(view.logs, detail)
    parts = [line(("● REC", ERROR))] if recording else []
    if view.brokers:
        parts += [_brokers(view, detail), _groups(view, detail)]
        parts += [lag, _faults(view, detail)] if detail else [_faults(view, detail)]
    return joined((part for part in parts if part), GAP if detail >= 3 else ("  ", PLAIN))


def _brokers(view: ClusterView, detail: int) -> Line:
    up = sum(1 for broker in view.brokers.values() if broker_state(broker) == "up")
    all_up = up == len(view.brokers)
    word = "brokers " if detail >= 2 else ""
    sign: Span = ("●", OK) if all_up else ("✖", ERROR)
    return _to_panel("brokers", line((word, MUTED), f"{up}/{len(view.brokers)} ", sign))


def _groups(view: ClusterView, detail: int) -> Line:
    total = len(view.groups)
    if not total:
        return ()
    moving = sum(1 for group in view.groups.values() if group.state in MOVING_GROUPS)
    stable = sum(1 for group in view.groups.values() if group.state == "Stable")
    empty = total - moving - stable
    spans: list[Span] = [("groups", MUTED)] if detail >= 2 else []
    for number, glyph, tone in ((moving, "↻", MOVING), (stable, "●", OK), (empty, "○", MUTED)):
        if number:
            spans += [(f" {number} " if spans else f"{number} ", PLAIN), (glyph, tone)]
    return _to_panel("groups", tuple(spans))


def _lag(view: ClusterView, counted: Mapping[str, int] | None) -> Line:
    if not view.groups:
        return ()
    lags = {name: group_lag(view, group) for name, group in view.groups.items()} if counted is None else counted
    lag = sum(lags.values())
    trends = [lag_trend(group, lags[name]) for name, group in view.groups.items()]
    arrow = next((trend for trend in trends if trend[1] == WARN), None)
    arrow = arrow or next((trend for trend in trends if trend[0] == "↗"), trends[0])
    return _to_panel("groups", line(("lag ", MUTED), count(lag).rjust(5), (f" {arrow[0]}", arrow[1])))


def _faults(view: ClusterView, detail: int) -> Line:
    number = len(view.faults)
    word = "faults " if detail >= 2 else ""
    if not number:
        return line((f"{word}0", MUTED)) if word else ()
    return _to_panel("faults", line((word, MUTED), (f"{number} ▲", WARN)))


def _to_panel(panel: str, words: Line) -> Line:
    """The words as a link to a panel of the overview."""
    return tuple((linked(text, "panel", panel), tone) for text, tone in words)


def crumbs(path: Sequence[str], width: int, right: Line = (), found: Headline | None = None) -> Line:
    """`overview › billing`, and the headline or a notice; the last name is the current screen."""
    whole, last = _crumbs(path), line(" ", (path[-1], ACCENT))
    if right or found is None:
        return apart(whole, (*right, (" ", PLAIN)), width)
    return fit(beside((whole, last), found, width - 1), width)


def _crumbs(path: Sequence[str]) -> Line:
    spans: list[Span] = [(" ", PLAIN)]
    for place, name in enumerate(path):
        if place:
            spans.append((" › ", FAINT))
        here = place == len(path) - 1
        spans.append((name, ACCENT) if here else (linked(name, "place", name), MUTED))
    return tuple(spans)


def strip_span(now_us: int, until_us: int | None) -> int:
    """The time span of the strip in µs: the whole flight, or a round length while its end is unknown."""
    if until_us:
        return until_us
    length_us = 60 * SECOND_US
    while length_us < now_us:
        length_us *= 2
    return length_us


def instant_under(x: int, at: FlightClock, width: int) -> int:
    """The instant at a column of the strip, in µs: a travel to it draws `┃` there."""
    inner = max(1, width - 2)
    cell = min(max(x - 1, 0), inner - 1)
    return -(-cell * strip_span(max(at.now_us, at.live_us or 0), at.until_us) // inner)


def mark_under(x: int, view: ClusterView, at: FlightClock, width: int, ahead: Sequence[LogEntry]) -> int | None:
    """The instant of the mark that the strip draws in a column, in µs; None without one. `ahead` as for the strip."""
    inner = max(1, width - 2)
    total_us = strip_span(max(at.now_us, at.live_us or 0), at.until_us)
    cell = min(max(x - 1, 0), inner - 1)
    later = ahead[bisect_right(ahead, at.now_us, key=lambda entry: entry.at_us) :]
    marks = [one for one in (*view.log_entries, *later) if min(inner - 1, one.at_us * inner // total_us) == cell]
    return max(marks, key=lambda one: MARKS.get(one.kind, ("", "", 0))[2]).at_us if marks else None


def flight_strip(view: ClusterView, at: FlightClock, width: int, ahead: Sequence[LogEntry] = ()) -> Line:
    """The flight so far, one glyph for each cell of time: faults, elections, rebalances.

    `┃` is now, `┅` leads on to the live instant.

    `ahead`: log entries of the whole flight, for a recording; entries after now are drawn faintly.
    """
    inner = max(1, width - 2)
    total_us = strip_span(max(at.now_us, at.live_us or 0), at.until_us)
    cells: list[Span] = [("┈", FAINT)] * inner
    here = min(inner - 1, at.now_us * inner // total_us)
    for index in range(here):
        cells[index] = ("─", MUTED)
    for index in range(here, min(inner, (at.live_us or 0) * inner // total_us)):
        cells[index] = (LEADS_ON, MUTED)
    weights = [-1] * inner
    for entry in view.log_entries:
        index = min(inner - 1, entry.at_us * inner // total_us)
        glyph, tone, weight = MARKS.get(entry.kind, ("·", MUTED, 0))
        if weight > weights[index]:
            weights[index] = weight
            cells[index] = (glyph, tone)
    for entry in ahead[bisect_right(ahead, at.now_us, key=lambda entry: entry.at_us) :]:
        index = min(inner - 1, entry.at_us * inner // total_us)
        glyph, _, weight = MARKS.get(entry.kind, ("·", MUTED, 0))
        if weight > weights[index]:
            weights[index] = weight
            cells[index] = (glyph, FAINT)
    cells[here] = ("┃", STRONG)
    return (" ", PLAIN), *merged(cells), (" ", PLAIN)


def strip_scale(at: FlightClock, width: int) -> Line:
    """Times below the strip, at round distances."""
    inner = max(1, width - 2)
    total_us = strip_span(max(at.now_us, at.live_us or 0), at.until_us)
    step_us = _round_step(total_us, inner // 12)
    text = [" "] * inner
    for instant_us in range(0, total_us + 1, step_us):
        label = _label(instant_us)
        start = min(instant_us * inner // total_us, inner - len(label))
        if not "".join(text[max(0, start - 1) : start + len(label)]).strip():
            text[start : start + len(label)] = label
    return (" ", PLAIN), ("".join(text), FAINT), (" ", PLAIN)


def _label(us: int) -> str:
    seconds = us // SECOND_US
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02}"
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _round_step(total_us: int, most: int) -> int:
    for seconds in (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400):
        if total_us // (seconds * SECOND_US) <= max(1, most):
            return seconds * SECOND_US
    return max(1, total_us // max(1, most))


def ticker(view: ClusterView, width: int, rows: int) -> list[Line]:
    """The last log entries, newest at the bottom."""
    shown = [entry_line(entry) for entry in merged_entries(last_entries(view.log_entries, TICKER_ENTRIES))[-rows:]]
    blank: list[Line] = [()] * (rows - len(shown))
    return [fit(row, width) for row in (*blank, *shown)]
