"""One broker's connections to other brokers, for requests that brokers send one another.

Kafka's brokers have one request in flight, and put everything that came meanwhile into the next one. Here each is a
request of its own, so the receiving broker does not serve them one after the other.
Source: `InterBrokerSendThread` (AddPartitionsToTxnManager, TransactionMarkerChannelManager: max in flight is 1).
"""

from collections.abc import Callable
from typing import Any, Final

from cluster.broker.controller_channel import ControllerChannel
from cluster.broker.host import BrokerHost
from cluster.config import ConnectionConfig, resolve
from cluster.network import NEVER_FROZEN, Connection, ConnectionAttempts, InFlightRequest
from cluster.protocol.api import Request
from cluster.virtual_time import Timer

REQUEST_TIMEOUT_US: Final = 30_000_000  # request.timeout.ms of a broker
CONNECTING = ConnectionConfig.of(resolve("producer", {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 50}))
"""How brokers connect to brokers: `NetworkUtils.buildNetworkClient` backs off by 50 ms, however often it fails."""


class InterBrokerConnections:
    """One broker's connections to the others and to itself: its own coordinator is asked in the same way."""

    def __init__(self, host: BrokerHost[Any], control: ControllerChannel) -> None:
        self._host, self._control = host, control
        self.name, self.frozen_us = host.name, NEVER_FROZEN  # requests among brokers are not parked
        self._connections: dict[int, Connection] = {}
        self._attempts: dict[int, ConnectionAttempts] = {}
        self._random = host.network.random_of(host.name)
        self._watched: list[Connection] = []
        self._timer: Timer | None = None

    @property
    def running(self) -> bool:
        """Whether the broker's process runs."""
        return self._host.running

    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        """Queue an action until a frozen process resumes."""
        self._host.defer(action, argument)

    def ask(self, broker: int, request: Request, on_response: Callable[[Any], object]) -> InFlightRequest:
        """Send a request to a broker; `on_response` gets the response, or None when the connection breaks."""
        return self._connection(broker).send(request, on_response)

    def _connection(self, broker: int) -> Connection:
        """The connection to a broker; a broken one is replaced when its backoff is over."""
        host = self._host
        attempts = self._attempts.get(broker)
        if attempts is None:
            attempts = self._attempts[broker] = ConnectionAttempts(CONNECTING, self._random)
        known = self._connections.get(broker)
        if known is not None and not (known.broken and host.timeline.now_us >= attempts.not_before_us):
            return known
        endpoint = self._control.brokers[broker].endpoint()
        made = Connection(host.timeline, host.network, self, endpoint, REQUEST_TIMEOUT_US, attempts, in_order=False)
        self._connections[broker] = made
        return made

    def connected(self, _: Connection) -> None:
        """The connection is ready and has sent the requests that waited for it."""

    def disconnected(self, _: Connection) -> None:
        """The connection broke: its requests in flight were answered None, and their senders retry."""

    def watch(self, connection: Connection, at_us: int) -> None:
        """Check the connection's request timeouts at this instant at the latest."""
        self._watched.append(connection)
        if self._timer is None or self._timer.at_us > at_us:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._host.timeline.call_at(at_us, self._check_timeouts, None)

    def _check_timeouts(self, _: None) -> None:
        self._timer = None
        if not self.running:
            self.defer(self._check_timeouts, None)
            return
        watched, self._watched = self._watched, []
        for connection in watched:
            at_us = connection.check_timeouts()
            if at_us is not None:
                self.watch(connection, at_us)

    def on_process_ended(self) -> None:
        """The broker's process ended: close every connection; responses are dropped."""
        for connection in self._connections.values():
            connection.close()
        self._connections, self._watched = {}, []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
