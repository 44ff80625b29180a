"""How long a jump in a recording takes: ten minutes of reference-m; `pytest tests/bench/test_bench_seek.py -s`.

100 ms at the 95th percentile are promised; printed, never judged. Every jump must arrive where it was sent.
"""

import random
import sys
import time
from pathlib import Path

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load

TEN_MINUTES_US = 600_000_000
JUMPS = 200
PROMISED_MS = 100


@pytest.mark.timeout(600)
def test_jumps_in_ten_minutes_of_reference_m(tmp_path: Path) -> None:
    path = tmp_path / "ten.flight"
    result = fly(make_plan(load("reference-m"), until_us=TEN_MINUTES_US), record=path)
    playback = Playback(Recording(path))
    draws = random.Random(1)
    wall, busy = [], []
    for _ in range(JUMPS):
        to_us = draws.randrange(TEN_MINUTES_US)
        began, busy_began = time.perf_counter(), time.process_time()
        playback.seek_us(to_us)
        wall.append((time.perf_counter() - began) * 1e3)
        busy.append((time.process_time() - busy_began) * 1e3)
        assert playback.at_us == to_us
        assert to_us - 10_000_000 < playback.view.at_us <= to_us
    wall.sort()
    busy.sort()
    median, p95 = JUMPS // 2, JUMPS * 95 // 100
    sys.stdout.write(
        f"\n{JUMPS} jumps in {result.events:,} events: median {wall[median]:.0f} ms, p95 {wall[p95]:.0f} ms,"
        f" worst {wall[-1]:.0f} ms (promised: p95 {PROMISED_MS} ms); processor p95 {busy[p95]:.0f} ms\n"
    )
