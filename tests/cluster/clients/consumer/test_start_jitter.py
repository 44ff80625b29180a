"""Members that are started at one instant begin at instants of their own, and beat in phases of their own."""

import msgspec

from cluster import events as e
from cluster.spec import START_JITTER_US
from tests.support.broker_flights import MS, SECOND_US, flown
from tests.support.completed_flight import Flown
from tests.support.scenario_builders import spec


def started_at_once(jitter_us: int, *, seed: int = 1, until_s: float = 15) -> Flown:
    """Four members that are started at t = 0."""
    return flown(msgspec.structs.replace(spec(until_s=until_s, members=4), start_jitter_us=jitter_us), seed=seed)


def first_joins_us(flight: Flown) -> dict[str, int]:
    """When the coordinator first hears of each member, in that order."""
    joins: dict[str, int] = {}
    for event in flight.all(e.MemberIdAssigned):
        joins.setdefault(event.member, event.at_us)
    return joins


def phases_us(flight: Flown) -> list[int]:
    """How long after the generation began each member's first heartbeat was answered."""
    (stable,) = flight.all(e.GroupStabilized)
    beats: dict[str, int] = {}
    for event in flight.all(e.HeartbeatAnswered, stable.at_us):
        beats.setdefault(event.member_id, event.at_us - stable.at_us)
    return sorted(beats.values())


def test_each_life_is_late_by_something_of_its_own() -> None:
    flight = started_at_once(START_JITTER_US)
    assert [event.at_us for event in flight.all(e.MemberStarted)] == [0] * 4
    joins = first_joins_us(flight)
    assert len(joins) == len(set(joins.values())) == 4
    assert max(joins.values()) - min(joins.values()) > 10 * MS
    assert max(joins.values()) < START_JITTER_US + 20 * MS


def test_who_comes_first_is_the_seeds_choice() -> None:
    assert len({next(iter(first_joins_us(started_at_once(START_JITTER_US, seed=seed)))) for seed in range(8)}) > 2


def test_heartbeats_of_a_generation_have_phases_of_their_own() -> None:
    phases = phases_us(started_at_once(START_JITTER_US))
    assert len(phases) == 4
    assert 10 * MS < phases[-1] - phases[0] <= START_JITTER_US


def test_without_jitter_they_do_the_same_at_once() -> None:
    flight = started_at_once(0)
    joins = first_joins_us(flight).values()
    assert max(joins) - min(joins) < 5 * MS
    assert len(set(phases_us(flight))) == 1


def test_a_member_that_is_started_again_draws_again() -> None:
    steps = [(20.0, "kill g-1"), (21.0, "start g-1"), (40.0, "kill g-1"), (41.0, "start g-1")]
    flight = flown(msgspec.structs.replace(spec(*steps, until_s=60), start_jitter_us=START_JITTER_US))
    starts = [event.at_us for event in flight.all(e.MemberStarted)]
    joins = [event.at_us for event in flight.all(e.MemberIdAssigned)]
    late = [join - start for join, start in zip(joins, starts, strict=True)]
    assert len(set(late)) == 3
    assert all(0 <= each < START_JITTER_US + 20 * MS for each in late)


def test_one_that_is_killed_while_it_begins_does_nothing() -> None:
    steps = [(20.0, "kill g-1"), (30.0, "start g-1"), (30.001, "kill g-1")]
    flight = flown(msgspec.structs.replace(spec(*steps, until_s=40), start_jitter_us=START_JITTER_US))
    assert not flight.all(e.MemberIdAssigned, 25 * SECOND_US)
