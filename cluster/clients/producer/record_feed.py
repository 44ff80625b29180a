"""The application of a producer: it calls send() when a record arrives, which may wait for memory or metadata.

Records are not waited for one by one. `pull` moves all that have arrived by now into the accumulator. It runs at the
instants that matter: when a record opens a batch or overflows one, and before the sender drains.
Source: `KafkaProducer.send`, `RecordAccumulator.append`.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from cluster import events as e
from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.arrivals import Keys, arrivals
from cluster.clients.producer.partitioners import (
    KeyedPartitioner,
    PartitionLoad,
    RoundRobinPartitioner,
    StickyPartitioner,
)
from cluster.clients.producer.producer_host import ProducerHost
from cluster.config import ROUND_ROBIN, ProducerConfig
from cluster.protocol.record_batch import Origin
from cluster.random_streams import random_stream
from cluster.spec import ProducerSpec
from cluster.virtual_time import Timer
from cluster.virtual_time.waiting import NEVER_US

NOT_BLOCKED: Final = -1
MOST_STEPS: Final = 50_000  # send() calls, or batches of them, in one turn; other records wait for the next turn


class RecordFeed:
    """Puts the records of a workload into the accumulator. `closing`: the application sends no new ones."""

    def __init__(
        self, host: ProducerHost, spec: ProducerSpec, accumulator: Accumulator, seed: int, config: ProducerConfig
    ) -> None:
        self._host, self._topics, self._accumulator = host, spec.topics, accumulator
        self._keyed_records = spec.keys.kind != "none"
        self._arrivals = arrivals(spec, partial(random_stream, seed, f"arrivals/{host.name}"))
        self._keys = Keys(spec.keys, partial(random_stream, seed, f"keys/{host.name}"))
        self._keyed: dict[str, KeyedPartitioner] = {}
        self._sticky: dict[str, StickyPartitioner] = {}
        self._round_robin: dict[str, RoundRobinPartitioner] = {}
        self._mapping: dict[str, tuple[int, str | None]] = {}  # what decided where a topic's keys go
        self._metadata_seen = 0
        self._available: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._timer: Timer | None = None
        self._next: tuple[str, int | None] | None = None  # partition and key of a record that waits for memory
        self._put_in = ""  # the round-robin partition of an output that waits for memory
        self._blocked_us = NOT_BLOCKED  # since when a send() waits for memory or metadata
        self._deadline: Timer | None = None  # when the waiting send() fails
        self._scheduled: dict[str, None] = {}  # partitions that have had a batch in this process
        self._filled = 0  # batches that were closed because they were full
        self.closing = False
        self.fails_with = ""  # the error of each send(), which is not tried
        self._scatters = False  # keys have gone to more than one partition
        self.allowance: int | None = None  # records that the open transaction may still take; None: no transactions
        self.configure(config)

    def configure(self, config: ProducerConfig) -> None:
        """Read the configuration, at first or again."""
        self._max_block_us = config.max_block_ms * 1_000
        largest_bytes = min(config.max_request_size, config.buffer_memory)
        self._too_large = "RecordTooLargeException" if self._accumulator.largest_record_bytes > largest_bytes else ""
        self._adaptive = config.partitioner_adaptive_partitioning_enable
        self._partitioner = config.partitioner
        self._uses_round_robin = config.partitioner_class in ROUND_ROBIN
        self._ignores_keys = config.partitioner_ignore_keys
        self._by_key = self._keyed_records and not self._uses_round_robin and not self._ignores_keys
        self._scatters = self._scatters or (self._keyed_records and not self._by_key)
        self._one_by_one = self._keyed_records or self._uses_round_robin

    def restart(self) -> None:
        """Begin a new process: records that would have arrived before it never arrive."""
        self.closing = False
        self._put_in = ""
        self._scheduled = {}
        self._blocked_us = NOT_BLOCKED
        if self.allowance is not None:
            self.allowance = 0
        while self._arrivals.at(0) < self._host.timeline.now_us:
            self._arrivals.take()
        self._wait_for_metadata()

    def change_rate(self, per_second: float) -> None:
        """Send records at this rate from now on."""
        self._arrivals = self._arrivals.at_rate(per_second, self._host.timeline.now_us)
        self.pull()

    def forget_partitioners(self) -> None:
        """Forget the partitioners: a new process may have another batch size."""
        self._keyed, self._sticky, self._round_robin = {}, {}, {}

    def end(self) -> None:
        """Cancel the timers of a process that has ended."""
        for timer in (self._timer, self._deadline):
            if timer is not None:
                timer.cancel()
        self._timer = self._deadline = None

    @property
    def exhausted(self) -> bool:
        """Whether no further record will arrive."""
        return self._arrivals.at(0) >= NEVER_US

    def allow(self, records: int) -> None:
        """Let the application send this many records in the open transaction (0: none)."""
        self.allowance = records
        if records:
            self.pull()

    def opened(self, batch: ProducerBatch) -> None:
        """Report a batch that was put into the accumulator directly: an aborted one, sent again."""
        self._host.emit(e.BatchOpened(producer=self._host.name, partition=batch.partition, bytes=batch.reserved))
        self._host.batch_ready(self._host.timeline.now_us)

    def memory_released(self) -> None:
        """Continue a send() that waits for `buffer.memory`."""
        if self._timer is None or not self._timer.pending:
            self.pull()

    def begin(self) -> None:
        """Make or renew the partitioners of the topics whose partitions are known."""
        host = self._host
        self._metadata_seen = host.metadata_version
        for topic in self._topics:
            partitions = host.topic_partitions.get(topic)
            if not partitions:  # send() waits for it
                continue
            mapping = len(partitions), self._partitioner
            known = self._mapping.get(topic, mapping)
            self._mapping[topic] = mapping
            if known != mapping:
                host.keys_moved({name: self._accumulator.next_serial(name) for name in partitions})
            if known != mapping or topic not in self._keyed:  # keys map to other partitions once some are added
                self._keyed[topic] = KeyedPartitioner(partitions, self._partitioner)
            if topic not in self._sticky:
                size = self._accumulator.batch_size
                available, load = partial(self._available_partitions, topic), partial(self._load, topic)
                self._sticky[topic] = StickyPartitioner(size, self._host.random, available, load)
                self._round_robin[topic] = RoundRobinPartitioner((), available)

    def _available_partitions(self, topic: str) -> tuple[str, ...]:
        """The partitions of a topic that have a leader in the last metadata; all of them when none has."""
        host = self._host
        known = self._available.get(topic)
        if known is None or known[0] != host.metadata_version:
            names = host.topic_partitions[topic]
            led = tuple(name for name in names if host.leader_of(name) >= 0) or names
            known = self._available[topic] = (host.metadata_version, led)
        return known[1]

    def _load(self, topic: str) -> PartitionLoad | None:
        """The preferences of adaptive partitioning, once every partition has had a batch; None for no preference.

        Kafka's sender weighs the queues each time it looks for ready batches. Here a draw weighs them.
        Source: `RecordAccumulator.partitionReady`.
        """
        queues, names = self._accumulator.queues, self._host.topic_partitions[topic]
        if not self._adaptive or not queues or len(names) < 2 or not all(name in self._scheduled for name in names):
            return None
        host = self._host
        leaders = [(name, host.leader_of(name)) for name in names]
        led = {
            name: len(queues.get(name, ()))
            for name, leader in leaders
            if leader >= 0 and not host.exceeds_availability_timeout(leader)
        }
        return PartitionLoad.of(led, len(names))

    def pull_arrived(self) -> None:
        """Pull if a record has arrived, or if no pull is scheduled, or if a transaction or a timeout depends on it."""
        timer = self._timer
        scheduled = timer is not None and timer.pending and self.allowance is None and self._deadline is None
        if not scheduled or self._arrivals.at(0) <= self._host.timeline.now_us:
            self.pull()

    def pull(self) -> None:
        """Move every record that has arrived by now into the accumulator, and schedule the next pull."""
        if not self._host.running or self.closing or not self._sticky:
            return
        if self._metadata_seen != self._host.metadata_version:
            self.begin()
        now_us = self._host.timeline.now_us
        coming, topics, steps = self._arrivals, self._topics, MOST_STEPS
        refused = self.fails_with or self._too_large
        while refused and coming.at(0) <= now_us and self.allowance != 0 and steps:
            self._refuse(topics[coming.taken % len(topics)], "", refused)
            steps -= 1
        opened = blocked = False
        filled = self._filled
        while coming.at(0) <= now_us and not blocked and self.allowance != 0 and steps:
            steps -= 1
            topic = topics[coming.taken % len(topics)]
            got = self._send(topic, now_us)
            if got is not None:
                opened = opened or got
                self._blocked_us = NOT_BLOCKED
            else:
                blocked = not self._times_out(topic, now_us)
        if self._filled != filled:
            self._host.batch_ready(now_us)
        if self.allowance is not None:
            self._host.transaction_progressed()
        if blocked or self._deadline is not None:
            self._set_deadline(self._blocked_us + self._max_block_us if blocked else NEVER_US, self.pull)
        if blocked:
            self._wait_for_memory()
            return
        if steps:
            lingers = self.look_ahead()
        else:
            lingers = True
            self._pull_at(now_us)
        if lingers and opened:
            self._host.batch_ready(now_us + self._accumulator.linger_us)

    def _send(self, topic: str, now_us: int) -> bool | None:
        """send() the next record, or several: whether a batch was opened, None without memory or the topic's metadata.

        Source: `KafkaProducer.waitOnMetadata`, which waits for the topic of the record alone.
        """
        if topic not in self._sticky:
            self._host.request_metadata()
            return None
        return self._send_one(topic, now_us) if self._one_by_one else self._send_unkeyed(topic, now_us)

    def _times_out(self, topic: str, now_us: int) -> bool:
        """Whether a send() without memory or metadata has waited for `max.block.ms`; then it fails."""
        if self._blocked_us == NOT_BLOCKED:
            self._blocked_us = now_us
        if now_us - self._blocked_us < self._max_block_us:
            return False
        self._refuse(topic, "memory" if topic in self._sticky else "metadata", "TimeoutException")
        return True

    def _refuse(self, topic: str, waited_for: str, error: str) -> None:
        """Fail the send() of the next record; the application continues with the one after it.

        Source: `KafkaProducer.doSend`, `ensureValidRecordSize`.
        """
        self._arrivals.take()
        self._next, self._blocked_us = None, NOT_BLOCKED
        if self.allowance is not None:
            self.allowance -= 1
        self._host.send_refused(topic, waited_for, error)

    def _wait_for_metadata(self) -> None:
        """Until the partitions of a new process are known, each send() waits for `max.block.ms` and fails."""
        first_us = self._arrivals.at(0)
        if not self._sticky and self.allowance is None and first_us < NEVER_US:
            self._blocked_us = max(first_us, self._host.timeline.now_us)
            self._set_deadline(self._blocked_us + self._max_block_us, self._without_metadata)

    def close(self) -> None:
        """Send no new records; a send() that waits for metadata fails.

        Source: `KafkaProducer.doSend`, "Producer closed while send in progress".
        """
        self.closing = True
        if self._arrivals.at(0) <= self._host.timeline.now_us and self.allowance != 0:
            topic = self._topics[self._arrivals.taken % len(self._topics)]
            if not self._host.topic_partitions.get(topic):
                self._refuse(topic, "metadata", "KafkaException")

    def _without_metadata(self) -> None:
        topic = self._topics[self._arrivals.taken % len(self._topics)]
        if not self._sticky and not self.closing and self._host.running and not self._host.topic_partitions.get(topic):
            self._refuse(topic, "metadata", "TimeoutException")
        self._wait_for_metadata()

    def _set_deadline(self, at_us: int, act: Callable[[], None]) -> None:
        """Call `act` at this instant instead of the one that was set before; NEVER_US: not at all."""
        deadline = self._deadline
        if deadline is not None:
            if deadline.pending and deadline.at_us == at_us:
                return
            deadline.cancel()
            self._deadline = None
        if at_us < NEVER_US:
            self._deadline = self._host.timeline.call_at(at_us, act)

    def _wait_for_memory(self) -> None:
        """Pull again when memory is released; until then no batch fills by itself."""
        for sticky in self._sticky.values():
            batch = self._accumulator.open_batch(sticky.current)
            if batch is not None and batch.fills_itself:
                batch.fills_itself = False
                self._host.batch_ready(batch.created_us + self._accumulator.linger_us)

    def look_ahead(self) -> bool:
        """Schedule the pull of the record that opens or fills a batch; returns whether open batches wait for linger."""
        if self.closing or self.allowance == 0:
            return True
        accumulator, batch, skipped = self._accumulator, None, 0
        if len(self._topics) > 1 or self._one_by_one:
            skipped = self._skippable()
        else:
            sticky = self._sticky[self._topics[0]]
            batch = accumulator.open_batch(sticky.current)
            if batch is not None and self.allowance is None:
                skipped = accumulator.fits(batch, sticky.room())
        at_us = self._arrivals.at(skipped)
        self._pull_at(at_us)
        if batch is not None:
            batch.fills_itself = at_us <= batch.created_us + accumulator.linger_us
        return batch is None or not batch.fills_itself

    def _pull_at(self, at_us: int) -> None:
        """Pull at this instant, now if it is past, instead of the one that was set before."""
        timer = self._timer
        if timer is None or timer.at_us != at_us or not timer.pending:
            if timer is not None:
                timer.cancel()
            if at_us < NEVER_US:
                self._timer = self._host.timeline.call_at(at_us, self.pull)

    def _skippable(self) -> int:
        """How many of the next records only make the topics' open batches larger."""
        if self._one_by_one or self.allowance is not None:
            return 0
        room = NEVER_US
        for topic in self._topics:
            if topic not in self._sticky:  # its send() waits when it arrives
                return 0
            sticky = self._sticky[topic]
            batch = self._accumulator.open_batch(sticky.current)
            room = min(room, self._accumulator.fits(batch, sticky.room())) if batch is not None else 0
        return max(0, room - 1) * len(self._topics)

    def _send_unkeyed(self, topic: str, now_us: int) -> bool | None:
        """send() as many records as fit; returns whether a batch was opened, None when there is no memory."""
        sticky, accumulator = self._sticky[topic], self._accumulator
        batch = accumulator.open_batch(sticky.current)
        if batch is None or accumulator.room(batch) <= 0:
            batch = self._batch_with_room(batch, "", sticky, now_us)
            if batch is None:
                return None
        opened = batch.count == 0
        most = 1
        if len(self._topics) == 1:
            most = max(1, min(accumulator.room(batch), -(-sticky.room() // accumulator.record_bytes)))
        if self.allowance is not None:
            most = min(most, self.allowance)
        count = self._arrivals.take_until(now_us, most)
        sticky_bytes = accumulator.add(batch, count)
        if self.allowance is not None:
            self.allowance -= count
        sticky.produced(sticky_bytes)
        if (
            batch.fills_itself and sticky.current != batch.partition
        ):  # the partitioner chose another partition before it was full
            batch.fills_itself = False
            self._host.batch_ready(batch.created_us + accumulator.linger_us)
        return opened

    def _send_one(self, topic: str, now_us: int) -> bool | None:
        """send() one record with a key or a round-robin partition; returns as `_send_unkeyed` does."""
        accumulator, sticky = self._accumulator, self._sticky[topic]
        if self._next is None:
            key = self._keys.draw() if self._keyed_records else None
            self._next = self._partition_of(topic, key), key
        name, key = self._next
        stays = bool(name)
        name = name or sticky.current
        batch = accumulator.open_batch(name)
        if batch is None or accumulator.room(batch) <= 0:
            batch = self._batch_with_room(batch, name if stays else "", sticky, now_us)
            if batch is None:
                return None
        opened = batch.count == 0
        self._arrivals.take()
        self._next = None
        if key is not None:
            batch.keys.append(key)
            if self._scatters:
                self._host.key_sent(batch.partition, accumulator.next_serial(batch.partition))
        sticky_bytes = accumulator.add(batch, 1)
        if self.allowance is not None:
            self.allowance -= 1
        if not stays:
            sticky.produced(sticky_bytes)
        return opened

    def _partition_of(self, topic: str, key: int | None) -> str:
        """The partition of a key or of round robin; "" when the sticky partitioner decides."""
        if self._uses_round_robin:
            return self._round_robin[topic].next()
        return self._keyed[topic].partition(key) if self._by_key and key is not None else ""

    @property
    def begun(self) -> bool:
        """Whether the partitions of every topic are known."""
        return len(self._sticky) == len(self._topics)

    @property
    def refusal(self) -> str:
        """The error of each send() of a record that is too large, without which send() is tried."""
        return self._too_large

    def put(self, topic: str, key: int | None, run: Origin) -> int:
        """send() the outputs of a run of input records; returns how many were taken, 0 when there is no memory.

        With a key the run has one record.
        """
        now_us, accumulator, filled = self._host.timeline.now_us, self._accumulator, self._filled
        sticky, name = self._sticky[topic], self._put_in
        if not name and self._uses_round_robin:
            name = self._put_in = self._round_robin[topic].next()
        elif key is not None and not name and not self._ignores_keys:
            name = self._keyed[topic].partition(key)
        batch = accumulator.open_batch(name or sticky.current)
        if batch is None or accumulator.room(batch) <= 0:
            batch = self._batch_with_room(batch, name, sticky, now_us)
            if batch is None:
                return 0
        self._put_in = ""
        opened = batch.count == 0
        count = 1 if name or key is not None else max(1, min(run[3], accumulator.room(batch)))
        if key is not None or batch.keys:
            batch.keys += [-1] * (batch.count - len(batch.keys)) + [-1 if key is None else key] * count
        batch.add_origin((*run[:3], count))
        sticky_bytes = accumulator.add(batch, count)
        if not name:
            sticky.produced(sticky_bytes)
        if opened or self._filled != filled:
            self._host.batch_ready(now_us if self._filled != filled else now_us + accumulator.linger_us)
        return count

    def _batch_with_room(
        self, full: ProducerBatch | None, name: str, sticky: StickyPartitioner, now_us: int
    ) -> ProducerBatch | None:
        """A batch with room in place of a full one, for a partition ("": the sticky one); None without memory."""
        if full is not None:
            full.full = True
            self._filled += 1
        if not name:
            name = sticky.for_new_batch()
            batch = self._accumulator.open_batch(
                name
            )  # the partitioner may return to a partition with a half-full batch
            if batch is not None and self._accumulator.room(batch) > 0:
                return batch
        return self._open(name, now_us)

    def _open(self, partition_name: str, now_us: int) -> ProducerBatch | None:
        batch = self._accumulator.new_batch(partition_name, now_us)
        if batch is not None:
            self._scheduled[partition_name] = None
            self._host.emit(e.BatchOpened(producer=self._host.name, partition=partition_name, bytes=batch.reserved))
            if self.allowance is not None:
                self._host.transaction_opened(batch)
        return batch
