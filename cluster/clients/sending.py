"""The application of a producer: it calls send() when a record comes, and waits while `buffer.memory` is exhausted.

Records are not waited for one by one: `pull` brings all that have come by now into the accumulator, and is called at
the instants that matter – when a record opens a batch or overflows one, and before the sender drains.
Source: `KafkaProducer.send`, `RecordAccumulator.append`.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from cluster import events as e
from cluster.clients.accumulator import Accumulator, ProducerBatch
from cluster.clients.partitioners import KeyedPartitioner, StickyPartitioner
from cluster.clients.workload import NEVER_US, Keys, arrivals
from cluster.randomness import random_stream
from cluster.spec import ProducerSpec
from cluster.timeline import Timeline, Timer


class SendingHost(Protocol):
    """The producer whose application this is."""

    name: str
    running: bool
    timeline: Timeline
    tell: Callable[[e.Event], None]
    topic_partitions: dict[str, tuple[str, ...]]
    metadata_version: int

    def leader_of(self, partition: str) -> int:
        """The leader as far as this client knows; -1 when it knows none."""

    def batch_ready(self, at_us: int) -> None:
        """A batch may be sent from this instant on."""


class Sending:
    """Records from a workload into the accumulator. `closing`: the application takes no new ones."""

    def __init__(self, host: SendingHost, spec: ProducerSpec, accumulator: Accumulator, seed: int) -> None:
        self._host, self._topics, self._accumulator = host, spec.topics, accumulator
        self._keyed_records = spec.keys.kind != "none"
        self._random = random_stream(seed, f"producer/{host.name}")
        self._arrivals = arrivals(spec, random_stream(seed, f"arrivals/{host.name}"))
        self._keys = Keys(spec.keys, random_stream(seed, f"keys/{host.name}"))
        self._keyed: dict[str, KeyedPartitioner] = {}
        self._sticky: dict[str, StickyPartitioner] = {}
        self._available: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._timer: Timer | None = None
        self._next_key: int | None = None  # of a record that waits for memory
        self._filled = 0  # batches that were closed because they were full
        self.closing = False

    def restart(self) -> None:
        """A new process: what would have come while there was none never came."""
        self.closing = False
        while self._arrivals.at(0) < self._host.timeline.now_us:
            self._arrivals.take()

    def end(self) -> None:
        """The process is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def memory_is_free(self) -> None:
        """A send() that waits for `buffer.memory` goes on."""
        if self._timer is None or not self._timer.pending:
            self.pull()

    def begin(self) -> None:
        """The topics' partitions are known: records may come."""
        host = self._host
        for topic in self._topics:
            partitions = host.topic_partitions[topic]
            if topic not in self._sticky:
                size = self._accumulator.batch_size
                self._keyed[topic] = KeyedPartitioner(partitions)
                self._sticky[topic] = StickyPartitioner(size, self._random, partial(self._available_partitions, topic))

    def _available_partitions(self, topic: str) -> tuple[str, ...]:
        """Partitions of a topic that have a leader, as of the last metadata; all of them when none has."""
        host = self._host
        known = self._available.get(topic)
        if known is None or known[0] != host.metadata_version:
            names = host.topic_partitions[topic]
            led = tuple(name for name in names if host.leader_of(name) >= 0) or names
            known = self._available[topic] = (host.metadata_version, led)
        return known[1]

    def pull(self) -> None:
        """Bring every record that has come by now into the accumulator, and come again when that will matter."""
        if not self._host.running or self.closing or not self._sticky:
            return
        now_us = self._host.timeline.now_us
        coming, topics = self._arrivals, self._topics
        opened = blocked = False
        filled = self._filled
        while coming.at(0) <= now_us and not blocked:
            topic = topics[coming.taken % len(topics)]
            got = self._send_keyed(topic, now_us) if self._keyed_records else self._send_unkeyed(topic, now_us)
            opened = opened or got is True
            blocked = got is None
        if self._filled != filled:
            self._host.batch_ready(now_us)
        if blocked:
            self._wait_for_memory()
        elif self.look_ahead(now_us) and opened:
            self._host.batch_ready(now_us + self._accumulator.linger_us)

    def _wait_for_memory(self) -> None:
        """Pull again when memory is free; until then no batch fills itself."""
        for sticky in self._sticky.values():
            batch = self._accumulator.open_batch(sticky.current)
            if batch is not None and batch.fills_itself:
                batch.fills_itself = False
                self._host.batch_ready(batch.created_us + self._accumulator.linger_us)

    def look_ahead(self, now_us: int) -> bool:
        """Pull again when a record will open a batch or overflow one; whether open batches have to wait for linger."""
        if self.closing:
            return True
        at_us = self._arrivals.at(self._skippable())
        lingers = True
        if len(self._topics) == 1 and not self._keyed_records:
            batch = self._accumulator.open_batch(self._sticky[self._topics[0]].current)
            if batch is not None:
                batch.fills_itself = at_us <= batch.created_us + self._accumulator.linger_us
                lingers = not batch.fills_itself
        timer = self._timer
        if timer is None or not timer.pending or timer.at_us != at_us:
            if timer is not None:
                timer.cancel()
            if at_us < NEVER_US:
                self._timer = self._host.timeline.call_at(max(at_us, now_us), self.pull)
        return lingers

    def _skippable(self) -> int:
        """How many of the coming records change nothing but the size of open batches."""
        if self._keyed_records:
            return 0
        room = -1
        for topic in self._topics:
            sticky = self._sticky[topic]
            batch = self._accumulator.open_batch(sticky.current)
            if batch is None:
                return 0
            fits = min(self._accumulator.room(batch), sticky.room() // self._accumulator.record_bytes)
            room = fits if room < 0 else min(room, fits)
        return max(0, (room - 1) * len(self._topics)) if len(self._topics) > 1 else max(0, room)

    def _send_unkeyed(self, topic: str, now_us: int) -> bool | None:
        """send() as many records as fit; true when a batch was opened or filled, None when there is no memory."""
        sticky, accumulator = self._sticky[topic], self._accumulator
        batch = accumulator.open_batch(sticky.current)
        opened = False
        if batch is None or accumulator.room(batch) <= 0:
            if batch is not None:
                batch.full = True
                self._filled += 1
            name = sticky.for_new_batch()
            batch = accumulator.open_batch(name)  # the partitioner may come back to a batch that it left half full
            if batch is None or accumulator.room(batch) <= 0:
                batch = self._open(name, now_us)
                if batch is None:
                    return None
                opened = True
        most = 1
        if len(self._topics) == 1:
            most = max(1, min(accumulator.room(batch), -(-sticky.room() // accumulator.record_bytes)))
        count = self._arrivals.take_until(now_us, most)
        accumulator.add(batch, count)
        sticky.produced(count * accumulator.record_bytes)
        if batch.fills_itself and sticky.current != batch.partition:  # the partitioner moved on before it was full
            batch.fills_itself = False
            self._host.batch_ready(batch.created_us + accumulator.linger_us)
        return opened

    def _send_keyed(self, topic: str, now_us: int) -> bool | None:
        accumulator = self._accumulator
        if self._next_key is None:
            self._next_key = self._keys.draw()
        key = self._next_key
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
        self._arrivals.take()
        self._next_key = None
        batch.keys.append(key)
        accumulator.add(batch, 1)
        return opened

    def _open(self, partition_name: str, now_us: int) -> ProducerBatch | None:
        batch = self._accumulator.new_batch(partition_name, now_us)
        if batch is not None:
            self._host.tell(e.BatchOpened(producer=self._host.name, partition=partition_name, bytes=batch.reserved))
        return batch
