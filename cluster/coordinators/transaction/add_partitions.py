"""The partitions of a transaction: AddPartitionsToTxn, its verification, AddOffsetsToTxn, DescribeTransactions.

Source: `TransactionCoordinator.handleAddPartitionsToTransaction`, `handleVerifyPartitionsInTransaction` (KIP-890).
"""

from cluster.coordinators.decision import Call, Draft
from cluster.coordinators.transaction.context import Outcome, TransactionContext
from cluster.coordinators.transaction.transaction import Transaction
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.transaction_states import TransactionState
from cluster.reach import reached

_FromProducer = t.AddPartitionsToTxnRequest | t.AddOffsetsToTxnRequest
_ENDING = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def add_partitions(context: TransactionContext, request: t.AddPartitionsToTxnRequest, call: Call, draft: Draft) -> None:
    """Add partitions to the transaction (the first begins it), or verify that they are in it."""

    def answer(error: ErrorCode, later: Draft) -> None:
        later.reply(call, t.AddPartitionsToTxnResponse(dict.fromkeys(request.partitions, error)))

    transaction, error = _transaction_of(context, request, verify_only=request.verify_only)
    if transaction is None or error is not ErrorCode.NONE:
        answer(error, draft)
    elif not request.verify_only:
        _add(context, transaction, request.partitions, answer, draft)
    elif transaction.metadata.state in _ENDING:
        answer(ErrorCode.CONCURRENT_TRANSACTIONS, draft)
    else:
        members = transaction.metadata.partitions
        errors = {
            name: ErrorCode.NONE if name in members else ErrorCode.TRANSACTION_ABORTABLE for name in request.partitions
        }
        if any(name not in members for name in request.partitions):
            reached("transaction: verified too late")
        draft.reply(call, t.AddPartitionsToTxnResponse(errors))


def add_offsets(context: TransactionContext, request: t.AddOffsetsToTxnRequest, call: Call, draft: Draft) -> None:
    """Add the group's partition of `__consumer_offsets` to the transaction."""

    def answer(error: ErrorCode, later: Draft) -> None:
        later.reply(call, t.AddOffsetsToTxnResponse(error))

    transaction, error = _transaction_of(context, request)
    if transaction is None or error is not ErrorCode.NONE:
        answer(error, draft)
    else:
        _add(context, transaction, (request.partition,), answer, draft)


def _transaction_of(
    context: TransactionContext, request: _FromProducer, *, verify_only: bool = False
) -> tuple[Transaction | None, ErrorCode]:
    """The transaction of the requesting producer, or the error; the order of the checks is Kafka's.

    A pending transition is checked first: under version 2 it may lead to the producer id that the request already has.
    """
    producer_id, epoch = request.producer_id, request.epoch
    if not request.transactional_id:
        return None, ErrorCode.INVALID_REQUEST
    transaction = context.transactions.get(request.transactional_id)
    first = context.rules.pending_checked_first and not verify_only
    if first and transaction is not None and transaction.pending is not None:
        return transaction, ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction is None or transaction.metadata.producer_id != producer_id:
        return transaction, ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if transaction.metadata.epoch != epoch:
        return transaction, ErrorCode.PRODUCER_FENCED
    return transaction, ErrorCode.NONE


def _add(
    context: TransactionContext,
    transaction: Transaction,
    partitions: tuple[str, ...],
    answer: Outcome,
    draft: Draft,
) -> None:
    now = transaction.metadata
    if transaction.pending is not None or now.state in _ENDING:
        answer(ErrorCode.CONCURRENT_TRANSACTIONS, draft)
    elif now.state is TransactionState.ONGOING and all(name in now.partitions for name in partitions):
        answer(ErrorCode.NONE, draft)
    else:
        context.write(transaction, transaction.prepare_partitions(partitions, draft.now_us), answer, draft)


def describe(context: TransactionContext, request: t.DescribeTransactionRequest, call: Call, draft: Draft) -> None:
    """DescribeTransactions (API 65): the state of a transactional id."""
    transaction = context.transactions.get(request.transactional_id)
    if transaction is None or transaction.pending is TransactionState.DEAD:
        error = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if request.transactional_id else ErrorCode.INVALID_REQUEST
        draft.reply(call, t.DescribeTransactionResponse(error))
        return
    now = transaction.metadata
    draft.reply(
        call,
        t.DescribeTransactionResponse(
            ErrorCode.NONE, now.state.value, now.producer_id, now.epoch, now.timeout_ms, now.start_us, now.partitions
        ),
    )
