"""A broker serves the requests of a connection one after the other, and what it has not read ends with it."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from cluster.broker.disk import Disk
from cluster.broker.socket_server import SocketServer
from cluster.config import ConnectionConfig
from cluster.network import Connection, ConnectionAttempts, InFlightRequest, LinkCut, LinkSelector, Network
from cluster.protocol.messages import FetchRequest, FetchResponse, MetadataRequest, MetadataResponse, ProduceRequest
from cluster.spec import NetworkSpec
from cluster.virtual_time import Timeline
from tests.support.network_scene import MS, Client, run_scene

TIMEOUT_US = 30_000 * MS
ANSWER = MetadataResponse((), {})


class Host:
    """A broker's process whose requests are answered by hand: `handled` are those that it was given, in order."""

    name = "broker-1"

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.running, self.frozen, self.starting = True, False, False
        self.disk = Disk(timeline, lambda: None)
        self.handled: list[InFlightRequest] = []
        self.lost: list[InFlightRequest] = []
        self.expiring: list[InFlightRequest] = []
        self.backlog: list[tuple[Callable[[Any], object], Any]] = []
        kinds = (MetadataRequest, FetchRequest, ProduceRequest)
        self.sockets = SocketServer(
            cast(Any, self), dict.fromkeys(kinds, self._handle), self.lost.append, self.expiring.append
        )

    def _handle(self, call: InFlightRequest) -> None:
        self.handled.append(call)
        if isinstance(call.request, FetchRequest):
            call.park()

    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        self.backlog.append((action, argument))

    def freeze(self) -> None:
        self.running, self.frozen = False, True

    def thaw(self) -> None:
        self.running, self.frozen = True, False
        backlog, self.backlog = self.backlog, []
        for action, argument in backlog:
            action(argument)

    def die(self) -> None:
        self.running = self.frozen = False
        self.sockets.reset(self.sockets.died(self.backlog, ()), host_is_up=True)


