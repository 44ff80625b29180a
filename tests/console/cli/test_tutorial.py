"""docs/tutorial.md, docs/scaling.md: a reader who types their commands sees what they show."""

from pathlib import Path

import pytest

from console.cli.main import COMMANDS
from tests.support.console.command_processes import Flightdeck
from tests.support.console.console_page import Shown, files, is_what_one_sees, shown
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
SCALING = (ROOT / "docs" / "scaling.md").read_text("utf-8")
WHAT_IF = "rerun"
"""It takes as long as all other commands of the page."""
DIFFERENT = {WHAT_IF, "diff"}
"""Commands that end with 1: the what-if breaks an expectation, and two flights differ."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader stands: beside examples/, with the files that the page says to save."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name, text in files(PAGE + SCALING).items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def follow(flightdeck: Flightdeck, steps: list[Shown]) -> None:
    for words, output in steps:
        ended = flightdeck(*words[1:])
        assert (ended.code, ended.err) == (int(words[1] in DIFFERENT), ""), words
        assert is_what_one_sees(output, ended.out), f"{' '.join(words)} prints:\n{ended.out}"


@pytest.mark.usefixtures("folder")
def test_what_is_typed_prints_what_the_page_shows(flightdeck: Flightdeck) -> None:
    steps = [step for step in shown(PAGE) if step.words[1] != WHAT_IF]
    assert {step.words[1] for step in steps} >= {"run", "summary", "new", "import", "read", "diff"}
    follow(flightdeck, steps)


@pytest.mark.timeout(600)  # two flights, and their comparison, on a machine that may be busy
@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_what_if_prints_what_the_page_shows(flightdeck: Flightdeck) -> None:
    first = shown(PAGE)[0]
    (what_if,) = [step for step in shown(PAGE) if step.words[1] == WHAT_IF]
    assert what_if.words[2] == first.words[-1]
    follow(flightdeck, [first, what_if])


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_scaled_flights_print_what_the_page_shows(flightdeck: Flightdeck) -> None:
    steps = shown(SCALING)
    assert [step.words[1] for step in steps] == ["run", "run", "diff", "run"]
    follow(flightdeck, steps)


def test_every_command_of_the_page_is_one_and_nothing_else_is_typed() -> None:
    typed = [words for words, _ in shown(PAGE)]
    assert all(words[0] == "flightdeck" and words[1] in COMMANDS for words in typed)


@pytest.mark.parametrize("wrong", ["9,601 produced", "9,600 produced\nmore", ""])
def test_a_page_that_is_out_of_date_is_found(wrong: str) -> None:
    printed = "session-expired in 3.1 s\n9,600 produced\n"
    assert is_what_one_sees("session-expired in … s\n9,600 produced\n", printed)
    assert is_what_one_sees("…\n9,600 produced\n", printed)
    assert not is_what_one_sees(f"session-expired in … s\n{wrong}\n", printed)
    assert not is_what_one_sees(f"…\n{wrong}x\n…\n", printed)
