"""Log lines of consumers on refused commits and on positions. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol import reasons
from cluster.protocol.names import ADMIN_CLIENT
from recordings.kafka_log.consumer_lines import (
    ASYNC_CONSUMER,
    COMMITS,
    CONSUMER,
    COORDINATOR,
    ERRORS,
    MEMBERSHIP,
    consumer_line,
    generation_of,
    node,
    optional,
)
from recordings.kafka_log.consumers import ended_commits, read_next, resets
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.java_maps import commit_order, consumed_order
from recordings.kafka_log.state import KafkaLogState, Line, MemberLogState

WRITER = LogWriter()

UTILS = "org.apache.kafka.clients.consumer.internals.ConsumerUtils"
SUBSCRIPTIONS = "org.apache.kafka.clients.consumer.internals.SubscriptionState"
COLLECTOR = "org.apache.kafka.clients.consumer.internals.FetchCollector"

RETRIABLE = {"REQUEST_TIMED_OUT", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}

UNSENT = {
    "CommitFailedException": (
        "Offset commit cannot be completed since the consumer is not part of an active group for auto partition"
        " assignment; it is likely that the consumer was kicked out of the group."
    ),
    "RebalanceInProgressException": (
        "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment."
        " You can try completing the rebalance by calling poll() and then retry the operation."
    ),
}
"""The messages of the client's own exceptions, when it does not send a commit."""

_GONE = (
    "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member."
    " This means that the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms,"
    " which typically implies that the poll loop is spending too much time message processing. You can address this"
    " either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with"
    " max.poll.records."
)
FAILED = {
    "UNKNOWN_MEMBER_ID": _GONE,
    "ILLEGAL_GENERATION": _GONE,
    "REBALANCE_IN_PROGRESS": (
        "Offset commit cannot be completed since the consumer group is executing a rebalance at the moment. You can try"
        " completing the rebalance by calling poll() and then retry commit again"
    ),
}
"""The message of a refused commit's exception, where it is not the error's own."""

STALE = (
    "Offset commit cannot be completed since the consumer member's generation is already stale, meaning it has already"
    " participated another rebalance and got a new generation. You can try completing the rebalance by calling poll()"
    " and then retry commit again"
)


@WRITER.handles(e.OffsetCommitRefused)
def offset_commit_refused(log: KafkaLogState, event: e.OffsetCommitRefused) -> list[Line]:
    known = log.members.get(event.member)
    if known is None or not known.running:
        return []  # a stopped process logs nothing
    if event.error in RETRIABLE and _unheard(known):
        return []
    if known.asynchronous:
        return _refused_by_epoch(log, event)
    if event.error == "CommitFailedException":
        message = "Failing OffsetCommit request since the consumer is not part of an active group"
        return [consumer_line(log, event.member, message)]
    error, said = event.error, ERRORS.get(event.error, event.error)
    level = "WARN" if error in RETRIABLE else "ERROR"
    lines = []
    for partition in commit_order(event.offsets)[:1]:  # the client stops at the first error
        message = f"Offset commit failed on partition {partition} at offset {event.offsets[partition]}: {said}"
        lines.append(consumer_line(log, event.member, message, level=level))
    sent = generation_of(log, known, event.generation, event.member_id)
    if error in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"}:
        lines.append(consumer_line(log, event.member, f"OffsetCommit failed with {sent}: {said}"))
        if event.generation < 0:  # with assign(): it resets what it never had
            lines += resets(log, event.member, reasons.encountered(error, "OFFSET_COMMIT"))
    elif error == "FENCED_INSTANCE_ID":
        instance = optional(known.instance_id)
        known.fenced_by_commit = True
        message = f"OffsetCommit failed with {sent} due to group instance id {instance} fenced"
        lines.append(consumer_line(log, event.member, message))
    return lines


def _refused_by_epoch(log: KafkaLogState, event: e.OffsetCommitRefused) -> list[Line]:
    """A refused commit of the new protocol; other errors are only thrown."""
    if event.error == "UNKNOWN_MEMBER_ID":
        message = f"OffsetCommit failed with {event.error}"
    elif event.error == "STALE_MEMBER_EPOCH":
        last = event.generation if event.generation > 0 else "undefined"
        member = f"for member {event.member_id} with stale member epoch error"
        message = f"OffsetCommit failed {member}. Last epoch sent: {last}"
    else:
        return []
    return [consumer_line(log, event.member, message, COMMITS, "ERROR")]


