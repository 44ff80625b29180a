"""The index of questions names commands, lessons and playbacks that are there; each playback shows its answer."""

import re
from pathlib import Path

import pytest

from console.cli.main import COMMANDS
from recordings.journal.script import load_script
from recordings.scenarios.loader import library
from tests.support.console.command_processes import Flightdeck
from tests.support.slow_cases import partly_campaign

DOCS = Path(__file__).parents[3] / "docs"
ROW = re.compile(r"\| (\d+) \| ([^|]+) \| `flightdeck ([^`]+)` \| ([^|]+) \| [^|]+ \| \[play\]\((playbacks/[^)]+)\) \|")
FLOWN = re.compile(
    r"# flightdeck run ([a-z-]+) --record ([a-z-]+)\.flight && flightdeck play \2\.flight --script (\S+)\n"
)


def rows() -> list[tuple[str, ...]]:
    return ROW.findall((DOCS / "questions.md").read_text("utf-8"))


def test_each_of_the_eighteen_questions_has_a_command_a_lesson_and_a_playback() -> None:
    assert [int(number) for number, *_ in rows()] == list(range(1, 19))
    for number, _, command, lessons, playback in rows():
        word = command.split()[0]
        assert word in COMMANDS or word == "--scenario", number
        names = re.findall(r"`([^`]+)`", lessons)
        assert names, number
        assert set(names) <= set(library()), number
        assert playback.startswith(f"playbacks/{int(number):02}-"), number
        assert (DOCS / playback).is_file(), number


def test_every_playback_shows_words_of_its_answer() -> None:
    found = sorted(path.name for path in (DOCS / "playbacks").glob("*.toml"))
    assert found == sorted(playback.removeprefix("playbacks/") for *_, playback in rows())
    for name in found:
        assert any(step.shows for step in load_script(DOCS / "playbacks" / name).steps), name


@pytest.mark.parametrize("playback", partly_campaign([row[-1] for row in rows()], 6))
def test_a_playback_shows_its_answer(flightdeck: Flightdeck, tmp_path: Path, playback: str) -> None:
    said = FLOWN.match((DOCS / playback).read_text("utf-8"))
    assert said is not None, "its first line says how it is flown and played"
    scenario, recording, script = said.groups()
    assert script == f"docs/{playback}"
    assert flightdeck("run", scenario, "--record", str(tmp_path / recording)).code == 0
    played = flightdeck("play", str(tmp_path / recording), "--headless", "--script", str(DOCS / playback))
    assert played.code == 0, played.out + played.err
