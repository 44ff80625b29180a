"""The fold of what producers, transaction coordinators and replicas logged; `fold_logs` says how far it goes."""

from typing import Final

from cluster import events as e
from cluster.view.fold_cluster import note, note_of
from cluster.view.fold_table import FoldTable
from cluster.view.logged.state import UNKNOWN, LoggedConnections, LoggedProducer, LoggedTransactionalId
from cluster.view.state import ClusterView

FOLD = FoldTable()
MOST_NAMES: Final = 10_000  # of producers, and of transactional ids

SAID_AGAIN_US: Final = 10_000_000
SENTENCES_KEPT: Final = 100  # of a client
LOST: Final = frozenset({"disconnected", "request timeout", "connection setup timeout"})
"""Causes that are the first, or only, line on a connection."""
_CONNECTION: Final = {
    "disconnected": " lost its connection to {}",
    "not established": " cannot connect to {}",
    "request timeout": " closed its connection to {}: a request timed out",
    "connection setup timeout": " cannot connect to {}: connection setup timeout",
    "authentication": " cannot connect to {}: authentication failed",
}
_STATES: Final = {
    "AbortableError": " can only abort its transaction",
    "FatalError": " cannot go on",
    "Fenced": " is Fenced",
}
"""The states of a producer that the event log has."""


def _producer(view: ClusterView, name: str) -> LoggedProducer:
    """The producer, made at its first event; beyond `MOST_NAMES` it is not kept."""
    assert view.logs is not None
    known = view.logs.producers
    found = known.get(name, LoggedProducer(name))
    if len(known) < MOST_NAMES:
        known[name] = found
    found.said_us = view.at_us
    return found


def _transactional_id(view: ClusterView, name: str, said: str) -> LoggedTransactionalId:
    """The transactional id, of which a line says this."""
    assert view.logs is not None
    known = view.logs.transactional_ids
    found = known.get(name, LoggedTransactionalId(name))
    if len(known) < MOST_NAMES:
        known[name] = found
    found.said, found.said_us = said, view.at_us
    return found


# --- what producers log -------------------------------------------------------------------------------------------


@FOLD.handles(e.ProducerDeclared)
def producer_declared(view: ClusterView, event: e.ProducerDeclared) -> None:
    _producer(view, event.producer).transactional_id = event.transactional_id


@FOLD.handles(e.ProducerStateChanged)
def producer_state_changed(view: ClusterView, event: e.ProducerStateChanged) -> None:
    producer = _producer(view, event.producer)
    producer.state, producer.reason = event.state, event.reason
    if event.state == "Running":
        producer.producer_id = producer.epoch = None
    if event.state in _STATES:
        producer.last_error, producer.last_partition = event.reason.partition(":")[0], ""
        note_of(view, event, "fault", event.producer, f"{_STATES[event.state]}: {event.reason}")


@FOLD.handles(e.ProducerIdAssigned)
def producer_id_assigned(view: ClusterView, event: e.ProducerIdAssigned) -> None:
    producer = _producer(view, event.producer)
    producer.producer_id, producer.epoch = event.producer_id, event.epoch


@FOLD.handles(e.ProducerCoordinatorFound)
def producer_coordinator_found(view: ClusterView, event: e.ProducerCoordinatorFound) -> None:
    producer = _producer(view, event.producer)
    if event.of == "transaction":
        producer.coordinator = event.broker


@FOLD.handles(e.SequenceInDoubt)
def sequence_in_doubt(view: ClusterView, event: e.SequenceInDoubt) -> None:
    _producer(view, event.producer)
    note_of(view, event, "fault", event.producer, f" raises its epoch: {event.partition} may lack a batch")


@FOLD.handles(e.BatchRetried)
def batch_retried(view: ClusterView, event: e.BatchRetried) -> None:
    producer = _producer(view, event.producer)
    producer.retried += 1
    producer.last_error, producer.last_partition = event.error, event.partition


@FOLD.handles(e.BatchSplit)
def batch_split(view: ClusterView, event: e.BatchSplit) -> None:
    producer = _producer(view, event.producer)
    producer.split += 1
    producer.last_error, producer.last_partition = event.error, event.partition


@FOLD.handles(e.BatchFailed)
def batch_failed(view: ClusterView, event: e.BatchFailed) -> None:
    producer = _producer(view, event.producer)
    producer.last_error, producer.last_partition = event.error, event.partition
    note_of(view, event, "fault", event.producer, f" fails a batch of {event.partition}: {event.error}")


