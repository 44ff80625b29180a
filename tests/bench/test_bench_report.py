"""How long a report takes, Spark's start included; `pytest tests/bench/test_bench_report.py -s`.

Ten minutes of the first flight are promised within 40 seconds, in a new process. Printed, never judged, once on the
Java that the machine has and once on pip's, as a machine without Java makes it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.repository import ROOT
from tests.support.spark.java_homes import FLIGHTDECK, without_java

PROMISED_SECONDS = 40


@pytest.mark.timeout(600)
@pytest.mark.parametrize("java", ["the machine's", "pip's"])
def test_ten_minutes_of_the_first_flight(benchmark: BenchmarkFixture, tmp_path: Path, java: str) -> None:
    recording = tmp_path / "first.flight"
    result = fly(make_plan(load("first-flight")), record=recording)
    environment = dict(os.environ) if java == "the machine's" else without_java(tmp_path / "machine")
    out = tmp_path / "out"

    def once() -> float:
        subprocess.run(
            [*FLIGHTDECK, "report", str(recording), "--out", str(out)],
            check=True,
            capture_output=True,
            cwd=ROOT,
            env=environment,
        )
        return os.getloadavg()[0]

    load_average = benchmark.pedantic(once, rounds=2)  # type: ignore[no-untyped-call]
    benchmark.extra_info |= {"events": result.events, "promised seconds": PROMISED_SECONDS, "load": load_average}
    sys.stdout.write(f"\n{result.events:,} events on {java} Java, load {load_average:.1f}, of {os.cpu_count()} cores\n")
    assert (out / "report.html").exists()
    assert (out / "report.json").exists()
