"""The law of delivery in a flight: acknowledged = delivered + lost + unread + skipped, at each whole second."""

from collections.abc import Iterator
from typing import Any

from cluster.simulation import Simulation
from cluster.spec import (
    ScenarioSpec,
)
from cluster.view.delivery import FATES, fates_in_full
from cluster.view.document import document, group_partitions
from tests.support.expected_document import Truth, differences
from tests.support.random_flights import at_each_second


def law_broken(counts: dict[str, Any]) -> bool:
    """Whether the law does not hold of these counts, or one of them cannot be."""
    terms = [counts[key] for key in ("delivered", "lost", "unread", "skipped")]
    return bool(counts["acknowledged"] != sum(terms) or min(counts[key] for key in FATES) < 0)


def delivery_errors(spec: ScenarioSpec, seed: int = 1, *, stop: bool = False) -> list[str]:
    """Where the law is broken, or a count of delivery is another than the truth's, at each whole second."""
    return at_each_second(spec, _wrong_counts, seed, stop=stop)


def _wrong_counts(simulation: Simulation, truth: Truth, now_us: int) -> Iterator[str]:
    seen = document(simulation.view, now_us, ("delivery",))["delivery"]
    for name, counts in {"all groups": seen, **seen["by_group"]}.items():
        if law_broken(counts):
            yield f"the law is law_broken for {name}: {counts}"
    yield from differences(_fates(seen), _fates(truth.delivery()))
    view = simulation.view
    in_full = {name: fates_in_full(view, one, group_partitions(view, one)) for name, one in view.groups.items()}
    yield from differences(in_full, truth.fates_in_full())


def _fates(delivery: dict[str, Any]) -> dict[str, Any]:
    """The counts that this is about."""
    return {name: {key: counts[key] for key in FATES} for name, counts in delivery["by_group"].items()}
