"""Log lines of brokers and the controller. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

import re

from cluster import events as e
from cluster.protocol.placement.partition_metadata import CONTROLLER_SHRINKS, isr_in_order
from recordings.kafka_log.followers import follows_again, log_line
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line, LoggedRegistration, PartitionLogState, ShutdownProgress

WRITER = LogWriter()

CONTROLLER = "org.apache.kafka.controller.QuorumController"
REPLICATION = "org.apache.kafka.controller.ReplicationControlManager"
HEARTBEATS = "org.apache.kafka.controller.BrokerHeartbeatManager"
PARTITION = "kafka.cluster.Partition"
STATE_CHANGE = "state.change.logger"
BROKER_SERVER = "kafka.server.BrokerServer"
CONTROLLED_SHUTDOWN, IMMEDIATE_SHUTDOWN = "controlled shutdown", "an immediate shutdown"
SHUTDOWN_TIMEOUT_US = 300_000_000

BY_CONTROLLER = re.compile(rf"{CONTROLLER_SHRINKS}(\d+) ")


def controller_line(log: KafkaLogState, message: str, logger: str = CONTROLLER, level: str = "INFO") -> list[Line]:
    """A line of the active controller."""
    return [Line(level, f"[QuorumController id={log.controller}] ", message, logger)]


def _ids(numbers: tuple[int, ...]) -> str:
    return ",".join(str(number) for number in numbers)


def java(value: object) -> str:
    """A value as Java prints it: an array of ids as `[1, 2]`."""
    return f"[{', '.join(str(one) for one in value)}]" if isinstance(value, tuple) else str(value)


# --- brokers -------------------------------------------------------------------------------------------------------


@WRITER.handles(e.BrokerStarted)
def broker_started(log: KafkaLogState, event: e.BrokerStarted) -> list[Line]:
    log.stopping.pop(event.broker, None)
    if event.serves:
        return [*_serves(event.broker), *follows_again(log, event.broker)]
    log.starting[event.broker] = None
    return [_transition(event.broker, "SHUTDOWN", "STARTING")]


def _serves(broker: int) -> list[Line]:
    context = f"[KafkaRaftServer nodeId={broker}] "
    return [Line("INFO", context, "Kafka Server started", "kafka.server.KafkaRaftServer")]


def _transition(broker: int, before: str, after: str) -> Line:
    return _server(broker, f"Transition from {before} to {after}")


def _server(broker: int, message: str, level: str = "INFO") -> Line:
    return Line(level, f"[BrokerServer id={broker}] ", message, BROKER_SERVER)


@WRITER.handles(e.BrokerStateChanged)
def broker_state_changed(log: KafkaLogState, event: e.BrokerStateChanged) -> list[Line]:
    if event.state == "Running":
        log.starting.pop(event.broker, None)
        lines = [_transition(event.broker, "STARTING", "STARTED"), *_serves(event.broker)]
        return [*lines, *follows_again(log, event.broker)]
    log.stopping[event.broker] = ShutdownProgress(event.at_us)
    return _shutting_down(event.broker)


def _shutting_down(broker: int) -> list[Line]:
    return [_transition(broker, "STARTED", "SHUTTING_DOWN"), _server(broker, "shutting down")]


@WRITER.handles(e.BrokerStopped)
def broker_stopped(log: KafkaLogState, event: e.BrokerStopped) -> list[Line]:
    stop, broker = log.stopping.get(event.broker), event.broker
    starting = broker in log.starting
    log.starting.pop(broker, None)
    log.away[broker] = None
    if event.how != "stop" or starting:  # `BrokerServer.shutdown` returns at once unless it is STARTED
        return []
    completed = [_server(broker, "shut down completed"), _transition(broker, "SHUTTING_DOWN", "SHUTDOWN")]
    if stop is None:  # without `controlled.shutdown.enable`, or in a recording in which a clean stop took no time
        return [*_shutting_down(broker), *completed]
    if event.at_us - stop.asked_us >= SHUTDOWN_TIMEOUT_US:
        message = "Timed out waiting for the controller to approve controlled shutdown"
        return [_server(broker, message, "ERROR"), *completed]
    if stop.granted:
        return completed
    return [*_granted(log, "Fenced", broker, IMMEDIATE_SHUTDOWN), *completed]


@WRITER.handles(e.BrokerUnfenced)
def broker_unfenced(log: KafkaLogState, event: e.BrokerUnfenced) -> list[Line]:
    message = (
        f"The request from broker {event.broker} to unfence has been granted because it has caught up with the offset"
        " of its register broker record."
    )
    return controller_line(log, message, HEARTBEATS)


@WRITER.handles(e.BrokerFenced)
def broker_fenced(log: KafkaLogState, event: e.BrokerFenced) -> list[Line]:
    if event.reason == "session expired":
        return controller_line(log, f"Fencing broker {event.broker} because its session has timed out.", REPLICATION)
    stop = log.stopping.get(event.broker)
    if stop is None:  # older recordings: a clean stop took no time
        return _granted(log, "Unfenced", event.broker, f"a {event.reason}")
    stop.granted = True
    if not stop.begun:
        return _granted(log, "Unfenced", event.broker, IMMEDIATE_SHUTDOWN)
    message = (
        f"The request from broker {event.broker} to shut down has been granted since the lowest active offset is"
        " now greater than the broker's controlled shutdown offset."
    )
    return controller_line(log, message, HEARTBEATS)


def _granted(log: KafkaLogState, state: str, broker: int, what: str) -> list[Line]:
    message = f"{state} broker {broker} has requested and been granted {what}."
    return controller_line(log, message, HEARTBEATS)


def _begins_to_go(log: KafkaLogState, broker: int, reason: str) -> list[Line]:
    """The first leadership or ISR membership of a stopping broker moves: the controller has its shutdown request."""
    stop = log.stopping.get(broker)
    if stop is None or stop.begun or stop.granted or CONTROLLED_SHUTDOWN not in reason:
        return []
    stop.begun = True
    return _granted(log, "Unfenced", broker, f"a {CONTROLLED_SHUTDOWN}")


@WRITER.handles(e.ControllerElected)
def controller_elected(log: KafkaLogState, event: e.ControllerElected) -> list[Line]:
    log.controller = event.broker
    return controller_line(log, "Becoming the active controller.") if event.broker >= 0 else []


# --- partitions ----------------------------------------------------------------------------------------------------


@WRITER.handles(e.TopicCreated)
def topic_created(log: KafkaLogState, event: e.TopicCreated) -> list[Line]:
    log.min_insync[event.topic] = event.min_insync_replicas
    log.partition_counts[event.topic] = event.partitions
    if event.topic == "__transaction_state":
        log.transaction_partitions = event.partitions
    return []


@WRITER.handles(e.PartitionsAdded)
def partitions_added(log: KafkaLogState, event: e.PartitionsAdded) -> list[Line]:
    log.partition_counts[event.topic] = event.partitions
    return []


@WRITER.handles(e.LeaderElected)
def leader_elected(log: KafkaLogState, event: e.LeaderElected) -> list[Line]:
    partition = log.partition(event.partition)
    before = partition.registration()
    partition.previous_leader, partition.previous_epoch = partition.leader, partition.leader_epoch
    partition.isr = isr_in_order(partition.isr, event.isr, event.reason)
    partition.leader, partition.leader_epoch = event.leader, event.leader_epoch
    partition.replicas = event.replicas
    if event.reason == "created":
        return _created(log, event) if event.at_us else []
    partition.epoch += 1
    if event.reason == "reassigned":  # its line has the replicas, too
        partition.changed = before, event.seq
        return []
    lines = partition_change(log, event.partition, before, unclean=event.reason == "unclean")
    return [*_begins_to_go(log, partition.previous_leader, event.reason), *lines]


def _created(log: KafkaLogState, event: e.LeaderElected) -> list[Line]:
    message = (
        f"Replayed PartitionRecord for new partition {event.partition} and PartitionRegistration("
        f"replicas={java(event.replicas)}, isr={java(event.isr)}, leader={event.leader},"
        f" leaderEpoch={event.leader_epoch}, partitionEpoch=0)."
    )
    return controller_line(log, message, REPLICATION)


def partition_change(log: KafkaLogState, name: str, before: LoggedRegistration, *, unclean: bool) -> list[Line]:
    """The controller's line on replay: at INFO only when data may be lost, else at DEBUG."""
    if not log.concerns_the_scenario(name):
        return []
    after = log.partition(name).registration()
    changes = [
        f"{field}: {java(old)} -> {java(new)}"
        for field, old, new in zip(LoggedRegistration._fields, before, after, strict=True)
        if old != new
    ]
    message = f"{'UNCLEAN ' if unclean else ''}partition change for {name}: {', '.join(changes)}"
    return controller_line(log, message, REPLICATION, "INFO" if unclean else "DEBUG")


