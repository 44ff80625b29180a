"""Random small clusters under random faults: what must hold in every flight, and that a seed is a flight."""

from collections.abc import Iterable

import pytest

from tests.support.random_flights import careless, fly, random_spec, reassigning
from tests.support.slow_cases import mostly_slow, partly_campaign

BROKE = (0, 2, 5, 6, 8, 12, 13, 23, 26, 33, 34, 40, 42, 45, 48, 49, 58, 60, 63, 64, 72, 82, 91, 98)  # each once broke
TRANSACTIONS = (2002, 2017, 2031, 2051, 2055, 3052, 3053, 3080)
SLOW = (360, 521, 610, *range(1_000, 1_030), 1115, 1206, 1262, 1270, 1278, 3008)  # those that broke, and some more


@pytest.mark.parametrize("seed", mostly_slow([*BROKE, *TRANSACTIONS], quick=[*BROKE[::8], *TRANSACTIONS[1:2]], slow=12))
def test_a_troubled_cluster_loses_nothing_tells_the_truth_and_becomes_whole_again(seed: int) -> None:
    fly(random_spec(seed), seed).check()


@pytest.mark.parametrize("seed", partly_campaign(SLOW, 6))
def test_hundreds_of_troubled_clusters_become_whole_again(seed: int) -> None:
    fly(random_spec(seed), seed).check()


@pytest.mark.parametrize("seed", mostly_slow([*range(8), 89, 91, 154], quick=(0,), slow=4))
def test_what_careless_producers_lose_or_write_twice_is_told_as_it_is(seed: int) -> None:
    fly(careless(random_spec(seed), seed), seed).check()


@pytest.mark.parametrize("seed", partly_campaign(range(8, 40), 5))
def test_what_many_careless_producers_lose_or_write_twice_is_told_as_it_is(seed: int) -> None:
    fly(careless(random_spec(seed), seed), seed).check()


@pytest.mark.parametrize("seeds", mostly_slow([(5, 7), range(8)], quick=[(5, 7)]))
def test_careless_producers_do_lose_records_and_write_some_twice(seeds: Iterable[int]) -> None:
    """Else the flights above would show nothing."""
    landed = [fly(careless(random_spec(seed), seed), seed, judged=False).document["delivery"] for seed in seeds]
    assert sum(delivery["lost"] for delivery in landed) > 0
    assert sum(delivery["acked"] for delivery in landed) > sum(delivery["lost"] for delivery in landed)
    assert any(delivery["appended"] > delivery["produced"] for delivery in landed)


@pytest.mark.parametrize("seed", mostly_slow([2, 3, 46, *range(4, 12), *range(2000, 2006)], quick=(46,), slow=6))
def test_reassignments_in_a_troubled_cluster_lose_nothing_and_end(seed: int) -> None:
    fly(reassigning(random_spec(seed), seed), seed).check()


@pytest.mark.parametrize("seed", mostly_slow([6, 48], quick=[6]))
def test_a_seed_is_a_flight(seed: int) -> None:
    first, second = (fly(random_spec(seed), seed, judged=False) for _ in range(2))
    assert (first.sha256, first.events, first.turns) == (second.sha256, second.events, second.turns)


@pytest.mark.slow
def test_looking_at_the_truth_changes_nothing() -> None:
    watched, unwatched = fly(random_spec(48), 48), fly(random_spec(48), 48, judged=False)
    assert (watched.sha256, watched.turns) == (unwatched.sha256, unwatched.turns)
