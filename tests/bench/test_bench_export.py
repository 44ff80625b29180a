"""How fast recordings become tables, and how much memory that takes.

    pytest tests/bench/test_bench_export.py -s                # ten minutes of reference-m, 900,000 events
    pytest tests/bench/test_bench_export.py -s -m slow        # an hour beside them: minutes

Each export runs in a process of its own. Speeds are printed, without the start of pyarrow (300,000 events a CPU second
are promised), never judged; judged is that memory does not grow with the recording.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.repository import ROOT

PROMISED = 300_000  # events a CPU second
TEN_MINUTES_US, HOUR_US = 600_000_000, 3_600_000_000
ROUNDS = 5
MOST_GROWTH = 1.25  # of the peak, for six times as many events

# Linux lets a process begin with the `ru_maxrss` of its parent, here of a flight of millions of events.
PROGRAM = """
import re, resource, sys, time
from pathlib import Path
import pyarrow.fs, pyarrow.parquet
from recordings.tables.export import export
began = time.process_time()
[said] = export([Path(sys.argv[1])], sys.argv[2])
busy, status = time.process_time() - began, Path("/proc/self/status")
if status.exists():
    peak = re.search(r"VmHWM:\\s+([0-9]+) kB", status.read_text())[1]
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(said.events, said.seconds, busy, said.bytes, peak)
"""
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere


class Figures(NamedTuple):
    """What one export did."""

    events: int
    seconds: float
    processor_seconds: float
    bytes: int
    peak_bytes: int

    @property
    def a_processor_second(self) -> float:
        """Events exported in a second of CPU time."""
        return self.events / self.processor_seconds


def record(path: Path, until_us: int) -> Path:
    """A flight of reference-m."""
    fly(make_plan(load("reference-m"), until_us=until_us), record=path)
    return path


def exported(recording: Path, to: Path) -> Figures:
    """Export once, in a new process; the figures are also printed."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, recording, to], capture_output=True, text=True, check=True, cwd=ROOT
    )
    events, seconds, busy, size, peak = answer.stdout.split()
    figures = Figures(int(events), float(seconds), float(busy), int(size), int(peak) * RSS_UNIT)
    sys.stdout.write(
        f"\n{figures.events:,} events: {figures.a_processor_second:,.0f} a CPU second,"
        f" {figures.events / figures.seconds:,.0f} a second,"
        f" {figures.bytes / figures.events:.1f} bytes each, {figures.peak_bytes >> 20} MiB at most"
    )
    return figures


@pytest.fixture(scope="module")
def ten_minutes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("bench") / "ten-minutes.flight", TEN_MINUTES_US)


@pytest.mark.timeout(600)
def test_ten_minutes_of_reference_m(ten_minutes: Path, tmp_path: Path) -> None:
    rounds = [exported(ten_minutes, tmp_path / f"out-{number}") for number in range(ROUNDS)]
    speeds = sorted(figures.a_processor_second for figures in rounds)
    sys.stdout.write(f"\nexport: median {speeds[ROUNDS // 2]:,.0f}, best {speeds[-1]:,.0f} (promised {PROMISED:,})\n")
    assert {figures.events for figures in rounds} == {rounds[0].events}


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_memory_does_not_grow_with_the_recording(ten_minutes: Path, tmp_path: Path) -> None:
    less = exported(ten_minutes, tmp_path / "less")
    more = exported(record(tmp_path / "hour.flight", HOUR_US), tmp_path / "more")
    assert more.events > 5.5 * less.events
    assert more.peak_bytes <= MOST_GROWTH * less.peak_bytes
