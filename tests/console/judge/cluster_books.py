"""Brokers, partitions, producers, faults as an administrator would note them from the raw events."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from cluster import events as e
from tests.console.judge.producer_books import ProducerBook


class BrokerBook(msgspec.Struct):
    """`process`: up, frozen or ended. `registered`: the controller knows this process, and has not fenced it.

    `serves` says whether an `up` one takes connections, `stopping` whether it was asked to end. `changed_us`: when its
    process began, first took connections, or ended.
    """

    up: bool = False
    serves: bool = False
    stopping: bool = False
    frozen: bool = False
    fenced: bool = True
    registered: bool = False
    stopped_us: int = -1
    changed_us: int = 0
    rack: str = ""


class PartitionBook(msgspec.Struct):
    """The leader and its epoch, the in-sync replicas, and the end of the log under the newest leader that took over.

    `led_in`: the epoch in which each broker last took over. `records`, `bytes`: what its leader's log has appended and
    not truncated, markers left out, and what is in it.
    """

    topic: str
    leader: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    elected: int = 0
    epoch: int = -1
    taken_by: int = -1
    led_in: dict[int, int] = {}
    high_watermark: int = 0
    log_start: int = 0
    log_end: int = 0
    records: int = 0
    bytes: int = 0

    @property
    def wanted(self) -> int:
        """How many in-sync replicas it should have: those that are being added do not count yet."""
        return len([one for one in self.replicas if one not in self.adding])

    def lacks(self, broker: int) -> bool:
        """Whether a broker's replica is out of sync; one that is being added is not yet expected to be in sync."""
        return broker in set(self.replicas) - set(self.adding) - set(self.isr)


class OperationBook(msgspec.Struct):
    """A rollout or a rolling restart: what began it, and the processes that were asked to stop."""

    begun: e.RolloutStarted | e.RollingRestartStarted
    asked: set[str] = set()

    def asked_by(self, now_us: int) -> int:
        """The number of processes that were asked to stop; of a rolling restart its schedule tells."""
        begun = self.begun
        if isinstance(begun, e.RolloutStarted):
            return len(self.asked)
        times = [begun.at_us + place * begun.every_us for place in range(len(begun.members))]
        return sum(at_us <= now_us for at_us in times)

    def next_us(self, now_us: int) -> int | None:
        """When the schedule stops the next member; None without one."""
        begun = self.begun
        if isinstance(begun, e.RolloutStarted):
            return None
        times = [begun.at_us + place * begun.every_us for place in range(len(begun.members))]
        return min((at_us for at_us in times if at_us > now_us), default=None)

    def over_us(self) -> int | None:
        """When the last member of a rolling restart starts again."""
        begun = self.begun
        if isinstance(begun, e.RolloutStarted):
            return None
        return begun.at_us + begun.every_us * len(begun.members) - begun.every_us + begun.down_us


