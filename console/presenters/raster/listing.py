"""The raster of a group as a panel: a row for each partition, the barriers above, the cost below."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.view.ownership.history import MOVING as MOVES
from cluster.view.ownership.history import NEVER, OwnershipHistory
from cluster.view.ownership.history import SEVERAL as SHARED
from cluster.view.ownership.history import UNOWNED as NO_OWNER
from cluster.view.state import ClusterView, GroupView
from console.presenters.awaited_members import members_of
from console.presenters.formatting import LEVELS, duration, partition_seconds
from console.presenters.list_view import CONTINUED, Listing
from console.presenters.members import identity
from console.presenters.raster.axis import TimeAxis, bracket_row, edges, ruled_runs, scale, short_clock
from console.presenters.raster.grid import (
    MOVING,
    NO_OWNER_YET,
    SEVERAL,
    UNOWNED,
    RasterGrid,
    RasterRow,
    owner_place,
    raster_grid,
)
from console.presenters.styled_text import (
    BANNER,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    length,
    line,
    merged,
    middle,
)
from console.presenters.styled_text import MOVING as MOVING_TONE

LABELS = (13, 18)
CURSOR = "▼"
LINES_AROUND = 4  # title, times, barriers and cost around the rows of partitions
BARRIERS, COST = f"{CONTINUED}barriers", f"{CONTINUED}cost"
SIGNS: dict[str, Span] = {
    NO_OWNER_YET: ("·", FAINT),
    SEVERAL: ("≡", MUTED),
    MOVING: ("↻", MOVING_TONE),
    UNOWNED: (" ", PLAIN),
}
LEGEND = line(
    ("A", "hue-0"), (" owner  ", MUTED), ("≡", MUTED), (" several  ", MUTED), ("↻", MOVING_TONE), (" moving  ", MUTED),
    ("gap", PLAIN), (" unowned  ", MUTED), ("·", FAINT), (" not owned yet  ", MUTED), ("│ ┊", MUTED),
    (" a barrier opens or closes", MUTED),
)  # fmt: skip


class CellCursor(NamedTuple):
    """The chosen cell: a row's key and an instant."""

    key: str
    at_us: int


def label_width(width: int) -> int:
    """The cells of a row's label, so that rasters and lanes of one width have one axis."""
    return LABELS[1] if width >= 110 else LABELS[0]


def axis_width(width: int) -> int:
    """The cells that the axis of time has in a panel."""
    return max(1, width - 2 - label_width(width) - 1)


def owner_signs(view: ClusterView, group: GroupView) -> dict[int, Span]:
    """The letter and hue of each owner in the history, as the table of members has them."""
    places = {member.member: place for place, member in enumerate(members_of(view, group.group))}
    return {
        number: identity(places[name]) if name in places else ("?", MUTED)
        for number, name in enumerate(group.history.owners)
    }


