"""A board of panels in rows; panels without room are folded to their titles."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from console.terminal_output import clear_arrangement
from console.widgets.panel import Panel

ALL_THERE_IS = 200
"""The size hint of a panel that takes the remaining lines."""


class SizeHint(NamedTuple):
    """A panel's height in lines: `most` shows everything, below `least` it is folded, if it is not `firm`.

    `exceptions`: the lines of rows that need attention, which it gets before all else.
    """

    most: int
    least: int = 3
    firm: bool = False
    exceptions: int = 0


class PanelSlot(NamedTuple):
    """A panel in a row of the board, and its share of the row's width."""

    panel: str
    share: int = 1


Arrangement = Sequence[Sequence[PanelSlot]]


def share_heights(size_hints: Sequence[SizeHint], focused: int, height: int) -> list[int]:
    """Divide a board of `height` lines among its rows.

    Each row gets its title line, and then the lines of its exceptions, one in turn. Firm rows get up to a third of the
    board. The focused row then gets what it can use, and the other rows follow in order. The least heights of the other
    rows are reserved while the focused row gets half of the board. The first of them keeps its least height even then,
    while the focused row gets its own. A row that would get less than its least height stays folded, unless no other
    row can use the lines.
    """
    first = _for_exceptions(size_hints, height - len(size_hints))
    rest = [
        size_hint._replace(most=size_hint.most - given, least=max(1, size_hint.least - given))
        for size_hint, given in zip(size_hints, first, strict=True)
    ]
    heights = _share_rest(rest, focused, height - sum(first))
    return [sum(pair) for pair in zip(first, heights, strict=True)]


def _for_exceptions(size_hints: Sequence[SizeHint], left: int) -> list[int]:
    """The lines of exceptions that each row gets: one each in turn, while there are any left."""
    given = [0] * len(size_hints)
    wanted = [min(size_hint.exceptions, size_hint.most - 1) for size_hint in size_hints]
    while left > 0 and any(got < asked for got, asked in zip(given, wanted, strict=True)):
        for index, asked in enumerate(wanted):
            if given[index] < asked and left > 0:
                given[index] += 1
                left -= 1
    return given


def _share_rest(size_hints: Sequence[SizeHint], focused: int, height: int) -> list[int]:
    heights = [1] * len(size_hints)
    left = height - len(size_hints)
    order = sorted(range(len(size_hints)), key=lambda index: (not size_hints[index].firm, index != focused, index))
    for place, index in enumerate(order):
        size_hint = size_hints[index]
        room = min(left, max(2, height // 3)) if size_hint.firm else left
        if index == focused:
            room = _room_in_focus(size_hint, [size_hints[other] for other in order[place + 1 :]], left, height // 2)
        given = min(size_hint.most - 1, room)
        if given + 1 >= min(size_hint.least, size_hint.most):
            heights[index] += given
            left -= given
    for index in order:
        given = min(left, size_hints[index].most - heights[index])
        if given > 0 and heights[index] > 1:
            heights[index] += given
            left -= given
    for index in order:  # a line that no row needs shows one of a folded row
        given = min(left, size_hints[index].most - heights[index])
        heights[index] += given
        left -= given
    return heights


def _room_in_focus(size_hint: SizeHint, others: Sequence[SizeHint], left: int, half: int) -> int:
    """The lines that the focused row may take: half of the board, or the lines that the other rows cannot use.

    The least heights of the others are reserved. Where they do not fit, the last rows lose theirs first. The first of
    them keeps its own while the focused row gets its least height.
    """
    least = min(size_hint.most, size_hint.least) - 1
    enough = max(least, min(size_hint.most - 1, half))
    kept = [min(other.least, other.most) - 1 for other in others]
    while kept and left - sum(kept) < (enough if len(kept) > 1 else least):
        kept.pop()
    wanted = sum((other.most if other.most < ALL_THERE_IS else other.least) - 1 for other in others)
    return min(left - sum(kept), max(enough, left - wanted))


class BoardLayout(Layout):
    """Places panels by the board's plan."""

    name = "board"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Place every panel of the plan; other panels get an empty region."""
        del greedy
        assert isinstance(parent, Board)
        places = parent.place(size)
        return [
            WidgetPlacement(places.get(child.id or "", Region()), NULL_OFFSET, Spacing(), child) for child in children
        ]


class Board(Widget):
    """Panels in rows. The arrangement lists the panels of each row; heights follow the size hints."""

    DEFAULT_CSS = "Board { height: 1fr; }"

    def __init__(self, *panels: Panel) -> None:
        super().__init__(*panels, id="board")
        self.panels = {panel.id or "": panel for panel in panels}
        self.size_hints: dict[str, SizeHint] = {}
        self.arrangement: Arrangement = [[PanelSlot(name)] for name in self.panels]
        self.maximized = ""
        self.hidden: set[str] = set()
        self._focused = 0  # the row that had the focus last: it keeps its height while the command line has the focus
        self._placed: dict[str, Region] = {}
        self._board_layout = BoardLayout()

    @property
    def layout(self) -> Layout:
        """The layout that places panels by `plan`."""
        return self._board_layout

    def update_layout(self, size_hints: dict[str, SizeHint], arrangement: Arrangement) -> None:
        """Set size hints and arrangement; lay out again only if the plan changes."""
        self.size_hints, self.arrangement = size_hints, arrangement
        if self.plan(self.size) != self._placed:  # the plan also depends on the focus
            self.rearrange()

    def shown(self) -> list[Panel]:
        """The panels that have a place, maximized or not, in their order."""
        placed = {slot.panel for row in self.arrangement for slot in row} - self.hidden
        return [panel for name, panel in self.panels.items() if panel.display and name in placed]

    def rearrange(self) -> None:
        """Lay out the panels again."""
        clear_arrangement(self)
        self.refresh(layout=True)

    def place(self, size: Size) -> dict[str, Region]:
        """Make the plan for a size and keep it as the current one."""
        self._placed = self.plan(size)
        return self._placed

    def plan(self, size: Size) -> dict[str, Region]:
        """The region of each panel for a size of the board."""
        if self.maximized:
            return {self.maximized: Region(0, 0, size.width, size.height)}
        shown = [[slot for slot in row if slot.panel not in self.hidden] for row in self.arrangement]
        rows = [row for row in shown if row] or self.arrangement
        size_hints = [self._row_size_hint(row) for row in rows]
        self._focused = next((index for index, row in enumerate(rows) if self._holds_focus(row)), self._focused)
        focused = min(self._focused, len(rows) - 1)
        plan: dict[str, Region] = {}
        y = 0
        for row, height in zip(rows, share_heights(size_hints, focused, size.height), strict=True):
            plan.update(_across(row, y, size.width, height))
            y += height
        return plan

    def _row_size_hint(self, row: Sequence[PanelSlot]) -> SizeHint:
        size_hints = [self.size_hints.get(place.panel, SizeHint(3)) for place in row]
        firm = any(each.firm for each in size_hints)
        most, least = max(each.most for each in size_hints), max(each.least for each in size_hints)
        exceptions = max(each.exceptions for each in size_hints)
        return SizeHint(most, least, firm, exceptions)

    def _holds_focus(self, row: Sequence[PanelSlot]) -> bool:
        return any(self.panels[place.panel].has_focus for place in row)


def _across(row: Sequence[PanelSlot], y: int, width: int, height: int) -> dict[str, Region]:
    total = sum(place.share for place in row)
    x = used = 0
    plan = {}
    for place in row:
        used += place.share
        end = width * used // total
        plan[place.panel] = Region(x, y, end - x, height)
        x = end
    return plan
