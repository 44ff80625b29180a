"""A broker: its process, the requests it serves, the replicas and coordinators it hosts, its bond to the controller.

Theory of operation. A request arrives as a `Call` over a link and is answered now, or later from purgatory. A broker
is *alive* while its process exists and *running* while it is not frozen; what reaches a frozen broker waits, a dead one
resets connections. Metadata comes from the controller over a link, so brokers may disagree for a moment, as in Kafka.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from cluster.broker.broker_lifecycle import Lifecycle
from cluster.broker.controller_channel import ControlPlane, LiveBrokers, Metadata
from cluster.broker.disk import Disk
from cluster.broker.follower_state import Follower
from cluster.broker.hosted_coordinators import HostedCoordinators
from cluster.broker.log_cleanup import LogUpkeep
from cluster.broker.metadata_cache import MetadataCache
from cluster.broker.purgatory import Timeouts
from cluster.broker.replica import Replica
from cluster.broker.request_handlers import Requests
from cluster.broker.socket_server import SocketServer
from cluster.events import BrokerPaused, BrokerResumed, BrokerStarted, BrokerStopped, Event
from cluster.network import Link
from cluster.protocol.messages import PartitionMetadata
from cluster.spec import BrokerSpec


class Broker:
    """One broker of the cluster. `config` has every broker key of Kafka; `new_uuid` mints member ids."""

    def __init__(
        self,
        spec: BrokerSpec,
        control: ControlPlane,
        config: Mapping[str, object],
        tell: Callable[[Event], None],
        new_uuid: Callable[[], str],
        startup_us: int = 0,
    ) -> None:
        self.id, self.rack, self.name = spec.id, spec.rack or "", spec.name
        self.control, self.tell = control, tell
        self.timeline, self.network, self.buggify = control.timeline, control.network, control.buggify
        self.config = config
        self.alive = self.running = self.frozen = False
        self.life = 0
        self.stopped_us = self.died_us = 0
        self.on_stopped: Callable[[], object] | None = None
        self.epoch = -1
        self.replicas: dict[str, Replica] = {}
        self.metadata = MetadataCache()
        self._links: dict[int, Link] = {}
        self._backlog: list[tuple[Callable[[Any], object], Any]] = []
        self.timeouts = Timeouts(self.timeline)
        self._heartbeat_us = cast(int, config["broker.heartbeat.interval.ms"]) * 1000
        self.lifecycle = Lifecycle(self, self._heartbeat_us, startup_us)
        self.lag_us = cast(int, config["replica.lag.time.max.ms"]) * 1000
        self.fetch_wait_us = cast(int, config["replica.fetch.wait.max.ms"]) * 1000
        self.producer_expiration_us = cast(int, config["producer.id.expiration.ms"]) * 1000
        self._upkeep = LogUpkeep(self, config)
        self._requests = Requests(self)
        self._coordinators = HostedCoordinators(self, config, new_uuid, self._requests.new_producer_id)
        self.coordination, self.transactions = self._coordinators.groups, self._coordinators.transactions
        self.transactional = self._coordinators.requests
        self.disk = Disk(self.timeline, self._disk_failed)
        handlers = {**self._requests.handlers, **self._coordinators.handlers()}
        self.sockets = SocketServer(self, handlers, self._requests.never_received, self._requests.expire)
        self.halted = False  # for want of room on its disk

    # --- the process --------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """Virtual time."""
        return self.timeline.now_us

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Something reached a broker that does not run: a frozen one handles it when it thaws, others never."""
        if self.frozen:
            self._backlog.append((action, argument))

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, unless this life of the process is over by then."""
        self.timeline.post(self.timeline.now_us + delay_us, self._alarm, (self.life, action, argument))

    def _alarm(self, alarm: tuple[int, Callable[[Any], object], Any]) -> None:
        life, action, argument = alarm
        if life != self.life:
            return
        if self.running:
            action(argument)
        else:
            self.later(self._alarm, alarm)

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
        """Whether it takes no connections yet."""
        return self.lifecycle.starting

    @property
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""
        return self.lifecycle.stopping

    def is_live(self, broker: int) -> bool:
        """Whether a broker may join an ISR, as far as this one has heard: registered and not fenced."""
        return broker in self.metadata.live

    def replica_on(self, broker: int, partition: str) -> Replica:
        """The other end of replication: a partition on another broker."""
        return self.control.brokers[broker].replicas[partition]

    def boot(self, *, serves: bool = True) -> None:
        """The process starts; the cluster's first start (`open`) and a restart go on differently."""
        self.alive = self.running = True
        self.life, self.epoch = self.life + 1, -1  # not registered: it leads nothing (Kafka's port is closed)
        self.sockets.host_is_up, self.halted = True, False
        self.disk.fill(full=False)  # whoever starts it has seen to that
        self.tell(BrokerStarted(broker=self.id, rack=self.rack, serves=serves))

    def open(self, epoch: int, live: LiveBrokers, image: Metadata) -> None:
        """The cluster is up at t = 0: registered, metadata known, leaderships taken."""
        self.epoch, self.stopped_us = epoch, -1
        self.metadata.open(live, image)
        for replica in self.replicas.values():
            replica.apply(image[replica.partition])
        self._start_ticking()
        self._upkeep.write_back()

    def start(self) -> None:
        """Start the process again; it loads its logs, registers, then takes its place."""
        self.boot(serves=False)
        self.running = False
        self.lifecycle.start()

    def loaded(self) -> None:
        """Its logs are loaded: it may host the controller, and registers next."""
        self.running, self.stopped_us = True, -1
        self._upkeep.load()
        self.control.elect()

    def _start_ticking(self) -> None:
        places = max(1, len(self.control.brokers))
        self.after(self._heartbeat_us * self.id // places, self.lifecycle.beat, None)
        self.after(self.lag_us // 2, self._check_isr, None)
        self._upkeep.start()

    def end(self, how: str) -> None:
        """The process is gone (`how`: stop, kill, crash): memory is lost, sockets reset.

        What was appended survives, unless the host crashed with it: then only what was on disk.
        """
        self.alive = self.running = self.frozen = False
        self.life += 1
        self.lifecycle.ended()
        self.stopped_us = self.died_us = self.now_us
        self.timeouts.clear()
        connections = self.sockets.died(self._backlog, self.disk.host_process_died(self.sockets.serve))
        self._backlog.clear()
        self._coordinators.died()
        for replica in self.replicas.values():
            replica.host_died()
        self.tell(BrokerStopped(broker=self.id, how=how))
        for replica in self.replicas.values():
            if how == "crash":
                replica.lose_unflushed()
            elif how == "stop":
                replica.log.stopped_cleanly()
        self.network.process_died(self.name)
        self.sockets.reset(connections, host_is_up=how != "crash")
        self.control.elect()
        on_stopped, self.on_stopped = self.on_stopped, None
        if on_stopped is not None and how == "stop":  # one that was killed meanwhile stays down
            on_stopped()

    def stop(self, _: None = None) -> None:
        """SIGTERM: a controlled shutdown. It asks the controller with every heartbeat, and stops when it says so.

        One that is starting ends. So does one without `controlled.shutdown.enable`, which is missed after its session.
        For a frozen process the signal is pending until SIGCONT; SIGKILL may come before it.
        """
        if self.frozen:
            self.later(self.stop, None)
        elif not self.alive:  # it had two pending, and the first was enough
            return
        elif self.lifecycle.starting or not self.config["controlled.shutdown.enable"]:
            self.end("stop")
        else:
            self.lifecycle.stop()

    def shutdown_answered(self, answer: tuple[int, bool]) -> None:
        """The controller moves everything away; or the others know of it already, and this life may end."""
        life, done = answer
        if not self.running:
            self.later(self.shutdown_answered, answer)
        elif life == self.life and self.stopping and done:  # else its former life had asked
            self.end("stop")
        elif life == self.life and self.stopping:
            self.lifecycle.not_yet()

    def pause(self) -> None:
        """Freeze the process."""
        self.running, self.frozen = False, True
        self.lifecycle.freeze()
        self.tell(BrokerPaused(broker=self.id))
        self.sockets.look()
        self.control.elect()

    def resume(self) -> None:
        """Thaw: handle what has come in meanwhile, in order."""
        self.running, self.frozen = not self.lifecycle.loading, False
        self.lifecycle.thaw()
        self.tell(BrokerResumed(broker=self.id))
        self.sockets.look()
        self.control.elect()
        backlog, self._backlog = self._backlog, []
        for action, argument in backlog:
            action(argument)

    # --- the bond to the controller -----------------------------------------------------------------------------------

    def registration_refused(self, life: int) -> None:
        """The session of this broker's former life is still valid: try again."""
        if life == self.life:
            self.lifecycle.refused()

    def registered(self, welcome: tuple[int, int, int, LiveBrokers, Metadata]) -> None:
        """Let in: (life, broker epoch, version of the metadata, live brokers, all metadata)."""
        if not self.running:
            self.later(self.registered, welcome)
            return
        life, epoch, version, live, image = welcome
        if life != self.life:
            return
        self.lifecycle.registered()
        restarted = self.epoch != epoch
        self.epoch = epoch
        self.metadata.replace(version, live, image)
        for replica in self.replicas.values():
            if replica.partition in self.metadata.image:  # else it was added since, and is on its way
                replica.apply(self.metadata.image[replica.partition], restarted=restarted)
        if restarted:
            self._start_ticking()

    def must_register(self, life: int) -> None:
        """The controller does not know this life of the broker (it was fenced): register again."""
        if life == self.life and self.alive and not (self.lifecycle.stopping or self.lifecycle.starting):
            self.life += 1  # heartbeats and checks of the fenced life end
            self.lifecycle.register(self.life)

    def apply_metadata(self, news: tuple[int, LiveBrokers, Metadata]) -> None:
        """Changed partitions from the controller: (version, live brokers, partitions).

        The last controller's words may arrive after its successor's: each partition keeps the newest it has heard.
        """
        if not self.running:
            self.later(self.apply_metadata, news)
            return
        changed, came_back = self.metadata.apply(*news)
        for name, metadata in changed.items():
            replica = self.replicas.get(name)
            if replica is not None and self.epoch >= 0:
                replica.apply(metadata)
        if came_back:
            for replica in self.replicas.values():
                replica.admit_followers()

    def _check_isr(self, _: None) -> None:
        """Take followers that have not caught up for `replica.lag.time.max.ms` out of their ISRs, and let others in.

        Also asks again for what a former controller took with it unanswered.
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

    def caught_up(self, replica: Replica, follower: Follower) -> bool:
        """A follower outside the ISR has everything below the high watermark: ask to let it in. False: it cannot be."""
        if follower.broker not in self.metadata.live:
            return False
        isr = tuple(one for one in replica.metadata.replicas if one in replica.isr or one == follower.broker)
        return self._alter_isr(replica, isr, f"expand: broker-{follower.broker} caught up")

    def _alter_isr(self, replica: Replica, isr: tuple[int, ...], reason: str) -> bool:
        link = self.control.link_from(self)
        if link is None:
            return False
        replica.alter_pending, replica.alter_sent_us = True, self.now_us
        replica.set_isr(tuple(one for one in replica.metadata.replicas if one in replica.isr or one in isr))
        link.send(self.control.alter_isr, (self, replica, replica.metadata, isr, reason))
        return True

    def isr_altered(self, answer: tuple[Replica, PartitionMetadata]) -> None:
        """AlterPartition was answered with the controller's metadata, the new one or why it stays.

        A former controller's answer may be older than what its successor has said meanwhile: it is ignored.
        Source: `Partition.handleAlterPartitionUpdate`.
        """
        if not self.running:
            self.later(self.isr_altered, answer)
            return
        replica, metadata = answer
        if metadata.epochs < replica.metadata.epochs:
            return
        pending, replica.alter_pending = replica.alter_pending, False  # else it was given up meanwhile
        if pending and replica.is_leader and metadata.leader_epoch == replica.metadata.leader_epoch:
            let_in = any(broker not in replica.metadata.isr for broker in metadata.isr)
            replica.metadata = metadata
            replica.set_isr(metadata.isr)
            replica.advance()
            if let_in:
                replica.admit_followers()  # the next one; after a refusal `_check_isr` asks again

    def new_producer_ids(self) -> int:
        """A fresh block of producer ids from the controller."""
        return self.control.controller.producer_ids()

    def newest_leader_epoch(self, partition: str) -> int:
        """The leader epoch of a partition as the controller has it."""
        return self.control.controller.partitions[partition].leader_epoch

    def high_watermark_moved(self, replica: Replica) -> None:
        """Parked fetches of this partition can be answered."""
        self._requests.resume_fetches(replica)

    def leadership_changed(self, replica: Replica, was_leader: bool) -> None:
        """A replica took over or stepped down: coordinators come and go with their partitions."""
        if not replica.is_leader:
            self._requests.refuse_fetches(replica)
        at_creation = self.timeline.now_us == 0
        self._coordinators.leadership_changed(replica, was_leader=was_leader, at_creation=at_creation)

    def _disk_failed(self) -> None:
        self.halted = True
        self.end("disk")
