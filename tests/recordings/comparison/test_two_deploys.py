"""`diff` of one deploy of forty pods, with static and with dynamic members, says first what each costs."""

import re
from pathlib import Path

import pytest

from recordings.comparison.diff import FlightDiff, diff
from recordings.comparison.verdict import MOST_WORDS
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.repository import ROOT

FIRST_SENTENCE = re.compile(
    r"deploy-static costs ([\d,.]+) unread partition-seconds, 0 rebalances and .+;"
    r" deploy-dynamic costs ([\d.]+), (\d+) and .+\."
)


def compared(tmp_path: Path, until_us: int | None) -> FlightDiff:
    paths = []
    for kind in ("static", "dynamic"):
        paths.append(tmp_path / f"deploy-{kind}.flight")
        fly(make_plan(load(ROOT / "examples" / f"deploy-{kind}.toml"), until_us=until_us), record=paths[-1])
    return diff(*paths)


def costs(found: FlightDiff) -> tuple[float, float, int]:
    """Unread partition-seconds of both, and the rebalances of the dynamic members, as the first sentence has them."""
    assert len(found.verdict.split()) <= MOST_WORDS
    said = FIRST_SENTENCE.fullmatch(found.verdict)
    assert said is not None, found.verdict
    static, dynamic, rebalances = said.groups()
    return float(static.replace(",", "")), float(dynamic), int(rebalances)


def test_the_first_sentence_says_what_each_deploy_costs(tmp_path: Path) -> None:
    static, dynamic, rebalances = costs(compared(tmp_path, 100_000_000))
    assert static > 40 * dynamic
    assert rebalances > 1


@pytest.mark.slow
def test_the_whole_deploys_cost_what_the_examples_say(tmp_path: Path) -> None:
    static, dynamic, rebalances = costs(compared(tmp_path, None))
    assert 2_600 < static < 3_000
    assert 40 < dynamic < 70
    assert 40 <= rebalances <= 46
