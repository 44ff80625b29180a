"""A flight that is killed while it is recorded: what is on disk can be opened, played, exported and flown again."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from console.cli import execution as cli
from recordings.journal.reader import Recording
from tests.support.console.command_processes import command
from tests.support.repository import ROOT

BUSY = """
title = "Much to write"
[[topic]]
name = "orders"
partitions = 12
[[producer]]
name = "checkout"
topics = ["orders"]
count = 4
rate = "200/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 3
config = { "session.timeout.ms" = 6000 }
[[at]]
time = "20s"
do = "kill billing-2 for 20s"
[[at]]
time = "50s"
do = "kill broker-2 for 15s"
[[at]]
time = "90s"
do = "scale billing to 5"
"""
UNDER_WAY = 1_001  # events: a recording is written by the thousand
LONGEST_S = 5.0  # several keyframes, and a segment that was finished and compressed


class Killed(NamedTuple):
    """What one kill left behind."""

    after_s: float
    events: int
    torn: bool
    segments: int
    keyframes: int


def kill_at(path: Path, scenario: Path, seed: int, after_s: float, least_events: int) -> None:
    """Fly until `after_s` of wall time after the recording began and so many events are written: then SIGKILL."""
    process = subprocess.Popen(
        command("run", scenario, "--forever", "--seed", seed, "--record", path),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (path / "header.json").exists():
        with pytest.raises(subprocess.TimeoutExpired):  # it must not end by itself
            process.wait(0.01)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(after_s)
    while whole_lines(path)[0] < least_events:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
    process.kill()
    process.wait()


def whole_lines(path: Path) -> tuple[int, bool]:
    """The events of a crashed recording as its text has them, and whether its last line is torn."""
    text = b"".join(
        segment.read_bytes() for segment in sorted(path.glob("segment-*")) if segment.suffix in {".jsonl", ".part"}
    )
    last = [line for line in text[: text.rfind(b"\n") + 1].splitlines() if line.startswith(b'{"kind"')][-1:]
    return (json.loads(last[0])["seq"] if last else 0), bool(text) and not text.endswith(b"\n")


def judge(path: Path, capsys: pytest.CaptureFixture[str], to: Path, after_s: float) -> Killed:
    """Open, play, summarize, export and fly again what a kill left; all of them must say the same."""
    assert not (path / "footer.json").exists()
    recording = Recording(path)
    events = sum(1 for _ in recording.events())
    last, torn = whole_lines(path)
    assert last in {0, events}, "0: the last finished segment is compressed, and the next has no line yet"

    def flightdeck(*words: object) -> tuple[str, str]:
        capsys.readouterr()
        code = cli._run([str(word) for word in words])
        told = capsys.readouterr()
        assert code == 0, f"{words}: {told.err}"
        assert "Traceback" not in told.err
        return told.out, told.err

    assert f"{events:,} events: every event is readable" in flightdeck("play", path, "--headless")[0]
    assert json.loads(flightdeck("summary", path, "--json")[0])["events"] == events
    assert json.loads(flightdeck("export", path, "--to", to, "--json")[0])[0]["events"] == events
    out, warnings = flightdeck("rerun", path, "--json")
    again = json.loads(out)
    assert (again["matches"], again["compared_events"]) == (True, events)
    assert again["events"] == events or not events
    assert "warning: " in warnings
    return Killed(after_s, events, torn, len(recording.segments), len(list(path.glob("keyframes/*.zst"))))


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.campaign)])
def test_a_recording_survives_kill_9_at_any_moment(
    kills: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """One campaign, its moments from a seed; `pytest -m campaign -s FILE` prints figures."""
    scenario = tmp_path / "busy.toml"
    scenario.write_text(BUSY)
    moments = random.Random(f"{kills} kills")
    found = []
    for number in range(kills):
        after_s = moments.uniform(0, LONGEST_S if kills > 3 else 1.5) if number else 0.0
        path = tmp_path / f"{number}.flight"
        under_way = UNDER_WAY if number == kills - 1 else 0
        kill_at(path, scenario, number, after_s, under_way)
        found.append(judge(path, capsys, tmp_path / f"tables-{number}", after_s))
    if request.config.getoption("capture") == "no":
        with capsys.disabled():
            _print(found)
    assert found[-1].events >= UNDER_WAY


def _print(found: list[Killed]) -> None:
    lines = [f"{'killed after':>12}  {'events':>9}  torn  segments  keyframes"]
    for killed in found:
        after, torn = f"{killed.after_s:.2f} s", "yes" if killed.torn else "no"
        lines.append(f"{after:>12}  {killed.events:>9,}  {torn:>4}  {killed.segments:>8}  {killed.keyframes:>9}")
    lines.append(f"{len(found)} kills: each opened, played, summarized, exported, and flew again byte by byte")
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
