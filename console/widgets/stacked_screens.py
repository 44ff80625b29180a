"""Screens that lie on one another, so that a frame costs no more with an overlay than without.

Textual draws the whole screen below a translucent one again, cell by cell, whenever anything in it changes, and marks
it as changed by that, so that it is drawn again at once, and for ever. Here a line that changes below is dimmed anew,
and no other.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region, Size
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip

Result = TypeVar("Result")


class StackedScreen(Screen[Result], Generic[Result]):
    """A screen over which others may open. It tells them which regions of it have changed."""

    def _screen_resized(self, size: Size) -> None:
        """Textual tells a screen that opens of its size once more after its layout, and all screens below it."""
        if self._compositor.root is not self or self._compositor.size != size:
            super()._screen_resized(size)

    def _compositor_refresh(self) -> None:
        above = self.app.screen_stack[self.app.screen_stack.index(self) + 1 :] if self.is_attached else []
        regions = self._compositor._dirty_regions
        if not above or self.app.is_inline:
            super()._compositor_refresh()
            return
        if regions and self in self.app._background_screens:
            for screen in above[:-1]:
                screen._set_dirty(*regions)
            above[-1].refresh(*regions)
        regions.clear()
        self._dirty_widgets.clear()


class ScreenBelow:
    """What a translucent screen shows of the one below it: its lines, dimmed, each kept until it changes."""

    def __init__(self, above: Screen[Any]) -> None:
        self._above = above
        self._width = 0
        self._lines: dict[int, Strip] = {}

    def forget(self, regions: Collection[Region]) -> None:
        """Regions of the screen changed; without any, all of it."""
        for region in regions:
            for y in region.line_range:
                self._lines.pop(y, None)
        if not regions:
            self._lines.clear()

    def lines(self, crop: Region) -> list[Strip]:
        """The lines of a region; empty if nothing lies below, nothing of it is seen, or it is not yet as high.

        A screen below that has not yet heard of a new size has lines of its old width.
        """
        above = self._above
        stack, colour = above.app.screen_stack, above.styles.background
        place = stack.index(above) if above in stack else 0
        if place == 0 or colour.a >= 1:
            return []
        width = above.outer_size.width  # as it is arranged: its `size` is the terminal's from the first moment on
        if width != self._width:
            self._width = width
            self._lines.clear()
        missing = [y for y in crop.line_range if y not in self._lines]
        if missing:
            paper, filters = above.visual_style.rich_style, above.get_line_filters()
            for y, line in _lines_of(stack[place - 1], missing).items():
                dimmed = _dimmed(line, colour, paper).adjust_cell_length(self._width, paper)
                for each in filters:  # without colours, for one: dimming has mixed some
                    dimmed = dimmed.apply_filter(each, colour)
                self._lines[y] = dimmed
        lines = [self._lines[y] for y in crop.line_range if y in self._lines]
        if len(lines) < crop.height:
            return []
        first, last = crop.column_span
        return lines if (first, last) == (0, self._width) else [line.crop(first, last) for line in lines]


def _lines_of(screen: Screen[Any], places: Sequence[int]) -> dict[int, Strip]:
    """Lines of a screen at ascending places."""
    compositor = screen._compositor
    width, height = compositor.size  # after a resize the screen below may not have been arranged anew yet
    rows = [y for y in places if y < min(height, len(compositor.cuts))]
    if not rows:
        return {}
    chops = compositor._render_chops(Region(0, rows[0], width, rows[-1] + 1 - rows[0]), set(rows).__contains__)
    return {y: Strip.join(chops[y].values()) for y in rows}


def _dimmed(strip: Strip, colour: Color, paper: Style) -> Strip:
    return Strip(
        [Segment(text, _dimmed_style(style or Style.null(), colour, paper), control) for text, style, control in strip],
        strip.cell_length,
    )


@lru_cache(maxsize=8_192)
def _dimmed_style(style: Style, colour: Color, paper: Style) -> Style:
    """A style as Textual dims it: its colours below the translucent one, without links, on the paper of the overlay."""
    [segment] = BackgroundScreen.process_segments([Segment("", style)], colour)
    return paper + segment.style
