"""Where the active controller runs, and its messages to and from brokers (`BrokerToControllerChannelManager`).

The active controller is on the lowest running broker; when that process ends or freezes, the next one takes over at
once (the quorum is not modelled). A controller that most running brokers cannot reach is replaced after the voters'
fetch timeout. The next broker that reaches most of them takes over. Every message to or from the controller passes the
links of the broker that hosts it.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cluster.broker.host import BrokerHost
from cluster.broker.replica import Replica
from cluster.controller.controller import Controller
from cluster.events import ControllerElected, Event
from cluster.network import Link, Network
from cluster.protocol.messages import PartitionMetadata
from cluster.spec import Buggify
from cluster.virtual_time import Timeline, Timer

NO_CONTROLLER: Final = -1
# controller.quorum.fetch.timeout.ms: then the voters elect another controller
QUORUM_FETCH_TIMEOUT_US: Final = 2_000_000

BrokerHeartbeat = tuple[BrokerHost[Replica], int, int]
"""(the broker, its broker epoch, the version of its metadata)"""
AlterPartition = tuple[BrokerHost[Replica], Replica, PartitionMetadata, tuple[int, ...], str]
"""(the broker, its replica, the metadata that it knows, the new ISR, the reason)"""


def _no_topic(_: BrokerHost[Replica], partition: str) -> Replica:
    raise LookupError(f"{partition} is of no topic")


class ControllerChannel:
    """The active controller's place, its timers, and its messages.

    `groups_held` (ground truth) maps a partition of `__consumer_offsets` to the groups of its last coordinator.
    `make_replica` makes an empty replica with the topic's configuration.
    """

    def __init__(
        self,
        timeline: Timeline,
        network: Network,
        controller: Controller,
        emit: Callable[[Event], None],
        buggify: Buggify | None = None,
    ) -> None:
        self.timeline, self.network, self.controller, self._emit = timeline, network, controller, emit
        self.buggify = buggify if buggify is not None else Buggify(0, on=False)
        self.brokers: dict[int, BrokerHost[Replica]] = {}
        self.active = NO_CONTROLLER
        self.groups_held: dict[str, Mapping[str, object]] = {}
        self.make_replica: Callable[[BrokerHost[Replica], str], Replica] = _no_topic
        self._version = 0  # of the metadata: updates of two controllers may arrive out of order
        self._session_timer: Timer | None = None
        self._balance_timer: Timer | None = None
        self._quorum_timer: Timer | None = None  # runs while most voters cannot reach the active controller
        network.watchers[self._check_majority] = None
        self._balance_interval_us, self._imbalance_percentage = 0, 0

    def balance_leaders(self, interval_us: int, percentage: int) -> None:
        """Return leaderships to preferred leaders that lack more than this share of theirs, every `interval_us`."""
        self._balance_interval_us, self._imbalance_percentage = interval_us, percentage
        self._schedule_balance()

    def _schedule_balance(self) -> None:
        """Restart the interval: each active controller counts its own."""
        if self._balance_timer is not None:
            self._balance_timer.cancel()
        if self._balance_interval_us:
            self._balance_timer = self.timeline.call_later(self._balance_interval_us, self._balance)

    def _balance(self) -> None:
        if self.active != NO_CONTROLLER:
            changed = self.controller.balance(self._imbalance_percentage)
            if changed:
                self.publish(changed)
        self._schedule_balance()

    # --- the active controller ------------------------------------------------------------------------------------

    def elect(self) -> None:
        """A broker started, ended, froze or resumed: decide which one hosts the controller."""
        running = [broker.id for broker in self.brokers.values() if broker.running]
        active = self.active if self.active in running else min(running, default=NO_CONTROLLER)
        if active != self.active:
            self._activate(active)
        self._check_majority_if_faulty()

    def _reaches_majority(self, broker: int) -> bool:
        """Whether a broker has working links with most running brokers, itself included."""
        network, name = self.network, self.brokers[broker].name
        running = [one for one in self.brokers.values() if one.running]
        reached = sum(
            network.link(name, one.name).cut_since_us is None and network.link(one.name, name).cut_since_us is None
            for one in running
        )
        return 2 * reached > len(running)

    def _check_majority_if_faulty(self) -> None:
        if self.network.has_faults:
            self._check_majority()

    def _check_majority(self) -> None:
        """Links or processes changed: start the voters' fetch timeout, or cancel it."""
        cut_off = self.active != NO_CONTROLLER and not self._reaches_majority(self.active)
        if self._quorum_timer is not None and not cut_off:
            self._quorum_timer.cancel()
            self._quorum_timer = None
        elif self._quorum_timer is None and cut_off:
            self._quorum_timer = self.timeline.call_later(QUORUM_FETCH_TIMEOUT_US, self._majority_elects)

    def _majority_elects(self) -> None:
        """The voters' fetch timeout is over: the next running broker that reaches a majority takes over."""
        self._quorum_timer = None
        others = [broker.id for broker in self.brokers.values() if broker.running and broker.id != self.active]
        able = [broker for broker in others if self._reaches_majority(broker)]
        if able:
            self._activate(min(able, key=lambda broker: (broker < self.active, broker)))

    def _activate(self, broker: int) -> None:
        self.active = broker
        self._emit(ControllerElected(broker=broker))
        self.controller.take_over(self.timeline.now_us)
        self._arm_session_timer()
        self._schedule_balance()
        if self.controller.partitions:  # the metadata log survives the former controller's unsent updates
            self.publish(list(self.controller.partitions))
        self._check_majority_if_faulty()

    def fail_over(self) -> bool:
        """The active controller resigns: the next running broker takes over. False when there is none."""
        others = [broker.id for broker in self.brokers.values() if broker.running and broker.id != self.active]
        if others:
            self._activate(min(others, key=lambda broker: (broker < self.active, broker)))
        return bool(others)

    def link_from(self, broker: BrokerHost[Replica]) -> Link | None:
        """The link from a broker to the active controller; None while there is none."""
        if self.active == NO_CONTROLLER:
            return None
        return self.network.link(broker.name, self.brokers[self.active].name)

    def _link_to(self, broker: BrokerHost[Replica]) -> Link:
        return self.network.link(self.brokers[self.active].name, broker.name)

    def publish(self, changed: list[str]) -> None:
        """Send the changed partitions and the live brokers to every living broker."""
        if self.active == NO_CONTROLLER:
            return
        self._version += 1
        partitions = self.controller.partitions
        delta = {name: partitions[name] for name in changed}
        for broker in self.brokers.values():
            if broker.alive:
                self._link_to(broker).send(broker.on_metadata_update, (self._version, self.controller.live(), delta))

    def allow_unclean(self, topic: str, *, enabled: bool) -> None:
        """Change a topic's `unclean.leader.election.enable`; partitions without a leader may get one at once."""
        self.controller.unclean_topics[topic] = enabled
        if enabled and self.active != NO_CONTROLLER:
            changed = self.controller.lead_leaderless(topic)
            if changed:
                self.publish(changed)

    # --- requests of brokers --------------------------------------------------------------------------------------

    def register(self, request: tuple[BrokerHost[Replica], int]) -> None:
        """BrokerRegistration of an incarnation: accepted with all metadata, or refused for now."""
        broker, incarnation = request
        if self.active == NO_CONTROLLER or incarnation != broker.incarnation:
            return
        changed = self.controller.register(broker.id, self.timeline.now_us)
        link = self._link_to(broker)
        if changed is None:
            link.send(broker.on_registration_refused, broker.incarnation)
            return
        epoch = self.controller.brokers[broker.id].epoch
        image: dict[str, PartitionMetadata] = dict(self.controller.partitions)
        link.send(broker.on_registered, (broker.incarnation, epoch, self._version, self.controller.live(), image))
        self.publish(changed)
        self._arm_session_timer()

    def heartbeat(self, heartbeat: BrokerHeartbeat) -> None:
        """BrokerHeartbeat; a fenced broker has to register again."""
        broker, epoch, version = heartbeat
        if self.active == NO_CONTROLLER:
            return
        if not self.controller.heartbeat(broker.id, epoch, self.timeline.now_us, version):
            self._link_to(broker).send(broker.on_registration_required, broker.incarnation)

    def shut_down(self, heartbeat: BrokerHeartbeat) -> None:
        """BrokerHeartbeat with wantShutDown: move the leaderships; the broker ends when all others know the new ones.

        A broker that is fenced already, or leads nothing, may end at once.
        """
        broker, epoch, version = heartbeat
        if self.active == NO_CONTROLLER:
            return
        controller, may_end = self.controller, True
        if controller.heartbeat(broker.id, epoch, self.timeline.now_us, version):
            if controller.brokers[broker.id].shutting_down:
                may_end = controller.may_stop(broker.id)
            else:
                may_end = not controller.leads(broker.id)
                if not may_end:
                    self.publish(controller.shut_down(broker.id, self._version + 1))
            if may_end:
                self.publish(controller.complete_shutdown(broker.id))
        self._link_to(broker).send(broker.on_shutdown_response, (broker.incarnation, may_end))

    def alter_isr(self, request: AlterPartition) -> None:
        """AlterPartition of a leader; the response holds the partition's metadata, changed or not."""
        broker, replica, known, isr, reason = request
        if self.active == NO_CONTROLLER:
            return
        name = replica.partition
        accepted = self.controller.alter_isr(name, broker.id, known, isr, reason)
        self._link_to(broker).send(broker.on_isr_altered, (replica, self.controller.partitions[name]))
        if accepted:
            self.publish([name])

    # --- broker sessions ------------------------------------------------------------------------------------------

    def watch_sessions(self) -> None:
        """Begin to fence brokers whose session expires."""
        self._arm_session_timer()

    def _arm_session_timer(self) -> None:
        """Set the timer to the next deadline; a deadline that has moved on meanwhile is set again when it fires."""
        deadline_us = self.controller.next_deadline_us()
        if deadline_us is not None and (self._session_timer is None or not self._session_timer.pending):
            self._session_timer = self.timeline.call_at(deadline_us, self._expire_sessions)

    def _expire_sessions(self) -> None:
        if self.active != NO_CONTROLLER:
            live = self.controller.live()
            changed = self.controller.expire(self.timeline.now_us)
            if self.controller.live() != live:
                self.publish(changed)
            self._arm_session_timer()
