"""The examples: each is a page, flies in seconds, and does what it says."""

from pathlib import Path

import pytest

from recordings.flights.runner import FlightResult, fly, make_plan
from recordings.scenarios.loader import load
from tests.support.repository import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
MOST_LINES, MOST_EVENTS = 80, 300_000
MOMENT_US = 5_000_000
KINDS = ("static", "dynamic")


def flown(file: Path, until_us: int | None = None) -> FlightResult:
    return fly(make_plan(load(str(file)), until_us=until_us))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_a_page_and_begins_to_fly(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert flown(file, MOMENT_US).events > 0


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_does_what_it_expects(file: Path) -> None:
    result = flown(file)
    assert result.events <= MOST_EVENTS
    assert result.expectations
    assert all(each["ok"] is True and "already" not in each for each in result.expectations), result.expectations
    assert result.invariants["violations"] == []


@pytest.mark.slow
def test_static_members_pay_in_unread_partitions_and_dynamic_ones_in_rebalances() -> None:
    static, dynamic = (flown(ROOT / "examples" / f"deploy-{kind}.toml").view["groups"]["billing"] for kind in KINDS)
    assert static["rebalances"] == 0
    assert static["stopped_partition_ms"] > 50 * dynamic["stopped_partition_ms"]
    assert dynamic["rebalances"] > 40
