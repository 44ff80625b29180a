"""Links keep the order and lose nothing; connections end each call exactly once."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from cluster.connection import Call, Connection
from cluster.network import Network
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchRequest, FetchResponse, InitProducerIdRequest, InitProducerIdResponse
from cluster.spec import LinkSpec, NetworkSpec
from cluster.timeline import Timeline

MS = 1_000
TIMEOUT_US = 100 * MS
ANSWER = InitProducerIdResponse(ErrorCode.NONE, 7, 0)
FETCH = FetchRequest("client-1", {}, 1, 1)


def flown(scene: Callable[[Timeline], Awaitable[None]]) -> None:
    timeline = Timeline(lambda _: None)

    async def main() -> None:
        await scene(timeline)
        timeline.close()

    trio.run(main, clock=timeline)


class Broker:
    """Answers at once unless it is told to be silent."""

    name = "broker-1"

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.silent = False

    def receive(self, call: Call) -> None:
        self.calls.append(call)
        if not self.silent:
            call.reply(ANSWER)

    def connected(self, _: Connection) -> None:
        pass


class Client:
    """Watches its connection as a process does."""

    name, running = "client-1", True

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.kept: list[tuple[Callable[[Any], object], Any]] = []

    def watch(self, connection: Connection, at_us: int) -> None:
        self._timeline.call_at(at_us, self._look, connection)

    def _look(self, connection: Connection) -> None:
        at_us = connection.check_timeouts()
        if at_us is not None:
            self.watch(connection, at_us)

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        self.kept.append((action, argument))


def connected(timeline: Timeline) -> tuple[Network, Broker, Client, Connection]:
    network, broker, client = Network(timeline, NetworkSpec(MS, 0.0), 1), Broker(), Client(timeline)
    return network, broker, client, Connection(timeline, network, client, broker, TIMEOUT_US)


def test_a_link_delivers_in_order_whatever_its_jitter() -> None:
    async def scene(timeline: Timeline) -> None:
        link = Network(timeline, NetworkSpec(10 * MS, 1.0), 1).link("broker-1", "broker-2")
        seen: list[int] = []
        for number in range(50):
            timeline.call_at(number * 100, link.send, seen.append, number)
        await timeline.fly(30 * MS)
        assert seen == list(range(50))

    flown(scene)


def test_what_is_sent_over_a_cut_link_goes_on_when_it_is_mended() -> None:
    async def scene(timeline: Timeline) -> None:
        network = Network(timeline, NetworkSpec(MS, 0.0), 1)
        seen: list[tuple[str, int]] = []
        network.cut("a", "b", one_way=True)
        for word in ("first", "second"):
            network.link("a", "b").send(lambda said: seen.append((said, timeline.now_us)), word)
        network.link("b", "a").send(lambda said: seen.append((said, timeline.now_us)), "back")
        await timeline.fly(5 * MS)
        assert seen == [("back", MS)]
        network.heal("a", "b")
        await timeline.fly(10 * MS)
        assert seen[1:] == [("first", 6 * MS), ("second", 6 * MS)]

    flown(scene)


def test_links_have_the_latencies_of_the_scenario_until_they_are_slowed() -> None:
    async def scene(timeline: Timeline) -> None:
        network = Network(timeline, NetworkSpec(MS, 0.0, (LinkSpec(("a", "b"), 20 * MS),)), 1)
        assert [network.link(*ends).latency_us for ends in (("a", "b"), ("b", "a"), ("a", "c"), ("a", "a"))] == [
            20 * MS,
            20 * MS,
            MS,
            0,
        ]
        network.slow("a", "b", 50 * MS)
        assert network.link("b", "a").latency_us == 50 * MS
        network.heal()
        assert network.link("b", "a").latency_us == 20 * MS

    flown(scene)


def test_a_call_is_answered_once_after_two_latencies() -> None:
    async def scene(timeline: Timeline) -> None:
        _, _, _, connection = connected(timeline)
        answers: list[tuple[object, int]] = []
        connection.send(InitProducerIdRequest(), lambda answer: answers.append((answer, timeline.now_us)))
        await timeline.fly(1_000 * MS)
        assert answers == [(ANSWER, 2 * MS)]

    flown(scene)


def test_a_request_without_an_answer_breaks_the_connection_and_a_late_answer_is_dropped() -> None:
    async def scene(timeline: Timeline) -> None:
        _, broker, _, connection = connected(timeline)
        broker.silent = True
        answers: list[tuple[object, int]] = []
        for _ in range(2):
            connection.send(InitProducerIdRequest(), lambda answer: answers.append((answer, timeline.now_us)))
        await timeline.fly(200 * MS)
        assert answers == [(None, TIMEOUT_US)] * 2
        broker.calls[0].reply(ANSWER)
        await timeline.fly(300 * MS)
        assert len(answers) == 2

    flown(scene)


def test_a_parked_fetch_is_timed_only_once_a_cut_hides_its_broker() -> None:
    async def scene(timeline: Timeline) -> None:
        network, broker, _, connection = connected(timeline)
        broker.silent = True
        answers: list[tuple[object, int]] = []
        connection.send(FETCH, lambda answer: answers.append((answer, timeline.now_us)), long_poll=True)
        await timeline.fly(1_000 * MS)
        assert not answers
        network.cut("client-1", "broker-1", one_way=False)
        await timeline.fly(2_000 * MS)
        assert answers == [(None, 1_000 * MS + TIMEOUT_US)]

    flown(scene)


def test_nobody_hears_of_an_abandoned_or_closed_call() -> None:
    async def scene(timeline: Timeline) -> None:
        _, broker, _, connection = connected(timeline)
        broker.silent = True
        answers: list[object] = []
        abandoned = connection.send(FETCH, answers.append, long_poll=True)
        closed = connection.send(FETCH, answers.append, long_poll=True)
        await timeline.fly(10 * MS)
        connection.abandon(abandoned)
        connection.close()
        for call in (abandoned, closed):
            call.reply(FetchResponse([]))
        await timeline.fly(20 * MS)
        assert not answers
        assert abandoned.done
        assert closed.done

    flown(scene)


def test_a_frozen_process_hears_its_answer_when_it_thaws() -> None:
    async def scene(timeline: Timeline) -> None:
        _, _, client, connection = connected(timeline)
        answers: list[object] = []
        connection.send(InitProducerIdRequest(), answers.append)
        client.running = False
        await timeline.fly(50 * MS)
        assert not answers
        client.running = True
        for action, argument in client.kept:
            action(argument)
        assert answers == [ANSWER]

    flown(scene)
