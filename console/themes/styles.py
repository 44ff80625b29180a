"""The styles of tones in a theme. For a tone that a theme lacks (Textual's own themes can be chosen too) the nearest of
Textual's colours is used.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from console.presenters.styled_text import (
    ACCENT,
    BANNER,
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    OK,
    PLAIN,
    STRONG,
    TONES,
    WARN,
)
from console.themes.names import MONO, TERMINAL

_ATTRIBUTES: dict[str, Style] = {
    STRONG: Style(bold=True),
    WARN: Style(bold=True),
    ERROR: Style(bold=True),
    ACCENT: Style(bold=False),
}
_MONO_ATTRIBUTES: dict[str, Style] = {
    STRONG: Style(bold=True),
    WARN: Style(bold=True),
    ERROR: Style(bold=True, underline=True),  # in reverse a message that is refused is a band across the screen
    MOVING: Style(underline=True),
    ACCENT: Style(bold=True),
}
_TERMINAL_ATTRIBUTES: dict[str, Style] = {
    STRONG: Style(bold=True),
    MUTED: Style(dim=True),
    FAINT: Style(dim=True),
    WARN: Style(bold=False),
    ERROR: Style(bold=True),
    ACCENT: Style(bold=True),
}
_ATTRIBUTES_OF = {MONO: _MONO_ATTRIBUTES, TERMINAL: _TERMINAL_ATTRIBUTES}
_FEW_COLOURS = Style(underline=True)
"""Added to what moves where there are sixteen colours: the nearest of them to a light violet is that of plain text."""
_FALLBACK = {
    PLAIN: "foreground",
    STRONG: "foreground",
    MUTED: "foreground-darken-2",
    FAINT: "foreground-darken-3",
    OK: "success",
    WARN: "warning",
    ERROR: "error",
    MOVING: "secondary",
    ACCENT: "accent",
}
BLACK, WHITE = Color(0, 0, 0), Color(255, 255, 255)
TEXT_CONTRAST, FAINT_CONTRAST = 4.6, 3.1
"""WCAG asks 4.5 of text (SC 1.4.3), 3 of what is none (1.4.11): rules, dots. A little more, for colours are rounded."""
_HUE_FALLBACK = ("primary", "warning", "success", "secondary", "error", "accent", "foreground", "primary-lighten-2")


class WithoutColours(LineFilter):
    """Leaves the terminal its own colours (NO_COLOR): what a background marks is drawn in reverse, grey text dim."""

    def __init__(self, variables: Callable[[], dict[str, str]]) -> None:
        """Read the current theme's variables anew for each line, because the theme can change."""
        super().__init__()
        self._variables = variables

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """The segments with attributes only."""
        variables = self._variables()
        paper = Color.parse(variables["background"]).rich_color
        quiet = {Color.parse(variables[name]).rich_color for name in _QUIET_INKS if name in variables}
        quiet -= {Color.parse("ansi_default").rich_color}  # the terminal's own ink is loud as well as quiet
        return [
            Segment(text, None if style is None else _without_colours(style, paper, quiet), control)
            for text, style, control in segments
        ]


_QUIET_INKS = (f"tone-{MUTED}", f"tone-{FAINT}")


def _without_colours(style: Style, paper: RichColor, quiet: Collection[RichColor]) -> Style:
    marked = style.bgcolor is not None and not style.bgcolor.is_default and style.bgcolor != paper
    kept = Style(bold=style.bold, italic=style.italic, underline=style.underline, strike=style.strike, meta=style.meta)
    return kept + Style(reverse=marked or style.reverse or None, dim=style.dim or style.color in quiet or None)


class Styles(NamedTuple):
    """The styles of tones: on the background, and on the selected row."""

    paper: dict[str, Style]
    chosen: dict[str, Style]


def styles_of(
    theme: str, variables: dict[str, str], filters: Sequence[LineFilter], *, few_colours: bool = False
) -> Styles:
    """The styles of all tones for a theme's variables, after the app's filters (monochrome for example).

    `few_colours`: the terminal has sixteen.
    """
    attributes = _ATTRIBUTES_OF.get(theme, _ATTRIBUTES)
    if few_colours:
        attributes = {**attributes, MOVING: attributes.get(MOVING, Style()) + _FEW_COLOURS}
    paper = _on(Color.parse(variables["background"]), variables, attributes)
    if theme == TERMINAL:
        chosen = {tone: _in_reverse(tone, style) for tone, style in paper.items()}
    else:
        marked = variables.get("row-chosen") or variables.get("surface-lighten-1") or variables["surface"]
        chosen = _on(Color.parse(marked), variables, attributes, faint=TEXT_CONTRAST)  # what is chosen is read
    background = Color.parse(variables["background"])
    return Styles(
        *({tone: _filtered(style, background, filters) for tone, style in one.items()} for one in (paper, chosen))
    )


def _in_reverse(tone: str, style: Style) -> Style:
    """A tone on the selected row of a theme without backgrounds: one bar of the terminal's ink, open at the cursor."""
    return Style(reverse=tone != BANNER, bold=style.bold, underline=style.underline or tone == ERROR)


def _filtered(style: Style, background: Color, filters: Sequence[LineFilter]) -> Style:
    segments = [Segment("x", style)]
    for line_filter in filters:
        segments = line_filter.apply(segments, background)
    filtered = segments[0].style
    return style if filtered is None else filtered  # a style without colours and attributes is false, too


def _on(
    background: Color, variables: dict[str, str], attributes: Mapping[str, Style], faint: float = FAINT_CONTRAST
) -> dict[str, Style]:
    """`faint`: the least contrast of faint words, rules and dots."""
    least = {FAINT: faint}
    return {
        tone: _style(tone, background, variables, least.get(tone, TEXT_CONTRAST)) + attributes.get(tone, Style())
        for tone in TONES
    }


def _style(tone: str, background: Color, variables: dict[str, str], least: float) -> Style:
    if tone == BANNER:
        ink = Color.parse(variables["background"])
        filled = Color.parse(variables.get(f"tone-{ACCENT}", variables["accent"]))
        if ink.ansi is not None:  # the terminal's paper is no ink to write with
            return Style(color=filled.rich_color, bold=True, reverse=True)
        ink = _legible(ink, filled, max((BLACK, WHITE), key=lambda one: contrast(one, filled)), TEXT_CONTRAST)
        return Style(color=ink.rich_color, bgcolor=filled.rich_color, bold=True)
    fallback = _FALLBACK.get(tone) or _HUE_FALLBACK[int(tone.rpartition("-")[2])]
    ink = Color.parse(variables.get(f"tone-{tone}") or variables.get(fallback) or variables["foreground"])
    if ink.ansi is None and background.ansi is None:  # what the terminal makes of its sixteen is not known
        ink = _legible(ink, background, Color.parse(variables["foreground"]), least)
    return Style(color=ink.rich_color, bgcolor=background.rich_color)


def _legible(ink: Color, background: Color, loud: Color, least: float) -> Color:
    """The ink, as far towards a loud one as it takes to be read on a background."""
    mixed = (ink.blend(loud, step / 20) for step in range(20))
    return next((one for one in mixed if contrast(one, background) >= least), loud)


def contrast(one: Color, other: Color) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2, contrast ratio)."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(of: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4) for part in of.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
