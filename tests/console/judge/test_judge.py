"""Every claim of the screens, at many instants of library and random flights, is what the event log says.

FLIGHTDECK_INSTANTS is the number of instants of a library flight (30 by default), FLIGHTDECK_JUDGED
the number of random flights of the slow test (50 by default), for instance
`FLIGHTDECK_JUDGED=500 pytest -m slow -n0 tests/console/judge`.
"""

import os

import pytest

from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from recordings.scenarios.loader import load, parse_scenario
from tests.console.judge.bench import RANDOM_S, SECOND_US, WIDTHS, false_claims, flown, judge, random_flight
from tests.console.judge.books import Books
from tests.support.library import LIBRARY

AT_MOST_S = {"reference-m": 12, "reference-l": 4, "reference-xl": 3, "reference-s": 60, "scale-out": 100}
LONGEST_S = 240
MANY = int(os.environ.get("FLIGHTDECK_INSTANTS", "30"))
INSTANTS = {"reference-l": 20, "reference-xl": 4}
"""How often the largest flights are judged: one look at 60,000 partitions and every place takes many seconds."""
QUICK = {"first-flight": 90, "coordinator-failover": 125}
QUICK_SEEDS = (0, 23, 195)
ONCE_FALSE = {377: 24, 475: 25, 481: 11}
"""Random flights, with a second at which a claim was found false: generations began again with 1; a lone member had its
next target at once."""
BEGUN_AGAIN = """
title = "A group loses its last offsets, is deleted, and begins again with generation 1"
seed = 1
until = "84s"
[cluster]
config = { "offsets.retention.minutes" = 1, "offsets.retention.check.interval.ms" = 1000 }
[[topic]]
name = "orders"
partitions = 2
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "1/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 1
config = { "auto.offset.reset" = "earliest" }
[[at]]
time = "9s"
do = "stop billing-1"
[[at]]
time = "80s"
do = "start billing-1"
"""
RANDOM = int(os.environ.get("FLIGHTDECK_JUDGED", "50"))
BATCH = 25


def false_report(spec: ScenarioSpec, seed: int, seconds: int, most: int) -> str:
    """The false claims, one a line."""
    return "\n".join(false_claims(flown(spec, seed, seconds * SECOND_US), spec, most)[:20])


def false_at_the_end(spec: ScenarioSpec, seed: int, until_us: int) -> tuple[ClusterView, list[str]]:
    """The view of a flight's last instant, and what is falsely said of it."""
    view, books = ClusterView(), Books()
    for event in flown(spec, seed, until_us):
        fold(view, event)
        books.note(event)
    return view, judge(view, books, until_us, spec, WIDTHS[0]).false


@pytest.mark.parametrize("name", QUICK)
def test_nothing_false_is_said_of_a_library_flight(name: str) -> None:
    spec = load(name).spec
    assert false_report(spec, spec.seed, QUICK[name], 20) == ""


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_nothing_false_is_said_of_a_random_flight(seed: int) -> None:
    assert false_report(random_flight(seed), seed, RANDOM_S, 12) == ""


@pytest.mark.parametrize("seed", ONCE_FALSE)
def test_nothing_false_is_said_where_it_was_once(seed: int) -> None:
    _, false = false_at_the_end(random_flight(seed), seed, ONCE_FALSE[seed] * SECOND_US)
    assert false == []


def test_a_deleted_groups_first_rebalance_lasts_until_its_member_has_its_share() -> None:
    spec = parse_scenario(BEGUN_AGAIN, "begun-again.toml").spec
    view, false = false_at_the_end(spec, spec.seed, spec.until_us)
    first, _, again = view.groups["billing"].rebalances
    assert (first.generation, again.generation) == (1, 1)
    assert again.assigned_us > again.stable_us
    assert again.reread > 0
    assert false == []


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
