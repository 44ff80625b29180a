"""Registration, heartbeats and controlled shutdown of a broker.

Theory of operation. A started process loads its logs (`startup_us`), registers, and accepts connections when the
controller has registered it. A process that received SIGTERM requests a shutdown with its heartbeats. The controller
moves its leaderships at once, and lets it end when all other brokers have that metadata, which *their* heartbeats tell.
So a clean stop takes about `broker.heartbeat.interval.ms`; meanwhile the broker answers NOT_LEADER_OR_FOLLOWER and
NOT_COORDINATOR. Each request is repeated until it is answered, because the response may be lost with its controller.
Source: `BrokerLifecycleManager`, `BrokerServer.startup` and `shutdown`.
"""

from typing import Any, Final

from cluster.broker.controller_channel import ControllerChannel
from cluster.broker.host import BrokerHost
from cluster.events import BrokerStateChanged
from cluster.protocol.broker_states import BROKER_STATES, BrokerEvent, BrokerState
from cluster.virtual_time import Timer

NO_CONTROLLER_RETRY_US: Final = 1_000_000
CONTROLLER_SOCKET_TIMEOUT_US: Final = 30_000_000  # controller.socket.timeout.ms
SECOND_REQUEST_US: Final = 50_000  # a stopping broker repeats its first request so soon
SHUTDOWN_TIMEOUT_US: Final = 300_000_000  # then the process ends, whether or not the controller agreed


class BrokerLifecycle:
    """The lifecycle of one broker: the state of its process. `loading`: the process loads its logs."""

    def __init__(
        self, broker: BrokerHost[Any], control: ControllerChannel, heartbeat_us: int, startup_us: int = 0
    ) -> None:
        self._broker, self._control, self._heartbeat_us, self._startup_us = broker, control, heartbeat_us, startup_us
        self._registration: Timer | None = None  # repeats BrokerRegistration
        self._shutdown_requests = 0
        self.state, self.loading = BROKER_STATES.initial, False
        self._loaded_us = self._frozen_us = 0  # when the logs are loaded, frozen time not counted; start of the freeze

    @property
    def starting(self) -> bool:
        """Whether the broker accepts no connections yet."""
        return self.state is BrokerState.STARTING

    @property
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""
        return self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN

    def _move(self, event: BrokerEvent) -> None:
        """Change the state; BrokerStarted and BrokerStopped tell the transitions from and to NOT_RUNNING."""
        before, self.state = self.state, BROKER_STATES.next_state(self.state, event)
        if self.state is not before and BrokerState.NOT_RUNNING not in (before, self.state):
            self._broker.emit(BrokerStateChanged(broker=self._broker.id, state=self.state.value))

    # --- start --------------------------------------------------------------------------------------------------------

    def on_process_ended(self) -> None:
        """The process ended."""
        self.loading = False
        self._move(BrokerEvent.PROCESS_ENDED)

    def on_cluster_started(self) -> None:
        """The first process of a new cluster serves at once: its logs are empty, and it is registered."""
        self._move(BrokerEvent.CLUSTER_STARTED)

    def start(self) -> None:
        """The process starts again and loads its logs; it receives nothing meanwhile."""
        self.loading = True
        self._move(BrokerEvent.PROCESS_STARTED)
        timeline = self._control.timeline
        self._loaded_us = timeline.now_us + self._startup_us
        timeline.post(self._loaded_us, self._on_loaded, self._broker.incarnation)

    def freeze(self) -> None:
        """The process is frozen, and does not load either."""
        self._frozen_us = self._control.timeline.now_us

    def thaw(self) -> None:
        """The process resumes; loading ends later by the frozen time."""
        self._loaded_us += self._control.timeline.now_us - self._frozen_us

    def _on_loaded(self, incarnation: int) -> None:
        broker, timeline = self._broker, self._control.timeline
        if incarnation != broker.incarnation:
            return
        if broker.frozen:
            broker.defer(self._on_loaded, incarnation)
            return
        if timeline.now_us < self._loaded_us:
            timeline.post(self._loaded_us, self._on_loaded, incarnation)
            return
        self.loading = False
        broker.on_logs_loaded()
        self.register(incarnation)

    def register(self, incarnation: int) -> None:
        """Send BrokerRegistration, and repeat it until it is answered."""
        broker, control = self._broker, self._control
        if not broker.running:
            broker.defer(self.register, incarnation)
        elif incarnation == broker.incarnation:
            link = control.link_from(broker)
            if link is not None:
                link.send(control.register, (broker, incarnation))
            self._register_in(NO_CONTROLLER_RETRY_US if link is None else self._response_timeout_us)

    @property
    def _response_timeout_us(self) -> int:
        """How long a request to the controller waits for its response (KAFKA-14392).

        Source: `NodeToControllerChannelManagerImpl`.
        """
        return min(CONTROLLER_SOCKET_TIMEOUT_US, self._control.controller.session_timeout_us // 2)

    def _register_in(self, delay_us: int) -> None:
        self._stop_registering()
        self._registration = self._control.timeline.call_later(delay_us, self.register, self._broker.incarnation)

    def on_registration_refused(self) -> None:
        """The session of the former incarnation is still valid: retry after a heartbeat interval."""
        if self._registration is not None:
            self._register_in(self._heartbeat_us)

    def on_registered(self) -> None:
        """The controller has registered the broker, which accepts connections from now on."""
        self._stop_registering()
        self._move(BrokerEvent.REGISTERED)

    def _stop_registering(self) -> None:
        if self._registration is not None:
            self._registration.cancel()
            self._registration = None

    # --- heartbeats and stop ------------------------------------------------------------------------------------------

    def send_heartbeat(self, _: None) -> None:
        """Send a BrokerHeartbeat and schedule the next one."""
        broker, control = self._broker, self._control
        link = control.link_from(broker)
        if link is not None and not self.stopping:
            link.send(control.heartbeat, (broker, broker.epoch, broker.metadata.version))
        broker.after(self._heartbeat_us, self.send_heartbeat, None)

    def stop(self) -> None:
        """Begin a controlled shutdown, unless one is under way."""
        if not self.stopping:
            self._move(BrokerEvent.SHUTDOWN_REQUESTED)
            self._shutdown_requests = 0
            broker = self._broker
            broker.after(SHUTDOWN_TIMEOUT_US, broker.on_shutdown_response, (broker.incarnation, True))
            self._request_shutdown(0)

    def _request_shutdown(self, number: int) -> None:
        """Send a heartbeat that asks whether the process may end, and schedule the next one."""
        if number != self._shutdown_requests:
            return
        broker, control = self._broker, self._control
        self._shutdown_requests += 1
        heartbeat = broker, broker.epoch, broker.metadata.version
        link = control.link_from(broker)
        broker.after(self._heartbeat_us, self._request_shutdown, self._shutdown_requests)
        if control.active == broker.id:
            control.shut_down(heartbeat)
        elif link is not None:
            link.send(control.shut_down, heartbeat)

    def on_shutdown_delayed(self) -> None:
        """The leaderships still move: Kafka sends its second request sooner than the others."""
        if self._shutdown_requests == 1:
            delay_us = min(SECOND_REQUEST_US, self._heartbeat_us)
            self._broker.after(delay_us, self._request_shutdown, self._shutdown_requests)
