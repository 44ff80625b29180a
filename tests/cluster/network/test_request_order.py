"""Requests on one connection are answered in order: what one sees of it, and a broker that does not is caught."""

from collections.abc import Callable
from itertools import pairwise

import msgspec
import pytest

from cluster import events as e
from cluster.broker.socket_server import SocketServer
from cluster.config import Value
from cluster.network import Connection, InFlightRequest
from cluster.spec import BrokerSpec, ScenarioSpec
from tests.support.broker_flights import cluster
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import MS, SECOND_US, spec

FETCH_WAIT_US = 500 * MS
CLOSE_TIMEOUT_US = 30 * SECOND_US


class Order:
    """Which requests reached each connection's broker, and which were answered, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waiting: dict[Connection, list[InFlightRequest]] = {}
        self.overtaken: list[InFlightRequest] = []
        self.waited = 0
        receive, reply = SocketServer.receive, InFlightRequest.reply
        order = self

        def received(sockets: SocketServer, call: InFlightRequest) -> None:
            if call.connection.accepted and sockets.running and call.connection.in_order:
                waiting = order.waiting.setdefault(call.connection, [])
                order.waited += bool(waiting)
                waiting.append(call)
            receive(sockets, call)

        def replied(call: InFlightRequest, response: object) -> None:
            waiting = order.waiting.get(call.connection, [])
            if call in waiting:
                unanswered = [one for one in waiting[: waiting.index(call)] if getattr(one.request, "acks", 1) != 0]
                order.overtaken += unanswered
                waiting.remove(call)
            reply(call, response)  # type: ignore[arg-type]

        monkeypatch.setattr(SocketServer, "receive", received)
        monkeypatch.setattr(InFlightRequest, "reply", replied)


def out_of_order(sockets: SocketServer, call: InFlightRequest) -> None:
    """A broker that handles each request when it arrives."""
    if sockets.running and call.connection.accepted:
        sockets._handle(call)


def leaving() -> ScenarioSpec:
    return spec((1, "stop g-2"), until_s=12, members=2)


def loaded() -> ScenarioSpec:
    return cluster(until_s=10, rate=2_000.0)


def below_the_isr() -> ScenarioSpec:
    commits: dict[str, Value] = {"auto.commit.interval.ms": 1_000}
    return spec((20.95, "kill broker-3"), until_s=28, commit="auto", consumer=commits)


SCENARIOS: dict[str, Callable[[], ScenarioSpec]] = {
    "a leave behind a join": leaving,
    "heartbeats behind a commit": below_the_isr,
    "acks=all": loaded,
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_answer_overtakes_another_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order(monkeypatch)
    flown(SCENARIOS[name]())
    assert order.waited > 0
    assert not order.overtaken


def test_a_broker_that_answers_out_of_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SocketServer, "receive", out_of_order)
    order = Order(monkeypatch)
    flown(below_the_isr())
    assert order.overtaken


def a_leave_waits(flight: Flown) -> bool:
    """Whether the member that is closed at the barrier is counted in the generation that the barrier brings."""
    first = flight.all(e.JoinBarrierCompleted)[0]
    return sorted(first.members.values()) == ["g-1", "g-2"]


def appends_wait(flight: Flown) -> bool:
    """Whether each batch of a partition's only producer is committed when the next one is appended."""
    batches = flight.all(e.RecordsAppended, partition="orders-0")
    safe_us = {event.offset: event.at_us for event in flight.all(e.HighWatermarkAdvanced, partition="orders-0")}
    return len(batches) > 100 and all(
        event.base_offset == 0 or safe_us.get(event.base_offset, event.at_us + 1) <= event.at_us for event in batches
    )