class Scene:
    """A client and a broker one millisecond apart."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.host, self.client = timeline, Host(timeline), Client(timeline)
        self.network = Network(timeline, NetworkSpec(MS, 0.0), 1)
        self.answers: list[int] = []

    def connect(self, *, in_order: bool = True) -> Connection:
        config = ConnectionConfig(
            reconnect_backoff_ms=50,
            reconnect_backoff_max_ms=50,
            socket_connection_setup_timeout_ms=10_000,
            socket_connection_setup_timeout_max_ms=10_000,
        )
        attempts = ConnectionAttempts(config, lambda: 0.5)
        sockets = self.host.sockets
        return Connection(self.timeline, self.network, self.client, sockets, TIMEOUT_US, attempts, in_order=in_order)

    def ask(self, connection: Connection, count: int = 1) -> list[InFlightRequest]:
        return [connection.send(MetadataRequest(()), lambda _: self.answers.append(self.now_ms)) for _ in range(count)]

    def fetch(self, connection: Connection) -> InFlightRequest:
        return connection.send(FetchRequest(Client.name, {}, 1, 1), lambda _: None, long_poll=True)

    @property
    def now_ms(self) -> int:
        return self.timeline.now_us // MS

    async def until(self, at_ms: int) -> None:
        await self.timeline.fly(at_ms * MS)


def test_the_next_request_is_read_when_the_last_one_was_answered() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        calls = scene.ask(scene.connect(), 3)
        handled = scene.host.handled
        for number, at_ms in enumerate((100, 200, 300), start=1):
            await scene.until(at_ms)
            assert handled == calls[:number]
            handled[-1].reply(ANSWER)
        await scene.until(400)
        assert scene.answers == [101, 201, 301]

    run_scene(play)


def test_connections_do_not_hold_each_other_up_and_one_without_order_holds_up_nothing() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        first, second, free = scene.connect(), scene.connect(), scene.connect(in_order=False)
        (a, _), (b,), others = scene.ask(first, 2), scene.ask(second), scene.ask(free, 3)
        await scene.until(100)
        assert scene.host.handled == [a, b, *others]

    run_scene(play)


def test_a_parked_fetch_hurries_when_something_waits_behind_it() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        fetch = scene.fetch(connection)
        await scene.until(100)
        assert not scene.host.expiring
        (behind, _) = scene.ask(connection, 2)
        await scene.until(200)
        assert scene.host.expiring == [fetch]  # once
        fetch.reply(FetchResponse([]))
        await scene.until(300)
        assert scene.host.handled == [fetch, behind]

    run_scene(play)


def test_a_fetch_that_is_read_with_something_behind_it_hurries_too() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        (first,) = scene.ask(connection)
        fetch = scene.fetch(connection)
        scene.ask(connection)
        await scene.until(100)
        first.reply(ANSWER)
        await scene.until(200)
        assert scene.host.expiring == [fetch]

    run_scene(play)


def test_what_a_dead_process_had_not_read_reaches_nobody() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        parked, *unread = scene.ask(scene.connect(), 3)
        await scene.until(100)
        scene.host.die()
        assert scene.host.lost == unread
        parked.reply(ANSWER)  # whatever still holds it
        await scene.until(200)
        assert scene.host.handled == [parked]

    run_scene(play)


def test_a_host_s_refusal_behind_a_cut_outlives_the_next_process() -> None:
    """Otherwise the client would wait for its setup timeout: neither its SYN nor the refusal is sent again."""

    async def scene(timeline: Timeline) -> None:
        scene = Scene(timeline)
        scene.host.die()
        connection = scene.connect()
        await timeline.fly(MS // 2)
        scene.network.inject("cut", LinkCut((LinkSelector("broker-1", scene.client.name),)))
        await timeline.fly(2 * MS)
        scene.network.process_died("broker-1")  # which was started again meanwhile
        await timeline.fly(5 * MS)
        assert not connection.broken
        scene.network.clear("cut")
        await timeline.fly(7 * MS)
        assert connection.broken

    run_scene(scene)


def test_an_answer_and_the_end_at_the_same_instant_serve_nothing_more() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        first, second = scene.ask(scene.connect(), 2)
        await scene.until(100)
        first.reply(ANSWER)
        scene.host.die()
        await scene.until(200)
        assert scene.host.handled == [first]
        assert scene.host.lost == [second]

    run_scene(play)


@pytest.mark.parametrize("answered_first", [False, True])
def test_a_frozen_process_keeps_the_order(answered_first: bool) -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        calls = scene.ask(connection, 2)
        await scene.until(100)
        if answered_first:  # and freezes before it reads on
            calls[0].reply(ANSWER)
        scene.host.freeze()
        calls += scene.ask(connection, 2)
        await scene.until(200)
        assert scene.host.handled == calls[:1]
        scene.host.thaw()
        for at_ms in (300, 400, 500, 600):
            await scene.until(at_ms)
            if scene.host.handled[-1].response is None:
                scene.host.handled[-1].reply(ANSWER)
        assert scene.host.handled == calls

    run_scene(play)


def test_a_request_without_an_answer_ends_its_turn_when_it_is_handled() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        first = connection.send(ProduceRequest(0, 1, []), lambda _: None)
        (second,) = scene.ask(connection)
        await scene.until(100)
        connection.served(answered=False)
        await scene.until(200)
        assert scene.host.handled == [first, second]

    run_scene(play)


@pytest.mark.parametrize(("acks", "served"), [(1, 2), (0, 3)])
def test_of_a_client_that_is_gone_one_more_request_is_served_and_the_failing_answer_drops_the_rest(
    acks: int, served: int
) -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        calls = scene.ask(connection, 4)
        await scene.until(100)
        connection.close()
        for at_ms in (200, 300, 400, 500):
            await scene.until(at_ms)
            if connection.serving is calls[1] and acks == 0:
                connection.served(answered=False)
            elif connection.serving is not None:
                connection.serving.reply(ANSWER)
        assert scene.host.handled == calls[:served]
        assert scene.host.lost == calls[served:]
        assert not connection.accepted
        assert not scene.answers

    run_scene(play)


def test_a_connection_that_the_broker_closes_takes_what_it_had_not_read_along() -> None:
    async def play(timeline: Timeline) -> None:
        scene = Scene(timeline)
        connection = scene.connect()
        first, second = scene.ask(connection, 2)
        await scene.until(100)
        scene.host.sockets.close(connection)
        (late,) = scene.ask(connection)  # before it hears of it
        await scene.until(200)
        assert scene.host.handled == [first]
        assert scene.host.lost == [second, late]
        assert connection.broken

    run_scene(play)
