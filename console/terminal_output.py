"""The terminal. Its input is heard at once; to it go the changed cells, with the colours that differ from those before.

Textual draws changed regions from the left edge of their widget and resets every run of text. At ten frames a second
that is most of the output. This module writes the same cells in about a fifth of the bytes (measured at 120×40, ×1:
3 kB/s instead of 42). It reads Textual's private update (`textual._compositor`); updates of other types pass unchanged.
It also replaces control characters in the text of cells, as the last step before the terminal.

Textual's private names are used here, and in `stacked_screens`, `overlays` and `flight_screen`: check those four for a
new Textual.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.color import Color, ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.filter import LineFilter, Monochrome
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer, TimerCallback
from textual.widget import Widget

from console.visible import in_cells

RESET = "\x1b[0m"
_CODES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "blink": "5", "reverse": "7", "strike": "9"}
_DEFAULT = Style()
_divide_and_keep = Strip.divide
HEARD = events.Key | events.MouseDown | events.MouseScrollDown | events.MouseScrollUp


def size_of_terminal() -> tuple[int, int]:
    """Columns and lines as Textual's driver will find them; 80×24 if the terminal has no size.

    Rich, which Textual asks first, returns 80×25 there. With two sizes Textual alternates between two layouts for ever.
    """
    columns, lines = shutil.get_terminal_size()
    return columns, lines


def adapt(app: App[None]) -> None:
    """What a new application of Textual needs before it runs."""
    draw_changes_only(app)
    divide_without_cycles()
    lose_no_timer(app)


def lose_no_timer(app: App[None]) -> None:
    """Have the application's timers that fire once fire in any case.

    Textual skips the ticks of a timer that it comes to late, the only one of these too: when the flight's thread holds
    Python's lock as the timer starts. By such a timer of 8 ms the screens hear of the terminal's new size.
    """
    set_timer = app.set_timer

    def set_and_keep(delay: float, callback: TimerCallback | None = None, **options: Any) -> Timer:  # noqa: ANN401
        timer = set_timer(delay, callback, **options)
        timer._skip = False
        return timer

    app.set_timer = set_and_keep  # type: ignore[method-assign]


def draw_changes_only(app: App[None]) -> None:
    """Have an application write its updates through `tight_update`."""
    display = app._display

    def display_tightly(screen: Screen[object], renderable: RenderableType | None) -> None:
        display(screen, tight_update(renderable))

    app._display = display_tightly  # type: ignore[method-assign]


def divide_without_cycles() -> None:
    """Have Textual's lines that are drawn whole die when their last user does.

    `Strip.divide` keeps its result, and that of an undivided line holds the line itself. Each drawn line then waited
    for the garbage collector, whose pauses took longer than half a frame.
    """
    Strip.divide = _divide  # type: ignore[method-assign,assignment]


def _divide(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    inside = [cut for cut in cuts if cut <= strip.cell_length]
    return [strip] if inside == [strip.cell_length] else _divide_and_keep(strip, inside)


def hear_input(app: App[None], heard: Callable[[], None]) -> None:
    """Call `heard`, on the driver's thread, for each key and click before the application has its turn with it."""
    driver = app._driver
    if driver is None:
        return
    send = driver.send_message

    def hear(message: Message) -> None:
        if isinstance(message, HEARD):
            heard()
        send(message)

    driver.send_message = hear  # type: ignore[method-assign]


def filter_colours(app: App[None], colours: LineFilter) -> None:
    """Use a filter of colours in place of the one that Textual has for NO_COLOR, which writes greys."""
    app._filters = [one for one in app._filters if not isinstance(one, Monochrome)] + [colours]


def terminal_attributes(app: App[None]) -> list[Any] | None:
    """The terminal's `termios` attributes from before the application; None without a terminal."""
    return getattr(app._driver, "attrs_before", None)


