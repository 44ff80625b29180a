"""What consumers and producers write. One function a kind of event, by its name."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from recordings.kafka_log_notes import Line, Notes

COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
INVOKER = "org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker"
CONSUMER = "org.apache.kafka.clients.consumer.KafkaConsumer"
UTILS = "org.apache.kafka.clients.consumer.internals.ConsumerUtils"
SUBSCRIPTIONS = "org.apache.kafka.clients.consumer.internals.SubscriptionState"
SENDER = "org.apache.kafka.clients.producer.internals.Sender"
TRANSACTIONS = "org.apache.kafka.clients.producer.internals.TransactionManager"

POLL_TIMEOUT = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the"
    " configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing"
    " messages."
)


def _consumer(group: str, member: str, message: str, logger: str = COORDINATOR, level: str = "INFO") -> Line:
    return Line(level, f"[Consumer clientId={member}, groupId={group}] ", message, logger)


def _producer(notes: Notes, producer: str, message: str, logger: str, level: str = "INFO") -> Line:
    transactional = notes.transactional_ids.get(producer, "")
    suffix = f", transactionalId={transactional}" if transactional else ""
    return Line(level, f"[Producer clientId={producer}{suffix}] ", message, logger)


def _generation(notes: Notes, group: str, member: str, generation: int) -> str:
    protocol = notes.group(group).protocol
    return f"Generation{{generationId={generation}, memberId='{notes.member_id(member)}', protocol='{protocol}'}}"


def _node(broker: int) -> str:
    """A coordinator as a client prints it: ids count down from Integer.MAX_VALUE, for a connection of their own."""
    return f"broker-{broker}:9092 (id: {2**31 - 1 - broker} rack: null)"


# --- consumers -----------------------------------------------------------------------------------------------------


def member_declared(notes: Notes, event: e.MemberDeclared) -> list[Line]:
    notes.topics[event.member] = event.topics
    notes.groups_of[event.member] = event.group
    if event.instance_id:
        notes.instance_ids[event.member] = event.instance_id
    return []


def member_started(notes: Notes, event: e.MemberStarted) -> list[Line]:
    topics = ", ".join(notes.topics.get(event.member, ()))
    return [_consumer(event.group, event.member, f"Subscribed to topic(s): {topics}", CONSUMER)]


def coordinator_found(notes: Notes, event: e.CoordinatorFound) -> list[Line]:
    notes.coordinators[event.member] = event.broker
    return [_consumer(event.group, event.member, f"Discovered group coordinator {_node(event.broker)}")]


def member_state_changed(notes: Notes, event: e.MemberStateChanged) -> list[Line]:
    group, member = event.group, event.member
    generation = _generation(notes, group, member, event.generation)
    match event.state:
        case "Joining":
            return [_consumer(group, member, "(Re-)joining group")]
        case "Revoking":
            return [_consumer(group, member, f"Request joining group due to: {event.reason}")] if event.reason else []
        case "Syncing":
            return [_consumer(group, member, f"Successfully joined group with generation {generation}")]
        case "Stable":
            return [_consumer(group, member, f"Successfully synced group in generation {generation}")]
        case "Fenced":
            return [_consumer(group, member, f"Caught fatal error: {event.reason}", level="ERROR")]
        case "Left":
            return _left(notes, event)
        case _:
            return []


def _left(notes: Notes, event: e.MemberStateChanged) -> list[Line]:
    """A member that was in a group says LeaveGroup, unless it is static; before that, why."""
    group, member = event.group, event.member
    slow = "poll" in event.reason
    lines = [_consumer(group, member, POLL_TIMEOUT, level="WARN")] if slow else []
    member_id = event.member_id or notes.member_ids.get(member, "")
    if member not in notes.instance_ids and member_id:
        due = "consumer poll timeout has expired." if slow else "the consumer is being closed"
        coordinator = _node(notes.coordinators.get(member, -1))
        message = f"Member {member_id} sending LeaveGroup request to coordinator {coordinator} due to {due}"
        lines.append(_consumer(group, member, message))
    return lines


def heartbeat_answered(notes: Notes, event: e.HeartbeatAnswered) -> list[Line]:
    match event.error:
        case "NONE" | "REBALANCE_IN_PROGRESS":
            return []  # the client says "Request joining group" when it acts on it
        case "NOT_COORDINATOR" | "COORDINATOR_NOT_AVAILABLE":
            coordinator = _node(notes.coordinators.get(event.member, -1))
            message = f"Attempt to heartbeat failed since coordinator {coordinator} is either not started or not valid"
        case error:
            generation = _generation(notes, event.group, event.member, notes.group(event.group).generation)
            instance = notes.instance_ids.get(event.member)
            optional = f"Optional[{instance}]" if instance else "Optional.empty"
            message = (
                f"Attempt to heartbeat with {generation} and group instance id {optional} failed due to {error},"
                " resetting generation"
            )
    return [_consumer(event.group, event.member, message)]


def offset_commit_refused(notes: Notes, event: e.OffsetCommitRefused) -> list[Line]:
    generation = _generation(notes, event.group, event.member, event.generation)
    return [_consumer(event.group, event.member, f"OffsetCommit failed with {generation}: {event.error}")]


def partitions_assigned(_notes: Notes, event: e.PartitionsAssigned) -> list[Line]:
    message = f"Adding newly assigned partitions: {', '.join(event.partitions)}"
    return [_consumer(event.group, event.member, message, INVOKER)]


def partitions_revoked(_notes: Notes, event: e.PartitionsRevoked) -> list[Line]:
    verb = "Lost" if event.lost else "Revoke"
    message = f"{verb} previously assigned partitions {', '.join(event.partitions)}"
    return [_consumer(event.group, event.member, message, INVOKER)]


def positions_reset(_notes: Notes, event: e.PositionsReset) -> list[Line]:
    lines = []
    for partition, offset in event.positions.items():
        match event.reason:
            case "committed":
                position = f"FetchPosition{{offset={offset}}}"
                message, logger = f"Setting offset for partition {partition} to the committed offset {position}", UTILS
            case "seek":
                message, logger = f"Seeking to offset {offset} for partition {partition}", CONSUMER
            case "truncated":
                message = f"Truncation detected for partition {partition}, resetting offset to {offset}"
                logger = SUBSCRIPTIONS
            case _:
                position = f"FetchPosition{{offset={offset}}}"
                message, logger = f"Resetting offset for partition {partition} to position {position}.", SUBSCRIPTIONS
        lines.append(_consumer(event.group, event.member, message, logger))
    return lines


# --- producers -----------------------------------------------------------------------------------------------------


def producer_declared(notes: Notes, event: e.ProducerDeclared) -> list[Line]:
    if event.transactional_id:
        notes.transactional_ids[event.producer] = event.transactional_id
    return []


def producer_id_assigned(notes: Notes, event: e.ProducerIdAssigned) -> list[Line]:
    message = f"ProducerId set to {event.producer_id} with epoch {event.epoch}"
    return [_producer(notes, event.producer, message, TRANSACTIONS)]


def batch_retried(notes: Notes, event: e.BatchRetried) -> list[Line]:
    message = (
        f"Got error produce response on topic-partition {event.partition}, retrying (attempt {event.attempt})."
        f" Error: {event.error}"
    )
    return [_producer(notes, event.producer, message, SENDER, "WARN")]


def batch_failed(notes: Notes, event: e.BatchFailed) -> list[Line]:
    message = f"Failed {event.records} record(s) for {event.partition}: {event.error}"
    return [_producer(notes, event.producer, message, SENDER, "ERROR")]
