"""`flightdeck plan`: the table and its sentence, exit codes, a kill in the middle, and Ctrl-C."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from recordings.planning.storage import FLIGHTS
from tests.support.console.command_processes import Flightdeck, command
from tests.support.minimal_scenario import DECLARED
from tests.support.repository import ROOT

KILLED = f"""
title = "A member dies"
until = "40s"
{DECLARED}[[at]]
time = "14s"
do = "kill billing-2"
"""
VARIED = ("--vary", "billing:session.timeout.ms=20000,10000")


@pytest.fixture
def killed(tmp_path: Path) -> str:
    path = tmp_path / "killed.toml"
    path.write_text(KILLED)
    return str(path)


def test_the_table_strikes_the_dominated_row_and_recommends_the_other(flightdeck: Flightdeck, killed: str) -> None:
    ended = flightdeck("plan", killed, *VARIED, "--seeds", "3", "--jobs", "1")
    assert ended.code == 0, ended.err
    rows = [line for line in ended.out.splitlines() if re.match(r" +\d ", line)]
    assert rows[0].endswith("✗ dominated by row 2")
    assert rows[1].endswith("★ recommended")
    assert "\x1b" not in ended.out
    (sentence,) = (line for line in ended.out.splitlines() if line.startswith("Recommended"))
    assert re.fullmatch(
        r"Recommended: row 2 \(billing:session\.timeout\.ms=10000\): 20\.\d unread partition-seconds instead of 38\.\d"
        r" with row 1 \(billing:session\.timeout\.ms=20000\); less with 3 of 3 seeds, by 18\.0\.",
        sentence,
    )
    assert "3 seeds are few: from 8 on the confidence is 99%." in ended.out
    (same,) = (line for line in ended.out.splitlines() if line.startswith("The same in every row: "))
    assert same.endswith(". All other measures are 0.")
    assert " 0 " not in same, "a measure that is 0 is not listed"


@pytest.mark.slow
def test_the_replayed_flights_are_those_of_the_plan(flightdeck: Flightdeck, killed: str, tmp_path: Path) -> None:
    report = json.loads(
        flightdeck("plan", killed, *VARIED, "--seeds", "2", "--set", "checkout:rate=20/s", "--jobs", "1", "--json").out
    )
    flown = {(each["row"] + 1, each["seed"]): each["journal_sha256"] for each in report["flights"]}
    assert len(flown) == 4
    *replays, compared = report["replay"]
    assert compared == "flightdeck diff killed-row-2-seed-1.flight killed-row-1-seed-1.flight"
    decided = report["recommendation"]
    for row, text in zip((decided["row"], decided["instead_of"]), replays, strict=True):
        words = text.split()
        assert words[:3] == ["flightdeck", "run", killed]
        words[words.index("--record") + 1] = str(tmp_path / words[-1])
        assert json.loads(flightdeck(*words[1:], "--json").out)["journal_sha256"] == flown[row, decided["seed"]]
    assert report["measures"][0] == {"field": "unread_partition_us", "name": "unread", "unit": "partition-seconds"}
    assert [row["settings"] for row in report["rows"]] == [
        [f"billing:session.timeout.ms={ms}"] for ms in (20000, 10000)
    ]


def test_a_row_that_is_not_judged_makes_the_exit_code_1(flightdeck: Flightdeck, killed: str) -> None:
    varied = ("--vary", "session.timeout.ms=45000,5000", "--vary", "heartbeat.interval.ms=3000,6000")
    ended = flightdeck("plan", killed, *varied, "--seeds", "1", "--until", "2s", "--jobs", "1")
    assert ended.code == 1
    assert "✖ not judged: 1 failed" in ended.out
    assert "heartbeat.interval.ms=6000: heartbeat.interval.ms (6000) must be below" in ended.out
    assert "4 rows × 1 seed (1)" in ended.out
    assert "as far as 1 seed can tell" in ended.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--vary", "members"], "varies nothing"),
        (["--vary", "membres=1,2"], "did you mean members?"),
        (
            ["--vary", "session.timeout.ms=45000,2000"],
            "no flight was started: session.timeout.ms=2000: heartbeat.interval",
        ),
        (
            ["--vary", "assignors=range,rnge", "--vary", "members=3,2"],
            "no flight was started: assignors=rnge: ",
        ),
        ([*VARIED, "--seeds", "0"], "--seeds: from 1 to 1000"),
        ([*VARIED, "--jobs", "0"], "--jobs: from 1 to 256 processes"),
        ([*VARIED, "--out", "killed.toml"], "is not a plan's directory"),
        ([], "--vary"),
    ],
)
def test_bad_input(
    words: list[str], reason: str, flightdeck: Flightdeck, killed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(killed).parent)
    ended = flightdeck("plan", killed, *words)
    assert (ended.code, ended.out) == (2, "")
    assert reason in ended.err


def begun(killed: str, out: Path, flights: int) -> subprocess.Popen[bytes]:
    """A plan of 10 flights in two processes that has kept so many."""
    words = command("plan", killed, *VARIED, "--seeds", "5", "--no-invariants", "--jobs", "2", "--out", out)
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (out / FLIGHTS).exists() or (out / FLIGHTS).read_bytes().count(b"\n") < flights:
        with pytest.raises(subprocess.TimeoutExpired):  # it must not end by itself
            process.wait(0.01)
    return process


@pytest.mark.slow
def test_a_plan_that_was_killed_flies_what_is_missing(flightdeck: Flightdeck, killed: str, tmp_path: Path) -> None:
    out = tmp_path / "plan"
    process = begun(killed, out, 3)
    process.kill()
    process.communicate()
    kept = [line for line in (out / FLIGHTS).read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    assert 3 <= len(kept) < 10
    report = json.loads(
        flightdeck(
            "plan", killed, *VARIED, "--seeds", "5", "--no-invariants", "--jobs", "1", "--out", out, "--json"
        ).out
    )
    lines = (out / FLIGHTS).read_bytes().splitlines(keepends=True)
    assert lines[: len(kept)] == kept
    assert (len(lines), report["flown_now"], report["missing"]) == (10, 10 - len(kept), 0)
    flown = [(each["row"], each["seed"]) for each in map(json.loads, lines)]
    assert sorted(flown) == [(row, seed) for row in (0, 1) for seed in range(1, 6)]


@pytest.mark.slow
def test_ctrl_c_judges_what_was_flown_and_says_how_to_go_on(killed: str, tmp_path: Path) -> None:
    process = begun(killed, tmp_path / "plan", 4)
    process.send_signal(signal.SIGINT)
    out, error = (text.decode() for text in process.communicate(timeout=30))
    assert process.returncode == 1
    assert re.search(r"interrupted: \d+ flights are missing; the same command with --out \S+/plan continues", error)
    assert "Traceback" not in error
    assert "Recommended: row 2" in out
