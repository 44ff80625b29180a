"""Log lines of consumers of the new group protocol: their states and epochs. One function a class of events."""

from typing import Final

from cluster import events as e
from cluster.protocol.client_states import ConsumerMemberState
from recordings.kafka_log.consumer_lines import consumer_line
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

_INTERNALS: Final = "org.apache.kafka.clients.consumer.internals."
MEMBERSHIP: Final = f"{_INTERNALS}ConsumerMembershipManager"
HEARTBEATS: Final = f"{_INTERNALS}ConsumerHeartbeatRequestManager"
COMMITS: Final = f"{_INTERNALS}CommitRequestManager"
POLL_TIMEOUT: Final = (
    "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the"
    " configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing"
    " messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of"
    " batches returned in poll() with max.poll.records."
)

_S = ConsumerMemberState
_STATES: Final = tuple(state.value for state in _S if state not in (_S.LEFT, _S.DEAD))


@WRITER.handles(e.GroupProtocolDeclared)
def group_protocol_declared(log: KafkaLogState, event: e.GroupProtocolDeclared) -> list[Line]:
    """Its consumers are Kafka's AsyncKafkaConsumer."""
    log.group(event.group).consumer = event.protocol == "consumer"
    return []


@WRITER.handles(e.MemberStateChanged)
def member_state_changed(log: KafkaLogState, event: e.MemberStateChanged) -> list[Line]:
    """Each transition has a line; the first state of a process has none, as it is no transition."""
    before, member = log.member(event.member).state, event.member
    if event.state not in _STATES or (event.state == _S.UNSUBSCRIBED and not event.member_id):
        return []
    lines = []
    if event.state == _S.FENCED:
        why = f"epoch {event.generation} is fenced" if event.reason == "FENCED_MEMBER_EPOCH" else ""
        unknown = f"ConsumerGroupHeartbeatRequest failed because member {event.member_id} is unknown."
        fenced = f"ConsumerGroupHeartbeatRequest failed for member {event.member_id} because {why}."
        lines.append(consumer_line(log, member, fenced if why else unknown, HEARTBEATS))
    elif event.state == _S.PREPARE_LEAVING and event.reason:
        lines.append(consumer_line(log, member, POLL_TIMEOUT, HEARTBEATS, "WARN"))
    words = f"Member {event.member_id} with epoch {event.generation} transitioned from {before} to {event.state}."
    lines.append(consumer_line(log, member, words, MEMBERSHIP))
    if event.state == _S.FATAL:
        fatal = f"Member {event.member_id} with epoch {event.generation} transitioned to fatal state"
        lines.append(consumer_line(log, member, fatal, MEMBERSHIP, "ERROR"))
    return lines


@WRITER.handles(e.MemberEpochChanged)
def member_epoch_changed(log: KafkaLogState, event: e.MemberEpochChanged) -> list[Line]:
    """Commits of a member that has lost its epoch carry none."""
    known = log.member(event.member)
    had, known.generation = known.generation > 0, event.epoch
    if not had or event.epoch > 0:
        return []
    message = "won't include epoch in following offset commit/fetch requests because it has left the group."
    return [consumer_line(log, event.member, f"Member {event.member_id} {message}", COMMITS)]
