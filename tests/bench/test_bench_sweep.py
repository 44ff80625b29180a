"""How a sweep scales from one core to two; `pytest tests/bench/test_bench_sweep.py -s`. Promised: at least 1.8 ×.

FLIGHTDECK_SWEPT is the number of flights (120 by default; 1,000 are promised). Printed, and judged only loosely: other
work on the machine takes the second core.
"""

import os
import sys
import time
from pathlib import Path

import pytest

from recordings.spark.runtime.session import spark_session
from recordings.spark.sweep.sweep import run_sweep
from recordings.spark.sweep.sweep_file import load_sweep

FLIGHTS = int(os.environ.get("FLIGHTDECK_SWEPT", "120"))
FILE = """
scenario = "dynamic-restart"
seeds = {seeds}
until = "90s"
[vary]
"session.timeout.ms" = [6000, 10000, 20000, 45000]
"heartbeat.interval.ms" = [1000, 3000]
"""
POINTS = 8


@pytest.mark.timeout(3600)
def test_a_sweep_scales_with_the_cores(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(FILE.format(seeds=FLIGHTS // POINTS))
    (tmp_path / "first.toml").write_text(FILE.format(seeds=1))
    taken: dict[int, float] = {}
    flown = 0
    for cores in (1, 2):
        with spark_session(f"local[{cores},4]", name="bench") as session:
            run_sweep(load_sweep(tmp_path / "first.toml"), str(tmp_path / f"first-{cores}"), spark=session)  # warm
            began = time.perf_counter()
            swept = run_sweep(load_sweep(tmp_path / "sweep.toml"), str(tmp_path / f"out-{cores}"), spark=session)
            taken[cores] = time.perf_counter() - began
            assert swept.frontier.missing == 0
            flown = swept.flown_now
    ratio = taken[1] / taken[2]
    sys.stderr.write(f"\n{flown} flights: {taken[1]:.1f} s with one core, {taken[2]:.1f} s with two: {ratio:.2f} ×\n")
    assert ratio > 1
