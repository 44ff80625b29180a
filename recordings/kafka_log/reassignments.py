"""Log lines of reassignments: of the controller, and of brokers that lose a replica. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol.names import topic_of
from recordings.kafka_log.brokers import REPLICATION, STATE_CHANGE, controller_line, partition_change
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()


@WRITER.handles(e.PartitionReassigned)
def partition_reassigned(log: KafkaLogState, event: e.PartitionReassigned) -> list[Line]:
    """A request has a line of its own; the change has one, with those of leader and ISR that belong to it."""
    partition = log.partition(event.partition)
    arrived = event.step == "completed" and bool(partition.adding or partition.removing)
    before = partition.registration()
    if partition.changed is not None and partition.changed[1] == event.seq - 1:
        before = partition.changed[0]
    else:
        partition.epoch += 1
    log.min_insync[topic_of(event.partition)] = event.min_insync_replicas
    partition.replicas, partition.adding, partition.removing = event.replicas, event.adding, event.removing
    asked = (
        []
        if arrived
        else controller_line(log, "Successfully altered 1 out of 1 partition reassignment(s).", REPLICATION)
    )
    return [*asked, *partition_change(log, event.partition, before, unclean=False)]


@WRITER.handles(e.ReplicaDeleted)
def replica_deleted(_state: KafkaLogState, event: e.ReplicaDeleted) -> list[Line]:
    return [Line("INFO", f"[Broker id={event.broker}] ", "Deleting 1 partition(s).", STATE_CHANGE)]
