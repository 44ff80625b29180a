"""A group's `startup`: every start of a process takes it, and `ready` says when a readiness probe succeeds."""

import pytest

from cluster import events as e
from cluster.spec import ApplicationSpec, PoisonSpec, Readiness
from tests.support.broker_flights import MS, SECOND_US, flown
from tests.support.completed_flight import Flown
from tests.support.scenario_builders import group_of

STARTUP_US = 5 * SECOND_US
PLAIN = ApplicationSpec()


def started_slowly(
    *steps: tuple[float, str],
    until_s: float = 40,
    application: ApplicationSpec = PLAIN,
    ready: Readiness = "started",
) -> Flown:
    return flown(group_of(*steps, until_s=until_s, startup_us=STARTUP_US, application=application, ready=ready))


def lives(flight: Flown, member: str) -> list[tuple[int, int]]:
    """When each process of a member began, and when it was ready."""
    begins = [event.at_us for event in flight.all(e.MemberStarted, member=member)]
    ready = [event.at_us for event in flight.all(e.MemberReady, member=member)]
    return list(zip(begins, ready, strict=True))


def test_the_first_start_takes_it_too() -> None:
    flight = started_slowly(until_s=20)
    assert [event.until_us for event in flight.all(e.MemberStartingUp)] == [STARTUP_US] * 2
    assert lives(flight, "g-1") == [(0, STARTUP_US)]
    assert min(event.at_us for event in flight.all(e.MemberIdAssigned)) > STARTUP_US


@pytest.mark.parametrize(
    ("step", "began_s"), [("restart g-1", 20), ("kill g-1 for 3s", 23), ("scale g to 3", 20), ("stop g-1 for 4s", 24)]
)
def test_every_other_start_takes_it(step: str, began_s: int) -> None:
    flight = started_slowly((20, step))
    (begin,) = [event for event in flight.all(e.MemberStarted) if event.at_us > SECOND_US]
    assert began_s * SECOND_US <= begin.at_us < began_s * SECOND_US + 100 * MS
    assert lives(flight, begin.member)[-1] == (begin.at_us, begin.at_us + STARTUP_US)


@pytest.mark.slow
def test_a_crashed_process_that_restarts_by_itself_takes_it() -> None:
    application = ApplicationSpec(poison=PoisonSpec("7"), restart_after_us=SECOND_US)
    flight = started_slowly(until_s=60, application=application)
    (first, *_) = flight.all(e.MemberStopped, how="crash")
    again = [event for event in flight.all(e.MemberStarted, member=first.member) if event.at_us > first.at_us]
    assert again[0].at_us == first.at_us + SECOND_US
    ready = flight.all(e.MemberReady, after_us=first.at_us, member=first.member)
    assert ready[0].at_us == again[0].at_us + STARTUP_US


def test_a_stop_ends_a_process_that_starts_up_at_once() -> None:
    flight = started_slowly((2, "stop g-1"), (3, "kill g-2"), until_s=20)
    assert [(event.member, event.how, event.at_us) for event in flight.all(e.MemberStopped)] == [
        ("g-1", "stop", 2 * SECOND_US),
        ("g-2", "kill", 3 * SECOND_US),
    ]
    assert not flight.all(e.MemberReady)


def test_a_frozen_process_polls_when_it_resumes() -> None:
    flight = started_slowly((2, "pause g-1 for 10s"), until_s=30)
    assert lives(flight, "g-1") == [(0, 12 * SECOND_US)]
    assert lives(flight, "g-2") == [(0, STARTUP_US)]


@pytest.mark.slow
def test_a_member_that_must_join_to_be_ready_is_ready_with_its_first_assignment() -> None:
    flight = started_slowly((20, "kill g-1 for 1s"), ready="joined")
    for ready in flight.all(e.MemberReady):
        before = [one for one in flight.all(e.MemberStateChanged, member=ready.member) if one.at_us == ready.at_us]
        assert before[0].state == "Stable"
    assert [event.member for event in flight.all(e.MemberReady)].count("g-1") == 2


def test_without_startup_and_readiness_nothing_is_emitted() -> None:
    flight = flown(group_of((20, "restart g-1")))
    assert not flight.all(e.MemberReady)
    assert not flight.all(e.MemberStartingUp)


def test_a_changed_startup_holds_from_the_next_start() -> None:
    flight = started_slowly((20, "set g startup 8s"), (21, "restart g-1"))
    begin, ready = lives(flight, "g-1")[-1]
    assert ready - begin == 8 * SECOND_US
