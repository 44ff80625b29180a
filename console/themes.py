"""Flightdeck's four palettes. Lightness and the blue–orange axis carry meaning, never red against green.

Each theme gives Textual its colours and, as variables of its own, the tones of `presenters.styled_text`. For a tone
that a theme lacks (Textual's own themes can be chosen too) the nearest of Textual's colours is used.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

from console.presenters.styled_text import (
    ACCENT,
    BANNER,
    ERROR,
    FAINT,
    HUES,
    MOVING,
    MUTED,
    OK,
    PLAIN,
    STRONG,
    TONES,
    WARN,
)

DARK, LIGHT, CONTRAST, MONO = "flightdeck-dark", "flightdeck-light", "flightdeck-contrast", "flightdeck-mono"


class Palette(NamedTuple):
    """A theme's colours: backgrounds, then text from strong to faint, then the colours with a meaning."""

    paper: str
    chosen: str
    strong: str
    plain: str
    muted: str
    faint: str
    ok: str
    warn: str
    error: str
    moving: str
    accent: str
    hues: tuple[str, ...]


_DARK = Palette(
    paper="#0b1016",
    chosen="#1a2735",
    strong="#f4f8fc",
    plain="#c6d2de",
    muted="#8093a6",
    faint="#4d5d6e",
    ok="#4fb9c4",
    warn="#f2ab3c",
    error="#ff6f50",
    moving="#b9a1ff",
    accent="#6cb8ff",
    hues=("#6cc8ff", "#ffc65c", "#63d8bd", "#c6abff", "#ff9a7d", "#cbdc74", "#ff9fd0", "#d9c4a2"),
)
_LIGHT = Palette(
    paper="#fbfaf6",
    chosen="#dfe8f1",
    strong="#0a121b",
    plain="#243140",
    muted="#566778",
    faint="#9aa6b2",
    ok="#00717d",
    warn="#9a5a00",
    error="#c0320f",
    moving="#6a3fc2",
    accent="#0a60c2",
    hues=("#0a66b8", "#946000", "#007a63", "#6a3fc2", "#b8401c", "#5d6b00", "#b0307c", "#6d5836"),
)
_CONTRAST = Palette(
    paper="#000000",
    chosen="#26405c",
    strong="#ffffff",
    plain="#ffffff",
    muted="#d2d9e0",
    faint="#9aa4ae",
    ok="#5ef0ff",
    warn="#ffd21f",
    error="#ff8a70",
    moving="#dcbcff",
    accent="#8fd0ff",
    hues=("#8fd8ff", "#ffe08a", "#7dffdc", "#e0ccff", "#ffb9a3", "#eaff8a", "#ffc2e6", "#ffffff"),
)
_MONO = Palette(
    paper="#0d0d0d",
    chosen="#343434",
    strong="#ffffff",
    plain="#d0d0d0",
    muted="#949494",
    faint="#606060",
    ok="#d0d0d0",
    warn="#ffffff",
    error="#ffffff",
    moving="#ffffff",
    accent="#ffffff",
    hues=("#d0d0d0",) * HUES,
)

_ATTRIBUTES: dict[str, Style] = {
    STRONG: Style(bold=True),
    WARN: Style(bold=True),
    ERROR: Style(bold=True),
    ACCENT: Style(bold=False),
}
_MONO_ATTRIBUTES: dict[str, Style] = {
    STRONG: Style(bold=True),
    WARN: Style(bold=True),
    ERROR: Style(bold=True, reverse=True),
    MOVING: Style(bold=True, underline=True),
    ACCENT: Style(bold=True),
}
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
_HUE_FALLBACK = ("primary", "warning", "success", "secondary", "error", "accent", "foreground", "primary-lighten-2")


