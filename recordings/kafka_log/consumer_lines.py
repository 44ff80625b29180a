"""The parts of a consumer's lines: their context, and Java's texts of errors, generations, assignments and nodes."""

from recordings.kafka_log.state import KafkaLogState, Line, MemberLogState

COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
CONSUMER = "org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer"
MEMBERSHIP = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
COMMITS = "org.apache.kafka.clients.consumer.internals.CommitRequestManager"
ASYNC_CONSUMER = "org.apache.kafka.clients.consumer.internals.AsyncKafkaConsumer"

ERRORS = {
    "REQUEST_TIMED_OUT": "The request timed out.",
    "OFFSET_METADATA_TOO_LARGE": "The metadata field of the offset request was too large.",
    "COORDINATOR_LOAD_IN_PROGRESS": "The coordinator is loading and hence can't process requests.",
    "COORDINATOR_NOT_AVAILABLE": "The coordinator is not available.",
    "NOT_COORDINATOR": "This is not the correct coordinator.",
    "ILLEGAL_GENERATION": "Specified group generation id is not valid.",
    "INCONSISTENT_GROUP_PROTOCOL": (
        "The group member's supported protocols are incompatible with those of existing members or first group member"
        " tried to join with empty protocol type or empty protocol list."
    ),
    "INVALID_GROUP_ID": "The configured groupId is invalid.",
    "UNKNOWN_MEMBER_ID": "The coordinator is not aware of this member.",
    "INVALID_SESSION_TIMEOUT": (
        "The session timeout is not within the range allowed by the broker (as configured by"
        " group.min.session.timeout.ms and group.max.session.timeout.ms)."
    ),
    "REBALANCE_IN_PROGRESS": "The group is rebalancing, so a rejoin is needed.",
    "GROUP_MAX_SIZE_REACHED": "The group has reached its maximum size.",
    "FENCED_INSTANCE_ID": (
        "The broker rejected this static consumer since another consumer with the same group.instance.id has registered"
        " with a different member.id."
    ),
}
"""The messages of Kafka's `Errors`."""

EXCEPTIONS = {
    "".join(word.capitalize() for word in name.split("_")) + "Exception": message for name, message in ERRORS.items()
}

JOINS = {"Joining": "JoinGroup", "Syncing": "SyncGroup"}
"""The request whose response a member awaits in these states."""


def consumer_line(
    log: KafkaLogState, member: str, message: str, logger: str = COORDINATOR, level: str = "INFO"
) -> Line:
    """A line of a consumer, with its context."""
    known = log.member(member)
    instance = f"instanceId={known.instance_id}, " if known.instance_id else ""
    return Line(level, f"[Consumer {instance}clientId={member}, groupId={known.group}] ", message, logger)


def generation_of(log: KafkaLogState, known: MemberLogState, generation: int, member_id: str) -> str:
    """A generation as Java prints it."""
    group = log.group(known.group)
    assignors = known.assignors or group.assignors
    elected = assignors[0] if group.consumer and assignors else group.protocol  # a consumer group elects none
    protocol = f"'{elected}'" if generation >= 0 else "'null'"
    return f"Generation{{generationId={generation}, memberId='{member_id}', protocol={protocol}}}"


def own_generation(log: KafkaLogState, known: MemberLogState) -> str:
    """The member's own generation."""
    return generation_of(log, known, known.generation, known.member_id)


def assignment_text(partitions: tuple[str, ...]) -> str:
    """An assignment as Java prints it."""
    return f"Assignment(partitions=[{', '.join(partitions)}])"


def optional(text: str) -> str:
    """A text as Java's Optional."""
    return f"Optional[{text}]" if text else "Optional.empty"


def coordinator_node(broker: int) -> str:
    """A coordinator as a client prints it: ids count down from Integer.MAX_VALUE, for a connection of their own."""
    return node(broker, 2**31 - 1 - broker)


def node(broker: int, number: int = -1) -> str:
    """A broker as a client prints it, by its id unless another one is given."""
    return f"broker-{broker}:9092 (id: {number if number >= 0 else broker} rack: null isFenced: false)"
