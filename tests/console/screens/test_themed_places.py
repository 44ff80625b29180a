"""What every place looks like in every theme, at 120×40: `__snapshots__/test_themed_places/*.svg`, to be looked at.

One app shows all places of a theme, on a flight that stands still. `--snapshot-update` takes the pictures anew.
"""

from typing import NamedTuple

import pytest
from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from console.app import FlightdeckApp
from console.game.game import Game
from console.operating.notices import Notices
from console.screens.comparison import ComparisonScreen
from console.screens.game import GameScreen
from console.themes.names import MONO, TERMINAL, THEME_NAMES
from recordings.flights.beside import FlightsBeside, fork_beside
from recordings.flights.fork import ForkPoint
from recordings.flights.runner import fly, make_plan
from recordings.game.drawing import draw_game
from recordings.scenarios.loader import parse_scenario
from tests.support.console.legibility import contrast
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import PLACES, STATES, look, source_in, standing_still
from tests.support.minimal_scenario import TWO_MEMBERS

STATE = "rebalancing"  # it has most tones
SIZE = (120, 40)
OVERLAYS = ("why the group", "why the member", "fault menu", "help")  # the place behind them is dim
TEXT = {"dark": 4.5, "light": 4.5, "contrast": 7.0, "mono": 4.5}  # WCAG's AA is 4.5, its AAA 7
FAINT = {"dark": 3.0, "light": 3.0, "contrast": 4.5, "mono": 3.0}  # rules, signs of nothing
Colour = tuple[int, int, int]
pytestmark = pytest.mark.xdist_group("themed places")  # one process paints a theme's places once for all tests


class SvgFile(SingleFileSnapshotExtension):
    """A snapshot that is a picture."""

    _write_mode = WriteMode.TEXT
    _file_extension = "svg"


class Themed(NamedTuple):
    """All places in a theme: under its name, the picture of each and the segments that it consists of."""

    theme: str
    faint: set[Colour]
    pictures: dict[str, str]
    segments: dict[str, list[Segment]]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> FlightsBeside:
    """A flight and its fork, for the comparison."""
    folder = tmp_path_factory.mktemp("beside")
    fly(make_plan(parse_scenario(TWO_MEMBERS, "small.toml")), record=folder / "a.flight")
    point = ForkPoint(at_us=10_000_000, commands=("kill billing-1",))
    return fork_beside(folder / "a.flight", point, None, folder / "b.flight", bool)


@pytest.fixture(scope="module", params=THEME_NAMES)
def themed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, beside: FlightsBeside) -> Themed:
    source = source_in(STATE)
    game = Game(draw_game(1, 7), lambda _: "")
    app = FlightdeckApp(source=source)
    app.animation_level = "none"
    app.directory, app.notices = tmp_path_factory.mktemp("library"), Notices(lambda: 0.0)  # a notice stays
    app.theme = THEME_NAMES[request.param]
    shown = Themed(request.param, set(), {}, {})

    async def script(seat: Seat) -> None:
        for styles in seat.app.tone_styles:
            faint = styles["faint"].color
            if faint is not None and not faint.is_default:
                shown.faint.add(colour(faint))
        for place in PLACES:
            seat.app.notices.clear()
            seat.app.forking.beside = beside if place.name == ComparisonScreen.place else None
            source.game = lambda: game if place.name == GameScreen.place else None  # type: ignore[method-assign]  # noqa: B023
            await look(seat, STATES[STATE].objects, place)
            shown.pictures[place.name] = await standing_still(seat.app, seat.pilot)
            strips = seat.app.screen._compositor.render_strips(seat.app.screen.size)
            shown.segments[place.name] = [segment for strip in strips for segment in strip]

    sit(script, app=app, size=SIZE)
    return shown


def inks(segments: list[Segment]) -> set[tuple[Colour, Colour]]:
    """Ink and paper of all that is written, where the theme chooses both."""
    found: set[tuple[Colour, Colour]] = set()
    for text, style, _ in segments:
        if not text.strip() or style is None or style.color is None or style.bgcolor is None:
            continue
        if ColorType.DEFAULT not in {style.color.type, style.bgcolor.type}:
            ink, paper = colour(style.color), colour(style.bgcolor)
            found.add((paper, ink) if style.reverse else (ink, paper))
    return found


def colour(of: Color) -> Colour:
    """Red, green and blue."""
    red, green, blue = of.get_truecolor()
    return red, green, blue


def test_an_ink_that_is_hardly_legible_is_found() -> None:
    grey = Segment("lost", Style(color="#606060", bgcolor="#343434"))
    ((ink, paper),) = inks([grey, Segment("   ", Style(color="#343434", bgcolor="#343434"))])
    assert (ink, paper) == ((0x60,) * 3, (0x34,) * 3)
    assert contrast("606060", "343434") < min(TEXT.values())


@pytest.mark.slow
def test_pictures(themed: Themed, snapshot: SnapshotAssertion) -> None:
    kept = snapshot.use_extension(SvgFile)
    changed = [place for place, svg in themed.pictures.items() if svg != kept(name=f"{themed.theme} {place}")]
    assert not changed


@pytest.mark.slow
def test_every_ink_is_legible_on_its_paper(themed: Themed) -> None:
    if THEME_NAMES[themed.theme] == TERMINAL:
        assert not any(inks(segments) for segments in themed.segments.values()), "the terminal has its own paper"
        return
    for place in themed.segments.keys() - set(OVERLAYS):
        for ink, paper in inks(themed.segments[place]):
            one, other = (f"{red:02x}{green:02x}{blue:02x}" for red, green, blue in (ink, paper))
            floors = FAINT if ink in themed.faint else TEXT
            assert contrast(one, other) >= floors[themed.theme], f"{place}: {one} on {other}"


@pytest.mark.slow
def test_monochrome_has_no_colour(themed: Themed) -> None:
    coloured = {
        one for segments in themed.segments.values() for pair in inks(segments) for one in pair if max(one) != min(one)
    }
    assert bool(coloured) == (THEME_NAMES[themed.theme] not in {MONO, TERMINAL})
