"""The fold of transactions' events: the state of each transactional id, and requests refused for an old epoch."""

from cluster import events as e
from cluster.view.fold_cluster import note, note_of
from cluster.view.fold_table import FoldTable
from cluster.view.state import ClusterView
from cluster.view.transactions import TransactionView

FOLD = FoldTable()

_UNDER_WAY = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


def _transaction(view: ClusterView, transactional_id: str) -> TransactionView:
    transaction = view.transactions.get(transactional_id)
    if transaction is None:
        transaction = view.transactions[transactional_id] = TransactionView(transactional_id)
    return transaction


@FOLD.handles(e.TransactionStateChanged)
def transaction_state_changed(view: ClusterView, event: e.TransactionStateChanged) -> None:
    transaction = _transaction(view, event.transactional_id)
    before, now = transaction.state, event.state
    if now != before:
        ended = not event.loaded or event.start_us == transaction.start_us  # else an earlier one, counted when it ended
        transaction.begun += now == "Ongoing"
        transaction.committed += ended and now == "CompleteCommit"
        transaction.aborted += ended and now == "CompleteAbort"
    words = _words(transaction, event)
    if words and not event.loaded:
        note_of(view, event, "transaction", event.transactional_id, words)
    transaction.fencing = False
    transaction.state, transaction.coordinator = now, event.broker
    transaction.producer_id, transaction.epoch = event.producer_id, event.epoch
    transaction.timeout_ms, transaction.partitions = event.timeout_ms, event.partitions
    transaction.start_us = event.start_us if now in _UNDER_WAY else -1


def _words(before: TransactionView, event: e.TransactionStateChanged) -> str:
    """The log entry's words for a transition, "" for most."""
    match event.state:
        case "PrepareAbort" if before.state != event.state:
            return " is aborted"
        case "Empty" if event.producer_id == before.producer_id and event.epoch > before.epoch:
            return f" begins anew with epoch {event.epoch}: every earlier epoch is fenced"
        case "Empty" if before.producer_id >= 0 and event.producer_id != before.producer_id:
            return f" begins anew as producer id {event.producer_id}: {before.producer_id} is fenced"
        case "Dead":
            return " is Dead: unused for transactional.id.expiration.ms"
    return ""


_FENCED_BECAUSE = {
    "timeout": "open for longer than transaction.timeout.ms",
    "InitProducerId": "another producer has its transactional.id",
}


@FOLD.handles(e.TransactionFenced)
def transaction_fenced(view: ClusterView, event: e.TransactionFenced) -> None:
    transaction = _transaction(view, event.transactional_id)
    transaction.fencing = True
    why = _FENCED_BECAUSE[event.reason]
    note_of(view, event, "fault", event.transactional_id, f" epoch {event.epoch - 1} fenced: {why}")


@FOLD.handles(e.TransactionOffsetsRefused)
def transaction_offsets_refused(view: ClusterView, event: e.TransactionOffsetsRefused) -> None:
    words = f"{event.group}'s coordinator refused offsets of {event.transactional_id}: {event.error}"
    note(view, event, "fault", event.transactional_id, words)


@FOLD.handles(e.TransactionMarkerRefused)
def transaction_marker_refused(view: ClusterView, event: e.TransactionMarkerRefused) -> None:
    subject = next(
        (one.transactional_id for one in view.transactions.values() if one.producer_id == event.producer_id),
        event.partition,
    )
    whose = f"of {subject}" if subject != event.partition else f"for producer id {event.producer_id}"
    note(view, event, "fault", subject, f"{event.partition}'s leader refused a marker {whose}: {event.error}")


@FOLD.handles(e.HangingTransactionAborted)
def hanging_transaction_aborted(view: ClusterView, event: e.HangingTransactionAborted) -> None:
    words = f"the open transaction of producer id {event.producer_id} in {event.partition} is aborted by hand"
    note(view, event, "transaction", event.partition, words)


@FOLD.handles(e.ProducerEpochRefused)
def producer_epoch_refused(view: ClusterView, event: e.ProducerEpochRefused) -> None:
    _transaction(view, event.transactional_id).fenced += 1
    where = f"{event.partition}'s leader" if event.partition else "its coordinator"
    error = "INVALID_PRODUCER_EPOCH" if event.partition else "PRODUCER_FENCED"
    words = f"{where} refused {event.transactional_id} epoch {event.epoch}: {error}"
    note(view, event, "fault", event.transactional_id, words)
