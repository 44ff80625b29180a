"""The requests that a broker serves itself: Produce, Fetch, ListOffsets, Metadata, … (`KafkaApis`, `ReplicaManager`).

One method for each API; its docstring says what is simulated. A Fetch that finds no records is parked at every wanted
partition, and answered when one of them has records; its stale entries at the others are skipped.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from cluster.broker.group_coordinator_service import GroupCoordinatorService
from cluster.broker.host import BrokerHost, RequestHandlers
from cluster.broker.purgatory import DelayedProduce
from cluster.broker.read_replicas import LEADER, ReadReplicas, recall_transactions, serves_consumers
from cluster.broker.replica import Replica
from cluster.broker.transaction_coordinator_service import TransactionCoordinatorService
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.events import ProducerEpochRefused, RecordsLost
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch
from cluster.reach import reached
from cluster.storage.compaction import NO_KEY
from cluster.storage.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET, EpochEnd
from cluster.storage.producer_state import Verification

ALL_IN_SYNC: Final = -1
UNKNOWN_END = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


class BrokerRequests:
    """Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, Metadata and FindCoordinator of one broker."""

    def __init__(
        self,
        broker: BrokerHost[Replica],
        groups: GroupCoordinatorService,
        transactions: TransactionCoordinatorService,
        transactional: TransactionalRequests,
        read_replicas: ReadReplicas | None = None,
    ) -> None:
        self._read_replicas = read_replicas
        self._broker, self._groups, self._transactions, self._transactional = (
            broker,
            groups,
            transactions,
            transactional,
        )

    def handlers(self) -> RequestHandlers:
        """The requests that the broker serves itself."""
        return {
            m.ProduceRequest: self.produce,
            m.FetchRequest: self.fetch,
            m.ListOffsetsRequest: self.list_offsets,
            m.OffsetForLeaderEpochRequest: self.offset_for_leader_epoch,
            m.MetadataRequest: self.metadata,
            m.FindCoordinatorRequest: self.find_coordinator,
        }

    def produce(self, call: InFlightRequest) -> None:
        """Produce (API 0): append each batch. With acks=all the response waits for the high watermark; acks=0 has none.

        Requests of one connection are served one after the other. So five remembered batches are enough for five
        requests in flight.
        """
        request: m.ProduceRequest = call.request
        broker = self._broker
        results: list[m.ProduceResult] = []
        delayed = DelayedProduce(call, results)
        delayed.left = 1  # this loop itself: no response before every batch was handled
        for index, batch in enumerate(request.batches):
            replica = broker.replicas.get(batch.partition)
            if replica is None or not replica.is_leader:
                results.append(m.ProduceResult(batch.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER))
                continue
            if request.transactional_id is not None and self._transactional.needs_verification(replica, batch):
                results.append(m.ProduceResult(batch.partition, ErrorCode.NONE))
                waiting = results[index], delayed.waits_for(index), delayed
                verified = partial(self._verified, request.transactional_id, replica, batch, waiting)
                self._transactional.verify_to_append(request.transactional_id, replica, batch, verified)
                continue
            error, offset, duplicate = self._append(replica, batch, request.acks)
            results.append(m.ProduceResult(batch.partition, error, offset, duplicate))
            if error is ErrorCode.INVALID_PRODUCER_EPOCH:
                self._fenced(request.transactional_id, batch)
            if error is ErrorCode.NONE and request.acks == ALL_IN_SYNC:
                replica.when_committed(offset + batch.count, delayed.waits_for(index))
        delayed.left -= 1
        if delayed.left == 0:
            if request.acks != 0:
                delayed.answer()
            else:
                self._unanswered(call, results)
        else:
            broker.timeouts.expire_at(broker.timeline.now_us + request.timeout_ms * 1000, delayed)

    def _append(
        self, replica: Replica, batch: RecordBatch, acks: int, verification: Verification | None = None
    ) -> tuple[ErrorCode, int, bool]:
        """Append a producer's batch: (error, its offset or that of the first copy, whether it is a duplicate).

        Checks in Kafka's order (`Partition.appendRecordsToLeader`, `UnifiedLog.analyzeAndValidateProducerState`). A
        verified batch is refused when the marker of its transaction was appended meanwhile.
        """
        if acks == ALL_IN_SYNC and not replica.has_min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS, -1, False
        if batch.bytes > replica.max_message_bytes:
            reached("append: too large")
            return ErrorCode.MESSAGE_TOO_LARGE, -1, False
        if replica.log.compacted and (not batch.keys or NO_KEY in batch.keys):
            reached("append: no key in a compacted topic")
            return ErrorCode.INVALID_RECORD, -1, False
        producers = replica.log.producers
        error, offset = producers.check(batch)
        if offset >= 0:
            return error, offset, True
        if verification is not None:
            refused = producers.may_begin(batch, verification)
            error = error if refused is ErrorCode.NONE else refused
        if error is ErrorCode.NONE:
            offset = replica.append(batch, self._broker.timeline.now_us).base_offset
        return error, offset, False

    def _verified(
        self,
        transactional_id: str,
        replica: Replica,
        batch: RecordBatch,
        waiting: tuple[m.ProduceResult, Callable[[ErrorCode], None], DelayedProduce],
        error: ErrorCode,
        verification: Verification,
    ) -> None:
        """The transaction's coordinator answered: append the first batch of the partition, or refuse it."""
        result, settle, delayed = waiting
        if error is ErrorCode.NONE and not replica.is_leader:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error is ErrorCode.NONE:
            error, result.base_offset, result.duplicate = self._append(replica, batch, ALL_IN_SYNC, verification)
        if error is ErrorCode.INVALID_PRODUCER_EPOCH and not delayed.completed:  # else REQUEST_TIMED_OUT was the answer
            self._fenced(transactional_id, batch)
        if error is ErrorCode.NONE:
            replica.when_committed(result.base_offset + batch.count, settle)
        else:
            settle(error)

    def _fenced(self, transactional_id: str | None, batch: RecordBatch) -> None:
        if transactional_id is not None:
            self._broker.emit(
                ProducerEpochRefused(
                    transactional_id=transactional_id,
                    producer_id=batch.producer_id,
                    epoch=batch.epoch,
                    partition=batch.partition,
                )
            )

    def _unanswered(self, call: InFlightRequest, results: list[m.ProduceResult]) -> None:
        """acks=0 has no response: after an error the broker closes the connection, which tells the producer."""
        request: m.ProduceRequest = call.request
        refused = [
            batch for batch, result in zip(request.batches, results, strict=True) if result.error is not ErrorCode.NONE
        ]
        if refused:
            self.never_appended(refused)
            self._broker.close_connection(call.connection)
        else:
            call.connection.served(answered=False)

    def never_received(self, call: InFlightRequest) -> None:
        """A request reached no process; with acks=0 its producer already counts the records as acknowledged."""
        request = call.request
        if isinstance(request, m.ProduceRequest) and request.acks == 0:
            self.never_appended(request.batches)

    def never_appended(self, batches: list[RecordBatch]) -> None:
        """Emit the loss of batches that their producer counts as acknowledged and never sends again."""
        for batch in batches:
            self._broker.emit(
                RecordsLost(
                    partition=batch.partition,
                    broker=self._broker.id,
                    first_offset=-1,
                    records=batch.count,
                    leader_epoch=-1,
                    producer=batch.producer,
                    first_serial=batch.first_serial,
                )
            )

    def fetch(self, call: InFlightRequest) -> None:
        """Fetch (API 1): answer with the readable records, or park at every wanted partition until there are some.

        A follower serves its part of the log; a leader with a replica selector may name another replica instead.
        """
        request: m.FetchRequest = call.request
        replicas = self._broker.replicas
        found: list[m.FetchedPartition] = []
        buggify = self._broker.buggify
        room = buggify.fetch_bytes(request.max_bytes) if buggify.on else request.max_bytes
        for name, (offset, leader_epoch) in request.positions.items():
            replica = replicas.get(name)
            if replica is None or not replica.is_leader or replica.led_epoch != leader_epoch:
                if replica is None or replica.is_leader or not serves_consumers(replica, leader_epoch):
                    found.append(m.FetchedPartition(name, _leader_epoch_error(replica, leader_epoch)))
                    continue
                recall_transactions(replica)
            elif self._read_replicas is not None:
                preferred = self._read_replicas.preferred(replica, request.rack, offset)
                if preferred != LEADER:
                    found.append(m.FetchedPartition(name, ErrorCode.NONE, preferred_read_replica=preferred))
                    continue
            end = high_watermark = replica.high_watermark
            log = replica.log
            aborted: tuple[tuple[int, int, int], ...] = ()
            if request.read_committed and log.transactions.began_any:
                end = replica.last_stable_offset
                aborted = log.transactions.aborted_between(offset, end)
            if log.log_start <= offset < end:
                if room > 0:
                    batches = log.read(offset, end, min(room, request.max_partition_bytes))
                    room -= sum([batch.bytes for batch in batches])
                    found.append(
                        m.FetchedPartition(name, ErrorCode.NONE, high_watermark, end, log.log_start, batches, aborted)
                    )
            elif offset > log.log_end or offset < log.log_start:
                found.append(m.FetchedPartition(name, ErrorCode.OFFSET_OUT_OF_RANGE, end, end, log.log_start))
        if found or (buggify.on and buggify.answers_early()):
            call.reply(m.FetchResponse(found))
            return
        for name in request.positions:
            replicas[name].park(call)
        call.park()

    def expire(self, call: InFlightRequest) -> None:
        """Answer a parked Fetch when its `fetch.max.wait.ms` is over, if no records come before."""
        broker = self._broker
        now_us = broker.timeline.now_us
        broker.after(max(0, _idle_until_us(call, now_us) - now_us), self._expired, call)

    @staticmethod
    def _expired(call: InFlightRequest) -> None:
        if call.response is None:
            call.reply(m.FetchResponse([]))

    def resume_fetches(self, replica: Replica) -> None:
        """Records became readable: serve the parked fetches. Answered or abandoned ones are stale and dropped."""
        for call in replica.take_fetches():
            if call.response is None and not call.completed:
                self.fetch(call)

    @staticmethod
    def refuse_fetches(replica: Replica, error: ErrorCode) -> None:
        """This broker no longer leads the partition, or follows another leader: answer its parked fetches."""
        for call in replica.take_fetches():
            if call.response is None:
                refused = m.FetchedPartition(replica.partition, error)
                call.reply(m.FetchResponse([refused]))

    def list_offsets(self, call: InFlightRequest) -> None:
        """ListOffsets (API 2): the log's start, the end for an isolation level, or a timestamp's offset."""
        request: m.ListOffsetsRequest = call.request
        offsets: dict[str, tuple[ErrorCode, int]] = {}
        for name in request.partitions:
            replica = self._broker.replicas.get(name)
            if replica is None or not replica.is_leader:
                offsets[name] = ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
            else:
                offsets[name] = self._listed(replica, request)
        call.reply(m.ListOffsetsResponse(offsets))

    @staticmethod
    def _listed(replica: Replica, request: m.ListOffsetsRequest) -> tuple[ErrorCode, int]:
        """The offset in one partition.

        A new leader whose high watermark is below the start of its epoch does not know the end yet (KIP-207).
        Source: `Partition.fetchOffsetForTimestamp`.
        """
        end = replica.last_stable_offset if request.read_committed else replica.high_watermark
        lags = replica.epoch_start > replica.high_watermark
        if request.since_us >= 0:
            offset = replica.log.first_since(request.since_us)
            if offset < end:
                return ErrorCode.NONE, offset
            return ErrorCode.OFFSET_NOT_AVAILABLE if lags else ErrorCode.NONE, -1
        if not request.latest:
            return ErrorCode.NONE, replica.log.log_start
        return (ErrorCode.OFFSET_NOT_AVAILABLE, -1) if lags else (ErrorCode.NONE, end)

    def offset_for_leader_epoch(self, call: InFlightRequest) -> None:
        """OffsetForLeaderEpoch (API 23) of a consumer: where this log diverges from the consumer's position."""
        request: m.OffsetForLeaderEpochRequest = call.request
        ends: dict[str, tuple[ErrorCode, int, int]] = {}
        for name, (leader_epoch, epoch) in request.partitions.items():
            error, end = _epoch_end(self._broker.replicas.get(name), leader_epoch, epoch)
            ends[name] = (error, *(end or UNKNOWN_END))
        call.reply(m.OffsetForLeaderEpochResponse(ends))

    def metadata(self, call: InFlightRequest) -> None:
        """Metadata (API 3) from this broker's cache; a topic's partitions are numbered from 0 without gaps."""
        request: m.MetadataRequest = call.request
        image = self._broker.metadata.image
        topics: dict[str, tuple[m.PartitionMetadata, ...]] = {}
        for topic in request.topics:
            partitions: list[m.PartitionMetadata] = []
            while (known := image.get(f"{topic}-{len(partitions)}")) is not None:
                partitions.append(known)
            topics[topic] = tuple(partitions)
        live = self._broker.metadata.live
        racks = tuple([(broker, rack) for broker in live if (rack := self._broker.rack_of(broker))])
        call.reply(m.MetadataResponse(live, topics, racks))

    def find_coordinator(self, call: InFlightRequest) -> None:
        """FindCoordinator (API 10), of a group or of a transactional id."""
        request: m.FindCoordinatorRequest = call.request
        service = self._groups if request.kind == "group" else self._transactions
        call.reply(service.find(request.key))


