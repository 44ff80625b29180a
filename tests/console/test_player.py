"""A recording in the console: the same frames as live, at any speed, from anywhere to anywhere."""

import math
import random
from pathlib import Path

import pytest

from cluster.commands import Kill
from cluster.view import ClusterView, fold
from console import player as module
from console.flight import READ_ONLY, Flight, SeekableSource
from console.flight_clock import ENDED, LIVE, PAUSED, FlightClock
from console.player import AT_THE_BEGINNING, AT_THE_END, Player
from console.presenters import chrome
from console.presenters.event_log import EventLogListing
from console.presenters.list_view import Listing
from console.presenters.members import MembersListing
from console.presenters.overview import BrokersListing, GroupsListing
from console.presenters.partition_grids import OwnershipListing, TopicsListing
from console.presenters.producers.table import ProducersListing
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.rebalances import RebalancesListing
from console.presenters.styled_text import Line
from recordings.bounded_files import RecordingError
from tests.support.console.recorded_flight import END_US, SECOND_US, Wall, player, recorded_events, recording
from tests.support.console.stopped_clock import StillFlight

WIDTH = 120


@pytest.fixture(autouse=True)
def _no_frame_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine would cut a frame short, and the test with it."""
    monkeypatch.setattr(module, "FRAME_BUDGET_SECONDS", 60.0)


def drawn(view: ClusterView, now_us: int) -> list[Line]:
    """Everything that screens draw of a view, tones included."""
    listings: list[Listing] = [
        GroupsListing(view, now_us, WIDTH),
        TopicsListing(view, now_us, WIDTH),
        BrokersListing(view, WIDTH),
        ProducersListing(view, now_us, WIDTH),
        EventLogListing(view, WIDTH),
    ]
    for group in view.groups.values():
        listings += [
            PhaseListing(view, group, now_us, WIDTH),
            MembersListing(view, group, now_us, WIDTH),
            OwnershipListing(view, group, WIDTH),
            RebalancesListing(view, group, now_us, WIDTH),
        ]
    rows = [tuple(row) for one in listings for key in one.row_keys() for row in one.rows(key)]
    at = FlightClock(now_us, until_us=END_US)
    bars = [chrome.header(view, at, "recorded", WIDTH, False), chrome.flight_strip(view, at, WIDTH)]
    return [*(one.header() for one in listings), *rows, *bars, *chrome.ticker(view, WIDTH, 3)]


def live(now_us: int) -> ClusterView:
    view = ClusterView()
    for event in recorded_events():
        if event.at_us <= now_us:
            fold(view, event)
    return view


def frames(one: Player) -> Flight:
    flight = Flight(one)
    flight.advance(0.02)
    return flight


def test_a_seek_draws_what_live_draws_at_the_same_instant() -> None:
    instants = random.Random(1).sample(range(END_US), 25)
    flight = frames(player())
    assert flight.seekable is not None
    for now_us in [0, *instants, END_US, *(event.at_us for event in recorded_events()[::997])]:
        flight.seekable.seek(now_us)
        flight.advance(0.02)
        assert flight.now_us == now_us
        assert drawn(flight.view, flight.now_us) == drawn(live(now_us), now_us)


def test_playing_draws_what_live_draws() -> None:
    wall = Wall()
    flight = frames(player(wall, playing=True))
    for _ in range(10):
        wall.now += 0.7
        flight.advance(0.02)
        assert drawn(flight.view, flight.now_us) == drawn(live(flight.now_us), flight.now_us)
    assert flight.now_us == pytest.approx(7 * SECOND_US, abs=1_000)


def test_it_plays_at_its_speed_and_stands_at_the_end() -> None:
    wall = Wall()
    one = player(wall, playing=True)
    flight = frames(one)
    for speed, from_s, to_s in ((1.0, 0, 2), (0.01, 2, 2.02), (5.0, 2.02, 12.02)):
        assert one.set_speed(speed) == ""
        assert flight.now_us == pytest.approx(from_s * SECOND_US, abs=10)
        wall.now += 2.0
        flight.advance(0.02)
        assert flight.now_us == pytest.approx(to_s * SECOND_US, abs=10)
        assert flight.clock.phase == LIVE
    one.set_speed(math.inf)
    assert one.clock.speed == 1_000
    assert "×1,000" in one.set_speed(5_000)
    wall.now += 2.0
    flight.advance(0.02)
    assert flight.clock.phase == ENDED
    assert flight.why_not_controllable() is None
    assert one.pause(False) == AT_THE_END
    assert one.move(1) == AT_THE_END


def test_playing_backwards_draws_what_live_draws_and_stands_at_the_beginning() -> None:
    wall = Wall()
    one = player(wall, playing=True)
    flight = frames(one)
    one.seek(8 * SECOND_US)
    flight.advance(0.02)
    assert one.set_speed(-2.0) == ""
    for _ in range(5):
        wall.now += 0.7
        flight.advance(0.02)
        assert drawn(flight.view, flight.now_us) == drawn(live(flight.now_us), flight.now_us)
    assert flight.now_us == pytest.approx(1 * SECOND_US, abs=1_000)
    assert (flight.clock.phase, flight.clock.speed) == (LIVE, -2.0)
    wall.now += 0.7
    flight.advance(0.02)
    assert (flight.now_us, flight.clock.phase) == (0, PAUSED)
    assert one.pause(False) == AT_THE_BEGINNING
    assert one.set_speed(1.0) == ""  # it turns round, and plays
    wall.now += 0.5
    flight.advance(0.02)
    assert flight.now_us == SECOND_US // 2


@pytest.mark.parametrize("skips", [True, False])
def test_quiet_time_is_skipped_in_both_directions(monkeypatch: pytest.MonkeyPatch, skips: bool) -> None:
    """Every rebalance or fault is shown, and the time between them only when quiet time is not skipped."""
    for name, value in (("STAY_US", SECOND_US), ("LEAD_US", SECOND_US), ("STAY_SECONDS", 1.0)):
        monkeypatch.setattr(module, name, value)
    wall = Wall()
    one = player(wall, playing=True)
    flight = frames(one)
    assert "still being scanned" in one.skip_quiet()
    one.verify()
    assert one.skip_quiet() == ""
    assert one.clock.skips_quiet
    if not skips:
        assert one.skip_quiet() == ""
        assert not one.clock.skips_quiet
    marks = [0, *sorted({moment.at_us for moment in one.landmarks}), END_US]
    shown: list[int] = []
    for speed in (1.0, -1.0):
        one.set_speed(speed)
        shown.append(flight.now_us)
        while one.clock.phase == LIVE:
            wall.now += 0.5
            flight.advance(0.02)
            shown.append(flight.now_us)
            assert drawn(flight.view, flight.now_us) == drawn(live(flight.now_us), flight.now_us)
    there, back = shown[: shown.index(END_US) + 1], shown[shown.index(END_US) :]
    assert there == sorted(there)
    assert back == sorted(back, reverse=True)
    for way in (there, back):
        for mark in marks:
            assert min(abs(at_us - mark) for at_us in way) <= SECOND_US // 2
    far = [at_us for at_us in shown if min(abs(at_us - mark) for mark in marks) > 2 * SECOND_US]
    assert (far == []) == skips


def test_turning_backwards_at_the_end_plays() -> None:
    wall = Wall()
    one = player(wall)
    flight = frames(one)
    one.seek(END_US)
    flight.advance(0.02)
    assert flight.clock.phase == ENDED
    one.set_speed(-1.0)
    wall.now += 2.0
    flight.advance(0.02)
    assert (flight.now_us, flight.clock.phase) == (END_US - 2 * SECOND_US, LIVE)


def test_time_that_a_pause_or_a_jump_takes_is_not_played() -> None:
    wall = Wall()
    one = player(wall)
    flight = frames(one)
    wall.now += 3.0
    flight.advance(0.02)
    assert (flight.now_us, flight.clock.phase) == (0, PAUSED)
    assert flight.pause_or_resume() == ""
    one.seek(5 * SECOND_US)
    wall.now += 3.0
    flight.advance(0.02)
    flight.advance(0.02)
    assert flight.now_us == 5 * SECOND_US
    wall.now += 1.0
    flight.advance(0.02)
    assert flight.now_us == 6 * SECOND_US


def test_events_are_stepped_one_by_one_and_repeats_are_one_jump() -> None:
    one = player()
    flight = frames(one)
    one.seek(8 * SECOND_US)
    flight.advance(0.02)
    seq, jumps = flight.view.seq, one.playback.jumps
    for _ in range(10):
        one.move(-1)
    assert one.busy
    flight.advance(0.02)
    assert flight.view.seq == seq - 10
    assert one.playback.jumps == jumps + 1
    assert flight.now_us == recorded_events()[seq - 11].at_us
    one.move(1)
    one.move(-1)
    flight.advance(0.02)
    assert flight.view.seq == seq - 10
    assert one.step(None) == ""
    flight.advance(0.02)
    assert flight.view.seq == seq - 9
    one.move(-10_000_000)
    flight.advance(0.02)
    assert flight.view.seq == 0


def test_landmarks_are_gone_through_forwards_and_back() -> None:
    one = player()
    one.verify()
    flight = frames(one)
    forwards = []
    while not one.landmark(1):
        flight.advance(0.02)
        forwards.append(flight.now_us)
    assert forwards == sorted({moment.at_us for moment in one.landmarks} - {0})
    assert {7_300_000, 9_000_001, 12_000_000} <= set(forwards)
    assert one.landmark(1) == "there is no rebalance or fault after this"
    for at_us in reversed(forwards[:-1]):
        assert one.landmark(-1) == ""
        flight.advance(0.02)
        assert flight.now_us == at_us
    one.landmark(1)
    one.landmark(1)  # two requests between two frames
    flight.advance(0.02)
    assert flight.now_us == forwards[2]


def test_while_it_plays_the_moment_just_passed_is_not_the_previous_one() -> None:
    wall = Wall()
    one = player(wall, playing=True)
    one.verify()
    flight = frames(one)
    one.seek(9_000_001)
    flight.advance(0.02)
    wall.now += 0.5
    flight.advance(0.02)
    one.landmark(-1)
    flight.advance(0.02)
    assert flight.now_us == 7_300_000


def test_it_searches_onwards_for_an_event_and_for_an_expression() -> None:
    one = player()
    flight = frames(one)

    def found() -> int:
        flight.advance(0.02)
        while one.busy:
            assert flight.clock.phase == LIVE
            flight.advance(0.02)
        return flight.now_us

    assert one.run_until("groups.billing.state == 'Stable' && groups.billing.members == 2") == ""
    at_us = found()
    assert flight.clock.phase == PAUSED
    assert flight.view.groups["billing"].state == "Stable"
    first = next(event for event in recorded_events() if type(event).__name__ == "FaultStarted" and event.at_us > at_us)
    one.seek(at_us)
    flight.advance(0.02)
    assert one.step("fault_started") == ""
    assert found() == first.at_us
    assert "groups" in one.run_until("grops.billing.members == 1")
    one.move(1)  # into the middle of an instant
    flight.advance(0.02)
    before = one.playback.seq
    assert one.run_until("groups.billing.members == 99") == ""
    assert (found(), one.playback.seq) == (first.at_us, before)
    assert one.notice == "no match in the rest of the recording"
    one.seek(first.at_us + 1)
    flight.advance(0.02)
    assert one.run_until("groups.billing.members == 99") == ""
    assert found() == first.at_us + 1
    one.seek(END_US)
    flight.advance(0.02)
    assert one.run_until("groups.billing.members == 99") == AT_THE_END


def test_a_search_is_given_up_by_pausing() -> None:
    one = player()
    frames(one)
    one.run_until("groups.billing.members == 99")
    one.pause(True)
    assert not one.busy


def test_nothing_can_be_done_to_it() -> None:
    one = player()
    assert isinstance(one, SeekableSource)
    assert not isinstance(StillFlight(), SeekableSource)
    assert one.submit(Kill("billing-1")) == READ_ONLY
    assert str(recording()) in one.record("x.flight")
    flight = frames(one)
    assert flight.why_read_only() == READ_ONLY
    assert one.seek(END_US + 1) == "the recording ends at 00:00:20.000"
    assert one.title == "recorded · seed 5"
    assert one.names.groups == {"billing": ("billing-1", "billing-2")}


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is not a recording"):
        Player(tmp_path)


def test_the_thread_finds_landmarks_and_damage() -> None:
    one = player()
    woken: list[int] = []
    one.start(lambda: woken.append(1))
    one.stop()
    assert one.landmarks or one._stopping
    assert woken
