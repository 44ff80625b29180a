"""EndTxn: from Ongoing to Prepare*, the markers, and Complete*; for a producer, or for a fence of the coordinator.

Under `transaction.version` 1 the state alone identifies a repeated EndTxn. Under 2 every end raises the epoch, so the
same epoch means the *next* end, and a repetition has the epoch before it (KIP-890):

                     abort                      commit
                     repeated     current       repeated     current
    Empty            fenced       new epoch     fenced       INVALID_TXN_STATE
    CompleteAbort    NONE         new epoch     INVALID…     INVALID…
    CompleteCommit   INVALID…     new epoch     NONE         INVALID…

Source: `TransactionCoordinator.endTransaction`, `endTransactionWithTV1`.
"""

from cluster.coordinators.decision import Call, Draft
from cluster.coordinators.records import FENCING_EPOCH, LAST_EPOCH, TransactionMetadata
from cluster.coordinators.transaction.context import PREPARED, Outcome, TransactionContext
from cluster.coordinators.transaction.transaction import WITH_EPOCHS, Transaction
from cluster.events import TransactionFenced
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import NO_EPOCH, NO_PRODUCER_ID
from cluster.protocol.transaction_messages import EndTxnRequest, EndTxnResponse
from cluster.protocol.transaction_states import TransactionState
from cluster.reach import reached

_S = TransactionState
_COMPLETE = {True: _S.COMPLETE_COMMIT, False: _S.COMPLETE_ABORT}
_PREPARE = {True: _S.PREPARE_COMMIT, False: _S.PREPARE_ABORT}


