"""The last minute of a member as two lanes, its poll loop and its heartbeat thread, newest right."""

from collections.abc import Sequence

from cluster.view.state import NEVER, Heartbeat, MemberView
from console.presenters.formatting import SECOND_US
from console.presenters.styled_text import ERROR, FAINT, MOVING, MUTED, OK, WARN, Line, Span, merged, runs_of_signs

LANE_SECONDS = 60
BUSY_US = SECOND_US
LATE_SHARE = 4  # processing is late from this part of max.poll.interval.ms on

# phase → glyph, tone, the word inside a long run, its weight when several phases share a cell
PHASES: dict[str, tuple[str, str, str, int]] = {
    "reading": ("━", OK, "", 1),
    "busy": ("▓", MUTED, "processing", 3),
    "late": ("▓", WARN, "processing", 4),  # more than a quarter of max.poll.interval.ms
    "stalled": ("▒", WARN, "no poll()", 4),
    "paused": ("‖", WARN, "frozen", 5),
    "joining": ("░", MOVING, "joins", 7),
    "syncing": ("═", MOVING, "syncs", 8),
    "revoking": ("▚", MOVING, "", 9),
    "reconciling": ("▚", MOVING, "reconciles", 2),
    "dead": ("×", MUTED, "down", 2),
    "": (" ", FAINT, "", 0),
}


def window(now_us: int, width: int) -> tuple[int, int]:
    """The first instant and a cell's length of a lane, in µs; cells move only when one is full."""
    cell_us = LANE_SECONDS * SECOND_US // max(1, width)
    last = now_us // cell_us + 1
    return (last - width) * cell_us, cell_us


def poll_lane(member: MemberView, now_us: int, width: int) -> Line:
    """The poll loop: polling, processing, joining, stalled, frozen or down."""
    first_us, cell_us = window(now_us, width)
    return _runs(phases_of(member, now_us, first_us, cell_us, width))


def phases_of(member: MemberView, now_us: int, first_us: int, cell_us: int, width: int) -> list[str]:
    """The phase of the poll loop in each of `width` cells of time from `first_us`: the one of most weight."""
    cells, filled = [""] * width, 0
    for from_us, to_us, phase in _spans(member, now_us):
        low = max(0, (from_us - first_us) // cell_us)
        high = min(width - 1, (max(from_us, to_us - 1) - first_us) // cell_us)
        weight = PHASES[phase][3]
        for index in range(low, min(high + 1, filled)):
            if weight > PHASES[cells[index]][3]:
                cells[index] = phase
        start = max(low, filled)  # from here on no other phase was seen
        if weight and start <= high:
            cells[start : high + 1] = [phase] * (high + 1 - start)
            filled = high + 1
    return cells


def _spans(member: MemberView, now_us: int) -> list[tuple[int, int, str]]:
    lane = member.activity
    result = [
        (span.from_us, lane[index + 1].from_us if index + 1 < len(lane) else now_us + 1, span.phase)
        for index, span in enumerate(lane)
    ]
    polls_expected = member.alive and not member.polling and member.stalled_until_us is None and not member.paused
    if polls_expected and member.last_poll_us != NEVER and now_us - member.last_poll_us > BUSY_US:
        result.append((member.last_poll_us, now_us + 1, "busy"))
    most_us = 1_000 * member.max_poll_interval_ms // LATE_SHARE
    return [
        (from_us, to_us, "late" if phase == "busy" and to_us - from_us > most_us else phase)
        for from_us, to_us, phase in result
    ]


def _runs(cells: list[str]) -> Line:
    """Merge equal neighbours into one span; a long span holds the word of its phase."""
    result: list[Span] = []
    for start, end, phase in runs_of_signs(cells):
        glyph, tone, word, _ = PHASES[phase]
        size = end - start
        if word and size >= len(word) + 5:
            before = size - len(word) - 4
            result += [(glyph * before + " ", tone), (word, tone), (" " + glyph * 2, tone)]
        else:
            result.append((glyph * size, tone))
    return tuple(result)


def heartbeat_lane(member: MemberView, beats: Sequence[Heartbeat], now_us: int, width: int) -> Line:
    """The heartbeat thread: a mark in each cell with an answered heartbeat, `↻` for REBALANCE_IN_PROGRESS."""
    first_us, cell_us = window(now_us, width)
    silent = max(0, min(width, (_silent_from(member, now_us) - first_us) // cell_us))
    cells: list[Span] = [(" ", OK)] * silent + [("‖", WARN)] * (width - silent)
    for beat in reversed(beats):
        if beat.at_us < first_us:
            break
        index = (beat.at_us - first_us) // cell_us
        if index < width:
            cells[index] = _heartbeat_mark(beat)
    return merged(cells)


def _silent_from(member: MemberView, now_us: int) -> int:
    """The instant from which the heartbeat thread sends nothing; after now while it sends."""
    if member.alive and (member.paused or member.heartbeats_paused) and member.last_heartbeat_us != NEVER:
        return member.last_heartbeat_us + member.heartbeat_interval_ms * 1_000
    return now_us + SECOND_US * LANE_SECONDS


def _heartbeat_mark(beat: Heartbeat) -> Span:
    if beat.error == "NONE":
        return "•", OK
    if beat.error == "REBALANCE_IN_PROGRESS":
        return "↻", MOVING
    return "✖", ERROR
