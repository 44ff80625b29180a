"""What a partition's leader does for transactions: verify them before their first record, and append their markers.

The first record of a transaction in a partition is appended only when the transaction's coordinator says that the
transaction is ongoing there (KIP-890, part 1); under `transaction.version` 2 asking also adds the partition. What was
verified before the transaction's marker came is not appended behind it. Source: `ReplicaManager.handleProduceAppend`,
`AddPartitionsToTxnManager`, `KafkaApis.handleWriteTxnMarkersRequest`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, cast

from cluster.broker.group_coordinator_service import OFFSETS_TOPIC, GroupCoordination
from cluster.broker.inter_broker import REQUEST_TIMEOUT_US, Peers
from cluster.broker.metadata_cache import MetadataCache
from cluster.broker.purgatory import Timeouts
from cluster.broker.replica import Replica
from cluster.broker.transaction_coordinator_service import TransactionCoordination
from cluster.coordinators.transaction.transaction import WITH_EPOCHS
from cluster.events import Event, HangingTransactionAborted, ProducerEpochRefused, TransactionMarkerRefused
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import topic_of
from cluster.protocol.record_batch import ABORT, COMMIT, RECORD_BATCH_OVERHEAD_BYTES, RecordBatch
from cluster.storage.producer_state import Verification
from cluster.virtual_time import Timeline

MS = 1_000
MARKER_BYTES = RECORD_BATCH_OVERHEAD_BYTES + 17  # key: version and type; value: version and coordinator epoch
_UNVERIFIED = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

Verified = Callable[[ErrorCode, Verification], object]
"""What is done with the coordinator's word: its error, and what was verified."""
_ToAppend = tuple[str, Replica, RecordBatch, Verified, int]
"""Whose batch it is (transactional.id), where it goes, who waits, and until when (µs) the coordinator is asked."""

Settled = Callable[[str, ErrorCode], object]
"""What is done when the fate of a partition's marker is known."""