def _auto_commit_of_new_protocol_failed(log: KafkaLogState, event: e.AutoCommitFailed, offsets: str) -> list[Line]:
    if event.during == "close":
        return [consumer_line(log, event.member, "Synchronous auto-commit failed", ASYNC_CONSUMER, "WARN")]
    if event.during == "rejoin":
        message = "Auto-commit request before reconciling new assignment failed."
        message += " Will proceed with the reconciliation anyway."
        return [consumer_line(log, event.member, message, MEMBERSHIP, "ERROR")]
    return [consumer_line(log, event.member, f"Auto-commit of offsets {{{offsets}}} failed", COMMITS, "WARN")]


@WRITER.handles(e.AutoCommitFailed)
def auto_commit_failed(log: KafkaLogState, event: e.AutoCommitFailed) -> list[Line]:
    """The callback of an asynchronous commit waits for the next poll(), except while the member rejoins."""
    known, said = log.member(event.member), _exception(log, event)
    lines = []
    offsets = ", ".join(f"{name}={_offset(log, event, name)}" for name in consumed_order(event.offsets))
    if known.asynchronous:
        return _auto_commit_of_new_protocol_failed(log, event, offsets)
    if event.error in UNSENT:
        message = "Failing OffsetCommit request since the consumer is not part of an active group"
        lines.append(consumer_line(log, event.member, message))
    if event.during == "close":
        message = f"Synchronous auto-commit of offsets {{{offsets}}} failed: {said}"
        return [*ended_commits(log, event.member), *lines, consumer_line(log, event.member, message, level="WARN")]
    if event.during == "rejoin":
        lines += read_next(known)
        why = "joinPrepare timeout. Will" if event.error in RETRIABLE else f"{said}. Will"
        message = f"Asynchronous auto-commit of offsets failed: {why} continue to join group"
        message += "" if event.error in RETRIABLE else "."
        lines.append(consumer_line(log, event.member, message, level="ERROR"))
    if event.error in RETRIABLE or event.error == "FENCED_INSTANCE_ID":
        return lines  # the first is logged at level DEBUG, the second is thrown by poll()
    known.ended_commits.append(f"Asynchronous auto-commit of offsets {{{offsets}}} failed: {said}")
    return lines if event.during == "rejoin" else [*lines, *ended_commits(log, event.member)]


def _exception(log: KafkaLogState, event: e.AutoCommitFailed) -> str:
    """The message of the exception of a commit that failed for good."""
    known = log.member(event.member)
    if event.error in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"} and known.state == "Joining" and not known.asked:
        return STALE  # it has rejoined since it sent the commit
    return UNSENT.get(event.error) or FAILED.get(event.error) or ERRORS.get(event.error, event.error)


def _offset(log: KafkaLogState, event: e.AutoCommitFailed, partition: str) -> str:
    offset = event.offsets[partition]
    epoch = log.read_epoch(event.member, partition, offset)
    return f"OffsetAndMetadata{{offset={offset}, leaderEpoch={'null' if epoch is None else epoch}, metadata=''}}"


@WRITER.handles(e.SessionRenewed)
def session_renewed(log: KafkaLogState, event: e.SessionRenewed) -> list[Line]:
    log.member(event.member).commits_in_hand += 1
    return []


def _unheard(known: MemberLogState) -> bool:
    """A commit is settled: whether its member had dropped the connection over which it waited."""
    if known.unheard:
        known.unheard -= 1
        return True
    known.commits_in_hand = max(0, known.commits_in_hand - 1)
    return False


@WRITER.handles(e.OffsetsCommitted)
def offsets_committed(log: KafkaLogState, event: e.OffsetsCommitted) -> list[Line]:
    """A commit carries the leader epoch of the last record read; a commit in a transaction carries none."""
    if event.member in log.members:
        _unheard(log.members[event.member])
    for partition, offset in event.offsets.items():
        epoch = log.read_epoch(event.member, partition, offset) if event.member not in ("", ADMIN_CLIENT) else None
        log.committed_epochs[event.group, partition] = epoch
    return []


