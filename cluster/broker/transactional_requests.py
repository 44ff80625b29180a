"""A partition leader's part in transactions: verify them before their first record, and append their markers.

The first record of a transaction in a partition needs a verification (KIP-890, part 1): the coordinator confirms that
the transaction is ongoing in the partition. Under `transaction.version` 2 the same request also adds the partition. A
batch that was verified before the transaction's marker arrived is not appended after the marker.
Source: `ReplicaManager.handleProduceAppend`, `AddPartitionsToTxnManager`, `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.group_coordinator_service import GroupCoordinatorService
from cluster.broker.host import BrokerHost, RequestHandlers
from cluster.broker.inter_broker import REQUEST_TIMEOUT_US, InterBrokerConnections
from cluster.broker.replica import Replica
from cluster.broker.transaction_coordinator_service import TransactionCoordinatorService
from cluster.coordinators.transaction.transaction import WITH_EPOCHS
from cluster.events import HangingTransactionAborted, ProducerEpochRefused, TransactionMarkerRefused
from cluster.network import InFlightRequest
from cluster.protocol import transaction_messages as t
from cluster.protocol.api_table import error_response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import OFFSETS_TOPIC, topic_of
from cluster.protocol.record_batch import ABORT, COMMIT, RECORD_BATCH_OVERHEAD_BYTES, RecordBatch
from cluster.storage.producer_state import Verification

MARKER_BYTES: Final = RECORD_BATCH_OVERHEAD_BYTES + 17  # key: version and type; value: version and coordinator epoch
_UNVERIFIED = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

Verified = Callable[[ErrorCode, Verification], object]
"""Called with the coordinator's error, and with the verification."""
_ToAppend = tuple[str, Replica, RecordBatch, Verified, int]
"""(transactional id, replica, batch, callback, the instant in µs until which the coordinator is asked again)"""

Settled = Callable[[str, ErrorCode], object]
"""Called with a partition and its marker's error code, NONE when the marker is committed."""


