"""A board of panels: side by side or one under the other, folded to their titles where there is no room."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from console.widgets.panel import Panel

ALL_THERE_IS = 200
"""The wish of what only fills the rest."""


class Wish(NamedTuple):
    """How many lines a panel could use, below how many it is better folded to its title, and whether it may fold."""

    most: int
    least: int = 3
    firm: bool = False


class Place(NamedTuple):
    """A panel of a row of the board, and its share of the row's width."""

    panel: str
    share: int = 1


Arrangement = Sequence[Sequence[Place]]


def share_heights(wishes: Sequence[Wish], focused: int, height: int) -> list[int]:
    """Lines for each row of a board `height` lines high.

    Titles for all; up to a third for what may not fold; then what it wants for the focused row, then for the others in
    order. The least of the others is kept back as long as the focused row gets half of the board; of the first of them
    (what belongs closest to it) as long as it gets its own least. A row that would get less stays folded.
    """
    heights = [1] * len(wishes)
    left = height - len(wishes)
    order = sorted(range(len(wishes)), key=lambda index: (not wishes[index].firm, index != focused, index))
    for place, index in enumerate(order):
        wish = wishes[index]
        room = min(left, max(2, height // 3)) if wish.firm else left
        if index == focused:
            room = _room_in_focus(wish, [wishes[other] for other in order[place + 1 :]], left, height // 2)
        given = min(wish.most - 1, room)
        if given + 1 >= min(wish.least, wish.most):
            heights[index] += given
            left -= given
    for index in order:
        given = min(left, wishes[index].most - heights[index])
        if given > 0 and heights[index] > 1:
            heights[index] += given
            left -= given
    return heights


def _room_in_focus(wish: Wish, others: Sequence[Wish], left: int, half: int) -> int:
    """What the focused row may take: half of the board, or what the others do not want, but not their least.

    The last of the others lose theirs first; the first keeps it as long as the focused row gets its own.
    """
    least = min(wish.most, wish.least) - 1
    enough = max(least, min(wish.most - 1, half))
    kept = [min(other.least, other.most) - 1 for other in others]
    while kept and left - sum(kept) < (enough if len(kept) > 1 else least):
        kept.pop()
    wanted = sum((other.most if other.most < ALL_THERE_IS else other.least) - 1 for other in others)
    return min(left - sum(kept), max(enough, left - wanted))


class BoardLayout(Layout):
    """Puts panels where the board's plan says."""

    name = "board"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Place every panel of the plan; the others are left out."""
        del greedy
        assert isinstance(parent, Board)
        places = parent.place(size)
        return [
            WidgetPlacement(places.get(child.id or "", Region()), NULL_OFFSET, Spacing(), child) for child in children
        ]


class Board(Widget):
    """Panels in rows. `arrangement(width)` says which stand side by side; heights follow what they have to show."""

    DEFAULT_CSS = "Board { height: 1fr; }"

    def __init__(self, *panels: Panel) -> None:
        super().__init__(*panels, id="board")
        self.panels = {panel.id or "": panel for panel in panels}
        self.wishes: dict[str, Wish] = {}
        self.arrangement: Arrangement = [[Place(name)] for name in self.panels]
        self.maximized = ""
        self._focused = 0  # the row that had the focus last: it keeps its room while somebody types
        self._placed: dict[str, Region] = {}
        self._board_layout = BoardLayout()

    @property
    def layout(self) -> Layout:
        """The board's own way to place its panels."""
        return self._board_layout

    def wish(self, wishes: dict[str, Wish], arrangement: Arrangement) -> None:
        """Say what the panels could use; a new layout is made only if that changes anything."""
        self.wishes, self.arrangement = wishes, arrangement
        if self.plan(self.size) != self._placed:  # also when the focus has moved
            self.rearrange()

    def rearrange(self) -> None:
        """Place the panels anew."""
        self._clear_arrangement_cache()
        self.refresh(layout=True)

    def place(self, size: Size) -> dict[str, Region]:
        """The plan that is carried out."""
        self._placed = self.plan(size)
        return self._placed

    def plan(self, size: Size) -> dict[str, Region]:
        """Where each panel is for a size of the board."""
        if self.maximized:
            return {self.maximized: Region(0, 0, size.width, size.height)}
        rows = self.arrangement
        wishes = [self._row_wish(row) for row in rows]
        self._focused = next((index for index, row in enumerate(rows) if self._holds_focus(row)), self._focused)
        focused = min(self._focused, len(rows) - 1)
        plan: dict[str, Region] = {}
        y = 0
        for row, height in zip(rows, share_heights(wishes, focused, size.height), strict=True):
            plan.update(_across(row, y, size.width, height))
            y += height
        return plan

    def _row_wish(self, row: Sequence[Place]) -> Wish:
        wishes = [self.wishes.get(place.panel, Wish(3)) for place in row]
        firm = any(wish.firm for wish in wishes)
        return Wish(max(wish.most for wish in wishes), max(wish.least for wish in wishes), firm)

    def _holds_focus(self, row: Sequence[Place]) -> bool:
        return any(self.panels[place.panel].has_focus for place in row)


def _across(row: Sequence[Place], y: int, width: int, height: int) -> dict[str, Region]:
    total = sum(place.share for place in row)
    x = used = 0
    plan = {}
    for place in row:
        used += place.share
        end = width * used // total
        plan[place.panel] = Region(x, y, end - x, height)
        x = end
    return plan