class TransactionServer(Protocol):
    """The broker whose requests these are."""

    id: int
    tell: Callable[[Event], None]
    timeline: Timeline
    timeouts: Timeouts
    replicas: dict[str, Replica]
    metadata: MetadataCache
    coordination: GroupCoordination
    transactions: TransactionCoordination

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, unless this life of the process is over by then."""


class TransactionalRequests:
    """Verification and markers of one broker, as its configuration asks for them.

    Without `transaction.partition.verification.enable` nothing is verified; version 2 adds partitions all the same.
    """

    def __init__(self, server: TransactionServer, peers: Peers, config: Mapping[str, object]) -> None:
        self._server, self._peers = server, peers
        self._adds_partitions = cast(int, config["transaction.version"]) >= WITH_EPOCHS
        self._asks = self._adds_partitions or bool(config["transaction.partition.verification.enable"])
        self._again_after_us = cast(int, config["add.partitions.to.txn.retry.backoff.ms"]) * MS
        self._gives_up_after_us = min(
            cast(int, config["add.partitions.to.txn.retry.backoff.max.ms"]) * MS, REQUEST_TIMEOUT_US
        )

    def handlers(self) -> dict[type[m.Request], Callable[[InFlightRequest], None]]:
        """Which requests these are."""
        return {t.WriteTxnMarkersRequest: self.write_markers, t.TxnOffsetCommitRequest: self.commit_offsets}

    def needs_verification(self, replica: Replica, batch: RecordBatch) -> bool:
        """Whether this is the first batch of its transaction in the partition."""
        return self._asks and not replica.log.producers.in_transaction(batch)

    def verify(self, transactional_id: str, replica: Replica, batch: RecordBatch, answer: Verified) -> None:
        """Ask the transaction's coordinator whether it is ongoing in the batch's partition; version 2 makes it so.

        A fence is told as INVALID_PRODUCER_EPOCH (`AddPartitionsToTxnHandler`).
        """
        server, producers = self._server, replica.log.producers
        if producers.fences(batch):  # known here already: the coordinator is not asked
            answer(ErrorCode.INVALID_PRODUCER_EPOCH, Verification(batch.epoch, 0, with_epochs=False))
            return
        verification = producers.verification_started(
            batch.producer_id, batch.epoch, batch.base_sequence, with_epochs=self._adds_partitions
        )
        leader = server.metadata.image[server.transactions.partition_of(transactional_id)].leader
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
        """`verify` for a producer's batch, asked again while the markers of the transaction before it travel.

        Only adding is asked for again, so only under version 2, which tells CONCURRENT_TRANSACTIONS as it is at last.
        What else may pass becomes NOT_ENOUGH_REPLICAS, which every client retries and which costs no new metadata.
        Source: `ReplicaManager.handleProduceAppend`.
        """
        until_us = self._server.timeline.now_us + self._gives_up_after_us
        self._ask_to_append((transactional_id, replica, batch, answer, until_us))

    def _ask_to_append(self, asked: _ToAppend) -> None:
        transactional_id, replica, batch, _, _ = asked
        self.verify(transactional_id, replica, batch, partial(self._verified_to_append, asked))

    def _verified_to_append(self, asked: _ToAppend, error: ErrorCode, verification: Verification) -> None:
        *_, answer, until_us = asked
        server = self._server
        concurrent = error is ErrorCode.CONCURRENT_TRANSACTIONS
        if concurrent and self._adds_partitions and server.timeline.now_us < until_us:
            server.after(self._again_after_us, self._ask_to_append, asked)
        elif error in _UNVERIFIED or (concurrent and not self._adds_partitions):
            answer(ErrorCode.NOT_ENOUGH_REPLICAS, verification)
        else:
            answer(error, verification)

    def commit_offsets(self, call: InFlightRequest) -> None:
        """TxnOffsetCommit (API 28); under version 2 the group's partition joins the transaction first."""
        request: t.TxnOffsetCommitRequest = call.request
        groups = self._server.coordination
        hosted = groups.hosted.get(groups.partition_of(request.group))
        if hosted is None:
            groups.commit_in_transaction(call)  # which says NOT_COORDINATOR
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
        """As `CoordinatorOperationExceptionHelper` tells what verification said."""
        if error is ErrorCode.INVALID_PRODUCER_EPOCH:
            self._server.tell(
                ProducerEpochRefused(
                    transactional_id=request.transactional_id,
                    producer_id=request.producer_id,
                    epoch=request.epoch,
                    partition=self._server.coordination.partition_of(request.group),
                )
            )
        elif error is ErrorCode.NETWORK_EXCEPTION:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # asked again without a look for the coordinator
        call.reply(m.OffsetCommitResponse(dict.fromkeys(request.offsets, error)))

    # --- markers ------------------------------------------------------------------------------------------------------

    def write_markers(self, call: InFlightRequest) -> None:
        """WriteTxnMarkers (API 27): a control batch for each partition; answered when all of them are committed."""
        request: t.WriteTxnMarkersRequest = call.request
        wait = _MarkersWait(call, request.partitions)
        for name in request.partitions:
            self._mark(name, request, wait.settled)
        wait.begun()
        if not wait.over:
            self._server.timeouts.give_up_at(self._server.timeline.now_us + REQUEST_TIMEOUT_US, wait)

    def abort_hanging(self, name: str, settled: Settled) -> None:
        """What `kafka-transactions.sh abort` asks for: an ABORT in the name of whoever holds back the stable offset.

        Producer id and epochs are those of the leader's producer state (DescribeProducers). Raises LookupError when no
        transaction is open there.
        """
        log = self._server.replicas[name].log
        producer_id = log.transactions.holds_back()
        if producer_id is None:
            raise LookupError(f"no transaction is open in {name}")
        entry = log.producers.entries[producer_id]
        self._server.tell(HangingTransactionAborted(partition=name, producer_id=producer_id, epoch=entry.epoch))
        epochs = entry.epoch, max(0, entry.coordinator_epoch)
        self._mark(name, t.WriteTxnMarkersRequest(producer_id, *epochs, committed=False, partitions=(name,)), settled)

    def _mark(self, name: str, request: t.WriteTxnMarkersRequest, settled: Settled) -> None:
        replica = self._server.replicas.get(name)
        if replica is None or not replica.is_leader:
            settled(name, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        error = ErrorCode.NOT_ENOUGH_REPLICAS
        if len(replica.metadata.isr) >= replica.min_insync_replicas:
            known = replica.log.producers
            error = known.check_marker(request.producer_id, request.epoch, request.coordinator_epoch, request.version)
        if error is not ErrorCode.NONE:
            if error is not ErrorCode.NOT_ENOUGH_REPLICAS:
                self._tell_refused(name, request, error)
            settled(name, error)
            return
        now_us = self._server.timeline.now_us
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
                self._server.coordination.transaction_ended(name, request.producer_id, committed=request.committed)
            settled(name, error)

        replica.when_committed(placed.next_offset, committed)

    def _tell_refused(self, name: str, request: t.WriteTxnMarkersRequest, error: ErrorCode) -> None:
        self._server.tell(
            TransactionMarkerRefused(
                partition=name,
                producer_id=request.producer_id,
                epoch=request.epoch,
                coordinator_epoch=request.coordinator_epoch,
                error=error.name,
            )
        )


class _MarkersWait:
    """A WriteTxnMarkers request until each of its partitions is settled."""

    def __init__(self, call: InFlightRequest, partitions: tuple[str, ...]) -> None:
        self._call, self._left = call, dict.fromkeys(partitions)
        self._errors: dict[str, ErrorCode] = {}
        self._begun = self.over = False

    def begun(self) -> None:
        """Every partition was looked at."""
        self._begun = True
        self._answer_if_done()

    def settled(self, partition: str, error: ErrorCode) -> None:
        """The fate of one partition's marker is known."""
        if not self.over and partition in self._left:
            del self._left[partition]
            self._errors[partition] = error
            self._answer_if_done()

    def expire(self) -> None:
        """The rest was not committed in time."""
        for partition in list(self._left):
            self.settled(partition, ErrorCode.REQUEST_TIMED_OUT)

    def _answer_if_done(self) -> None:
        if self._begun and not self._left and not self.over:
            self.over = True
            self._call.reply(t.WriteTxnMarkersResponse(self._errors))
