"""Every tone is legible on the paper and on the selected row of every theme that chooses its colours."""

import pytest
from rich.style import Style

from console.presenters.styled_text import BANNER, FAINT, TONES
from console.themes import styles
from console.themes.names import CONTRAST, TERMINAL, THEME_NAMES
from tests.support.console.legibility import contrast
from tests.support.console.pilot import Seat, sit

OWN = [name for name in THEME_NAMES.values() if name != TERMINAL]
OTHERS = ("textual-dark", "textual-light", "nord", "solarized-light")


def dim_tones(theme: str) -> list[str]:
    """Tones with less contrast than text (4.5; 7 with high contrast) needs, or a rule (3) beside the selected row."""
    dim: list[str] = []

    async def script(seat: Seat) -> None:
        seat.app.theme = theme
        await seat.settle()
        least, rule = (7.0, 4.5) if theme == CONTRAST else (4.5, 3.0)
        for where, looks in seat.app.tone_styles._asdict().items():
            words = where == "chosen" and theme != CONTRAST
            floors = {tone: rule if tone == FAINT and not words else least for tone in TONES}
            dim.extend(f"{tone} on {where}" for tone in TONES if contrast(*hexadecimal(looks[tone])) < floors[tone])

    sit(script)
    return dim


def hexadecimal(style: Style) -> tuple[str, str]:
    assert style.color is not None
    assert style.bgcolor is not None
    return style.color.get_truecolor().hex[1:], style.bgcolor.get_truecolor().hex[1:]


@pytest.mark.parametrize("theme", [*OWN, *OTHERS])
def test_every_tone_is_legible(theme: str) -> None:
    assert dim_tones(theme) == []


@pytest.mark.slow
def test_a_tone_that_is_hardly_legible_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(styles, "_legible", lambda ink, *_: ink)
    assert f"{FAINT} on chosen" in dim_tones(THEME_NAMES["dark"])
    assert BANNER not in dim_tones(THEME_NAMES["dark"])
