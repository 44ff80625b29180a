"""A producer's sender thread: drains ready batches into requests, and deals with the answers.

Theory of operation. It wakes when a batch is ready, drains one batch of each partition of a ready broker into a
request, keeps at most `max.in.flight.requests.per.connection` requests in flight for each broker, and sends again what
failed with a retriable error, in the order of the sequences; the producer id makes that safe. A batch that gives up
after having been sent may leave a hole in its partition's sequence: when all others of the partition are settled and it
has, the epoch is raised and that sequence begins anew (KIP-360). Source: `Sender`, `TransactionManager`.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from cluster import events as e
from cluster.clients.accumulator import UNSENT, Accumulator, ProducerBatch
from cluster.clients.sequences import Sequences
from cluster.clients.workload import NEVER_US
from cluster.connection import Connection
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    Request,
)
from cluster.timeline import Timeline, Timer, Waiter

MS = 1_000
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
_LOOK_ELSEWHERE = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class SenderHost(Protocol):
    """The producer whose thread this is."""

    name: str
    running: bool
    retry_backoff_us: int
    retry_backoff_max_us: int
    topics: tuple[str, ...]
    timeline: Timeline
    tell: Callable[[e.Event], None]

    def leader_of(self, partition: str) -> int:
        """The leader as far as this client knows; -1 when it knows none."""

    def connection(self, broker: int) -> Connection:
        """The connection to a broker."""

    def any_broker(self) -> int:
        """Whom to ask when nobody in particular is to be asked."""

    def try_another_broker(self) -> None:
        """That broker did not help."""

    async def ask(self, broker: int, request: Request) -> Any:  # noqa: ANN401 - the response that the request asks for
        """Send a request and wait for its response."""

    async def park(self, waiter: Waiter) -> Any:  # noqa: ANN401 - whatever the waiter is woken with
        """Wait until somebody wakes the waiter."""

    async def sleep(self, duration_us: int) -> None:
        """Let time pass."""

    async def refresh_metadata(self, topics: tuple[str, ...]) -> None:
        """Learn who leads the topics' partitions."""

    def begin_sending(self) -> None:
        """Metadata and producer id are there: the application may send."""

    def pull(self) -> None:
        """Bring what has come by now into the accumulator."""

    def look_ahead(self, now_us: int) -> None:
        """Batches were drained: the next record opens one."""

    def memory_is_free(self) -> None:
        """A batch gave its memory back."""

    def closed(self) -> None:
        """Everything is sent, after close()."""


