"""How fast whole flights are: the three reference loads by the code of `flightdeck bench`, recorded and only hashed.

Reported, never asserted. `pytest tests/bench/test_bench_flights.py -s` prints one JSON object for each.
"""

import sys

import msgspec
import pytest

from console.bench.report import LOADS, measure

FLOWN = dict(zip(LOADS, ("5m", "1m", "20s"), strict=True))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("record", [False, True], ids=["hash-only", "journal"])
def test_reference_loads(record: bool) -> None:
    found = measure(FLOWN, 3, record=record, progress=lambda *_: None)
    sys.stdout.write(f"\n{msgspec.json.encode(found).decode()}\n")
    assert found.repeatable
