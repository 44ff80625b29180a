"""Log lines of consumers: the classic consumer of the 4.x client. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

import re
from typing import Final

from cluster import events as e
from cluster.protocol import reasons
from cluster.protocol.client_states import ConsumerMemberState
from recordings.kafka_log.consumer_lines import (
    ASYNC_CONSUMER,
    CONSUMER,
    ERRORS,
    EXCEPTIONS,
    JOINS,
    assignment_text,
    consumer_line,
    coordinator_node,
    generation_of,
    optional,
    own_generation,
)
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.java_maps import tree_set
from recordings.kafka_log.state import KafkaLogState, Line, MemberLogState

WRITER = LogWriter()

INVOKER = "org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker"
POLL_TIMEOUT = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the"
    " configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing"
    " messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of"
    " batches returned in poll() with max.poll.records."
)
LOST = "partition lost"
LEAVING = "consumer pro-actively leaving the group"
ENCOUNTERED = re.compile(r"encountered (\w+) from (\w+) response")


@WRITER.handles(e.MemberDeclared)
def member_declared(log: KafkaLogState, event: e.MemberDeclared) -> list[Line]:
    known = log.member(event.member)
    known.group, known.instance_id, known.topics = event.group, event.instance_id, event.topics
    known.starts_asynchronous = log.group(event.group).asynchronous
    return []


@WRITER.handles(e.MemberStarted)
def member_started(log: KafkaLogState, event: e.MemberStarted) -> list[Line]:
    known = log.member(event.member)
    known.running, known.generation, known.member_id, known.coordinator, known.asked = True, -1, "", -1, ""
    known.owned, known.unpositioned, known.fenced_by_commit, known.listened = {}, {}, False, False
    known.commits_in_hand, known.beat_refused, known.paused = 0, "", {}
    known.ended_commits, known.joined, known.unread = [], False, []
    known.asynchronous = known.starts_asynchronous and not known.topics  # else its first state says so
    if event.member in log.transactional_ids:
        known.subscribes_later = True  # after initTransactions() has returned
        return []
    return subscribed(log, event.member)


_UNSUBSCRIBED: Final = "Unsubscribed all topics or patterns and assigned partitions"


def subscribed(log: KafkaLogState, member: str) -> list[Line]:
    """The consumer's line on its subscription; none for one that calls assign()."""
    known = log.member(member)
    topics, group = ", ".join(known.topics), log.group(known.group)
    logger = _logger(log, member)
    if group.topic_regex and not topics:
        return [consumer_line(log, member, f"Subscribing to regular expression {group.topic_regex}", logger)]
    return [consumer_line(log, member, f"Subscribed to topic(s): {topics}", logger)] if topics else []


def _logger(log: KafkaLogState, member: str) -> str:
    return ASYNC_CONSUMER if log.member(member).starts_asynchronous else CONSUMER


@WRITER.handles(e.MemberStopped)
def member_stopped(log: KafkaLogState, event: e.MemberStopped) -> list[Line]:
    log.member(event.member).running = False
    return []


# --- joining, refusals, leaving ------------------------------------------------------------------------------------


@WRITER.handles(e.MemberStateChanged)
def member_state_changed(log: KafkaLogState, event: e.MemberStateChanged) -> list[Line]:
    known, member = log.member(event.member), event.member
    lines = _refused(log, event, known)
    if event.state == "Fenced":
        lines = _fenced(log, member, known)
    if event.generation != known.generation >= 0:
        known.former = own_generation(log, known)
    known.generation, known.member_id = event.generation, event.member_id or known.member_id
    now = generation_of(log, known, event.generation, event.member_id)
    before, known.state = known.state, event.state
    known.hands_over = event.state == "Revoking" and event.reason == reasons.REVOKED
    match event.state:
        case "Joining" if not lines:
            lines = _put_off(log, event, known, before)
            lines += [*_asks(log, event, known), *(ended_commits(log, member) if known.joined else ())]
            lines += [consumer_line(log, member, "(Re-)joining group"), *read_next(known)]
            known.asked, known.joined_topics, known.join_arrived = "", known.topics, False
            known.joined = bool(known.ended_commits)
            known.claimed = known.generation, tuple(known.owned)
        case "Revoking" if not known.hands_over:  # else it requests the rejoin after it has revoked them
            lines += _asks(log, event, known)
        case "Syncing":
            lines.append(consumer_line(log, member, f"Successfully joined group with generation {now}"))
        case "Stable" if before == "Syncing":
            lines.append(consumer_line(log, member, f"Successfully synced group in generation {now}"))
            lines += _update(log, member, known)
        case "Left":
            lines += ended_commits(log, member) if event.reason == reasons.CLOSED else []
            lines += _left(log, event, known)
        case _:
            pass
    return lines


