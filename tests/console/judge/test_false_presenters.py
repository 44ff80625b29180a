"""The judge finds each false presenter, also those of the console before the judge."""

from functools import lru_cache

import pytest

from cluster.events import Event
from tests.console.judge.bench import SECOND_US, false_claims, flown, is_found_false, named
from tests.console.judge.false_answers import FALSE_ANSWERS
from tests.console.judge.false_conversations import FALSE_CONVERSATIONS
from tests.console.judge.false_headlines import FALSE_HEADLINES
from tests.console.judge.false_members import FALSE_MEMBERS
from tests.console.judge.false_partitions import FALSE_PARTITIONS
from tests.console.judge.false_presenters import FALSE_PRESENTERS, FalsePresenter
from tests.console.judge.false_producer_places import FALSE_PRODUCER_PLACES
from tests.console.judge.false_producers import FALSE_PRODUCERS
from tests.console.judge.false_rasters import FALSE_RASTERS
from tests.console.judge.false_records import FALSE_RECORDS
from tests.console.judge.false_state_presenters import FALSE_STATE_PRESENTERS
from tests.console.judge.false_topology import FALSE_TOPOLOGY
from tests.support.slow_cases import mostly_slow

ALL = (
    FALSE_PRESENTERS
    | FALSE_STATE_PRESENTERS
    | FALSE_HEADLINES
    | FALSE_RASTERS
    | FALSE_PRODUCERS
    | FALSE_ANSWERS
    | FALSE_PARTITIONS
    | FALSE_CONVERSATIONS
    | FALSE_MEMBERS
    | FALSE_TOPOLOGY
    | FALSE_PRODUCER_PLACES
    | FALSE_RECORDS
)


@lru_cache(maxsize=16)
def events(name: str, seconds: int) -> tuple[Event, ...]:
    spec = named(name)
    return tuple(flown(spec, spec.seed, seconds * SECOND_US))


FLIGHTS = sorted(set(ALL.values()))


@pytest.mark.parametrize("flight", mostly_slow(FLIGHTS, quick=FLIGHTS[::28], slow=20))
def test_of_these_flights_nothing_false_is_said_else(flight: tuple[str, int]) -> None:
    assert false_claims(events(*flight), named(flight[0])) == []


@pytest.mark.parametrize(
    "false_presenter",
    mostly_slow(ALL, quick=list(ALL)[::16], slow=62),
    ids=lambda false_presenter: false_presenter.__name__,
)
def test_a_false_presenter_is_found(false_presenter: FalsePresenter, monkeypatch: pytest.MonkeyPatch) -> None:
    flight = ALL[false_presenter]
    false_presenter(monkeypatch)
    assert is_found_false(events(*flight), named(flight[0]))