class TransactionalRequests:
    """Verification and markers of one broker, WriteTxnMarkers and TxnOffsetCommit.

    Without `transaction.partition.verification.enable` no batch is verified; version 2 adds partitions all the same.
    """

    def __init__(
        self,
        broker: BrokerHost[Replica],
        fixed: BrokerConfig,
        peers: InterBrokerConnections,
        groups: GroupCoordinatorService,
        transactions: TransactionCoordinatorService,
    ) -> None:
        self._broker, self._peers, self._groups, self._transactions = broker, peers, groups, transactions
        self._adds_partitions = fixed.transaction_version >= WITH_EPOCHS
        self._verifies = self._adds_partitions or fixed.transaction_verification_enable
        self._retry_us = fixed.add_partitions_retry_us
        self._retry_max_us = min(fixed.add_partitions_retry_max_us, REQUEST_TIMEOUT_US)

    def handlers(self) -> RequestHandlers:
        """The requests of transactions that a partition's leader or a group's broker serves."""
        return {t.WriteTxnMarkersRequest: self.write_markers, t.TxnOffsetCommitRequest: self.commit_offsets}

    def needs_verification(self, replica: Replica, batch: RecordBatch) -> bool:
        """Whether this is the first batch of its transaction in the partition."""
        return self._verifies and not replica.log.producers.in_transaction(batch)

    def verify(self, transactional_id: str, replica: Replica, batch: RecordBatch, answer: Verified) -> None:
        """Ask the coordinator whether the transaction is ongoing in the batch's partition; version 2 adds it.

        PRODUCER_FENCED becomes INVALID_PRODUCER_EPOCH (`AddPartitionsToTxnHandler`).
        """
        broker, producers = self._broker, replica.log.producers
        if producers.fences(batch):  # this log knows a newer epoch: the coordinator is not asked
            answer(ErrorCode.INVALID_PRODUCER_EPOCH, Verification(batch.epoch, 0, with_epochs=False))
            return
        verification = producers.verification_started(
            batch.producer_id, batch.epoch, batch.base_sequence, with_epochs=self._adds_partitions
        )
        leader = broker.metadata.image[self._transactions.partition_of(transactional_id)].leader
        if leader < 0:
            answer(ErrorCode.COORDINATOR_NOT_AVAILABLE, verification)
            return
        request = t.AddPartitionsToTxnRequest(
            transactional_id,
            batch.producer_id,
            batch.epoch,
            (batch.partition,),
            verify_only=not self._adds_partitions,
            from_broker=True,
        )

        def answered(response: t.AddPartitionsToTxnResponse | None) -> None:
            error = ErrorCode.NETWORK_EXCEPTION if response is None else response.errors[batch.partition]
            fenced = error is ErrorCode.PRODUCER_FENCED
            answer(ErrorCode.INVALID_PRODUCER_EPOCH if fenced else error, verification)

        self._peers.ask(leader, request, answered)

    def verify_to_append(self, transactional_id: str, replica: Replica, batch: RecordBatch, answer: Verified) -> None:
        """`verify` for a producer's batch, repeated while the former transaction's markers are under way.

        Only adding a partition is repeated, so only under version 2, which returns CONCURRENT_TRANSACTIONS at its end.
        Other transient errors become NOT_ENOUGH_REPLICAS, which every client retries without refreshing metadata.
        Source: `ReplicaManager.handleProduceAppend`.
        """
        until_us = self._broker.timeline.now_us + self._retry_max_us
        self._ask_to_append((transactional_id, replica, batch, answer, until_us))

    def _ask_to_append(self, asked: _ToAppend) -> None:
        transactional_id, replica, batch, _, _ = asked
        self.verify(transactional_id, replica, batch, partial(self._verified_to_append, asked))

    def _verified_to_append(self, asked: _ToAppend, error: ErrorCode, verification: Verification) -> None:
        *_, answer, until_us = asked
        broker = self._broker
        concurrent = error is ErrorCode.CONCURRENT_TRANSACTIONS
        if concurrent and self._adds_partitions and broker.timeline.now_us < until_us:
            broker.after(self._retry_us, self._ask_to_append, asked)
        elif error in _UNVERIFIED or (concurrent and not self._adds_partitions):
            answer(ErrorCode.NOT_ENOUGH_REPLICAS, verification)
        else:
            answer(error, verification)

    def commit_offsets(self, call: InFlightRequest) -> None:
        """TxnOffsetCommit (API 28); under version 2 the group's partition joins the transaction first."""
        request: t.TxnOffsetCommitRequest = call.request
        groups = self._groups
        hosted = groups.hosted.get(groups.partition_of(request.group))
        if hosted is None:
            groups.commit_in_transaction(call)  # answers NOT_COORDINATOR
            return
        replica = hosted.replica
        batch = RecordBatch(replica.partition, "", request.producer_id, request.epoch, -1, -1, 0, 0, 0)

        def verified(error: ErrorCode, verification: Verification) -> None:
            if error is ErrorCode.NONE:
                error = replica.log.producers.may_begin(batch, verification)
            if error is ErrorCode.NONE:
                groups.commit_in_transaction(call)
            else:
                self._refuse_offsets(call, request, error)

        if self.needs_verification(replica, batch):
            self.verify(request.transactional_id, replica, batch, verified)
        else:
            groups.commit_in_transaction(call)

    def _refuse_offsets(self, call: InFlightRequest, request: t.TxnOffsetCommitRequest, error: ErrorCode) -> None:
        """Answer a failed verification as `CoordinatorOperationExceptionHelper` does."""
        if error is ErrorCode.INVALID_PRODUCER_EPOCH:
            self._broker.emit(
                ProducerEpochRefused(
                    transactional_id=request.transactional_id,
                    producer_id=request.producer_id,
                    epoch=request.epoch,
                    partition=self._groups.partition_of(request.group),
                )
            )
        elif error is ErrorCode.NETWORK_EXCEPTION:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # the client retries without FindCoordinator
        call.reply(error_response(request, error))

    # --- markers ------------------------------------------------------------------------------------------------------

    def write_markers(self, call: InFlightRequest) -> None:
        """WriteTxnMarkers (API 27): a control batch for each partition; answered when all of them are committed."""
        request: t.WriteTxnMarkersRequest = call.request
        delayed = _DelayedMarkers(call, request.partitions)
        for name in request.partitions:
            self._mark(name, request, delayed.settled)
        delayed.all_handled()
        if not delayed.completed:
            self._broker.timeouts.expire_at(self._broker.timeline.now_us + REQUEST_TIMEOUT_US, delayed)

    def abort_hanging(self, name: str, settled: Settled) -> None:
        """Append an ABORT marker for the producer that holds back the last stable offset.

        `kafka-transactions.sh abort` does so.

        Producer id and epochs are those of the leader's producer state (DescribeProducers). Raises LookupError when no
        transaction is open in the partition.
        """
        log = self._broker.replicas[name].log
        producer_id = log.transactions.holds_back()
        if producer_id is None:
            raise LookupError(f"no transaction is open in {name}")
        entry = log.producers.entries[producer_id]
        self._broker.emit(HangingTransactionAborted(partition=name, producer_id=producer_id, epoch=entry.epoch))
        epochs = entry.epoch, max(0, entry.coordinator_epoch)
        self._mark(name, t.WriteTxnMarkersRequest(producer_id, *epochs, committed=False, partitions=(name,)), settled)

    def _mark(self, name: str, request: t.WriteTxnMarkersRequest, settled: Settled) -> None:
        replica = self._broker.replicas.get(name)
        if replica is None or not replica.is_leader:
            settled(name, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        error = ErrorCode.NOT_ENOUGH_REPLICAS
        if replica.has_min_isr:
            known = replica.log.producers
            error = known.check_marker(request.producer_id, request.epoch, request.coordinator_epoch, request.version)
        if error is not ErrorCode.NONE:
            if error is not ErrorCode.NOT_ENOUGH_REPLICAS:
                self._emit_refused(name, request, error)
            settled(name, error)
            return
        now_us = self._broker.timeline.now_us
        marker = RecordBatch(
            name,
            "",
            request.producer_id,
            request.epoch,
            -1,
            -1,
            1,
            MARKER_BYTES,
            now_us,
            transactional=True,
            marker=COMMIT if request.committed else ABORT,
            coordinator_epoch=request.coordinator_epoch,
        )
        placed = replica.append(marker, now_us)

        def committed(error: ErrorCode) -> None:
            if error is ErrorCode.NONE and topic_of(name) == OFFSETS_TOPIC:
                self._groups.on_transaction_ended(name, request.producer_id, committed=request.committed)
            settled(name, error)

        replica.when_committed(placed.next_offset, committed)

    def _emit_refused(self, name: str, request: t.WriteTxnMarkersRequest, error: ErrorCode) -> None:
        self._broker.emit(
            TransactionMarkerRefused(
                partition=name,
                producer_id=request.producer_id,
                epoch=request.epoch,
                coordinator_epoch=request.coordinator_epoch,
                error=error.name,
            )
        )


class _DelayedMarkers:
    """A WriteTxnMarkers request: answered when each marker is committed or refused, or at its timeout."""

    def __init__(self, call: InFlightRequest, partitions: tuple[str, ...]) -> None:
        self._call, self._left = call, dict.fromkeys(partitions)
        self._errors: dict[str, ErrorCode] = {}
        self._all_handled = self.completed = False

    def all_handled(self) -> None:
        """Every marker was appended or refused: the request may be answered from now on."""
        self._all_handled = True
        self._answer_if_settled()

    def settled(self, partition: str, error: ErrorCode) -> None:
        """One partition's marker is committed (NONE) or refused."""
        if not self.completed and partition in self._left:
            del self._left[partition]
            self._errors[partition] = error
            self._answer_if_settled()

    def expire(self) -> None:
        """Answer REQUEST_TIMED_OUT for the markers that are not committed."""
        for partition in list(self._left):
            self.settled(partition, ErrorCode.REQUEST_TIMED_OUT)

    def _answer_if_settled(self) -> None:
        if self._all_handled and not self._left and not self.completed:
            self.completed = True
            self._call.reply(t.WriteTxnMarkersResponse(self._errors))