@pytest.mark.parametrize(
    ("scenario", "holds"), [(leaving, a_leave_waits), (loaded, appends_wait)], ids=["leave", "acks=all"]
)
@pytest.mark.parametrize("broken", [False, True])
def test_a_request_waits_for_the_one_before_it(
    scenario: Callable[[], ScenarioSpec], holds: Callable[[Flown], bool], broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken:
        monkeypatch.setattr(SocketServer, "receive", out_of_order)
    assert holds(flown(scenario())) is not broken


# --- what one sees ----------------------------------------------------------------------------------------------------


def test_a_leave_waits_behind_the_members_own_join_at_the_barrier() -> None:
    flight = flown(leaving())
    first, second = flight.all(e.JoinBarrierCompleted)
    assert sorted(second.members.values()) == ["g-1"]
    (left,) = flight.all(e.MemberRemoved)
    assert (left.member, left.at_us) == ("g-2", first.at_us)  # read in the instant of the answer that it waited for
    (stopped,) = flight.all(e.MemberStopped)
    assert stopped.at_us == first.at_us + MS
    assert not flight.all(e.SyncReceived, member="g-2")


def test_close_gives_up_after_its_timeout_and_the_leave_is_read_all_the_same() -> None:
    """g-2 does not poll, so the barrier stays open until max.poll.interval.ms; g-1 waits there and is closed."""
    polls: dict[str, Value] = {"max.poll.interval.ms": 60_000}
    steps = [(20, "stall g-2"), (22, "kill g-3"), (30.5, "stop g-1")]
    flight = flown(spec(*steps, until_s=110, members=3, consumer=polls))
    (stopped,) = flight.all(e.MemberStopped, member="g-1")
    asked_us = flight.all(e.MemberStateChanged, 30 * SECOND_US, member="g-1", state="Left")[0].at_us
    assert stopped.at_us - asked_us == CLOSE_TIMEOUT_US
    (left,) = flight.all(e.MemberRemoved, member="g-1")
    closed = flight.all(e.JoinBarrierCompleted, stopped.at_us)[0]
    assert "g-1" in closed.members.values()
    assert left.at_us == closed.at_us
    assert left.reason == "member left"


def test_heartbeats_wait_behind_a_commit_that_waits_for_replicas() -> None:
    """The commit itself renews the session: no member is removed, and the client hears of its coordinator in time."""
    flight = flown(below_the_isr())
    beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered)]
    longest_us, since_us = max((after - before, before) for before, after in pairwise(beats))
    (given_up,) = flight.all(e.OffsetCommitRefused, error="COORDINATOR_NOT_AVAILABLE")[:1]
    assert 4 * SECOND_US < longest_us <= 6 * SECOND_US
    assert since_us < given_up.at_us <= since_us + longest_us
    assert not flight.all(e.MemberRemoved)


def test_a_lookup_waits_behind_a_parked_fetch() -> None:
    """One broker, an idle consumer: its fetch holds FindCoordinator up, and it has another connection to it besides.

    The first one waits for nothing: the fetch that was parked before the freeze is over. But the connection that the
    consumer has just given up may not be made again yet.
    """
    scenario = spec((20.3, "pause g-1 for 8s"), until_s=32, rate=0.001)
    scenario = msgspec.structs.replace(scenario, brokers=(BrokerSpec(1),))
    flight = flown(scenario)
    lost, unavailable = flight.all(e.CoordinatorLost)
    assert unavailable.cause == "coordinator unavailable"
    at_once, found = flight.all(e.CoordinatorFound, lost.at_us)
    assert at_once.at_us - lost.at_us == 2 * MS
    assert 100 * MS < found.at_us - unavailable.at_us <= FETCH_WAIT_US + 4 * MS
    nodes = flight.simulation.consumers["g-1"]._connections
    assert sorted(nodes) == [1, 2**31 - 2]


def test_a_client_has_its_coordinator_on_a_connection_of_its_own() -> None:
    """A broker that coordinates and leads: the fetch that is parked there holds no heartbeat up."""
    scenario = msgspec.structs.replace(spec(until_s=30, rate=0.001), brokers=(BrokerSpec(1),))
    flight: Flown = flown(scenario)
    beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered)]
    assert {after - before for before, after in pairwise(beats)} == {SECOND_US}


def test_a_batch_that_is_sent_again_while_a_later_one_waits_is_settled_first() -> None:
    """Of a connection that was given up one more request is served: the retry of an earlier batch comes behind it."""
    flight = flown(spec(until_s=5))
    partition = flight.simulation.controller.partitions["orders-0"]
    replica = flight.simulation.brokers[partition.leader].replicas["orders-0"]
    high_watermark = replica.high_watermark
    for more in (10, 20, 5, 10):
        replica.when_committed(high_watermark + more, lambda _: None)
    assert [offset - high_watermark for offset, _ in replica.waiting or ()] == [5, 10, 10, 20]