def _theme(name: str, palette: Palette, *, dark: bool) -> Theme:
    tones = {f"tone-{tone}": getattr(palette, tone) for tone in TONES if tone in palette._fields}
    tones |= {f"tone-hue-{number}": hue for number, hue in enumerate(palette.hues)}
    return Theme(
        name=name,
        primary=palette.accent,
        secondary=palette.moving,
        accent=palette.accent,
        success=palette.ok,
        warning=palette.warn,
        error=palette.error,
        foreground=palette.plain,
        background=palette.paper,
        surface=palette.paper,
        panel=palette.chosen,
        dark=dark,
        variables={
            **tones,
            "row-chosen": palette.chosen,
            "input-cursor-background": palette.accent,
            "input-cursor-foreground": palette.paper,
            "input-selection-background": palette.chosen,
            "border": palette.faint,
            "scrollbar": palette.faint,
            "scrollbar-hover": palette.muted,
            "scrollbar-active": palette.accent,
            "scrollbar-background": palette.paper,
            "scrollbar-background-hover": palette.paper,
            "scrollbar-background-active": palette.paper,
            "scrollbar-corner-color": palette.paper,
            "block-cursor-background": palette.chosen,
            "block-cursor-foreground": palette.strong,
        },
    )


THEMES = (
    _theme(DARK, _DARK, dark=True),
    _theme(LIGHT, _LIGHT, dark=False),
    _theme(CONTRAST, _CONTRAST, dark=True),
    _theme(MONO, _MONO, dark=True),
)
DESCRIPTIONS = {DARK: "dark", LIGHT: "light", CONTRAST: "high contrast", MONO: "monochrome"}


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
        return [
            Segment(text, None if style is None else _without_colours(style, paper, quiet), control)
            for text, style, control in segments
        ]


_QUIET_INKS = (f"tone-{MUTED}", f"tone-{FAINT}")


def _without_colours(style: Style, paper: RichColor, quiet: Collection[RichColor]) -> Style:
    marked = style.bgcolor is not None and not style.bgcolor.is_default and style.bgcolor != paper
    kept = Style(bold=style.bold, italic=style.italic, underline=style.underline, strike=style.strike, meta=style.meta)
    return kept + Style(reverse=marked or style.reverse or None, dim=style.dim or style.color in quiet or None)


PRINT_HUES = _LIGHT.hues
"""The members' colours on white paper."""


class Styles(NamedTuple):
    """The styles of tones: on the background, and on the selected row."""

    paper: dict[str, Style]
    chosen: dict[str, Style]


def styles_of(theme: str, variables: dict[str, str], filters: Sequence[LineFilter]) -> Styles:
    """The styles of all tones for a theme's variables, after the app's filters (monochrome for example)."""
    paper = Color.parse(variables["background"])
    chosen = Color.parse(variables.get("row-chosen", variables["surface-lighten-1"]))
    attributes = _MONO_ATTRIBUTES if theme == MONO else _ATTRIBUTES
    return Styles(_on(paper, variables, attributes, filters), _on(chosen, variables, attributes, filters))


def _filtered(style: Style, background: Color, filters: Sequence[LineFilter]) -> Style:
    segments = [Segment("x", style)]
    for line_filter in filters:
        segments = line_filter.apply(segments, background)
    filtered = segments[0].style
    return style if filtered is None else filtered  # a style without colours and attributes is false, too


def _on(
    background: Color, variables: dict[str, str], attributes: dict[str, Style], filters: Sequence[LineFilter]
) -> dict[str, Style]:
    result: dict[str, Style] = {}
    for tone in TONES:
        if tone == BANNER:
            ink = Color.parse(variables["background"])
            filled = Color.parse(variables.get(f"tone-{ACCENT}", variables["accent"]))
            style = Style(color=ink.rich_color, bgcolor=filled.rich_color, bold=True)
        else:
            fallback = _FALLBACK.get(tone) or _HUE_FALLBACK[int(tone.rpartition("-")[2])]
            ink = Color.parse(variables.get(f"tone-{tone}", variables.get(fallback, variables["foreground"])))
            style = Style(color=ink.rich_color, bgcolor=background.rich_color)
            if tone in attributes:
                style += attributes[tone]
        result[tone] = _filtered(style, background, filters)
    return result
