"""Memory of a flight that lasts: what is live, and no more; what is kept for ever is caught."""

import gc
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest
import trio

from cluster.broker import log_cleanup
from cluster.events import Event
from cluster.invariants import Invariants
from cluster.network import InFlightRequest
from cluster.protocol.api import Response
from cluster.simulation import Simulation
from cluster.storage import batch_list
from cluster.storage.batch_list import BatchList
from cluster.storage.cleaner import Cleaner
from cluster.view import ClusterView, fold, fold_groups, ledger, transactions
from console.refused_commands import RefusedCommands
from recordings.flights.runner import make_plan
from recordings.journal.writer import Recorder, new_header
from recordings.scenarios.loader import load, parse_scenario
from tests.support.retained_memory import weight
from tests.support.slow_cases import mostly_slow

SMALL = """
title = "t"
[cluster]
brokers = 2
config = { "log.retention.check.interval.ms" = 30000, "offsets.topic.replication.factor" = 2 }
[[topic]]
name = "orders"
partitions = 2
replication = 2
config = { "retention.ms" = 120000, "segment.ms" = 30000 }
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "4/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
config = { "auto.commit.interval.ms" = 2000 }
"""
MINUTE_US = 60_000_000
MOST = 1.05  # of what it weighed half the time before
BYTES_A_BATCH = 30


FOR_EVER = SMALL.replace('config = { "retention.ms" = 120000, "segment.ms" = 30000 }', "")


TRANSACTIONAL = """
title = "t"
[cluster]
brokers = 1
config = { "log.retention.check.interval.ms" = 30000 }
[[topic]]
name = "orders"
partitions = 1
config = { "retention.ms" = 60000, "segment.ms" = 15000 }
[[topic]]
name = "invoices"
partitions = 1
config = { "retention.ms" = 60000, "segment.ms" = 15000 }
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "3/s"
transactions = { id = "checkout-{n}", records = 3, abort = 0.2 }
[[group]]
name = "billing"
topics = ["orders"]
config = { "isolation.level" = "read_committed", "auto.offset.reset" = "earliest" }
[group.application]
commit = "transaction"
writes = "invoices"
[[group]]
name = "never-commits"
topics = ["invoices"]
config = { "enable.auto.commit" = false, "auto.offset.reset" = "earliest" }
"""
BYTES_A_TRANSACTION = 400


class Flown:
    """A recorded flight with a console beside it: what it weighs at some minutes, how many batches it appended."""

    def __init__(self, text: str, path: Path, minutes: tuple[int, ...], *sinks: Callable[[Event], object]) -> None:
        scenario = parse_scenario(text, "small.toml")
        plan = make_plan(scenario)
        self.minutes = minutes
        self.weights: list[int] = []
        self.batches: list[int] = []
        self.recorder = Recorder(path, new_header("small", text, plan.settings))
        self.refused_commands, self.view = RefusedCommands(), ClusterView()
        self.simulation = Simulation(plan.spec, 1, sinks=[self.recorder, self._see, *sinks])
        self.simulation.sinks.append(Invariants(plan.spec, self.simulation.view))
        self.recorder.watch(self.simulation.view)
        self.beside = sinks
        trio.run(self._main, clock=self.simulation.timeline)
        timeline = self.simulation.timeline
        self.recorder.close(turns=timeline.turn, virtual_us=timeline.now_us)

    def _see(self, event: Event) -> None:
        self.refused_commands.observe(event)
        fold(self.view, event)

    async def _main(self) -> None:
        async with self.simulation.running():
            for minute in self.minutes:
                await self.simulation.timeline.fly(minute * MINUTE_US)
                self.batches.append(self.recorder.kinds["records_appended"])
                self.weights.append(weight(self, self.simulation, self.beside).total())


def forget_nothing(*_: object) -> None:
    """What lets memory grow."""


