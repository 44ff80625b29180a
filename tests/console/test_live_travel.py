"""The past of a live flight: its screens are judged by books from the raw events, and a late cursor is found."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cluster.commands import Kill
from cluster.events import Event
from cluster.view import ClusterView, fold
from console.bridge import Bridge
from console.flight import VIEWING_PAST, Flight
from console.flight_clock import ENDED, FlightClock
from console.presenters import chrome
from console.presenters.styled_text import plain
from console.presenters.travel.steps import step_line
from console.travel.live_travel import IS_LIVE, LiveTravel
from recordings.scenarios.loader import load
from tests.console.judge.bench import flown, judge
from tests.console.judge.books import Books
from tests.console.judge.frame_judge import judge_header, judge_strip
from tests.console.judge.grammar import Verdict
from tests.console.judge.steps_judge import step_faults

SECOND_US = 1_000_000
UNTIL_US = 60 * SECOND_US
SCENARIO = "first-flight"
PAST_US = (500_000, 7_300_000, 21_000_000, 40_123_456, 59_000_000)


def until(flight: Flight, phase: str) -> None:
    """Frames, up to a phase of the live flight."""
    deadline = time.monotonic() + 60
    source = flight.source
    assert isinstance(source, LiveTravel)
    while flight.clock.phase != phase:
        assert time.monotonic() < deadline, flight.clock
        flight.advance(0.02)
        time.sleep(0.002)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return flown(load(SCENARIO).spec, load(SCENARIO).spec.seed, UNTIL_US)


@pytest.fixture
def flight() -> Iterator[Flight]:
    source = LiveTravel(Bridge(SCENARIO, until_us=UNTIL_US, speed=float("inf")))
    one = Flight(source)
    source.start(lambda: None)
    until(one, ENDED)
    yield one
    source.stop()


def travelled(flight: Flight) -> LiveTravel:
    """The flight's source, after the frame that does what was asked."""
    flight.advance(0.02)
    assert isinstance(flight.source, LiveTravel)
    return flight.source


def books_at(events: list[Event], at_us: int) -> Books:
    """The books kept from the raw events up to an instant."""
    books = Books()
    for event in events:
        if event.at_us <= at_us:
            books.note(event)
    return books


def false_in_frame(view: ClusterView, clock: FlightClock, books: Books, at_us: int) -> list[str]:
    """What header and strip of a view say falsely of an instant, with the live instant beside."""
    verdict = Verdict(at_us)
    judge_header(books, plain(chrome.header(view, clock, "first-flight", 120, False)), at_us, verdict)
    judge_strip(books, plain(chrome.flight_strip(view, clock, 120)), at_us, UNTIL_US, verdict)
    assert verdict.claims > 2
    return list(verdict.false)


def false_at(view: ClusterView, clock: FlightClock, events: list[Event], at_us: int) -> list[str]:
    """What all screens of a view say falsely of an instant."""
    books = books_at(events, at_us)
    screens = judge(view, books, at_us, load(SCENARIO).spec, 170)
    assert screens.claims > 40 or at_us < SECOND_US
    return [*false_in_frame(view, clock, books, at_us), *screens.false]


@pytest.mark.slow
def test_the_screens_at_past_instants_say_what_the_events_say(flight: Flight, events: list[Event]) -> None:
    assert flight.seekable is not None
    for at_us in (*PAST_US, *reversed(PAST_US)):
        assert flight.seekable.seek(at_us) == ""
        travelled(flight)
        assert (flight.now_us, flight.clock.recorded) == (at_us, True)
        assert false_at(flight.view, flight.clock, events, at_us) == []
    said = plain(chrome.time_words(flight.clock))
    assert said.startswith("‖ viewing 00:00:00.500, live 00:01:00"), said
    assert "skips quiet" not in said
    skipping = plain(chrome.time_words(flight.clock._replace(skips_quiet=True)))
    assert skipping == f"{said}  skips quiet", "the key answers also in the past of a live flight"


