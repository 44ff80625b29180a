"""Who hosts the active controller, and how words travel between it and the brokers.

The active controller is the lowest running broker; when its process ends or freezes, the next one takes over at once
(the quorum is not modelled). One that is cut off from most running brokers is followed by the next that reaches most of
them, as soon as voters would notice. Everything said to it or by it passes the links of the broker that hosts it.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from cluster.broker.replica import Replica
from cluster.controller.controller import Controller
from cluster.events import ControllerElected, Event
from cluster.network import Endpoint, Link, Network
from cluster.protocol.messages import PartitionMetadata
from cluster.spec import Buggify
from cluster.virtual_time import Timeline, Timer

NO_CONTROLLER = -1
QUORUM_FETCH_TIMEOUT_US = 2_000_000  # controller.quorum.fetch.timeout.ms: voters that hear nothing elect another
LiveBrokers = tuple[int, ...]
Metadata = dict[str, PartitionMetadata]


class ControlledBroker(Protocol):
    """A broker, as the controller's words reach it. `life` counts its processes: what an earlier one asked is void."""

    id: int
    name: str
    alive: bool
    running: bool
    life: int
    replicas: dict[str, Replica]

    @property
    def sockets(self) -> Endpoint:
        """What others connect to."""

    def registered(self, welcome: tuple[int, int, int, LiveBrokers, Metadata]) -> None:
        """Let in: (life, broker epoch, version of the metadata, live brokers, all metadata)."""

    def registration_refused(self, life: int) -> None:
        """The session of this broker's former life is still valid."""

    def must_register(self, life: int) -> None:
        """The controller does not know this life of the broker."""

    def shutdown_answered(self, answer: tuple[int, bool]) -> None:
        """A controlled shutdown of this life is under way: ask again; or done (true)."""

    def apply_metadata(self, news: tuple[int, LiveBrokers, Metadata]) -> None:
        """Partitions changed: (version of the metadata, live brokers, the changed partitions)."""

    def isr_altered(self, answer: tuple[Replica, PartitionMetadata]) -> None:
        """AlterPartition was answered with the controller's metadata."""


Beat = tuple[ControlledBroker, int, int]
"""(the broker, its broker epoch, the version of its metadata)"""
IsrRequest = tuple[ControlledBroker, Replica, PartitionMetadata, tuple[int, ...], str]


