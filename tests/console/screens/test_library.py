"""The library on screen: scenarios in the order of the course, recordings played, compared, deleted."""

import shutil
from pathlib import Path

import msgspec
import pytest

from console.app import FlightdeckApp
from console.player import Player
from console.presenters.library import RecordingsListing, ShelfState, key_of, labels_of
from console.presenters.styled_text import plain
from console.screens.comparison import ComparisonScreen
from console.screens.flight_screen import FlightScreen
from console.screens.group import GroupScreen
from console.screens.library import MARK_FIRST, LibraryScreen
from console.screens.overview import OverviewScreen
from recordings.journal.catalogue import find_recordings
from recordings.journal.format import FOOTER, HEADER
from recordings.scenarios.course import lessons
from tests.console.judge.library_judge import faults_of
from tests.support.console.pilot import Seat, sit
from tests.support.console.recorded_flight import SECOND_US, recording
from tests.support.console.stopped_clock import StillFlight


async def go(seat: Seat, text: str) -> None:
    assert seat.app.execute_line(text)
    seat.app.draw()
    await seat.settle()


def library_with(tmp_path: Path) -> FlightdeckApp:
    shutil.copytree(recording(), tmp_path / "mine.flight")
    (tmp_path / "torn.flight").mkdir()
    shutil.copy(recording() / HEADER, tmp_path / "torn.flight" / HEADER)
    (tmp_path / "broken.flight").mkdir()
    (tmp_path / "broken.flight" / HEADER).write_text("{")
    (tmp_path / "odd.flight").mkdir()
    shutil.copy(recording() / HEADER, tmp_path / "odd.flight" / HEADER)
    (tmp_path / "odd.flight" / FOOTER).write_text("[]")
    console = FlightdeckApp(source=StillFlight())
    console.directory = tmp_path
    return console


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_library_shows_scenarios_lessons_and_recordings(tmp_path: Path, size: tuple[int, int]) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("H")
        assert isinstance(seat.app.screen, LibraryScreen)
        assert seat.app.place() == "library"
        await seat.press("slash")
        await seat.type("session-expired")
        await seat.press("enter")
        said = seat.text()
        assert "session-expired" in said
        await seat.press("escape")
        assert "A member dies silently" in seat.text() or size[0] < 100
        await seat.press("2", "slash")
        await seat.type("mine")
        await seat.press("enter")
        said = seat.text()
        assert "mine.flight" in said
        assert f"{len(recorded_words(seat)):,}" in said
        await seat.press("escape")
        assert "no end" in seat.text()
        assert "damaged" in seat.text()

    def recorded_words(seat: Seat) -> range:
        assert isinstance(seat.app.screen, LibraryScreen)
        one = next(one for one in seat.app.screen.recordings.values() if one.path.name == "mine.flight")
        return range(one.events or 0)

    sit(script, app=library_with(tmp_path), size=size)


def test_a_recording_is_played_from_the_library_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go("library")
        await seat.settle()
        screen = seat.app.screen
        assert isinstance(screen, LibraryScreen)
        places = {one.path.name: key for key, one in screen.recordings.items()}
        screen.opened("recordings", places["broken.flight"])
        await seat.settle()
        assert isinstance(seat.app.flight.source, StillFlight)
        assert any("broken.flight is not a Flightdeck recording" in notice for notice in seat.notices())
        screen.board.panels["recordings"].selected = places["mine.flight"]
        await seat.press("2", "enter")
        source = seat.app.flight.source
        assert isinstance(source, Player)
        assert source.path == tmp_path / "mine.flight"
        assert isinstance(seat.app.screen, OverviewScreen)
        source.pause(True)
        source.seek(10 * SECOND_US)
        seat.app.draw()
        await seat.settle()
        assert "PLAYBACK" in seat.text()
        await go(seat, "go billing")
        assert isinstance(seat.app.screen, GroupScreen)
        assert "billing-1" in seat.text()

    sit(script, app=library_with(tmp_path))


def test_a_scenario_is_started_from_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[str] = []

    def bridge(scenario: str, *, invariants: bool) -> StillFlight:
        assert invariants
        began.append(scenario)
        return StillFlight(2.9)

    monkeypatch.setattr("console.app.Bridge", bridge)

    async def script(seat: Seat) -> None:
        before = seat.app.flight.source
        assert isinstance(before, StillFlight)
        await seat.press("H")
        selected = seat.app.flight_screen().board.panels["scenarios"].selected  # type: ignore[union-attr]
        assert selected in {lesson.name for lesson in lessons()}
        await seat.press("enter")
        assert began == [selected]
        assert before.asked[-1] == "stop"
        assert isinstance(seat.app.screen, FlightScreen)
        assert seat.app.place() == "overview"
        assert seat.app.flight.source is not before
        assert isinstance(seat.app.flight.source, StillFlight)
        assert "start" in seat.app.flight.source.asked

    sit(script, app=library_with(tmp_path))