class CellListing(Listing):
    """The chosen cell in words, and below it what else there is to say: the legend."""

    title = "cell"

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        super().__init__(width)
        self.lines = [line("  ", *words) for words in lines]

    def row_keys(self) -> list[str]:
        """Lines that cannot be selected."""
        return [f"{CONTINUED}{number}" for number in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One of the lines."""
        return (fit(self.lines[int(key[1:])], self.width),)


class RasterListing(Listing):
    """Partitions down, time across; `cursor` marks a cell, `room` bounds the number of rows.

    `grid`: of the frame before, which is used again while it holds. `most_us`: what the full height of the cost is, if
    that is not this group's own.
    """

    vacant = line(("the group reads no topic", MUTED))

    def __init__(
        self,
        view: ClusterView,
        group: GroupView,
        axis: TimeAxis,
        width: int,
        *,
        room: int,
        grid: RasterGrid | None = None,
        most_us: int = 0,
    ) -> None:
        super().__init__(width)
        self.view, self.group, self.axis, self.most_us = view, group, axis, most_us
        self.cursor: CellCursor | None = None
        self.title = f"{group.group}: ownership over time"
        self.label = label_width(width)
        self.grid = raster_grid(view, group, axis, room, grid)
        self.signs = owner_signs(view, group)
        self.rules = edges(axis, group.history.barriers)

    def note(self) -> Line:
        """The number of partitions, and the time without an owner."""
        unowned = len(self.group.unowned_since_us)
        cost = partition_seconds(self.group.history.unowned_us(self.axis.now_us))
        shared = f", {self.grid.size} a row" if self.grid.size > 1 else ""
        now: Line = line((f"{unowned} unowned now  ", WARN)) if unowned else ()
        noun = "partition" if self.grid.count == 1 else "partitions"
        return (*now, (f"{cost} partition-seconds unowned  {self.grid.count} {noun}{shared}", MUTED))

    def header(self) -> Line:
        """The times, with the cursor's column."""
        text = scale(self.axis)
        column = self.axis.column(self.cursor.at_us) if self.cursor is not None else -1
        spans: Line = line((text, FAINT))
        if 0 <= column < len(text):
            before, after = _beside(text, column)
            spans = line((before, FAINT), (CURSOR, STRONG), (after, FAINT))
        return fit(line(" " * (2 + self.label), *spans), self.width)

    def row_keys(self) -> list[str]:
        """The barriers, the rows, the cost."""
        return [BARRIERS, *self.grid.rows, COST] if self.grid.rows else []

    def matches(self, key: str, pattern: str) -> bool:
        """Barriers and cost belong to every filtered list."""
        return CONTINUED in key or super().matches(key, pattern)

    def rows(self, key: str) -> tuple[Line]:
        """One line of cells after its label."""
        if key == BARRIERS:
            return (self._labelled("barriers", MUTED, bracket_row(self.axis, self.group.history.barriers)),)
        if key == COST:
            return (self._labelled("unowned", MUTED, cost_row(self.axis, self.group.history, self.most_us)),)
        return (self._labelled(key, PLAIN, self.cells(self.grid.rows[key])),)

    def _labelled(self, label: str, tone: str, cells: Line) -> Line:
        name = middle(label, self.label - 1).ljust(self.label)
        now: Line = (("▏", FAINT),) if length(cells) == self.axis.known < self.axis.width else ()
        return fit(line("  ", (name, tone), *cells, *now), self.width)

    def cells(self, row: RasterRow) -> Line:
        """The row's signs, with the rules of barriers and the cursor."""
        chosen = -1
        if self.cursor is not None and self.cursor.key == row.key:
            chosen = self.axis.column(self.cursor.at_us)
        spans: list[Span] = []
        for start, end, sign, is_ruled in ruled_runs(row.cells, self.rules):
            text, tone = self._rule(row.cells, start) if is_ruled else self._sign(sign)
            if not start <= chosen < end:
                spans.append((text * (end - start), tone))
                continue
            spans += ((text * (chosen - start), tone), (text, BANNER), (text * (end - chosen - 1), tone))
        return merged(spans)

    def _sign(self, sign: str) -> Span:
        owner = owner_place(sign)
        return SIGNS[sign] if owner < 0 else self.signs[owner]

    def _rule(self, cells: str, column: int) -> Span:
        """The sign of a ruled cell: it keeps the owner's hue, and an unowned cell stays distinct from an owned one."""
        sign = cells[column]
        if sign == UNOWNED:
            return "┊", FAINT
        text, tone = self._sign(sign)
        is_alone = sign not in {cells[column - 1 : column], cells[column + 1 : column + 2]}
        return (text, tone) if owner_place(sign) < 0 or is_alone else ("│", tone)


def cost_row(axis: TimeAxis, history: OwnershipHistory, most_us: int = 0) -> Line:
    """The partition-seconds without an owner as they add up, as a share of `most_us` or of their own final sum."""
    total_us = most_us or history.unowned_us(axis.now_us)
    spans: list[Span] = []
    for column in range(axis.known):
        so_far_us = history.unowned_us(min(axis.start_of(column + 1), axis.now_us))
        level = -(-so_far_us * 8 // total_us) if total_us else 0
        spans.append((LEVELS[level - 1], MUTED) if level else (" ", PLAIN))
    return merged(spans)


def cell_words(group: GroupView, row: RasterRow, axis: TimeAxis, at_us: int) -> Line:
    """What a cell shows: `orders-7 · 1:12.3–1:14.0 unowned, before it billing-3 · generation 4`."""
    history = group.history
    column = axis.column(at_us)
    if not 0 <= column < len(row.cells):
        return line((f"{row.key} · {short_clock(axis.start_of(column))}: after now", MUTED))
    from_us, to_us = axis.start_of(column), min(axis.start_of(column + 1), axis.now_us + 1)
    worst: tuple[int, int, str, int, int] | None = None
    for name in row.partitions:
        for code_from_us, code_to_us, code in history.runs_of(name, from_us, to_us):
            length_us = code_to_us - code_from_us
            if worst is None or (code & 3, length_us) > worst[:2]:
                worst = code & 3, length_us, name, code_from_us, code
    if worst is None:
        return line((f"{row.partitions[0]} · not owned yet at {short_clock(from_us)}", MUTED))
    state, _, name, inside_us, code = worst
    starts_us, ends_us = _extent(history, name, inside_us)
    until = short_clock(ends_us) if ends_us != NEVER else "now"
    owner = history.owners[code >> 2]
    words = {
        NO_OWNER: f"unowned, before it {owner}",
        MOVES: f"moving away from {owner}",
        SHARED: f"owned by {owner} and others",
    }.get(state, f"owned by {owner}")
    word = "generation" if group.consumer is None else "epoch"
    rough = f" · times ± {duration(history.cell_us)}" if starts_us < history.exact_from_us else ""
    number = history.generation_at(max(starts_us, from_us))
    return line(
        (name, STRONG),
        (f" · {short_clock(starts_us)}–{until} {words} · {word} {number}{rough}", WARN if state == NO_OWNER else PLAIN),
    )


def _extent(history: OwnershipHistory, partition: str, at_us: int) -> tuple[int, int]:
    """The run of a partition at an instant: its start, and its end or NEVER."""
    runs = history.runs[partition]
    place = max(place for place in range(0, len(runs), 2) if runs[place] <= at_us)
    return runs[place], runs[place + 2] if place + 2 < len(runs) else NEVER


def _beside(text: str, column: int) -> tuple[str, str]:
    """The text before and after a column, without the word that it would cut: half a time is another time."""
    before, after = text[:column], text[column + 1 :]
    if text[column].isspace():
        return before, after
    return before[: before.rfind(" ") + 1].ljust(column), after[len(after.split(" ")[0]) :].rjust(len(after))
