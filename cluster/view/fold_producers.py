"""The fold of producers' events: their records by outcome, and what they wait for."""

from typing import Final

from cluster import events as e
from cluster.view.fold_cluster import note_of
from cluster.view.fold_table import FoldTable
from cluster.view.lives.batches import RETRIES, UNSENT, OpenBatch, RequestInFlight
from cluster.view.placements import note_run
from cluster.view.state import NEVER, ClusterView, ProducerView

FOLD = FoldTable()

EXPIRED: Final = "TimeoutException"
NOT_ANSWERED: Final = (EXPIRED, "TransactionAbortedException")
"""Errors of batches that fail without a response."""
TIMEOUTS_AND_LIMITS: Final = (
    "max.in.flight.requests.per.connection",
    "request.timeout.ms",
    "delivery.timeout.ms",
    "linger.ms",
    "buffer.memory",
)
"""The keys whose changes a producer's view keeps."""
CONSUMERS_TOO: Final = ("request.timeout.ms",)
"""In the scope of a group these keys are its consumers', not those of the producers inside them."""


def configured(view: ClusterView, event: e.SettingChanged) -> None:
    """Note a changed setting of producers, in force now or from their next start on."""
    if event.key not in TIMEOUTS_AND_LIMITS:
        return
    for name in event.processes:
        producer = view.producers.get(name)
        own = name not in view.members or event.key not in CONSUMERS_TOO
        if producer is not None and own:
            producer.next_settings[event.key] = event.value
            if event.effect == "now":
                producer.settings[event.key] = event.value


@FOLD.handles(e.ProducerDeclared)
def producer_declared(view: ClusterView, event: e.ProducerDeclared) -> None:
    view.producers[event.producer] = ProducerView(event.producer, event.topics, event.rate_per_second)


@FOLD.handles(e.ProducerStateChanged)
def producer_state_changed(view: ClusterView, event: e.ProducerStateChanged) -> None:
    producer = view.producers[event.producer]
    if event.state == "Running" and producer.state != "Paused":  # a new process has no producer id yet
        producer.producer_id = producer.epoch = -1
        producer.settings = dict(producer.next_settings)
        _forget_batches(producer)
    producer.state, producer.reason = event.state, event.reason
    if event.state in {"Dead", "Stopped"}:
        producer.buffered_bytes, producer.waits_since_us = 0, NEVER
        _forget_batches(producer)
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
    producer = view.producers[event.producer]
    if producer.waits_since_us == NEVER:
        producer.waits_since_us = event.at_us
    producer.buffered_bytes += event.bytes
    producer.open_batches.setdefault(event.partition, []).append(OpenBatch(event.at_us, bytes=event.bytes))


def _forget_batches(producer: ProducerView) -> None:
    producer.open_batches, producer.in_flight = {}, {}


@FOLD.handles(e.ProduceSent)
def produce_sent(view: ClusterView, event: e.ProduceSent) -> None:
    producer, by_partition, partitions = view.producers[event.producer], event.records, view.partitions
    producer.requests += 1
    producer.retries += len(event.retried)
    producer.batches += len(by_partition)
    number = producer.requests
    sent = _sent(producer, by_partition, UNSENT, number) + _sent(producer, event.retried, RETRIES, number)
    if sent:
        producer.in_flight[number] = RequestInFlight(event.broker, event.at_us, sent)
    for name, records in by_partition.items():
        producer.sent += records
        partitions[name].produced += records


def _sent(producer: ProducerView, partitions: dict[str, int], before: int, number: int) -> int:
    """Put the first batch of each partition that was UNSENT, or RETRIES, into a request; returns how many."""
    sent = 0
    for name, records in partitions.items():
        for batch in producer.open_batches.get(name, ()):
            if batch.request == before:
                batch.request, batch.records = number, records
                sent += 1
                break
    return sent


def _settle(producer: ProducerView, partition: str, batch: OpenBatch | None, pieces: int = 0) -> None:
    """Take a batch that has its outcome from its partition; `pieces` of its age are sent instead."""
    if batch is None:
        return
    _queue_again(producer, partition, batch, [OpenBatch(batch.opened_us, RETRIES) for _ in range(pieces)])
    if not producer.open_batches[partition]:
        del producer.open_batches[partition]
    _answered(producer, batch)