@WRITER.handles(e.PositionsReset)
def positions_reset(log: KafkaLogState, event: e.PositionsReset) -> list[Line]:
    """One OffsetFetch returns all committed offsets: the missing ones are logged first."""
    lines = []
    known = log.member(event.member)
    if event.reason == "committed":
        lines = no_offsets(log, event.member, [name for name in known.unpositioned if name not in event.positions])
    for partition, offset in event.positions.items():
        committed = log.committed_epochs.get((event.group, partition)) if event.reason == "committed" else None
        if event.reason != "truncated":
            known.reset_to[partition] = offset, committed
        lines += _position(log, event, partition, offset)
        known.unpositioned.pop(partition, None)
    return lines


def no_offsets(log: KafkaLogState, member: str, partitions: list[str]) -> list[Line]:
    """The newly assigned partitions without a committed offset."""
    for partition in partitions:
        log.member(member).unpositioned.pop(partition, None)
    logger = COMMITS if log.member(member).asynchronous else COORDINATOR
    return [
        consumer_line(log, member, f"Found no committed offset for partition {name}", logger) for name in partitions
    ]


def _position(log: KafkaLogState, event: e.PositionsReset, partition: str, offset: int) -> list[Line]:
    member, position = event.member, _fetch_position(log, event.member, partition, offset)
    match event.reason:
        case "committed":
            message = f"Setting offset for partition {partition} to the committed offset {position}"
            return [Line("INFO", "", message, UTILS)]  # a static logger has no client's context
        case "seek":
            return [consumer_line(log, member, f"Seeking to offset {offset} for partition {partition}", CONSUMER)]
        case "truncated":
            return []  # logged where it was detected
        case _:
            reset = consumer_line(
                log, member, f"Resetting offset for partition {partition} to position {position}.", SUBSCRIPTIONS
            )
            return [*no_offsets(log, member, [partition] * (partition in log.member(member).unpositioned)), reset]


@WRITER.handles(e.ApplicationFailed)
def application_failed(log: KafkaLogState, event: e.ApplicationFailed) -> list[Line]:
    """Without a reset policy poll() throws; partitions without a committed offset were logged before."""
    if not event.reason.startswith("NoOffsetForPartitionException"):
        return []
    return no_offsets(log, event.member, list(log.member(event.member).unpositioned))


@WRITER.handles(e.PositionOutOfRange)
def position_out_of_range(log: KafkaLogState, event: e.PositionOutOfRange) -> list[Line]:
    position = _fetch_position(log, event.member, event.partition, event.position)
    what = "resetting offset"
    if event.reset == "none":
        what = "raising error to the application since no reset policy is configured"
    message = f"Fetch position {position} is out of range for partition {event.partition}, {what}"
    return [consumer_line(log, event.member, message, COLLECTOR)]


@WRITER.handles(e.PositionTruncated)
def position_truncated(log: KafkaLogState, event: e.PositionTruncated) -> list[Line]:
    name, strict = event.partition, event.reset == "none"
    log.member(event.member).reset_to[name] = event.diverging, event.diverging_epoch
    message = (
        f"Truncation detected for partition {name} at offset"
        f" {_position_text(log, name, event.position, event.offset_epoch)}"
    )
    if strict and event.diverging >= 0:
        end = f"OffsetAndMetadata{{offset={event.diverging}, leaderEpoch={event.diverging_epoch}, metadata=''}}"
        message += f" (the end offset from the broker is {end})"
    message += ", but no reset policy is set" if strict else ", resetting offset"
    if not strict and event.diverging >= 0:
        diverging = _position_text(log, name, event.diverging, event.diverging_epoch)
        message += f" to the first offset known to diverge {diverging}"
    return [consumer_line(log, event.member, message, SUBSCRIPTIONS, level="WARN" if strict else "INFO")]


def _fetch_position(log: KafkaLogState, member: str, partition: str, offset: int) -> str:
    return _position_text(log, partition, offset, log.read_epoch(member, partition, offset))


def _position_text(log: KafkaLogState, partition: str, offset: int, epoch: int | None) -> str:
    known = log.partition(partition)
    offset_epoch = "Optional.empty" if epoch is None else f"Optional[{epoch}]"
    leader = f"Optional[{node(known.leader)}]"
    current = (
        f"LeaderAndEpoch{{leader={leader if known.leader >= 0 else 'Optional.empty'}, epoch={known.leader_epoch}}}"
    )
    return f"FetchPosition{{offset={offset}, offsetEpoch={offset_epoch}, currentLeader={current}}}"
