"""The examples: each is a page and flies. docs/examples.md has what they do, and is followed."""

from pathlib import Path

import pytest

from recordings.flights.runner import FlightResult, fly, make_plan
from recordings.lint.linter import lint
from recordings.scenarios.loader import load
from tests.support.repository import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
MOST_LINES = 80
MOMENT_US = 5_000_000


def flown(file: Path, until_us: int | None = None) -> FlightResult:
    return fly(make_plan(load(str(file)), until_us=until_us))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_a_page_and_begins_to_fly(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert flown(file, MOMENT_US).events > 0


def test_lint_finds_nothing_in_the_examples() -> None:
    assert lint(EXAMPLES).findings == ()
