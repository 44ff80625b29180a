"""Sentences about groups of the new protocol hold once a classic group is upgraded, which no scenario declares."""

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.mutants import migration


@pytest.mark.slow
def test_an_upgrade_that_forgets_what_members_own_gives_a_partition_two_owners(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = make_plan(load("migration-rolling"), until_us=70_000_000)
    assert not fly(plan).invariants["violations"]
    migration.forgets_what_classic_members_own(monkeypatch)
    (violation,) = fly(plan).invariants["violations"]
    assert violation["invariant"].startswith("E")
