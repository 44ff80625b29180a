"""The transaction coordinator of one broker for one partition of `__transaction_state`.

Theory of operation. The leader of the partition coordinates every transactional id that hashes to the partition. The
broker passes requests to `handle`, due times to `on_deadline` and records to `replay`, as for groups (`decision.py`).
An EndTxn is answered when Prepare* is committed. Then the driver sends `markers` to the leaders of the partitions and
reports each partition with its marker through `marked`; the last one leads to Complete*. A new coordinator completes
every Prepare* that it loads; ongoing transactions continue. Every 10 s the
coordinator fences and aborts transactions beyond their timeout.
Source: `TransactionCoordinator`, `TransactionStateManager`, `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from cluster.coordinators.decision import Call, Decision, Draft
from cluster.coordinators.records import TransactionMetadata, TransactionRecord, TransactionTombstone
from cluster.coordinators.transaction.add_partitions import add_offsets, add_partitions, describe
from cluster.coordinators.transaction.context import (
    COMPLETION,
    EXPIRATION_SCAN,
    PREPARED,
    TIMEOUT_SCAN,
    TransactionContext,
    TransactionSettings,
    state_changed,
)
from cluster.coordinators.transaction.end_transaction import end, fence, marked
from cluster.coordinators.transaction.init_producer_id import init_producer_id
from cluster.coordinators.transaction.transaction import Transaction
from cluster.events import ProducerEpochRefused
from cluster.protocol.api import Request, Response
from cluster.protocol.api_table import error_response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import InitProducerIdRequest, InitProducerIdResponse
from cluster.protocol.record_batch import NO_EPOCH
from cluster.protocol.transaction_messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    DescribeTransactionRequest,
    EndTxnRequest,
    EndTxnResponse,
)
from cluster.protocol.transaction_states import TransactionState
from cluster.reach import reached

_ALL: Final = ""

RequestT = TypeVar("RequestT", bound=Request)
Handler = Callable[[TransactionContext, RequestT, Call, Draft], None]


def _serves(kind: type[RequestT], handler: Handler[RequestT]) -> tuple[type[Request], Handler[Any]]:
    """A row of the table below; mypy checks that the handler takes such a request."""
    return kind, handler


HANDLERS: dict[type[Request], Handler[Any]] = dict(
    (
        _serves(InitProducerIdRequest, init_producer_id),
        _serves(AddPartitionsToTxnRequest, add_partitions),
        _serves(AddOffsetsToTxnRequest, add_offsets),
        _serves(EndTxnRequest, end),
        _serves(DescribeTransactionRequest, describe),
    )
)


class TransactionCoordinator:
    """One broker's coordinator for the transactional ids of one partition of `__transaction_state`.

    `config` has Kafka's broker keys; `new_producer_id` returns an unused producer id. A new coordinator is loading:
    pass the partition's records to `replay`, then call `loaded`. For reading: `transactions`.
    """

    def __init__(
        self, broker: int, config: Mapping[str, object], new_producer_id: Callable[[], int], first_epoch: int = NO_EPOCH
    ) -> None:
        self._context = TransactionContext(broker, TransactionSettings.of(config), new_producer_id)
        self._context.first_epoch = first_epoch
        self._deadlines = self._context.deadlines
        self.loading = True
        self.resigned = False

    @property
    def transactions(self) -> dict[str, Transaction]:
        """Transactional id → its state, for reading only."""
        return self._context.transactions

    def handle(self, request: Request, call: Call, now_us: int) -> Decision:
        """Answer or refuse a request. Raises TypeError for a request of another API."""
        handler = HANDLERS.get(type(request))
        if handler is None:
            raise TypeError(f"{type(request).__name__} is not a request for a transaction coordinator")
        if self.resigned or self.loading:
            error = ErrorCode.NOT_COORDINATOR if self.resigned else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return Decision((), [(call, error_response(request, error))])
        draft = Draft(now_us)
        handler(self._context, request, call, draft)
        if draft.replies and _fenced(draft.replies[0][1]):
            _note_refused_epoch(request, draft)
        return draft.decision()

    def marked(self, transactional_id: str, producer_id: int, epoch: int, partition: str, now_us: int) -> Decision:
        """Note that a partition has the marker of an end (or is deleted); the last one completes the transaction."""
        draft = Draft(now_us)
        if not self.resigned:
            marked(self._context, transactional_id, (producer_id, epoch), partition, draft)
        return draft.decision()

    # --- time --------------------------------------------------------------------------------------------------------

    def next_deadline_us(self) -> int | None:
        """The instant of the next `on_deadline` call, or None."""
        return self._deadlines.next_us()

    def on_deadline(self, now_us: int) -> Decision:
        """Run the scans that are due: transactions beyond their timeout, expired transactional ids."""
        draft = Draft(now_us)
        settings = self._context.settings
        while (name := self._deadlines.pop_due(now_us)) is not None:
            if name[0] == TIMEOUT_SCAN:
                self._deadlines.set(name, now_us + settings.timeout_scan_us)
                self._scan_timeouts(draft)
            elif name[0] == COMPLETION:
                transaction = self.transactions.get(name[1])
                if transaction is not None and transaction.metadata.state in PREPARED and transaction.awaiting_markers:
                    self._context.complete(transaction, draft)  # else it has been written
            else:
                self._deadlines.set(name, now_us + settings.expiration_scan_us)
                self._scan_expired(draft)
        return draft.decision()

    def scan_timeouts(self, now_us: int) -> Decision:
        """Fence and abort every transaction that is open for longer than its `transaction.timeout.ms`."""
        draft = Draft(now_us)
        self._scan_timeouts(draft)
        return draft.decision()

    def scan_expired(self, now_us: int) -> Decision:
        """Expire every transactional id unused for `transactional.id.expiration.ms`."""
        draft = Draft(now_us)
        self._scan_expired(draft)
        return draft.decision()

    def _scan_timeouts(self, draft: Draft) -> None:
        for transaction in self.transactions.values():
            metadata = transaction.metadata
            if transaction.pending is not None or metadata.state is not TransactionState.ONGOING:
                continue
            if metadata.start_us + metadata.timeout_ms * 1000 < draft.now_us:
                reached("transaction: timed out")
                fence(self._context, transaction, "timeout", lambda _error, _draft: None, draft)

    def _scan_expired(self, draft: Draft) -> None:
        unused_us = draft.now_us - self._context.settings.id_expiration_us
        idle = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
        for transactional_id, transaction in self.transactions.items():
            metadata = transaction.metadata
            if transaction.pending is None and metadata.state in idle and metadata.update_us <= unused_us:
                transaction.prepare_dead()
                draft.records.append(TransactionTombstone(transactional_id))
                draft.when_committed(self._expired(transactional_id, transaction))
                draft.when_late(partial(self._expired_late, transactional_id, transaction))

    def _expired(self, transactional_id: str, transaction: Transaction) -> Callable[[ErrorCode, Draft], None]:
        def outcome(error: ErrorCode, later: Draft) -> None:
            if error is not ErrorCode.NONE:
                transaction.forget()
            else:
                self._remove_expired(transactional_id, transaction, later)

        return outcome

    def _expired_late(self, transactional_id: str, transaction: Transaction, later: Draft) -> None:
        if transaction.pending is None:
            self._remove_expired(transactional_id, transaction, later)

    def _remove_expired(self, transactional_id: str, transaction: Transaction, later: Draft) -> None:
        """Remove an expired transactional id: its tombstone is committed."""
        if self.transactions.get(transactional_id) is transaction:
            reached("transaction: the id expired")
            del self.transactions[transactional_id]
            later.emit(state_changed(replace(transaction.metadata, state=TransactionState.DEAD), self._context.broker))

    # --- the log -----------------------------------------------------------------------------------------------------

    def replay(self, record: TransactionRecord) -> None:
        """Apply a record while loading, in log order. In office a record counts once it is committed."""
        if not self.loading:
            return
        if isinstance(record, TransactionMetadata):
            self.transactions[record.transactional_id] = Transaction(record, self._context.rules)
        else:
            self.transactions.pop(record.transactional_id, None)

    def loaded(self, now_us: int) -> Decision:
        """End the loading: the coordinator continues every prepared end with its markers."""
        draft = Draft(now_us)
        self.loading = False
        settings = self._context.settings
        self._deadlines.set((TIMEOUT_SCAN, _ALL, _ALL), now_us + settings.timeout_scan_us)
        self._deadlines.set((EXPIRATION_SCAN, _ALL, _ALL), now_us + settings.expiration_scan_us)
        for transaction in self.transactions.values():
            draft.emit(state_changed(transaction.metadata, self._context.broker, loaded=True))
            if transaction.metadata.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
                reached("transaction: completed by a successor")
                self._context.write_markers(transaction, draft)
        return draft.decision()

    def unload(self, _: int) -> Decision:
        """End the coordinator: the broker no longer leads the partition. Every later request is refused."""
        self._context.transactions.clear()
        self._deadlines.clear()
        self.loading, self.resigned = False, True
        return Decision()


def _fenced(response: Response) -> bool:
    """Whether an answer refuses the epoch of its producer."""
    match response:
        case AddPartitionsToTxnResponse():
            return ErrorCode.PRODUCER_FENCED in response.errors.values()
        case InitProducerIdResponse() | AddOffsetsToTxnResponse() | EndTxnResponse():
            return response.error is ErrorCode.PRODUCER_FENCED
        case _:
            return False


def _note_refused_epoch(request: Request, draft: Draft) -> None:
    """Emit which epoch was refused, unless the leader of a partition asked for its producer."""
    match request:
        case AddPartitionsToTxnRequest(from_broker=True):
            pass
        case (
            AddPartitionsToTxnRequest(transactional_id=str(transactional_id))
            | InitProducerIdRequest(transactional_id=str(transactional_id))
            | AddOffsetsToTxnRequest(transactional_id=str(transactional_id))
            | EndTxnRequest(transactional_id=str(transactional_id))
        ):
            producer_id, epoch = request.producer_id, request.epoch
            draft.emit(ProducerEpochRefused(transactional_id=transactional_id, producer_id=producer_id, epoch=epoch))
        case _:
            raise TypeError(f"{type(request).__name__} cannot be answered PRODUCER_FENCED")
