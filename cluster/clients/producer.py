"""An idempotent producer: an application that sends, the accumulator, and the sender thread.

Theory of operation. Records go into batches by partition (`pull`, at the instants that matter); the sender wakes when a
batch is ready, drains one batch of each partition of a ready broker into a request, keeps at most five requests in
flight for each broker, and sends again what failed with a retriable error, in the order of the sequences. The producer
id makes that safe. A batch that gives up after having been sent leaves a hole in its sequence: once nothing is in
flight the epoch is raised and sequences begin anew (KIP-360). Source: `KafkaProducer`, `Sender`, `TransactionManager`.
"""

from collections import deque
from functools import partial
from random import Random
from typing import Any, cast

import trio

from cluster import events as e
from cluster.clients.accumulator import UNSENT, Accumulator, ProducerBatch
from cluster.clients.partitioners import KeyedPartitioner, StickyPartitioner
from cluster.clients.process import RETRY_BACKOFF_MAX_US, RETRY_BACKOFF_US, Process, Surroundings
from cluster.clients.workload import NEVER_US, Arrivals, Keys
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from cluster.protocol.record_batch import RECORD_OVERHEAD_BYTES
from cluster.randomness import random_stream
from cluster.spec import ProducerSpec
from cluster.timeline import Timer, Waiter

MS = 1_000
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}


