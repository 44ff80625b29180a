"""How many seeds it takes until a mutant is caught."""

import statistics

import pytest

from recordings.swarm.check import Failure, check
from tests.mutants import MUTANTS, Mutant

MINUTE_US = 60_000_000
CAUGHT_IN = 200  # seeds
BEGINNINGS = (2_000, 12_000, 22_000)


def seeds_to_detect(mutant: Mutant, first_seed: int) -> tuple[int, Failure | None]:
    """How many seeds until it is caught, and as what; the sound cluster passes there."""
    with pytest.MonkeyPatch.context() as patch:
        mutant.breaks(patch)
        checked = check(
            CAUGHT_IN, MINUTE_US, first_seed=first_seed, features=mutant.needs, most_failures=1, shrinking_flights=0
        )
    for failure in checked.failures:
        sound = check(1, MINUTE_US, first_seed=failure.seed, features=mutant.needs, shrinking_flights=0)
        assert sound.held, f"seed {failure.seed} fails without the mutant, too: {sound.failures}"
        return checked.seeds, failure
    return checked.seeds, None


def row(name: str) -> str:
    """A row of the table: the median of three searches, and by which invariants it is caught."""
    searches = [seeds_to_detect(MUTANTS[name], first_seed) for first_seed in BEGINNINGS]
    took = [seeds for seeds, _ in searches]
    by = ", ".join(dict.fromkeys(failure.invariant for _, failure in searches if failure is not None))
    return f"{name:<55} {statistics.median(took):>4} seeds {took} {by or 'not caught'}"
