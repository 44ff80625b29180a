"""What goes to the terminal: only the cells that changed, with only the colours that differ from the ones before.

Textual draws changed regions from the left edge of their widget on and resets every run of text; at ten frames a second
that is most of what is sent. This writes the same cells in about a fifth of the bytes (measured at 120×40, ×1: 3 kB/s
instead of 42). It reads Textual's own update (`textual._compositor`, not public); whatever is not the update that it
knows is left to Textual. It is also the last to see what leaves: no text of a cell is a control character.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence

from rich.color import Color, ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

from console.visible import in_cells

RESET = "\x1b[0m"
_CODES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "blink": "5", "reverse": "7", "strike": "9"}
_DEFAULT = Style()


def size_of_terminal() -> tuple[int, int]:
    """Columns and lines as Textual's driver will find them; 80×24 where the terminal has none.

    Rich, which Textual asks first, would say 80×25 there. Of two sizes Textual lays out one after the other, for ever.
    """
    columns, lines = shutil.get_terminal_size()
    return columns, lines


def leaving(drawn: RenderableType | None) -> RenderableType | None:
    """What Textual drew, as it goes to the terminal."""
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
    """A partial update of the screen, written as tightly as it goes."""

    def __init__(self, update: ChopsUpdate) -> None:
        self._update = update

    def __rich_console__(self, console: Console, options: object) -> Iterator[Segment]:
        """Not used: Textual asks compositor updates for their sequences."""
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
    """Collects output and remembers the colours in force."""

    def __init__(self, colors: ColorSystem) -> None:
        self._colors = colors
        self._parts: list[str] = []
        self._style: Style | None = None

    def move(self, x: int, y: int) -> None:
        """Go on at a cell."""
        self._parts.append(f"\x1b[{y + 1};{x + 1}H")

    def write(self, segments: Iterable[Segment]) -> None:
        """Text in its styles; blanks keep whatever ink is in force if the paper is theirs."""
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
        """Everything, with the terminal's own colours at the end."""
        return "".join((*self._parts, RESET))


def _attributes(style: Style) -> tuple[str, ...]:
    return tuple(code for name, code in _CODES.items() if getattr(style, name))


def _plain(style: Style) -> bool:
    """Whether blanks in this style show nothing but their paper."""
    return not (style.underline or style.reverse or style.strike)


def _loses_colour(before: Style, after: Style) -> bool:
    return (before.color is not None and after.color is None) or (before.bgcolor is not None and after.bgcolor is None)