class Producer(Process):
    """One producer instance. `config` has every producer key of Kafka."""

    def __init__(
        self, around: Surroundings, spec: ProducerSpec, name: str, number: int, config: dict[str, Any]
    ) -> None:
        super().__init__(around, name, number, cast(int, config["request.timeout.ms"]))
        self.spec, self.config = spec, config
        self.acks = ACKS[str(config["acks"])]
        self.accumulator = Accumulator(
            config["batch.size"],
            config["buffer.memory"],
            int(config["linger.ms"] * MS),
            spec.size_bytes + RECORD_OVERHEAD_BYTES,
        )
        self._delivery_us: int = config["delivery.timeout.ms"] * MS
        self._max_in_flight: int = config["max.in.flight.requests.per.connection"]
        self._max_request_size: int = config["max.request.size"]
        self._random: Random = random_stream(around.seed, f"producer/{name}")
        self._arrivals = Arrivals(spec, spec.start_us, random_stream(around.seed, f"arrivals/{name}"))
        self._keys = Keys(spec.keys, random_stream(around.seed, f"keys/{name}"))
        self._keyed: dict[str, KeyedPartitioner] = {}
        self._sticky: dict[str, StickyPartitioner] = {}
        self._available: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.state = "Stopped"
        self.producer_id = self.epoch = -1
        self.counters = dict.fromkeys(("sent", "acked", "failed", "retries", "requests", "batches"), 0)
        self._in_flight: dict[int, int] = {}
        self._in_flight_to: dict[str, tuple[int, int]] = {}  # partition → (broker, batches in flight)
        self._sequences: dict[str, int] = {}
        self._gap = self._closing = self._stale = False
        self._waiter: Waiter | None = None
        self._pull_timer: Timer | None = None
        self._look_timer: Timer | None = None
        self._filled = 0  # batches that were closed because they were full
        self._held_back = False  # something was ready, but too many requests were in flight

    # --- the process ------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process."""
        self.begin()
        self.accumulator.reset(self.config["buffer.memory"])
        self._in_flight, self._in_flight_to, self._sequences = {}, {}, {}
        self.producer_id = self.epoch = -1
        self._gap = self._closing = False
        self._stale = True
        while self._arrivals.at(0) < self.timeline.now_us:
            self._arrivals.take()  # a process that was down sent nothing
        self.set_state("Running", "started")
        self.timeline.start(nursery, self._run, name=self.name)

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            if not self.alive:
                return
            self.scope = nursery.cancel_scope
            self.timeline.start(nursery, self._send_loop, name=f"{self.name}/sender")

    def kill(self) -> None:
        """Kill -9: what is buffered is lost with the process."""
        self._gone("Dead", "killed")

    def _gone(self, state: str, reason: str) -> None:
        self.end()
        for timer in (self._pull_timer, self._look_timer):
            if timer is not None:
                timer.cancel()
        self._pull_timer = self._look_timer = None
        self.accumulator.reset(self.config["buffer.memory"])
        self.set_state(state, reason)
        self.gone()

    def close_soon(self) -> None:
        """Ask the application to stop: what is buffered is sent, then the process ends."""
        self._closing = True
        self.wake()

    def freeze(self) -> None:
        """Freeze the whole process."""
        super().freeze()
        self.set_state("Paused", "paused")

    def thaw(self) -> None:
        """Go on; records whose time came meanwhile come now."""
        self.set_state("Running", "resumed")
        super().thaw()
        self._pull()
        self.wake()

    def set_state(self, state: str, reason: str) -> None:
        """Tell the world where the application stands."""
        self.state = state
        self.tell(e.ProducerStateChanged(producer=self.name, state=state, reason=reason))

    def wake(self) -> None:
        """The sender has something to look at."""
        if self._waiter is not None:
            self._waiter.wake()

    # --- the application: send() --------------------------------------------------------------------------------------

    def _know_topics(self) -> None:
        for topic in self.spec.topics:
            partitions = self.topic_partitions[topic]
            if topic not in self._sticky:
                size = max(1, self.config["batch.size"])
                self._keyed[topic] = KeyedPartitioner(partitions)
                self._sticky[topic] = StickyPartitioner(size, self._random, partial(self._available_partitions, topic))

    def _available_partitions(self, topic: str) -> tuple[str, ...]:
        """Partitions of a topic that have a leader, as of the last metadata; all of them when none has."""
        known = self._available.get(topic)
        if known is None or known[0] != self.metadata_version:
            names = self.topic_partitions[topic]
            led = tuple(name for name in names if self.leader_of(name) >= 0) or names
            known = self._available[topic] = (self.metadata_version, led)
        return known[1]

    def _pull(self) -> None:
        """Bring every record that has come by now into the accumulator, and come again when that will matter."""
        if not self.running or self._closing or not self._sticky:
            return
        now_us = self.timeline.now_us
        arrivals, topics = self._arrivals, self.spec.topics
        opened = blocked = False
        filled = self._filled
        while arrivals.at(0) <= now_us and not blocked:
            topic = topics[arrivals.taken % len(topics)]
            if self.spec.keys.kind == "none":
                got = self._send_unkeyed(topic, now_us)
            else:
                got = self._send_keyed(topic, now_us)
            opened = opened or got is True
            blocked = got is None
        if self._filled != filled or self._closing:
            self.wake()
        elif opened:
            self._look_at(now_us + self.accumulator.linger_us)
        if not blocked:  # else: again when memory is free
            self._pull_again(now_us)

    def _pull_again(self, now_us: int) -> None:
        """The next instant at which a record opens a batch or overflows one."""
        if self._closing:
            return
        at_us = self._arrivals.at(self._skippable())
        timer = self._pull_timer
        if timer is not None and timer.pending:
            if timer.at_us == at_us:
                return
            timer.cancel()
        if at_us < NEVER_US:
            self._pull_timer = self.timeline.call_at(max(at_us, now_us), self._pull)

    def _skippable(self) -> int:
        """How many of the coming records change nothing but the size of open batches."""
        if self.spec.keys.kind != "none":
            return 0
        room = -1
        for topic in self.spec.topics:
            sticky = self._sticky[topic]
            batch = self.accumulator.open_batch(sticky.current)
            if batch is None:
                return 0
            fits = min(self.accumulator.room(batch), sticky.room() // self.accumulator.record_bytes)
            room = fits if room < 0 else min(room, fits)
        return max(0, (room - 1) * len(self.spec.topics)) if len(self.spec.topics) > 1 else max(0, room)

    def _send_unkeyed(self, topic: str, now_us: int) -> bool | None:
        """send() as many records as fit; true when a batch was opened or filled, None when there is no memory."""
        sticky, accumulator = self._sticky[topic], self.accumulator
        batch = accumulator.open_batch(sticky.current)
        opened = False
        if batch is None or accumulator.room(batch) <= 0:
            if batch is not None:
                batch.full = True
                self._filled += 1
            batch = self._open(sticky.for_new_batch(), now_us)
            if batch is None:
                return None
            opened = True
        most = 1
        if len(self.spec.topics) == 1:
            most = max(1, min(accumulator.room(batch), -(-sticky.room() // accumulator.record_bytes)))
        count = self._arrivals.take_until(now_us, most)
        accumulator.add(batch, count)
        sticky.produced(count * accumulator.record_bytes)
        return opened

    def _send_keyed(self, topic: str, now_us: int) -> bool | None:
        arrivals, accumulator = self._arrivals, self.accumulator
        key = self._keys.draw()
        partition_name = self._keyed[topic].partition(key)
        batch = accumulator.open_batch(partition_name)
        opened = False
        if batch is None or accumulator.room(batch) <= 0:
            if batch is not None:
                batch.full = True
                self._filled += 1
            batch = self._open(partition_name, now_us)
            opened = True
            if batch is None:
                return None
        arrivals.take()
        batch.keys.append(key)
        accumulator.add(batch, 1)
        return opened

    def _open(self, partition_name: str, now_us: int) -> ProducerBatch | None:
        batch = self.accumulator.new_batch(partition_name, now_us)
        if batch is not None:
            self.tell(e.BatchOpened(producer=self.name, partition=partition_name, bytes=batch.reserved))
        return batch

    # --- the sender thread ----------------------------------------------------------------------------------------------

    async def _send_loop(self) -> None:
        timeline = self.timeline
        await self.refresh_metadata(self.spec.topics)
        self._stale = False
        await self._init_producer_id()
        self._know_topics()
        self._pull()
        while True:
            if self._stale:
                self._stale = False
                await self.refresh_metadata(self.spec.topics)
            next_us = self._drain_ready(timeline.now_us)
            if self._closing and not self.accumulator.queues and not self._in_flight_to:
                self._gone("Stopped", "closed")
                return
            if self._stale:
                next_us = timeline.now_us + RETRY_BACKOFF_US
            self._look_at(next_us)
            self._waiter = waiter = timeline.waiter("a batch to send")
            await self.park(waiter)
            self._waiter = None

    def _look_at(self, at_us: int) -> None:
        """Wake the sender at an instant, if it would not wake before."""
        timer = self._look_timer
        if timer is not None and timer.pending:
            if timer.at_us <= at_us:
                return
            timer.cancel()
        if at_us < NEVER_US:
            self._look_timer = self.timeline.call_at(at_us, self.wake)

    async def _init_producer_id(self) -> None:
        while True:
            response: InitProducerIdResponse | None = await self.ask(self.any_broker(), InitProducerIdRequest())
            if response is not None and response.error is ErrorCode.NONE:
                break
            self.try_another_broker()
            await self.sleep(RETRY_BACKOFF_US)
        self._identify(response.producer_id, response.epoch)

    def _identify(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self._sequences = {}
        self.tell(e.ProducerIdAssigned(producer=self.name, producer_id=producer_id, epoch=epoch))

    def _drain_ready(self, now_us: int) -> int:
        """Send what is ready; returns when to look again (NEVER_US: when somebody wakes the sender)."""
        self._pull()
        self._expire(now_us)
        if self._gap:
            if self._in_flight_to:
                return NEVER_US
            self._begin_epoch()
        next_us = NEVER_US
        self._held_back = False
        ready: dict[int, None] = {}
        for name, queue in self.accumulator.queues.items():
            batch = queue[0]
            leader = self.leader_of(name)
            if leader < 0:
                self._stale = True
                continue
            ready_us = self.accumulator.ready_us(batch, last=len(queue) == 1)
            if ready_us <= now_us or self._closing:
                if self._in_flight.get(leader, 0) < self._max_in_flight:
                    ready[leader] = None
                else:
                    self._held_back = True
            elif ready_us < next_us:
                next_us = ready_us
        for leader in ready:
            self._drain(leader, now_us)
        if ready:
            self._pull_again(now_us)  # the next record opens a new batch
        return next_us

    def _drain(self, leader: int, now_us: int) -> None:
        """One request to a broker: the first batch of each of its partitions, ready or not, that may go."""
        batches: list[ProducerBatch] = []
        size = 0
        for name in list(self.accumulator.queues):
            if self.leader_of(name) != leader:
                continue
            queue = self.accumulator.queues[name]
            batch = queue[0]
            target, count = self._in_flight_to.get(name, (leader, 0))
            if batch.not_before_us > now_us or (count and target != leader):
                continue  # backing off, or its predecessors are still on their way to the old leader
            if batches and size + batch.bytes > self._max_request_size:
                continue
            queue.popleft()
            if not queue:
                del self.accumulator.queues[name]
            batches.append(batch)
            size += batch.bytes
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
                batch.base_sequence = self._sequences.get(batch.partition, 0)
                self._sequences[batch.partition] = (batch.base_sequence + batch.count) & 0x7FFFFFFF
            wire.append(batch.on_the_wire(self.name, self.producer_id, self.epoch))
        counters["requests"] += 1
        self._in_flight[leader] = self._in_flight.get(leader, 0) + 1
        self.tell(e.ProduceSent(producer=self.name, broker=leader, records=records, retried=retried, bytes=size))
        request = ProduceRequest(self.acks, self.config["request.timeout.ms"], wire)
        self.connection(leader).send(request, partial(self._answered, leader, batches))

    # --- answers ----------------------------------------------------------------------------------------------------------

    def _answered(self, leader: int, batches: list[ProducerBatch], response: ProduceResponse | None) -> None:
        self._in_flight[leader] -= 1
        again: list[tuple[ProducerBatch, ErrorCode]] = []
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
            elif result.error.retriable or self._earlier_unresolved(batch, result.error):
                again.append((batch, result.error))
            else:
                self._failed(batch, result.error.name)
        for batch, error in again:
            self._retry(batch, error)
        if again or self._held_back or self._gap or self._closing:
            self.wake()

    def _earlier_unresolved(self, batch: ProducerBatch, error: ErrorCode) -> bool:
        """OUT_OF_ORDER_SEQUENCE_NUMBER because an earlier batch of the partition is to be sent again first."""
        if error is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return False
        queue = self.accumulator.queues.get(batch.partition)
        waiting = queue is not None and queue[0].base_sequence not in {UNSENT, batch.base_sequence}
        return waiting or batch.partition in self._in_flight_to

    def _acknowledged(self, batch: ProducerBatch, offset: int, duplicate: bool) -> None:
        self.accumulator.release(batch)
        self.counters["acked"] += batch.count
        self.tell(
            e.BatchAcknowledged(
                producer=self.name,
                partition=batch.partition,
                base_offset=offset,
                records=batch.count,
                freed_bytes=batch.reserved,
                latency_us=self.timeline.now_us - batch.created_us,
                duplicate=duplicate,
            )
        )
        self._memory_is_free()

    def _failed(self, batch: ProducerBatch, error: str) -> None:
        self.accumulator.release(batch)
        self.counters["failed"] += batch.count
        sent = batch.first_sent_us != UNSENT
        self._gap = self._gap or sent
        self.tell(
            e.BatchFailed(
                producer=self.name,
                partition=batch.partition,
                records=batch.count,
                freed_bytes=batch.reserved,
                error=error,
                sent=sent,
            )
        )
        self._memory_is_free()

    def _memory_is_free(self) -> None:
        """A send() that waits for `buffer.memory` goes on."""
        if self._pull_timer is None or not self._pull_timer.pending:
            self._pull()

    def _retry(self, batch: ProducerBatch, error: ErrorCode) -> None:
        """Back into the queue, before everything with a later sequence."""
        batch.attempts += 1
        backoff_us = min(RETRY_BACKOFF_US << min(batch.attempts - 1, 10), RETRY_BACKOFF_MAX_US)
        batch.not_before_us = self.timeline.now_us + backoff_us
        queue = self.accumulator.queues.setdefault(batch.partition, deque())
        place = 0
        while place < len(queue) and UNSENT < queue[place].base_sequence < batch.base_sequence:
            place += 1
        queue.insert(place, batch)
        if error in {ErrorCode.NETWORK_EXCEPTION, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE}:
            self._stale = True
        self.tell(
            e.BatchRetried(
                producer=self.name,
                partition=batch.partition,
                records=batch.count,
                error=error.name,
                attempt=batch.attempts,
            )
        )

    def _expire(self, now_us: int) -> None:
        """Give up batches that waited longer than `delivery.timeout.ms` since they were opened."""
        for name in list(self.accumulator.queues):
            queue = self.accumulator.queues[name]
            while queue and queue[0].created_us + self._delivery_us <= now_us:
                self._failed(queue.popleft(), "TimeoutException")
            if not queue:
                del self.accumulator.queues[name]

    def _begin_epoch(self) -> None:
        """A hole in a sequence, and nothing in flight: the next epoch begins every sequence at 0."""
        self._gap = False
        self._identify(self.producer_id, self.epoch + 1)
        for queue in self.accumulator.queues.values():
            for batch in queue:
                batch.base_sequence = UNSENT
