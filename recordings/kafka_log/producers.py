"""Log lines of producers. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from recordings.kafka_log.consumer_lines import node
from recordings.kafka_log.consumers import subscribed
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

SENDER = "org.apache.kafka.clients.producer.internals.Sender"
TRANSACTIONS = "org.apache.kafka.clients.producer.internals.TransactionManager"

INVOKING = "Invoking InitProducerId for the first time in order to acquire a producer ID"

ABORTABLE = {
    "INVALID_PRODUCER_EPOCH": "InvalidProducerEpochException: Producer attempted to produce with an old epoch.",
    "TRANSACTION_ABORTABLE": "TransactionAbortableException: The server encountered an error with the transaction. The"
    " client can abort the transaction to continue using this transactional ID.",
}
"""Errors of a batch after which a transaction can only be aborted, as Java prints their exceptions."""

FATAL = {
    "PRODUCER_FENCED": "ProducerFencedException: There is a newer producer with the same transactionalId which fences"
    " the current one.",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException: The producer attempted to use a producer id which is"
    " not currently assigned to its transactional id.",
}
"""The reason why a transactional producer cannot go on."""

STALE = {
    "NOT_LEADER_OR_FOLLOWER": (
        "org.apache.kafka.common.errors.NotLeaderOrFollowerException: For requests intended only for the leader, this"
        " error indicates that the broker is not the current leader. For requests intended for any replica, this error"
        " indicates that the broker is not a replica of the topic partition."
    ),
    "FENCED_LEADER_EPOCH": (
        "org.apache.kafka.common.errors.FencedLeaderEpochException: The leader epoch in the request is older than the"
        " epoch on the broker."
    ),
}
"""Errors after which a producer refreshes its metadata, as Java prints their exceptions."""

NETWORK_EXCEPTION = "org.apache.kafka.common.errors.NetworkException"
"""The exception of a broken connection, after which the producer refreshes its metadata as well."""


def _producer(log: KafkaLogState, producer: str, message: str, logger: str, level: str = "INFO") -> Line:
    transactional = log.transactional_ids.get(producer, "")
    suffix = f", transactionalId={transactional}" if transactional else ""
    return Line(level, f"[Producer clientId={producer}{suffix}] ", message, logger)


@WRITER.handles(e.ProducerDeclared)
def producer_declared(log: KafkaLogState, event: e.ProducerDeclared) -> list[Line]:
    if event.transactional_id:
        log.transactional_ids[event.producer] = event.transactional_id
    return []


@WRITER.handles(e.ProducerIdAssigned)
def producer_id_assigned(log: KafkaLogState, event: e.ProducerIdAssigned) -> list[Line]:
    """Under `transaction.version` 2 a new epoch of the same producer id is logged at level DEBUG only."""
    known, log.producer_ids[event.producer] = log.producer_ids.get(event.producer), event.producer_id
    log.producer_epochs[event.producer] = event.epoch
    transactional_id = log.transactional_ids.get(event.producer, "")
    if known == event.producer_id and transactional_id in log.with_epochs:
        return []
    message = f"ProducerId set to {event.producer_id} with epoch {event.epoch}"
    lines = [_producer(log, event.producer, message, TRANSACTIONS)]
    if transactional_id and log.member(event.producer).subscribes_later:
        log.member(event.producer).subscribes_later = False
        lines += subscribed(log, event.producer)
    return lines


@WRITER.handles(e.ProducerCoordinatorFound)
def producer_coordinator_found(log: KafkaLogState, event: e.ProducerCoordinatorFound) -> list[Line]:
    message = f"Discovered {event.of} coordinator {node(event.broker)}"
    return [_producer(log, event.producer, message, TRANSACTIONS)]


@WRITER.handles(e.SequenceInDoubt)
def sequence_in_doubt(log: KafkaLogState, event: e.SequenceInDoubt) -> list[Line]:
    message = (
        f"No inflight batches remaining for {event.partition}, last ack'd sequence for partition is"
        f" {event.acknowledged}, next sequence is {event.following}. Going to bump epoch and reset sequence numbers."
    )
    return [_producer(log, event.producer, message, TRANSACTIONS)]


@WRITER.handles(e.BatchRetried)
def batch_retried(log: KafkaLogState, event: e.BatchRetried) -> list[Line]:
    why = _disconnected(event)
    error = f"{event.error}. Error Message: {why}" if why else event.error
    message = f"Got error produce response on topic-partition {event.partition}, retrying. Error: {error}"
    return [_producer(log, event.producer, message, SENDER, "WARN"), *_metadata_is_wrong(log, event)]


def _disconnected(event: e.BatchRetried | e.BatchFailed) -> str:
    """The client's line on a connection that ended before a response came."""
    if event.disconnected_from < 0:
        return ""
    due = " due to timeout" if event.error == "REQUEST_TIMED_OUT" else ""
    return f"Disconnected from node {event.disconnected_from}{due}"