def end(context: TransactionContext, request: EndTxnRequest, call: Call, draft: Draft) -> None:
    """EndTxn (API 26): answered when Prepare* is committed; the markers follow."""
    if not request.transactional_id:
        draft.reply(call, EndTxnResponse(ErrorCode.INVALID_REQUEST))
        return
    transaction = context.transactions.get(request.transactional_id)
    if transaction is None:
        draft.reply(call, EndTxnResponse(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        return
    verdict = _validate(transaction, request)
    if isinstance(verdict, ErrorCode):
        now = transaction.metadata
        done = verdict is ErrorCode.NONE and request.version >= WITH_EPOCHS
        draft.reply(call, EndTxnResponse(verdict, now.producer_id, now.epoch) if done else EndTxnResponse(verdict))
        return

    def prepared(error: ErrorCode, later: Draft) -> None:
        if error is not ErrorCode.NONE or request.version < WITH_EPOCHS:
            later.reply(call, EndTxnResponse(error))
            return
        now = transaction.metadata
        if now.next_producer_id != NO_PRODUCER_ID:  # the epochs are used up: the identity after Complete*
            later.reply(call, EndTxnResponse(error, now.next_producer_id, 0))
        else:
            later.reply(call, EndTxnResponse(error, now.producer_id, now.epoch))

    _prepare(context, transaction, (request.committed, request.version), prepared, draft)


def fence(context: TransactionContext, transaction: Transaction, reason: str, outcome: Outcome, draft: Draft) -> None:
    """Raise the epoch of an ongoing transaction and abort it. A failed append is retried by the next fence.

    `reason`: `timeout` or `InitProducerId`.
    """
    version, rules = context.settings.version, context.rules
    once = version >= WITH_EPOCHS and rules.fence_raises_epoch_once
    used_up = transaction.metadata.epoch_exhausted
    transaction.fence(version)
    fenced_with = min(transaction.metadata.epoch + 1, FENCING_EPOCH) if once else transaction.metadata.epoch
    if fenced_with != transaction.fenced_with:
        transaction.fenced_with = fenced_with
        draft.emit(
            TransactionFenced(
                transactional_id=transaction.metadata.transactional_id,
                broker=context.broker,
                producer_id=transaction.metadata.producer_id,
                epoch=fenced_with,
                reason=reason,
            )
        )

    def prepared(error: ErrorCode, later: Draft) -> None:
        if error is ErrorCode.NONE:
            transaction.fenced_with = NO_EPOCH  # the next producer id begins at epoch 0
        elif not once:
            transaction.failed_epoch_fence = True
        outcome(error, later)

    moves_on = once and used_up and rules.fence_rotates_exhausted_producer_id
    record = transaction.prepare_end(
        commit=False,
        version=version,
        next_producer_id=context.new_producer_id() if moves_on else NO_PRODUCER_ID,
        now_us=draft.now_us,
    )
    _write(context, transaction, record, prepared, draft)


def marked(
    context: TransactionContext, transactional_id: str, of: tuple[int, int], partition: str, draft: Draft
) -> None:
    """Note that a partition has the marker of (producer id, epoch). A former end's late marker does not count."""
    transaction = context.transactions.get(transactional_id)
    if transaction is None or (transaction.metadata.producer_id, transaction.metadata.epoch) != of:
        return
    if transaction.metadata.state not in PREPARED:
        return  # already complete: markers of a late end arrive twice
    if transaction.unmarked.pop(partition, transaction) is transaction or transaction.unmarked:
        return
    context.complete(transaction, draft)


def _prepare(
    context: TransactionContext, transaction: Transaction, end_of: tuple[bool, int], outcome: Outcome, draft: Draft
) -> None:
    commit, version = end_of
    exhausted = version >= WITH_EPOCHS and transaction.metadata.epoch_exhausted
    if exhausted:
        reached("end: the epochs are used up")
    record = transaction.prepare_end(
        commit=commit,
        version=version,
        next_producer_id=context.new_producer_id() if exhausted else NO_PRODUCER_ID,
        now_us=draft.now_us,
    )
    _write(context, transaction, record, outcome, draft)


def _write(
    context: TransactionContext, transaction: Transaction, record: TransactionMetadata, outcome: Outcome, draft: Draft
) -> None:
    def written(error: ErrorCode, later: Draft) -> None:
        outcome(error, later)
        if error is ErrorCode.NONE:
            context.write_markers(transaction, later)

    context.write(transaction, record, written, draft)


def _validate(transaction: Transaction, request: EndTxnRequest) -> ErrorCode | None:
    """The answer to an EndTxn that ends nothing (NONE for a repetition), or None if it ends a transaction."""
    now = transaction.metadata
    with_epochs = request.version >= WITH_EPOCHS
    if with_epochs and transaction.rules.pending_checked_first and transaction.pending is not None:
        return _concurrent()
    again, overflowed = _repeats(now, request) if with_epochs else (False, False)
    if now.producer_id != request.producer_id and not overflowed:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if not _epoch_fits(transaction, request, again):
        reached("end: fenced")
        return ErrorCode.PRODUCER_FENCED
    if transaction.pending is not None:
        return _concurrent()
    if now.state is _S.ONGOING:
        return None
    if now.state is _PREPARE[request.committed]:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if now.state is _COMPLETE[request.committed] and (again or not with_epochs):
        reached("end: repeated")
        return ErrorCode.NONE
    idle = now.state in (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
    if with_epochs and idle and not request.committed and not again:
        reached("end: aborts nothing")
        return None  # an abort without partitions: it only raises the epoch
    return ErrorCode.INVALID_TXN_STATE


def _concurrent() -> ErrorCode:
    reached("end: too early")
    return ErrorCode.CONCURRENT_TRANSACTIONS


def _repeats(now: TransactionMetadata, request: EndTxnRequest) -> tuple[bool, bool]:
    """Whether a request repeats the last end, and whether that end changed the producer id."""
    overflowed = now.previous_producer_id == request.producer_id and request.epoch == LAST_EPOCH and now.epoch == 0
    return now.epoch == request.epoch + 1 or overflowed, overflowed


def _epoch_fits(transaction: Transaction, request: EndTxnRequest, again: bool) -> bool:
    now = transaction.metadata
    if request.version < WITH_EPOCHS or now.state in (_S.ONGOING, _S.EMPTY):
        return request.epoch == now.epoch
    if now.state in (_S.PREPARE_COMMIT, _S.PREPARE_ABORT):
        return now.epoch == request.epoch + 1
    fits = not request.committed or transaction.rules.empty_commit_is_invalid
    return again or (request.epoch == now.epoch and fits)
