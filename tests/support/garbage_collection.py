"""Flights of tests do not walk the suite: its thousands of objects are frozen once, when all tests are collected.

A flight collects garbage before it begins, and in the end unfreezes whatever was frozen. In a process of tests either
walks everything that pytest keeps: longer than most flights of tests take. What survives later (fixtures, caches) is
frozen as soon as it costs time. `gc.get_freeze_count()` would walk everything too, for each test.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.simulation import garbage_collection

SLOW_S = 0.02
"""A collection that takes longer walks what has survived since: it is time to freeze again."""

FREEZES = 60
"""So many times may be frozen what earlier tests left behind, until all of it is walked again: half a second."""

few_collections_of_a_flight = garbage_collection.few_collections
_freeze, _unfreeze = gc.freeze, gc.unfreeze


class Suite:
    """What this process of tests has frozen; `stale` when much has survived since, `freezes` since all was walked."""

    stale = False
    freezes = 0


@contextmanager
def few_collections() -> Iterator[None]:
    """In the place of `garbage_collection.few_collections`: the same thresholds, and what is frozen stays frozen."""
    before, began = gc.get_threshold(), time.thread_time()
    gc.collect()
    Suite.stale = Suite.stale or time.thread_time() - began > SLOW_S
    if before[0] == garbage_collection.COLLECT_AFTER_ALLOCATIONS:  # flights that overlap may end in any order
        yield
        return
    gc.set_threshold(garbage_collection.COLLECT_AFTER_ALLOCATIONS, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def freeze_suite() -> None:
    """Freeze what is not garbage: of everything when it is time for that, otherwise of what is not frozen yet."""
    if Suite.freezes >= FREEZES:
        _unfreeze()
        Suite.freezes = 0
    gc.collect()
    freeze()
    Suite.stale = False


def freeze() -> None:
    """In the place of `gc.freeze`: a console freezes also what earlier tests left behind."""
    Suite.freezes += 1
    Suite.stale = Suite.stale or Suite.freezes >= FREEZES
    _freeze()


def unfreeze() -> None:
    """In the place of `gc.unfreeze`."""
    Suite.stale, Suite.freezes = True, FREEZES
    _unfreeze()


def pytest_collection_finish(session: pytest.Session) -> None:
    """All tests are known, and stay."""
    garbage_collection.few_collections = few_collections
    gc.freeze, gc.unfreeze = freeze, unfreeze
    freeze_suite()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What a test froze is frozen no longer, and what it unfroze is frozen again."""
    if Suite.stale:
        freeze_suite()
