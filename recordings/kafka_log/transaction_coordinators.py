"""Log lines of transaction coordinators: who coordinates which partition, and what becomes of transactions.

A broker says that it was elected when it leads. Every other replica resigns with each change of the partition that it
learns of, whether it has coordinated or not. When a load ends no event tells: its lines are left out. Source:
`BrokerMetadataPublisher.updateCoordinator`, `TopicDelta.localChanges`, `TransactionStateManager`.
"""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from collections.abc import Iterable

from cluster import events as e
from cluster.protocol.names import TRANSACTIONS_TOPIC, coordinator_partition, topic_of
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

TRANSACTIONS = "kafka.coordinator.transaction.TransactionCoordinator"
STATES = "kafka.coordinator.transaction.TransactionStateManager"


def _line(broker: int, message: str) -> Line:
    return Line("INFO", f"[TransactionCoordinator id={broker}] ", message, TRANSACTIONS)


def _state_line(broker: int, message: str) -> Line:
    return Line("INFO", f"[Transaction State Manager {broker}]: ", message, STATES)


# --- who coordinates --------------------------------------------------------------------------------------------------


@WRITER.handles(e.ProducerDeclared)
def producer_declared(log: KafkaLogState, event: e.ProducerDeclared) -> list[Line]:
    """The partition of its transactional id concerns the scenario."""
    if event.transactional_id:
        log.coordinating[_partition_of(log, event.transactional_id)] = None
    return []


def _partition_of(log: KafkaLogState, transactional_id: str) -> str:
    return f"{TRANSACTIONS_TOPIC}-{coordinator_partition(transactional_id, log.transaction_partitions)}"


@WRITER.handles(e.LeadershipTaken)
def leadership_taken(log: KafkaLogState, event: e.LeadershipTaken) -> list[Line]:
    name = event.partition
    if topic_of(name) != TRANSACTIONS_TOPIC:
        return []
    log.transactions_cached[event.broker, name] = event.leader_epoch
    if event.at_us == 0 or not log.concerns_the_scenario(name):
        return []
    number = name.rpartition("-")[2]
    elected = f"Elected as the txn coordinator for partition {number} at epoch {event.leader_epoch}"
    loading = f"Loading transaction metadata from {name} at epoch {event.leader_epoch}"
    return [_line(event.broker, elected), _state_line(event.broker, loading)]


def follows(log: KafkaLogState, broker: int, names: Iterable[str]) -> list[Line]:
    """A broker learns of another leader or ISR of partitions that it follows; a frozen one when it goes on."""
    lines = []
    for name in names:
        known = log.partition(name)
        if topic_of(name) != TRANSACTIONS_TOPIC or broker not in known.replicas or known.leader == broker:
            continue
        if broker in log.frozen:
            log.unseen.setdefault(broker, {})[name] = None
        elif broker not in log.away and log.concerns_the_scenario(name):
            lines += [_resigned(broker, name, f"Some({known.leader_epoch})"), _unloaded(log, broker, name)]
    return lines


def _resigned(broker: int, name: str, epoch: str) -> Line:
    number = name.rpartition("-")[2]
    return _line(broker, f"Resigned as the txn coordinator for partition {number} at epoch {epoch}")


def _unloaded(log: KafkaLogState, broker: int, name: str) -> Line:
    entry = _cached(log, broker, name)
    if not entry:
        message = f"No cached transaction metadata found for {name} during become-follower transition"
    else:
        message = f"Unloaded transaction metadata {entry} for {name} on become-follower transition"
    return _state_line(broker, message)


def _cached(log: KafkaLogState, broker: int, name: str) -> str:
    """What a coordinator forgets, as Kafka prints it; empty if the broker has not coordinated this partition."""
    epoch = log.transactions_cached.pop((broker, name), None)
    count = len(log.transactional_in.get(name, ()))
    return (
        f"TxnMetadataCacheEntry(coordinatorEpoch={epoch}, numTransactionalEntries={count})" if epoch is not None else ""
    )


def _all_follow(log: KafkaLogState, name: str) -> list[Line]:
    return [line for broker in log.partition(name).replicas for line in follows(log, broker, [name])]


@WRITER.handles(e.LeaderElected)
def leader_elected(log: KafkaLogState, event: e.LeaderElected) -> list[Line]:
    """Of a partition without a leader no broker says later that it leads."""
    return _all_follow(log, event.partition) if event.leader < 0 else []


@WRITER.handles(e.IsrChanged)
def isr_changed(log: KafkaLogState, event: e.IsrChanged) -> list[Line]:
    return _all_follow(log, event.partition)


@WRITER.handles(e.PartitionReassigned)
def partition_reassigned(log: KafkaLogState, event: e.PartitionReassigned) -> list[Line]:
    """A change of the leader or the ISR that belongs to it has been told before."""
    changed = log.partition(event.partition).changed
    return [] if changed is not None and changed[1] == event.seq - 1 else _all_follow(log, event.partition)


@WRITER.handles(e.ReplicaDeleted)
def replica_deleted(log: KafkaLogState, event: e.ReplicaDeleted) -> list[Line]:
    name = event.partition
    if topic_of(name) != TRANSACTIONS_TOPIC or not log.concerns_the_scenario(name):
        return []
    entry = _cached(log, event.broker, name)
    message = f"Unloaded transaction metadata {entry} for {name} following local partition deletion"
    return [_resigned(event.broker, name, "None"), *([_state_line(event.broker, message)] if entry else [])]


@WRITER.handles(e.BrokerResumed)
def broker_resumed(log: KafkaLogState, event: e.BrokerResumed) -> list[Line]:
    return follows(log, event.broker, log.unseen.pop(event.broker, {}))


@WRITER.handles(e.BrokerStopped)
def broker_stopped(log: KafkaLogState, event: e.BrokerStopped) -> list[Line]:
    log.unseen.pop(event.broker, None)
    for broker, name in list(log.transactions_cached):
        if broker == event.broker:
            del log.transactions_cached[broker, name]
    return []


# --- transactions -----------------------------------------------------------------------------------------------------


@WRITER.handles(e.TransactionFenced)
def transaction_fenced(log: KafkaLogState, event: e.TransactionFenced) -> list[Line]:
    """Logged when the abort is written, and only if the transaction timed out."""
    if event.reason == "timeout":
        log.timed_out[event.transactional_id] = None
    return []


@WRITER.handles(e.TransactionStateChanged)
def transaction_state_changed(log: KafkaLogState, event: e.TransactionStateChanged) -> list[Line]:
    """A producer's initialisation, and an abort of a timed-out transaction: Kafka logs no other at level INFO."""
    name = _partition_of(log, event.transactional_id)
    log.coordinating[name] = None
    log.transactional_in.setdefault(name, {})[event.transactional_id] = None
    epoch = log.ongoing_epochs.get(event.transactional_id, event.epoch)
    if event.state == "Ongoing":
        log.ongoing_epochs[event.transactional_id] = event.epoch
    elif event.epoch > epoch and event.state.startswith("Prepare"):
        log.with_epochs[event.transactional_id] = None
    if event.loaded:
        return []
    if event.state == "PrepareAbort" and log.timed_out.pop(event.transactional_id, event) is None:
        message = (
            f"Completed rollback of ongoing transaction for transactionalId {event.transactional_id} due to timeout"
        )
    elif event.state == "Empty":
        message = (
            f"Initialized transactionalId {event.transactional_id} with producerId {event.producer_id} and producer"
            f" epoch {event.epoch} on partition {name}"
        )
    else:
        return []
    return [_line(event.broker, message)]
