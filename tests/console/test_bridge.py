"""The bridge to the trio thread, with real simulations: both streams, controls, the end, crashes, recordings."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual import events

from cluster.commands import Kill
from cluster.events import Event
from cluster.invariants import SENTENCES
from cluster.view import ClusterView, document
from console.bridge import JOIN_SECONDS, SWITCH_SECONDS, Bridge
from console.flight_clock import ENDED, FAILED, LIVE, PAUSED
from console.refused_commands import RefusedCommands
from recordings.bounded_files import RecordingError
from recordings.flights.rerun import rerun
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load
from tests.mutants import MUTANTS
from tests.support.console.pilot import Seat, sit
from tests.support.minimal_scenario import TWO_MEMBERS

FLAT_OUT = float("inf")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TWO_MEMBERS)
    return path


class Console:
    """What the app does with a bridge, without an app."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge, self.view, self.refused_commands = bridge, ClusterView(), RefusedCommands()
        self.woken = 0

    def start(self) -> "Console":
        def wake() -> None:
            self.woken += 1

        self.bridge.start(wake)
        return self

    def until(self, holds: Callable[[], bool], seconds: float = 20.0) -> None:
        """Frames, until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, (self.bridge.clock, self.bridge.failure)
            self.bridge.drain(self.view, self.refused_commands, 0.02)
            self.bridge.request_clock()
            time.sleep(0.005)

    def phase(self, phase: str) -> Callable[[], bool]:
        return lambda: self.bridge.clock.phase == phase

    def stopped(self) -> bool:
        return self.bridge.stopped

    def recording(self) -> bool:
        return bool(self.bridge.recording)

    def drained(self) -> bool:
        return not self.bridge.drain(self.view, self.refused_commands, 1.0)


@pytest.fixture
def consoles() -> Iterator[Callable[..., Console]]:
    made: list[Console] = []

    def make(scenario: str | Path, **options: object) -> Console:
        made.append(Console(Bridge(scenario, **options)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for console in made:
        console.bridge.stop()


def test_a_flight_ends_as_the_same_flight_without_a_console(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=FLAT_OUT).start()
    console.until(console.phase(ENDED))
    assert console.drained()
    assert console.bridge.clock.now_us == 20_000_000
    from recordings.flights.runner import fly  # noqa: PLC0415

    alone = fly(make_plan(load(scenario)))
    assert document(console.view, 20_000_000) == alone.view
    assert console.view.seq == alone.events


def test_after_the_end_everything_is_answered_in_words(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=FLAT_OUT).start()
    console.until(console.phase(ENDED))
    for answer in (
        console.bridge.submit(Kill("billing-1")),
        console.bridge.set_speed(2.0),
        console.bridge.pause(True),
        console.bridge.step(None),
        console.bridge.run_until("now_ms > 1"),
    ):
        assert answer == "the flight has ended"
    console.bridge.request_clock()


def test_before_there_is_a_cluster_the_answer_says_so(scenario: Path) -> None:
    bridge = Bridge(scenario)
    assert bridge.submit(Kill("billing-1")) == "the cluster is still being built"
    bridge.stop()


def test_a_queue_that_is_full_makes_the_simulation_wait(
    scenario: Path, consoles: Callable[..., Console], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.bridge.MAX_QUEUED", 200)
    console = consoles(scenario, speed=FLAT_OUT).start()
    deadline = time.monotonic() + 10
    while len(console.bridge._queue) <= 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    waiting = len(console.bridge._queue)
    time.sleep(0.1)
    assert waiting == len(console.bridge._queue)
    assert waiting < 2_000
    console.until(console.phase(ENDED))
    assert console.drained()
    seqs = console.view.seq
    assert seqs == console.bridge._simulation.seq  # type: ignore[union-attr]


def test_a_flight_rests_while_the_effect_of_a_key_is_awaited(
    scenario: Path, consoles: Callable[..., Console], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.bridge.GIVE_WAY_SECONDS", 3_600.0)
    console = consoles(scenario, speed=FLAT_OUT, until_us=3_600_000_000).start()
    console.until(lambda: console.bridge.clock.now_us > 0 and console.phase(LIVE)())
    console.bridge.give_way()
    time.sleep(0.1)  # the turns between two looks at what holds it
    rests_us = [console.bridge._simulation.timeline.now_us]  # type: ignore[union-attr]
    for _ in range(5):
        console.bridge.request_clock()
        time.sleep(0.01)
        rests_us.append(console.bridge._simulation.timeline.now_us)  # type: ignore[union-attr]
    assert len(set(rests_us)) == 1
    console.bridge._gives_way_until = 0.0
    console.until(lambda: console.bridge.clock.now_us > rests_us[0])


@pytest.mark.slow
def test_a_key_is_heard_before_the_application_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(seat: Seat) -> None:
        heard: list[str] = []
        monkeypatch.setattr(seat.app.flight.source, "give_way", lambda: heard.append("heard"))
        driver = seat.app._driver
        assert driver is not None
        driver.send_message(events.Key("j", "j"))
        assert heard == ["heard"]
        driver.send_message(events.AppFocus())
        assert heard == ["heard"]
        await seat.settle()

    sit(script)


def test_python_switches_often_only_while_a_flight_runs(scenario: Path, consoles: Callable[..., Console]) -> None:
    before = sys.getswitchinterval()
    console = consoles(scenario, speed=5.0).start()
    console.until(lambda: console.bridge.clock.now_us > 100_000)
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    console.bridge.stop()
    assert sys.getswitchinterval() == before


def test_a_paused_flight_steps_without_a_rest(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=FLAT_OUT, until_us=3_600_000_000).start()
    console.until(console.phase(LIVE))
    console.bridge.pause(True)
    console.until(console.phase(PAUSED))
    console.bridge.give_way()
    assert console.bridge._gives_way_until == 0.0


def test_time_is_paced_paused_stepped_and_let_go(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=5.0).start()
    console.until(lambda: console.bridge.clock.now_us > 500_000)
    assert console.bridge.pause(True) == ""
    console.until(console.phase(PAUSED))
    stood = console.bridge.clock.now_us
    time.sleep(0.1)
    console.bridge.request_clock()
    time.sleep(0.05)
    assert console.bridge.clock.now_us == stood
    assert console.bridge.step("heartbeat_answered") == ""
    console.until(lambda: any(member.heartbeats for member in console.view.members.values()))
    console.until(console.phase(PAUSED))
    assert sum(len(member.heartbeats) for member in console.view.members.values()) == 1
    assert console.bridge.step(None) == ""
    assert console.bridge.set_speed(FLAT_OUT) == ""
    assert console.bridge.pause(False) == ""
    console.until(console.phase(ENDED))
    assert console.woken >= 5


@pytest.mark.slow
def test_until_stops_where_its_expression_holds(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=5.0).start()
    console.until(console.phase(LIVE))
    assert "view document has no groupz" in console.bridge.run_until("groupz.billing.state == 'Stable'")
    assert "did you mean groups.billing?" in console.bridge.run_until("groups.biling.state == 'Stable'")
    assert console.bridge.run_until("groups.billing.state == 'Stable'") == ""
    console.until(console.phase(PAUSED))
    assert console.drained()
    assert console.view.groups["billing"].state == "Stable"


def test_commands_reach_the_cluster_and_refusals_come_back(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=20.0).start()
    console.until(lambda: "billing-1" in console.view.members and console.view.members["billing-1"].alive)
    assert console.bridge.submit(Kill("billing-1")) == ""
    console.until(lambda: not console.view.members["billing-1"].alive)
    assert console.bridge.submit(Kill("billing-1")) == ""
    console.refused_commands.given("kill billing-1")
    refused: list[str] = []

    def told() -> bool:
        refused.extend(console.refused_commands.take_all())
        return bool(refused)

    console.until(told)
    assert "not running" in refused[0]


def test_stopping_takes_less_than_two_seconds_whatever_it_does(
    scenario: Path, consoles: Callable[..., Console]
) -> None:
    for speed in (1.0, FLAT_OUT):
        console = consoles("reference-m", speed=speed).start()
        console.until(console.phase(LIVE))
        console.bridge.stop()  # which waits for the thread for JOIN_SECONDS and no longer
        assert JOIN_SECONDS <= 2.0
        thread = console.bridge._thread
        assert thread is not None
        assert not thread.is_alive()


def test_stopping_while_it_is_built_is_safe(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario).start()
    console.bridge.stop()
    thread = console.bridge._thread
    assert thread is not None
    thread.join(5)
    assert not thread.is_alive()


def test_a_crash_on_the_thread_is_told_in_words(
    scenario: Path, consoles: Callable[..., Console], monkeypatch: pytest.MonkeyPatch
) -> None:
    console = consoles(scenario, speed=FLAT_OUT)

    def break_down(event: Event) -> None:
        console.bridge._queue.append(event)
        if event.seq == 300:
            raise KeyError("orders-7")

    monkeypatch.setattr(console.bridge, "_enqueue", break_down)
    console.start()
    console.until(console.phase(FAILED))
    assert "the simulation failed at" in console.bridge.failure
    assert "KeyError: 'orders-7'" in console.bridge.failure
    assert "the flight has ended" in console.bridge.submit(Kill("billing-1"))
    assert console.drained()
    assert console.view.seq == 300


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("no-such-scenario", {}, "no-such-scenario"),
        ("first-flight", {"settings": [("billing", "membres", "3")]}, "membres"),
    ],
)
def test_bad_input_is_a_complaint(
    name: str, options: dict[str, object], words: str, consoles: Callable[..., Console]
) -> None:
    console = consoles(name, **options).start()
    console.until(console.phase(FAILED))
    assert words in console.bridge.input_error
    assert console.bridge.failure == ""


def test_a_recording_from_the_start_reruns_exactly(
    scenario: Path, tmp_path: Path, consoles: Callable[..., Console]
) -> None:
    path = tmp_path / "a.flight"
    console = consoles(scenario, speed=20.0, record=path).start()
    console.until(lambda: console.bridge.clock.now_us > 8_000_000)
    assert console.bridge.recording == str(path)
    console.bridge.submit(Kill("billing-2"))
    console.bridge.set_speed(FLAT_OUT)
    console.until(console.phase(ENDED))
    console.bridge.stop()
    result = rerun(path)
    assert result.matches
    assert result.compared_events == Recording(path).survey().totals.events


def test_a_recording_that_begins_late_is_whole_all_the_same(
    scenario: Path, tmp_path: Path, consoles: Callable[..., Console]
) -> None:
    path = tmp_path / "late.flight"
    console = consoles(scenario, speed=20.0).start()
    console.until(lambda: console.bridge.clock.now_us > 6_000_000)
    console.bridge.submit(Kill("billing-2"))
    console.until(lambda: console.bridge.clock.now_us > 13_000_000)
    assert console.bridge.record(str(path)) == ""
    assert "is already being recorded" in console.bridge.record(str(path))
    console.until(console.recording)
    assert "from the beginning" in console.bridge.notice
    console.bridge.set_speed(FLAT_OUT)
    console.until(console.phase(ENDED))
    assert console.drained()
    console.bridge.stop()
    footer = json.loads((path / "footer.json").read_text())
    assert footer["complete"] is True
    assert footer["events"] == console.view.seq
    assert footer["commands"] == 2
    assert rerun(path).matches


def test_a_flight_that_has_ended_can_still_be_recorded(
    scenario: Path, tmp_path: Path, consoles: Callable[..., Console]
) -> None:
    path = tmp_path / "after.flight"
    console = consoles(scenario, speed=FLAT_OUT).start()
    console.until(console.phase(ENDED))
    assert console.bridge.record(str(path)) == ""
    console.until(lambda: bool(console.bridge.notice))
    assert rerun(path).matches


def test_a_place_that_is_taken_is_not_recorded_to(
    scenario: Path, tmp_path: Path, consoles: Callable[..., Console]
) -> None:
    console = consoles(scenario, speed=FLAT_OUT).start()
    console.until(console.phase(ENDED))
    assert "already exists" in console.bridge.record(str(tmp_path))


# --- what must always hold --------------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cluster that acknowledges too early, and a directory of one's own to fly it in."""
    MUTANTS["acknowledges_before_the_high_watermark"].breaks(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_broken_invariant_stops_the_flight_says_which_and_saves_a_recording(
    scenario: Path, consoles: Callable[..., Console], broken: Path
) -> None:
    console = consoles(scenario, speed=FLAT_OUT).start()
    console.until(console.phase(FAILED))
    console.until(console.stopped)
    failure = console.bridge.failure
    assert failure.startswith("an invariant does not hold: A1 AckedIsCommitted at ")
    assert SENTENCES["A1"].words in failure
    assert "`flightdeck rerun violation-two-3.flight` shows it again" in failure
    assert console.drained()
    last = console.bridge.last_events
    assert [event.seq for event in last] == list(range(console.view.seq - 49, console.view.seq + 1))
    survey = Recording(broken / "violation-two-3.flight").survey()
    assert survey.totals.events == console.view.seq
    alone = fly(make_plan(load(scenario)))
    assert alone.invariants["violations"][0]["seq"] == console.view.seq
    assert alone.journal_sha256 == survey.totals.journal_sha256
    again = rerun(broken / "violation-two-3.flight")
    assert again.matches
    assert not again.held


def test_the_recording_under_way_has_the_event_that_broke_an_invariant(
    scenario: Path, consoles: Callable[..., Console], broken: Path
) -> None:
    """Recorded from the beginning, and from the middle on; neither is overwritten by one more."""
    for name, early in (("a.flight", True), ("b.flight", False)):
        console = consoles(scenario, record=name if early else None, speed=FLAT_OUT if early else 0.01).start()
        if not early:
            console.until(console.phase(LIVE))
            assert console.bridge.record(name) == ""
            console.until(console.recording)
            console.bridge.set_speed(FLAT_OUT)
        console.until(console.phase(FAILED))
        console.until(console.stopped)
        assert console.drained()
        assert f"it is recorded in {name}" in console.bridge.failure
        assert Recording(broken / name).survey().totals.events == console.view.seq
    assert not list(broken.glob("violation*"))


def test_a_second_violation_does_not_overwrite_the_first(
    scenario: Path, consoles: Callable[..., Console], broken: Path
) -> None:
    for _ in range(2):
        console = consoles(scenario, speed=FLAT_OUT).start()
        console.until(console.phase(FAILED))
        console.until(console.stopped)
    assert sorted(path.name for path in broken.glob("*.flight")) == [
        "violation-two-3-2.flight",
        "violation-two-3.flight",
    ]


def test_a_violation_that_cannot_be_recorded_is_told_all_the_same(
    scenario: Path, consoles: Callable[..., Console], broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RecordingError("cannot write there: No space left on device")

    monkeypatch.setattr("recordings.flights.runner.Recorder", full)
    console = consoles(scenario, speed=FLAT_OUT).start()
    console.until(console.phase(FAILED))
    console.until(console.stopped)
    assert console.bridge.failure.startswith("an invariant does not hold: A1")
    assert "No space left on device" in console.bridge.warning


def test_without_invariants_a_broken_cluster_flies_on(
    scenario: Path, consoles: Callable[..., Console], broken: Path
) -> None:
    console = consoles(scenario, speed=FLAT_OUT, invariants=False).start()
    console.until(console.phase(ENDED))
    assert console.bridge.failure == ""
    assert not list(broken.glob("*.flight"))
