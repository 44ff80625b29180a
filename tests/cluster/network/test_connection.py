"""Connections are made before they carry anything, end each call exactly once, and are made again with backoff."""

from cluster.broker.inter_broker import CONNECTING
from cluster.config import ConnectionConfig, resolve
from cluster.network import (
    Connection,
    ConnectionAttempts,
    InFlightRequest,
    LinkCut,
    LinkFault,
    LinkHold,
    Network,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchRequest, FetchResponse, InitProducerIdRequest, InitProducerIdResponse
from cluster.simulation.link_commands import both_ways
from cluster.spec import NetworkSpec
from cluster.virtual_time import Timeline
from tests.support.network_scene import MS, Client, run_scene

TIMEOUT_US = 100 * MS
SETUP_US = 40 * MS
ANSWER = InitProducerIdResponse(ErrorCode.NONE, 7, 0)
ASK = InitProducerIdRequest()
FETCH = FetchRequest("client-1", {}, 1, 1)
EVERYWHERE = both_ways("client-1", "broker-1")


class Broker:
    """Answers at once unless it is told to be silent; `up` is false for a dead process on a living host."""

    name = "broker-1"

    def __init__(self) -> None:
        self.calls: list[InFlightRequest] = []
        self.silent = False
        self.up = self.running = True
        self.gone: list[Connection] = []
        self.lost: list[InFlightRequest] = []

    def accept(self, connection: Connection) -> None:
        connection.inbound.send(connection.established if self.up else connection.reset, None)

    def receive(self, call: InFlightRequest) -> None:
        self.calls.append(call)
        if not self.silent:
            call.reply(ANSWER)

    def never_received(self, call: InFlightRequest) -> None:
        self.lost.append(call)

    def disconnected(self, connection: Connection) -> None:
        self.gone.append(connection)

    def read_on(self, connection: Connection, *, answered: bool) -> None:
        raise AssertionError(f"it keeps no requests: {connection}, {answered}")

    def expire(self, call: InFlightRequest) -> None:
        raise AssertionError(f"it parks nothing: {call}")


class Scene:
    """A client, a broker and the network between them."""

    def __init__(self, timeline: Timeline, draw: float = 0.5) -> None:
        self.timeline = timeline
        self.network, self.broker, self.client = Network(timeline, NetworkSpec(MS, 0.0), 1), Broker(), Client(timeline)
        config = ConnectionConfig.of(resolve("producer", {"socket.connection.setup.timeout.ms": SETUP_US // MS}))
        self.attempts = ConnectionAttempts(config, lambda: draw)
        self.answers: list[tuple[object, int]] = []

    def connect(self) -> Connection:
        return Connection(self.timeline, self.network, self.client, self.broker, TIMEOUT_US, self.attempts)

    def ask(self, connection: Connection, *, fetch: bool = False) -> InFlightRequest:
        return connection.send(FETCH if fetch else ASK, self._answered, long_poll=fetch)

    def _answered(self, answer: object) -> None:
        self.answers.append((answer, self.timeline.now_us // MS))

    async def until(self, at_ms: int) -> None:
        await self.timeline.fly(at_ms * MS)

    def inject(self, fault: type[LinkFault]) -> None:
        self.network.inject("fault", fault(EVERYWHERE))


def test_a_connection_is_made_before_it_carries_anything() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        scene.ask(connection)
        await scene.until(1)
        assert not scene.broker.calls
        await scene.until(500)
        assert scene.client.heard == [("connected", 2)]
        assert scene.answers == [(ANSWER, 4)]

    run_scene(play)


def test_a_ready_connection_answers_after_two_latencies() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        await scene.until(10)
        scene.ask(connection)
        await scene.until(1_000)
        assert scene.answers == [(ANSWER, 12)]

    run_scene(play)


def test_the_host_of_a_dead_process_refuses_at_once_and_what_waited_fails() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        scene.broker.up = False
        connection = scene.connect()
        scene.ask(connection)
        await scene.until(100)
        assert scene.answers == [(None, 2)]
        assert scene.client.heard == [("disconnected", 2)]
        assert connection.broken
        scene.ask(connection)  # nothing to send it on, until the process connects again
        assert len(scene.answers) == 1
        await scene.until(101)
        assert scene.answers[1:] == [(None, 100)]

    run_scene(play)


def test_a_host_that_does_not_answer_costs_the_setup_timeout() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        scene.inject(LinkCut)
        scene.connect()
        await scene.until(100)
        assert scene.client.heard == [("disconnected", SETUP_US // MS)]

    run_scene(play)


def test_attempts_back_off_and_a_connection_that_was_made_begins_anew() -> None:
    attempts = Scene(Timeline(lambda _: None)).attempts
    waits, setups = [], []
    for _ in range(7):
        setups.append(attempts.setup_timeout_us() // MS)
        attempts.failed(0, connecting=True)
        waits.append(attempts.not_before_us // MS)
    assert waits == [50, 100, 200, 400, 800, 1_000, 1_000]
    assert setups == [40, 80, 160, 320, 640, 1_280, 2_560]
    attempts.succeeded()
    attempts.failed(0, connecting=False)
    assert (attempts.not_before_us, attempts.setup_timeout_us()) == (50 * MS, SETUP_US)


def test_backoff_has_a_fifth_of_jitter_and_never_more_than_its_maximum() -> None:
    waits = []
    for draw in (0.0, 0.999999):
        attempts = Scene(Timeline(lambda _: None), draw).attempts
        for _ in range(7):
            attempts.failed(0, connecting=True)
            waits.append(attempts.not_before_us)
    assert (waits[0] // MS, round(waits[7] / MS)) == (40, 60)
    assert (waits[6] // MS, waits[13] // MS) == (800, 1_000)


def test_a_request_without_an_answer_breaks_the_connection_and_a_late_answer_is_dropped() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        await scene.until(10)
        scene.broker.silent = True
        scene.ask(connection)
        scene.ask(connection)
        await scene.until(200)
        assert scene.answers == [(None, 10 + TIMEOUT_US // MS)] * 2
        assert scene.broker.gone == [connection]
        scene.broker.calls[0].reply(ANSWER)
        await scene.until(300)
        assert len(scene.answers) == 2

    run_scene(play)


def test_a_parked_fetch_is_timed_only_while_something_hides_its_broker() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        scene.broker.silent = True
        scene.ask(connection, fetch=True)
        await scene.until(1_000)
        scene.inject(LinkCut)
        await scene.until(1_050)
        scene.network.clear("fault")  # a short cut: nothing was lost, it is a long poll again
        await scene.until(2_000)
        assert not scene.answers
        scene.inject(LinkCut)
        await scene.until(3_000)
        assert scene.answers == [(None, 2_000 + TIMEOUT_US // MS)]

    run_scene(play)


def test_a_fetch_sent_over_a_cut_link_is_timed_from_then_on() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        await scene.until(10)
        scene.inject(LinkCut)
        await scene.until(30)
        scene.ask(connection, fetch=True)
        await scene.until(1_000)
        assert scene.answers == [(None, 30 + TIMEOUT_US // MS)]

    run_scene(play)


def test_what_a_connection_had_not_got_onto_the_wire_ends_with_it() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        for fault, arrives in ((LinkCut, 0), (LinkHold, 1)):
            connection = scene.connect()
            await scene.until(timeline.now_us // MS + 10)
            scene.broker.calls.clear()
            scene.inject(fault)
            scene.ask(connection)
            await scene.until(timeline.now_us // MS + 200)
            assert connection.broken
            scene.network.clear("fault")
            await scene.until(timeline.now_us // MS + 10)
            assert len(scene.broker.calls) == arrives
        assert len(scene.broker.lost) == 1  # the one behind the cut

    run_scene(play)


def test_nobody_hears_of_a_call_that_was_given_up_or_closed() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        scene.broker.silent = True
        given_up, closed = scene.ask(connection, fetch=True), scene.ask(connection, fetch=True)
        await scene.until(10)
        given_up.cancel()
        connection.close()
        for call in (given_up, closed):
            call.reply(FetchResponse([]))
        await scene.until(20)
        assert not scene.answers
        assert given_up.completed
        assert closed.completed

    run_scene(play)


def test_a_frozen_process_hears_its_answer_when_it_thaws() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        await scene.until(10)
        scene.ask(connection)
        scene.client.running = False
        await scene.until(50)
        assert not scene.answers
        scene.client.running = True
        for action, argument in scene.client.kept:
            action(argument)
        assert scene.answers == [(ANSWER, 50)]

    run_scene(play)


def test_a_broker_tries_another_broker_every_50_ms() -> None:
    attempts = ConnectionAttempts(CONNECTING, lambda: 0.9)
    for failures in range(6):
        attempts.failed(0, connecting=True)
        assert attempts.not_before_us == 50 * MS, failures
