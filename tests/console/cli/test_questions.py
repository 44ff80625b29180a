"""The index of questions names commands and lessons that are there."""

import re
from pathlib import Path

from console.cli.main import BUILT
from recordings.scenarios.loader import library

INDEX = Path(__file__).parents[3] / "docs" / "questions.md"
ROW = re.compile(r"\| (\d+) \| [^|]+ \| `flightdeck ([^`]+)` \| ([^|]+) \| [^|]+ \|")


def test_each_of_the_eighteen_questions_has_a_command_and_a_lesson() -> None:
    rows = ROW.findall(INDEX.read_text("utf-8"))
    assert [int(number) for number, _, _ in rows] == list(range(1, 19))
    for number, command, lessons in rows:
        word = command.split()[0]
        assert word in BUILT or word == "--scenario", number
        names = re.findall(r"`([^`]+)`", lessons)
        assert names, number
        assert set(names) <= set(library()), number