@WRITER.handles(e.JoinReceived)
def join_received(log: KafkaLogState, event: e.JoinReceived) -> list[Line]:
    """When its JoinGroup has arrived, a member is in its next poll()."""
    return ended_commits(log, event.member) if log.member(event.member).joined else []


def ended_commits(log: KafkaLogState, member: str) -> list[Line]:
    """The lines of auto commits that ended since the last poll(): the next one invokes their callbacks."""
    known = log.member(member)
    messages, known.ended_commits, known.joined = known.ended_commits, [], False
    return [consumer_line(log, member, message, level="WARN") for message in messages]


def _put_off(log: KafkaLogState, event: e.MemberStateChanged, known: MemberLogState, before: str) -> list[Line]:
    """A SyncGroup that met the next rebalance, a JoinGroup whose coordinator had not loaded its groups yet."""
    if before == "Syncing" and event.reason == reasons.rebalance_failed("REBALANCE_IN_PROGRESS"):
        message = "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was"
        return [consumer_line(log, event.member, f"{message} {own_generation(log, known)}")]
    if before == "Joining" and event.reason == reasons.rebalance_failed("COORDINATOR_LOAD_IN_PROGRESS"):
        message = f"JoinGroup failed: Coordinator {coordinator_node(known.coordinator)} is loading the group."
        return [consumer_line(log, event.member, message)]
    return []


def _asks(log: KafkaLogState, event: e.MemberStateChanged, known: MemberLogState) -> list[Line]:
    """The line that requests a rejoin, once, with its reason."""
    if not event.reason or event.reason == known.asked:
        return []
    known.asked = event.reason
    return [request_to_join(log, event.member, known, event.reason)]


def request_to_join(log: KafkaLogState, member: str, known: MemberLogState, reason: str) -> Line:
    """The line of a member that wants to join again."""
    return consumer_line(log, member, f"Request joining group due to: {_in_full(log, known, reason)}")


def _in_full(log: KafkaLogState, known: MemberLogState, reason: str) -> str:
    """The reason as the log has it; the request has a shorter one (KIP-800). The metadata's version is left out."""
    if reason == reasons.SUBSCRIPTION_CHANGED:
        before, now = (f"[{', '.join(topics)}]" for topics in (known.joined_topics, known.topics))
        return f"{reason} from {before} at the beginning of the rebalance to {now}"
    if reason == reasons.METADATA_CHANGED:
        counts = {topic: log.partition_counts.get(topic, 0) for topic in known.counts}
        return f"{reason} from {_snapshot(known.counts)} at the beginning of the rebalance to {_snapshot(counts)}"
    if not reason.startswith(reasons.REBALANCE_FAILED):
        return reason
    exception = reason.removeprefix(reasons.REBALANCE_FAILED)
    return f"{reasons.REBALANCE_FAILED}'{EXCEPTIONS.get(exception, 'null')}' ({exception})"


def _snapshot(counts: dict[str, int]) -> str:
    """Topics with the racks of each partition's replicas, of which these have none (`MetadataSnapshot`)."""
    topics = ", ".join(f"{topic}=[{', '.join(['NO_RACKS'] * count)}]" for topic, count in counts.items())
    return f"({{{topics}}})"


def _update(log: KafkaLogState, member: str, known: MemberLogState) -> list[Line]:
    """The lines of a cooperative member on its assignment."""
    group = log.group(known.group)
    if not group.cooperative:
        return []
    assigned = group.assignment.get(known.member_id, ())
    added = [name for name in assigned if name not in known.owned]
    revoked = [name for name in known.owned if name not in assigned]
    rows = {
        "Assigned partitions:": assigned,
        "Current owned partitions:": tuple(known.owned),
        "Added partitions (assigned - owned):": added,
        "Revoked partitions (owned - assigned):": revoked,
    }
    table = "".join(f"\n\t{title:<43}{tree_set(names)}" for title, names in rows.items())
    return [consumer_line(log, member, f"Updating assignment with{table}\n")]


