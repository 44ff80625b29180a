"""A connection from a client to a broker: it is made, requests are sent, responses return in order, and it breaks.

Theory of operation. A connection is made before anything is sent. That takes one round trip (Kafka's TCP handshake and
ApiVersions in one) to a host that answers. A dead process's host refuses at once; a host that does not answer costs
`socket.connection.setup.timeout.ms`. Requests that are sent before the connection is ready wait for it. A broken
connection stays broken. The next attempt is another connection, after `reconnect.backoff.ms`, which doubles with each
failure (`ConnectionAttempts`, one for each client and node). Requests that are sent before that attempt fail.

A request ends exactly once: with its response, or with None when the connection broke. It breaks when the broker's
process dies, and when a request got no response within `request.timeout.ms`: a Kafka client then drops the connection.

A broker reads the next request of a connection when it has answered the last one. `serving` is the request that it
handles, `unread` those that have arrived behind it. The broker's `SocketServer` reads the next one.

An idle Fetch that a broker parks is renewed every `fetch.max.wait.ms` in Kafka. Here it stays parked until its client
needs it to end (`InFlightRequest.hurry`). Its timeout runs only while the broker is unreachable, which the watchers of
links and processes report. Source: `NetworkClient`, `ClusterConnectionStates`, `ConsumerNetworkClient`.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.network.connection_attempts import ConnectionAttempts
from cluster.network.network import Link, Network
from cluster.protocol.api import Request, Response
from cluster.virtual_time import Timeline

NEVER_FROZEN = (-1, -1)


class Endpoint(Protocol):
    """A broker's socket server, as a connection sees it. The layer between: clients and network know no broker."""

    name: str

    @property
    def running(self) -> bool:
        """Whether its process runs: neither frozen nor dead."""

    def accept(self, connection: "Connection") -> None:
        """Handle a client's attempt to connect."""

    def receive(self, call: "InFlightRequest") -> None:
        """Handle a request that has arrived."""

    def never_received(self, call: "InFlightRequest") -> None:
        """Note a request that was lost with its connection."""

    def disconnected(self, connection: "Connection") -> None:
        """Handle the close of the client's end."""

    def read_on(self, connection: "Connection", *, answered: bool) -> None:
        """Read the next request after one was handled. `answered`: it got a response, unlike one with acks=0."""

    def expire(self, call: "InFlightRequest") -> None:
        """Answer a parked Fetch when `fetch.max.wait.ms` is over."""


class Owner(Protocol):
    """The process that made a connection. `frozen_us`: from when to when it was frozen last."""

    name: str
    frozen_us: tuple[int, int]

    @property
    def running(self) -> bool:
        """Whether its process runs: neither frozen nor dead."""

    def watch(self, connection: "Connection", at_us: int) -> None:
        """Call the connection's `check_timeouts` at this instant, at the latest."""

    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        """Queue an action until the process resumes; a dead process drops it."""

    def connected(self, connection: "Connection") -> None:
        """React to a connection that is ready."""

    def disconnected(self, connection: "Connection") -> None:
        """React to a connection that broke, or could not be made."""


def _ignore(_: object) -> None:
    """Ignore a second response to a request that has ended."""


class InFlightRequest:
    """One request in flight. `reply` answers it at the broker; `completed` once the client has the answer."""

    __slots__ = (
        "completed",
        "connection",
        "hurried",
        "long_poll",
        "on_response",
        "own_timeout",
        "parked",
        "request",
        "response",
        "sent_us",
    )

    def __init__(
        self,
        connection: "Connection",
        request: Request,
        on_response: Callable[[Any], object],
        long_poll: bool,
        sent_us: int,
    ) -> None:
        self.connection, self.on_response = connection, on_response
        self.request: Any = request  # its handler knows its type
        self.long_poll, self.sent_us, self.completed = long_poll, sent_us, False
        self.response: Any = None
        self.own_timeout = self.parked = self.hurried = False

    def end(self, response: Response | None) -> None:
        """Give the client the response, None for a broken connection. Drops the callback, which refers back to this."""
        self.completed = True
        on_response, self.on_response = self.on_response, _ignore
        on_response(response)

    def cancel(self) -> None:
        """Ignore the response: the client no longer waits for it."""
        self.completed, self.on_response = True, _ignore

    def reply(self, response: Response) -> None:
        """Send the response to the client. A broker answers a request once."""
        self.response = response
        connection = self.connection
        connection.inbound.send(connection.arrive, self)
        if connection.serving is self:
            connection.served()

    def hurry(self) -> None:
        """Let this Fetch, once parked, be answered when `fetch.max.wait.ms` is over: its client waits for its end."""
        if not self.hurried:
            self.hurried = True
            if self.parked:
                self.connection.broker.expire(self)

    def park(self) -> None:
        """Keep a Fetch without records at the broker."""
        if not self.parked:
            self.parked = True
            if self.hurried:
                self.connection.broker.expire(self)

    @property
    def client(self) -> str:
        """The name of the process that sent the request."""
        return self.connection.owner.name


