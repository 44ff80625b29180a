"""The groups that logs tell of, the instant of the clock in their own dates, and the header's words."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cluster.view.logged.state import LoggedGroup, LoggedRebalance, LogsView
from console.presenters import states
from console.presenters.formatting import duration
from console.presenters.list_view import RowValue, WorstFirstListing, counted_states
from console.presenters.styled_text import FAINT, MOVING, MUTED, PLAIN, STRONG, Line, Span, joined, line, middle
from console.presenters.table import TableColumn, layout

UNKNOWN = "unknown"
NOT_LOGGED: Span = (UNKNOWN, FAINT)
LATEST_DATE_US = 32_503_680_000_000_000  # the year 3000
MOVING_STATES = {"PreparingRebalance", "CompletingRebalance"}

COLUMNS = (
    TableColumn("group", 10, grow=2, most=40),
    TableColumn("protocol", 8, rank=4),
    TableColumn("state", 21),
    TableColumn("gen/epoch", 9, right=True, rank=1),
    TableColumn("members", 7, right=True, rank=2),
    TableColumn("lag", 7, right=True, rank=3),
    TableColumn("coordinator", 11, rank=5),
    TableColumn("rebalances", 10, right=True, rank=1),
    TableColumn("last rebalance", 27, grow=6),
)


def number_words(number: int | None) -> Line:
    """A number, or `unknown`."""
    return line(NOT_LOGGED) if number is None else line(f"{number:,}")


def cause_words(one: LoggedRebalance) -> str:
    """`session expired (orders-2)`; `unknown` for a cause that no line tells."""
    return f"{one.cause or UNKNOWN} ({one.trigger})" if one.trigger else one.cause or UNKNOWN


def took_words(one: LoggedRebalance, now_us: int) -> str:
    """How long it took; until now, while the logs go on with it; `unknown` where no line has its end."""
    if one.took_us is not None:
        return duration(one.took_us)
    return f"{duration(now_us - one.began_us)} so far" if not one.over else UNKNOWN


def state_line(group: LoggedGroup) -> Line:
    """A group's state with its glyph."""
    if group.state is None:
        return line(NOT_LOGGED)
    state = states.group(group.state)
    return line((f"{state.glyph} {group.state}", state.tone))


def date_words(logs: LogsView, at_us: int) -> str:
    """An instant of the recording as the logs date it, `2026-11-27 05:10:11.123`; empty for logs without dates."""
    if not 0 <= logs.began_us + at_us < LATEST_DATE_US or logs.began_us < 0:
        return ""
    instant = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=logs.began_us + at_us)
    return instant.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def date_line(logs: LogsView, at_us: int) -> Line:
    """The clock's instant in the logs' dates; a date in a log has no zone."""
    words = date_words(logs, at_us)
    return line(("the logs say ", MUTED), (words, STRONG)) if words else line(("the logs have no dates", MUTED))


def health(logs: LogsView, detail: int) -> Line:
    """The header's words: groups by their state; lag is in no log."""
    groups = logs.groups.values()
    moving = sum(1 for one in groups if one.state in MOVING_STATES)
    parts = [line(("groups " if detail >= 2 else "", MUTED), f"{len(groups)}")]
    if moving:
        parts.append(line((f"{moving} ↻", MOVING)))
    if detail:
        parts.append(line(("lag ", MUTED), NOT_LOGGED))
    return joined(parts, ("   " if detail >= 3 else "  ", PLAIN))


class LoggedGroupsListing(WorstFirstListing):
    """Every group that a line so far names; those that rebalance first."""

    title = "groups"
    vacant = line(("no line so far names a group", MUTED))

    def __init__(self, logs: LogsView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.logs, self.now_us = logs, now_us
        self.layout = layout(COLUMNS, width)
        self.order(list(logs.groups))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def note(self) -> Line:
        """What is in no line."""
        return line(("lag and offsets are in no line", FAINT)) if self.width >= 80 else ()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`3 ● Stable`."""
        names = [self.logs.groups[key].state for key in keys]
        return line(
            (counted_states([f"{states.group(one).glyph} {one}" if one else f"? {UNKNOWN}" for one in names]), MUTED)
        )

    def sortable(self) -> dict[str, RowValue]:
        """By what lines tell."""
        groups = self.logs.groups
        return {
            "rebalances": lambda key: groups[key].counted if groups[key].protocol is not None else None,
            "members": lambda key: len(groups[key].members) if groups[key].complete else None,
            "gen/epoch": lambda key: groups[key].generation,
            "group": str,
            "state": lambda key: groups[key].state,
        }

    def rank(self, key: str) -> int | None:
        """A group that rebalances."""
        return 0 if self.logs.groups[key].under_way is not None else None

    def rows(self, key: str) -> tuple[Line]:
        """One group."""
        group = self.logs.groups[key]
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((group.protocol or UNKNOWN, MUTED)),
            state_line(group),
            number_words(group.generation),
            number_words(len(group.members) if group.complete else None),
            line(NOT_LOGGED),
            line(NOT_LOGGED) if group.coordinator is None else f"broker-{group.coordinator}",
            number_words(group.counted if group.protocol is not None else None),
            self._last(group),
        ]
        return (self.layout.row(cells),)

    def _last(self, group: LoggedGroup) -> Line:
        if not group.rebalances:
            return line(("none in the lines so far", FAINT)) if group.protocol is not None else line(NOT_LOGGED)
        one = group.rebalances[-1]
        tone = MOVING if not one.over else MUTED
        words = f"{cause_words(one)} · {took_words(one, self.now_us)}"
        return line(("↻ " if not one.over else "", tone), (words, tone))
