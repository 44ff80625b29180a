"""The fold of the events of brokers, partitions and faults."""

from typing import Final

from cluster import events as e
from cluster.protocol.placement.partition_metadata import isr_in_order
from cluster.protocol.record_batch import COMMIT
from cluster.view import ledger
from cluster.view.brokers import BrokerView
from cluster.view.fold_table import FoldTable
from cluster.view.placements import note_run
from cluster.view.state import (
    NEVER,
    ClusterView,
    FaultView,
    LogEntry,
    PartitionView,
    Series,
    TopicView,
)
from cluster.view.transactions import PartitionTransactions

FOLD = FoldTable()

LOG_ENTRIES_KEPT: Final = 4_000
MOST_PARTITIONS: Final = 100_000  # of all topics, internal ones included: a foreign journal may claim more
MOST_UNREAD_DATES: Final = 100_000  # of a partition that no group may ever read

BROKER_ENDED = {
    "stop": "stopped cleanly",
    "kill": "was killed",
    "crash": "crashed with its host",
    "disk": "halted: its disk is full",
}


def note(  # noqa: PLR0917 - the fields of a log entry, in their order
    view: ClusterView,
    event: e.Event,
    kind: str,
    subject: str,
    text: str,
    predicate: str = "",
    targets: tuple[str, ...] = (),
) -> None:
    """Add a line to the event log; a very long flight drops every second early line."""
    entries = view.log_entries
    entries.append(LogEntry(event.at_us, kind, subject, text, e.kind_of(event), predicate, targets))
    if len(entries) > LOG_ENTRIES_KEPT:
        del entries[: LOG_ENTRIES_KEPT // 2 : 2]


def note_of(view: ClusterView, event: e.Event, kind: str, subject: str, predicate: str) -> None:
    """Add a line that begins with its subject; lines with one predicate can be shown as one."""
    note(view, event, kind, subject, subject + predicate, predicate)


@FOLD.handles(e.TopicCreated)
def topic_created(view: ClusterView, event: e.TopicCreated) -> None:
    size = event.partitions, event.replication_factor
    view.topics[event.topic] = TopicView(event.topic, *size, event.min_insync_replicas, event.internal)
    if not event.internal:  # dated also without a reader: a group may subscribe later
        view.topic_readers.setdefault(event.topic, [])
    if event.at_us:
        noun = "partition" if event.partitions == 1 else "partitions"
        note_of(view, event, "member", event.topic, f" is created with {event.partitions} {noun}")
    _add_partitions(view, event.topic, event.partitions)


def _add_partitions(view: ClusterView, topic: str, partitions: int, *, added: bool = False) -> None:
    names = view.partitions_by_topic.setdefault(topic, [])
    if len(view.partitions) + partitions - len(names) > MOST_PARTITIONS:
        raise ValueError(f"{topic} with {partitions} partitions is more than a cluster has")
    for number in range(len(names), partitions):
        name = f"{topic}-{number}"
        names.append(name)
        view.partitions[name] = partition = PartitionView(name, topic, number)
        if added:
            partition.end_series = Series()  # it is younger than its topic's


@FOLD.handles(e.PartitionsAdded)
def partitions_added(view: ClusterView, event: e.PartitionsAdded) -> None:
    view.topics[event.topic].partitions = event.partitions
    _add_partitions(view, event.topic, event.partitions, added=True)
    note_of(view, event, "member", event.topic, f" has {event.partitions} partitions")


@FOLD.handles(e.LogStartAdvanced)
def log_start_advanced(view: ClusterView, event: e.LogStartAdvanced) -> None:
    partition = view.partitions[event.partition]
    if event.leader_epoch >= partition.taken_epoch:
        ledger.deleted(view, partition, event.log_start, event.at_us)
        partition.log_start, partition.bytes = event.log_start, event.bytes


@FOLD.handles(e.LogCompacted)
def log_compacted(view: ClusterView, event: e.LogCompacted) -> None:
    ledger.compacted(view, view.partitions[event.partition], event)


@FOLD.handles(e.BrokerStarted)
def broker_started(view: ClusterView, event: e.BrokerStarted) -> None:
    broker = view.brokers.setdefault(event.broker, BrokerView(event.broker))
    broker.up, broker.rack, broker.since_us, broker.paused = event.serves, event.rack, event.at_us, False
    broker.registered, broker.state = False, "Running" if event.serves else "Starting"
    if event.at_us:
        note_of(view, event, "recovery", f"broker-{event.broker}", " started")


BROKER_BECAME = {"Running": ("recovery", "serves again"), "PendingControlledShutdown": ("fault", "is shutting down")}


@FOLD.handles(e.BrokerStateChanged)
def broker_state_changed(view: ClusterView, event: e.BrokerStateChanged) -> None:
    broker = view.brokers[event.broker]
    if not broker.up:
        broker.up, broker.since_us = True, event.at_us
    broker.state = event.state
    if event.state in BROKER_BECAME:
        kind, words = BROKER_BECAME[event.state]
        note_of(view, event, kind, f"broker-{event.broker}", f" {words}")


@FOLD.handles(e.BrokerStopped)
def broker_stopped(view: ClusterView, event: e.BrokerStopped) -> None:
    broker = view.brokers[event.broker]
    broker.up, broker.since_us, broker.paused, broker.state = False, event.at_us, False, "NotRunning"
    words = BROKER_ENDED[event.how]
    note_of(view, event, "fault", f"broker-{event.broker}", f" {words}")


@FOLD.handles(e.BrokerPaused)
def broker_paused(view: ClusterView, event: e.BrokerPaused) -> None:
    view.brokers[event.broker].paused = True


@FOLD.handles(e.BrokerResumed)
def broker_resumed(view: ClusterView, event: e.BrokerResumed) -> None:
    view.brokers[event.broker].paused = False


@FOLD.handles(e.BrokerUnfenced)
def broker_unfenced(view: ClusterView, event: e.BrokerUnfenced) -> None:
    view.brokers[event.broker].fenced, view.brokers[event.broker].registered = False, True


@FOLD.handles(e.BrokerFenced)
def broker_fenced(view: ClusterView, event: e.BrokerFenced) -> None:
    view.brokers[event.broker].fenced = True
    note(view, event, "fault", f"broker-{event.broker}", f"controller fenced broker-{event.broker}: {event.reason}")


@FOLD.handles(e.ControllerElected)
def controller_elected(view: ClusterView, event: e.ControllerElected) -> None:
    if event.at_us:
        note(view, event, "election", f"broker-{event.broker}", f"controller is now broker-{event.broker}")
    view.controller = event.broker


@FOLD.handles(e.LeaderElected)
def leader_elected(view: ClusterView, event: e.LeaderElected) -> None:
    partition = view.partitions[event.partition]
    if event.at_us and event.leader != partition.leader:
        before = partition.leader if partition.leader >= 0 else "none"
        what = f"leader {before} → {event.leader}" if event.leader >= 0 else "has no leader"
        kind = "member" if event.reason == "created" else "election"  # a first leader needs no attention
        note_of(view, event, kind, event.partition, f" {what} ({event.reason})")
        view.log_entries[-1].elected_for = event.reason if event.leader >= 0 else ""
    partition.leader = event.leader
    partition.leader_epoch = event.leader_epoch
    partition.replicas = event.replicas
    _in_sync(partition, event.isr, event.at_us, event.reason)


def _in_sync(partition: PartitionView, isr: tuple[int, ...], at_us: int, reason: str) -> None:
    """Set the in-sync replicas; a new one has copied its leader's log, with its gaps."""
    leaders = partition.gaps.get(partition.taken_by)
    if leaders is not None and partition.adding:
        for broker in [each for each in isr if each in partition.adding and each not in partition.isr]:
            partition.gaps[broker] = leaders.copied()
    partition.isr = isr_in_order(partition.isr, isr, reason)
    if partition.transactions is not None:
        partition.transactions.endangered(at_us)


@FOLD.handles(e.LeadershipTaken)
def leadership_taken(view: ClusterView, event: e.LeadershipTaken) -> None:
    partition = view.partitions[event.partition]
    partition.led[event.broker] = event.leader_epoch
    if event.leader_epoch < partition.taken_epoch:
        return  # a resumed broker learns of an election that another one followed
    _cut(view, partition, event)
    if partition.transactions is not None:
        partition.transactions.taken_over(event.log_end, event.high_watermark)
        partition.transactions.endangered(event.at_us)
    partition.taken_epoch, partition.taken_by = event.leader_epoch, event.broker
    partition.high_watermark = event.high_watermark
    partition.log_end = event.log_end
    partition.log_start = event.log_start
    partition.bytes = event.bytes
    partition.appended = event.appended
    ledger.leads(view, partition)


def _cut(view: ClusterView, partition: PartitionView, event: e.LeadershipTaken) -> None:
    """Make this leader's log, which ends at `event.log_end`, the partition's log."""
    ledger.taken_over(view, partition, event.broker, event.log_start, event.log_end)
    while partition.append_ends and partition.append_ends[-1] > event.log_end:
        partition.append_ends.pop()
        partition.append_times_us.pop()


@FOLD.handles(e.IsrChanged)
def isr_changed(view: ClusterView, event: e.IsrChanged) -> None:
    _in_sync(view.partitions[event.partition], event.isr, event.at_us, event.reason)


def require_in_sync(view: ClusterView, topic: TopicView, least: int) -> None:
    """Set a topic's min.insync.replicas: at most as many as its largest partition has (`Partition.effectiveMinIsr`)."""
    placed = [len(view.partitions[name].replicas) for name in view.partitions_by_topic[topic.topic]]
    # A topic that is being created has a replication factor before its partitions have replicas.
    topic.min_insync_replicas = min(least, max(topic.replication_factor, *placed))


@FOLD.handles(e.PartitionReassigned)
def partition_reassigned(view: ClusterView, event: e.PartitionReassigned) -> None:
    partition = view.partitions[event.partition]
    shown = ",".join(map(str, event.replicas))
    match event.step:
        case "started":
            target = ",".join([str(broker) for broker in event.replicas if broker not in event.removing])
            words = f" moves to replicas {target}"
        case "completed":
            words = f" has replicas {shown}: its reassignment is complete"
        case _:
            words = f" keeps replicas {shown}: its reassignment is cancelled"
    note_of(view, event, "member", event.partition, words)
    partition.replicas, partition.adding, partition.removing = event.replicas, event.adding, event.removing
    topic = view.topics[partition.topic]
    if partition.number == 0:
        topic.replication_factor = len(event.replicas) - len(event.adding)
    require_in_sync(view, topic, event.min_insync_replicas)


@FOLD.handles(e.ReplicaDeleted)
def replica_deleted(view: ClusterView, event: e.ReplicaDeleted) -> None:
    partition = view.partitions[event.partition]
    partition.tails.pop(event.broker, None)
    partition.led.pop(event.broker, None)
    if event.broker != partition.taken_by:  # else its log is the partition's until its successor takes over
        partition.gaps.pop(event.broker, None)
    broker = f"broker-{event.broker}"
    words = f"{broker} deletes its replica of {event.partition}"
    note(view, event, "member", event.partition, words, targets=(broker,))


@FOLD.handles(e.RecordsAppended)
def records_appended(view: ClusterView, event: e.RecordsAppended) -> None:
    partition = view.partitions[event.partition]
    count, producer, serial = event.count, event.producer, event.first_serial
    lost = partition.lost_serials
    if lost and producer in lost:  # the producer sent it again
        lost[producer].remove(serial, serial + count)
    if event.leader_epoch < partition.taken_epoch:  # a deposed leader that does not know its successor
        ledger.appended_apart(partition, event)
        return
    base_offset, end = event.base_offset, event.base_offset + count
    partition.log_end = end
    if event.marker:
        producer = ""
    else:
        partition.appended += count
    partition.bytes += event.bytes
    partition.placements.append(base_offset, end, producer, serial)
    if event.transactional:
        _in_transaction(partition, event)
    readers = view.topic_readers.get(partition.topic)
    if readers is not None:
        ends = partition.append_ends
        ends.append(end)
        partition.append_times_us.append(event.at_us)
        if not readers and len(ends) > MOST_UNREAD_DATES:
            del ends[: MOST_UNREAD_DATES // 2]
            del partition.append_times_us[: MOST_UNREAD_DATES // 2]


def _in_transaction(partition: PartitionView, event: e.RecordsAppended) -> None:
    """Apply a transactional batch, or the marker that ends its transaction."""
    known = partition.transactions
    if known is None:
        known = partition.transactions = PartitionTransactions()
    if event.marker:
        known.marked(event.producer_id, event.base_offset, committed=event.marker == COMMIT)
        ledger.ended(partition, known.ended.get(event.base_offset))
    else:
        known.appended(event.producer_id, event.base_offset, event.base_offset + event.count)


@FOLD.handles(e.RecordsLost)
def records_lost(view: ClusterView, event: e.RecordsLost) -> None:
    partition = view.partitions[event.partition]
    note_run(partition.lost_serials, event.producer, event.first_serial, event.first_serial + event.records)
    where = f"from offset {event.first_offset}" if event.first_offset >= 0 else "on their way"
    words = f"{event.records} of {event.producer}'s records to {event.partition} are in no log, {where}"
    note(view, event, "fault", event.partition, words)


@FOLD.handles(e.RecordsRecovered)
def records_survived(view: ClusterView, event: e.RecordsRecovered) -> None:
    partition = view.partitions[event.partition]
    partition.lost_serials[event.producer].remove(event.first_serial, event.first_serial + event.records)
    ledger.recovered(view, partition, event)
    words = f"{event.records} of {event.producer}'s records to {event.partition} were on their way to a follower"
    broker = f"broker-{event.broker}"
    note(view, event, "recovery", event.partition, f"{words}: {broker} has them", targets=(broker,))


@FOLD.handles(e.HighWatermarkAdvanced)
def high_watermark_advanced(view: ClusterView, event: e.HighWatermarkAdvanced) -> None:
    partition = view.partitions[event.partition]
    if event.leader_epoch >= partition.taken_epoch:  # else a deposed leader that does not know its successor
        partition.high_watermark = offset = event.offset
        known = partition.transactions
        if known is not None:
            all_in_sync = len(partition.isr) == len(partition.replicas)
            known.high_watermark_at(offset, event.at_us, all_in_sync=all_in_sync)


@FOLD.handles(e.LogTruncated)
def log_truncated(view: ClusterView, event: e.LogTruncated) -> None:
    partition = view.partitions[event.partition]
    ledger.truncated(view, partition, event.broker, event.offset)
    if partition.transactions is not None:
        partition.transactions.endangered(event.at_us)
    if event.broker == partition.taken_by:  # it has no successor: its log is still the partition's
        partition.high_watermark = min(partition.high_watermark, event.offset)
        if partition.transactions is not None:
            partition.transactions.fallen_to(partition.high_watermark)
        partition.log_end, partition.bytes, partition.appended = event.offset, event.bytes, event.appended
    broker = f"broker-{event.broker}"
    words = f"{broker} truncated {event.partition} from {event.log_end} to {event.offset}"
    note(view, event, "fault", event.partition, words, targets=(broker,))


@FOLD.handles(e.FaultStarted)
def fault_started(view: ClusterView, event: e.FaultStarted) -> None:
    ends = event.ends_at_us if event.ends_at_us >= 0 else NEVER
    view.faults[event.fault] = FaultView(event.fault, event.text, event.at_us, ends, event.fault_kind, event.targets)
    note(view, event, "fault", event.text, event.text, targets=event.targets)


@FOLD.handles(e.FaultEnded)
def fault_ended(view: ClusterView, event: e.FaultEnded) -> None:
    fault = view.faults.pop(event.fault)
    note(view, event, "recovery", fault.text, f"ended: {fault.text}", targets=fault.targets)


@FOLD.handles(e.CommandRefused)
def command_refused(view: ClusterView, event: e.CommandRefused) -> None:
    note(view, event, "member", event.text, f"refused: {event.text}: {event.reason}")