class ClusterBooks:
    """The cluster without groups and members."""

    def __init__(self) -> None:
        self.now_us = 0
        self.brokers: dict[int, BrokerBook] = {}
        self.controller = -1
        self.controller_us = 0
        self.topics: dict[str, e.TopicCreated] = {}
        self.partitions: dict[str, PartitionBook] = {}
        self.producers: dict[str, ProducerBook] = {}
        self.given: dict[tuple[str, str], str] = {}  # scope, key → the value that a command set at once
        self.inside: set[str] = set()  # members, which may have producers of their names
        self.faults: dict[int, e.FaultStarted] = {}
        self.rollouts: dict[str, OperationBook] = {}
        self.restarts: list[OperationBook] = []
        self.faults_since: dict[int, int] = {}
        self.by_ms: defaultdict[int, list[e.Event]] = defaultdict(list)
        self.led_before: dict[int, int] = {}  # sequence number of an election → the leader before it

    def note(self, event: e.Event) -> None:
        """Record one event."""
        self.now_us = event.at_us
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)
        if not isinstance(event, _COMMON):
            self.by_ms[event.at_us // 1_000].append(event)

    def of_topic(self, topic: str) -> list[PartitionBook]:
        """A topic's partitions."""
        return [one for one in self.partitions.values() if one.topic == topic]

    def least(self, partition: PartitionBook) -> int:
        """How many in-sync replicas acks=all needs: min.insync.replicas, of at most all replicas."""
        return min(self.topics[partition.topic].min_insync_replicas, len(partition.replicas))

    def is_led(self, partition: PartitionBook) -> bool:
        """Whether the leader's process runs."""
        return partition.leader >= 0 and self.brokers[partition.leader].serves

    def operations(self, now_us: int) -> list[OperationBook]:
        """Rollouts without an end, and rolling restarts whose schedule is not over, oldest first."""
        restarts = [one for one in self.restarts if (one.over_us() or 0) > now_us]
        return sorted([*self.rollouts.values(), *restarts], key=lambda one: one.begun.at_us)

    # --- brokers ----------------------------------------------------------------------------------------------------

    def _broker_started(self, event: e.BrokerStarted) -> None:
        broker = self.brokers.setdefault(event.broker, BrokerBook())
        broker.up, broker.frozen, broker.registered = True, False, False
        broker.serves, broker.stopping = event.serves, False
        broker.changed_us, broker.rack = event.at_us, event.rack

    def _broker_state_changed(self, event: e.BrokerStateChanged) -> None:
        broker = self.brokers[event.broker]
        broker.changed_us = broker.changed_us if broker.serves else event.at_us
        broker.serves, broker.stopping = True, event.state == "PendingControlledShutdown"

    def _broker_stopped(self, event: e.BrokerStopped) -> None:
        broker = self.brokers[event.broker]
        broker.up = broker.frozen = broker.registered = broker.serves = broker.stopping = False
        broker.stopped_us = broker.changed_us = event.at_us

    def _broker_paused(self, event: e.BrokerPaused) -> None:
        self.brokers[event.broker].frozen = True

    def _broker_resumed(self, event: e.BrokerResumed) -> None:
        self.brokers[event.broker].frozen = False

    def _broker_unfenced(self, event: e.BrokerUnfenced) -> None:
        broker = self.brokers[event.broker]
        broker.fenced, broker.registered = False, True

    def _broker_fenced(self, event: e.BrokerFenced) -> None:
        self.brokers[event.broker].fenced = True

    def _controller_elected(self, event: e.ControllerElected) -> None:
        self.controller, self.controller_us = event.broker, event.at_us

    # --- partitions -------------------------------------------------------------------------------------------------

    def _topic_created(self, event: e.TopicCreated) -> None:
        self.topics[event.topic] = event
        self._more(event.topic, event.partitions)

    def _partitions_added(self, event: e.PartitionsAdded) -> None:
        self._more(event.topic, event.partitions)

    def _more(self, topic: str, partitions: int) -> None:
        for number in range(partitions):
            self.partitions.setdefault(f"{topic}-{number}", PartitionBook(topic))

    def _leader_elected(self, event: e.LeaderElected) -> None:
        partition = self.partitions[event.partition]
        self.led_before[event.seq] = partition.leader
        partition.leader, partition.replicas, partition.isr = event.leader, event.replicas, event.isr
        partition.elected = event.leader_epoch

    def _partition_reassigned(self, event: e.PartitionReassigned) -> None:
        partition = self.partitions[event.partition]
        partition.replicas, partition.adding, partition.removing = event.replicas, event.adding, event.removing
        topic = self.topics[partition.topic]
        least = min(event.min_insync_replicas, self._most_replicas(partition.topic))
        factor = topic.replication_factor
        if event.partition == f"{partition.topic}-0":
            factor = partition.wanted
        self.topics[partition.topic] = msgspec.structs.replace(
            topic, min_insync_replicas=least, replication_factor=factor
        )

    def _most_replicas(self, topic: str) -> int:
        """A topic that is being created has no replicas yet, only a replication factor."""
        placed = [len(one.replicas) for one in self.of_topic(topic) if one.replicas]
        return max(placed) if placed else self.topics[topic].replication_factor

    def _replica_deleted(self, event: e.ReplicaDeleted) -> None:
        self.partitions[event.partition].led_in.pop(event.broker, None)

    def _isr_changed(self, event: e.IsrChanged) -> None:
        self.partitions[event.partition].isr = event.isr

    def _leadership_taken(self, event: e.LeadershipTaken) -> None:
        partition = self.partitions[event.partition]
        partition.led_in[event.broker] = event.leader_epoch
        if event.leader_epoch >= partition.epoch:
            partition.epoch, partition.taken_by = event.leader_epoch, event.broker
            partition.high_watermark, partition.log_end = event.high_watermark, event.log_end
            partition.log_start = event.log_start
            partition.records, partition.bytes = event.appended, event.bytes

    def _records_appended(self, event: e.RecordsAppended) -> None:
        partition = self.partitions[event.partition]
        if event.leader_epoch >= partition.epoch:
            partition.log_end = event.base_offset + event.count
            partition.records += 0 if event.marker else event.count
            partition.bytes += event.bytes

    def _high_watermark_advanced(self, event: e.HighWatermarkAdvanced) -> None:
        partition = self.partitions[event.partition]
        if event.leader_epoch >= partition.epoch:
            partition.high_watermark = event.offset

    def _log_truncated(self, event: e.LogTruncated) -> None:
        partition = self.partitions[event.partition]
        if event.broker == partition.taken_by:
            partition.high_watermark = min(partition.high_watermark, event.offset)
            partition.log_end = event.offset
            partition.records, partition.bytes = event.appended, event.bytes

    def _log_compacted(self, event: e.LogCompacted) -> None:
        partition = self.partitions[event.partition]
        if event.broker == partition.taken_by:
            partition.bytes = event.bytes

    def _log_start_advanced(self, event: e.LogStartAdvanced) -> None:
        partition = self.partitions[event.partition]
        if event.leader_epoch >= partition.epoch:
            partition.log_start, partition.bytes = event.log_start, event.bytes

    # --- producers, faults, settings --------------------------------------------------------------------------------

    def _producer_declared(self, event: e.ProducerDeclared) -> None:
        self.producers[event.producer] = ProducerBook()

    def _member_declared(self, event: e.MemberDeclared) -> None:
        self.inside.add(event.member)

    def _of_producer(self, event: Any) -> None:  # noqa: ANN401 - an event of a producer
        self.producers[event.producer].note(event)

    def _fault_started(self, event: e.FaultStarted) -> None:
        self.faults[event.fault] = event

    def _fault_ended(self, event: e.FaultEnded) -> None:
        del self.faults[event.fault]

    def _rollout_started(self, event: e.RolloutStarted) -> None:
        self.rollouts[event.target] = OperationBook(event)

    def _rollout_advanced(self, event: e.RolloutAdvanced) -> None:
        self.rollouts[event.target].asked.update(event.stops)

    def _rollout_ended(self, event: e.RolloutEnded) -> None:
        del self.rollouts[event.target]

    def _rolling_restart_started(self, event: e.RollingRestartStarted) -> None:
        self.restarts.append(OperationBook(event))

    def _setting_changed(self, event: e.SettingChanged) -> None:
        if event.effect == "now":
            self.given[event.scope, event.key] = event.value
        for name in event.processes:
            if name in self.producers:
                self.producers[name].set(event, member=name in self.inside)
        if event.effect == "now" and event.key == "min.insync.replicas" and event.scope in self.topics:
            topic = self.topics[event.scope]
            least = min(int(event.value), self._most_replicas(topic.topic))
            self.topics[event.scope] = msgspec.structs.replace(topic, min_insync_replicas=least)

    _HANDLERS: ClassVar[dict[type[e.Event], Callable[..., None]]] = {
        e.BrokerStarted: _broker_started,
        e.BrokerStopped: _broker_stopped,
        e.BrokerStateChanged: _broker_state_changed,
        e.BrokerPaused: _broker_paused,
        e.BrokerResumed: _broker_resumed,
        e.BrokerUnfenced: _broker_unfenced,
        e.BrokerFenced: _broker_fenced,
        e.ControllerElected: _controller_elected,
        e.TopicCreated: _topic_created,
        e.PartitionsAdded: _partitions_added,
        e.LeaderElected: _leader_elected,
        e.IsrChanged: _isr_changed,
        e.PartitionReassigned: _partition_reassigned,
        e.ReplicaDeleted: _replica_deleted,
        e.LeadershipTaken: _leadership_taken,
        e.RecordsAppended: _records_appended,
        e.HighWatermarkAdvanced: _high_watermark_advanced,
        e.LogTruncated: _log_truncated,
        e.LogCompacted: _log_compacted,
        e.LogStartAdvanced: _log_start_advanced,
        e.ProducerDeclared: _producer_declared,
        e.MemberDeclared: _member_declared,
        **dict.fromkeys(ProducerBook.EVENTS, _of_producer),
        e.FaultStarted: _fault_started,
        e.FaultEnded: _fault_ended,
        e.RolloutStarted: _rollout_started,
        e.RolloutAdvanced: _rollout_advanced,
        e.RolloutEnded: _rollout_ended,
        e.RollingRestartStarted: _rolling_restart_started,
        e.SettingChanged: _setting_changed,
    }


_COMMON = (
    e.ProduceSent,
    e.RecordsAppended,
    e.HighWatermarkAdvanced,
    e.BatchAcknowledged,
    e.BatchOpened,
    e.PollReturned,
    e.PollStarted,
    e.RecordsProcessed,
    e.TruncatedRecordsProcessed,
    e.PositionsMovedOn,
    e.HeartbeatAnswered,
    e.SessionRenewed,
    e.AssignmentMade,
    e.AutoCommitFailed,
    e.ProducerCoordinatorFound,
    e.SequenceInDoubt,
)
"""Events without a line in the event log."""
