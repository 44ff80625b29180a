"""The transaction coordinators that one broker hosts, and the markers that they have brought to partitions' leaders.

A marker is sent to whoever leads the partition as this broker's metadata has it, again and again: a leader that is gone
or does not answer is replaced some day, and until then the transaction stays in Prepare*. A coordinator that was
replaced hears TRANSACTION_COORDINATOR_FENCED and leaves the rest to its successor.
Source: `TransactionMarkerChannelManager`, `TransactionMarkerRequestCompletionHandler`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

import msgspec

from cluster.broker.coordinator_runtime import Coordination, CoordinatorHost, Hosted
from cluster.broker.group_coordinator_service import OFFSETS_TOPIC
from cluster.broker.inter_broker import REQUEST_TIMEOUT_US, Peers
from cluster.coordinators.decision import Markers, Record, coordinator_error
from cluster.coordinators.records import TransactionMetadata, TransactionRecord
from cluster.coordinators.transaction.coordinator import TransactionCoordinator, refusal
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import coordinator_partition
from cluster.protocol.record_batch import NO_EPOCH, RecordBatch

TRANSACTIONS_TOPIC = "__transaction_state"
MARKER_RETRY_US = 100_000  # TransactionMarkerChannelManager: retried with the next round of its thread
_FENCED = (ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


class TransactionCoordination(Coordination[TransactionCoordinator]):
    """Every transaction coordinator of one broker. `new_producer_id` gives an id that nobody has."""

    topic = TRANSACTIONS_TOPIC

    def __init__(
        self,
        broker: CoordinatorHost,
        config: Mapping[str, object],
        new_producer_id: Callable[[], int],
        peers: Peers,
    ) -> None:
        super().__init__(broker, cast(int, config["transaction.state.log.num.partitions"]))
        self._config, self._new_producer_id, self._peers = config, new_producer_id, peers
        self._group_partitions = cast(int, config["offsets.topic.num.partitions"])

    def handlers(self) -> dict[type[m.Request], Callable[[InFlightRequest], None]]:
        """Which requests are for a transaction coordinator, besides InitProducerId with a transactional id."""
        of_an_id: tuple[type[m.Request], ...] = (
            t.AddPartitionsToTxnRequest,
            t.AddOffsetsToTxnRequest,
            t.EndTxnRequest,
            t.DescribeTransactionRequest,
        )
        return dict.fromkeys(of_an_id, self.handle)

    def handle(self, call: InFlightRequest) -> None:
        """A transactional id's request: for its coordinator here, or NOT_COORDINATOR."""
        request = call.request
        if isinstance(request, t.AddOffsetsToTxnRequest):
            number = coordinator_partition(request.group, self._group_partitions)
            request = call.request = msgspec.structs.replace(request, partition=f"{OFFSETS_TOPIC}-{number}")
        self.for_key(request.transactional_id, call, refusal(request, ErrorCode.NOT_COORDINATOR))

    def _new(self) -> TransactionCoordinator:
        first_epoch = self._broker.buggify.first_epoch(NO_EPOCH)
        return TransactionCoordinator(self._broker.id, self._config, self._new_producer_id, first_epoch)

    def _replay(self, coordinator: TransactionCoordinator, batch: RecordBatch) -> None:
        for record in batch.payload:
            coordinator.replay(cast(TransactionRecord, record))

    def _append_error(self, error: ErrorCode) -> ErrorCode:
        return coordinator_error(error)

    def _append_timeout_us(self, records: tuple[Record, ...]) -> int:
        """A move waits as long as its transaction may last, a tombstone as long as a request.

        Source: `TransactionStateManager` (`appendTransactionToLog`, `writeTombstonesForExpiredTransactionalIds`).
        """
        return min(
            one.timeout_ms * 1000 if isinstance(one, TransactionMetadata) else REQUEST_TIMEOUT_US for one in records
        )

    # --- markers ------------------------------------------------------------------------------------------------------

    def _send_markers(self, hosted: Hosted[TransactionCoordinator], markers: list[Markers]) -> None:
        for one in markers:
            self._send(hosted, one, one.partitions)

    def _send(self, hosted: Hosted[TransactionCoordinator], markers: Markers, partitions: tuple[str, ...]) -> None:
        """One request to each broker that leads some of the partitions; those without a leader wait for one."""
        by_leader: dict[int, list[str]] = {}
        for name in partitions:
            known = self._broker.metadata.image.get(name)
            by_leader.setdefault(known.leader if known is not None else -1, []).append(name)
        for leader, names in by_leader.items():
            if leader < 0:
                self._again(hosted, markers, tuple(names))
                continue
            request = t.WriteTxnMarkersRequest(
                markers.producer_id, markers.epoch, hosted.epoch, markers.committed, tuple(names), markers.version
            )
            self._peers.ask(leader, request, partial(self._answered, hosted, markers, tuple(names)))

    def _answered(
        self,
        hosted: Hosted[TransactionCoordinator],
        markers: Markers,
        names: tuple[str, ...],
        response: t.WriteTxnMarkersResponse | None,
    ) -> None:
        if hosted.over:
            return
        again: list[str] = []
        for name in names:
            error = ErrorCode.NETWORK_EXCEPTION if response is None else response.errors[name]
            if error is ErrorCode.NONE:
                now_us = self._broker.now_us
                of = markers.transactional_id, markers.producer_id, markers.epoch
                self._run(hosted, hosted.coordinator.marked(*of, name, now_us))
            elif error not in _FENCED:
                again.append(name)
        if again:
            self._again(hosted, markers, tuple(again))

    def _again(self, hosted: Hosted[TransactionCoordinator], markers: Markers, names: tuple[str, ...]) -> None:
        self._broker.after(MARKER_RETRY_US, self._retry, (hosted, markers, names))

    def _retry(self, what: tuple[Hosted[TransactionCoordinator], Markers, tuple[str, ...]]) -> None:
        if not what[0].over:
            self._send(*what)
