"""Flights of tests do not walk the suite: its thousands of objects are frozen once, when all tests are collected.

A flight collects garbage before it begins, and in the end unfreezes whatever was frozen. In a process of tests either
walks everything that pytest keeps: longer than most flights of tests take.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.simulation import simulation

MORE = 10_000
"""So many objects frozen in a test are a console's doing, which froze what earlier tests left behind."""
_frozen = 0


few_collections_of_a_flight = simulation._few_collections


@contextmanager
def few_collections() -> Iterator[None]:
    """In the place of `simulation._few_collections`: the same thresholds, and what is frozen stays frozen."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(simulation.COLLECT_AFTER_ALLOCATIONS, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def freeze() -> None:
    """Freeze everything that is not garbage."""
    global _frozen  # noqa: PLW0603 - of the process
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _frozen = gc.get_freeze_count()


def pytest_collection_finish(session: pytest.Session) -> None:
    """All tests are known, and stay."""
    simulation._few_collections = few_collections
    freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What a test froze is frozen no longer, and what it unfroze is frozen again."""
    if not _frozen // 2 < gc.get_freeze_count() <= _frozen + MORE:
        freeze()
