"""How fast recordings become tables, and how much memory that takes.

    pytest tests/bench/test_bench_export.py -s                # a million events
    pytest tests/bench/test_bench_export.py -s -m slow        # five million beside them: minutes

The recordings are flights of reference-m, exported in a process of their own. Speeds are printed (200,000 events a
second are promised), never judged; judged is that memory does not grow with the recording.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.repository import ROOT

PROMISED = 200_000  # events a second
EVENTS_A_SECOND = 1_461  # that a virtual second of reference-m tells, about
MILLION = 1_000_000
ROUNDS = 3
MOST_GROWTH = 1.25  # of the peak, for five times as many events

# Linux lets a process begin with the `ru_maxrss` of its parent, here of a flight of millions of events.
PROGRAM = """
import re, resource, sys, time
from pathlib import Path
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


def record(path: Path, events: int) -> Path:
    """A flight of reference-m of about so many events."""
    fly(make_plan(load("reference-m"), until_us=events // EVENTS_A_SECOND * 1_000_000), record=path)
    return path


def exported(recording: Path, to: Path) -> Figures:
    """Export once, in a new process; the figures are also printed."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, recording, to], capture_output=True, text=True, check=True, cwd=ROOT
    )
    events, seconds, busy, size, peak = answer.stdout.split()
    figures = Figures(int(events), float(seconds), float(busy), int(size), int(peak) * RSS_UNIT)
    sys.stdout.write(
        f"\n{figures.events:,} events: {figures.events / figures.seconds:,.0f} a second (promised {PROMISED:,}),"
        f" {figures.events / figures.processor_seconds:,.0f} a processor second,"
        f" {figures.bytes / figures.events:.1f} bytes each, {figures.peak_bytes >> 20} MiB at most"
    )
    return figures


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("bench") / "million.flight", MILLION)


@pytest.mark.timeout(600)
def test_a_million_events(million: Path, tmp_path: Path) -> None:
    rounds = [exported(million, tmp_path / f"out-{number}") for number in range(ROUNDS)]
    assert {figures.events for figures in rounds} == {rounds[0].events}
    assert rounds[0].events > 0.9 * MILLION


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_memory_does_not_grow_with_the_recording(million: Path, tmp_path: Path) -> None:
    less = exported(million, tmp_path / "less")
    more = exported(record(tmp_path / "five.flight", 5 * MILLION), tmp_path / "more")
    assert more.events > 4.5 * MILLION
    assert more.peak_bytes <= MOST_GROWTH * less.peak_bytes
