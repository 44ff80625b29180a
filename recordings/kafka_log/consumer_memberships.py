"""Log lines of consumers of the new group protocol: their states and epochs. One function a class of events."""

from collections.abc import Sequence
from typing import Final

from cluster import events as e
from cluster.protocol.client_states import ConsumerMemberState
from recordings.kafka_log.consumer_lines import ASYNC_CONSUMER, COMMITS, MEMBERSHIP, consumer_line
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.java_maps import tree_set
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

_INTERNALS: Final = "org.apache.kafka.clients.consumer.internals."
HEARTBEATS: Final = f"{_INTERNALS}ConsumerHeartbeatRequestManager"
POLL_TIMEOUT: Final = (
    "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the"
    " configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing"
    " messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of"
    " batches returned in poll() with max.poll.records."
)

BACKOFF_MS: Final = 100
"""`retry.backoff.ms`, which Kafka prints with its jitter, and which a fenced member does not wait for."""
_FATAL: Final = {
    "UNRELEASED_INSTANCE_ID": (
        "unreleased instance id {instance}: {who} cannot join the group because the instance id is owned by {owner}"
        " member."
    ),
    "FENCED_INSTANCE_ID": (
        "fenced instance id {instance}: {who} was fenced by member {owner}.. This is expected in the case that the"
        " member was removed from the group by an admin client, and another member joined using the same group"
        " instance id."
    ),
    "GROUP_MAX_SIZE_REACHED": (
        "GROUP_MAX_SIZE_REACHED: The consumer group has reached its maximum capacity of {size} members."
    ),
    "GROUP_ID_NOT_FOUND": "unexpected error GROUP_ID_NOT_FOUND: {refusal}",
    "UNKNOWN_SERVER_ERROR": (
        "unexpected error UNKNOWN_SERVER_ERROR: The server experienced an unexpected error when processing the request."
    ),
}

_S = ConsumerMemberState
_STATES: Final = tuple(state.value for state in _S if state not in (_S.LEFT, _S.DEAD))


@WRITER.handles(e.GroupProtocolDeclared)
def group_protocol_declared(log: KafkaLogState, event: e.GroupProtocolDeclared) -> list[Line]:
    """Its consumers are Kafka's AsyncKafkaConsumer."""
    group = log.group(event.group)
    group.asynchronous = group.consumer = event.protocol == "consumer"
    group.topic_regex = event.topic_regex
    return []


@WRITER.handles(e.MemberProtocolDeclared)
def member_protocol_declared(log: KafkaLogState, event: e.MemberProtocolDeclared) -> list[Line]:
    """Its process is Kafka's other consumer."""
    log.member(event.member).starts_asynchronous = event.protocol == "consumer"
    return []


@WRITER.handles(e.MemberAssignorsDeclared)
def member_assignors_declared(log: KafkaLogState, event: e.MemberAssignorsDeclared) -> list[Line]:
    """The first of them is what a classic member of a consumer group calls its protocol."""
    log.member(event.member).assignors = event.assignors
    return []


@WRITER.handles(e.SettingChanged)
def setting_changed(log: KafkaLogState, event: e.SettingChanged) -> list[Line]:
    """The next process of these consumers is Kafka's other one."""
    if event.key == "group.protocol":
        if event.scope in log.groups:
            log.group(event.scope).asynchronous = event.value == "consumer"
        for member in event.processes:
            log.member(member).starts_asynchronous = event.value == "consumer"
    return []


@WRITER.handles(e.MemberStateChanged)
def member_state_changed(log: KafkaLogState, event: e.MemberStateChanged) -> list[Line]:
    """Each transition has a line; the first state of a process has none, as it is no transition."""
    before, member = log.member(event.member).state, event.member
    if event.state == _S.UNSUBSCRIBED:
        log.member(member).asynchronous = log.member(member).starts_asynchronous = True
    _count_target(log, event, before)
    if event.state not in _STATES or (event.state == _S.UNSUBSCRIBED and not event.member_id):
        return []
    lines = _why(log, event)
    words = f"Member {event.member_id} with epoch {event.generation} transitioned from {before} to {event.state}."
    lines.append(consumer_line(log, member, words, MEMBERSHIP))
    if event.state == _S.FATAL:
        fatal = f"Member {event.member_id} with epoch {event.generation} transitioned to fatal state"
        lines.append(consumer_line(log, member, fatal, MEMBERSHIP, "ERROR"))
    return lines


def _why(log: KafkaLogState, event: e.MemberStateChanged) -> list[Line]:
    """What precedes a transition: the refused heartbeat, or the poll timer."""
    if event.state == _S.PREPARE_LEAVING and event.reason:
        return [consumer_line(log, event.member, POLL_TIMEOUT, HEARTBEATS, "WARN")]
    if event.state == _S.FENCED:
        who = f"member {event.member_id}"
        why = f"{who} is unknown. in {BACKOFF_MS}ms: Member {event.member_id} is not a member of group {event.group}."
        if event.reason == "FENCED_MEMBER_EPOCH":
            return [_refused(log, event, f"for {who} because epoch {event.generation} is fenced.", "INFO")]
        return [_refused(log, event, f"because {why}", "INFO")]
    if event.state != _S.FATAL or event.reason not in _FATAL:
        return []
    group, instance_id = log.group(event.group), log.member(event.member).instance_id
    words = _FATAL[event.reason].format(
        instance=instance_id,
        who=f"Static member {event.member_id} with instance id {instance_id}",
        owner=group.owner_of(instance_id),
        size=len(group.rebalance_timeouts_ms),
        refusal=group.refusal,
    )
    return [_refused(log, event, f"due to {words}", "ERROR")]


