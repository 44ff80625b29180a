"""Every state of a transactional id and every kind of fencing reaches the screen of transactions, from flown events."""

from collections.abc import Sequence

import pytest
import trio
from msgspec.structs import replace

from cluster import events as e
from cluster.broker.broker import Broker
from cluster.config import Value
from cluster.protocol.errors import ErrorCode
from cluster.protocol.transaction_messages import WriteTxnMarkersRequest
from cluster.protocol.transaction_states import TransactionState
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.presenters.list_view import Listing
from console.presenters.styled_text import plain
from console.presenters.transactions import StatesListing, TransactionEventsListing, TransactionsListing
from tests.support.completed_flight import flown
from tests.support.scenario_builders import moving, transactional

WIDTH = 160
IMPATIENT: dict[str, Value] = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
EXPIRES: dict[str, Value] = {
    "transactional.id.expiration.ms": 10_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 5_000,
}


def paying(*steps: tuple[float, str], version: int = 2, until_s: int = 60, abort: float = 0.0) -> ScenarioSpec:
    """One producer of transactions whose timeout is 10 s; a transactional id without use for 10 s expires."""
    made = transactional(*steps, version=version, until_s=until_s, abort=abort, limit=200)
    (producer,) = made.producers
    producer = replace(producer, config={"transaction.timeout.ms": 10_000})
    return replace(made, config={**made.config, **EXPIRES}, producers=(producer,), groups=())


def succeeded(step: tuple[float, str]) -> ScenarioSpec:
    """The same, and 5 s later a successor that an orchestrator starts with the same transactional id."""
    made = paying(step)
    (producer,) = made.producers
    return replace(made, producers=(producer, replace(producer, name="next", start_us=10_500_000)))


def rows(listing: Listing) -> dict[str, str]:
    return {key: "\n".join(plain(row) for row in listing.rows(key)) for key in listing.row_keys()}


def shown(made: ScenarioSpec) -> dict[str, str]:
    """State → the row of the transactional id that was in it, each as it was drawn right after an event."""
    view = ClusterView()
    seen: dict[str, str] = {}
    for event in flown(made).all(e.Event):
        fold(view, event)
        if isinstance(event, e.TransactionStateChanged | e.TransactionFenced):
            row = rows(TransactionsListing(view, event.at_us, WIDTH))["pay-1"]
            for key, state in rows(StatesListing(view, WIDTH)).items():
                if "◀ pay-1" in state:
                    seen[key.removeprefix("#")] = row
    return seen


def moments(made: ScenarioSpec) -> Sequence[str]:
    """What the screen says of fencing when the flight is over."""
    return said(flown(made).all(e.Event))


def said(events: Sequence[e.Event]) -> Sequence[str]:
    view = ClusterView()
    for event in events:
        fold(view, event)
    return list(rows(TransactionEventsListing(view, WIDTH)).values())


@pytest.mark.parametrize("version", [1, 2])
def test_every_state_is_seen_in_its_row_and_lit_among_the_states(version: int) -> None:
    made = paying((5.5, "pause pay-1 for 30s"), version=version, abort=0.4, until_s=70)
    seen = shown(made)
    assert set(seen) == {state.value for state in TransactionState}
    for state, row in seen.items():
        assert row.split()[2] == ("EpochFence" if state == "PrepareEpochFence" else state)


KINDS = {
    "timeout": (paying((5.5, "pause pay-1")), "pay-1 epoch 5 fenced: open for longer than transaction.timeout.ms"),
    "a successor, in a transaction": (
        paying((5.3, "kill pay-1 for 2s")),
        "pay-1 epoch 5 fenced: another producer has its transactional.id",
    ),
    "a successor, between transactions": (
        paying((12.0, "restart pay-1")),
        "pay-1 begins anew with epoch 11: every earlier epoch is fenced",
    ),
    "a successor, after the id expired": (
        paying((40.0, "restart pay-1")),
        "pay-1 begins anew as producer id ",
    ),
    "a leader": (
        paying((5.5, "pause pay-1 for 18s")),
        "leader refused pay-1 epoch 5: INVALID_PRODUCER_EPOCH",
    ),
    "its coordinator": (
        succeeded((5.5, "pause pay-1 for 18s")),  # without a successor, version 2 takes its abort for a repetition
        "its coordinator refused pay-1 epoch 5: PRODUCER_FENCED",
    ),
    "a coordinator that knows it no more": (
        paying((5.5, "pause pay-1 for 30s")),
        "pay-1 is Fenced: INVALID_PRODUCER_ID_MAPPING",
    ),
    "the group that has given its member up": (
        moving((4.05, "pause g-1 for 12s"), (4.1, "scale g to 2"), until_s=30, consumer=IMPATIENT),
        "g's coordinator refused offsets of g-1: UNKNOWN_MEMBER_ID",
    ),
    "expiration": (paying(until_s=40), "pay-1 is Dead: unused for transactional.id.expiration.ms"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fencing_is_told(kind: str) -> None:
    made, words = KINDS[kind]
    rows_said = moments(made)
    assert any(words in row for row in rows_said), rows_said


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "error"),
    [(0, -1, "TRANSACTION_COORDINATOR_FENCED"), (-1, 0, "INVALID_PRODUCER_EPOCH")],
)
def test_a_marker_of_who_coordinates_no_more_is_told(epoch: int, coordinator_epoch: int, error: str) -> None:
    """It comes late, when its transaction is ended already: from a coordinator that was cut off, say."""
    events: list[e.Event] = []
    simulation = Simulation(paying(version=1, until_s=4), 1, sinks=[events.append])
    answered: list[ErrorCode] = []

    def late() -> None:
        leader = simulation.process("broker-1")
        assert isinstance(leader, Broker)
        ended = WriteTxnMarkersRequest(0, epoch, coordinator_epoch, committed=True, partitions=("orders-0",))
        leader.transactional_requests._mark("orders-0", ended, lambda _, answer: answered.append(answer))

    async def main() -> None:
        async with simulation.running():
            simulation.timeline.call_at(3 * 1_000_000, late)
            await simulation.timeline.fly(4 * 1_000_000)

    trio.run(main, clock=simulation.timeline)
    assert [answer.name for answer in answered] == [error]
    assert any(f"orders-0's leader refused a marker of pay-1: {error}" in row for row in said(events))