class ControlPlane:
    """The driver of the `Controller`."""

    def __init__(
        self,
        timeline: Timeline,
        network: Network,
        controller: Controller,
        tell: Callable[[Event], None],
        buggify: Buggify | None = None,
    ) -> None:
        self.timeline, self.network, self.controller, self._tell = timeline, network, controller, tell
        self.buggify = buggify if buggify is not None else Buggify(0, on=False)
        self.brokers: dict[int, ControlledBroker] = {}
        self.active = NO_CONTROLLER
        self.groups_held: dict[str, Mapping[str, object]] = {}  # ground truth: by a partition's last coordinator
        self._version = 0  # of the metadata: what two controllers said may arrive in another order
        self._timer: Timer | None = None
        self._balancing: Timer | None = None
        self._missed: Timer | None = None  # runs while voters hear nothing of the active controller
        network.watchers[self._look_for_majority] = None
        self._balance_every_us, self._percentage = 0, 0

    def balance_leaders(self, every_us: int, percentage: int) -> None:
        """Look every so often for preferred leaders that lack more than this share of their leaderships."""
        self._balance_every_us, self._percentage = every_us, percentage
        self._balance_later()

    def _balance_later(self) -> None:
        """The active controller has its own clock: a new one begins anew."""
        if self._balancing is not None:
            self._balancing.cancel()
        if self._balance_every_us:
            self._balancing = self.timeline.call_later(self._balance_every_us, self._balance)

    def _balance(self) -> None:
        if self.active != NO_CONTROLLER:
            changed = self.controller.balance(self._percentage)
            if changed:
                self.publish(changed)
        self._balance_later()

    def elect(self) -> None:
        """A broker came, went, froze or thawed: see who hosts the controller now."""
        running = [broker.id for broker in self.brokers.values() if broker.running]
        active = self.active if self.active in running else min(running, default=NO_CONTROLLER)
        if active != self.active:
            self._active_is(active)
        self._look_if_injured()

    def _reaches_most(self, broker: int) -> bool:
        """Whether most running brokers, itself among them, can talk with a broker."""
        network, name = self.network, self.brokers[broker].name
        running = [one for one in self.brokers.values() if one.running]
        reached = sum(
            network.link(name, one.name).cut_since_us is None and network.link(one.name, name).cut_since_us is None
            for one in running
        )
        return 2 * reached > len(running)

    def _look_if_injured(self) -> None:
        if self.network.has_faults:
            self._look_for_majority()

    def _look_for_majority(self) -> None:
        """Links were cut or mended, or brokers came and went: the voters' patience begins, or is forgotten."""
        cut_off = self.active != NO_CONTROLLER and not self._reaches_most(self.active)
        if self._missed is not None and not cut_off:
            self._missed.cancel()
            self._missed = None
        elif self._missed is None and cut_off:
            self._missed = self.timeline.call_later(QUORUM_FETCH_TIMEOUT_US, self._majority_elects)

    def _majority_elects(self) -> None:
        """Nobody heard the active controller: the next running broker that reaches most of them takes over."""
        self._missed = None
        others = [broker.id for broker in self.brokers.values() if broker.running and broker.id != self.active]
        able = [broker for broker in others if self._reaches_most(broker)]
        if able:
            self._active_is(min(able, key=lambda broker: (broker < self.active, broker)))

    def _active_is(self, broker: int) -> None:
        self.active = broker
        self._tell(ControllerElected(broker=broker))
        self.controller.take_over(self.timeline.now_us)
        self._arm()
        self._balance_later()
        if self.controller.partitions:  # the metadata log did not die with its predecessor's last words
            self.publish(list(self.controller.partitions))
        self._look_if_injured()

    def fail_over(self) -> bool:
        """The active controller resigns: the next running broker takes over. False when there is none."""
        others = [broker.id for broker in self.brokers.values() if broker.running and broker.id != self.active]
        if others:
            self._active_is(min(others, key=lambda broker: (broker < self.active, broker)))
        return bool(others)

    def link_from(self, broker: ControlledBroker) -> Link | None:
        """The way to the active controller, None while there is none."""
        if self.active == NO_CONTROLLER:
            return None
        return self.network.link(broker.name, self.brokers[self.active].name)

    def _link_to(self, broker: ControlledBroker) -> Link:
        return self.network.link(self.brokers[self.active].name, broker.name)

    def publish(self, changed: list[str]) -> None:
        """Tell every living broker of changed partitions, and of who is live."""
        if self.active == NO_CONTROLLER:
            return
        self._version += 1
        partitions = self.controller.partitions
        delta = {name: partitions[name] for name in changed}
        for broker in self.brokers.values():
            if broker.alive:
                self._link_to(broker).send(broker.apply_metadata, (self._version, self.controller.live(), delta))

    def allow_unclean(self, topic: str, *, enabled: bool) -> None:
        """`unclean.leader.election.enable` of a topic changed: partitions without a leader may get one now."""
        self.controller.unclean_topics[topic] = enabled
        if enabled and self.active != NO_CONTROLLER:
            changed = self.controller.lead_leaderless(topic)
            if changed:
                self.publish(changed)

    # --- what arrives at the controller ---------------------------------------------------------------------------

    def register(self, request: tuple[ControlledBroker, int]) -> None:
        """BrokerRegistration of a broker's life: let in with everything there is to know, or told to try again."""
        broker, life = request
        if self.active == NO_CONTROLLER or life != broker.life:
            return
        changed = self.controller.register(broker.id, self.timeline.now_us)
        link = self._link_to(broker)
        if changed is None:
            link.send(broker.registration_refused, broker.life)
            return
        epoch = self.controller.brokers[broker.id].epoch
        image: dict[str, PartitionMetadata] = dict(self.controller.partitions)
        link.send(broker.registered, (broker.life, epoch, self._version, self.controller.live(), image))
        self.publish(changed)
        self._arm()

    def heartbeat(self, beat: Beat) -> None:
        """BrokerHeartbeat of a broker."""
        broker, epoch, version = beat
        if self.active == NO_CONTROLLER:
            return
        if not self.controller.heartbeat(broker.id, epoch, self.timeline.now_us, version):
            self._link_to(broker).send(broker.must_register, broker.life)

    def shut_down(self, beat: Beat) -> None:
        """BrokerHeartbeat with wantShutDown: move its leaderships, and let it go when the others know of it.

        One that is fenced already, or leads nothing, may go at once.
        """
        broker, epoch, version = beat
        if self.active == NO_CONTROLLER:
            return
        controller, done = self.controller, True
        if controller.heartbeat(broker.id, epoch, self.timeline.now_us, version):
            if controller.brokers[broker.id].shutting_down:
                done = controller.may_stop(broker.id)
            else:
                done = not controller.leads(broker.id)
                if not done:
                    self.publish(controller.shut_down(broker.id, self._version + 1))
            if done:
                self.publish(controller.let_go(broker.id))
        self._link_to(broker).send(broker.shutdown_answered, (broker.life, done))

    def alter_isr(self, request: IsrRequest) -> None:
        """AlterPartition from a leader: (broker, its replica, the metadata that it knew, the new ISR, why)."""
        broker, replica, known, isr, reason = request
        if self.active == NO_CONTROLLER:
            return
        name = replica.partition
        accepted = self.controller.alter_isr(name, broker.id, known, isr, reason)
        self._link_to(broker).send(broker.isr_altered, (replica, self.controller.partitions[name]))
        if accepted:
            self.publish([name])

    # --- silent brokers -------------------------------------------------------------------------------------------

    def watch_sessions(self) -> None:
        """The cluster is up: begin to watch for silent brokers."""
        self._arm()

    def _arm(self) -> None:
        """The timer stands at a deadline that may have moved on meanwhile: then it is set again."""
        deadline_us = self.controller.next_deadline_us()
        if deadline_us is not None and (self._timer is None or not self._timer.pending):
            self._timer = self.timeline.call_at(deadline_us, self._expire)

    def _expire(self) -> None:
        if self.active != NO_CONTROLLER:
            live = self.controller.live()
            changed = self.controller.expire(self.timeline.now_us)
            if self.controller.live() != live:
                self.publish(changed)
            self._arm()
