"""The producer's accumulator: a queue of batches for each partition, within `buffer.memory`.

A batch takes a whole `batch.size` of the buffer when it is opened, as in Kafka's pool. It returns it when it is
acknowledged or has failed. It is ready when it is full or `linger.ms` old. Source: `RecordAccumulator`, `BufferPool`.
"""

from collections import deque
from typing import Final

from cluster.clients.producer.compression import Compression, capacity
from cluster.protocol.names import topic_of
from cluster.protocol.record_batch import (
    LAST_SEQUENCE,
    RECORD_BATCH_OVERHEAD_BYTES,
    Origin,
    RecordBatch,
    origins_between,
)
from cluster.reach import reached
from cluster.virtual_time.waiting import NEVER_US

UNSENT: Final = -1


class ProducerBatch:
    """Records for one partition. `first_sent_us` is -1 until the batch is drained for the first time.

    `bytes`: the producer's estimate while records are added, then the size on the wire. `capacity`: how many records
    it takes. `estimate`: the share of their size that they are expected to have when compressed. `piece`: it was cut
    from a batch that was too large. `refused_by`: the broker of its last attempt. `over`: acknowledged, or failed.
    """

    __slots__ = (
        "attempts",
        "base_sequence",
        "bytes",
        "capacity",
        "count",
        "created_us",
        "epoch",
        "estimate",
        "fills_itself",
        "first_sent_us",
        "first_serial",
        "full",
        "keys",
        "not_before_us",
        "origins",
        "over",
        "partition",
        "piece",
        "refused_by",
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
        self.base_sequence = self.first_sent_us = self.epoch = self.refused_by = UNSENT
        self.not_before_us = self.capacity = 0
        self.estimate = 1.0
        self.full = self.over = self.piece = False
        self.fills_itself = False  # records will fill it before linger.ms ends, which wakes the sender
        self.keys: list[int] = []
        self.origins: list[Origin] = []

    def add_origin(self, run: Origin) -> None:
        """Note that the records that are added next are outputs of these input records."""
        if self.origins:
            producer, partition, serial, count = self.origins[-1]
            if (producer, partition, serial + count) == run[:3]:
                self.origins[-1] = (producer, partition, serial, count + run[3])
                return
        self.origins.append(run)

    def cut(self, first: int, end: int) -> "ProducerBatch":
        """Records first … end - 1 as a batch that counts as sent, with their sequences if they have any."""
        piece = ProducerBatch(self.partition, self.created_us, 0, self.first_serial + first)
        piece.count, piece.first_sent_us, piece.epoch = end - first, self.first_sent_us, self.epoch
        if self.base_sequence != UNSENT:
            piece.base_sequence = (self.base_sequence + first) & LAST_SEQUENCE
        piece.full = piece.piece = True
        piece.keys = self.keys[first:end]
        piece.origins = [run for run, _ in origins_between(self.origins, first, end)]
        return piece

    def to_record_batch(
        self, producer: str, producer_id: int, tombstones: tuple[int, ...] = (), *, transactional: bool = False
    ) -> RecordBatch:
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
            origins=tuple(self.origins),
            transactional=transactional,
            tombstones=tombstones,
        )


