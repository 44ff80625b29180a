"""Playback scripts: pictures, captions, expectations; `flightdeck play` and its errors."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from console.app import FlightdeckApp
from console.cli import execution as cli
from console.script_runner import ScriptRunner
from recordings.journal.catalogue import SAMPLES
from recordings.journal.format import FOOTER
from recordings.journal.reader import Recording
from recordings.journal.script import parse_script
from recordings.journal.writer import Recorder
from tests.support.console.recorded_flight import player, recording
from tests.support.repository import ROOT

DOCS = ROOT / "docs"
SCRIPT = """
title = "A member dies"

[[step]]
at = "8s"
expect = "groups.billing.members == 2"
shows = "billing"
shot = "before.svg"

[[step]]
do = "go billing"
say = "billing-2 has just died, and nobody knows it yet"
shows = "billing-2 has just died, and nobody knows it yet"

[[step]]
at = "13s"
shows = "coordinator broker-2 is down: nothing can complete"
shot = "died.svg"

[[step]]
do = "until groups.billing.members == 3 && now_ms > 16500"
expect = "members['billing-2'].alive"

[[step]]
do = "press escape H"
shows = "first-flight"

[[step]]
at = "9s"
do = "go +500ms"
expect = "now_ms == 9500"
"""


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Play = Callable[..., Ended]


@pytest.fixture
def play(capsys: pytest.CaptureFixture[str]) -> Play:
    def run(*words: object) -> Ended:
        try:
            code = cli._run(["play", *(str(word) for word in words)])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "tour.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.slow
def test_a_script_goes_through_a_recording_and_takes_pictures(play: Play, script: Callable[[str], Path]) -> None:
    path = script(SCRIPT)
    ended = play(recording(), "--headless", "--script", path)
    assert (ended.code, ended.err) == (0, "")
    assert "6 steps" in ended.out
    before, died = path.with_name("before.svg"), path.with_name("died.svg")
    assert "▸" in before.read_text()
    assert "generation" in died.read_text()
    first = died.read_bytes()
    assert play(recording(), "--headless", "--script", path).code == 0
    assert died.read_bytes() == first


def test_a_script_that_is_left_says_how_far_it_went(play: Play, script: Callable[[str], Path]) -> None:
    path = script('title = "x"\n[[step]]\nat = "8s"\n[[step]]\ndo = "press q"\n[[step]]\nexpect = "false"\n')
    ended = play(recording(), "--headless", "--script", path)
    assert (ended.code, ended.err) == (0, "")
    assert f"stopped after 2 of 3 steps of {path}: all expectations held" in ended.out


def test_what_is_not_as_expected_is_exit_code_1_and_names_its_step(play: Play, script: Callable[[str], Path]) -> None:
    path = script(
        'title = "x"\n[[step]]\nat = "8s"\nexpect = "groups.billing.members == 2"\n'
        '[[step]]\nexpect = "groups.billing.members == 3"\n[[step]]\nshows = "no such words"\n'
    )
    ended = play(recording(), "--headless", "--script", path)
    assert ended.code == 1
    assert f"{path}:5: step 2 at 00:00:08.000: groups.billing.members == 3 does not hold" in ended.err
    assert "groups.billing.members = 2" in ended.err
    assert f"{path}:7: step 3 at 00:00:08.000: the screen does not show 'no such words'" in ended.err
    assert "as expected" not in ended.out


@pytest.mark.parametrize("do", ["until groups.billing.members == 99", "step group_deleted"])
def test_a_search_of_a_script_that_finds_nothing_fails(play: Play, script: Callable[[str], Path], do: str) -> None:
    path = script(f'title = "x"\n[[step]]\nat = "8s"\n[[step]]\ndo = "{do}"\n[[step]]\nexpect = "now_ms == 8000"\n')
    ended = play(recording(), "--headless", "--script", path)
    assert ended.code == 1
    assert ended.err.splitlines() == [
        f"flightdeck: {path}:4: step 2 at 00:00:08.000: {do}: no match in the rest of the recording"
    ]


def test_a_script_that_cannot_be_done_is_exit_code_2_with_its_lines(play: Play, script: Callable[[str], Path]) -> None:
    path = script(
        'title = "x"\n[[step]]\nat = "10m"\n[[step]]\ndo = "kill billing-1"\n[[step]]\ndo = "go biling"\n'
        '[[step]]\ndo = "until grops.x == 1"\n[[step]]\ndo = "record x.flight"\n'
    )
    ended = play(recording(), "--headless", "--script", path)
    assert ended.code == 2
    lines = ended.err.splitlines()
    assert [line.rpartition("tour.toml:")[2].partition(":")[0] for line in lines] == ["2", "4", "6", "8", "10"]
    assert "after the end of the recording" in lines[0]
    assert "a recording is read-only" in lines[1]
    assert "did you mean billing?" in lines[2]
    assert "did you mean groups" in lines[3]


def test_a_script_with_mistakes_is_exit_code_2(play: Play, script: Callable[[str], Path], tmp_path: Path) -> None:
    ended = play(recording(), "--headless", "--script", script('title = "x"\n[[step]]\nsay = 3\n'))
    assert ended.code == 2
    assert "tour.toml:3:" in ended.err
    assert play(recording(), "--headless", "--script", tmp_path / "none.toml").code == 2


def words(picture: Path) -> list[str]:
    return re.findall(r">([^<]*)</text>", picture.read_text("utf-8"))


def test_the_readmes_pictures_show_what_they_are_to_show(play: Play, tmp_path: Path) -> None:
    path = Path(shutil.copy(DOCS / "pictures.toml", tmp_path))
    sample = shutil.copytree(SAMPLES / "first-flight.flight", tmp_path / "first-flight.flight")
    ended = play(sample, "--headless", "--script", path)
    assert (ended.code, ended.err) == (0, "")
    taken = {file.name: words(file) for file in tmp_path.glob("*.svg")}
    assert set(taken) == {"console.svg", "group.svg"}
    assert taken == {name: words(DOCS / name) for name in taken}, "docs/pictures.toml says how to take them anew"


def test_on_a_screen_it_says_what_it_shows_and_leaves_the_recording_to_who_watches(tmp_path: Path) -> None:
    text = 'title = "x"\n[[step]]\nat = "8s"\nsay = "look"\n[[step]]\nat = "9s"\ndo = "go billing"\nexpect = "1 == 2"\n'
    one = player()
    runner = ScriptRunner(parse_script(text, "x.toml"), "x.toml", one, tmp_path, watched=True)
    seen: list[str] = []

    async def wait(app: FlightdeckApp, seconds: float) -> None:
        seen.append(f"{app.caption} for {seconds} s at {app.flight.now_us}")

    runner._wait = wait  # type: ignore[method-assign]
    console = FlightdeckApp(source=one)

    async def run(pilot: object) -> None:
        await runner.run(pilot)  # type: ignore[arg-type]
        assert console.is_running
        assert console.place() == "billing"
        console.exit()

    console.run(headless=True, size=(120, 40), auto_pilot=run)
    assert seen == ["look for 1.5 s at 8000000"]
    assert console.caption == ""
    assert len(runner.failures) == 1


# --- the command ------------------------------------------------------------------------------------------------------


def test_without_a_script_a_recording_is_verified(play: Play) -> None:
    ended = play(recording(), "--headless")
    assert ended.code == 0
    assert f"{Recording(recording()).survey().totals.events:,} events: every event is readable" in ended.out


def test_what_is_no_recording_is_exit_code_2(play: Play, tmp_path: Path) -> None:
    ended = play(tmp_path / "none.flight", "--headless")
    assert ended.code == 2
    assert "does not exist" in ended.err
    assert len(ended.err.splitlines()) == 1
    (tmp_path / "empty.flight").mkdir()
    assert "it has no header.json" in play(tmp_path / "empty.flight").err


def test_without_a_terminal_it_says_how_to_play(play: Play) -> None:
    ended = play(recording())
    assert ended.code == 2
    assert "--headless" in ended.err


def test_a_torn_tail_is_warned_of_and_played(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "torn.flight"
    whole = Recording(recording())
    torn = Recorder(path, whole.header)
    for event in whole.events():
        torn(event)
    torn.close(turns=1, virtual_us=20_000_000)
    (path / FOOTER).unlink()
    ended = play(path, "--headless")
    assert ended.code == 0
    assert "warning: the flight has no end" in ended.err
    assert player(path=path).warning.startswith("the flight has no end")


def test_a_damaged_middle_is_refused_with_its_place_and_salvaged(play: Play, tmp_path: Path) -> None:
    path = tmp_path / "damaged.flight"
    shutil.copytree(recording(), path)
    segment = next(path.glob("segment-*.jsonl"))
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[len(lines) // 2] = b"{\n"
    segment.write_bytes(b"".join(lines))
    ended = play(path, "--headless")
    assert ended.code == 2
    assert f"is damaged at segment-000001.jsonl, line {len(lines) // 2 + 1}" in ended.err
    salvaged = play(path, "--headless", "--salvage")
    assert salvaged.code == 0
    assert "warning" in salvaged.err
