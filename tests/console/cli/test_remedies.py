"""`flightdeck summary --remedies`: below the tables, in the JSON, and what is refused."""

import json
from pathlib import Path

import pytest

from recordings.remedies.search import RemediesSearch
from tests.support.console.command_processes import Flightdeck


@pytest.fixture
def recording(flightdeck: Flightdeck, small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("recordings.remedies.search.cores", lambda: 1)  # flights in this process
    path = str(tmp_path / "small.flight")
    assert flightdeck("run", small, "--until", "20s", "--record", path).code == 0
    return path


def test_the_tables_are_followed_by_the_remedies(flightdeck: Flightdeck, recording: str) -> None:
    plain = flightdeck("summary", recording).out.rstrip("\n")
    for words in (("--remedies",), ("--remedies", "billing"), ("--remedies", "1")):
        ended = flightdeck("summary", recording, *words)
        assert ended.code == 0, ended.err
        assert ended.out.startswith(plain)
        lines = ended.out[len(plain) :].strip().splitlines()
        assert lines[0].startswith("remedies for billing, generation 1: member joined (billing-")
        late = "group.initial.rebalance.delay.ms = 10000: worse: the group has not formed when the flight ends"
        assert lines[1] == f"  ✖ {late}"
        assert lines[2].startswith("  ✖ group.initial.rebalance.delay.ms = 0: worse: ")
        assert "1 more rebalance" in lines[2]
        assert lines[3:] == ["  Every setting that was tried costs more."]


def test_the_json_has_them_only_if_they_were_asked_for(flightdeck: Flightdeck, recording: str) -> None:
    assert "remedies" not in json.loads(flightdeck("summary", recording, "--json").out)
    (found,) = json.loads(flightdeck("summary", recording, "--remedies", "--json").out)["remedies"]
    assert found["group"] == "billing"
    assert [remedy["effect"] for remedy in found["remedies"]] == ["worse", "worse"]


def test_a_word_that_names_nothing_is_bad_input(flightdeck: Flightdeck, recording: str) -> None:
    several = flightdeck("summary", recording, recording, "--remedies")
    assert (several.code, several.err) == (2, "flightdeck: --remedies: give one recording; several are ranked\n")
    ended = flightdeck("summary", recording, "--remedies", "biling")
    assert (ended.code, ended.out) == (2, "")
    assert "--remedies biling: the recording has no group and no rebalance of this name" in ended.err


def test_an_interrupted_search_says_so(flightdeck: Flightdeck, recording: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = RemediesSearch(found=[], interrupted=True, warnings=[])
    monkeypatch.setattr("recordings.remedies.search.find_remedies", lambda *_, **__: nothing)
    ended = flightdeck("summary", recording, "--remedies")
    assert ended.code == 1
    assert ended.out.endswith("interrupted: the other remedies were not measured\n")