def remapped_keys(app: App[None]) -> dict[str, str]:
    """The keys that the user's keymap sets, by the binding's id."""
    return {binding_id: keys for binding_id, keys in app._keymap.items() if keys}


def clear_arrangement(widget: Widget) -> None:
    """Drop a widget's cached layout, so that the next refresh arranges its children again."""
    widget._clear_arrangement_cache()


def tight_update(drawn: RenderableType | None) -> RenderableType | None:
    """Textual's update in the form that the terminal gets."""
    if type(drawn) is ChopsUpdate:
        return TightUpdate(drawn)
    if type(drawn) is LayoutUpdate:
        return LayoutUpdate([[_clean(strip) for strip in line] for line in drawn.strips], drawn.region)
    return drawn


def _clean(strip: Strip) -> Strip:
    if all(segment.control or segment.text.isprintable() for segment in strip):
        return strip
    return Strip([Segment(in_cells(text), style, control) for text, style, control in strip])


class TightUpdate(CompositorUpdate):
    """A partial update of the screen in few bytes."""

    def __init__(self, update: ChopsUpdate) -> None:
        self._update = update

    def __rich_console__(self, console: Console, options: object) -> Iterator[Segment]:
        """Unused: Textual calls `render_segments` of compositor updates."""
        raise NotImplementedError

    def render_segments(self, console: Console) -> str:
        """The escape sequences and text for every span of the update."""
        pen = Pen(console._color_system or ColorSystem.TRUECOLOR)
        chops, ends = self._update.chops, self._update.chop_ends
        for y, first, last in self._update.spans:
            for end, (start, strip) in zip(ends[y], chops[y].items(), strict=False):
                low, high = max(start, first), min(end, last)
                if strip is None or low >= high:
                    continue
                pen.move(low, y)
                pen.write(strip.crop(low - start, high - start))
        return pen.finish()


class Pen:
    """Collects output and remembers the current colours."""

    def __init__(self, colors: ColorSystem) -> None:
        self._colors = colors
        self._parts: list[str] = []
        self._style: Style | None = None

    def move(self, x: int, y: int) -> None:
        """Move the cursor to a cell."""
        self._parts.append(f"\x1b[{y + 1};{x + 1}H")

    def write(self, segments: Iterable[Segment]) -> None:
        """Write text in its styles; blanks keep the current foreground if the background is the same."""
        for text, style, control in segments:
            if control:
                continue
            if style is not self._style:
                self._change(style or _DEFAULT, blank=not text.strip(" "))
            self._parts.append(in_cells(text))

    def _change(self, style: Style, *, blank: bool) -> None:
        before = self._style
        if before is not None and blank and style.bgcolor == before.bgcolor and _plain(style) and _plain(before):
            return
        codes: list[str] = []
        if before is None or _attributes(before) != _attributes(style) or _loses_colour(before, style):
            codes = ["0", *_attributes(style)]
            before = None
        if style.color is not None and (before is None or before.color != style.color):
            codes += self._codes(style.color, foreground=True)
        if style.bgcolor is not None and (before is None or before.bgcolor != style.bgcolor):
            codes += self._codes(style.bgcolor, foreground=False)
        if codes:
            self._parts.append(f"\x1b[{';'.join(codes)}m")
        self._style = style

    def _codes(self, color: Color, *, foreground: bool) -> Sequence[str]:
        return color.downgrade(self._colors).get_ansi_codes(foreground)

    def finish(self) -> str:
        """The whole output, with a reset of the colours at its end."""
        return "".join((*self._parts, RESET))


def _attributes(style: Style) -> tuple[str, ...]:
    return tuple(code for name, code in _CODES.items() if getattr(style, name))


def _plain(style: Style) -> bool:
    """Whether blanks in this style show only their background."""
    return not (style.underline or style.reverse or style.strike)


def _loses_colour(before: Style, after: Style) -> bool:
    return (before.color is not None and after.color is None) or (before.bgcolor is not None and after.bgcolor is None)
