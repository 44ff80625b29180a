"""A producer's sender thread: drains ready batches into Produce requests, and handles the responses.

Theory of operation. The thread wakes when a batch is ready. It drains one batch of each partition of a ready broker
into a request. At most `max.in.flight.requests.per.connection` requests are in flight for each broker. A batch that
failed with a retriable error is sent again in the order of the sequences; the producer id makes that safe. A batch
whose leader has no ready connection stays in the accumulator: nothing is sent, so nothing is retried, until it expires.
A batch that expires after it was sent may leave a hole in its partition's sequence. If there is a hole when every other
batch of the partition is settled, the epoch is raised and the sequence restarts at 0 (KIP-360). Without idempotence
there is neither id nor sequence. A batch that is sent again may then be in the log twice, and behind batches that were
in flight with it. With acks=0 a batch is acknowledged when it is written to the socket; no response comes.
Source: `Sender` (`completeBatch`, `failBatch`, `reenqueueBatch`, `getExpiredInflightBatches`), `TransactionManager`,
`RecordAccumulator.expiredBatches`, `abortUndrainedBatches`.
"""

from collections import deque
from functools import partial
from typing import Final

from cluster import events as e
from cluster.clients.producer.accumulator import UNSENT, Accumulator, ProducerBatch
from cluster.clients.producer.producer_host import ProducerHost
from cluster.clients.producer.sequences import PartitionSequence, Sequences
from cluster.clients.producer.transaction_manager import TransactionManager
from cluster.config import ProducerConfig
from cluster.network import Connection
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from cluster.virtual_time import Timer, Waiter
from cluster.virtual_time.waiting import NEVER_US

MS: Final = 1_000
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
METADATA_ERRORS = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_BROKEN = ProduceResult("", ErrorCode.NETWORK_EXCEPTION)
_TIMED_OUT = ProduceResult("", ErrorCode.REQUEST_TIMED_OUT)


