"""InitProducerId: which producer may use a transactional id, under which producer id and epoch.

Source: `TransactionCoordinator.handleInitProducerId`, `prepareInitProducerIdTransit` (KIP-98, KIP-360).
"""

from cluster.coordinators.decision import Call, Draft
from cluster.coordinators.records import LAST_EPOCH, TransactionMetadata
from cluster.coordinators.transaction.context import TransactionContext
from cluster.coordinators.transaction.end_transaction import fence
from cluster.coordinators.transaction.transaction import Transaction
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import InitProducerIdRequest, InitProducerIdResponse
from cluster.protocol.record_batch import NO_EPOCH
from cluster.protocol.transaction_states import TransactionState
from cluster.reach import reached


def init_producer_id(context: TransactionContext, request: InitProducerIdRequest, call: Call, draft: Draft) -> None:
    """InitProducerId (API 22): assign the next epoch. An ongoing transaction is fenced and aborted first: retry."""
    if request.transactional_id is None:
        draft.reply(call, InitProducerIdResponse(ErrorCode.NONE, context.new_producer_id(), 0))
        return
    error = _invalid(context, request)
    if error is not ErrorCode.NONE:
        draft.reply(call, InitProducerIdResponse(error))
        return
    transaction = context.transactions.get(request.transactional_id)
    if transaction is None:
        metadata = TransactionMetadata(
            request.transactional_id,
            context.new_producer_id(),
            context.first_epoch,
            timeout_ms=request.transaction_timeout_ms,
            update_us=draft.now_us,
        )
        transaction = context.transactions[request.transactional_id] = Transaction(metadata, context.rules)
    _init_known(context, transaction, request, call, draft)


def _invalid(context: TransactionContext, request: InitProducerIdRequest) -> ErrorCode:
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < request.transaction_timeout_ms <= context.settings.max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def _init_known(
    context: TransactionContext, transaction: Transaction, request: InitProducerIdRequest, call: Call, draft: Draft
) -> None:
    now = transaction.metadata
    error = ErrorCode.NONE
    if transaction.pending is not None:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    elif not _may_continue(now, request):
        error = ErrorCode.PRODUCER_FENCED
    elif now.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT):
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if error is not ErrorCode.NONE:
        reached("init: fenced" if error is ErrorCode.PRODUCER_FENCED else "init: too early")
        draft.reply(call, InitProducerIdResponse(error))
    elif now.state is TransactionState.ONGOING:

        def aborting(failure: ErrorCode, later: Draft) -> None:
            retry = ErrorCode.CONCURRENT_TRANSACTIONS if failure is ErrorCode.NONE else failure
            later.reply(call, InitProducerIdResponse(retry))

        reached("init: aborts what is open")
        fence(context, transaction, "InitProducerId", aborting, draft)
    else:
        _assign_epoch(context, transaction, request, call, draft)


def _may_continue(now: TransactionMetadata, request: InitProducerIdRequest) -> bool:
    """Whether a producer with an identity is the current one, or the last of an exhausted producer id."""
    if request.producer_id < 0 or now.epoch == NO_EPOCH or request.producer_id == now.producer_id:
        return True
    return request.producer_id == now.previous_producer_id and request.epoch >= LAST_EPOCH


def _assign_epoch(
    context: TransactionContext, transaction: Transaction, request: InitProducerIdRequest, call: Call, draft: Draft
) -> None:
    now = transaction.metadata
    expected_epoch = request.epoch if request.producer_id >= 0 else None
    timeout_ms = request.transaction_timeout_ms
    if now.epoch_exhausted and expected_epoch in (None, now.epoch):
        reached("init: the epochs are used up")
        producer_id = context.new_producer_id()
        record: TransactionMetadata | ErrorCode = transaction.prepare_next_producer_id(
            producer_id, timeout_ms, expected_epoch, draft.now_us
        )
    else:
        record = transaction.prepare_next_epoch(timeout_ms, expected_epoch, draft.now_us)
    if isinstance(record, ErrorCode):
        draft.reply(call, InitProducerIdResponse(record))
        return
    given = InitProducerIdResponse(ErrorCode.NONE, record.producer_id, record.epoch)

    def written(error: ErrorCode, later: Draft) -> None:
        later.reply(call, given if error is ErrorCode.NONE else InitProducerIdResponse(error))

    context.write(transaction, record, written, draft)
