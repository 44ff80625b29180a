"""The producer's accumulator: a queue of batches for each partition, within `buffer.memory`.

A batch takes a whole `batch.size` of the buffer when it is opened, as Kafka's pool does, and gives it back when it is
acknowledged or has failed. It is ready when it is full or `linger.ms` old. Source: `RecordAccumulator`, `BufferPool`.
"""

from collections import deque

from cluster.clients.workload import NEVER_US
from cluster.protocol.record_batch import RECORD_BATCH_OVERHEAD_BYTES, RecordBatch

UNSENT = -1


class ProducerBatch:
    """Records on their way to one partition. `first_sent_us` is -1 until it was drained for the first time."""

    __slots__ = (
        "attempts",
        "base_sequence",
        "bytes",
        "count",
        "created_us",
        "epoch",
        "fills_itself",
        "first_sent_us",
        "first_serial",
        "full",
        "keys",
        "not_before_us",
        "partition",
        "reserved",
    )

    def __init__(self, partition: str, created_us: int, reserved: int, first_serial: int) -> None:
        self.partition, self.created_us, self.reserved, self.first_serial = (
            partition,
            created_us,
            reserved,
            first_serial,
        )
        self.bytes, self.count, self.attempts = RECORD_BATCH_OVERHEAD_BYTES, 0, 0
        self.base_sequence = self.first_sent_us = self.epoch = UNSENT
        self.not_before_us = 0
        self.full = False
        self.fills_itself = False  # records will fill it before linger ends, and that wakes the sender
        self.keys: list[int] = []

    def on_the_wire(self, producer: str, producer_id: int) -> RecordBatch:
        """The batch as a Produce request carries it."""
        return RecordBatch(
            self.partition,
            producer,
            producer_id,
            self.epoch,
            self.base_sequence,
            self.first_serial,
            self.count,
            self.bytes,
            self.created_us,
            tuple(self.keys),
        )


class Accumulator:
    """Open and waiting batches. `record_bytes` is one record with its header."""

    def __init__(self, batch_size: int, buffer_memory: int, linger_us: int, record_bytes: int) -> None:
        self.batch_size, self.linger_us, self.record_bytes = batch_size, linger_us, record_bytes
        self._reserve = max(batch_size, RECORD_BATCH_OVERHEAD_BYTES + record_bytes)
        self._capacity = max(1, (batch_size - RECORD_BATCH_OVERHEAD_BYTES) // record_bytes)
        self.free_bytes = buffer_memory
        self.queues: dict[str, deque[ProducerBatch]] = {}
        self._serials: dict[str, int] = {}

    def reset(self, buffer_memory: int) -> None:
        """A new process: nothing is buffered. Serial numbers go on, they are the ground truth's."""
        self.queues = {}
        self.free_bytes = buffer_memory

    def open_batch(self, partition: str) -> ProducerBatch | None:
        """The batch of this partition that still takes records, if there is one."""
        queue = self.queues.get(partition)
        if queue:
            batch = queue[-1]
            if not batch.full and batch.first_sent_us == UNSENT:
                return batch
        return None

    def new_batch(self, partition: str, now_us: int) -> ProducerBatch | None:
        """Open a batch; None when `buffer.memory` is exhausted."""
        if self.free_bytes < self._reserve:
            return None
        self.free_bytes -= self._reserve
        batch = ProducerBatch(partition, now_us, self._reserve, self._serials.get(partition, 0))
        self.queues.setdefault(partition, deque()).append(batch)
        return batch

    def room(self, batch: ProducerBatch) -> int:
        """How many more records fit into a batch."""
        return self._capacity - batch.count

    def add(self, batch: ProducerBatch, count: int) -> None:
        """Put records into a batch."""
        batch.count += count
        batch.bytes += count * self.record_bytes
        self._serials[batch.partition] = batch.first_serial + batch.count

    def ready_us(self, batch: ProducerBatch, *, last: bool) -> int:
        """From when on a batch may be sent: at once when it is full or another waits behind it, else after linger.

        NEVER_US for one that will be full before: whoever fills it says so.
        """
        if batch.first_sent_us != UNSENT:
            return batch.not_before_us
        if batch.full or not last:
            return 0
        return NEVER_US if batch.fills_itself else batch.created_us + self.linger_us

    def release(self, batch: ProducerBatch) -> None:
        """A batch is over: its memory is free again."""
        self.free_bytes += batch.reserved
