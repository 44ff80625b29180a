"""`flightdeck prove`: its answer, its exit codes, its files, and bad input."""

import json
from pathlib import Path

import pytest

from tests.support.console.command_processes import Flightdeck

WINDOW = ("--from", "8.03s", "--until", "8.24s")
PROVED = "at most 0 lost, at most 1 duplicated: proved for this scenario and seed, over "


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text("""
title = "One group"
until = "60s"
start_jitter = "0ms"
[cluster.config]
"offsets.topic.num.partitions" = 1
[[topic]]
name = "orders"
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "10/s"
[[group]]
name = "billing"
topics = ["orders"]
config = { "session.timeout.ms" = 6000 }
[group.application]
per_record = "5ms"
commit = "after-each-poll"
""")
    return str(path)


@pytest.mark.slow
def test_prove_says_its_bounds_once_and_writes_the_worst_schedule(
    flightdeck: Flightdeck, scenario: str, tmp_path: Path
) -> None:
    out = tmp_path / "worst"
    proved = flightdeck("prove", scenario, "billing", *WINDOW, "--out", out, "--jobs", 2)
    assert proved.code == 0
    assert proved.out.count("\n") == 11, proved.out
    assert "\n  fewer than 500 crash points: a longer window (--from, --until)" in proved.out
    assert PROVED in proved.out
    assert "killed: each member that owns partitions at that moment (billing-1)\n" in proved.out
    assert f"  most duplicated: {out}/worst-duplicated.toml" in proved.out
    again = flightdeck("run", out / "worst-duplicated.toml")
    assert again.code == 0
    assert "1 of 1 expectations held" in again.out
    assert flightdeck("rerun", out / "worst-duplicated.flight").code == 0
    refused = flightdeck("prove", scenario, "billing", *WINDOW, "--out", out)
    assert refused.code == 2
    assert "is not empty" in refused.err


@pytest.mark.slow
def test_a_bound_that_is_exceeded_ends_with_1(flightdeck: Flightdeck, scenario: str) -> None:
    exceeded = flightdeck("prove", scenario, "billing", *WINDOW, "--max-lost", 0, "--max-duplicated", 0, "--json")
    assert exceeded.code == 1
    report = json.loads(exceeded.out)
    assert report["exceeded"] == ["1 duplicated, more than --max-duplicated 0"]
    assert (report["lost"], report["duplicated"], report["proved"]) == (0, 1, True)
    assert report["verdict"].startswith(PROVED)
    assert report["worst"]["lost"] is None
    assert report["worst"]["duplicated"]["victim"] == "billing-1"
    assert report["crash_points"] >= report["events"]


def test_bad_input_is_told_before_a_flight(flightdeck: Flightdeck, scenario: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words, reason in (
        (("billin",), "has no group 'billin'; did you mean billing?"),
        (("billing", "--from", "3m"), "--from: the flight ends before"),
        (("billing", "--from", "9s", "--until", "8s"), "--until: the window ends before it begins"),
        (("billing", "--from", "1us", "--until", "2us"), "no event is in this window"),
        (("billing", "--kill", "zookeeper"), "zookeeper"),
        (("billing", "--max-lost", "-1"), "--max-lost: at least 0"),
        (("billing", "--jobs", "0"), "--jobs: from 1 to 256 processes"),
        (("billing", "--down", "0s"), "--down: a process needs time"),
        (("billing", "--out", str(tmp_path / "file" / "below")), "--out: "),
    ):
        refused = flightdeck("prove", scenario, *words)
        assert refused.code == 2, words
        assert reason in refused.err