def _refused(log: KafkaLogState, event: e.MemberStateChanged, known: MemberLogState) -> list[Line]:
    """A response that resets the member's generation, and perhaps its member id."""
    found = ENCOUNTERED.fullmatch(event.reason)
    if found is None or event.reason == known.asked:
        return []
    error, api = found.groups()
    sent = own_generation(log, known)
    instance = optional(known.instance_id)
    lines = []
    match api:
        case "HEARTBEAT":
            message = f"Attempt to heartbeat with {sent} and group instance id {instance} failed due to {error},"
            lines.append(consumer_line(log, event.member, f"{message} resetting generation"))
        case "JOIN_GROUP" | "SYNC_GROUP":
            name = "JoinGroup" if api == "JOIN_GROUP" else "SyncGroup"
            message = f"{name} failed: {ERRORS[error]} Need to re-join the group. Sent generation was {sent}"
            lines.append(consumer_line(log, event.member, message))
        case _:
            pass
    lines += resets(log, event.member, event.reason, member_id=error != "ILLEGAL_GENERATION")
    known.asked = event.reason
    beat, known.beat_refused = known.beat_refused, ""
    if beat and api != "HEARTBEAT":
        known.unread.append(stale_heartbeat(log, event.member, sent, beat))
    return lines


def read_next(known: MemberLogState) -> list[Line]:
    """The lines on responses that the client reads from its socket after the last one."""
    lines, known.unread = known.unread, []
    return lines


def stale_heartbeat(log: KafkaLogState, member: str, sent: str, error: str) -> Line:
    """The refusal of a heartbeat that carried an earlier generation or member id."""
    instance = optional(log.member(member).instance_id)
    message = f"Attempt to heartbeat with stale {sent} and group instance id {instance} failed due to {error},"
    return consumer_line(log, member, f"{message} ignoring the error")


def resets(log: KafkaLogState, member: str, reason: str, *, member_id: bool = True) -> list[Line]:
    """The lines of a consumer that gives up its generation, and perhaps its member id."""
    what = "generation and member id " if member_id else "generation "
    return [
        consumer_line(log, member, f"Resetting {what}due to: {reason}"),
        consumer_line(log, member, f"Request joining group due to: {reason}"),
    ]


def _left(log: KafkaLogState, event: e.MemberStateChanged, known: MemberLogState) -> list[Line]:
    """A member of a group sends LeaveGroup, unless it is static or knows no coordinator; the reason comes first."""
    member, member_id = event.member, known.member_id
    slow = "poll" in event.reason
    lines = [consumer_line(log, member, POLL_TIMEOUT, level="WARN")] if slow else []
    if not known.instance_id and member_id and known.coordinator >= 0:
        unsubscribes = event.reason == reasons.UNSUBSCRIBED
        due = reasons.POLL_TIMEOUT if slow else reasons.UNSUBSCRIBED if unsubscribes else reasons.CLOSED
        coordinator = coordinator_node(known.coordinator)
        message = f"Member {member_id} sending LeaveGroup request to coordinator {coordinator} due to {due}"
        lines.append(consumer_line(log, member, message))
    known.generation, known.member_id, known.asked = -1, "", LEAVING
    return [*lines, *resets(log, member, LEAVING)]


def _fenced(log: KafkaLogState, member: str, known: MemberLogState) -> list[Line]:
    """FENCED_INSTANCE_ID in the response of a heartbeat, JoinGroup or SyncGroup; a commit has a line of its own."""
    sent, instance = own_generation(log, known), optional(known.instance_id)
    if known.fenced_by_commit:
        return []
    if known.state in JOINS:
        message = f"{JOINS[known.state]} failed: The group instance id {instance} has been fenced by another instance."
        return [consumer_line(log, member, f"{message} Sent generation was {sent}", level="ERROR")]
    message = f"Attempt to heartbeat with {sent} and group instance id {instance} failed due to FENCED_INSTANCE_ID,"
    reason = reasons.encountered("FENCED_INSTANCE_ID", "HEARTBEAT")
    return [consumer_line(log, member, f"{message} resetting generation"), *resets(log, member, reason)]


@WRITER.handles(e.ApplicationFailed)
def application_failed(log: KafkaLogState, event: e.ApplicationFailed) -> list[Line]:
    """poll() throws to the application; of a JoinGroup that fails for good the consumer itself logs a line too."""
    if event.reason not in ERRORS:
        return []
    said = ERRORS[event.reason]
    thrown = f"Consumer group {event.group} already has the configured maximum number of members."
    thrown = thrown if event.reason == "GROUP_MAX_SIZE_REACHED" else said
    exception = f"{event.reason.title().replace('_', '')}Exception"
    again = f"Request joining group due to: rebalance failed due to '{thrown}' ({exception})"
    return [
        consumer_line(log, event.member, f"JoinGroup failed due to fatal error: {said}", level="ERROR"),
        consumer_line(log, event.member, again),
        *resets(log, event.member, LEAVING),  # close(), which has no member id for LeaveGroup
    ]


