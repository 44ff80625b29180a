"""Screens that lie on one another, so that a frame costs no more with an overlay than without.

Textual draws the whole screen below a translucent one again, cell by cell, whenever anything in it changes, and marks
it as changed by that, so that it is drawn again at once, and for ever. Here a line that changes below is dimmed anew,
and no other.
"""

from functools import lru_cache
from typing import Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen
from textual.strip import Strip

Result = TypeVar("Result")


class StackedScreen(Screen[Result], Generic[Result]):
    """A screen over which others may open. It tells them which regions of it have changed."""

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


class DimmingScreen(StackedScreen[Result], ModalScreen[Result], Generic[Result]):
    """A modal screen with a translucent background: the screen below it, dimmed line by line."""

    def __init__(self) -> None:
        super().__init__()
        self._below: dict[int, Strip] = {}

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region; those of the screen below are composed once, if any of them is dimmed anew."""
        self._crop = crop
        self._below.clear()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A line of the screen below, dimmed."""
        stack, colour = self.app.screen_stack, self.styles.background
        place = stack.index(self) if self in stack else 0
        if place == 0 or colour.a >= 1:
            return super().render_line(y)
        if not self._below:
            self._below = _lines_of(stack[place - 1], self._crop)
        below = self._below.get(y)
        return super().render_line(y) if below is None else _dimmed(below, colour)


def _lines_of(screen: Screen[object], crop: Region) -> dict[int, Strip]:
    """The lines of a screen in a region, by their places."""
    rows = range(crop.y, min(crop.bottom, screen.size.height))
    chops = screen._compositor._render_chops(Region(0, crop.y, screen.size.width, len(rows)), rows.__contains__)
    return {y: Strip.join(chops[y].values()) for y in rows}


def _dimmed(strip: Strip, colour: Color) -> Strip:
    return Strip(
        [Segment(text, _dimmed_style(style or Style.null(), colour), control) for text, style, control in strip],
        strip.cell_length,
    )


@lru_cache(maxsize=8_192)
def _dimmed_style(style: Style, colour: Color) -> Style:
    """A style as Textual dims it: its colours below the translucent one, without links."""
    [segment] = BackgroundScreen.process_segments([Segment("", style)], colour)
    return segment.style or Style.null()
