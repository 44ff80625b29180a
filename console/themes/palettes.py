"""Flightdeck's five palettes. Lightness and the blue–orange axis carry meaning, never red against green.

Each theme gives Textual its colours and, as variables of its own, the tones of `presenters.styled_text`.

The terminal's own colours are sixteen that the terminal's user chose. So that theme paints no background, writes text
in the terminal's own ink, and takes only those of the sixteen that the usual palettes keep legible on a light and on a
dark background: the bright ones of red, magenta and blue, never yellow or bright black.
"""

from typing import NamedTuple

from textual.theme import Theme

from console.presenters.styled_text import HUES, TONES
from console.themes.names import CONTRAST, DARK, LIGHT, MONO, TERMINAL


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
    faint="#5a6b7d",
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
    faint="#828f9c",
    ok="#00717d",
    warn="#955700",
    error="#c0320f",
    moving="#6a3fc2",
    accent="#0a60c2",
    hues=("#0a66b8", "#8d5b00", "#00745e", "#6a3fc2", "#b8401c", "#5d6b00", "#b0307c", "#6d5836"),
)
_CONTRAST = Palette(
    paper="#000000",
    chosen="#12283e",
    strong="#ffffff",
    plain="#ffffff",
    muted="#d2d9e0",
    faint="#9aa4ae",
    ok="#5ef0ff",
    warn="#ffd21f",
    error="#ff9880",
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
    faint="#6c6c6c",
    ok="#d0d0d0",
    warn="#ffffff",
    error="#ffffff",
    moving="#ffffff",
    accent="#ffffff",
    hues=("#d0d0d0",) * HUES,
)

_TERMINAL = Palette(
    paper="ansi_default",
    chosen="ansi_default",
    strong="ansi_default",
    plain="ansi_default",
    muted="ansi_default",
    faint="ansi_default",
    ok="ansi_bright_blue",
    warn="ansi_bright_red",
    error="ansi_bright_red",
    moving="ansi_bright_magenta",
    accent="ansi_bright_blue",
    hues=(
        *("ansi_bright_blue", "ansi_green", "ansi_bright_magenta", "ansi_cyan"),
        *("ansi_default", "ansi_magenta", "ansi_bright_blue", "ansi_green"),
    ),
)


_IN_REVERSE = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "border-blurred": "ansi_default",
    "input-cursor-background": "ansi_default",
    "input-cursor-text-style": "reverse",
    "input-selection-background": "ansi_bright_blue",
    "block-cursor-text-style": "reverse bold",
    "block-cursor-blurred-text-style": "reverse",
}
"""What Textual asks of such a theme, and what it marks by swapping ink and paper: others have a background for it."""


def _theme(name: str, palette: Palette, *, dark: bool) -> Theme:
    ansi = palette.paper == "ansi_default"
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
        ansi=ansi,
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
            **(_IN_REVERSE if ansi else {}),
        },
    )


THEMES = (
    _theme(DARK, _DARK, dark=True),
    _theme(LIGHT, _LIGHT, dark=False),
    _theme(CONTRAST, _CONTRAST, dark=True),
    _theme(MONO, _MONO, dark=True),
    _theme(TERMINAL, _TERMINAL, dark=True),
)


PRINT_HUES = _LIGHT.hues
"""The members' colours on white paper."""
