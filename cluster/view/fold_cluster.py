"""How brokers, partitions, producers and faults change the view."""

from cluster import events as e
from cluster.view.state import (
    NEVER,
    BrokerView,
    ClusterView,
    FaultView,
    Moment,
    PartitionView,
    ProducerView,
    TopicView,
)

MOMENTS_KEPT = 4_000


def note(view: ClusterView, at_us: int, kind: str, subject: str, text: str) -> None:
    """Mark something on the flight strip; of a very long flight every second early mark is dropped."""
    moments = view.moments
    moments.append(Moment(at_us, kind, subject, text))
    if len(moments) > MOMENTS_KEPT:
        del moments[: MOMENTS_KEPT // 2 : 2]


def topic_created(view: ClusterView, event: e.TopicCreated) -> None:
    view.topics[event.topic] = TopicView(
        event.topic, event.partitions, event.replication_factor, event.min_insync_replicas, event.internal
    )
    names = view.partitions_by_topic.setdefault(event.topic, [])
    for number in range(len(names), event.partitions):
        name = f"{event.topic}-{number}"
        names.append(name)
        view.partitions[name] = PartitionView(name, event.topic, number)


def broker_started(view: ClusterView, event: e.BrokerStarted) -> None:
    broker = view.brokers.setdefault(event.broker, BrokerView(event.broker))
    broker.up, broker.rack, broker.since_us, broker.paused = True, event.rack, event.at_us, False
    if event.at_us:
        note(view, event.at_us, "mended", f"broker-{event.broker}", f"broker-{event.broker} started")


def broker_stopped(view: ClusterView, event: e.BrokerStopped) -> None:
    broker = view.brokers[event.broker]
    broker.up, broker.since_us, broker.paused = False, event.at_us, False
    words = {"stop": "stopped cleanly", "kill": "was killed", "crash": "crashed with its host"}[event.how]
    note(view, event.at_us, "fault", f"broker-{event.broker}", f"broker-{event.broker} {words}")


def broker_paused(view: ClusterView, event: e.BrokerPaused) -> None:
    view.brokers[event.broker].paused = True


def broker_resumed(view: ClusterView, event: e.BrokerResumed) -> None:
    view.brokers[event.broker].paused = False


def broker_unfenced(view: ClusterView, event: e.BrokerUnfenced) -> None:
    view.brokers[event.broker].fenced = False


def broker_fenced(view: ClusterView, event: e.BrokerFenced) -> None:
    view.brokers[event.broker].fenced = True
    note(
        view, event.at_us, "fault", f"broker-{event.broker}", f"controller fenced broker-{event.broker}: {event.reason}"
    )


def controller_elected(view: ClusterView, event: e.ControllerElected) -> None:
    if event.at_us:
        note(view, event.at_us, "election", f"broker-{event.broker}", f"controller is now broker-{event.broker}")
    view.controller = event.broker


def leader_elected(view: ClusterView, event: e.LeaderElected) -> None:
    partition = view.partitions[event.partition]
    if event.at_us and event.leader != partition.leader:
        what = f"leader {partition.leader} → {event.leader}" if event.leader >= 0 else "has no leader"
        note(view, event.at_us, "election", event.partition, f"{event.partition} {what} ({event.reason})")
    partition.leader = event.leader
    partition.leader_epoch = event.leader_epoch
    partition.replicas = event.replicas
    partition.isr = event.isr


def leadership_taken(view: ClusterView, event: e.LeadershipTaken) -> None:
    partition = view.partitions[event.partition]
    if event.leader_epoch < partition.taken_epoch:
        return  # a frozen broker thaws and hears of an election that was followed by another one
    partition.lost_from_log += partition.acknowledged.truncate(event.log_end)
    while partition.append_ends and partition.append_ends[-1] > event.log_end:
        partition.append_ends.pop()
        partition.append_times_us.pop()
    partition.taken_epoch = event.leader_epoch
    partition.high_watermark = event.high_watermark
    partition.log_end = event.log_end
    partition.log_start = event.log_start
    partition.bytes = event.bytes


def isr_changed(view: ClusterView, event: e.IsrChanged) -> None:
    view.partitions[event.partition].isr = event.isr


def records_appended(view: ClusterView, event: e.RecordsAppended) -> None:
    partition = view.partitions[event.partition]
    count = event.count
    partition.appended += count
    if event.leader_epoch < partition.taken_epoch:
        return  # a deposed leader that does not know it yet: its log is not the partition's any more
    end = event.base_offset + count
    partition.log_end = end
    partition.bytes += event.bytes
    if partition.topic in view.topic_readers:
        partition.append_ends.append(end)
        partition.append_times_us.append(event.at_us)


def high_watermark_advanced(view: ClusterView, event: e.HighWatermarkAdvanced) -> None:
    partition = view.partitions[event.partition]
    if event.leader_epoch >= partition.taken_epoch:  # else a deposed leader that does not know it yet
        partition.high_watermark = event.offset


def log_truncated(view: ClusterView, event: e.LogTruncated) -> None:
    note(
        view,
        event.at_us,
        "fault",
        event.partition,
        f"broker-{event.broker} truncated {event.partition} from {event.log_end} to {event.offset}",
    )


def producer_declared(view: ClusterView, event: e.ProducerDeclared) -> None:
    view.producers[event.producer] = ProducerView(event.producer, event.topics, event.rate_per_second)


def producer_state_changed(view: ClusterView, event: e.ProducerStateChanged) -> None:
    producer = view.producers[event.producer]
    if event.state == "Running" and producer.state != "Paused":  # a new process has no identity yet
        producer.producer_id = producer.epoch = -1
    producer.state, producer.reason = event.state, event.reason
    if event.state in {"Dead", "Stopped"}:
        producer.buffered_bytes = 0
    if event.state in {"Dead", "Fenced"}:
        note(view, event.at_us, "fault", event.producer, f"{event.producer} is {event.state}: {event.reason}")


def producer_id_assigned(view: ClusterView, event: e.ProducerIdAssigned) -> None:
    producer = view.producers[event.producer]
    producer.producer_id, producer.epoch = event.producer_id, event.epoch


def batch_opened(view: ClusterView, event: e.BatchOpened) -> None:
    view.producers[event.producer].buffered_bytes += event.bytes


def produce_sent(view: ClusterView, event: e.ProduceSent) -> None:
    producer = view.producers[event.producer]
    producer.requests += 1
    producer.retries += len(event.retried)
    producer.batches += len(event.records)
    for name, records in event.records.items():
        producer.sent += records
        view.partitions[name].produced += records


def batch_acknowledged(view: ClusterView, event: e.BatchAcknowledged) -> None:
    producer = view.producers[event.producer]
    partition = view.partitions[event.partition]
    records = event.records
    producer.acked += records
    producer.buffered_bytes -= event.freed_bytes
    partition.acked += records
    partition.acknowledged.add(event.base_offset, event.base_offset + records)


def batch_retried(view: ClusterView, event: e.BatchRetried) -> None:
    view.producers[event.producer].last_error = event.error


def batch_failed(view: ClusterView, event: e.BatchFailed) -> None:
    producer = view.producers[event.producer]
    producer.failed += event.records
    producer.buffered_bytes -= event.freed_bytes
    producer.last_error = event.error
    if not event.sent:
        view.partitions[event.partition].produced += event.records


def fault_started(view: ClusterView, event: e.FaultStarted) -> None:
    ends = event.ends_at_us if event.ends_at_us >= 0 else NEVER
    view.faults[event.fault] = FaultView(event.fault, event.text, event.at_us, ends)
    note(view, event.at_us, "fault", event.text, event.text)


def fault_ended(view: ClusterView, event: e.FaultEnded) -> None:
    fault = view.faults.pop(event.fault)
    note(view, event.at_us, "mended", fault.text, f"over: {fault.text}")


def command_refused(view: ClusterView, event: e.CommandRefused) -> None:
    note(view, event.at_us, "member", event.text, f"refused: {event.text}: {event.reason}")