def _metadata_is_wrong(log: KafkaLogState, event: e.BatchRetried | e.BatchFailed) -> list[Line]:
    """After an InvalidMetadataException: whether the batch is retried or failed."""
    exception = f"{NETWORK_EXCEPTION}: {_disconnected(event)}" if event.disconnected_from >= 0 else ""
    exception = exception if event.error == "NETWORK_EXCEPTION" else STALE.get(event.error, "")
    if not exception:
        return []
    message = (
        f"Received invalid metadata error in produce request on partition {event.partition} due to {exception} Going"
        " to request metadata update now"
    )
    return [_producer(log, event.producer, message, SENDER, "WARN")]


@WRITER.handles(e.BatchSplit)
def batch_split(log: KafkaLogState, event: e.BatchSplit) -> list[Line]:
    message = (
        f"Got error produce response on topic-partition {event.partition}, splitting and retrying. Error: {event.error}"
    )
    return [_producer(log, event.producer, message, SENDER, "WARN")]


@WRITER.handles(e.BatchFailed)
def batch_failed(log: KafkaLogState, event: e.BatchFailed) -> list[Line]:
    """The producer passes the error to its application without a line; it logs the consequence for itself."""
    exception = ABORTABLE.get(event.error)
    if exception is None or event.producer not in log.transactional_ids or not event.sent:
        return _metadata_is_wrong(log, event)
    return [_abortable(log, event.producer, exception)]


@WRITER.handles(e.SendRefused)
def send_refused(log: KafkaLogState, event: e.SendRefused) -> list[Line]:
    """An old epoch is known: each send() logs it, and only its future fails."""
    if event.error != "InvalidProducerEpochException" or event.producer not in log.transactional_ids:
        return []
    identity = f"(producerId={log.producer_ids[event.producer]}, epoch={log.producer_epochs[event.producer]})"
    said = (
        f"InvalidProducerEpochException: Producer with transactionalId '{log.transactional_ids[event.producer]}'"
        f" and {identity} attempted to produce with an old epoch"
    )
    return [_abortable(log, event.producer, said)]


def _abortable(log: KafkaLogState, producer: str, exception: str) -> Line:
    message = f"Transiting to abortable error state due to org.apache.kafka.common.errors.{exception}"
    return _producer(log, producer, message, TRANSACTIONS)


@WRITER.handles(e.ProducerStateChanged)
def producer_state_changed(log: KafkaLogState, event: e.ProducerStateChanged) -> list[Line]:
    if event.state == "Running" and event.reason == "started":
        log.producer_ids.pop(event.producer, None)
        transactional = event.producer in log.transactional_ids
        return [_producer(log, event.producer, INVOKING, TRANSACTIONS)] if transactional else []
    exception = FATAL.get(event.reason)
    if event.state != "Fenced" or exception is None:
        return []
    message = f"Transiting to fatal error state due to org.apache.kafka.common.errors.{exception}"
    return [_producer(log, event.producer, message, TRANSACTIONS)]
