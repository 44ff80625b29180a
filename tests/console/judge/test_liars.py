"""The judge finds each presenter that says something false: among them what the console said before it was judged."""

from functools import lru_cache

import pytest

from cluster.events import Event
from tests.console.judge.bench import SECOND_US, false_claims, flown, named
from tests.console.judge.liars import LIARS, Liar
from tests.console.judge.state_liars import STATE_LIARS

ALL = LIARS | STATE_LIARS


@lru_cache(maxsize=16)
def events(name: str, seconds: int) -> tuple[Event, ...]:
    spec = named(name)
    return tuple(flown(spec, spec.seed, seconds * SECOND_US))


@pytest.mark.parametrize("flight", sorted(set(ALL.values())))
def test_of_these_flights_nothing_false_is_said_else(flight: tuple[str, int]) -> None:
    assert false_claims(events(*flight), named(flight[0])) == []


@pytest.mark.parametrize("liar", ALL, ids=lambda liar: liar.__name__)
def test_a_false_presenter_is_found(liar: Liar, monkeypatch: pytest.MonkeyPatch) -> None:
    flight = ALL[liar]
    liar(monkeypatch)
    assert false_claims(events(*flight), named(flight[0]))
