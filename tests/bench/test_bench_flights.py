"""How fast whole flights are: the three reference loads by the code of `flightdeck bench`, recorded and only hashed.

Reported, never asserted; asserted is a ratio of two costs in one run. `pytest tests/bench/test_bench_flights.py -s`
prints one JSON object for each load.
"""

import resource
import sys
from typing import Final

import msgspec
import pytest

from cluster.config import DEFAULT_ASSIGNORS, Value
from cluster.spec import ScenarioSpec
from console.bench.report import LOADS, measure
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from recordings.scenarios.loader import load

FLOWN = dict(zip(LOADS, ("5m", "1m", "20s"), strict=True))
FLOWN_US: Final = 60_000_000
ROUNDS: Final = 4
AT_MOST: Final = 1.1  # calls of functions: 1.02; the rest is what a busy machine adds to the better of a few flights
SWITCHED: Final[dict[str, Value]] = {"group.protocol": "consumer", "group.remote.assignor": "range"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("record", [False, True], ids=["hash-only", "journal"])
def test_reference_loads(record: bool) -> None:
    found = measure(FLOWN, 3, record=record, progress=lambda *_: None)
    sys.stdout.write(f"\n{msgspec.json.encode(found).decode()}\n")
    assert found.repeatable


def test_an_event_of_a_group_of_the_new_protocol_costs_what_a_classic_one_does() -> None:
    """reference-m as it is, and with its groups switched; both with heartbeats every 3 s, and no initial delay."""
    declared = load("reference-m").spec
    keys = {
        "group.initial.rebalance.delay.ms": 0,
        "group.consumer.heartbeat.interval.ms": 3_000,
        "group.consumer.min.heartbeat.interval.ms": 3_000,
    }
    classic = msgspec.structs.replace(declared, until_us=FLOWN_US, config=declared.config | keys)
    switched = tuple(
        msgspec.structs.replace(group, assignors=DEFAULT_ASSIGNORS, config=group.config | SWITCHED)
        for group in declared.groups
    )
    specs = {"classic": classic, "consumer": msgspec.structs.replace(classic, groups=switched)}
    costs_us: dict[str, list[float]] = {name: [] for name in specs}
    for name, spec in [*specs.items()] * ROUNDS:
        costs_us[name].append(_us_per_event(spec))
    best = {name: min(found) for name, found in costs_us.items()}
    ratio = best["consumer"] / best["classic"]
    sys.stdout.write(
        f"\nuser CPU: {best['classic']:.1f} µs for each event of classic groups, {best['consumer']:.1f} of the new"
        f" protocol's: {ratio:.2f}\n"
    )
    assert ratio <= AT_MOST


def _us_per_event(spec: ScenarioSpec) -> float:
    began_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    flown = fly(Plan(scenario="", text="", spec=spec, settings=Settings(seed=spec.seed, until_us=spec.until_us)))
    return 1e6 * (resource.getrusage(resource.RUSAGE_SELF).ru_utime - began_s) / flown.events
