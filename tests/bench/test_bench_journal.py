"""What keeping a journal costs a flight; `pytest tests/bench/test_bench_journal.py -s`.

At most a tenth of a flight is promised. Encoding and hashing are part of every flight, so in both figures. Flights
with a journal on disk and flights that only hash take turns, so that whatever else the machine does hits both;
processor time counts, the best of each, and is printed, never judged.
"""

import sys
import time
from pathlib import Path

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load

FLOWN_US = 60_000_000
ROUNDS = 4
PROMISED = 0.1


@pytest.mark.timeout(600)
def test_the_journal_s_share_of_a_flight(tmp_path: Path) -> None:
    best = {True: float("inf"), False: float("inf")}
    hashes = set()
    for number in range(2 * ROUNDS):
        kept = number % 2 == 0
        began = time.process_time()
        result = fly(
            make_plan(load("reference-m"), until_us=FLOWN_US), record=tmp_path / f"{number}.flight" if kept else None
        )
        best[kept] = min(best[kept], time.process_time() - began)
        hashes.add(result.journal_sha256)
    share = (best[True] - best[False]) / best[True]
    sys.stdout.write(
        f"\nreference-m, {FLOWN_US // 1_000_000} s: {best[True]:.2f} s of processor with a journal,"
        f" {best[False]:.2f} s without: {share:.1%} of the flight (promised: {PROMISED:.0%})\n"
    )
    assert len(hashes) == 1
