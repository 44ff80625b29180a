"""What a flight does to the garbage collector, and what tests put in its place."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from cluster.simulation import garbage_collection
from tests.support.garbage_collection import few_collections, few_collections_of_a_flight


def test_tests_fly_with_collections_of_their_own() -> None:
    assert garbage_collection.few_collections is few_collections


@pytest.mark.parametrize("collections", [few_collections, few_collections_of_a_flight])
def test_thresholds_are_a_flights_and_come_back(collections: Callable[[], AbstractContextManager[None]]) -> None:
    before = gc.get_threshold()
    with collections():
        assert gc.get_threshold()[0] == garbage_collection.COLLECT_AFTER_ALLOCATIONS
    assert gc.get_threshold() == before


def test_a_flight_freezes_what_was_there_and_leaves_nothing_frozen() -> None:
    with few_collections_of_a_flight():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_several_flights_freeze_what_was_there_once() -> None:
    with few_collections_of_a_flight():
        frozen = gc.get_freeze_count()
        kept: list[list[int]] = [[] for _ in range(1_000)]
        with few_collections_of_a_flight():
            assert gc.get_freeze_count() <= frozen
            assert gc.get_threshold()[0] == garbage_collection.COLLECT_AFTER_ALLOCATIONS
        assert 0 < gc.get_freeze_count() <= frozen
        assert len(kept) == 1_000
    assert gc.get_freeze_count() == 0


def test_a_flight_among_several_collects_what_the_one_before_left() -> None:
    with few_collections_of_a_flight():
        left: list[object] = []
        left.append(left)
        address = id(left)
        del left
        with few_collections_of_a_flight():
            assert not any(id(each) == address for each in gc.get_objects())


def test_tests_leave_frozen_what_the_suite_froze() -> None:
    before = gc.get_freeze_count()
    with few_collections():
        pass
    assert before > 10_000
    assert 0 < gc.get_freeze_count() <= before