def _leader_epoch_error(replica: Replica | None, leader_epoch: int) -> ErrorCode:
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if replica is None else replica.leader_epoch_error(leader_epoch)


def _epoch_end(replica: Replica | None, leader_epoch: int, epoch: int) -> tuple[ErrorCode, EpochEnd | None]:
    return (ErrorCode.NOT_LEADER_OR_FOLLOWER, None) if replica is None else replica.epoch_end(leader_epoch, epoch)


def _idle_until_us(call: InFlightRequest, now_us: int) -> int:
    """When a parked Fetch ends. It stands for all the idle fetches that would have followed each other since.

    Each fetch goes to the broker, waits there and comes back; then the client sends the next one. A frozen client sends
    none: its last fetch has ended, so that its first request after it resumes waits for nothing.
    """
    connection, began_us = call.connection, call.sent_us
    lasts_us: int = connection.outbound.latency_us + call.request.max_wait_us
    period_us = lasts_us + connection.inbound.latency_us
    from_us, to_us = connection.owner.frozen_us
    if began_us < from_us <= now_us:
        ends_us = from_us - (from_us - began_us) % period_us + lasts_us
        if now_us < max(ends_us, to_us) + period_us:
            return ends_us
        began_us = max(ends_us + period_us - lasts_us, to_us)
    return now_us - (now_us - began_us) % period_us + lasts_us
