"""Log lines of a consumer's heartbeats. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol import reasons
from recordings.kafka_log.consumer_lines import consumer_line, optional
from recordings.kafka_log.consumers import stale_heartbeat
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

FATAL = {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"}


@WRITER.handles(e.HeartbeatAnswered)
def heartbeat_answered(log: KafkaLogState, event: e.HeartbeatAnswered) -> list[Line]:
    """Each refusal requests a rejoin, until JoinGroup is sent; also while the application does not poll.

    A fatal one resets the member when the response arrives, unless the heartbeat carried an earlier member id.
    """
    known = log.members.get(event.member)
    if known is None or not known.running:
        return []
    fatal = event.error in FATAL
    if event.member_id == known.member_id:
        known.beat_refused = event.error if fatal else ""
    elif fatal and f"'{event.member_id}'" in known.former:
        return [stale_heartbeat(log, event.member, known.former, event.error)]
    else:
        return []
    if event.error == "REBALANCE_IN_PROGRESS" and known.state in {"Stable", "Revoking"}:
        known.asked = reasons.ALREADY_REBALANCING
        return [consumer_line(log, event.member, f"Request joining group due to: {reasons.ALREADY_REBALANCING}")]
    return []


@WRITER.handles(e.ConsumerFenced)
def consumer_fenced(log: KafkaLogState, event: e.ConsumerFenced) -> list[Line]:
    message = f"Caught fenced group.instance.id {optional(event.instance_id)} error in heartbeat thread"
    return [consumer_line(log, event.member, message, level="ERROR")]
