"""`flightdeck alerts`: words first, then tables; rule files and their errors."""

import json
from pathlib import Path

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from tests.support.console.command_processes import Flightdeck
from tests.support.minimal_scenario import DECLARED


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alerts") / "killed.flight"
    text = f'title = "All die"\nuntil = "60s"\n{DECLARED}'
    for member in (1, 2):
        text += f'[[at]]\ntime = "1{member}s"\ndo = "kill billing-{member}"\n'
    fly(make_plan(parse_scenario(text, "killed.toml")), record=path)
    return path


def test_the_best_rule_is_named_before_the_tables(flightdeck: Flightdeck, killed: Path) -> None:
    ended = flightdeck("alerts", killed)
    assert ended.code == 0, ended.err
    first, basis, *table = ended.out.splitlines()
    assert " is the best rule: it finds " in first
    assert "2 faults" in first
    assert basis == "1 flight: 2 faults hurt a group."
    assert table[1].split() == ["rule", "found", "missed", "hidden", "median", "delay", "false", "unexplained"]
    assert any(line.split() == ["rule", "kill", "of", "consumer"] for line in table)


def test_a_rule_file_of_ones_own_replaces_the_classic_rules(
    flightdeck: Flightdeck, killed: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[rule]]\nname = 'mine'\nkind = 'time_lag'\nage = '15s'\n")
    report = json.loads(flightdeck("alerts", file, killed, "--json").out)
    (rule,) = report["leaderboard"]["scores"]
    assert (rule["rule"], rule["missed"]) == ("mine", 0)
    (alert,) = report["flights"][0]["alerts"]
    assert alert["group"] == "billing"
    file.write_text("[[rule]]\nname = 'mine'\nkind = 'time_lagg'\n")
    ended = flightdeck("alerts", file, killed)
    assert (ended.code, ended.out) == (2, "")
    assert f"{file}:3: kind: 'time_lagg' is none of" in ended.err
    assert "did you mean time_lag?" in ended.err


def test_a_rule_file_alone_is_a_usage_error(flightdeck: Flightdeck, tmp_path: Path) -> None:
    ended = flightdeck("alerts", tmp_path / "mine.toml")
    assert ended.code == 2
    assert "name at least one recording" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name at least one recording, or give --games N"),
        (("--games", "3"), "--games and --master: give --out DIR"),
        (("--games", "0", "--out", "x"), "--games: from 1 to 10,000"),
        (("--games", "3", "--level", "9", "--out", "x"), "--level: from 1 to 6"),
        (("tests",), "tests holds no recording"),
    ],
)
def test_what_cannot_be_scored_is_refused(flightdeck: Flightdeck, words: tuple[str, ...], message: str) -> None:
    ended = flightdeck("alerts", *words)
    assert ended.code == 2
    assert message in ended.err