@WRITER.handles(e.LeadershipTaken)
def leadership_taken(log: KafkaLogState, event: e.LeadershipTaken) -> list[Line]:
    partition = log.partition(event.partition)
    partition.high_watermark, partition.log_end = event.high_watermark, event.log_end
    if event.at_us == 0 or not log.concerns_the_scenario(event.partition):
        return []
    under = "(under-min-isr)" if log.under_min_isr(event.partition) else ""
    message = (
        f"Leader {event.partition} starts at leader epoch {event.leader_epoch} from offset {event.log_end} with"
        f" partition epoch {partition.epoch}, high watermark {event.high_watermark}, ISR [{_ids(partition.isr)}],"
        f" adding replicas [{_ids(partition.adding)}] and removing replicas [{_ids(partition.removing)}] {under}."
        f" Previous leader Some({partition.previous_leader}) and"
        f" previous leader epoch was {partition.previous_epoch}."
    )
    return [Line("INFO", f"[Broker id={event.broker}] ", message, STATE_CHANGE)]


@WRITER.handles(e.IsrChanged)
def isr_changed(log: KafkaLogState, event: e.IsrChanged) -> list[Line]:
    partition, name = log.partition(event.partition), event.partition
    before = partition.isr
    change = partition.registration()
    partition.changed = change, event.seq
    partition.isr = isr_in_order(before, event.isr, event.reason)
    partition.epoch += 1
    by_controller = BY_CONTROLLER.match(event.reason)
    granted = _begins_to_go(log, int(by_controller[1]), event.reason) if by_controller else []
    if not log.concerns_the_scenario(name):
        return granted
    added = partition.adding and not partition.removing and all(one in event.isr for one in partition.adding)
    lines = [*granted, *([] if added else partition_change(log, name, change, unclean=False))]  # else it follows
    if by_controller:  # the leader finds it in the metadata, and does nothing
        return [*lines, *still_leads(log, name)]
    if not added and (partition.adding or partition.removing):
        lines += _called_complete(log, name, change)
    return [*_asked_by_leader(log, name, before), *lines, _updated(log, name)]