def _queue_again(producer: ProducerView, partition: str, batch: OpenBatch, instead: list[OpenBatch]) -> None:
    """Put batches in the place of one: that of its sequence number, or the front without a producer id.

    Source: `RecordAccumulator.reenqueue`, `splitAndReenqueue`.
    """
    batches = producer.open_batches[partition]
    place = next(place for place, one in enumerate(batches) if one is batch)  # equal batches are not the same one
    del batches[place]
    if producer.producer_id < 0:
        place = 0
    batches[place:place] = instead


def _answered(producer: ProducerView, batch: OpenBatch) -> None:
    """End the request of a batch, if that was its last one."""
    request = producer.in_flight.get(batch.request)
    if request is not None:
        request.batches -= 1
        if not request.batches:
            del producer.in_flight[batch.request]


def _in_flight(producer: ProducerView, partition: str, broker: int = NEVER) -> OpenBatch | None:
    """The batch of a partition in the oldest request in flight, to a broker if one is given: it is answered first."""
    found: OpenBatch | None = None
    for batch in producer.open_batches.get(partition, ()):
        request = producer.in_flight.get(batch.request)
        if (
            request is not None
            and (found is None or batch.request < found.request)
            and broker in {NEVER, request.broker}
        ):
            found = batch
    return found


@FOLD.handles(e.BatchAcknowledged)
def batch_acknowledged(view: ClusterView, event: e.BatchAcknowledged) -> None:
    name, records, serial = event.producer, event.records, event.first_serial
    producer = view.producers[name]
    partition = view.partitions[event.partition]
    producer.acked += records
    producer.buffered_bytes -= event.freed_bytes
    producer.waits_since_us = event.at_us if producer.buffered_bytes else NEVER
    _settle(producer, event.partition, _acknowledged(producer, event.partition, event.at_us - event.latency_us))
    partition.acked += records
    note_run(partition.acked_serials, name, serial, serial + records)


def _acknowledged(producer: ProducerView, partition: str, opened_us: int) -> OpenBatch | None:
    """The sent batch that was opened at an instant."""
    for batch in producer.open_batches.get(partition, ()):
        if batch.opened_us == opened_us and batch.request > RETRIES:
            return batch
    return None


@FOLD.handles(e.BatchRetried)
def batch_retried(view: ClusterView, event: e.BatchRetried) -> None:
    producer = view.producers[event.producer]
    producer.last_error = event.error
    batch = _in_flight(producer, event.partition, event.disconnected_from)
    if batch is not None:
        _answered(producer, batch)
        batch.request = RETRIES
        _queue_again(producer, event.partition, batch, [batch])


@FOLD.handles(e.BatchSplit)
def batch_split(view: ClusterView, event: e.BatchSplit) -> None:
    producer = view.producers[event.producer]
    producer.buffered_bytes -= event.freed_bytes
    if not producer.buffered_bytes:
        producer.waits_since_us = NEVER
    producer.last_error = event.error
    _settle(producer, event.partition, _in_flight(producer, event.partition), event.pieces)


@FOLD.handles(e.BatchFailed)
def batch_failed(view: ClusterView, event: e.BatchFailed) -> None:
    producer = view.producers[event.producer]
    _failed(producer, event)
    producer.buffered_bytes -= event.freed_bytes
    if not producer.buffered_bytes:
        producer.waits_since_us = NEVER
    _settle(producer, event.partition, _given_up(producer, event))
    view.partitions[event.partition].produced += 0 if event.sent else event.records


def _given_up(producer: ProducerView, event: e.BatchFailed) -> OpenBatch | None:
    """The batch that failed: an expired one is the oldest of its size, an aborted one is not in flight."""
    batches = producer.open_batches.get(event.partition, [])
    if event.sent and event.error == EXPIRED:
        sizes = (event.records, 0)  # 0: a piece of a batch that was split, and not sent since
        alike = [batch for batch in batches if batch.request != UNSENT and batch.records in sizes]
        return min(alike, key=lambda batch: batch.opened_us, default=None)
    if event.sent and event.error not in NOT_ANSWERED:
        return _in_flight(producer, event.partition, event.disconnected_from)
    for batch in batches:
        if batch.request == (RETRIES if event.sent else UNSENT):
            return batch
    return None


@FOLD.handles(e.SendRefused)
def send_refused(view: ClusterView, event: e.SendRefused) -> None:
    _failed(view.producers[event.producer], event)


def _failed(producer: ProducerView, event: e.BatchFailed | e.SendRefused) -> None:
    producer.failed += event.records
    producer.failures[event.error] = producer.failures.get(event.error, 0) + event.records
    producer.last_error = event.error