class Sender:
    """The thread and its books. `counters` count records (sent, acked, failed), batches and requests."""

    def __init__(self, host: SenderHost, config: Mapping[str, Any], accumulator: Accumulator) -> None:
        self._host, self._accumulator = host, accumulator
        self._acks = ACKS[str(config["acks"])]
        self._request_timeout_ms: int = config["request.timeout.ms"]
        self._delivery_us: int = config["delivery.timeout.ms"] * MS
        self._max_in_flight: int = config["max.in.flight.requests.per.connection"]
        self._max_request_size: int = config["max.request.size"]
        self.counters = dict.fromkeys(("sent", "acked", "failed", "retries", "requests", "batches"), 0)
        self._timer: Timer | None = None
        self.restart()

    def restart(self) -> None:
        """A new process: nothing in flight, no producer id."""
        self.producer_id = self.epoch = -1
        self._in_flight: dict[int, int] = {}
        self._in_flight_to: dict[str, tuple[int, int]] = {}  # partition → (broker, batches in flight)
        self._sequences = Sequences()
        self._stale = self.closing = False
        self._draining = False  # in the middle of something that a look now would disturb
        self._asked = False  # … and somebody asked for one
        self._drained_open = False  # a batch went that still took records
        self._held_back = False  # something was ready, but too many requests were in flight
        self._waiter: Waiter | None = None

    def end(self) -> None:
        """The process is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiter = None

    def wake(self) -> None:
        """There is something to look at.

        What needs no waiting is done in this very turn, as if the thread had run; the thread itself wakes for the rest.
        """
        if self._draining:
            self._asked = True
            return
        if self._waiter is None or not self._host.running:
            return
        if not self._must_wait:
            next_us = self._drain_ready(self._host.timeline.now_us)
            if not self._must_wait:
                self.look_at(next_us)
                return
        self._waiter.wake()

    @property
    def _must_wait(self) -> bool:
        """Whether the next thing to do takes time: metadata, a new epoch, closing."""
        return self._stale or bool(self._sequences.to_rewrite) or self.closing

    async def run(self) -> None:
        """The thread, until the producer is closed and everything is sent."""
        host = self._host
        timeline = host.timeline
        await host.refresh_metadata(host.topics)
        await self._init_producer_id()
        host.begin_sending()
        while True:
            if self._stale:
                self._stale = False
                await host.refresh_metadata(host.topics)
            next_us = self._drain_ready(timeline.now_us)
            if self.closing and not self._accumulator.queues and not self._in_flight_to:
                host.closed()
                return
            if self._stale:
                next_us = timeline.now_us + host.retry_backoff_us
            self.look_at(next_us)
            self._waiter = waiter = timeline.waiter("a batch to send")
            await host.park(waiter)
            self._waiter = None

    def look_at(self, at_us: int) -> None:
        """Wake the sender at an instant, if it would not wake before."""
        timer = self._timer
        if timer is not None and timer.pending:
            if timer.at_us <= at_us:
                return
            timer.cancel()
        if at_us < NEVER_US:
            self._timer = self._host.timeline.call_at(at_us, self.wake)

    async def _init_producer_id(self) -> None:
        while True:
            response: InitProducerIdResponse | None = await self._host.ask(
                self._host.any_broker(), InitProducerIdRequest()
            )
            if response is not None and response.error is ErrorCode.NONE:
                break
            self._host.try_another_broker()
            await self._host.sleep(self._host.retry_backoff_us)
        self._identify(response.producer_id, response.epoch)

    def _identify(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self._sequences.epoch = epoch
        self._host.tell(e.ProducerIdAssigned(producer=self._host.name, producer_id=producer_id, epoch=epoch))

    def _drain_ready(self, now_us: int) -> int:
        """Send what is ready; returns when to look again (NEVER_US: when somebody wakes the sender)."""
        self._draining = True
        self._host.pull()
        self._expire(now_us)
        self._draining = False
        self._sequences.resolve(self._settled)
        if self._sequences.to_rewrite:
            self._begin_epoch()
        next_us = NEVER_US
        self._held_back = self._drained_open = False
        ready: dict[int, None] = {}
        for name, queue in self._accumulator.queues.items():
            batch = queue[0]
            leader = self._host.leader_of(name)
            if leader < 0:
                self._stale = True
                continue
            ready_us = self._accumulator.ready_us(batch, last=len(queue) == 1)
            if ready_us <= now_us or (self.closing and batch.first_sent_us == UNSENT):
                if self._in_flight.get(leader, 0) < self._max_in_flight:
                    ready[leader] = None
                else:
                    self._held_back = True
            elif ready_us < next_us:
                next_us = ready_us
        for leader in ready:
            self._drain(leader, now_us)
        if self._drained_open:
            self._host.look_ahead(now_us)  # the next record opens a new batch
        return next_us

    def _drain(self, leader: int, now_us: int) -> None:
        """One request to a broker: the first batch of each of its partitions, ready or not, that may go."""
        batches: list[ProducerBatch] = []
        size = 0
        for name in list(self._accumulator.queues):
            if self._host.leader_of(name) != leader:
                continue
            queue = self._accumulator.queues[name]
            batch = queue[0]
            target, count = self._in_flight_to.get(name, (leader, 0))
            if batch.not_before_us > now_us:
                continue
            if (count and target != leader) or self._sequences.must_hold(batch, in_flight=count > 0):
                self._held_back = True  # its predecessors are still on their way, to the old leader maybe
                continue
            if batches and size + batch.bytes > self._max_request_size:
                continue
            queue.popleft()
            if not queue:
                del self._accumulator.queues[name]
            batches.append(batch)
            size += batch.bytes
            self._drained_open = self._drained_open or not batch.full
            self._in_flight_to[name] = (leader, count + 1)
        if batches:
            self._send(leader, batches, size, now_us)

    def _send(self, leader: int, batches: list[ProducerBatch], size: int, now_us: int) -> None:
        records: dict[str, int] = {}
        retried: dict[str, int] = {}
        wire = []
        counters = self.counters
        for batch in batches:
            if batch.first_sent_us == UNSENT:
                batch.first_sent_us = now_us
                records[batch.partition] = batch.count
                counters["sent"] += batch.count
                counters["batches"] += 1
            else:
                retried[batch.partition] = batch.count
                counters["retries"] += 1
            if batch.base_sequence == UNSENT:
                self._sequences.number(batch)
            wire.append(batch.on_the_wire(self._host.name, self.producer_id))
        counters["requests"] += 1
        self._in_flight[leader] = self._in_flight.get(leader, 0) + 1
        self._host.tell(
            e.ProduceSent(producer=self._host.name, broker=leader, records=records, retried=retried, bytes=size)
        )
        request = ProduceRequest(self._acks, self._request_timeout_ms, wire)
        self._host.connection(leader).send(request, partial(self._answered, leader, batches))

    # --- answers ------------------------------------------------------------------------------------------------------

    def _answered(self, leader: int, batches: list[ProducerBatch], response: ProduceResponse | None) -> None:
        self._in_flight[leader] -= 1
        again: list[tuple[ProducerBatch, ErrorCode]] = []
        self._draining, self._asked = True, False
        for place, batch in enumerate(batches):
            target, count = self._in_flight_to[batch.partition]
            if count == 1:
                del self._in_flight_to[batch.partition]
            else:
                self._in_flight_to[batch.partition] = (target, count - 1)
            if response is None:
                again.append((batch, ErrorCode.NETWORK_EXCEPTION))
                continue
            result = response.results[place]
            if result.error is ErrorCode.NONE:
                self._acknowledged(batch, result.base_offset, result.duplicate)
            elif result.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                self._sequences.out_of_order(batch)
                again.append((batch, result.error))
            elif result.error.retriable:
                again.append((batch, result.error))
            else:
                self._failed(batch, result.error.name)
        for batch, error in again:
            self._retry(batch, error)
        self._draining = False
        if (
            self._asked
            or again
            or self._held_back
            or self._sequences.unresolved
            or self._sequences.to_rewrite
            or self.closing
        ):
            self.wake()

    def _acknowledged(self, batch: ProducerBatch, offset: int, duplicate: bool) -> None:
        self._accumulator.release(batch)
        self._sequences.acknowledged(batch)
        self.counters["acked"] += batch.count
        self._host.tell(
            e.BatchAcknowledged(
                producer=self._host.name,
                partition=batch.partition,
                base_offset=offset,
                records=batch.count,
                freed_bytes=batch.reserved,
                latency_us=self._host.timeline.now_us - batch.created_us,
                duplicate=duplicate,
            )
        )
        self._host.memory_is_free()

    def _failed(self, batch: ProducerBatch, error: str) -> None:
        self._accumulator.release(batch)
        self.counters["failed"] += batch.count
        sent = batch.first_sent_us != UNSENT
        if sent:
            self._sequences.gave_up(batch)
        self._host.tell(
            e.BatchFailed(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                freed_bytes=batch.reserved,
                error=error,
                sent=sent,
            )
        )
        self._host.memory_is_free()

    def _retry(self, batch: ProducerBatch, error: ErrorCode) -> None:
        """Back into the queue, before everything with a later sequence."""
        batch.attempts += 1
        backoff_us = min(self._host.retry_backoff_us << min(batch.attempts - 1, 10), self._host.retry_backoff_max_us)
        batch.not_before_us = self._host.timeline.now_us + backoff_us
        queue = self._accumulator.queues.setdefault(batch.partition, deque())
        place = 0
        while place < len(queue) and UNSENT < queue[place].base_sequence < batch.base_sequence:
            place += 1
        queue.insert(place, batch)
        if error in _LOOK_ELSEWHERE:
            self._stale = True
        self._host.tell(
            e.BatchRetried(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                error=error.name,
                attempt=batch.attempts,
            )
        )

    def _expire(self, now_us: int) -> None:
        """Give up batches that waited longer than `delivery.timeout.ms` since they were opened."""
        for name in list(self._accumulator.queues):
            queue = self._accumulator.queues[name]
            while queue and queue[0].created_us + self._delivery_us <= now_us:
                self._failed(queue.popleft(), "TimeoutException")
            if not queue:
                del self._accumulator.queues[name]

    def _settled(self, partition: str) -> bool:
        """Whether no batch of a partition is under way, or to be sent again."""
        queue = self._accumulator.queues.get(partition)
        return partition not in self._in_flight_to and (queue is None or queue[0].base_sequence == UNSENT)

    def _begin_epoch(self) -> None:
        """Raise the epoch for partitions that need it and have nothing in flight."""
        ready = [name for name in self._sequences.to_rewrite if name not in self._in_flight_to]
        if not ready:
            return
        self._identify(self.producer_id, self.epoch + 1)
        self._sequences.begin_epoch(self.epoch, ready)
        for name in ready:
            for batch in self._accumulator.queues.get(name, ()):
                batch.base_sequence = UNSENT
