"""A broker: its process, the requests that it serves, its replicas and coordinators, its link to the controller.

Theory of operation. A request arrives as an `InFlightRequest` over a link. The broker answers it at once, or later from
purgatory. A broker is *alive* while its process exists and *running* while the process is not frozen. A frozen broker
queues the messages that it receives; the host of a dead one resets connections. Metadata comes from the controller over
a link, so brokers may disagree for a moment, as in Kafka.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.broker_lifecycle import BrokerLifecycle
from cluster.broker.controller_channel import ControllerChannel
from cluster.broker.disk import Disk
from cluster.broker.group_coordinator_service import GroupCoordinatorService
from cluster.broker.host import BrokerHost, MetadataUpdate, RegistrationResponse
from cluster.broker.inter_broker import InterBrokerConnections
from cluster.broker.log_cleaner import LogCleaner
from cluster.broker.log_cleanup import LogCleanup
from cluster.broker.metadata_cache import LiveBrokers, Metadata, MetadataCache
from cluster.broker.purgatory import Timeouts
from cluster.broker.read_replicas import ReadReplicas
from cluster.broker.replica import Replica
from cluster.broker.request_handlers import BrokerRequests
from cluster.broker.socket_server import SocketServer
from cluster.broker.transaction_coordinator_service import TransactionCoordinatorService
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.config import Value
from cluster.events import (
    BrokerPaused,
    BrokerResumed,
    BrokerStarted,
    BrokerStopped,
    Event,
    RecordsLost,
    RecordsRecovered,
    ReplicaDeleted,
)
from cluster.network import Connection, Endpoint, Link
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, topic_of
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import BrokerSpec
from cluster.storage.lost_records import records_lost_everywhere
from cluster.storage.partition_log import PartitionLog

FILE_DELETE_DELAY_US: Final = 60_000_000  # file.delete.delay.ms: the directory is renamed at once


class Broker(BrokerHost[Replica]):
    """One broker of the cluster. `config` has every broker key of Kafka; `new_uuid` mints member ids.

    `halted`: the process ended because its disk was full. `on_stopped` is called once after the next stop.
    """

    def __init__(
        self,
        spec: BrokerSpec,
        control: ControllerChannel,
        config: dict[str, Value],
        emit: Callable[[Event], None],
        new_uuid: Callable[[], str],
        startup_us: int = 0,
    ) -> None:
        self.id, self.rack, self.name = spec.id, spec.rack or "", spec.name
        self.control, self.emit = control, emit
        self.timeline, self.network, self.buggify = control.timeline, control.network, control.buggify
        self.config, self._fixed = config, BrokerConfig.of(config)
        self.alive = self.running = self.frozen = self.halted = False
        self.incarnation, self.epoch = 0, -1
        self.stopped_us = self.died_us = 0
        self.on_stopped: Callable[[], object] | None = None
        self.replicas, self.metadata = {}, MetadataCache()
        self._unassigned: dict[str, Replica] = {}  # leaders know followers that do not know of it yet
        self._links: dict[int, Link] = {}
        self._deferred: list[tuple[Callable[[Any], object], Any]] = []
        self.timeouts = Timeouts(self.timeline)
        self.lag_us = self._fixed.replica_lag_time_max_us
        self.fetch_wait_us = self._fixed.replica_fetch_wait_max_us
        self.producer_expiration_us = self._fixed.producer_id_expiration_us
        self.disk = Disk(self.timeline, self._disk_failed)
        self.lifecycle = BrokerLifecycle(self, control, self._fixed.heartbeat_interval_us, startup_us)
        self._log_cleanup = LogCleanup(self, self._fixed)
        self.log_cleaner = LogCleaner(self, self._fixed.log_cleaner_backoff_us)
        self._build_request_handlers(new_uuid)

    def _build_request_handlers(self, new_uuid: Callable[[], str]) -> None:
        control, fixed = self.control, self._fixed
        peers = self._peers = InterBrokerConnections(self, control)
        self.group_coordinators = GroupCoordinatorService(self, fixed, self.config, new_uuid, control.groups_held)
        self.transaction_coordinators = TransactionCoordinatorService(
            self, fixed, self.config, control.controller.producer_ids, peers
        )
        self.transactional_requests = TransactionalRequests(
            self, fixed, peers, self.group_coordinators, self.transaction_coordinators
        )
        self.selects_read_replicas = fixed.selects_read_replicas
        self._read_replicas = ReadReplicas(self) if fixed.selects_read_replicas else None
        self._requests = BrokerRequests(
            self,
            self.group_coordinators,
            self.transaction_coordinators,
            self.transactional_requests,
            self._read_replicas,
        )
        handlers = {
            **self._requests.handlers(),
            **self.group_coordinators.handlers(),
            **self.transaction_coordinators.handlers(),
            **self.transactional_requests.handlers(),
        }
        self.sockets = SocketServer(self, handlers, self._requests.never_received, self._requests.expire)

    # --- the process --------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """Virtual time."""
        return self.timeline.now_us

    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        """Queue an action until a frozen process resumes; drop it when the process is dead."""
        if self.frozen:
            self._deferred.append((action, argument))

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Run an action after a delay, in the present incarnation only."""
        due_us = self.timeline.now_us + delay_us
        self.timeline.post(due_us, self._run_if_same_incarnation, (self.incarnation, action, argument))

    def _run_if_same_incarnation(self, scheduled: tuple[int, Callable[[Any], object], Any]) -> None:
        incarnation, action, argument = scheduled
        if incarnation != self.incarnation:
            return
        if self.running:
            action(argument)
        else:
            self.defer(self._run_if_same_incarnation, scheduled)

    def link_to(self, broker: int) -> Link:
        """The link to another broker."""
        link = self._links.get(broker)
        if link is None:
            link = self._links[broker] = self.network.link(self.name, f"broker-{broker}")
        return link

    def link_from(self, broker: int) -> Link:
        """The link from another broker."""
        return self.network.link(f"broker-{broker}", self.name)

    @property
    def starting(self) -> bool:
        """Whether the broker accepts no connections yet."""
        return self.lifecycle.starting

    @property
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""
        return self.lifecycle.stopping

    def is_live(self, broker: int) -> bool:
        """Whether a broker is registered and unfenced in this broker's metadata."""
        return broker in self.metadata.live

    def replica_on(self, broker: int, partition: str) -> Replica:
        """The replica of a partition on another broker."""
        return self.control.brokers[broker].replica_of(partition)

    def replica_of(self, partition: str) -> Replica:
        """This broker's replica of a partition, also one that it has not heard of yet, or any more: that is empty."""
        known = self.replicas.get(partition) or self._unassigned.get(partition)
        if known is None:
            known = self._unassigned[partition] = self.control.make_replica(self, partition)
        return known

    def rack_of(self, broker: int) -> str:
        """The rack of a broker; "" without one."""
        return self.control.brokers[broker].rack

    def endpoint(self) -> Endpoint:
        """The socket server, as another broker connects to it."""
        return self.sockets

    def close_connection(self, connection: Connection) -> None:
        """Close a client's connection; unread requests are lost."""
        self.sockets.close(connection)

    def start_first_process(self) -> None:
        """Start the process of a new cluster; `activate` follows when every broker is registered."""
        self.lifecycle.on_cluster_started()
        self._start_process(serves=True)

    def _start_process(self, *, serves: bool) -> None:
        self.alive = self.running = True
        self.incarnation, self.epoch = self.incarnation + 1, -1  # not registered: it leads nothing, its port is closed
        self.sockets.host_is_up, self.halted = True, False
        self.disk.fill(full=False)  # an operator makes room before starting a broker that halted
        self.emit(BrokerStarted(broker=self.id, rack=self.rack, serves=serves))

    def activate(self, epoch: int, live: LiveBrokers, image: Metadata) -> None:
        """Take part in a new cluster at t = 0: registered, with all metadata and its leaderships."""
        self.epoch, self.stopped_us = epoch, -1
        self.metadata.open(live, image)
        for replica in self.replicas.values():
            replica.apply(image[replica.partition])
        self._start_periodic_work()
        self._log_cleanup.write_back()

    def start(self) -> None:
        """Start the process again: it loads its logs, registers, then serves."""
        self._start_process(serves=False)
        self.running = False
        self.lifecycle.start()

    def on_logs_loaded(self) -> None:
        """The process has loaded its logs: it may host the controller, and registers next."""
        self.running, self.stopped_us = True, -1
        self._log_cleanup.load()
        self.control.elect()

    def _start_periodic_work(self) -> None:
        brokers = self.control.brokers
        place = 1 + sum(other < self.id for other in brokers)
        first_us = self._fixed.heartbeat_interval_us * place // max(1, len(brokers))  # spread over an interval
        self.after(first_us, self.lifecycle.send_heartbeat, None)
        self.after(self.lag_us // 2, self._check_isr, None)
        self._log_cleanup.start()
        self.log_cleaner.start()

    def end(self, how: str) -> None:
        """End the process (`how`: stop, kill, crash, disk): memory is lost, connections are reset.

        Appended records survive, unless the host crashed too: then only those that were on disk survive.
        """
        self.alive = self.running = self.frozen = False
        self.incarnation += 1
        self.lifecycle.on_process_ended()
        self.stopped_us = self.died_us = self.now_us
        self.timeouts.clear()
        connections = self.sockets.died(self._deferred, self.disk.on_process_ended(self.sockets.serve))
        self._deferred.clear()
        self.group_coordinators.on_shutdown()
        self.transaction_coordinators.on_shutdown()
        self._peers.on_process_ended()
        if self._read_replicas is not None:
            self._read_replicas.on_process_ended()
        for replica in self.replicas.values():
            replica.on_process_ended()
        self.emit(BrokerStopped(broker=self.id, how=how))
        for replica in self.replicas.values():
            if how == "crash":
                replica.lose_unflushed()
            elif how == "stop":
                replica.log.stopped_cleanly()
        self.network.process_died(self.name)
        self.sockets.reset(connections, host_is_up=how != "crash")
        self.control.elect()
        on_stopped, self.on_stopped = self.on_stopped, None
        if on_stopped is not None and how == "stop":  # a broker that was killed meanwhile stays down
            on_stopped()

    def _disk_failed(self) -> None:
        self.halted = True
        self.end("disk")

    def stop(self, _: None = None) -> None:
        """SIGTERM: a controlled shutdown. The broker asks with every heartbeat, and ends when the controller agrees.

        A starting broker ends at once. One without `controlled.shutdown.enable` too; it is fenced after its session.
        For a frozen process the signal is pending until SIGCONT; SIGKILL may come first.
        """
        if self.frozen:
            self.defer(self.stop, None)
        elif not self.alive:  # two signals were pending, and the first ended the process
            return
        elif self.lifecycle.starting or not self._fixed.controlled_shutdown_enable:
            self.end("stop")
        else:
            self.lifecycle.stop()

    def on_shutdown_response(self, response: tuple[int, bool]) -> None:
        """The controller answered a controlled shutdown: the process may end, or its leaderships still move."""
        incarnation, may_end = response
        if not self.running:
            self.defer(self.on_shutdown_response, response)
        elif incarnation == self.incarnation and self.stopping and may_end:  # else a former incarnation had asked
            self.end("stop")
        elif incarnation == self.incarnation and self.stopping:
            self.lifecycle.on_shutdown_delayed()

    def pause(self) -> None:
        """SIGSTOP: freeze the process."""
        self.running, self.frozen = False, True
        self.lifecycle.freeze()
        self.emit(BrokerPaused(broker=self.id))
        self.sockets.refresh_reachability()
        self.control.elect()

    def resume(self) -> None:
        """SIGCONT: resume the process, which handles what it received meanwhile, in order."""
        self.running, self.frozen = not self.lifecycle.loading, False
        self.lifecycle.thaw()
        self.emit(BrokerResumed(broker=self.id))
        self.sockets.refresh_reachability()
        self.control.elect()
        deferred, self._deferred = self._deferred, []
        for action, argument in deferred:
            action(argument)

    # --- responses of the controller ----------------------------------------------------------------------------------

    def on_registration_refused(self, incarnation: int) -> None:
        """The session of the former incarnation is still valid: retry later."""
        if incarnation == self.incarnation:
            self.lifecycle.on_registration_refused()

    def on_registered(self, response: RegistrationResponse) -> None:
        """BrokerRegistration was accepted: apply all metadata, and serve."""
        if not self.running:
            self.defer(self.on_registered, response)
            return
        incarnation, epoch, version, live, image = response
        if incarnation != self.incarnation:
            return
        self.lifecycle.on_registered()
        restarted = self.epoch != epoch
        self.epoch = epoch
        self.metadata.replace(version, live, image)
        for name, metadata in self.metadata.image.items():
            if self.id in metadata.replicas and name not in self.replicas:
                self._assign(name)
        for replica in list(self.replicas.values()):
            if replica.partition in self.metadata.image:  # else the partition is newer, and its metadata under way
                self._apply(replica, self.metadata.image[replica.partition], restarted=restarted)
        if restarted:
            self._start_periodic_work()

    def on_registration_required(self, incarnation: int) -> None:
        """The controller fenced this incarnation: register again."""
        if incarnation == self.incarnation and self.alive and not (self.stopping or self.starting):
            self.incarnation += 1  # heartbeats and checks of the fenced incarnation end
            self.lifecycle.register(self.incarnation)

    def on_metadata_update(self, update: MetadataUpdate) -> None:
        """Apply changed partitions from the controller.

        An update of the former controller may arrive after one of its successor: each partition keeps its newest.
        """
        if not self.running:
            self.defer(self.on_metadata_update, update)
            return
        changed, came_back = self.metadata.apply(*update)
        for name, metadata in changed.items():
            replica = self.replicas.get(name)
            if self.epoch < 0:  # the answer to its registration has all metadata
                continue
            if replica is None and self.id in metadata.replicas:
                replica = self._assign(name)
            if replica is not None:
                self._apply(replica, metadata)
        if came_back:
            for replica in self.replicas.values():
                replica.admit_followers()

    def _apply(self, replica: Replica, metadata: PartitionMetadata, *, restarted: bool = False) -> None:
        """Let a replica follow or lead; one that has been assigned to other brokers is deleted, after a start, too."""
        if self.id in metadata.replicas:
            replica.apply(metadata, restarted=restarted)
        elif metadata.epochs >= replica.metadata.epochs:
            self._remove(replica, metadata)
            self.timeline.call_later(FILE_DELETE_DELAY_US, self._delete_log, (replica, replica.log))

    def _remove(self, replica: Replica, metadata: PartitionMetadata) -> None:
        """Delete a replica; records of its log's end that no other replica has are lost."""
        log, name = replica.log, replica.partition
        replica.leave(metadata)
        self._unassigned[name] = self.replicas.pop(name)
        self.emit(ReplicaDeleted(partition=name, broker=self.id, log_end=log.log_end, bytes=log.bytes))
        others = [other.log for other in self._replicas_of(replica)]
        for other in others:
            other.inherit_deleted(log)
        self.emit_lost(replica, log.beyond(max([log.log_start, *[other.log_start for other in others]])))

    def _replicas_of(self, replica: Replica) -> list[Replica]:
        """The replicas of a partition, as far as this one knows, without those whose brokers have deleted them."""
        found = [self.replica_on(broker, replica.partition) for broker in replica.metadata.replicas]
        return [other for other in found if other.partition in other.host.replicas]

    def emit_lost(self, replica: Replica, dropped: Sequence[RecordBatch]) -> None:
        """Emit which batches that a replica dropped no replica holds any more."""
        replicas = self._replicas_of(replica)
        for lost in records_lost_everywhere(dropped, [other.log for other in replicas]):
            self.emit(RecordsLost(partition=replica.partition, broker=self.id, **lost._asdict()))
            for other in replicas:
                other.may_restore = True

    def emit_survived(self, replica: Replica, batches: Sequence[RecordBatch]) -> None:
        """Emit which of a replica's fetched batches were in no log any more."""
        others = [other.log for other in self._replicas_of(replica) if other is not replica]
        for run in records_lost_everywhere(batches, others):
            self.emit(RecordsRecovered(partition=replica.partition, broker=self.id, **run._asdict()))

    def _delete_log(self, removed: tuple[Replica, PartitionLog]) -> None:
        """The files of a removed replica's log go, unless the partition has a new log here meanwhile."""
        replica, log = removed
        if replica.log is log:
            self._equip(replica)

    def _equip(self, replica: Replica) -> None:
        """Give a replica an empty log and the topic's configuration of now."""
        fresh = self.control.make_replica(self, replica.partition)
        replica.log, replica.retention, replica.high_watermark, replica.led_epoch = fresh.log, fresh.retention, 0, -1
        replica.min_insync_replicas, replica.max_message_bytes = fresh.min_insync_replicas, fresh.max_message_bytes
        replica.metadata = fresh.metadata

    def _assign(self, partition: str) -> Replica:
        """A reassignment gave this broker a replica: its log is empty. Source: `Partition.createLogIfNotExists`."""
        replica = self.replica_of(partition)
        self._equip(replica)
        self.replicas[partition] = self._unassigned.pop(partition)
        if replica.log.compacted:
            self.log_cleaner.start()
        return replica

    def leader_since(self, partition: str) -> int:
        """From which leader epoch on the controller's leader of a partition leads without a break."""
        return self.control.controller.partitions[partition].led_since

    # --- in-sync replicas ---------------------------------------------------------------------------------------------

    def _check_isr(self, _: None) -> None:
        """Remove followers that were not caught up for `replica.lag.time.max.ms` from the ISRs, and admit others.

        Also repeats an AlterPartition that a former controller left unanswered.
        """
        now_us = self.now_us
        for replica in self.replicas.values():
            if not replica.is_leader:
                continue
            if replica.alter_pending and now_us - replica.alter_sent_us >= self.lag_us // 2:
                replica.alter_pending = False
                replica.set_isr(replica.metadata.isr)
            if not replica.alter_pending and len(replica.isr) > 1:
                isr = replica.in_sync(now_us, self.lag_us)
                if isr != replica.isr:
                    self._alter_isr(replica, isr, "shrink: not caught up within replica.lag.time.max.ms")
            replica.admit_followers()
        self.after(self.lag_us // 2, self._check_isr, None)

    def expand_isr(self, replica: Replica, follower: int) -> bool:
        """Ask the controller to add a caught-up follower to the ISR. False when it cannot be asked, or not for it."""
        if follower not in self.metadata.live:
            return False
        isr = tuple(one for one in replica.metadata.replicas if one in replica.isr or one == follower)
        return self._alter_isr(replica, isr, f"expand: broker-{follower} caught up")

    def _alter_isr(self, replica: Replica, isr: tuple[int, ...], reason: str) -> bool:
        link = self.control.link_from(self)
        if link is None:
            return False
        replica.alter_pending, replica.alter_sent_us = True, self.now_us
        replica.set_isr(tuple(one for one in replica.metadata.replicas if one in replica.isr or one in isr))
        link.send(self.control.alter_isr, (self, replica, replica.metadata, isr, reason))
        return True

    def on_isr_altered(self, response: tuple[Replica, PartitionMetadata]) -> None:
        """AlterPartition was answered with the controller's metadata: changed, or unchanged when it was refused.

        A former controller's response may be older than its successor's metadata: it is ignored.
        Source: `Partition.handleAlterPartitionUpdate`.
        """
        if not self.running:
            self.defer(self.on_isr_altered, response)
            return
        replica, metadata = response
        if metadata.epochs < replica.metadata.epochs:
            return
        pending, replica.alter_pending = replica.alter_pending, False  # else `_check_isr` gave it up meanwhile
        if pending and replica.is_leader and metadata.leader_epoch == replica.metadata.leader_epoch:
            expanded = any(broker not in replica.metadata.isr for broker in metadata.isr)
            if metadata.replicas != replica.metadata.replicas:
                replica.assign_followers(metadata.replicas)
            replica.metadata = metadata
            replica.set_isr(metadata.isr)
            replica.advance()
            if expanded:
                replica.admit_followers()  # the next one; after a refusal `_check_isr` asks again

    # --- changes of a replica -----------------------------------------------------------------------------------------

    def high_watermark_advanced(self, replica: Replica) -> None:
        """Parked fetches of the partition can be answered; a leader's followers do not know it yet."""
        self._requests.resume_fetches(replica)
        if self._read_replicas is not None and replica.is_leader:
            self._read_replicas.high_watermark_advanced(replica)

    def follower_fetched(self, leader: Replica, follower: int, *, first: bool) -> None:
        """Where read replicas are selected: a follower's fetch arrived, perhaps the first one of its session."""
        assert self._read_replicas is not None
        self._read_replicas.fetched(leader, follower, first=first)

    def follower_answered(self, leader: Replica, follower: int) -> None:
        """Where read replicas are selected: a follower's fetch is answered with records."""
        assert self._read_replicas is not None
        self._read_replicas.answered(leader, follower)

    def leadership_changed(self, replica: Replica, was_leader: bool) -> None:
        """A replica became leader or stopped being it: the coordinator of an internal topic's partition follows it."""
        if not (replica.is_leader and was_leader):
            lost = ErrorCode.NOT_LEADER_OR_FOLLOWER if was_leader else ErrorCode.FENCED_LEADER_EPOCH
            self._requests.refuse_fetches(replica, lost)
        service: GroupCoordinatorService | TransactionCoordinatorService
        topic = topic_of(replica.partition)
        if topic == OFFSETS_TOPIC:
            service = self.group_coordinators
            if replica.is_leader and was_leader and service.goes_on(replica):
                return
        elif topic == TRANSACTIONS_TOPIC:
            service = self.transaction_coordinators
        else:
            return
        if was_leader:
            service.on_resigned(replica)
        if replica.is_leader:
            service.on_elected(replica, at_creation=self.timeline.now_us == 0)