class Connection:
    """One connection of a client to a broker, from the attempt on; `timeout_us` is its `request.timeout.ms`.

    `ready`: requests go out. `broken`: it has ended. `accepted`: the broker's process knows it. `unreachable`: no
    response can arrive now. `in_order`: the broker serves one request after the other. `half_closed`: the broker knows
    that the client has closed, and still serves the requests that came before. `refused`: a response reached a closed
    client. `taken_up`: the host of a frozen broker has answered the attempt. `timed_out`: the client broke it because a
    request was not answered in time.
    """

    __slots__ = (
        "_in_flight", "_setup_ends_us", "_unreachable_since_us", "_watched", "accepted", "attempts", "broken", "broker",
        "half_closed", "in_order", "inbound", "outbound", "owner", "ready", "refused", "serving", "taken_up",
        "timed_out", "timeline", "timeout_us", "unreachable", "unread",
    )  # fmt: skip

    def __init__(
        self,
        timeline: Timeline,
        network: Network,
        owner: Owner,
        broker: Endpoint,
        timeout_us: int,
        attempts: ConnectionAttempts,
        *,
        in_order: bool = True,
    ) -> None:
        self.timeline, self.owner, self.broker, self.timeout_us = timeline, owner, broker, timeout_us
        self.outbound: Link = network.link(owner.name, broker.name)
        self.inbound: Link = network.link(broker.name, owner.name)
        self.attempts = attempts
        self.ready = self.broken = self.accepted = self.unreachable = self.half_closed = self.refused = False
        self.in_order, self.timed_out, self.taken_up = in_order, False, False
        self.serving: InFlightRequest | None = None
        self.unread: list[InFlightRequest] = []
        self._in_flight: dict[InFlightRequest, None] = {}
        self._unreachable_since_us = 0
        self._setup_ends_us = timeline.now_us + attempts.setup_timeout_us()
        self._watched = True
        self.outbound.watch(self.refresh_reachability)
        self.inbound.watch(self.refresh_reachability)
        self.refresh_reachability()
        owner.watch(self, self._setup_ends_us)
        self.outbound.send(broker.accept, self)

    # --- making it ------------------------------------------------------------------------------------------------

    def connect_pending(self) -> None:
        """Wait for a frozen broker with `request.timeout.ms`: its host has answered the attempt to connect."""
        self.taken_up = True
        self._setup_ends_us = self.timeline.now_us + self.timeout_us
        self.owner.watch(self, self._setup_ends_us)

    def established(self, _: object = None) -> None:
        """Send the waiting requests: the broker's process has accepted the connection."""
        if not self.owner.running:
            self.owner.defer(self.established, None)
        elif not self.broken:
            self.ready = True
            self.attempts.succeeded()
            for call in self._in_flight:
                self.outbound.send(self.broker.receive, call)
            self._watched = False
            self._watch_calls()
            self.owner.connected(self)

    # --- requests ----------------------------------------------------------------------------------------------------

    def send(
        self,
        request: Request,
        on_response: Callable[[Any], object],
        *,
        long_poll: bool = False,
        own_timeout: bool = False,
        unanswered: Response | None = None,
    ) -> InFlightRequest:
        """Send a request; `on_response` gets the response, or None when the connection breaks before it.

        `own_timeout`: the sender of the request has a timeout of its own instead of `request.timeout.ms` (JoinGroup).
        `unanswered`: the response of a request that no broker answers, delivered once it is written.
        """
        call = InFlightRequest(self, request, on_response, long_poll, self.timeline.now_us)
        call.own_timeout = own_timeout
        if not self.ready:
            self._wait_for_connection(call)
            return call
        self._in_flight[call] = None
        if unanswered is not None:
            call.response = unanswered
            self.outbound.send(self.broker.receive, call)
            self.timeline.post(call.sent_us, self.arrive, call)
            return call
        if not self._watched and (self.unreachable or not long_poll):
            self._watched = True
            self.owner.watch(self, call.sent_us + self.timeout_us)
        self.outbound.send(self.broker.receive, call)
        return call

    def _wait_for_connection(self, call: InFlightRequest) -> None:
        if self.broken:
            self.timeline.post(self.timeline.now_us, self._fail, call)
        else:
            self._in_flight[call] = None
            self.owner.watch(self, call.sent_us + self.timeout_us)

    def _fail(self, call: InFlightRequest) -> None:
        """Fail a request that was sent over a broken connection."""
        if not self.owner.running:
            self.owner.defer(self._fail, call)
        elif not call.completed:
            call.end(None)

    def arrive(self, call: InFlightRequest) -> None:
        """Deliver a response that has reached the client's socket."""
        if not self.owner.running:
            self.owner.defer(self.arrive, call)
        elif not call.completed:
            del self._in_flight[call]
            call.end(call.response)

    def served(self, *, answered: bool = True) -> None:
        """Let the broker read the next request, after it has handled one."""
        if self.unread:
            self.broker.read_on(self, answered=answered)
        else:
            self.serving = None

    @property
    def load(self) -> int:
        """The number of requests in flight."""
        return len(self._in_flight)

    @property
    def awaits_response(self) -> bool:
        """Whether a request has left the client, be it the ApiVersions request of a connection that is not ready."""
        return bool(self._in_flight) and (self.ready or self.taken_up)

    def waits_only_for(self, *kinds: type) -> bool:
        """Whether the connection is ready, and every request in flight has one of these types."""
        return self.ready and all(isinstance(call.request, kinds) for call in self._in_flight)

    # --- the end --------------------------------------------------------------------------------------------------

    def reset(self, _: object = None) -> None:
        """Break the connection, or its attempt: every request in flight ends with None."""
        if self.broken:
            return
        if not self.owner.running:
            self.owner.defer(self.reset, None)
            return
        self.attempts.failed(self.timeline.now_us, connecting=not self.ready)
        calls = self._end()
        for call in calls:
            if not call.completed:  # the callback of one may cancel others
                call.end(None)
        self.owner.disconnected(self)

    def disconnect(self) -> None:
        """Drop the connection, and begin its backoff; requests in flight get no response."""
        if not self.broken:
            self.attempts.failed(self.timeline.now_us, connecting=not self.ready)
            self.close()

    def close(self) -> None:
        """Close the connection; requests in flight get no response."""
        if not self.broken:
            for call in self._end():
                call.cancel()

    def _end(self) -> list[InFlightRequest]:
        """Notify the broker, and drop messages that have not left the client; returns the requests in flight."""
        self.broken, self.ready = True, False
        for link in (self.outbound, self.inbound):
            link.unwatch(self.refresh_reachability)
        calls, self._in_flight = list(self._in_flight), {}
        if self.outbound.cut_since_us is not None:
            for message in self.outbound.drop_unsent(self._is_mine):
                if isinstance(message, InFlightRequest):
                    self.broker.never_received(message)
        self.outbound.send(self.broker.disconnected, self)
        return calls

    def _is_mine(self, message: object) -> bool:
        return message is self or (isinstance(message, InFlightRequest) and message.connection is self)

    # --- timeouts -------------------------------------------------------------------------------------------------

    def refresh_reachability(self) -> None:
        """Check whether the broker is reachable: parked requests are timed only while it is not."""
        unreachable = (
            not self.broker.running or self.outbound.cut_since_us is not None or self.inbound.cut_since_us is not None
        )
        if unreachable and not self.unreachable:
            self._unreachable_since_us = self.timeline.now_us
        self.unreachable = unreachable
        if unreachable and self.ready:
            self._watch_calls()

    def _watch_calls(self) -> None:
        oldest_us = self._oldest_us()
        if oldest_us is not None and not self._watched:
            self._watched = True
            self.owner.watch(self, oldest_us + self.timeout_us)

    def _oldest_us(self) -> int | None:
        """Since when the oldest request in flight has waited; None if no request is being timed."""
        oldest_us = min((call.sent_us for call in self._in_flight if not call.long_poll), default=None)
        if self.unreachable or not self.ready:
            for call in self._in_flight:
                if call.own_timeout:
                    continue
                waits_us = max(call.sent_us, self._unreachable_since_us)
                if oldest_us is None or waits_us < oldest_us:
                    oldest_us = waits_us
        return oldest_us

    def check_timeouts(self) -> int | None:
        """Break the connection if a request has timed out; else returns when to check again, None for never."""
        if self.broken:
            return None
        oldest_us = self._oldest_us()
        at_us = None if oldest_us is None else oldest_us + self.timeout_us
        if not self.ready:
            at_us = self._setup_ends_us if at_us is None else min(at_us, self._setup_ends_us)
        if at_us is not None and at_us > self.timeline.now_us:
            return at_us
        self._watched = False
        if at_us is not None:
            self.timed_out = True
            self.reset()
        return None