LEAKS: dict[str, tuple[object, str]] = {
    "coordinators' records": (BatchList, "clean"),
    "dates of appends": (fold_groups, "_forget_append_times"),
    "deleted batches": (log_cleanup, "clean_up"),
}


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Logs are packed soon, so that a small flight shows what a large one shows in hours."""
    monkeypatch.setattr(batch_list, "PACK_AT", 64)
    monkeypatch.setattr(batch_list, "PACKED_TOGETHER", 32)
    return monkeypatch


@pytest.mark.slow
@pytest.mark.usefixtures("tight")
def test_a_recorded_flight_weighs_what_is_live(tmp_path: Path) -> None:
    ten, twenty = Flown(SMALL, tmp_path / "flight", (10, 20)).weights
    assert twenty < MOST * ten


@pytest.mark.parametrize("what", mostly_slow([*LEAKS, "events"], quick=["events"]))
def test_what_is_kept_for_ever_is_found(tight: pytest.MonkeyPatch, tmp_path: Path, what: str) -> None:
    sinks: list[Callable[[Event], object]] = []
    if what == "events":
        events: list[Event] = []
        sinks.append(events.append)
    else:
        tight.setattr(*LEAKS[what], forget_nothing)
    ten, twenty = Flown(SMALL, tmp_path / "flight", (10, 20), *sinks).weights
    assert twenty > MOST * ten


@pytest.mark.slow
@pytest.mark.usefixtures("tight")
def test_without_retention_a_batch_costs_little(tmp_path: Path) -> None:
    flown = Flown(FOR_EVER, tmp_path / "flight", (10, 20))
    ten, twenty = flown.weights
    assert (twenty - ten) / (flown.batches[1] - flown.batches[0]) < BYTES_A_BATCH


TRANSACTIONS_KEPT: dict[str, tuple[object, str, object]] = {
    "offsets in transactions": (Cleaner, "_decide", lambda *_, **__: None),
    "what readers finished, dates of appends": (ledger, "_forget_deleted", forget_nothing),
    "markers": (transactions, "SETTLED_US", 1 << 60),
}


def grown_by_a_transaction(path: Path) -> float:
    """Bytes that each transaction leaves behind for ever."""
    flown = Flown(TRANSACTIONAL, path, (5, 10))
    five, ten = flown.weights
    return (ten - five) / flown.simulation.view.transactions["checkout-1"].begun * 2


@pytest.mark.slow
@pytest.mark.usefixtures("tight")
def test_a_transaction_leaves_little_behind(tmp_path: Path) -> None:
    assert grown_by_a_transaction(tmp_path / "flight") < BYTES_A_TRANSACTION


@pytest.mark.parametrize("what", mostly_slow(TRANSACTIONS_KEPT, quick=list(TRANSACTIONS_KEPT)[:1]))
def test_what_is_kept_of_each_transaction_is_found(tight: pytest.MonkeyPatch, tmp_path: Path, what: str) -> None:
    tight.setattr(*TRANSACTIONS_KEPT[what])
    assert grown_by_a_transaction(tmp_path / "flight") > BYTES_A_TRANSACTION


@pytest.mark.slow
def test_batches_that_are_never_packed_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(batch_list, "PACK_AT", 1 << 40)
    flown = Flown(FOR_EVER, tmp_path / "flight", (10, 20))
    ten, twenty = flown.weights
    assert (twenty - ten) / (flown.batches[1] - flown.batches[0]) > 5 * BYTES_A_BATCH


def circles(seconds: tuple[int, int]) -> list[str]:
    """What of the cluster only the garbage collector could free after a stretch of a flight of everything."""
    plan = make_plan(load("first-flight"))
    simulation = Simulation(plan.spec, plan.settings.seed)
    found: list[str] = []

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(seconds[0] * 1_000_000)
            gc.collect()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                await simulation.timeline.fly(seconds[1] * 1_000_000)
                gc.collect()
            finally:
                gc.set_debug(0)

    trio.run(main, clock=simulation.timeline)
    for one in gc.garbage:
        where = one.__module__ if isinstance(one, FunctionType) else type(one).__module__
        if where.startswith(("cluster.", "recordings.")):
            found.append(getattr(one, "__qualname__", type(one).__qualname__))
    gc.garbage.clear()
    return found


def test_a_flight_leaves_no_circles_behind() -> None:
    assert not circles((10, 60))


def test_a_call_that_holds_its_waiter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(call: InFlightRequest, response: Response | None) -> None:
        call.completed = True
        call.on_response(response)

    monkeypatch.setattr(InFlightRequest, "end", end)
    assert "InFlightRequest" in circles((10, 15))
