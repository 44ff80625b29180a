"""Tables with columns of a fixed position; a narrow terminal drops whole columns and wraps none."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from console.presenters.styled_text import EMPTY, MUTED, PLAIN, Line, Span, cut, length, linked

GAP = 2
BEFORE_NAMES = 5  # columns from this rank on go before a name is cut
BLANKS = " " * 500


class TableColumn(NamedTuple):
    """A column: rank 0 is never dropped, the highest `rank` first; `grow` is its share of the remaining width.

    `right` aligns numbers under each other. `most` bounds a growing column. `longest`: the length of its longest value,
    which gets its cells before any column grows.
    """

    title: str
    width: int
    rank: int = 0
    right: bool = False
    grow: int = 0
    most: int = 1_000
    longest: int = 0


class Layout:
    """The columns shown in a width, and the width of each. A row gets all its cells and shows these.

    `margin` cells stay free on the left, for the sign of the selection, and one on the right.
    """

    def __init__(self, columns: Sequence[TableColumn], width: int, margin: int = 2) -> None:
        self.columns, self.width, self.margin = columns, width, margin
        shown = list(range(len(columns)))
        while len(shown) > 1 and self._needed(shown) > width:
            worst = max(shown, key=lambda index: (columns[index].rank, index))
            if columns[worst].rank == 0:
                break
            shown.remove(worst)
        while shown and columns[worst := max(shown, key=lambda at: (columns[at].rank, at))].rank >= BEFORE_NAMES:
            if self._needed(shown) + self._lacking(shown) <= width:
                break
            shown.remove(worst)
        self.shown = shown
        self.widths = self._grown(width - self._needed(shown))

    def _needed(self, shown: Sequence[int]) -> int:
        return self.margin + 1 + sum(self.columns[index].width for index in shown) + GAP * (len(shown) - 1)

    def _lacking(self, shown: Sequence[int]) -> int:
        """The cells that the longest names need beside their columns' widths."""
        return sum(max(0, self.columns[index].longest - self.columns[index].width) for index in shown)

    def _grown(self, left: int) -> dict[int, int]:
        widths = {index: self.columns[index].width for index in self.shown}
        for index in self.shown:
            wanted = max(0, min(left, self.columns[index].longest - widths[index]))
            widths[index] += wanted
            left -= wanted
        growing = [index for index in self.shown if self.columns[index].grow]
        while left > 0 and growing:
            total = sum(self.columns[index].grow for index in growing)
            given = 0
            for index in growing:
                column = self.columns[index]
                share = min(max(1, left * column.grow // total), max(0, column.most - widths[index]), left - given)
                widths[index] += share
                given += share
            left -= given
            growing = [index for index in growing if widths[index] < self.columns[index].most]
            if not given:
                break
        return widths

    def width_of(self, index: int) -> int:
        """The width of a column, 0 when it is dropped."""
        return self.widths.get(index, 0)

    def place_of(self, index: int) -> int:
        """The first cell of a column."""
        before = [other for other in self.shown if other < index]
        return self.margin + sum(self.widths[other] + GAP for other in before)

    def header(self) -> Line:
        """The columns' titles."""
        return self.row([((linked(column.title, "column", column.title), MUTED),) for column in self.columns])

    def row(self, cells: Sequence[Line | Span | str]) -> Line:
        """The shown cells, each in its column; blanks between them are one span."""
        result: list[Span] = []
        blank = self.margin
        for index in self.shown:
            width = self.widths[index]
            cell = _line(cells[index])
            missing = width - length(cell)
            if missing < 0:
                cell, missing = cut(cell, width), 0
            if self.columns[index].right:
                blank, missing = blank + missing, 0
            if blank and cell:
                result.append((BLANKS[:blank], PLAIN))
                blank = 0
            result.extend(cell)
            blank += missing + GAP
        used = length(result)
        result.append((" " * max(0, self.width - used), PLAIN))
        return tuple(result) if used <= self.width else cut(tuple(result), self.width)


def _line(cell: Line | Span | str) -> Line:
    if isinstance(cell, str):
        return ((cell, PLAIN),) if cell else EMPTY
    if cell and isinstance(cell[0], str):
        return (cell,)
    return cell


def for_names(columns: tuple[TableColumn, ...], names: Iterable[str], place: int = 0) -> tuple[TableColumn, ...]:
    """The columns, the one at a place with room for the longest of its names."""
    longest = max(map(len, names), default=0)
    return (*columns[:place], columns[place]._replace(longest=longest), *columns[place + 1 :])


@lru_cache(maxsize=256)
def layout(columns: tuple[TableColumn, ...], width: int) -> Layout:
    """The layout of columns in a width, computed once for each pair."""
    return Layout(columns, width)
