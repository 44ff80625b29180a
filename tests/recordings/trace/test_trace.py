"""A trace shows what the event log says, in a form that Perfetto's own parser reads."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recordings.bounded_files import RecordingError
from recordings.flights.runner import Plan, Replay, fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load
from recordings.trace.export import export_trace
from tests.support import trace_judge as judge
from tests.support.operator_commands import operated
from tests.support.perfetto import perfetto

pytestmark = pytest.mark.xdist_group("trace")  # one process: each flight is flown once
NODE = shutil.which("node")
LONG = [pytest.param(name, marks=pytest.mark.slow) for name in ("eventful", "consumer protocol")]
Events = list[dict[str, Any]]


class Shown(NamedTuple):
    """A recording, its trace, and the events of the trace."""

    recording: Recording
    trace: Path
    events: Events

    @property
    def end_us(self) -> int:
        assert self.recording.footer is not None
        return self.recording.footer.virtual_us


def shown(recording: Path, trace: Path) -> Shown:
    export_trace(recording, trace)
    return Shown(Recording(recording), trace, json.loads(trace.read_bytes())["traceEvents"])


class Flights:
    """Flights by name, each flown once: one with kills, one with transactions and fencing, a long one."""

    def __init__(self, place: Path, plans: Mapping[str, Plan]) -> None:
        self._place, self._plans = place, plans
        self._shown: dict[str, Shown] = {}

    def __getitem__(self, name: str) -> Shown:
        if name not in self._shown:
            recording = self._place / name
            fly(self._plans[name], record=recording, replay=Replay(by_time=operated() if name == "small" else ()))
            self._shown[name] = shown(recording, self._place / f"{name}.json")
        return self._shown[name]


@pytest.fixture(scope="module")
def flights(plan: Plan, eventful: Plan, tmp_path_factory: pytest.TempPathFactory) -> Flights:
    plans = {"small": plan, "zombie": make_plan(load("zombie-producer")), "eventful": eventful}
    plans["consumer protocol"] = make_plan(load("consumer-session-expired"))
    return Flights(tmp_path_factory.mktemp("trace"), plans)


def disagreements(flight: Shown, events: Events) -> list[str]:
    return judge.malformed(events) or judge.disagreements(
        judge.told_by_trace(events), judge.told_by_log(flight.recording.event_lines(), flight.end_us)
    )


@pytest.mark.parametrize("name", ["small", "zombie", *LONG])
def test_a_trace_shows_what_the_log_says(flights: Flights, name: str) -> None:
    flight = flights[name]
    assert disagreements(flight, flight.events) == []
    told = judge.told_by_trace(flight.events)
    present = {"request", "state", "moment", "fault", "rebalance"} | ({"transaction"} if name == "zombie" else set())
    assert present <= {kind for kind, facts in told.items() if facts}


@pytest.mark.parametrize(
    ("name", "seconds", "highest"), [("small", 4, 200), pytest.param("eventful", 400, 200, marks=pytest.mark.slow)]
)
def test_the_counter_of_a_group_is_its_lag(flights: Flights, name: str, seconds: int, highest: int) -> None:
    flight = flights[name]
    by_log = judge.lags_by_log(flight.recording.event_lines())
    assert len(by_log) >= seconds
    assert max(by_log.values()) >= highest
    told = judge.told_by_trace(flight.events)
    assert judge.different_lags(told, by_log) == []
    key = next(iter(by_log))
    assert len(judge.different_lags(told, by_log | {key: by_log[key] + 1})) == 1


def first(events: Events, **fields: str) -> int:
    return next(at for at, event in enumerate(events) if fields.items() <= event.items())


def _drop(**fields: str) -> Callable[[Events], None]:
    def broken(events: Events) -> None:
        del events[first(events, **fields)]

    return broken


def _late(**fields: str) -> Callable[[Events], None]:
    def broken(events: Events) -> None:
        events[first(events, **fields)]["ts"] += 1

    return broken


def _without_a_request(events: Events) -> None:
    number = events[first(events, ph="b", cat="request")]["id"]
    events[:] = [event for event in events if not (event.get("cat") == "request" and event["id"] == number)]


def _longer_state(events: Events) -> None:
    slices = [
        event for event in events if event["ph"] == "X" and event["name"] == "Stable" and "reason" in event["args"]
    ]
    slices[0]["dur"] -= 1


BROKEN: dict[str, Callable[[Events], None]] = {
    "a span without its end": _drop(ph="e", cat="rebalance"),
    "a track without its name": _drop(ph="M", name="thread_name"),
    "a late end of a rebalance": _late(ph="e", cat="rebalance"),
    "a late end of a transaction": _late(ph="e", cat="transaction"),
    "a late moment": _late(ph="i", name="transaction fenced: InitProducerId"),
    "a fault too early": _late(ph="b", cat="fault"),
    "a request less": _without_a_request,
    "a shorter state": _longer_state,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_trace_is_noticed(flights: Flights, name: str) -> None:
    events = json.loads(json.dumps(flights["zombie"].events))
    BROKEN[name](events)
    assert disagreements(flights["zombie"], events)


def test_the_same_flight_gives_the_same_bytes(flights: Flights, tmp_path: Path) -> None:
    again = tmp_path / "again"
    fly(make_plan(load("zombie-producer")), record=again)
    export_trace(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == flights["zombie"].trace.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_place_that_cannot_be_written_is_named(flights: Flights, tmp_path: Path) -> None:
    recording = flights["zombie"].recording.path
    with pytest.raises(RecordingError, match=r"cannot write a trace to .*: it is a directory"):
        export_trace(recording, tmp_path)
    with pytest.raises(RecordingError, match=r"cannot write a trace to .*nowhere.*: No such file or directory"):
        export_trace(recording, tmp_path / "nowhere" / "a.json")


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="no Node on this machine, which runs Perfetto's parser: install nodejs")
@pytest.mark.parametrize("name", ["eventful", "zombie"])
def test_perfetto_reads_the_trace(flights: Flights, tmp_path: Path, name: str) -> None:
    assert NODE is not None
    queries = [
        "select name, value from stats where value != 0 and severity != 'info'",
        "select count(*) as slices, sum(dur) / 1000 as us from slice",
        "select count(*) as samples from counter",
        "select name from process where name is not null order by pid",
    ]
    flight = flights[name]
    refused, [slices], [counters], processes = perfetto.ask(NODE, flight.trace, queries)
    assert refused == []
    by_phase = {phase: [event for event in flight.events if event["ph"] == phase] for phase in "XibeCM"}
    spans_us = sum(event["ts"] for event in by_phase["e"]) - sum(event["ts"] for event in by_phase["b"])
    assert slices == {
        "slices": len(by_phase["X"]) + len(by_phase["i"]) + len(by_phase["b"]),
        "us": sum(event["dur"] for event in by_phase["X"]) + spans_us,
    }
    assert counters["samples"] == len(by_phase["C"])
    named = [event["args"]["name"] for event in by_phase["M"] if event["name"] == "process_name"]
    assert [row["name"] for row in processes] == named

    twice = next(event for event in flight.events if event["ph"] == "X" and event["dur"] > 10)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"traceEvents": [*flight.events, twice | {"ts": twice["ts"] + 5}]}))
    assert perfetto.ask(NODE, broken, queries)[0] == [{"name": "slice_drop_overlapping_complete_event", "value": 1}]
