"""What a consumer holds of its fetches: told when it stays, counted down by poll(), dropped with its reason."""

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.config import Value
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import document
from cluster.view.fold import HANDLERS
from tests.support.completed_flight import flown
from tests.support.expected_document import Truth, differences
from tests.support.independent_recorder import watching
from tests.support.scenario_builders import COOPERATIVE, SECOND_US, spec

POLLED = 10


def made(
    *steps: tuple[float, str], assignors: tuple[str, ...] = ("range",), members: int = 1, until_s: float = 30
) -> ScenarioSpec:
    """A backlog that a slow group reads ten records a poll(): its buffers are seldom empty."""
    config: dict[str, Value] = {"auto.offset.reset": "earliest", "max.poll.records": POLLED}
    given = spec(*steps, until_s=until_s, members=members, rate=40, consumer=config)
    application = msgspec.structs.replace(given.groups[0].application, per_record_us=50_000)
    group = msgspec.structs.replace(given.groups[0], assignors=assignors, application=application)
    return msgspec.structs.replace(given, groups=(group,))


def wrong_at(given: ScenarioSpec, every_ms: int = 100) -> tuple[list[str], int]:
    """Where the view's buffers are not those of the fetchers, and how many were compared."""
    wrong, compared = list[str](), 0
    with watching() as recorder:
        simulation = Simulation(given, given.seed)

        async def main() -> None:
            nonlocal compared
            async with simulation.running():
                truth = Truth(simulation, recorder)
                for now_us in range(0, given.until_us + 1, every_ms * 1_000):
                    await simulation.timeline.fly(now_us)
                    seen, true = document(simulation.view, now_us)["members"], truth.document()["members"]
                    for name, member in true.items():
                        compared += len(member["buffered"])
                        wrong.extend(differences(seen[name]["buffered"], member["buffered"], f"{now_us} {name}"))

        trio.run(main, clock=simulation.timeline)
    return wrong, compared


FLIGHTS = {
    "seek": made((15, "seek g orders-0 to 0")),
    "paused": made((12, "pause partitions orders-0 of g-1 for 8s")),
    "eager": made((12, "scale g to 3"), members=2),
    "cooperative": made((12, "scale g to 3"), assignors=COOPERATIVE, members=2),
    "leader": made((12, "kill broker-1"), (20, "start broker-1")),
    "frozen": made((12, "pause g-1 for 4s"), (20, "kill g-1")),
    "stalled": made((12, "stall g-1 for 10s")),
}


@pytest.mark.parametrize("name", FLIGHTS)
def test_the_view_has_what_the_fetchers_hold(name: str) -> None:
    wrong, compared = wrong_at(FLIGHTS[name])
    assert not wrong
    assert compared > 20


def test_a_fold_that_reads_no_fetches_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    kind: type[e.Event] = e.RecordsFetched
    monkeypatch.setitem(HANDLERS, kind, lambda *_: None)
    assert wrong_at(FLIGHTS["seek"], 500)[0]


def test_a_seek_drops_what_is_held() -> None:
    flight = flown(FLIGHTS["seek"])
    (dropped,) = flight.all(e.FetchedRecordsDropped)
    assert (dropped.reason, dropped.partitions, dropped.at_us // SECOND_US) == ("seek", ("orders-0",), 15)
    assert flight.all(e.RecordsFetched)[-1].records["orders-0"] > POLLED


def test_an_eager_rebalance_drops_what_is_held() -> None:
    assert {one.reason for one in flown(FLIGHTS["eager"]).all(e.FetchedRecordsDropped)} == {"revoked"}


def test_what_a_waiting_poll_returns_at_once_is_not_told() -> None:
    """A consumer that waits for each record never holds one."""
    flight = flown(spec(until_s=20, members=1, rate=5, consumer={"auto.offset.reset": "latest"}))
    assert flight.all(e.PollReturned)
    assert not flight.all(e.RecordsFetched)
