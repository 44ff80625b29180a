"""Log lines of reassignments: of the controller, and of brokers that get or lose a replica. One function an event.

Source: `ReplicationControlManager.alterPartitionReassignments`, `alterPartition`, `replay(PartitionChangeRecord)`,
`ReplicaManager.getOrCreatePartition`.
"""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol.names import topic_of
from recordings.kafka_log.brokers import (
    REPLICATION,
    STATE_CHANGE,
    change_info,
    controller_line,
    java,
    partition_change,
    still_leads,
)
from recordings.kafka_log.followers import log_line
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line, LoggedRegistration

WRITER = LogWriter()


@WRITER.handles(e.PartitionReassigned)
def partition_reassigned(log: KafkaLogState, event: e.PartitionReassigned) -> list[Line]:
    """A request has a line of its own; the change has one, with those of leader and ISR that belong to it."""
    name, partition = event.partition, log.partition(event.partition)
    arrived = event.step == "completed" and bool(partition.adding or partition.removing)
    before = partition.registration()
    if partition.changed is not None and partition.changed[1] == event.seq - 1:
        before = partition.changed[0]
    else:
        partition.epoch += 1
    log.min_insync[topic_of(name)] = event.min_insync_replicas
    partition.replicas, partition.adding, partition.removing = event.replicas, event.adding, event.removing
    after = partition.registration()
    lines = _by_the_leader(log, name, before) if arrived else _altered(log)
    lines += [*partition_change(log, name, before, unclean=False), *_assignment_change(log, name, before)]
    if not log.concerns_the_scenario(name):
        return lines
    if after.leaderEpoch == before.leaderEpoch and not arrived and after.leader >= 0:
        lines += still_leads(log, name)
    for broker in [one for one in after.replicas if one not in before.replicas]:
        lines += expected(log, name, [broker])
        lines += _begins(name, broker) if broker not in log.frozen and broker not in log.away else []
    return lines


def _altered(log: KafkaLogState) -> list[Line]:
    return controller_line(log, "Successfully altered 1 out of 1 partition reassignment(s).", REPLICATION)


def _by_the_leader(log: KafkaLogState, name: str, before: LoggedRegistration) -> list[Line]:
    """The controller says that a reassignment is over only if another broker leads now."""
    after = log.partition(name).registration()
    if after.leader == before.leader:
        return []
    message = (
        f"AlterPartition request from node {before.leader} for {name} completed the ongoing partition reassignment and"
        f" triggered a leadership change {change_info(before, after)}. Returning NEW_LEADER_ELECTED."
    )
    return controller_line(log, message, REPLICATION)


def _assignment_change(log: KafkaLogState, name: str, before: LoggedRegistration) -> list[Line]:
    """The record that is replayed, at INFO when it changes the adding or the removing replicas."""
    after = log.partition(name).registration()
    if (before.removingReplicas, before.addingReplicas) == (after.removingReplicas, after.addingReplicas):
        return []
    topic, _, number = name.rpartition("-")
    bumped = after.leaderEpoch != before.leaderEpoch
    fields = {
        "partitionId": number,
        "isr": _changed(before.isr, after.isr),
        "leader": str(after.leader) if bumped else "-2",
        "replicas": _changed(before.replicas, after.replicas),
        "removingReplicas": _changed(before.removingReplicas, after.removingReplicas),
        "addingReplicas": _changed(before.addingReplicas, after.addingReplicas),
        "leaderRecoveryState": "-1",
        "eligibleLeaderReplicas": "null",
        "lastKnownElr": "null",
    }
    record = ", ".join(f"{key}={value}" for key, value in fields.items())
    message = (
        f"Replayed partition assignment change PartitionChangeRecord({record}) for topic {topic}."
        f" (isr: {java(before.isr)} -> {java(after.isr)},"
        f" replicaSet: {java(before.replicas)} -> {java(after.replicas)},"
        f" partitionEpoch: {after.partitionEpoch}, leaderEpoch: {after.leaderEpoch})"
    )
    return controller_line(log, message, REPLICATION)


def _changed(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    return "null" if before == after else java(after)


# --- replicas ---------------------------------------------------------------------------------------------------------


def expected(log: KafkaLogState, name: str, brokers: list[int]) -> list[Line]:
    """Brokers that get a replica of a partition that is not new call it missing; a frozen one does when it goes on."""
    for broker in brokers:
        if broker in log.frozen:
            log.frozen[broker][name] = None
    return [_missing(name, broker) for broker in brokers if broker not in log.frozen and broker not in log.away]


def _missing(name: str, broker: int) -> Line:
    message = f"Expected partition {name} to exist, but it was missing. Creating..."
    return Line("ERROR", f"[Broker id={broker}] ", message, STATE_CHANGE)


def _begins(name: str, broker: int) -> list[Line]:
    """A new replica cuts its empty log to its high watermark before it copies that of the leader."""
    return [log_line(name, broker, "Truncating to 0 has no effect as the largest offset in the log is -1")]


@WRITER.handles(e.BrokerPaused)
def broker_paused(log: KafkaLogState, event: e.BrokerPaused) -> list[Line]:
    log.frozen[event.broker] = {}
    return []


@WRITER.handles(e.BrokerResumed)
def broker_resumed(log: KafkaLogState, event: e.BrokerResumed) -> list[Line]:
    missed = log.frozen.pop(event.broker, {})
    kept = [name for name in missed if event.broker in log.partition(name).replicas]
    return [line for name in kept for line in (_missing(name, event.broker), *_begins(name, event.broker))]


@WRITER.handles(e.BrokerStopped)
def broker_stopped(log: KafkaLogState, event: e.BrokerStopped) -> list[Line]:
    log.frozen.pop(event.broker, None)
    return []


@WRITER.handles(e.PartitionsAdded)
def partitions_added(log: KafkaLogState, event: e.PartitionsAdded) -> list[Line]:
    log.grown[event.topic] = None
    return []


@WRITER.handles(e.LeaderElected)
def leader_elected(log: KafkaLogState, event: e.LeaderElected) -> list[Line]:
    """A partition that was added to a topic is no new topic's."""
    name = event.partition
    if event.reason != "created" or topic_of(name) not in log.grown or not log.concerns_the_scenario(name):
        return []
    return expected(log, name, list(event.replicas))


@WRITER.handles(e.ReplicaDeleted)
def replica_deleted(_state: KafkaLogState, event: e.ReplicaDeleted) -> list[Line]:
    return [Line("INFO", f"[Broker id={event.broker}] ", "Deleting 1 partition(s).", STATE_CHANGE)]