class Sender:
    """The thread, and the batches in flight. `counters` count records (sent, acked, failed), batches and requests."""

    def __init__(
        self,
        host: ProducerHost,
        config: ProducerConfig,
        accumulator: Accumulator,
        transactions: TransactionManager | None = None,
    ) -> None:
        self._host, self._accumulator, self.transactions, self.last_error = host, accumulator, transactions, ""
        self.configure(config)
        self.counters = dict.fromkeys(("sent", "acked", "failed", "retries", "requests", "batches"), 0)
        self._timer: Timer | None = None
        self.restart()

    def restart(self) -> None:
        """Begin a new process: nothing in flight, no producer id."""
        self.producer_id = self.epoch = -1
        self._in_flight: dict[int, int] = {}
        self._in_flight_to: dict[str, tuple[int, int]] = {}  # partition → (broker, batches in flight)
        self._sequences = Sequences()
        self._metadata_stale = False
        self._latency_us: dict[int, tuple[int, int]] = {}  # broker → when a batch was last ready for it, and sent
        self._refreshing = self.began = self.closing = False
        self._draining = self._asked = False  # draining: wake() only sets asked, for a wake() afterwards
        self._drained_open = False  # a batch was sent that still took records
        self.polls_since_us = self._host.timeline.now_us  # since when poll() waits
        self._blocked_by_in_flight = False  # a batch was ready, but requests in flight forbid it
        self._next_ready_us = NEVER_US  # when the batch behind one that was just drained is ready
        self._waiter: Waiter | None = None
        self._refresh_us = NEVER_US  # when the metadata expires
        self._refresh_timer: Timer | None = None  # apart from `_timer`, which every batch moves

    def configure(self, config: ProducerConfig) -> None:
        """Read the configuration, at first or again."""
        self._acks = ACKS[config.acks]
        self._idempotent = config.enable_idempotence
        self._retries = config.retries
        self._request_timeout_ms = config.request_timeout_ms
        self._delivery_us = config.delivery_timeout_ms * MS
        # A batch this old when it is sent may still be in flight when it expires: a younger one is answered, or the
        # thread has noticed that its request has timed out, before that (it may sleep that long once more).
        self._old_us = self._delivery_us - 2 * self._request_timeout_ms * MS
        self._max_in_flight = config.max_in_flight_requests_per_connection
        self._max_request_size = config.max_request_size
        self._availability_timeout_us = config.partitioner_availability_timeout_ms * MS
        self._metadata_age_us = config.metadata_max_age_ms * MS

    def end(self) -> None:
        """Cancel the timers of a process that has ended."""
        if self._refresh_timer is not None:
            self._refresh_timer.cancel()
            self._refresh_timer = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiter = None

    def wake(self) -> None:
        """Drain ready batches in this turn, as if the thread had run; wake the thread for anything that takes time."""
        if self._draining:
            self._asked = True
            return
        if not self._host.running or (self._waiter is None and not self._refreshing):
            return
        if self._refreshing or self._waiter is None:
            self.look_at(self._drain_ready(self._host.timeline.now_us))
            return
        if not self._must_wait:
            next_us = self._drain_ready(self._host.timeline.now_us)
            if not self._must_wait:
                self.look_at(next_us)
                return
        self._waiter.wake()

    @property
    def _must_wait(self) -> bool:
        """Whether the thread itself must run: to refresh metadata, to raise the epoch, to close."""
        return self._metadata_stale or bool(self._sequences.to_rewrite) or self.closing

    async def run(self) -> None:
        """Run the thread until the producer is closed and everything is sent."""
        host = self._host
        timeline = host.timeline
        await self._refresh()
        if self._idempotent and self.transactions is None:
            await self._init_producer_id()
        while not host.knows_topics() and not self.closing:  # send() waits: no topic is there
            await host.sleep(host.retry_backoff_us)
            await self._refresh()
        self.began = True
        host.begin_sending()
        while True:
            if self._metadata_stale:
                await self._refresh()
            next_us = self._drain_ready(timeline.now_us)
            if self.closing and self.idle:
                host.closed()
                return
            if self._metadata_stale:
                next_us = timeline.now_us + host.retry_backoff_us
            self.look_at(next_us)
            self._waiter = waiter = timeline.waiter("a batch to send")
            await host.park(waiter)
            self._waiter = None

    async def _refresh(self) -> None:
        """Refresh the leaders and partitions of the topics, and schedule the next refresh.

        Batches are drained meanwhile: Kafka's thread does not wait for metadata.
        """
        host = self._host
        self._metadata_stale, self._refreshing, self._refresh_us = False, self.began, NEVER_US
        self.wake()
        await host.refresh_metadata(host.topics)
        self._refreshing = False
        for queue in self._accumulator.queues.values():
            for batch in queue:
                if batch.attempts:
                    self._clear_backoff(batch)
        self._refresh_us = host.timeline.now_us + self._metadata_age_us
        if self._refresh_timer is not None:
            self._refresh_timer.cancel()
        self._refresh_timer = host.timeline.call_at(self._refresh_us, self.wake)

    def disconnected(self) -> None:
        """Refresh metadata after a connection broke or was not made: leaders may have changed (`NetworkClient`)."""
        self._metadata_stale = True
        self.wake()

    def request_metadata(self) -> None:
        """Refresh metadata: a send() waits for a topic that is not there; once more after each backoff."""
        if not self._metadata_stale:
            self._metadata_stale = True
            self.wake()

    def look_at(self, at_us: int) -> None:
        """Wake the sender at an instant, unless it wakes earlier."""
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

    def identified(self, producer_id: int, epoch: int) -> None:
        """Use the epoch of the transaction coordinator: nothing is in flight, and every sequence restarts at 0."""
        self._sequences = Sequences()
        self._identify(producer_id, epoch)

    def _identify(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self._sequences.epoch = epoch
        self._host.emit(e.ProducerIdAssigned(producer=self._host.name, producer_id=producer_id, epoch=epoch))

    def _poll_returned(self, now_us: int) -> None:
        """Notice what the thread finds when it wakes: requests that have timed out, metadata that has expired."""
        if self._host.overdue:
            self._host.poll_returned()
        self.polls_since_us = now_us
        if now_us >= self._refresh_us:  # the next request goes to any broker, not to the last one
            self._refresh_us, self._metadata_stale = NEVER_US, True
            self._host.try_another_broker()

    def _drain_ready(self, now_us: int) -> int:
        """Send ready batches; returns when the next one is due (NEVER_US: not before a wake())."""
        self._poll_returned(now_us)
        self._draining = True
        self._host.pull()
        self._expire(now_us)
        self._draining = False
        in_doubt = self._sequences.resolve(self._settled)
        if self._sequences.to_rewrite:
            if self.transactions is None:
                self._emit_in_doubt(in_doubt)
                self._begin_epoch()
            else:
                self.transactions.must_bump = True
                self._host.transaction_failed()
        next_us = NEVER_US
        self._blocked_by_in_flight, self._drained_open, self._next_ready_us = False, False, NEVER_US
        ready: dict[int, None] = {}
        for name, queue in self._accumulator.queues.items():
            batch = queue[0]
            leader = self._host.leader_of(name)
            if leader < 0:
                self._metadata_stale = True
                continue
            ready_us = self._accumulator.ready_us(batch, last=len(queue) == 1)
            if ready_us <= now_us or (self.closing and batch.first_sent_us == UNSENT):
                if self._in_flight.get(leader, 0) < self._max_in_flight:
                    ready[leader] = None
                else:
                    self._blocked_by_in_flight = True
                    self._note_ready_for(leader, now_us, takes=False)
            elif ready_us < next_us:
                next_us = min(ready_us, batch.created_us + self._delivery_us)  # it may expire during its backoff
        for leader in ready:
            ready_us = self._host.connection_ready_us(leader)
            self._note_ready_for(leader, now_us, takes=ready_us <= now_us)
            if ready_us <= now_us:
                self._drain(leader, now_us)
            else:
                next_us = min(next_us, ready_us, self._expiry_us())
        if self._blocked_by_in_flight:
            next_us = min(next_us, self._expiry_us())
        if self._drained_open:
            self._host.look_ahead()  # the next record opens a new batch
        return min(next_us, self._next_ready_us)

    def _expiry_us(self) -> int:
        """When the oldest batch in the accumulator expires (`RecordAccumulator.nextExpiryTimeMs`)."""
        oldest_us = min((queue[0].created_us for queue in self._accumulator.queues.values()), default=NEVER_US)
        return oldest_us + self._delivery_us

    def _drain(self, leader: int, now_us: int) -> None:
        """Send one request to a broker: the first batch of each of its partitions that may be sent, ready or not."""
        batches: list[ProducerBatch] = []
        size = 0
        transactions = self.transactions
        for name in list(self._accumulator.queues):
            if self._host.leader_of(name) != leader:
                continue
            queue = self._accumulator.queues[name]
            batch = queue[0]
            target, count = self._in_flight_to.get(name, (leader, 0))
            if batch.not_before_us > now_us:
                continue
            if self._idempotent and (
                (count and target != leader) or self._sequences.must_hold(batch, in_flight=count > 0)
            ):
                self._blocked_by_in_flight = True  # its predecessors are in flight, perhaps to the old leader
                continue
            if count and self._max_in_flight == 1:
                continue  # one at a time keeps the order without idempotence, even to a new leader
            if batches and size + batch.bytes > self._max_request_size:
                continue
            if transactions is not None and not transactions.may_send_to(name):
                self._host.transaction_progressed()  # its partition must be added first
                continue
            queue.popleft()
            if self._accumulator.compresses and batch.first_sent_us == UNSENT:
                self._accumulator.close(batch)
            left_us = self._accumulator.ready_behind_us(name)
            if left_us < self._next_ready_us:
                self._next_ready_us = left_us
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
        counters, transactions, tombstones = self.counters, self.transactions, self._host.tombstones
        young_us = now_us - self._old_us
        for batch in batches:
            if batch.created_us < young_us:
                self._host.after(batch.created_us + self._delivery_us - now_us, partial(self._expire_in_flight, batch))
            if batch.first_sent_us == UNSENT:
                batch.first_sent_us = now_us
                records[batch.partition] = batch.count
                counters["sent"] += batch.count
                counters["batches"] += 1
            else:
                retried[batch.partition] = batch.count
                counters["retries"] += 1
            if self._idempotent and batch.base_sequence == UNSENT:
                self._sequences.number(batch)
            empty = () if tombstones is None else tombstones.of(batch)
            wire.append(
                batch.to_record_batch(self._host.name, self.producer_id, empty, transactional=transactions is not None)
            )
        counters["requests"] += 1
        self._in_flight[leader] = self._in_flight.get(leader, 0) + 1
        self._host.emit(
            e.ProduceSent(producer=self._host.name, broker=leader, records=records, retried=retried, bytes=size)
        )
        transactional_id = transactions.transactional_id if transactions is not None else None
        request = ProduceRequest(self._acks, self._request_timeout_ms, wire, transactional_id)
        connection = self._host.connection(leader)
        written: ProduceResponse | None = None
        if self._acks == 0:
            written = ProduceResponse([ProduceResult(batch.partition, ErrorCode.NONE) for batch in wire])
        connection.send(request, partial(self._answered, connection, leader, batches), unanswered=written)

    def _expire_in_flight(self, batch: ProducerBatch) -> None:
        """Fail a batch that expired in flight; a later response is ignored.

        Its sequence is in doubt only if it was being sent again (`ProducerBatch.inRetry`).
        """
        if self._host.overdue:
            self._host.poll_returned()
        if batch.over or batch in self._accumulator.queues.get(batch.partition, ()):
            return
        self._completed(batch)
        self._failed(batch, "TimeoutException", in_doubt=batch.attempts > 0)
        self._host.transaction_progressed()
        self.wake()

    # --- answers ------------------------------------------------------------------------------------------------------

    def _answered(
        self, connection: Connection, leader: int, batches: list[ProducerBatch], response: ProduceResponse | None
    ) -> None:
        self._in_flight[leader] -= 1
        unanswered = _TIMED_OUT if connection.timed_out else _BROKEN
        again: list[tuple[ProducerBatch, ErrorCode]] = []
        self._draining, self._asked = True, False
        for place, batch in enumerate(batches):
            if batch.over:  # it expired before the response
                continue
            self._completed(batch)
            result = response.results[place] if response is not None else unanswered
            if result.error is ErrorCode.NONE:
                self._acknowledged(batch, result.base_offset, result.duplicate)
            elif result.error is ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1:
                self._split(batch, result.error)
                self._asked = True
            elif self._can_retry(batch, result.error):
                again.append((batch, result.error))
            else:
                self._metadata_stale = self._metadata_stale or result.error in METADATA_ERRORS
                self._failed(batch, result.error.name, disconnected_from=UNSENT if response is not None else leader)
        for batch, error in again:
            self._retry(batch, error, leader, answered=response is not None)
        self._draining = False
        if self.transactions is not None:
            self._host.transaction_progressed()
        if (
            self._asked
            or again
            or self._blocked_by_in_flight
            or self._host.overdue
            or self._sequences.unresolved
            or self._sequences.to_rewrite
            or self.closing
        ):
            self.wake()

    def _can_retry(self, batch: ProducerBatch, error: ErrorCode) -> bool:
        """Whether a batch that got an error is sent again. Source: `Sender.canRetry`, `TransactionManager.canRetry`."""
        helps = error.retriable
        if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:  # only a new epoch helps, and that ends a transaction
            helps = not self._sequences.out_of_order(batch) or self.transactions is None
        return helps and batch.attempts < self._retries

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

    # --- the outcome of each batch ------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether every batch is settled."""
        return not self._accumulator.queues and not self._in_flight_to

    def exceeds_availability_timeout(self, broker: int) -> bool:
        """Whether a broker has taken nothing for longer than `partitioner.availability.timeout.ms` (KIP-794)."""
        wanted_us, took_us = self._latency_us.get(broker, (0, 0))
        return self._availability_timeout_us > 0 and wanted_us - took_us > self._availability_timeout_us

    def _note_ready_for(self, broker: int, now_us: int, *, takes: bool) -> None:
        """Note that a batch is ready for a broker; `takes`: it can be sent. Source: `updateNodeLatencyStats`."""
        if self._availability_timeout_us > 0:
            _, took_us = self._latency_us.get(broker, (now_us, now_us))
            self._latency_us[broker] = now_us, now_us if takes else took_us

    def _acknowledged(self, batch: ProducerBatch, offset: int, duplicate: bool) -> None:
        self._accumulator.release(batch)
        if self._idempotent:
            self._sequences.acknowledged(batch)
        self.counters["acked"] += batch.count
        self._host.emit(
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
        self._host.memory_released()

    def _emit_in_doubt(self, sequences: list[tuple[str, PartitionSequence]]) -> None:
        for partition, sequence in sequences:
            self._host.emit(
                e.SequenceInDoubt(
                    producer=self._host.name,
                    partition=partition,
                    acknowledged=sequence.acknowledged - 1,
                    following=sequence.next_sequence,
                )
            )

    def _completed(self, batch: ProducerBatch) -> None:
        """Remove a batch from those in flight."""
        broker, count = self._in_flight_to[batch.partition]
        if count == 1:
            del self._in_flight_to[batch.partition]
        else:
            self._in_flight_to[batch.partition] = (broker, count - 1)

    def _failed(
        self, batch: ProducerBatch, error: str, *, in_doubt: bool = True, disconnected_from: int = UNSENT
    ) -> None:
        """Fail a batch. `in_doubt`: if it was sent, it is unknown whether the leader appended it."""
        self._accumulator.release(batch)
        self.counters["failed"] += batch.count
        self.last_error = error
        sent = batch.first_sent_us != UNSENT
        if sent and in_doubt and self._idempotent:
            self._sequences.mark_unresolved(batch)
        self._host.emit(
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
        if self.transactions is not None:
            if error == ErrorCode.INVALID_PRODUCER_ID_MAPPING.name:
                self.transactions.unknown_producer_id()
            self._host.transaction_failed(error)
        self._host.memory_released()

    def refused(self, topic: str, waited_for: str, error: str) -> None:
        """Count a failed send(): no batch took the record."""
        self.counters["failed"] += 1
        self.last_error = error
        self._host.emit(
            e.SendRefused(producer=self._host.name, topic=topic, records=1, waited_for=waited_for, error=error)
        )

    def _retry(self, batch: ProducerBatch, error: ErrorCode, leader: int, *, answered: bool) -> None:
        """Send a batch again, before batches with later sequences: after a backoff, or at once to a new leader."""
        batch.attempts += 1
        batch.refused_by = leader
        backoff_us = min(self._host.retry_backoff_us << min(batch.attempts - 1, 10), self._host.retry_backoff_max_us)
        batch.not_before_us = self._host.timeline.now_us + backoff_us
        self._put_back(batch)
        self._clear_backoff(batch)
        if error in METADATA_ERRORS:
            self._metadata_stale = True
        self._host.emit(
            e.BatchRetried(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                error=error.name,
                attempt=batch.attempts,
                disconnected_from=UNSENT if answered else leader,
            )
        )

    def _clear_backoff(self, batch: ProducerBatch) -> None:
        """Cancel the backoff of a batch whose partition has a new leader (`hasLeaderChangedForTheOngoingRetry`)."""
        if self._host.leader_of(batch.partition) not in (UNSENT, batch.refused_by):
            batch.not_before_us = 0

    def _put_back(self, batch: ProducerBatch) -> None:
        """Insert a batch in front of its queue, but behind earlier sequences. Source: `insertInSequenceOrder`."""
        queue = self._accumulator.queues.setdefault(batch.partition, deque())
        place = 0
        while place < len(queue) and UNSENT < queue[place].base_sequence < batch.base_sequence:
            place += 1
        queue.insert(place, batch)

    def _split(self, batch: ProducerBatch, error: ErrorCode) -> None:
        """Send a batch that is too large for its topic again in pieces, at once; that counts as no attempt."""
        pieces = self._accumulator.split(batch)
        self._accumulator.release(batch)
        for piece in reversed(pieces):
            self._put_back(piece)
        self._host.emit(
            e.BatchSplit(
                producer=self._host.name,
                partition=batch.partition,
                records=batch.count,
                pieces=len(pieces),
                freed_bytes=batch.reserved,
                error=error.name,
            )
        )
        self._host.memory_released()

    def _expire(self, now_us: int) -> None:
        """Fail batches that were opened longer than `delivery.timeout.ms` ago."""
        for name in list(self._accumulator.queues):
            queue = self._accumulator.queues[name]
            while queue and queue[0].created_us + self._delivery_us <= now_us:
                self._failed(queue.popleft(), "TimeoutException")
            if not queue:
                del self._accumulator.queues[name]

    def abandon(self, error: str, *, also_sent: bool) -> None:
        """Fail buffered batches; with `also_sent` those that wait for another attempt as well."""
        kept: dict[str, deque[ProducerBatch]] = {}
        queues, self._accumulator.queues = self._accumulator.queues, kept
        for name, queue in queues.items():
            stays = deque([batch for batch in queue if batch.first_sent_us != UNSENT and not also_sent])
            if stays:
                kept[name] = stays
            for batch in queue:
                if batch not in stays:
                    self._failed(batch, error)
        self._host.transaction_progressed()

    def _settled(self, partition: str) -> bool:
        """Whether no batch of a partition is in flight, or waits for another attempt."""
        queue = self._accumulator.queues.get(partition)
        return partition not in self._in_flight_to and (queue is None or queue[0].base_sequence == UNSENT)
