"""How transactions change the view: where each transactional id stands, and who was refused for an old epoch."""

from cluster import events as e
from cluster.view.fold_cluster import note
from cluster.view.state import ClusterView, TransactionView

_UNDER_WAY = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


def transaction_state_changed(view: ClusterView, event: e.TransactionStateChanged) -> None:
    transaction = view.transactions.get(event.transactional_id)
    if transaction is None:
        transaction = view.transactions[event.transactional_id] = TransactionView(event.transactional_id)
    before, now = transaction.state, event.state
    if now != before:
        transaction.begun += now == "Ongoing"
        transaction.committed += now == "CompleteCommit"
        transaction.aborted += now == "CompleteAbort"
    if now == "PrepareAbort" and before != now:
        note(view, event.at_us, "transaction", event.transactional_id, f"{event.transactional_id} is aborted")
    transaction.state, transaction.coordinator = now, event.broker
    transaction.producer_id, transaction.epoch = event.producer_id, event.epoch
    transaction.timeout_ms, transaction.partitions = event.timeout_ms, event.partitions
    transaction.start_us = event.start_us if now in _UNDER_WAY else -1


def hanging_transaction_aborted(view: ClusterView, event: e.HangingTransactionAborted) -> None:
    words = f"the open transaction of producer id {event.producer_id} in {event.partition} is aborted by hand"
    note(view, event.at_us, "transaction", event.partition, words)


def producer_epoch_refused(view: ClusterView, event: e.ProducerEpochRefused) -> None:
    transaction = view.transactions.get(event.transactional_id)
    if transaction is None:
        transaction = view.transactions[event.transactional_id] = TransactionView(event.transactional_id)
    transaction.fenced += 1
    where = f"the leader of {event.partition}" if event.partition else "its coordinator"
    error = "INVALID_PRODUCER_EPOCH" if event.partition else "PRODUCER_FENCED"
    words = f"{where} refused epoch {event.epoch} of {event.transactional_id}: {error}"
    note(view, event.at_us, "fault", event.transactional_id, words)
