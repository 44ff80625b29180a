"""A widget that shows lines of toned text and repaints only the cells that changed since the last frame."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from console.presenters.styled_text import EMPTY, Line, PlaceLink, fit, is_narrow, length, plain
from console.themes.styles import Styles
from console.visible import in_cells

if TYPE_CHECKING:
    from rich.style import Style

Row = tuple[Line, bool]
"""A line, and whether it is drawn as selected."""

NEAR = 6  # a cursor movement costs about as many bytes as this many cells


class Canvas(Widget):
    """Lines set by `paint`. An unchanged frame costs little and sends nothing to the terminal."""

    class Followed(Message):
        """A link was followed."""

        def __init__(self, link: PlaceLink) -> None:
            super().__init__()
            self.link = link

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._rows: list[Row] = []
        self._painted = 0
        self._strips: dict[int, Strip] = {}
        self._tones: Styles | None = None

    @property
    def tones(self) -> Styles:
        """The styles of tones in the current theme."""
        if self._tones is None:
            self._tones = cast("Styles", self.app.tone_styles)  # type: ignore[attr-defined]
        return self._tones

    @property
    def drawn(self) -> Sequence[Line]:
        """The lines as they are drawn, from the top."""
        return [row for row, _ in self._rows]

    @property
    def chosen_lines(self) -> Sequence[Line]:
        """Those of them that are drawn as selected."""
        return [row for row, is_chosen in self._rows if is_chosen]

    def link_under(self, x: int, y: int) -> PlaceLink | None:
        """Where a cell leads; None if it leads nowhere."""
        if not 0 <= y < len(self._rows):
            return None
        return cast("PlaceLink | None", self.app.link_at(self._rows[y][0], x))  # type: ignore[attr-defined]

    def paint(self, lines: Sequence[Line], chosen: Sequence[int] = ()) -> None:
        """Show these lines from the top; lines at the indexes in `chosen` are drawn as selected."""
        width, height = self.size
        if width != self._painted:
            self._rows, self._painted = [], width
            self._strips.clear()
        rows: list[Row] = [(fit(row, width), place in chosen) for place, row in enumerate(lines[:height])]
        while len(rows) < height:
            rows.append((fit(EMPTY, width), False))
        changed: list[Region] = []
        known = self._rows
        for y, row in enumerate(rows):
            if y >= len(known):
                changed.append(Region(0, y, width, 1))
            elif known[y] != row:
                changed.extend(_differences(known[y], row, y, width))
            else:
                continue
            self._strips.pop(y, None)
        self._rows = rows
        if changed:
            self.refresh(*changed)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region. A canvas has no border or padding, and its styles are already filtered."""
        width = self.size.width  # Textual looks it up in the screen's layout
        strips = [self._line(y, width) for y in crop.line_range]
        first, last = crop.column_span
        return strips if (first, last) == (0, width) else [strip.crop(first, last) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One line of cells; Textual calls this for each line of a region."""
        return self._line(y, self.size.width)

    def _line(self, y: int, width: int) -> Strip:
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != width:
            strip = self._strips[y] = self._strip(y, width)
        return strip

    def _strip(self, y: int, width: int) -> Strip:
        tones = self.tones
        if y >= len(self._rows):
            return Strip([Segment(" " * width, tones.paper["plain"])], width)
        line, is_chosen = self._rows[y]
        looks: dict[str, Style] = tones.chosen if is_chosen else tones.paper
        return Strip([Segment(in_cells(text), looks[tone]) for text, tone in fit(line, width)], width)

    def notify_style_update(self) -> None:
        """The theme changed: every cell has another style."""
        super().notify_style_update()
        self._tones = None
        self._strips.clear()

    def plain_text(self) -> str:
        """The shown lines as plain text, for tests and scripts."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line, _ in self._rows)


class LinkedCanvas(Canvas):
    """A canvas whose links are followed by a click."""

    def on_click(self, event: events.Click) -> None:
        """Follow the link under the mouse."""
        link = self.link_under(event.x, event.y)
        if link is not None:
            self.post_message(self.Followed(link))


def _differences(old: Row, new: Row, y: int, width: int) -> list[Region]:
    """The changed cells of a line as regions; regions closer than `NEAR` cells are merged."""
    before, after = old[0], new[0]
    if old[1] != new[1] or _is_wide(before) or _is_wide(after):
        return [Region(0, y, width, 1)]
    first, x = 0, 0
    last = min(len(before), len(after))
    while first < last and before[first] == after[first]:
        x += len(before[first][0])
        first += 1
    tail = 0
    while tail < last - first and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middles = before[first : len(before) - tail], after[first : len(after) - tail]
    if len(plain(middles[0])) != len(plain(middles[1])):
        return [Region(x, y, width - x, 1)]
    regions: list[Region] = []
    start = end = -1
    for low, high in _changes(*middles):
        if start >= 0 and low - end > NEAR:
            regions.append(Region(x + start, y, end - start, 1))
            start = low
        start = low if start < 0 else start
        end = high
    if start >= 0:
        regions.append(Region(x + start, y, end - start, 1))
    return regions


def _changes(before: Line, after: Line) -> Iterator[tuple[int, int]]:
    """The first and the last cell + 1 of each stretch that differs, of equally long lines of narrow characters."""
    ours, theirs = (iter([span for span in line if span[0]]) for line in (before, after))
    old = new = ""
    old_tone = new_tone = ""
    place = 0
    while True:
        if not old:
            old, old_tone = next(ours, ("", ""))
        if not new:
            new, new_tone = next(theirs, ("", ""))
        size = min(len(old), len(new))
        if not size:
            return
        if old_tone != new_tone:
            yield place, place + size
        elif old[:size] != new[:size]:
            for offset in range(size):
                if old[offset] != new[offset]:
                    yield place + offset, place + offset + 1
        old, new, place = old[size:], new[size:], place + size


def _is_wide(line: Line) -> bool:
    """Whether a line has characters that do not take one cell."""
    text = plain(line)
    return not is_narrow(text) and length(line) != len(text)
