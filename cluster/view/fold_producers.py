"""The fold of producers: their processes, batches, requests and failures."""

from cluster import events as e
from cluster.view.fold_cluster import note_of
from cluster.view.fold_table import FoldTable
from cluster.view.placements import note_run
from cluster.view.state import ClusterView, ProducerView

FOLD = FoldTable()


@FOLD.handles(e.ProducerDeclared)
def producer_declared(view: ClusterView, event: e.ProducerDeclared) -> None:
    view.producers[event.producer] = ProducerView(event.producer, event.topics, event.rate_per_second)


@FOLD.handles(e.ProducerStateChanged)
def producer_state_changed(view: ClusterView, event: e.ProducerStateChanged) -> None:
    producer = view.producers[event.producer]
    if event.state == "Running" and producer.state != "Paused":  # a new process has no producer id yet
        producer.producer_id = producer.epoch = -1
    producer.state, producer.reason = event.state, event.reason
    if event.state in {"Dead", "Stopped"}:
        producer.buffered_bytes = 0
    if event.state in {"Dead", "Fenced"}:
        note_of(view, event, "fault", event.producer, f" is {event.state}: {event.reason}")


@FOLD.handles(e.ProducerIdAssigned)
def producer_id_assigned(view: ClusterView, event: e.ProducerIdAssigned) -> None:
    producer = view.producers[event.producer]
    producer.producer_id, producer.epoch = event.producer_id, event.epoch


@FOLD.handles(e.ProducerCoordinatorFound)
def producer_coordinator_found(view: ClusterView, event: e.ProducerCoordinatorFound) -> None:
    """Change nothing: the coordinator is the leader of the id's partition."""


@FOLD.handles(e.SequenceInDoubt)
def sequence_in_doubt(view: ClusterView, event: e.SequenceInDoubt) -> None:
    """Change nothing: another event raises the epoch."""


@FOLD.handles(e.BatchOpened)
def batch_opened(view: ClusterView, event: e.BatchOpened) -> None:
    view.producers[event.producer].buffered_bytes += event.bytes


@FOLD.handles(e.ProduceSent)
def produce_sent(view: ClusterView, event: e.ProduceSent) -> None:
    producer, by_partition, partitions = view.producers[event.producer], event.records, view.partitions
    producer.requests += 1
    producer.retries += len(event.retried)
    producer.batches += len(by_partition)
    for name, records in by_partition.items():
        producer.sent += records
        partitions[name].produced += records


@FOLD.handles(e.BatchAcknowledged)
def batch_acknowledged(view: ClusterView, event: e.BatchAcknowledged) -> None:
    name, records, serial = event.producer, event.records, event.first_serial
    producer = view.producers[name]
    partition = view.partitions[event.partition]
    producer.acked += records
    producer.buffered_bytes -= event.freed_bytes
    partition.acked += records
    note_run(partition.acked_serials, name, serial, serial + records)


@FOLD.handles(e.BatchRetried)
def batch_retried(view: ClusterView, event: e.BatchRetried) -> None:
    view.producers[event.producer].last_error = event.error


@FOLD.handles(e.BatchSplit)
def batch_split(view: ClusterView, event: e.BatchSplit) -> None:
    producer = view.producers[event.producer]
    producer.buffered_bytes -= event.freed_bytes
    producer.last_error = event.error


@FOLD.handles(e.BatchFailed)
def batch_failed(view: ClusterView, event: e.BatchFailed) -> None:
    producer = view.producers[event.producer]
    _failed(producer, event)
    producer.buffered_bytes -= event.freed_bytes
    view.partitions[event.partition].produced += 0 if event.sent else event.records


@FOLD.handles(e.SendRefused)
def send_refused(view: ClusterView, event: e.SendRefused) -> None:
    _failed(view.producers[event.producer], event)


def _failed(producer: ProducerView, event: e.BatchFailed | e.SendRefused) -> None:
    producer.failed += event.records
    producer.failures[event.error] = producer.failures.get(event.error, 0) + event.records
    producer.last_error = event.error
