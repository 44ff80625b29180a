"""What producers write. One function a kind of event, by its name."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from recordings.kafka_log_notes import Line, Notes

SENDER = "org.apache.kafka.clients.producer.internals.Sender"
TRANSACTIONS = "org.apache.kafka.clients.producer.internals.TransactionManager"
CALLBACK = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"

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
"""Errors after which a producer asks for metadata, as Java prints their exceptions."""


def _producer(notes: Notes, producer: str, message: str, logger: str, level: str = "INFO") -> Line:
    transactional = notes.transactional_ids.get(producer, "")
    suffix = f", transactionalId={transactional}" if transactional else ""
    return Line(level, f"[Producer clientId={producer}{suffix}] ", message, logger)


def producer_declared(notes: Notes, event: e.ProducerDeclared) -> list[Line]:
    if event.transactional_id:
        notes.transactional_ids[event.producer] = event.transactional_id
    return []


def producer_id_assigned(notes: Notes, event: e.ProducerIdAssigned) -> list[Line]:
    message = f"ProducerId set to {event.producer_id} with epoch {event.epoch}"
    return [_producer(notes, event.producer, message, TRANSACTIONS)]


def batch_retried(notes: Notes, event: e.BatchRetried) -> list[Line]:
    message = f"Got error produce response on topic-partition {event.partition}, retrying. Error: {event.error}"
    lines = [_producer(notes, event.producer, message, SENDER, "WARN")]
    if event.error in STALE:
        message = (
            f"Received invalid metadata error in produce request on partition {event.partition} due to"
            f" {STALE[event.error]} Going to request metadata update now"
        )
        lines.append(_producer(notes, event.producer, message, SENDER, "WARN"))
    return lines


def batch_split(notes: Notes, event: e.BatchSplit) -> list[Line]:
    message = (
        f"Got error produce response on topic-partition {event.partition}, splitting and retrying. Error: {event.error}"
    )
    return [_producer(notes, event.producer, message, SENDER, "WARN")]


def batch_failed(notes: Notes, event: e.BatchFailed) -> list[Line]:
    """The producer hands the error to its application; this is what Kafka's own command-line tools do with it."""
    topic = event.partition.rpartition("-")[0]
    message = f"Error when sending message to topic {topic} with error: {event.error} ({event.records} record(s))"
    return [_producer(notes, event.producer, message, CALLBACK, "ERROR")]


def send_refused(notes: Notes, event: e.SendRefused) -> list[Line]:
    """The exception that send() hands to its caller, as Kafka's own command-line tools print it."""
    message = f"Error when sending message to topic {event.topic} with error: {event.error} ({event.records} record(s))"
    return [_producer(notes, event.producer, message, CALLBACK, "ERROR")]
