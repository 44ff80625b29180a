"""The terminal's own colours: no background of ours, and legible in the palettes that terminals have."""

from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color

from console.app import FlightdeckApp
from console.presenters.styled_text import BANNER, ERROR, FAINT, MOVING, MUTED, PLAIN, STRONG, TONES, WARN
from console.settings import SettingsFile
from console.themes.names import DARK, LIGHT, MONO, TERMINAL, THEME_NAMES
from console.themes.styles import Styles
from tests.support.console.legibility import contrast
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight

LEGIBLE = 2.4  # WCAG asks 3 of large text; xterm's and macOS's pure blue on black is what no choice of sixteen mends
LETTER = 1.9  # a member's letter is bold in its glyph and stands in the legend, too

# Black to bright white, and the backgrounds that are usual with them.
PALETTES = {
    "xterm": (
        (
            "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5"
            " 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff"
        ),
        ("000000", "ffffff"),
    ),
    "linux": (
        (
            "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa"
            " 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff"
        ),
        ("000000",),
    ),
    "gnome": (
        (
            "2e3436 cc0000 4e9a06 c4a000 3465a4 75507b 06989a d3d7cf"
            " 555753 ef2929 8ae234 fce94f 729fcf ad7fa8 34e2e2 eeeeec"
        ),
        ("000000", "ffffff"),
    ),
    "windows": (
        (
            "0c0c0c c50f1f 13a10e c19c00 0037da 881798 3a96dd cccccc"
            " 767676 e74856 16c60c f9f1a5 3b78ff b4009e 61d6d6 f2f2f2"
        ),
        ("0c0c0c", "ffffff"),
    ),
    "macos": (
        (
            "000000 990000 00a600 999900 0000b2 b200b2 00a6b2 bfbfbf"
            " 666666 e50000 00d900 e5e500 0000ff e500e5 00e5e5 e5e5e5"
        ),
        ("000000", "ffffff"),
    ),
    "solarized": (
        (
            "073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5"
            " 002b36 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3"
        ),
        ("002b36", "fdf6e3"),
    ),
}


def looks(theme: str) -> Styles:
    """The styles of all tones in a theme, on the background and on the selected row."""
    found: list[Styles] = []

    async def script(seat: Seat) -> None:
        seat.app.theme = theme
        await seat.settle()
        found.append(seat.app.tone_styles)

    sit(script)
    return found[0]


@pytest.mark.parametrize("palette", PALETTES)
def test_every_tone_is_legible_on_a_light_and_on_a_dark_terminal(palette: str) -> None:
    inks, papers = PALETTES[palette]
    judged = 0
    for tone, style in looks(TERMINAL).paper.items():
        assert style.color is not None
        assert style.bgcolor is None or style.bgcolor.is_default, f"{tone} paints a background"
        if style.color.is_default:
            continue  # the terminal's own ink on the terminal's own paper
        assert style.color.number is not None
        for paper in papers:
            floor = LETTER if tone.startswith("hue-") else LEGIBLE
            assert contrast(inks.split()[style.color.number], paper) >= floor, f"{tone} on {paper}"
            judged += 1
    assert judged > 5


def test_meaning_survives_where_the_inks_are_alike() -> None:
    paper, chosen = looks(TERMINAL)
    for styles in (paper, chosen):
        drawn = {
            tone: (
                styles[tone].color,
                styles[tone].bold,
                styles[tone].dim,
                styles[tone].reverse,
                styles[tone].underline,
            )
            for tone in (PLAIN, STRONG, ERROR)
        }
        assert len(set(drawn.values())) == 3
    assert len({(paper[tone].color, paper[tone].dim) for tone in (PLAIN, MUTED, WARN, MOVING)}) == 4
    assert paper[ERROR].bold != paper[WARN].bold
    assert paper[FAINT].dim
    assert [tone for tone, style in chosen.items() if not style.reverse] == [BANNER]  # a bar, open at the cursor
    assert {style.color for style in chosen.values()} == {None}


def test_monochrome_marks_calmly_and_differently() -> None:
    """A refused message is drawn in one tone from end to end: in reverse it would be a band across the screen."""
    for styles in looks(MONO):
        assert [tone for tone, style in styles.items() if style.reverse] == []
        marks = {tone: (bool(styles[tone].bold), bool(styles[tone].underline)) for tone in (PLAIN, WARN, MOVING, ERROR)}
        assert len(set(marks.values())) == len(marks), marks


def test_nothing_of_the_screen_paints_a_colour_beyond_the_sixteen() -> None:
    async def script(seat: Seat) -> None:
        seat.app.theme = TERMINAL
        for keys in ((), ("down", "enter"), ("f",), ("escape", "question_mark"), ("escape", "ctrl+p"), ("escape",)):
            await seat.press(*keys)
            for strip in seat.app.screen._compositor.render_strips():
                for text, style, _ in strip:
                    ink = style.color if style is not None and text.strip() else None  # a blank shows none
                    for colour in (ink, style.bgcolor if style is not None else None):
                        assert colour is None or colour.is_default or colour.is_system_defined, (keys, colour)

    sit(script)


def test_a_terminal_of_sixteen_colours_gets_its_own_and_tells_moving_from_plain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "standard")
    app = FlightdeckApp(source=StillFlight())
    assert app.theme == DARK
    app.theming.start(None)
    assert app.theme == TERMINAL

    async def script(seat: Seat) -> None:
        for theme in THEME_NAMES.values():
            seat.app.theme = theme
            await seat.settle()
            styles = seat.app.tone_styles.paper
            plain, moving = styles[PLAIN], styles[MOVING]
            assert _as_drawn(plain) != _as_drawn(moving), theme

    sit(script, app=app)


def _as_drawn(style: Style) -> tuple[object, ...]:
    colour = style.color or RichColor.default()
    return colour.downgrade(ColorSystem.STANDARD), style.bold, style.underline, style.dim, style.reverse


def test_a_theme_is_chosen_by_its_name_and_a_wrong_one_gets_a_suggestion() -> None:
    async def script(seat: Seat) -> None:
        assert seat.app.theme == DARK
        for name, theme in THEME_NAMES.items():
            await seat.type(f":theme {name}")
            await seat.press("enter")
            assert seat.app.theme == theme
            assert (
                seat.app.tone_styles.paper[PLAIN].color
                == Color.parse(seat.app.theme_variables[f"tone-{PLAIN}"]).rich_color
            )
        await seat.type(":theme termnal")
        await seat.press("enter")
        assert seat.app.theme == TERMINAL
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open

    sit(script)


def test_a_theme_has_every_tone() -> None:
    assert set(looks(TERMINAL).paper) == set(TONES)


def test_a_chosen_theme_is_remembered_and_one_of_an_option_is_not(tmp_path: Path) -> None:
    def opened(option: str | None) -> FlightdeckApp:
        app = FlightdeckApp(source=StillFlight())
        app.remember_in(SettingsFile(tmp_path))
        app.theming.start(option)
        return app

    async def script(seat: Seat) -> None:
        assert seat.app.theme == TERMINAL
        await seat.type(":theme mono")
        await seat.press("enter")

    assert opened("light").theme == LIGHT
    sit(script, app=opened("terminal"))
    assert opened(None).theme == MONO
