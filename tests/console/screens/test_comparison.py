"""The comparison of two flights on screen: forked from a recording or a live flight, cancelled, refused, saved."""

import re
import shutil
from pathlib import Path

import pytest

from console.app import FlightdeckApp
from console.bridge import Bridge
from console.cli.comparison import of_diff
from console.flight_clock import LIVE
from console.navigation.links import link_at
from console.player import Player
from console.presenters.comparing.raster import _marked
from console.presenters.styled_text import PlaceLink, line, plain
from console.screens.comparison import ComparisonScreen
from console.travel.live_travel import LiveTravel
from recordings.comparison.diff import diff
from recordings.flights.beside import FlownSoFar
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from tests.support.console.pilot import Seat, sit
from tests.support.minimal_scenario import TWO_MEMBERS
from tests.support.recording_files import SEGMENT

NUMBERS = re.compile(r"(\S[^│]*?) +([<\d.,]+) +([<\d.,]+) │ +([<\d.,]+) +([<\d.,]+)  (\S+) (better|worse) +(\S+)")
PRINTED = re.compile(r"  (\S.*?) +([<\d.,]+) +([<\d.,]+)  (\S+) +(\S+) (better|worse)")
KILL = "fork at 10s do kill billing-1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "small.flight"
    fly(make_plan(parse_scenario(TWO_MEMBERS, "small.toml")), record=made)
    return made


def playing(path: Path) -> FlightdeckApp:
    app = FlightdeckApp(source=Player(path, playing=False))
    app.directory = path.parent
    return app


async def flown(seat: Seat, line: str = KILL) -> ComparisonScreen:
    """Give the line, and wait for what it begins."""
    assert seat.app.execute_line(line)
    work = seat.app.forking._work
    assert work is not None, seat.notices()
    while not work.poll().ended:
        work._pipe.poll(5.0)
    await seat.settle()
    await seat.settle()
    screen = seat.app.flight_screen()
    assert isinstance(screen, ComparisonScreen), seat.notices()
    return screen


async def failed(seat: Seat, line: str) -> str:
    """Give a line whose fork fails, and wait for the reason."""
    seat.app.execute_line(line)
    await seat.wait_for(lambda: not seat.app.forking.under_way and bool(seat.notices()))
    assert seat.app.forking.beside is None
    return seat.notices()[-1]


def test_the_bill_has_the_numbers_that_diff_prints(path: Path) -> None:
    async def script(seat: Seat) -> None:
        screen = await flown(seat)
        await seat.press("K")
        kept = path.parent / "small-fork.flight"
        assert f"kept: {kept}" in seat.notices()
        printed = of_diff(diff(path, kept)).splitlines()
        rows = [m.groups() for one in printed if (m := PRINTED.match(one))]
        drawn = [
            m.groups() for one in screen.board.panels["bill"].plain_text().splitlines() if (m := NUMBERS.search(one))
        ]
        assert rows != []
        assert [(row[0], *row[3:5], row[-1]) for row in drawn] == [row[:4] for row in rows]
        assert [row[1:3] for row in drawn] == [row[3:5] for row in drawn], "the cursor is at the end"
        assert [row[6] for row in drawn] == [row[-1] for row in rows]
        assert printed[0].partition("; ")[0].replace("Small", "") or True
        assert (
            screen.board.panels["verdict"]
            .plain_text()
            .splitlines()[1]
            .strip()
            .endswith(printed[0].split(" costs ")[-1])
        )

    sit(script, app=playing(path))


def test_the_cost_adds_up_to_the_cursor(path: Path) -> None:
    async def script(seat: Seat) -> None:
        screen = await flown(seat)
        seen = []
        for at_us in (5_000_000, 12_000_000, 15_000_000, 20_000_000):
            screen.choose(at_us)
            await seat.settle()
            text = screen.board.panels["bill"].plain_text()
            (row,) = (m for one in text.splitlines() if (m := NUMBERS.search(one)))
            seen.append((row[2], row[3], row[5]))
        assert seen == [("0", "0", "20.0"), ("0", "4.0", "20.0"), ("0", "10.0", "20.0"), ("0", "20.0", "20.0")]

    sit(script, app=playing(path))


