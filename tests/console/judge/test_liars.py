"""The judge finds each presenter that says something false: among them what the console said before it was judged."""

from functools import lru_cache

import pytest

from cluster.events import Event
from recordings.scenario import load
from tests.console.judge.bench import SECOND_US, false_claims, flown
from tests.console.judge.liars import LIARS, Liar


@lru_cache(maxsize=8)
def events(name: str, seconds: int) -> tuple[Event, ...]:
    spec = load(name).spec
    return tuple(flown(spec, spec.seed, seconds * SECOND_US))


@pytest.mark.parametrize("flight", sorted(set(LIARS.values())))
def test_of_these_flights_nothing_false_is_said_else(flight: tuple[str, int]) -> None:
    assert false_claims(events(*flight), load(flight[0]).spec) == []


@pytest.mark.parametrize("liar", LIARS, ids=lambda liar: liar.__name__)
def test_a_false_presenter_is_found(liar: Liar, monkeypatch: pytest.MonkeyPatch) -> None:
    flight = LIARS[liar]
    liar(monkeypatch)
    assert false_claims(events(*flight), load(flight[0]).spec)
