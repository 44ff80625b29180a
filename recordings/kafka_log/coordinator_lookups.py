"""Log lines of consumers that find their coordinator, or lose it. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from typing import Final

from cluster import events as e
from cluster.protocol import reasons
from recordings.kafka_log.consumer_lines import ERRORS, JOINS, consumer_line, coordinator_node, own_generation
from recordings.kafka_log.consumers import request_to_join
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

LOOKUPS: Final = "org.apache.kafka.clients.consumer.internals.CoordinatorRequestManager"
"""What the consumer of the new protocol finds its coordinator with."""


@WRITER.handles(e.CoordinatorFound)
def coordinator_found(log: KafkaLogState, event: e.CoordinatorFound) -> list[Line]:
    known = log.member(event.member)
    if event.broker != known.found:
        # the member does not log responses of requests in flight to the old coordinator
        known.found, known.unheard = event.broker, 0
    known.coordinator = event.broker
    if known.asynchronous:
        found = (
            f"Coordinator(key='{known.group}', nodeId={event.broker}, host='broker-{event.broker}', port=9092,"
            " errorCode=0, errorMessage='')"
        )
        return [consumer_line(log, event.member, f"Discovered group coordinator {found}", LOOKUPS)]
    return [consumer_line(log, event.member, f"Discovered group coordinator {coordinator_node(event.broker)}")]


@WRITER.handles(e.CoordinatorLost)
def coordinator_lost(log: KafkaLogState, event: e.CoordinatorLost) -> list[Line]:
    """After a heartbeat, a JoinGroup and a SyncGroup, the loss of the coordinator has a line of its own."""
    known = log.member(event.member)
    known.coordinator = -1
    known.unheard += known.commits_in_hand
    known.commits_in_hand = 0
    where, gone = coordinator_node(event.broker), str(event.disconnected).lower()
    if known.asynchronous:
        cause = "null" if event.disconnected else event.cause
        message = f"Group coordinator {where} is unavailable or invalid due to cause: {cause}."
        return [consumer_line(log, event.member, f"{message} Rediscovery will be attempted.", LOOKUPS)]
    message = (
        f"Group coordinator {where} is unavailable or invalid due to cause: {event.cause}. isDisconnected: {gone}."
        " Rediscovery will be attempted."
    )
    lines = [consumer_line(log, event.member, message)]
    if not event.disconnected:
        lines.append(consumer_line(log, event.member, f"Requesting disconnect from last known coordinator {where}"))
    api = JOINS.get(known.state)
    error = event.cause.removeprefix("error response ")
    if api and error in ERRORS:
        message = f"{api} failed: {ERRORS[error]} Marking coordinator unknown. Sent generation was "
        lines.append(consumer_line(log, event.member, message + own_generation(log, known)))
    elif event.disconnected and known.state == "Joining" and not known.join_arrived:  # poll() still waits
        known.asked = reasons.rebalance_failed("DISCONNECT")
        lines.append(request_to_join(log, event.member, known, known.asked))
    return lines
