"""How fast whole flights are: the three reference loads, headless, hashed, with the journal on disk and without.

Reported, never asserted: virtual seconds for one of wall time (×), µs for each turn and event, turns for each record
batch, and what the journal costs. `pytest tests/bench/test_bench_flights.py -s` prints the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from recordings.flights.runner import FlightResult, fly, make_plan
from recordings.scenarios.loader import load

FLOWN_S = {"reference-s": 300, "reference-m": 60, "reference-l": 20}  # virtual seconds: most of what the files say


def count_batches(lines: bytes) -> int:
    """How many record batches were appended in these journal lines."""
    return lines.count(b'{"kind":"records_appended"')


def fly_once(name: str, record: Path | None) -> tuple[FlightResult, int]:
    """Fly a reference load once; with a path it is recorded there. Returns the result and the batches appended."""
    batches = 0

    def see(lines: bytes) -> None:
        nonlocal batches
        batches += count_batches(lines)

    plan = make_plan(load(name), until_us=FLOWN_S[name] * 1_000_000)
    return fly(plan, record=record, on_lines=see), batches


@pytest.mark.parametrize("name", FLOWN_S)
@pytest.mark.parametrize("journal", [False, True], ids=["hash-only", "journal"])
def test_reference_load(benchmark: BenchmarkFixture, tmp_path: Path, name: str, journal: bool) -> None:
    """A reference load: the best of three flights, since the machine may be busy with others."""
    flights: list[tuple[FlightResult, int]] = []

    def once() -> None:
        record = tmp_path / f"{len(flights)}.flight" if journal else None
        flights.append(fly_once(name, record))

    benchmark.pedantic(once, rounds=3)  # type: ignore[no-untyped-call]
    best, batches = min(flights, key=lambda one: one[0].wall_s)
    figures = {
        "times_real": best.virtual_s / best.wall_s,
        "us_each_event": best.wall_s * 1e6 / best.events,
        "us_each_turn": best.wall_s * 1e6 / best.turns,
        "turns_each_batch": best.turns / batches,
        "turns_a_virtual_second": best.turns / best.virtual_s,
        "events_a_virtual_second": best.events / best.virtual_s,
    }
    benchmark.extra_info.update(figures)
    sys.stdout.write(f"\n{name} {'journal' if journal else 'hash-only':10} {msgspec.json.encode(figures).decode()}\n")
    assert len({result.journal_sha256 for result, _ in flights}) == 1