def test_flights_are_swapped_and_saved_and_opened(path: Path) -> None:
    async def script(seat: Seat) -> None:
        screen = await flown(seat)
        assert [one.name for one in screen.subjects()] == ["recorded: billing", "fork: billing"]
        await seat.press("x")
        assert [one.name for one in screen.subjects()] == ["fork: billing", "recorded: billing"]
        await seat.press("x", "ctrl+s")
        (text,) = path.parent.glob("small*.txt")
        (svg,) = path.parent.glob("small*.svg")
        said = text.read_text()
        assert "The recorded flight costs 0 unread partition-seconds; the fork costs 20.0" in said
        assert re.search(r"unread +0 +20\.0 │ +0 +20\.0", said)
        assert svg.read_text().rstrip().endswith("</svg>")
        await seat.press("3", "o")
        source = seat.app.flight.source
        assert isinstance(source, Player)
        assert source.path.name == "fork.flight"
        assert seat.app.place() == "overview"
        await seat.press("D")
        assert "fork: billing" in seat.text()

    sit(script, app=playing(path))


@pytest.mark.slow
def test_a_live_flight_is_forked_with_its_commands(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(TWO_MEMBERS)

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: seat.app.flight.clock.phase == LIVE)
        seat.app.execute_line("until now_ms > 9000")
        seat.app.execute_line("speed 20")
        await seat.wait_for(lambda: seat.app.flight.clock.phase == "paused")
        seat.app.execute_line("kill billing-2")
        seat.app.execute_line("until now_ms > 11000")
        await seat.wait_for(lambda: seat.app.flight.now_us > 11_000_000)
        await seat.wait_for(lambda: seat.app.flight.clock.phase == "paused")
        await flown(seat, "fork do start billing-2")
        text = seat.text()
        assert "only fork: ended: kill billing-2 at 0:11" in text
        assert "live: billing" in text
        assert "only live" not in text, "both have the command before the fork"
        assert "first divergence 0:11" in text
        assert seat.app.flight.clock.phase == "paused", "the shown flight goes its own way"

    sit(script, app=FlightdeckApp(source=Bridge(scenario, speed=1.0)))


def test_a_fork_is_cancelled_and_leaves_nothing(path: Path) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("F")
        line = seat.app.input_line()
        assert line is not None
        assert line.input.value == "fork at 0:00.000 do "
        await seat.press("escape")
        assert "no fork is running" in await failed(seat, "fork cancel")
        seat.app.execute_line(KILL)
        await seat.settle()
        screen = seat.app.flight_screen()
        assert screen is not None
        assert "fork at 0:10.0: kill billing-1" in screen.bars["ticker"].plain_text()
        seat.app.execute_line(KILL)
        await seat.settle()
        assert any("a fork is running" in notice for notice in seat.notices())
        seat.app.go("comparison")
        await seat.settle()
        assert "two flights are being compared: the comparison is shown here" in seat.text()
        seat.app.go("overview")
        await seat.settle()
        await seat.press("F")
        assert line.input.value == "fork cancel"
        assert any("enter ends it, esc lets it run" in notice for notice in seat.notices())
        await seat.press("escape")
        assert seat.app.forking.progress(), "a key by itself loses no work"
        await seat.press("F", "enter")
        assert not seat.app.forking.progress()
        seat.app.execute_line(KILL)

    app = sit(script, app=playing(path))
    assert not app.forking.under_way, "leaving the console ends it"
    assert app.forking._directory is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("fork at 20s do kill billing-1", "the flight ends at 20 s: fork at an earlier instant"),
        ("fork at 10s until 9s do kill billing-1", "the fork would end at 0:09.000, before it begins"),
        ("fork at 10s do start billing-1", "refused, and without effect: start billing-1: billing-1 is running"),
        ("fork at 10s set billing:session.timeout.ms=x", "billing:session.timeout.ms=x"),
        ("fork at 10s do kill billing-9", "billing-9"),
        ("fork at soon do kill billing-1", "there is no time `soon`"),
        ("fork at 10s", "an argument is missing: fork [at TIME]"),
        ("fork set nothing", "is not a setting"),
    ],
)
def test_a_fork_that_is_impossible_says_so_in_a_sentence(path: Path, line: str, reason: str) -> None:
    async def script(seat: Seat) -> None:
        said = await failed(seat, line)
        assert reason in said
        assert "\n" not in said

    sit(script, app=playing(path))


