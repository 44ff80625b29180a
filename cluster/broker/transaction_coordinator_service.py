"""The transaction coordinators on one broker, their producer ids, and the markers that they send.

A marker goes to the leader of its partition in this broker's metadata, and is repeated until it is answered. A leader
that is dead or does not answer is replaced in the end; until then the transaction stays in Prepare*. A coordinator that
was replaced receives TRANSACTION_COORDINATOR_FENCED and leaves the rest to its successor.
Source: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`, `RPCProducerIdManager`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

import msgspec

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.coordinator_runtime import CoordinatorRuntime, HostedCoordinator
from cluster.broker.host import BrokerHost, RequestHandlers
from cluster.broker.inter_broker import REQUEST_TIMEOUT_US, InterBrokerConnections
from cluster.broker.replica import Replica
from cluster.controller.controller import PRODUCER_IDS_IN_BLOCK
from cluster.coordinators.decision import Markers, Record, coordinator_error
from cluster.coordinators.records import TransactionMetadata, TransactionRecord
from cluster.coordinators.transaction.coordinator import TransactionCoordinator
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import ServedBy, TransactionalIdRequest
from cluster.protocol.api_table import served_by
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, coordinator_partition
from cluster.protocol.record_batch import NO_EPOCH, RecordBatch

MARKER_RETRY_US: Final = 100_000  # TransactionMarkerChannelManager: retried with the next round of its thread
_FENCED = (ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class TransactionCoordinatorService(CoordinatorRuntime[TransactionCoordinator]):
    """Every transaction coordinator of one broker. `new_block` allocates a block of producer ids: its first id."""

    topic = TRANSACTIONS_TOPIC

    def __init__(
        self,
        broker: BrokerHost[Replica],
        fixed: BrokerConfig,
        config: Mapping[str, object],
        new_block: Callable[[], int],
        peers: InterBrokerConnections,
    ) -> None:
        super().__init__(broker, fixed.transaction_topic_partitions)
        self._config, self._new_block, self._peers = config, new_block, peers
        self._group_partitions = fixed.offsets_topic_partitions
        self._producer_ids = range(0)

    def handlers(self) -> RequestHandlers:
        """The requests that a transaction coordinator serves."""
        of_an_id = served_by(ServedBy.TRANSACTION_COORDINATOR, TransactionalIdRequest)
        return {m.InitProducerIdRequest: self.init_producer_id, **dict.fromkeys(of_an_id, self.handle)}

    def init_producer_id(self, call: InFlightRequest) -> None:
        """InitProducerId (API 22): a transactional id's coordinator answers; without one, the next producer id."""
        request: m.InitProducerIdRequest = call.request
        if request.transactional_id is not None:
            self.handle(call)
        else:
            call.reply(m.InitProducerIdResponse(ErrorCode.NONE, self._new_producer_id(), 0))

    def _new_producer_id(self) -> int:
        """The next id of this broker's block."""
        if not self._producer_ids:
            first = self._new_block()
            self._producer_ids = range(first, first + PRODUCER_IDS_IN_BLOCK)
        producer_id, self._producer_ids = self._producer_ids[0], self._producer_ids[1:]
        return producer_id

    def handle(self, call: InFlightRequest) -> None:
        """Pass a transactional id's request to its coordinator here, or answer NOT_COORDINATOR."""
        request = call.request
        if isinstance(request, t.AddOffsetsToTxnRequest):
            number = coordinator_partition(request.group, self._group_partitions)
            request = call.request = msgspec.structs.replace(request, partition=f"{OFFSETS_TOPIC}-{number}")
        self.for_key(request.transactional_id, call)

    def _new(self) -> TransactionCoordinator:
        first_epoch = self._broker.buggify.first_epoch(NO_EPOCH)
        return TransactionCoordinator(self._broker.id, self._config, self._new_producer_id, first_epoch)

    def _replay(self, coordinator: TransactionCoordinator, batch: RecordBatch) -> None:
        for record in batch.payload:
            coordinator.replay(cast(TransactionRecord, record))

    def _append_error(self, error: ErrorCode) -> ErrorCode:
        return coordinator_error(error)

    def _append_timeout_us(self, records: tuple[Record, ...]) -> int:
        """A transition waits for as long as its transaction may last, a tombstone for as long as a request.

        Source: `TransactionStateManager` (`appendTransactionToLog`, `writeTombstonesForExpiredTransactionalIds`).
        """
        return min(
            one.timeout_ms * 1000 if isinstance(one, TransactionMetadata) else REQUEST_TIMEOUT_US for one in records
        )

    # --- markers ------------------------------------------------------------------------------------------------------

    def _send_markers(self, hosted: HostedCoordinator[TransactionCoordinator], markers: list[Markers]) -> None:
        for one in markers:
            self._send(hosted, one, one.partitions)

    def _send(
        self, hosted: HostedCoordinator[TransactionCoordinator], markers: Markers, partitions: tuple[str, ...]
    ) -> None:
        """Send one request to each leader; the markers of partitions without a leader are retried."""
        by_leader: dict[int, list[str]] = {}
        for name in partitions:
            known = self._broker.metadata.image.get(name)
            by_leader.setdefault(known.leader if known is not None else -1, []).append(name)
        for leader, names in by_leader.items():
            if leader < 0:
                self._retry_later(hosted, markers, tuple(names))
                continue
            request = t.WriteTxnMarkersRequest(
                markers.producer_id, markers.epoch, hosted.epoch, markers.committed, tuple(names), markers.version
            )
            self._peers.ask(leader, request, partial(self._on_response, hosted, markers, tuple(names)))

    def _on_response(
        self,
        hosted: HostedCoordinator[TransactionCoordinator],
        markers: Markers,
        names: tuple[str, ...],
        response: t.WriteTxnMarkersResponse | None,
    ) -> None:
        if hosted.closed:
            return
        failed: list[str] = []
        for name in names:
            error = ErrorCode.NETWORK_EXCEPTION if response is None else response.errors[name]
            if error is ErrorCode.NONE:
                now_us = self._broker.now_us
                of = markers.transactional_id, markers.producer_id, markers.epoch
                self._run(hosted, hosted.coordinator.marked(*of, name, now_us))
            elif error not in _FENCED:
                failed.append(name)
        if failed:
            self._retry_later(hosted, markers, tuple(failed))

    def _retry_later(
        self, hosted: HostedCoordinator[TransactionCoordinator], markers: Markers, names: tuple[str, ...]
    ) -> None:
        self._broker.after(MARKER_RETRY_US, self._retry, (hosted, markers, names))

    def _retry(self, failed: tuple[HostedCoordinator[TransactionCoordinator], Markers, tuple[str, ...]]) -> None:
        if not failed[0].closed:
            self._send(*failed)
