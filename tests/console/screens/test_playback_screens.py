"""An operator at the console with a recording: keys, the strip under the mouse, menus."""

import shutil
from pathlib import Path

import pytest

from console.actions import find
from console.app import FlightdeckApp
from console.flight import ONLY_RECORDED, READ_ONLY
from console.forking.fork_line import Fork, read_fork
from console.operating.footer import FOOTER_RECORDED
from console.player import Player
from console.presenters.chrome import flight_strip, instant_under
from console.presenters.styled_text import plain
from console.screens.overlays import FaultMenu
from console.time_input import Instant, parse_instant
from console.widgets.command_input import PromptLine
from tests.support.console.pilot import Seat, sit
from tests.support.console.recorded_flight import END_US, SECOND_US, Wall, app, recording

MEMBER_WORDS = ("billing-1", "billing-2")


def at_us(seat: Seat) -> int:
    return seat.app.flight.now_us


async def go(seat: Seat, text: str) -> None:
    assert seat.app.execute_line(text)
    seat.app.draw()
    await seat.settle()


def test_the_header_says_playback_and_the_footer_has_its_keys() -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 10s")
        said = seat.text()
        assert "recorded · seed 5" in said
        assert "00:00:10.000  ‖ PLAYBACK  ×1" in said
        assert "brokers 2/3 ✖" in said
        for action_id in FOOTER_RECORDED[1:8]:
            assert f"{find(action_id).shown} {find(action_id).label}" in said
        await seat.press("space")
        seat.app.draw()
        await seat.settle()
        assert "▶ PLAYBACK" in seat.text()

    sit(script, app=app())


def test_a_paused_recording_plays_backwards_at_the_key() -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 10s")
        await seat.press("b")
        assert seat.app.flight.clock.speed < 0
        source = seat.app.flight.source
        assert isinstance(source, Player)
        assert source.playback.playing

    sit(script, app=app())


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 40), (200, 60)])
def test_it_says_playback_at_every_size(size: tuple[int, int]) -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 10s")
        header, footer = seat.text().splitlines()[0], seat.text().splitlines()[-1]
        assert "‖" in header
        if size[0] >= 80:
            assert "PLAYBACK" in header
        assert "space resume" in footer
        assert "? help" in footer

    sit(script, app=app(), size=size)


def test_keys_go_through_events_and_moments_and_back() -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 8s")
        seq = seat.app.flight.view.seq
        await seat.press("left_square_bracket", "left_square_bracket")
        assert seat.app.flight.view.seq == seq - 2
        await seat.press("right_square_bracket")
        assert seat.app.flight.view.seq == seq - 1
        await seat.press("full_stop")
        seat.app.draw()
        assert seat.app.flight.view.seq == seq
        await seat.press("right_curly_bracket")
        assert at_us(seat) == 9_000_001
        await seat.press("left_curly_bracket", "left_curly_bracket")
        assert at_us(seat) < 7_300_001
        await seat.press("greater_than_sign")
        assert seat.app.flight.source.clock.speed == 2
        await seat.press(*["less_than_sign"] * 6)
        assert seat.app.flight.source.clock.speed == 0.01

    sit(script, app=app())


def test_a_time_is_typed() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("t")
        await seat.type("0:12.5")
        await seat.press("enter")
        assert at_us(seat) == 12_500_000
        for typed, wanted in (("go +2s", 14_500_000), ("go -10s500ms", 4_000_000), ("go 00:00:03", 3_000_000)):
            await go(seat, typed)
            assert at_us(seat) == wanted
        await go(seat, "go 2h")
        assert at_us(seat) == END_US
        assert "the recording ends at 00:00:20.000" in seat.notices()

    sit(script, app=app())


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("12m30s", Instant(750 * SECOND_US)),
        ("1:20.5", Instant(80_500_000)),
        ("01:00:00", Instant(3600 * SECOND_US)),
        ("+10s", Instant(10 * SECOND_US, relative=True)),
        ("- 500ms", Instant(-500_000, relative=True)),
        ("250us", Instant(250)),
        ("0.1us", None),
        ("10", None),
        ("billing", None),
        ("", None),
    ],
)
def test_instants_are_read(text: str, instant: Instant | None) -> None:
    assert parse_instant(text) == instant


async def mouse(seat: Seat, x: int, *, drag_to: int | None = None) -> None:
    screen = seat.app.flight_screen()
    assert screen is not None
    strip = screen.bars["strip"]
    await seat.pilot.mouse_down(strip, offset=(x, 0))
    if drag_to is not None:
        await seat.pilot.hover(strip, offset=(drag_to, 0))
    await seat.pilot.mouse_up(strip, offset=(drag_to if drag_to is not None else x, 0))
    await seat.settle()