def test_a_damaged_recording_is_named(path: Path) -> None:
    async def script(seat: Seat) -> None:
        seat.app.notices.clear()
        assert "is damaged" in await failed(seat, KILL)
        shutil.rmtree(path)
        seat.app.notices.clear()
        assert str(path) in await failed(seat, KILL)

    segment = path / SEGMENT
    segment.write_bytes(segment.read_bytes()[:-200])
    sit(script, app=FlightdeckApp(source=Player(path, playing=False, salvage=True)))


def test_without_a_fork_the_place_says_how_to_make_one(path: Path) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("D")
        assert "there is no comparison yet: F, or `fork at TIME do COMMAND`" in seat.text()
        await seat.press("x", "d", "o", "K", "z", "ctrl+s")
        assert isinstance(seat.app.flight_screen(), ComparisonScreen)

    sit(script, app=playing(path))


def flown_so_far(app: FlightdeckApp) -> FlownSoFar:
    source = app.flight.source
    assert isinstance(source, LiveTravel)
    origin = source.origin()
    assert isinstance(origin, FlownSoFar)
    return origin


def test_undo_goes_on_from_before_the_last_command(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(TWO_MEMBERS)

    async def script(seat: Seat) -> None:
        app = seat.app
        await seat.wait_for(lambda: app.flight.now_us > 4_000_000)
        app.execute_line("undo")
        await seat.settle()
        assert "nothing to undo" in seat.notices()[-1]
        app.execute_line("set orders retention.ms 60000")
        await seat.wait_for(lambda: bool(flown_so_far(app).commands))
        set_us = flown_so_far(app).commands[0][1]
        await seat.wait_for(lambda: app.flight.now_us > set_us)  # not in one instant with the next command
        app.execute_line("kill billing-2")
        await seat.wait_for(lambda: "kill billing-2" in [fault.text for fault in app.flight.view.faults.values()])
        app.execute_line("pause")
        await seat.wait_for(lambda: app.flight.clock.phase == "paused")
        killed_us = next(iter(app.flight.view.faults.values())).since_us
        app.execute_line("undo")
        await seat.wait_for(lambda: app.flight.clock.phase == "paused")
        await seat.settle()
        assert "undone: kill billing-2" in seat.notices()[-1]
        assert app.flight.now_us == killed_us - 1
        assert not app.flight.view.faults
        assert [text for _, _, text in flown_so_far(app).commands] == ["set orders retention.ms 60000"]
        app.execute_line("resume")
        await seat.wait_for(lambda: app.flight.now_us > killed_us + 1_000_000)
        app.execute_line("undo")
        await seat.wait_for(lambda: app.flight.clock.phase == LIVE and app.flight.now_us > killed_us)
        assert app.flight.clock.speed == 20.0

    sit(script, app=FlightdeckApp(source=Bridge(scenario, speed=20.0)))


def test_two_recordings_stand_beside_each_other(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "shorter.flight"
    fly(make_plan(parse_scenario(TWO_MEMBERS, "small.toml"), seed=4, until_us=15_000_000), record=other)

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: seat.app.place() == "comparison")
        await seat.settle()
        assert "small: billing" in seat.text()
        assert "shorter: billing" in seat.text()
        printed = of_diff(diff(path, other)).splitlines()
        assert printed[0] in " ".join(seat.text().split())
        await seat.press("K")
        assert f"it is already a recording: {other}" in seat.notices()

    app = playing(path)
    app.forking.compare(path, other)
    sit(script, app=app)


def test_the_mark_of_the_first_divergence_leads_to_it_and_leaves_the_cursor() -> None:
    drawn = _marked(line("0:00   ", "▼ 0:10"), 5)
    assert plain(drawn) == "0:00 ≠ ▼ 0:10"
    assert link_at(drawn, 5, {}) == PlaceLink("action", "comparison.divergence")
    assert plain(_marked(line("0:00   ", "▼ 0:10"), 7)) == "0:00   ▼ 0:10"