def still_leads(log: KafkaLogState, name: str) -> list[Line]:
    """The leader finds another assignment or ISR in the metadata, and goes on."""
    partition = log.partition(name)
    message = (
        f"Skipped the become-leader state change for {name} since it is already the leader with leader epoch"
        f" {partition.leader_epoch}. Current high watermark {partition.high_watermark}, ISR"
        f" [{_ids(partition.isr)}], adding replicas [{_ids(partition.adding)}] and removing replicas"
        f" [{_ids(partition.removing)}]."
    )
    return [Line("INFO", f"[Broker id={partition.leader}] ", message, STATE_CHANGE)]


def _called_complete(log: KafkaLogState, name: str, before: LoggedRegistration) -> list[Line]:
    """An ISR that changes while a reassignment goes on: the controller calls that its end. Source: `alterPartition`."""
    partition = log.partition(name)
    message = (
        f"AlterPartition request from node {partition.leader} for {name} completed the ongoing partition reassignment."
        f" {change_info(before, partition.registration())}"
    )
    return controller_line(log, message, REPLICATION)


def change_info(before: LoggedRegistration, after: LoggedRegistration) -> str:
    """A change in the words of `logPartitionChangeInfo`."""
    return (
        f"isr: {java(before.isr)} -> {java(after.isr)}, replicaSet: {java(before.replicas)} -> {java(after.replicas)},"
        f" partitionEpoch: {before.partitionEpoch} -> {after.partitionEpoch},"
        f" leaderEpoch: {before.leaderEpoch} -> {after.leaderEpoch}"
    )


