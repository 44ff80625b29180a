"""What becomes of a broker's process, and what it says to the controller: let me in, I am alive, let me go.

Theory of operation. A process that is started loads its logs (`startup_us`), registers, and takes connections when the
controller has let it in. One that is asked to stop says so with its heartbeats: the controller moves its leaderships at
once, and lets it go when all others have heard of it, which they say with *their* heartbeats. So a clean stop takes
about `broker.heartbeat.interval.ms`, in which the broker answers NOT_LEADER_OR_FOLLOWER and NOT_COORDINATOR.
Each question is asked again until it is answered, because an answer may die with the controller that gave it.
Source: `BrokerLifecycleManager`, `BrokerServer.startup` and `shutdown`.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.broker.controller_channel import ControlledBroker, ControlPlane
from cluster.broker.metadata_cache import MetadataCache
from cluster.events import BrokerStateChanged, Event
from cluster.virtual_time import Timer

LOOKS_AGAIN_US = 1_000_000  # for a controller, while there is none
CONTROLLER_SOCKET_TIMEOUT_US = 30_000_000  # controller.socket.timeout.ms
SOONER_US = 50_000  # a stopping broker asks its second time so soon
SHUTDOWN_TIMEOUT_US = 300_000_000  # then it ends, whether or not the controller approved

STARTING, RUNNING, STOPPING = "Starting", "Running", "PendingControlledShutdown"


class LivingBroker(ControlledBroker, Protocol):
    """The broker whose life this is; `frozen`: its process stands still."""

    control: ControlPlane
    metadata: MetadataCache
    epoch: int
    frozen: bool
    tell: Callable[[Event], None]

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, unless this life of the process is over by then."""

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Keep what is due while the process does not run."""

    def loaded(self) -> None:
        """Its logs are loaded: it may host the controller, and registers next."""


class Lifecycle:
    """One broker's: `state` is one of Kafka's `BrokerState`s. `loading`: it takes part in nothing yet."""

    def __init__(self, broker: LivingBroker, heartbeat_us: int, startup_us: int = 0) -> None:
        self._broker, self._heartbeat_us, self._startup_us = broker, heartbeat_us, startup_us
        self._registration: Timer | None = None  # when to ask again, while it is not let in
        self._asked = 0  # how often it wanted to stop
        self.state, self.loading = RUNNING, False
        self._loaded_us = self._frozen_us = 0  # when its logs are loaded, as far as is known; since when it is frozen

    @property
    def starting(self) -> bool:
        """Whether it takes no connections yet."""
        return self.state == STARTING

    @property
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""
        return self.state == STOPPING

    def _becomes(self, state: str) -> None:
        self.state = state
        self._broker.tell(BrokerStateChanged(broker=self._broker.id, state=state))

    # --- it starts ----------------------------------------------------------------------------------------------------

    def ended(self) -> None:
        """The process is gone; the next one begins as the first one did."""
        self.state, self.loading = RUNNING, False

    def start(self) -> None:
        """The process starts again: it loads its logs, and receives nothing meanwhile."""
        self.state, self.loading = STARTING, True
        timeline, broker = self._broker.control.timeline, self._broker
        self._loaded_us = timeline.now_us + self._startup_us
        timeline.post(self._loaded_us, self._loaded, broker.life)

    def freeze(self) -> None:
        """Its process stands still, also when it loads its logs."""
        self._frozen_us = self._broker.control.timeline.now_us

    def thaw(self) -> None:
        """It goes on with what it has not loaded yet."""
        self._loaded_us += self._broker.control.timeline.now_us - self._frozen_us

    def _loaded(self, life: int) -> None:
        broker = self._broker
        if life != broker.life:
            return
        if broker.frozen:
            broker.later(self._loaded, life)
            return
        timeline = broker.control.timeline
        if timeline.now_us < self._loaded_us:
            timeline.post(self._loaded_us, self._loaded, life)
            return
        self.loading = False
        broker.loaded()
        self.register(life)

    def register(self, life: int) -> None:
        """Ask to be let in, and again when no answer comes."""
        broker = self._broker
        if not broker.running:
            broker.later(self.register, life)
        elif life == broker.life:
            link = broker.control.link_from(broker)
            if link is not None:
                link.send(broker.control.register, (broker, life))
            self._register_in(LOOKS_AGAIN_US if link is None else self._patience_us)

    @property
    def _patience_us(self) -> int:
        """How long it waits for an answer before it asks again (KAFKA-14392, `NodeToControllerChannelManagerImpl`)."""
        return min(CONTROLLER_SOCKET_TIMEOUT_US, self._broker.control.controller.session_timeout_us // 2)

    def _register_in(self, delay_us: int) -> None:
        self._asks_no_more()
        self._registration = self._broker.control.timeline.call_later(delay_us, self.register, self._broker.life)

    def refused(self) -> None:
        """The session of this broker's former life is still valid: try again, as often as it would beat."""
        if self._registration is not None:
            self._register_in(self._heartbeat_us)

    def registered(self) -> None:
        """It is in: nothing more to ask for, and it takes connections."""
        self._asks_no_more()
        if self.starting:
            self._becomes(RUNNING)

    def _asks_no_more(self) -> None:
        if self._registration is not None:
            self._registration.cancel()
            self._registration = None

    # --- it lives, and stops ------------------------------------------------------------------------------------------

    def beat(self, _: None) -> None:
        """A heartbeat, and the next one after it."""
        broker = self._broker
        link = broker.control.link_from(broker)
        if link is not None and not self.stopping:
            link.send(broker.control.heartbeat, (broker, broker.epoch, broker.metadata.version))
        broker.after(self._heartbeat_us, self.beat, None)

    def stop(self) -> None:
        """A controlled shutdown begins, unless one is under way."""
        if not self.stopping:
            self._becomes(STOPPING)
            self._asked = 0
            broker = self._broker
            broker.after(SHUTDOWN_TIMEOUT_US, broker.shutdown_answered, (broker.life, True))
            self._ask_to_stop(0)

    def _ask_to_stop(self, asked: int) -> None:
        """A heartbeat that asks whether the process may end, and the next one when it is not answered."""
        if asked != self._asked:
            return
        broker = self._broker
        self._asked += 1
        beat = broker, broker.epoch, broker.metadata.version
        link = broker.control.link_from(broker)
        broker.after(self._heartbeat_us, self._ask_to_stop, self._asked)
        if broker.control.active == broker.id:
            broker.control.shut_down(beat)
        elif link is not None:
            link.send(broker.control.shut_down, beat)

    def not_yet(self) -> None:
        """The leaderships are moving: Kafka asks a second time sooner than usual."""
        if self._asked == 1:
            self._broker.after(min(SOONER_US, self._heartbeat_us), self._ask_to_stop, self._asked)