@WRITER.handles(e.SubscriptionChanged)
def subscription_changed(log: KafkaLogState, event: e.SubscriptionChanged) -> list[Line]:
    log.member(event.member).topics = event.topics
    if not event.topics:
        return [consumer_line(log, event.member, _UNSUBSCRIBED, _logger(log, event.member))]
    return subscribed(log, event.member)


# --- partitions -------------------------------------------------------------------------------------------------------


@WRITER.handles(e.PartitionsAssigned)
def partitions_assigned(log: KafkaLogState, event: e.PartitionsAssigned) -> list[Line]:
    known = log.member(event.member)
    known.unpositioned |= dict.fromkeys(event.partitions)
    known.owned |= dict.fromkeys(event.partitions)
    if event.generation < 0:
        named = ", ".join(event.partitions)
        return [consumer_line(log, event.member, f"Assigned to partition(s): {named}", CONSUMER)]
    group = log.group(event.group)
    leader_gave = group.assignment.get(known.member_id, event.partitions)
    given = tuple(known.owned) if group.consumer else leader_gave  # in a consumer group the coordinator assigns
    added = f"Adding newly assigned partitions: {tree_set(event.partitions)}"
    lines = [consumer_line(log, event.member, added, INVOKER)]
    if known.state == ConsumerMemberState.RECONCILING:  # the assignor is the broker's
        return lines
    return [consumer_line(log, event.member, f"Notifying assignor about the new {assignment_text(given)}"), *lines]


@WRITER.handles(e.RebalanceListenerCalled)
def rebalance_listener_called(log: KafkaLogState, event: e.RebalanceListenerCalled) -> list[Line]:
    """Kafka writes the line before it calls the listener."""
    log.member(event.member).listened = True
    return _revokes(log, event)


def _revokes(log: KafkaLogState, event: e.PartitionsRevoked | e.RebalanceListenerCalled) -> list[Line]:
    message = f"Revoke previously assigned partitions {tree_set(event.partitions)}"
    return [consumer_line(log, event.member, message, INVOKER), *_unpauses(log, event, "revocation")]


def _unpauses(log: KafkaLogState, event: e.PartitionsRevoked | e.RebalanceListenerCalled, why: str) -> list[Line]:
    """The line of partitions that go while they are paused; if one is, Kafka names all that are lost."""
    paused = log.member(event.member).paused
    those = [name for name in event.partitions if paused.pop(name, "") is None]
    named = tree_set(event.partitions if why == LOST else those)
    message = f"The pause flag in partitions {named} will be removed due to {why}."
    return [consumer_line(log, event.member, message, INVOKER)] if those else []


@WRITER.handles(e.PartitionsPaused)
def partitions_paused(log: KafkaLogState, event: e.PartitionsPaused) -> list[Line]:
    log.member(event.member).paused |= dict.fromkeys(event.partitions)
    return []


@WRITER.handles(e.PartitionsResumed)
def partitions_resumed(log: KafkaLogState, event: e.PartitionsResumed) -> list[Line]:
    for partition in event.partitions:
        log.member(event.member).paused.pop(partition, None)
    return []


@WRITER.handles(e.PartitionsRevoked)
def partitions_revoked(log: KafkaLogState, event: e.PartitionsRevoked) -> list[Line]:
    known = log.member(event.member)
    for partition in event.partitions:
        known.unpositioned.pop(partition, None)
        known.owned.pop(partition, None)
    names = tree_set(event.partitions)
    listened, known.listened = known.listened, False
    if not event.lost:
        lines = [] if listened else _revokes(log, event)
        if known.hands_over:
            known.asked = reasons.REVOKED
            full = f"need to revoke partitions {names} as indicated by the current assignment and re-join"
            lines.append(consumer_line(log, event.member, f"Request joining group due to: {full}"))
        return lines
    message = (
        "Giving away all assigned partitions as lost since generation/memberID has been reset,indicating that consumer"
        " is in old state or no longer part of the group"
    )
    lost = [consumer_line(log, event.member, f"Lost previously assigned partitions {names}", INVOKER)]
    lost += _unpauses(log, event, LOST)
    if known.state == "Fenced" or known.asynchronous:  # no reason is logged with it
        return lost
    return [consumer_line(log, event.member, message), *lost]
