"""Why Kafka creates no topic of a name, and where the replicas of a new one are placed.

Source: `ReplicationControlManager.createTopics`, `Topic`, `StripedReplicaPlacer`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from cluster.protocol.placement.reassignments import why_not_assigned

MOST_NAME_LENGTH: Final = 249  # Topic.MAX_NAME_LENGTH
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


class NotCreated(NamedTuple):
    """Why a topic is not created: Kafka's error code, the exception that the tool prints, and the message."""

    code: str
    exception: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def name_error(topic: str) -> str:
    """Why a topic cannot have this name; empty when it can. Source: `Topic.detectInvalidTopic`."""
    if topic in ("", ".", ".."):
        shown = f"'{topic}' is not allowed" if topic else "the empty string is not allowed"
        return f"Topic name is invalid: {shown}"
    if len(topic) > MOST_NAME_LENGTH:
        return f"Topic name is invalid: the length of '{topic}' is longer than the max allowed length 249"
    if not _LEGAL.fullmatch(topic):
        characters = "one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        return f"Topic name is invalid: '{topic}' contains {characters}"
    return ""


def why_no_name(topic: str, existing: Iterable[str]) -> NotCreated | None:
    """Why a topic of this name is not created beside `existing`; None when its name is free."""
    known = list(existing)
    unified = topic.replace(".", "_")
    collides = next((one for one in known if "_" in unified and one.replace(".", "_") == unified), "")
    error = name_error(topic) or (f"Topic '{topic}' collides with existing topic: {collides}" if collides else "")
    if topic in known:
        return NotCreated("TOPIC_ALREADY_EXISTS", "TopicExistsException", f"Topic '{topic}' already exists.")
    return NotCreated("INVALID_TOPIC_EXCEPTION", "InvalidTopicException", error) if error else None


def why_not_placed(replicas: int, brokers: int, unfenced: int) -> NotCreated | None:
    """Why `replicas` of a partition find no place on registered brokers; None when they do."""
    reason = reason_not_placed(replicas, brokers, unfenced)
    return _not_replicated(replicas, reason) if reason else None


def reason_not_placed(replicas: int, brokers: int, unfenced: int) -> str:
    """The same in the words of `StripedReplicaPlacer` alone; empty when they do."""
    if not unfenced:
        return "All brokers are currently fenced, or have all their log directories cordoned."
    if replicas > brokers:
        return (
            f"The target replication factor of {replicas} cannot be reached because only {brokers} broker(s) are"
            " registered or some brokers have all their log directories cordoned."
        )
    return ""


def without_active_broker(replicas: int) -> NotCreated:
    """Why a partition cannot begin on unfenced brokers that all are shutting down."""
    return _not_replicated(replicas, "All brokers are currently fenced or in controlled shutdown.")


def why_not_on(
    assigned: Sequence[tuple[int, ...]],
    registered: Collection[int],
    active: Collection[int],
    *,
    first: int = 0,
    replication: int | None = None,
) -> NotCreated | None:
    """Why new partitions, numbered from `first`, cannot have the replicas that an administrator assigns.

    `active`: unfenced brokers that are not shutting down. `replication`: of the partitions that are there; None for a
    new topic, whose first partition decides. Source: `ReplicationControlManager.validateManualPartitionAssignment`.
    """
    for number, replicas in enumerate(assigned, first):
        error, before = why_not_assigned(replicas, registered), len(assigned[0]) if replication is None else replication
        if not error and len(replicas) != before:
            error = (
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not"
                f" consistent with previous partitions, which have {before} replica(s)."
            )
        if not error and not any(broker in active for broker in replicas):
            error = (
                f"All brokers specified in the manual partition assignment for partition {number} are fenced or in"
                " controlled shutdown."
            )
        if error:
            return _not_assigned(error)
    return None


def why_no_replicas(
    assigned: Sequence[tuple[int, ...]], replicas: int, registered: Collection[int], active: Collection[int]
) -> NotCreated | None:
    """Why a new topic cannot have the replicas that are `assigned`, or without an assignment so many of each partition.

    `active`: as for `why_not_on`.
    """
    if assigned:
        return why_not_on(assigned, registered, active)
    return why_not_placed(replicas, len(registered), len(active))


def why_not_added(
    assigned: Sequence[tuple[int, ...]],
    partitions: range,
    replication: int,
    registered: Collection[int],
    active: Collection[int],
) -> NotCreated | None:
    """Why `partitions` are not added on the brokers that an administrator assigns to these and all before them.

    `replication`: of the partitions that are there. Source: `ReplicationControlManager.createPartitions`.
    """
    new = assigned[partitions.start :]
    if len(new) != len(partitions):
        return _not_assigned(
            f"Attempted to add {len(partitions)} additional partition(s), but only {len(new)} assignment(s) were"
            " specified."
        )
    return why_not_on(new, registered, active, first=partitions.start, replication=replication)


def _not_assigned(words: str) -> NotCreated:
    return NotCreated("INVALID_REPLICA_ASSIGNMENT", "InvalidReplicaAssignmentException", words)


def _not_replicated(replicas: int, reason: str) -> NotCreated:
    words = f"Unable to replicate the partition {replicas} time(s): {reason}"
    return NotCreated("INVALID_REPLICATION_FACTOR", "InvalidReplicationFactorException", words)


def striped(unfenced: Sequence[int], fenced: Sequence[int], first: int, count: int) -> tuple[int, ...]:
    """The replicas of a partition, counted from broker `first` of each list: fenced brokers take what is left.

    Kafka begins at a random broker, shuffles both lists after as many partitions as there are unfenced brokers, and
    goes from rack to rack; here places follow from ids alone. The leader is an unfenced broker. Source:
    `StripedReplicaPlacer.RackList.place`.
    """
    ordered = [each[(first + k) % len(each)] for each in (unfenced, fenced) for k in range(len(each))]
    return tuple(ordered[:count])