def test_the_strip_is_a_scrubber() -> None:
    async def script(seat: Seat) -> None:
        strip = seat.app.screen.query_one("#strip")
        for x in (1, 30, 77, 118):
            await mouse(seat, x)
            assert at_us(seat) == instant_under(x, seat.app.flight.clock, 120)
            shown = strip.plain_text() if hasattr(strip, "plain_text") else ""
            assert shown.splitlines()[0][x] == "┃"
        await mouse(seat, 20, drag_to=60)
        assert at_us(seat) == instant_under(60, seat.app.flight.clock, 120)
        await seat.pilot.hover(strip, offset=(100, 0))
        await seat.settle()
        assert at_us(seat) == instant_under(60, seat.app.flight.clock, 120)  # let go of

    sit(script, app=app())


def test_the_strip_shows_what_lies_ahead() -> None:
    async def script(seat: Seat) -> None:
        player = seat.app.flight.source
        assert isinstance(player, Player)
        player.verify()
        await go(seat, "go 1s")
        flight = seat.app.flight
        cells = plain(flight_strip(flight.view, flight.clock, 120, player.landmarks))
        assert cells.count("✖") == 4
        assert plain(flight_strip(flight.view, flight.clock, 120)).count("✖") == 0

    sit(script, app=app())


def test_a_live_flight_cannot_be_scrubbed_and_says_why() -> None:
    async def script(seat: Seat) -> None:
        await mouse(seat, 30)
        for key in ("left_square_bracket", "right_curly_bracket", "t"):
            await seat.press(key)
        await go(seat, "go 10s")
        assert seat.notices().count(ONLY_RECORDED) == 5
        assert seat.asked == []

    sit(script)


def test_commands_of_a_recording_are_refused_with_the_reason() -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 10s")
        await go(seat, "go billing-1")
        await seat.press("p")
        assert seat.notices().count(READ_ONLY) == 1
        assert not seat.app.execute_line("kill nobody")
        seat.app.execute_line("kill broker-1")
        await seat.settle()
        assert seat.notices().count(READ_ONLY) == 2
        assert find("act.fault").reason(seat.app) is None
        assert find("act.stall").reason(seat.app) == READ_ONLY
        assert find("time.back").reason(seat.app) is None

    sit(script, app=app())


def test_the_fault_menu_of_a_recording_forks_it() -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 6500ms")
        await go(seat, "go billing-1")
        await seat.press("f")
        menu = seat.app.screen
        assert isinstance(menu, FaultMenu)
        shown = menu.panel.plain_text()
        assert "enter forks from this instant" in shown
        assert "SIGKILL" in shown, "what a command does, not that it is refused"
        assert "read-only" not in shown
        await seat.press("enter")
        command_line = seat.app.screen.query_one(PromptLine)
        assert command_line.is_open
        assert command_line.input.value == "fork do kill billing-1"
        assert read_fork("do kill billing-1", 1, seat.app.flight.names()) == Fork(command="kill billing-1")

    sit(script, app=app())


def test_before_its_beginning_a_group_is_not_there_and_nothing_of_it_stays_on_screen() -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go 10s")
        await go(seat, "go billing")
        assert "billing-2" in seat.text()
        source = seat.app.flight.source
        assert isinstance(source, Player)
        source.move(-1_000_000)
        seat.app.draw()
        await seat.settle()
        panels = [panel.plain_text() for panel in seat.app.screen.query("Panel").results()]  # type: ignore[attr-defined]
        assert not any(word in text for text in panels for word in MEMBER_WORDS)
        await seat.press("f", "p", "enter")
        assert seat.app.is_running

    sit(script, app=app())


def test_it_plays_on_the_screen() -> None:
    wall = Wall()

    async def script(seat: Seat) -> None:
        wall.now += 3.0
        seat.app.draw()
        await seat.settle()
        assert at_us(seat) == 3 * SECOND_US
        assert "▶ PLAYBACK" in seat.text()
        await seat.press("space")
        wall.now += 3.0
        seat.app.draw()
        assert at_us(seat) == 3 * SECOND_US

    sit(script, app=app(wall, playing=True))


@pytest.mark.slow
def test_a_damaged_recording_ends_the_console_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "damaged.flight"
    shutil.copytree(recording(), path)
    segment = next(path.glob("segment-*"))
    segment.write_bytes(segment.read_bytes()[:-200])

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: seat.app.return_code is not None)

    console = FlightdeckApp(source=Player(path, playing=False))
    sit(script, app=console)
    assert console.return_code == 2


def test_a_dead_coordinator_has_the_countdown_that_live_shows() -> None:
    """Its session ends 9 s after it died at 9 s; the length of a session is in the recording's scenario."""

    async def script(seat: Seat) -> None:
        await go(seat, "go 10.5s")
        await go(seat, "go billing")
        assert "coordinator broker-2 is down" in seat.text()
        assert "within 7.5 s (broker.session.timeout.ms)" in seat.text()

    sit(script, app=app(), size=(160, 50))