def _refused(log: KafkaLogState, event: e.MemberStateChanged, why: str, level: str) -> Line:
    return consumer_line(log, event.member, f"ConsumerGroupHeartbeatRequest failed {why}", HEARTBEATS, level)


@WRITER.handles(e.MemberEpochChanged)
def member_epoch_changed(log: KafkaLogState, event: e.MemberEpochChanged) -> list[Line]:
    """Commits of a member that has lost its epoch carry none."""
    known = log.member(event.member)
    had, known.generation = known.generation > 0, event.epoch
    if not had or event.epoch > 0:
        return []
    message = "won't include epoch in following offset commit/fetch requests because it has left the group."
    return [consumer_line(log, event.member, f"Member {event.member_id} {message}", COMMITS)]


@WRITER.handles(e.MemberStopped)
def member_stopped(log: KafkaLogState, event: e.MemberStopped) -> list[Line]:
    """close() has waited for the answer to the last heartbeat; after a fatal error it sent none."""
    closed = event.how == "stop" or log.member(event.member).state == _S.FATAL
    if not closed or event.how == "kill" or not log.member(event.member).asynchronous:
        return []
    return [consumer_line(log, event.member, "Completed leaving the group", ASYNC_CONSUMER)]


# --- reconciliations ----------------------------------------------------------------------------------------------


def _count_target(log: KafkaLogState, event: e.MemberStateChanged, before: str) -> None:
    """Follow `LocalAssignment.localEpoch`: how many targets the member was sent since it joined, without the first."""
    known = log.member(event.member)
    if event.state == _S.JOINING:
        known.local_epoch, known.reconciles = -1, False
    elif event.state == _S.RECONCILING and before != _S.ACKNOWLEDGING:
        known.local_epoch += 1


def _reconciles(log: KafkaLogState, member: str, added: Sequence[str], revoked: Sequence[str]) -> list[Line]:
    """The first line of a reconciliation, with the first event that it causes: none takes and gives partitions."""
    known = log.member(member)
    if known.state != _S.RECONCILING or known.reconciles:
        return []
    known.reconciles = True
    assigned = [name for name in (*known.owned, *added) if name not in revoked]
    message = (
        f"Reconciling assignment with local epoch {known.local_epoch}\n"
        f"\tMember:                                    {known.member_id}\n"
        f"\tAssigned partitions:                       {tree_set(assigned)}\n"
        f"\tCurrent owned partitions:                  {tree_set(known.owned)}\n"
        f"\tAdded partitions (assigned - owned):       {tree_set(added)}\n"
        f"\tRevoked partitions (owned - assigned):     {tree_set(revoked)}\n"
    )
    return [consumer_line(log, member, message, MEMBERSHIP)]


def _gives_up(log: KafkaLogState, member: str, partitions: Sequence[str]) -> list[Line]:
    lines = _reconciles(log, member, (), partitions)
    revoking = f"Revoking previously assigned partitions {tree_set(partitions)}"
    return [*lines, consumer_line(log, member, revoking, MEMBERSHIP)] if lines else []


@WRITER.handles(e.RebalanceListenerCalled)
def rebalance_listener_called(log: KafkaLogState, event: e.RebalanceListenerCalled) -> list[Line]:
    """The background thread writes its lines before the application's thread calls the listener."""
    return _gives_up(log, event.member, event.partitions)


@WRITER.handles(e.PartitionsRevoked)
def partitions_revoked(log: KafkaLogState, event: e.PartitionsRevoked) -> list[Line]:
    """Without a listener nothing precedes it."""
    return [] if event.lost else _gives_up(log, event.member, event.partitions)


@WRITER.handles(e.PartitionsAssigned)
def partitions_assigned(log: KafkaLogState, event: e.PartitionsAssigned) -> list[Line]:
    """The end of a reconciliation."""
    lines = _reconciles(log, event.member, event.partitions, ())
    log.member(event.member).reconciles = False
    return lines


@WRITER.handles(e.RebalanceListenerReturned)
def rebalance_listener_returned(log: KafkaLogState, event: e.RebalanceListenerReturned) -> list[Line]:
    """A member that was fenced, or has left, while its listener ran takes nothing."""
    known = log.member(event.member)
    if not known.reconciles or known.state == _S.RECONCILING:
        return []
    known.reconciles = False
    why = f"the member already transitioned out of the reconciling state into {known.state}"
    message = f"Interrupting reconciliation that is not relevant anymore because {why}"
    return [consumer_line(log, event.member, message, MEMBERSHIP)]
