"""An overlay costs what changes below it: the same picture as Textual's own, and no line drawn for nothing."""

from typing import Any

import pytest
from rich.console import Console
from rich.segment import Segment
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip

from console.screens.flight_screen import FlightScreen
from console.screens.group import GroupScreen
from console.screens.overlays import HelpScreen
from console.themes.names import DARK, TERMINAL
from console.widgets import stacked_screens
from tests.support.console.pilot import Seat, sit

SIZE = (120, 40)


def as_textual_does(below: Screen[Any], above: Screen[Any]) -> list[list[tuple[str, object]]]:
    """The whole screen below as Textual dims it, as cells."""
    console = Console(width=SIZE[0], height=SIZE[1])
    dimmed = console.render(BackgroundScreen(below, above.styles.background), console.options)
    return [cells(line) for line in Segment.split_lines(dimmed)]


def cells(segments: Strip | list[Segment]) -> list[tuple[str, object]]:
    return [(character, style) for text, style, _ in segments for character in text]


@pytest.fixture
def dimmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The text of each line that is dimmed."""
    seen: list[str] = []
    dim = stacked_screens._dimmed

    def watched(strip: Strip, *rest: Any) -> Strip:  # noqa: ANN401 - as the original
        seen.append(strip.text)
        return dim(strip, *rest)

    monkeypatch.setattr(stacked_screens, "_dimmed", watched)
    return seen


def test_what_lies_below_looks_as_textual_dims_it() -> None:
    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]  # what lies below is drawn late, if it changes
        await seat.press("question_mark")
        await seat.pilot.pause(0.4)
        below, above = seat.app.screen_stack[-2:]
        ours = [cells(line) for line in above.render_lines(above.region)]
        assert ours == as_textual_does(below, above)[: len(ours)]
        assert len({style for line in ours for _, style in line}) > 5

    sit(script, size=SIZE)


def test_a_screen_that_does_not_change_is_not_drawn_again(dimmed: list[str]) -> None:
    """Textual's own screen marks itself as changed by being drawn: with that, this would go on for ever."""

    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]  # no frame but ours
        await seat.press("question_mark")
        await seat.pilot.pause(0.3)
        assert dimmed
        dimmed.clear()
        await seat.pilot.pause(0.5)
        assert dimmed == []

    sit(script, size=SIZE)


def test_of_a_screen_below_only_the_lines_that_change_are_dimmed(dimmed: list[str]) -> None:
    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]
        await seat.press("question_mark")
        await seat.pilot.pause(0.3)
        dimmed.clear()
        below = seat.app.screen_stack[-2]
        bar = below.query("Canvas").first()
        bar._rows[0] = ((("something else", "plain"),), False)  # type: ignore[attr-defined]
        bar._strips.clear()  # type: ignore[attr-defined]
        bar.refresh(bar.region.reset_offset.split_horizontal(1)[0] if bar.size.height > 1 else bar.region.reset_offset)
        await seat.pilot.pause(0.3)
        assert any("something else" in text for text in dimmed)
        assert len(dimmed) <= 3, "of forty: a frame may have come between"

    sit(script, size=SIZE)


@pytest.mark.parametrize("theme", [TERMINAL, DARK])
def test_a_terminal_that_grows_or_shrinks_below_an_overlay_shows_what_it_has(theme: str) -> None:
    """The screen below is arranged later than the overlay; in the terminal's own colours nothing is dimmed."""

    async def script(seat: Seat) -> None:
        seat.app.theme = theme
        await seat.press("question_mark")
        for size in ((120, 60), (80, 24), (140, 50)):
            await seat.pilot.resize_terminal(*size)
            await seat.pilot.pause(0.2)
            above = seat.app.screen
            shown = [strip.text for strip in above.render_lines(above.size.region)]
            assert "first-flight" in shown[0]
            assert above.size.height == size[1]

    sit(script, size=SIZE)


def test_an_overlay_has_its_text_from_its_first_layout_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each layout draws the whole screen: text that waits for the third or fourth comes so much later after its key."""
    texts: list[str] = []
    lay_out = HelpScreen._refresh_layout

    def watched(screen: HelpScreen, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as the original
        lay_out(screen, *arguments, **named)
        texts.append(screen.panel.plain_text())

    monkeypatch.setattr(HelpScreen, "_refresh_layout", watched)

    async def script(seat: Seat) -> None:
        await seat.press("question_mark")

    sit(script, size=SIZE)
    assert all("help: overview" in text for text in texts), "the first frame has the text"
    assert len(texts) == 2


def test_an_overlay_takes_turns_with_the_bars_and_the_rows_of_the_screen_below_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    painted: list[str] = []
    paint, paint_bars = FlightScreen.paint, FlightScreen.paint_bars

    def watched(screen: FlightScreen, shares: int = 0, *, bars: bool = True) -> None:
        painted.append(f"overview in {shares} frames{' with bars' if bars else ''}")
        paint(screen, shares, bars=bars)

    def watched_bars(screen: FlightScreen) -> None:
        painted.append("bars")
        paint_bars(screen)

    monkeypatch.setattr(HelpScreen, "paint", lambda _: painted.append("help"))
    monkeypatch.setattr(FlightScreen, "paint", watched)
    monkeypatch.setattr(FlightScreen, "paint_bars", watched_bars)

    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]  # no frame but ours
        await seat.press("question_mark")
        painted.clear()
        for _ in range(10):
            seat.app.paint_frame()
        assert sorted(painted) == sorted(2 * ["help", "bars", *3 * ["overview in 3 frames"]])
        assert painted[:5] == painted[5:]
        painted.clear()
        seat.app.paint()
        assert painted == ["help", "overview in 0 frames with bars"]

    sit(script, size=SIZE)


def test_a_place_has_its_bars_and_its_panels_in_its_first_frame() -> None:
    """Widgets hear of their size after that frame: the screen was empty for a moment, on a busy machine for seconds."""
    frames: list[str] = []

    async def script(seat: Seat) -> None:
        app = seat.app
        app._tick = lambda: None  # type: ignore[method-assign]
        display = app._display

        def watched(screen: Screen[Any], drawn: Any) -> None:  # noqa: ANN401 - as the original
            display(screen, drawn)
            if isinstance(screen, GroupScreen) and screen is app.screen:
                frames.append("\n".join(strip.text for strip in screen._compositor.render_strips()))

        app._display = watched  # type: ignore[method-assign,assignment]
        await seat.press("enter")

    sit(script, size=SIZE)
    for words in ("FLIGHTDECK", "billing waits for billing-3", "1 billing ─", "2 members", "? help"):
        assert words in frames[0]


def test_a_screen_below_of_another_width_leaves_no_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is arranged later than the overlay: a terminal that grew ended the console."""

    async def script(seat: Seat) -> None:
        seat.app._tick = lambda: None  # type: ignore[method-assign]
        await seat.press("question_mark")
        above = seat.app.screen
        for width in (59, 120, 200):
            strips = {y: Strip([Segment("x" * width)], width) for y in range(SIZE[1])}
            monkeypatch.setattr(stacked_screens, "_lines_of", lambda _below, _places, strips=strips: strips)
            above.refresh()
            lines = above.render_lines(above.region)
            assert [line.cell_length for line in lines] == [SIZE[0]] * SIZE[1]
            assert lines[0].text == "x" * min(width, SIZE[0]) + " " * (SIZE[0] - width)

    sit(script, size=SIZE)
