"""The bridge to the trio thread, with real simulations: both streams, controls, the end, crashes, recordings."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import console.bridge as bridge_module
from cluster.commands import Kill
from cluster.events import Event
from cluster.view import ClusterView, document
from console.bridge import Bridge
from console.clock import ENDED, FAILED, LIVE, PAUSED
from console.traces import Traces
from recordings.flight import make_plan
from recordings.reader import Recording
from recordings.rerun import rerun
from recordings.scenario import load

SCENARIO = """
title = "Two members"
until = "20s"
seed = 3
[[topic]]
name = "orders"
partitions = 4
[[producer]]
name = "shop"
topics = ["orders"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[at]]
time = "12s"
do = "stall billing-1 for 2s"
"""
FLAT_OUT = float("inf")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


class Console:
    """What the app does with a bridge, without an app."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge, self.view, self.traces = bridge, ClusterView(), Traces()
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
            assert time.monotonic() < deadline, (self.bridge.clock, self.bridge.trouble)
            self.bridge.drain(self.view, self.traces, 0.02)
            self.bridge.ask()
            time.sleep(0.005)

    def phase(self, phase: str) -> Callable[[], bool]:
        return lambda: self.bridge.clock.phase == phase

    def drained(self) -> bool:
        return not self.bridge.drain(self.view, self.traces, 1.0)


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
    from recordings.flight import fly  # noqa: PLC0415

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
    console.bridge.ask()


def test_before_there_is_a_cluster_the_answer_says_so(scenario: Path) -> None:
    bridge = Bridge(scenario)
    assert bridge.submit(Kill("billing-1")) == "the cluster is still being built"
    bridge.stop()


def test_a_queue_that_is_full_makes_the_simulation_wait(
    scenario: Path, consoles: Callable[..., Console], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "QUEUED", 200)
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


def test_time_is_paced_paused_stepped_and_let_go(scenario: Path, consoles: Callable[..., Console]) -> None:
    console = consoles(scenario, speed=5.0).start()
    console.until(lambda: console.bridge.clock.now_us > 500_000)
    assert console.bridge.pause(True) == ""
    console.until(console.phase(PAUSED))
    stood = console.bridge.clock.now_us
    time.sleep(0.1)
    console.bridge.ask()
    time.sleep(0.05)
    assert console.bridge.clock.now_us == stood
    assert console.bridge.step("heartbeat_answered") == ""
    console.until(lambda: any(member.beats for member in console.view.members.values()))
    console.until(console.phase(PAUSED))
    assert sum(len(member.beats) for member in console.view.members.values()) == 1
    assert console.bridge.step(None) == ""
    assert console.bridge.set_speed(FLAT_OUT) == ""
    assert console.bridge.pause(False) == ""
    console.until(console.phase(ENDED))
    assert console.woken >= 5


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
    refused: list[str] = []

    def told() -> bool:
        refused.extend(console.traces.refusals())
        return bool(refused)

    console.until(told)
    assert "not running" in refused[0]


def test_stopping_takes_less_than_two_seconds_whatever_it_does(
    scenario: Path, consoles: Callable[..., Console]
) -> None:
    for speed in (1.0, FLAT_OUT):
        console = consoles("reference-m", speed=speed).start()
        console.until(console.phase(LIVE))
        began = time.monotonic()
        console.bridge.stop()
        assert time.monotonic() - began < 2.0
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

    monkeypatch.setattr(console.bridge, "_take", break_down)
    console.start()
    console.until(console.phase(FAILED))
    assert "the simulation failed at" in console.bridge.trouble
    assert "KeyError: 'orders-7'" in console.bridge.trouble
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
    assert words in console.bridge.complaint
    assert console.bridge.trouble == ""


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
    assert "is being recorded already" in console.bridge.record(str(path))
    console.until(lambda: bool(console.bridge.recording))
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
    assert "exists already" in console.bridge.record(str(tmp_path))