def test_the_library_is_left_as_it_was_entered(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        await go(seat, "go library")
        await seat.press("H", "f", "escape")
        assert isinstance(seat.app.screen, OverviewScreen)
        await seat.press("minus")
        assert isinstance(seat.app.screen, LibraryScreen)

    sit(script, app=library_with(tmp_path))


# --- what is selected, and what it says -------------------------------------------------------------------------------


def screen_of(seat: Seat) -> LibraryScreen:
    screen = seat.app.flight_screen()
    assert isinstance(screen, LibraryScreen)
    return screen


async def select(seat: Seat, name: str) -> Path:
    """Select a recording by its directory's name."""
    screen = screen_of(seat)
    one = next(one for one in screen.recordings.values() if one.path.name == name)
    await seat.press("2")
    screen.board.panels["recordings"].selected = key_of(one.path)
    await seat.settle()
    return one.path


def test_the_flown_scenario_is_marked_and_selected(tmp_path: Path) -> None:
    console = library_with(tmp_path)
    assert isinstance(console.flight.source, StillFlight)

    async def script(seat: Seat) -> None:
        seat.app.flight.source.title = "poll-too-slow · seed 7"  # type: ignore[misc]
        await seat.press("H")
        drawn = screen_of(seat).board.panels["scenarios"].plain_text()
        (row,) = [row for row in drawn.splitlines() if "▸" in row]
        assert "▸ ▶  poll-too-slow" in row
        await seat.press("down")
        drawn = screen_of(seat).board.panels["scenarios"].plain_text()
        assert "  ▶  poll-too-slow" in drawn, "the mark stays where it was"
        assert "▸ ▶" not in drawn

    sit(script, app=console)


def test_scenarios_stand_in_the_order_of_the_course(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("H", "g")
        rows = screen_of(seat).board.panels["scenarios"].plain_text().splitlines()[2:]
        names = [lesson.name for lesson in lessons()]
        assert [row[2:].replace("▶", "").split()[0] for row in rows[:7]] == names[:7]

    sit(script, app=library_with(tmp_path))


def test_the_lesson_can_be_read_on_a_small_terminal(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("H", "g")
        panels = screen_of(seat).board.panels
        assert panels["lesson"].size.height >= 9
        lesson = lessons()[0].lesson.split()
        await seat.press("3")
        assert panels["lesson"].size.height >= 12
        seen: list[str] = []
        for _ in range(20):
            seen += [row for row in panels["lesson"].plain_text().splitlines()[1:] if row not in seen]
            await seat.press("down")
        assert " ".join(" ".join(seen).split()).endswith(" ".join(lesson))

    sit(script, app=library_with(tmp_path), size=(80, 24))


def test_recordings_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    a, b, c = Path("/x/one/a.flight"), Path("/x/two/a.flight"), Path("/x/two/b.flight")
    assert labels_of([a, b, c]) == {a: "one/a.flight", b: "two/a.flight", c: "b.flight"}
    (tmp_path / "mine").mkdir()
    console = library_with(tmp_path / "mine")
    shutil.copytree(recording(), console.directory / "first-flight.flight")

    async def script(seat: Seat) -> None:
        await seat.press("H")
        said = seat.text()
        assert "mine/first-flight.flight" in said
        assert "samples/first-flight.flight" in said

    sit(script, app=console, size=(160, 40))


@pytest.mark.parametrize("width", [80, 120, 160])
def test_rows_of_recordings_say_what_their_files_hold(tmp_path: Path, width: int) -> None:
    library_with(tmp_path)
    found = {key_of(one.path): one for one in find_recordings([tmp_path])}
    shelf = ShelfState(marked=[tmp_path / "mine.flight"])
    listing = RecordingsListing(found, tmp_path, shelf, width)
    for key, one in found.items():
        assert faults_of(plain(listing.rows(key)[0]), one.path) == []


def test_the_judge_finds_false_rows(tmp_path: Path) -> None:
    library_with(tmp_path)
    found = {one.path.name: one for one in find_recordings([tmp_path])}
    mine, torn = found["mine.flight"], found["torn.flight"]
    false = {
        "events": msgspec.structs.replace(mine, events=(mine.events or 0) + 1),
        "length": msgspec.structs.replace(mine, virtual_us=(mine.virtual_us or 0) + 60 * SECOND_US),
        "seed": msgspec.structs.replace(mine, seed=mine.seed + 1),
        "date": msgspec.structs.replace(mine, started="2001-01-01T00:00:00"),
        "scenario": msgspec.structs.replace(mine, scenario="another"),
        "state": msgspec.structs.replace(torn, virtual_us=5, events=5),
        "closed": msgspec.structs.replace(found["odd.flight"], failure="", virtual_us=0, events=0),
    }
    for told, one in false.items():
        listing = RecordingsListing({"key": one}, tmp_path, ShelfState(), 160)
        assert faults_of(plain(listing.rows("key")[0]), one.path) != [], told


# --- compared and deleted ---------------------------------------------------------------------------------------------


def test_two_marked_recordings_are_compared(tmp_path: Path) -> None:
    shutil.copytree(recording(), tmp_path / "other.flight")

    async def script(seat: Seat) -> None:
        await seat.press("H", "c")
        assert MARK_FIRST in seat.notices()
        await select(seat, "mine.flight")
        await seat.press("m", "c")
        assert MARK_FIRST in seat.notices(), "a recording is not compared with itself"
        await select(seat, "other.flight")
        await seat.press("m")
        drawn = screen_of(seat).board.panels["recordings"].plain_text()
        assert "  A  mine.flight" in drawn
        assert "▸ B  other.flight" in drawn
        await seat.press("escape", "H")
        assert "  A  mine.flight" in screen_of(seat).board.panels["recordings"].plain_text(), "marks are kept"
        found, screen_of(seat).recordings = screen_of(seat).recordings, {}
        seat.app.paint()  # as a frame before the new screen has read the directory
        screen_of(seat).recordings = found
        await select(seat, "odd.flight")
        await seat.press("m")
        assert any("A and B are marked" in notice for notice in seat.notices())
        await seat.press("c")
        work = seat.app.forking._work
        assert work is not None
        while not work.poll().ended:
            work._pipe.poll(5.0)
        await seat.settle()
        await seat.settle()
        screen = seat.app.flight_screen()
        assert isinstance(screen, ComparisonScreen)
        assert screen.beside is not None
        names = [Path(course.recording).name for course in screen._courses()]
        assert names == ["mine.flight", "other.flight"]

    sit(script, app=library_with(tmp_path))


def test_a_recording_is_deleted_after_a_second_press(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("H", "d")
        assert "select a recording first" in seat.notices()
        path = await select(seat, "torn.flight")
        await seat.press("d")
        assert path.is_dir()
        assert any(
            f"it has no end, another process may still write it; d again deletes {path}" in notice
            for notice in seat.notices()
        )
        mine = await select(seat, "mine.flight")
        await seat.press("d")
        assert mine.is_dir(), "another recording is asked for, too"
        await select(seat, "torn.flight")
        await seat.press("d", "d")
        assert not path.exists()
        assert key_of(path) not in screen_of(seat).recordings
        assert mine.is_dir()
        assert "torn.flight" not in screen_of(seat).board.panels["recordings"].plain_text()

    sit(script, app=library_with(tmp_path))


def test_what_is_not_a_recording_of_ours_is_not_deleted(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        await seat.press("H")
        broken = await select(seat, "broken.flight")
        await seat.press("d", "d")
        assert broken.is_dir()
        assert any("broken.flight is not deleted: " in notice for notice in seat.notices())
        mine = await select(seat, "mine.flight")
        (mine / "notes.txt").write_text("mine")
        await seat.press("d", "d")
        assert len(list(mine.iterdir())) > 2
        assert any("notes.txt is not part of a recording" in notice for notice in seat.notices())
        sample = next(one.path for one in screen_of(seat).recordings.values() if one.path.parent.name == "samples")
        await select(seat, sample.name)
        await seat.press("d", "d")
        assert sample.is_dir()
        assert any("belongs to Flightdeck: it is not deleted" in notice for notice in seat.notices())

    sit(script, app=library_with(tmp_path))


def test_a_recording_in_use_is_not_deleted(tmp_path: Path) -> None:
    async def script(seat: Seat) -> None:
        source = seat.app.flight.source
        assert isinstance(source, StillFlight)
        source.recording = str(tmp_path / "torn.flight")
        await seat.press("H")
        await select(seat, "torn.flight")
        assert "writing" in screen_of(seat).board.panels["recordings"].plain_text()
        await seat.press("d", "d")
        assert (tmp_path / "torn.flight").is_dir()
        assert "torn.flight is being written: it is not deleted" in seat.notices()
        source.recording = ""
        mine = await select(seat, "mine.flight")
        await seat.press("enter")
        assert isinstance(seat.app.flight.source, Player)
        await go(seat, "go library")
        panel = screen_of(seat).board.panels["recordings"]
        assert panel.has_focus
        assert panel.selected == key_of(mine), "what is played is selected"
        assert "▸ ▶  mine.flight" in panel.plain_text()
        await seat.press("d", "d")
        assert mine.is_dir()
        assert "mine.flight is being played: it is not deleted" in seat.notices()

    sit(script, app=library_with(tmp_path))
