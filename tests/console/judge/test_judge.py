"""Every claim of the screens, at many instants of library and random flights, is what the event log says.

FLIGHTDECK_INSTANTS is the number of instants of a library flight (8 by default), FLIGHTDECK_JUDGED
the number of random flights of the slow test (25 by default), for instance
`FLIGHTDECK_JUDGED=500 pytest -m slow -n0 tests/console/judge`.
"""

import os

import pytest

from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load
from tests.console.judge.bench import RANDOM_S, SECOND_US, false_at_the_end, false_claims, flown, random_flight
from tests.support.library import LIBRARY
from tests.support.slow_cases import mostly_slow

AT_MOST_S = {"reference-m": 12, "reference-l": 4, "reference-xl": 3, "reference-s": 60, "scale-out": 100}
LONGEST_S = 240
MANY = int(os.environ.get("FLIGHTDECK_INSTANTS", "8"))
INSTANTS = {"reference-l": 20, "reference-xl": 4}
"""How often the largest flights are judged: one look at 60,000 partitions and every place takes many seconds."""
QUICK = {"first-flight": 90, "coordinator-failover": 125}
RANDOM = int(os.environ.get("FLIGHTDECK_JUDGED", "25"))
BATCH = 25


def false_report(spec: ScenarioSpec, seed: int, seconds: int, most: int) -> str:
    """The false claims, one a line."""
    return "\n".join(false_claims(flown(spec, seed, seconds * SECOND_US), spec, most)[:20])


@pytest.mark.parametrize("name", QUICK)
def test_nothing_false_is_said_of_a_library_flight(name: str) -> None:
    spec = load(name).spec
    assert false_report(spec, spec.seed, QUICK[name], 20) == ""


@pytest.mark.parametrize("seed", mostly_slow((0, 23, 195), quick=[23]))
def test_nothing_false_is_said_of_a_random_flight(seed: int) -> None:
    assert false_report(random_flight(seed), seed, RANDOM_S, 12) == ""


@pytest.mark.parametrize(("seed", "second"), [(377, 24), (475, 25)])
def test_nothing_false_is_said_of_a_converted_group_whose_generations_begin_again(seed: int, second: int) -> None:
    spec = random_flight(seed)
    assert false_at_the_end(flown(spec, seed, second * SECOND_US), spec) == []


def test_the_raster_ends_the_rebalance_of_a_lone_member_that_has_its_next_target_at_once() -> None:
    spec = random_flight(481)
    assert false_at_the_end(flown(spec, 481, 11 * SECOND_US), spec) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", LIBRARY)
def test_nothing_false_is_said_of_the_library(name: str) -> None:
    spec = load(name).spec
    assert false_report(spec, spec.seed, AT_MOST_S.get(name, LONGEST_S), INSTANTS.get(name, MANY)) == ""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, RANDOM, BATCH))
def test_nothing_false_is_said_of_many_random_flights(first: int) -> None:
    seeds = range(first, min(first + BATCH, RANDOM))
    false = {seed: false_report(random_flight(seed), seed, RANDOM_S, 10) for seed in seeds}
    assert {seed: words for seed, words in false.items() if words} == {}