@pytest.mark.slow
def test_a_cursor_that_shows_the_state_an_event_late_is_found(flight: Flight, events: list[Event]) -> None:
    assert flight.seekable is not None
    found = 0
    changes = [event for event in events if type(event).__name__ in {"GroupStabilized", "RebalanceStarted"}][:6]
    assert len(changes) >= 3
    for event in changes:
        flight.seekable.seek(event.at_us)
        travelled(flight)
        late = ClusterView()
        for earlier in events[: event.seq - 1]:
            fold(late, earlier)
        found += bool(false_in_frame(late, flight.clock, books_at(events, event.at_us), event.at_us))
        assert false_at(flight.view, flight.clock, events, event.at_us) == []
    assert found == len(changes)


@pytest.mark.slow
def test_steps_name_their_events_and_lead_back_to_live(flight: Flight, events: list[Event]) -> None:
    source = travelled(flight)
    raw = {event.seq: json.loads(msgspec.json.encode(event)) for event in events}
    live = flight.view
    assert source.move(1) == IS_LIVE
    for back in (1, 2, 3):
        source.move(-1)
        travelled(flight)
        assert flight.view.seq == len(events) - back
        assert source.stepped is not None
        assert step_faults(plain(step_line(source.stepped)), raw, flight.view.seq, 1) == []
    for _ in range(4):
        source.move(1)
        travelled(flight)
    assert flight.view is live
    assert flight.clock.live_us is None


def test_commands_are_refused_while_the_past_is_shown(flight: Flight) -> None:
    source = travelled(flight)
    source.seek(10 * SECOND_US)
    travelled(flight)
    assert {message.event.at_us <= 10 * SECOND_US for message in source.newest().conversation.messages()} == {True}
    assert source.newest() is not source.live.newest()
    assert source.submit(Kill("billing-1")) == VIEWING_PAST == flight.why_read_only()
    assert source.seek(1 << 60) == ""
    travelled(flight)
    assert flight.why_read_only() is None
    assert source.seek(1 << 60) == IS_LIVE


def test_landmarks_lead_back_one_by_one(flight: Flight) -> None:
    source = travelled(flight)
    before = [entry for entry in flight.view.log_entries if entry.at_us < flight.view.at_us]
    marks = sorted({entry.at_us for entry in before if entry.kind in {"rebalance", "fault"}})
    seen = []
    while source.landmark(-1) == "":
        travelled(flight)
        seen.append(flight.now_us)
    assert seen == marks[::-1]


@pytest.mark.slow
def test_backwards_play_begins_at_the_live_instant(flight: Flight) -> None:
    source = travelled(flight)
    assert source.set_speed(-100.0) == ""
    time_ends = time.monotonic() + 30
    while flight.now_us > 30 * SECOND_US:
        assert time.monotonic() < time_ends
        travelled(flight)
    assert flight.clock.speed == -100.0
    assert flight.view.at_us <= flight.now_us


@pytest.mark.slow
def test_the_live_flight_goes_on_behind_the_past(tmp_path: Path) -> None:
    source = LiveTravel(Bridge(SCENARIO, until_us=UNTIL_US, speed=5.0))
    flight = Flight(source)
    source.start(lambda: None)
    deadline = time.monotonic() + 60
    while flight.now_us < 3 * SECOND_US:
        assert time.monotonic() < deadline
        flight.advance(0.02)
    source.seek(SECOND_US)
    travelled(flight)
    before_us = flight.clock.live_us
    assert before_us is not None
    while (flight.clock.live_us or 0) < before_us + 5 * SECOND_US:
        assert time.monotonic() < deadline
        flight.advance(0.02)
        assert flight.now_us == SECOND_US
    assert source.seek(before_us + SECOND_US) == ""  # later than what the cursor knew when it left
    travelled(flight)
    assert flight.now_us == before_us + SECOND_US
    directory = source._kept.written()
    assert directory is not None
    source.stop()
    assert not directory[0].exists()