def _asked_by_leader(log: KafkaLogState, name: str, before: tuple[int, ...]) -> list[Line]:
    partition = log.partition(name)
    gone = [replica for replica in before if replica not in partition.isr]
    if not gone:
        return []
    lost = " ".join(f"(brokerId: {replica})" for replica in gone)
    message = (
        f"Shrinking ISR from {_ids(before)} to {_ids(partition.isr)}. Leader: (highWatermark:"
        f" {partition.high_watermark}, endOffset: {partition.log_end}). Out of sync replicas: {lost}."
    )
    return [Line("INFO", _on_leader(partition, name), message, PARTITION)]


def _updated(log: KafkaLogState, name: str) -> Line:
    partition = log.partition(name)
    under = "(under-min-isr)" if log.under_min_isr(name) else ""
    message = f"ISR updated to {_ids(partition.isr)} {under} and version updated to {partition.epoch}"
    return Line("INFO", _on_leader(partition, name), message, PARTITION)


def _on_leader(partition: PartitionLogState, name: str) -> str:
    return f"[Partition {name} broker={partition.leader}] "


@WRITER.handles(e.RecordsAppended)
def records_appended(log: KafkaLogState, event: e.RecordsAppended) -> list[Line]:
    known = log.partition(event.partition)
    known.log_end = event.base_offset + event.count
    known.epochs.setdefault(event.leader_epoch, event.base_offset)
    return []


@WRITER.handles(e.HighWatermarkAdvanced)
def high_watermark_advanced(log: KafkaLogState, event: e.HighWatermarkAdvanced) -> list[Line]:
    log.partition(event.partition).high_watermark = event.offset
    return []


@WRITER.handles(e.LogTruncated)
def log_truncated(_state: KafkaLogState, event: e.LogTruncated) -> list[Line]:
    if event.reason == "crash":
        return []  # Kafka recovers the records on disk, and does not know which were not written
    if event.offset < event.log_end:
        message = f"Truncating to offset {event.offset}"
    else:
        message = f"Truncating to {event.offset} has no effect as the largest offset in the log is {event.log_end - 1}"
    return [log_line(event.partition, event.broker, message)]


@WRITER.handles(e.LogStartAdvanced)
def log_start_advanced(_state: KafkaLogState, event: e.LogStartAdvanced) -> list[Line]:
    why = "segment deletion" if event.reason == "retention" else "client delete records request"
    message = f"Incremented log start offset to {event.log_start} due to {why}"
    return [log_line(event.partition, event.broker, message)]


@WRITER.handles(e.LogCompacted)
def log_compacted(_state: KafkaLogState, event: e.LogCompacted) -> list[Line]:
    dirty = f"(dirty section = [{event.first_dirty}, {event.end}])"
    message = f"Log cleaner thread 0 cleaned log {event.partition} {dirty}"
    return [Line("INFO", "[kafka-log-cleaner-thread-0]: ", message, f"broker-{event.broker}")]


# --- events without a line in Kafka -------------------------------------------------------------------------------


@WRITER.handles(e.FaultStarted)
def fault_started(_state: KafkaLogState, event: e.FaultStarted) -> list[Line]:
    return [Line("WARN", "[Flightdeck] ", f"fault {event.fault} begins: {event.text}", "flightdeck")]


@WRITER.handles(e.FaultEnded)
def fault_ended(_state: KafkaLogState, event: e.FaultEnded) -> list[Line]:
    return [Line("INFO", "[Flightdeck] ", f"fault {event.fault} is over", "flightdeck")]


@WRITER.handles(e.CommandRefused)
def command_refused(_state: KafkaLogState, event: e.CommandRefused) -> list[Line]:
    return [Line("WARN", "[Flightdeck] ", f"{event.text}: refused, {event.reason}", "flightdeck")]


@WRITER.handles(e.HangingTransactionAborted)
def hanging_transaction_aborted(_state: KafkaLogState, event: e.HangingTransactionAborted) -> list[Line]:
    """Brokers write markers without a log line; the tool that asks for it logs nothing either."""
    message = f"producer id {event.producer_id}'s transaction in {event.partition} is aborted by an administrator"
    return [Line("INFO", "[Flightdeck] ", message, "flightdeck")]