@FOLD.handles(e.ClientDisconnected)
def client_disconnected(view: ClusterView, event: e.ClientDisconnected) -> None:
    """Note what changed, and what goes on for long: a client that cannot connect says so every second."""
    assert view.logs is not None
    client = view.logs.connections.get(event.client, LoggedConnections(event.client))
    if len(view.logs.connections) < MOST_NAMES:
        view.logs.connections[event.client] = client
    client.lost += event.cause in LOST
    broker = f"broker-{event.broker}" if event.broker >= 0 else "a bootstrap server"
    words = _CONNECTION[event.cause].format(broker)
    said_us = client.said_us.get(words)
    if said_us is None or event.at_us - said_us > SAID_AGAIN_US:
        note_of(view, event, "member", event.client, words)
        if len(client.said_us) >= SENTENCES_KEPT:
            client.said_us.clear()
        client.said_us[words] = event.at_us


# --- what transaction coordinators log ----------------------------------------------------------------------------


@FOLD.handles(e.TransactionStateChanged)
def transaction_state_changed(view: ClusterView, event: e.TransactionStateChanged) -> None:
    """Lines have two: a producer is initialized, and a transaction is aborted after its timeout."""
    if event.state != "Empty":
        one = _transactional_id(view, event.transactional_id, "timed out, aborted")
        one.coordinator = event.broker
        note_of(view, event, "transaction", event.transactional_id, " is aborted")
        return
    one = _transactional_id(view, event.transactional_id, "initialized")
    words = f" begins with producer id {event.producer_id}, epoch {event.epoch}"
    if one.producer_id == event.producer_id:
        words = f" begins anew with epoch {event.epoch}: every earlier epoch is fenced"
    elif one.producer_id is not None:
        words = f" begins anew as producer id {event.producer_id}: {one.producer_id} is fenced"
    note_of(view, event, "transaction", event.transactional_id, words)
    one.initialized += 1
    one.coordinator, one.producer_id, one.epoch = event.broker, event.producer_id, event.epoch


@FOLD.handles(e.TransactionFenced)
def transaction_fenced(view: ClusterView, event: e.TransactionFenced) -> None:
    one = _transactional_id(view, event.transactional_id, "timed out")
    one.coordinator = event.broker
    one.timed_out += 1
    words = " timed out: its transaction is open for longer than transaction.timeout.ms"
    note_of(view, event, "fault", event.transactional_id, words)


@FOLD.handles(e.ProducerEpochRefused)
def producer_epoch_refused(view: ClusterView, event: e.ProducerEpochRefused) -> None:
    _transactional_id(view, event.transactional_id, "a producer is fenced").fenced += 1
    words = f"the transaction coordinator refuses a producer of {event.transactional_id}: PRODUCER_FENCED"
    note(view, event, "fault", event.transactional_id, words)


@FOLD.handles(e.TransactionMarkerRefused)
def transaction_marker_refused(view: ClusterView, event: e.TransactionMarkerRefused) -> None:
    words = f"{event.partition}'s leader refused a marker for producer id {event.producer_id}: {event.error}"
    note(view, event, "fault", event.partition, words)


# --- what leaders and other replicas log --------------------------------------------------------------------------


@FOLD.handles(e.LeaderElected)
def leader_elected(view: ClusterView, event: e.LeaderElected) -> None:
    """Change nothing: a line about a later change says where the replicas are, not when they were elected."""


@FOLD.handles(e.LeadershipTaken)
def leadership_taken(view: ClusterView, event: e.LeadershipTaken) -> None:
    words = f" is led by broker-{event.broker} from leader epoch {event.leader_epoch} on"
    note_of(view, event, "election", event.partition, words)


@FOLD.handles(e.LogTruncated)
def log_truncated(view: ClusterView, event: e.LogTruncated) -> None:
    replica = f"broker-{event.broker}" if event.broker >= 0 else f"a broker ({UNKNOWN})"
    words = f"{replica} truncated {event.partition} to offset {event.offset}"
    note(view, event, "fault", event.partition, words)


@FOLD.handles(e.LogStartAdvanced)
def log_start_advanced(view: ClusterView, event: e.LogStartAdvanced) -> None:
    note_of(view, event, "offset", event.partition, f" begins at offset {event.log_start} now: {event.reason}")
