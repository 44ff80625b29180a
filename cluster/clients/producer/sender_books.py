"""A producer's books: its configuration, what is in flight, and what became of each batch.

Source: `Sender.completeBatch`, `failBatch`, `reenqueueBatch`, `getExpiredInflightBatches`,
`RecordAccumulator.expiredBatches`, `abortUndrainedBatches`.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from cluster import events as e
from cluster.clients.producer.accumulator import UNSENT, Accumulator, ProducerBatch
from cluster.clients.producer.sender_host import SenderHost
from cluster.clients.producer.sequences import Sequence, Sequences
from cluster.protocol.errors import ErrorCode

MS = 1_000
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
LOOK_ELSEWHERE = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class SenderBooks:
    """What a sender knows of its batches. `counters` count records (sent, acked, failed), batches and requests."""

    def __init__(self, host: SenderHost, config: Mapping[str, Any], accumulator: Accumulator) -> None:
        self._host, self._accumulator, self.last_error = host, accumulator, ""
        self.configure(config)
        self.counters = dict.fromkeys(("sent", "acked", "failed", "retries", "requests", "batches"), 0)
        self.forget()

    def forget(self) -> None:
        """A new process: nothing in flight, no producer id."""
        self.producer_id = self.epoch = -1
        self._in_flight: dict[int, int] = {}
        self._in_flight_to: dict[str, tuple[int, int]] = {}  # partition → (broker, batches in flight)
        self._sequences = Sequences()
        self._stale = False
        self._latency_us: dict[int, tuple[int, int]] = {}  # broker → when it last had something to take, and took it

    def configure(self, config: Mapping[str, Any]) -> None:
        """Read the configuration, at first or again."""
        self._acks = ACKS[str(config["acks"])]
        self._idempotent: bool = config["enable.idempotence"]
        self._retries: int = config["retries"]
        self._request_timeout_ms: int = config["request.timeout.ms"]
        self._delivery_us: int = config["delivery.timeout.ms"] * MS
        # A batch this old when it is sent may still be in flight when its time is up: younger ones are answered, or
        # the thread has found that their request has timed out, before (it may sleep that long once more).
        self._old_us = self._delivery_us - 2 * self._request_timeout_ms * MS
        self._max_in_flight: int = config["max.in.flight.requests.per.connection"]
        self._max_request_size: int = config["max.request.size"]
        self._patience_us: int = config["partitioner.availability.timeout.ms"] * MS
        self._metadata_age_us: int = config["metadata.max.age.ms"] * MS

    @property
    def idle(self) -> bool:
        """Whether everything that was sent is settled."""
        return not self._accumulator.queues and not self._in_flight_to

    def keeps_waiting(self, broker: int) -> bool:
        """Whether a broker has taken nothing for longer than `partitioner.availability.timeout.ms` (KIP-794)."""
        wanted_us, took_us = self._latency_us.get(broker, (0, 0))
        return self._patience_us > 0 and wanted_us - took_us > self._patience_us

    def _wants(self, broker: int, now_us: int, *, takes: bool) -> None:
        """There is something for a broker, which can or cannot be sent. Source: `updateNodeLatencyStats`."""
        if self._patience_us > 0:
            _, took_us = self._latency_us.get(broker, (now_us, now_us))
            self._latency_us[broker] = now_us, now_us if takes else took_us

    def _acknowledged(self, batch: ProducerBatch, offset: int, duplicate: bool) -> None:
        self._accumulator.release(batch)
        if self._idempotent:
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
                first_serial=batch.first_serial,
            )
        )
        self._host.memory_is_free()

    def _tell_in_doubt(self, sequences: list[tuple[str, Sequence]]) -> None:
        for partition, sequence in sequences:
            self._host.tell(
                e.SequenceInDoubt(
                    producer=self._host.name,
                    partition=partition,
                    acknowledged=sequence.acknowledged - 1,
                    following=sequence.following,
                )
            )

    def _landed(self, batch: ProducerBatch) -> None:
        """A batch is not in flight any more."""
        broker, count = self._in_flight_to[batch.partition]
        if count == 1:
            del self._in_flight_to[batch.partition]
        else:
            self._in_flight_to[batch.partition] = (broker, count - 1)

    def _failed(
        self, batch: ProducerBatch, error: str, *, in_doubt: bool = True, disconnected_from: int = UNSENT
    ) -> None:
        """A batch is given up. `in_doubt`: if it was sent, nobody knows what became of its sequence."""
        self._accumulator.release(batch)
        self.counters["failed"] += batch.count
        self.last_error = error
        sent = batch.first_sent_us != UNSENT
        if sent and in_doubt and self._idempotent:
            self._sequences.gave_up(batch)
        self._host.tell(
            e.BatchFailed(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                freed_bytes=batch.reserved,
                error=error,
                sent=sent,
                disconnected_from=disconnected_from,
            )
        )
        if self._host.transactions is not None:
            if error == ErrorCode.INVALID_PRODUCER_ID_MAPPING.name:
                self._host.transactions.unknown_producer_id()
            self._host.transaction_failed(error)
        self._host.memory_is_free()

    def refused(self, topic: str, waited_for: str, error: str) -> None:
        """send() itself failed: no batch ever took the record."""
        self.counters["failed"] += 1
        self.last_error = error
        self._host.tell(
            e.SendRefused(producer=self._host.name, topic=topic, records=1, waited_for=waited_for, error=error)
        )

    def _retry(self, batch: ProducerBatch, error: ErrorCode, leader: int, *, answered: bool) -> None:
        """Back into the queue, before everything with a later sequence: after a backoff, or at once to a new leader."""
        batch.attempts += 1
        batch.refused_by = leader
        backoff_us = min(self._host.retry_backoff_us << min(batch.attempts - 1, 10), self._host.retry_backoff_max_us)
        batch.not_before_us = self._host.timeline.now_us + backoff_us
        self._put_back(batch)
        self._forgive(batch)
        if error in LOOK_ELSEWHERE:
            self._stale = True
        self._host.tell(
            e.BatchRetried(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                error=error.name,
                attempt=batch.attempts,
                disconnected_from=UNSENT if answered else leader,
            )
        )

    def _forgive(self, batch: ProducerBatch) -> None:
        """No backoff for a batch whose partition is led by somebody else now (`hasLeaderChangedForTheOngoingRetry`)."""
        if self._host.leader_of(batch.partition) not in (UNSENT, batch.refused_by):
            batch.not_before_us = 0

    def _put_back(self, batch: ProducerBatch) -> None:
        """In front of its queue, but behind what has an earlier sequence. Source: `insertInSequenceOrder`."""
        queue = self._accumulator.queues.setdefault(batch.partition, deque())
        place = 0
        while place < len(queue) and UNSENT < queue[place].base_sequence < batch.base_sequence:
            place += 1
        queue.insert(place, batch)

    def _split(self, batch: ProducerBatch, error: ErrorCode) -> None:
        """A batch is too large for its topic: it goes again in pieces, at once; that counts as no attempt."""
        pieces = self._accumulator.split(batch)
        self._accumulator.release(batch)
        for piece in reversed(pieces):
            self._put_back(piece)
        self._host.tell(
            e.BatchSplit(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                pieces=len(pieces),
                freed_bytes=batch.reserved,
                error=error.name,
            )
        )
        self._host.memory_is_free()

    def _expire(self, now_us: int) -> None:
        """Give up batches that waited longer than `delivery.timeout.ms` since they were opened."""
        for name in list(self._accumulator.queues):
            queue = self._accumulator.queues[name]
            while queue and queue[0].created_us + self._delivery_us <= now_us:
                self._failed(queue.popleft(), "TimeoutException")
            if not queue:
                del self._accumulator.queues[name]

    def abandon(self, error: str, *, also_sent: bool) -> None:
        """Give up what is buffered; what was sent before and waits for its next attempt only if `also_sent`."""
        kept: dict[str, deque[ProducerBatch]] = {}
        queues, self._accumulator.queues = self._accumulator.queues, kept
        for name, queue in queues.items():
            stays = deque(batch for batch in queue if batch.first_sent_us != UNSENT and not also_sent)
            if stays:
                kept[name] = stays
            for batch in queue:
                if batch not in stays:
                    self._failed(batch, error)
        self._host.transaction_moved()

    def _settled(self, partition: str) -> bool:
        """Whether no batch of a partition is under way, or to be sent again."""
        queue = self._accumulator.queues.get(partition)
        return partition not in self._in_flight_to and (queue is None or queue[0].base_sequence == UNSENT)
