"""What a broker's process says to the controller by itself: let me in, I am alive, let me go.

Each is said again until it is answered, because an answer may die with the controller that gave it.
Source: `BrokerLifecycleManager`.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.broker.control_plane import ControlledBroker, ControlPlane
from cluster.timeline import Timer

REGISTRATION_BACKOFF_US = 1_000_000
CONTROLLER_SOCKET_TIMEOUT_US = 30_000_000  # controller.socket.timeout.ms


class LivingBroker(ControlledBroker, Protocol):
    """The broker whose life this is."""

    control: ControlPlane
    epoch: int

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, unless this life of the process is over by then."""

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Keep what is due while the process does not run."""


class Lifecycle:
    """One broker's; `stopping` while a controlled shutdown is under way."""

    def __init__(self, broker: LivingBroker, heartbeat_us: int) -> None:
        self._broker, self._heartbeat_us = broker, heartbeat_us
        self._registration: Timer | None = None  # when to ask again, while it is not let in
        self.stopping = False

    def register(self, life: int) -> None:
        """Ask to be let in, and again when no answer comes."""
        broker = self._broker
        if not broker.running:
            broker.later(self.register, life)
        elif life == broker.life:
            link = broker.control.link_from(broker)
            if link is not None:
                link.send(broker.control.register, (broker, life))
            self._register_in(REGISTRATION_BACKOFF_US if link is None else self._patience_us)

    @property
    def _patience_us(self) -> int:
        """How long it waits for an answer before it asks again (KAFKA-14392, `NodeToControllerChannelManagerImpl`)."""
        return min(CONTROLLER_SOCKET_TIMEOUT_US, self._broker.control.controller.session_timeout_us // 2)

    def _register_in(self, delay_us: int) -> None:
        self.registered()
        self._registration = self._broker.control.timeline.call_later(delay_us, self.register, self._broker.life)

    def refused(self) -> None:
        """The session of this broker's former life is still valid: try again."""
        if self._registration is not None:
            self._register_in(REGISTRATION_BACKOFF_US)

    def registered(self) -> None:
        """It is in: nothing more to ask for."""
        if self._registration is not None:
            self._registration.cancel()
            self._registration = None

    def beat(self, _: None) -> None:
        """A heartbeat, and the next one after it."""
        broker = self._broker
        link = broker.control.link_from(broker)
        if link is not None:
            link.send(broker.control.heartbeat, (broker, broker.epoch))
        broker.after(self._heartbeat_us, self.beat, None)

    def stop(self, _: None = None) -> None:
        """A controlled shutdown: ask with every heartbeat whether the process may end."""
        broker = self._broker
        self.stopping = True
        link = broker.control.link_from(broker)
        if broker.control.active == broker.id:
            broker.control.shut_down(broker)
        elif link is not None:
            link.send(broker.control.shut_down, broker)
        broker.after(self._heartbeat_us, self.stop, None)