class Accumulator:
    """Open and waiting batches. `record_bytes`: the size of one record with its header."""

    def __init__(
        self, batch_size: int, buffer_memory: int, linger_us: int, record_bytes: int, codec: str = "none"
    ) -> None:
        self.record_bytes = record_bytes
        self._codec = codec
        self._compression = Compression(codec)
        self.configure(batch_size, linger_us, codec)
        self.free_bytes = buffer_memory
        self.flushing = False  # every batch is ready at once
        self.queues: dict[str, deque[ProducerBatch]] = {}
        self._serials: dict[str, int] = {}

    def configure(self, batch_size: int, linger_us: int, codec: str) -> None:
        """Set the size of batches, how long they wait, and their codec.

        `batch_size` and `codec` change only while nothing is buffered.
        """
        self.batch_size, self.linger_us = batch_size, linger_us
        self._reserve = max(batch_size, self.largest_record_bytes)
        self._capacity = capacity(self._reserve, self.record_bytes, 1.0)
        if codec != self._codec:
            self._codec, self._compression = codec, Compression(codec)
        self.compresses = self._compression.compresses

    @property
    def largest_record_bytes(self) -> int:
        """The size of a batch of one record (`AbstractRecords.estimateSizeInBytesUpperBound`)."""
        return RECORD_BATCH_OVERHEAD_BYTES + self.record_bytes

    def reset(self, buffer_memory: int) -> None:
        """Empty the accumulator for a new process. Serial numbers continue: the delivery ledger needs them."""
        self.queues = {}
        self.free_bytes = buffer_memory
        self.flushing = False
        self._compression = Compression(self._codec)

    def next_serial(self, partition: str) -> int:
        """The serial number of the next record for this partition, by which the delivery ledger knows it."""
        return self._serials.get(partition, 0)

    def open_batch(self, partition: str) -> ProducerBatch | None:
        """The batch of this partition that still takes records; None without one."""
        queue = self.queues.get(partition)
        if queue:
            batch = queue[-1]
            if not batch.full and batch.first_sent_us == UNSENT:
                return batch
        return None

    def new_batch(self, partition: str, now_us: int) -> ProducerBatch | None:
        """Open a batch; returns None when `buffer.memory` is exhausted."""
        if self.free_bytes < self._reserve:
            return None
        self.free_bytes -= self._reserve
        batch = ProducerBatch(partition, now_us, self._reserve, self.next_serial(partition))
        batch.capacity = self._capacity
        if self.compresses:
            batch.estimate = self._compression.estimate(topic_of(partition))
            batch.capacity = capacity(self._reserve, self.record_bytes, batch.estimate)
        self.queues.setdefault(partition, deque()).append(batch)
        return batch

    def renew(self, aborted: ProducerBatch, now_us: int) -> ProducerBatch | None:
        """Put an aborted batch's records into a new batch, as new records; returns None without memory."""
        batch = self.new_batch(aborted.partition, now_us)
        if batch is None:
            return None
        for key in aborted.keys:
            batch.keys.append(key)
            self.add(batch, 1)
        if not aborted.keys:
            self.add(batch, aborted.count)
        batch.full = True
        return batch

    def room(self, batch: ProducerBatch) -> int:
        """How many more records fit into a batch."""
        return batch.capacity - batch.count

    def fits(self, batch: ProducerBatch, most_bytes: int) -> int:
        """How many more records, of at most this many bytes in total, fit into a batch."""
        room, records = batch.capacity - batch.count, most_bytes // self.record_bytes
        if records < room:
            room = records
        return room if room > 0 else 0  # noqa: FURB136 - max() costs more

    def add(self, batch: ProducerBatch, count: int) -> int:
        """Put records into a batch; returns by how many bytes it has grown, by the producer's estimate."""
        batch.count += count
        grown = count * self.record_bytes
        if self.compresses:
            now = RECORD_BATCH_OVERHEAD_BYTES + int(batch.count * self.record_bytes * batch.estimate)
            grown = now - batch.bytes
        batch.bytes += grown
        self._serials[batch.partition] = batch.first_serial + batch.count
        return grown

    def close(self, batch: ProducerBatch) -> None:
        """Compress a batch that is sent for the first time; its ratio improves the producer's estimate."""
        reached("producer: compresses")
        batch.bytes = self._compression.compressed(batch.count * self.record_bytes)
        self._compression.learn(topic_of(batch.partition))

    def split(self, big: ProducerBatch) -> list[ProducerBatch]:
        """Split a batch that a broker refused as too large into pieces of `batch.size`; a piece into two halves.

        The pieces keep the order, the sequences and the age of the records, and take nothing of `buffer.memory`.
        Source: `RecordAccumulator.splitAndReenqueue` (halves since KAFKA-8350), `ProducerBatch.split`.
        """
        topic = topic_of(big.partition)
        reached("producer: splits a batch")
        self._compression.doubt(topic)
        limit = big.bytes // 2 if big.piece else self.batch_size
        most = capacity(max(limit, self.largest_record_bytes), self.record_bytes, self._compression.estimate(topic))
        pieces = [big.cut(place, min(place + most, big.count)) for place in range(0, big.count, most)]
        for piece in pieces:
            self.close(piece)
        return pieces

    def ready_us(self, batch: ProducerBatch, *, last: bool) -> int:
        """When a batch may be sent: at once when it is full or another waits behind it, else after `linger.ms`.

        NEVER_US for a batch that will be full before that: the record feed reports it then.
        """
        if batch.first_sent_us != UNSENT:
            return batch.not_before_us
        if batch.full or not last or self.flushing:
            return 0
        return NEVER_US if batch.fills_itself else batch.created_us + self.linger_us

    def ready_behind_us(self, partition: str) -> int:
        """When the next batch of a partition may be sent, after one was drained; NEVER_US without one."""
        queue = self.queues[partition]
        if queue:
            return self.ready_us(queue[0], last=len(queue) == 1)
        del self.queues[partition]
        return NEVER_US

    def release(self, batch: ProducerBatch) -> None:
        """Return the memory of a batch that was acknowledged or has failed."""
        batch.over = True
        self.free_bytes += batch.reserved
