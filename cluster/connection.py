"""A connection from a client to a broker: requests go out, answers come back in the order of the links, or it breaks.

A call ends exactly once: with its response, or with None when the connection broke (the broker's process died, or a
request got no answer within `request.timeout.ms`, upon which a Kafka client drops the whole connection).

An idle Fetch that a broker parks is renewed every `fetch.max.wait.ms` in Kafka. Here it stays parked, and its timeout
begins to run only when something hides the broker: that is what the watchers of links and processes are for.
"""

from collections.abc import Callable
from typing import Any, Protocol

from cluster.network import Link, Network
from cluster.protocol.messages import Request, Response
from cluster.timeline import Timeline


class Endpoint(Protocol):
    """A broker, as a connection sees it."""

    name: str

    def receive(self, call: "Call") -> None:
        """A request arrived."""

    def connected(self, connection: "Connection") -> None:
        """A client opened a connection."""


class Owner(Protocol):
    """A client's process, as a connection sees it: `running` is false while it is frozen or dead."""

    name: str
    running: bool

    def watch(self, connection: "Connection", at_us: int) -> None:
        """Ask the connection at this instant, at the latest, whether a request has timed out."""

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Keep this until the process goes on; a dead process forgets it."""


class Call:
    """One request in flight. `reply` answers it from the broker's side; `done` once the client has its end of it."""

    __slots__ = ("connection", "done", "long_poll", "on_response", "request", "response", "sent_us")

    def __init__(
        self,
        connection: "Connection",
        request: Request,
        on_response: Callable[[Any], object],
        long_poll: bool,
        sent_us: int,
    ) -> None:
        self.connection, self.on_response = connection, on_response
        self.request: Any = request  # whoever handles it knows its kind
        self.long_poll, self.sent_us, self.done = long_poll, sent_us, False
        self.response: Any = None

    def reply(self, response: Response) -> None:
        """Send the answer on its way back. A broker answers a call once."""
        self.response = response
        connection = self.connection
        connection.inbound.send(connection.arrive, self)

    @property
    def client(self) -> str:
        """The name of whoever asked."""
        return self.connection.owner.name


class Connection:
    """A client's connection to one broker; `timeout_us` is its `request.timeout.ms`."""

    def __init__(self, timeline: Timeline, network: Network, owner: Owner, broker: Endpoint, timeout_us: int) -> None:
        self.timeline, self.owner, self.broker, self.timeout_us = timeline, owner, broker, timeout_us
        self.outbound: Link = network.link(owner.name, broker.name)
        self.inbound: Link = network.link(broker.name, owner.name)
        self._in_flight: dict[Call, None] = {}
        self._watched = False
        self.hidden = False
        self.outbound.watchers.append(self.look)
        self.inbound.watchers.append(self.look)
        broker.connected(self)

    def send(self, request: Request, on_response: Callable[[Any], object], *, long_poll: bool = False) -> Call:
        """Send a request; `on_response` gets the response, or None when the connection breaks before it."""
        call = Call(self, request, on_response, long_poll and not self.hidden, self.timeline.now_us)
        self._in_flight[call] = None
        if not self._watched and not call.long_poll:
            self._watched = True
            self.owner.watch(self, call.sent_us + self.timeout_us)
        self.outbound.send(self.broker.receive, call)
        return call

    def arrive(self, call: Call) -> None:
        """A response reached the client's socket."""
        if not self.owner.running:
            self.owner.later(self.arrive, call)
        elif not call.done:
            call.done = True
            del self._in_flight[call]
            call.on_response(call.response)

    def reset(self, _: object = None) -> None:
        """The connection broke: every call in flight ends with None."""
        if not self.owner.running:
            self.owner.later(self.reset, None)
            return
        calls, self._in_flight = list(self._in_flight), {}
        for call in calls:
            call.done = True
            call.on_response(None)

    def abandon(self, call: Call) -> None:
        """Nobody waits for this call any more; whatever answers it is dropped."""
        call.done = True
        del self._in_flight[call]

    def close(self) -> None:
        """The client's process is gone or has no more use for the connection: nobody waits for anything."""
        for call in self._in_flight:
            call.done = True
        self._in_flight.clear()

    def look(self, *, silent: bool = False) -> None:
        """Something may have hidden the broker: from now on parked calls are timed like any other.

        `silent`: the broker's process is frozen. Once it is back, the next Fetch is a long poll again.
        """
        self.hidden = silent or self.outbound.cut_since_us is not None or self.inbound.cut_since_us is not None
        for call in self._in_flight:
            if self.hidden and call.long_poll:
                call.long_poll, call.sent_us = False, self.timeline.now_us
        if self.hidden and self._in_flight and not self._watched:
            self._watched = True
            self.owner.watch(self, self.timeline.now_us + self.timeout_us)

    def check_timeouts(self) -> int | None:
        """Break the connection if its oldest request has waited too long; else when to ask again, None for never."""
        oldest = min((call.sent_us for call in self._in_flight if not call.long_poll), default=None)
        if oldest is not None and oldest + self.timeout_us > self.timeline.now_us:
            return oldest + self.timeout_us
        self._watched = False
        if oldest is not None:
            self.reset()
        return None
