"""Broken assignors of the coordinator: Kafka's results catch each, and the rules of every target most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cluster.coordinators.assignors import SERVER_ASSIGNORS, ConsumerGroupSpec
from tests.mutants.targets import BREAKS_A_TARGET, TARGET_MUTANTS, Patch
from tests.oracles.run_target_assignment import groups_of
from tests.oracles.schemas import DEFAULT_DIRECTORY, Vector, read_directory
from tests.support.targets import assert_balanced, assert_moves_least, assert_valid

VECTORS = [vector for vector in read_directory(DEFAULT_DIRECTORY) if vector.schema == "target_assignment"]


def judged(vectors: list[Vector]) -> Iterator[Callable[[], object]]:
    for vector in vectors:
        for group in groups_of(vector.vector):
            yield lambda name=vector.vector["assignor"], group=group: judge(name, group)  # type: ignore[misc]


def judge(name: str, group: ConsumerGroupSpec) -> None:
    target = SERVER_ASSIGNORS[name].assign(group)
    assert_valid(group, target)
    if name == "uniform":
        assert_balanced(group, target)
        if group.subscription_type == "HOMOGENEOUS":
            assert_moves_least(group, target)


def breaches(checks: Iterator[Callable[[], object]]) -> int:
    """How many of the checks fail; a broken assignor may also raise."""
    count = 0
    for check in checks:
        try:
            check()
        except (AssertionError, LookupError, ValueError):
            count += 1
    return count


def test_sound_assignors_pass() -> None:
    assert breaches(judged(VECTORS)) == 0
    assert breaches(vector.run for vector in VECTORS) == 0


@pytest.mark.parametrize("breaks", TARGET_MUTANTS, ids=lambda breaks: breaks.__name__)
def test_kafkas_results_catch(breaks: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    breaks(monkeypatch)
    assert breaches(vector.run for vector in VECTORS) > 0


@pytest.mark.parametrize("breaks", BREAKS_A_TARGET, ids=lambda breaks: breaks.__name__)
def test_the_rules_of_every_target_catch(breaks: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    breaks(monkeypatch)
    assert breaches(judged(VECTORS)) > 0
