"""A broker's sockets: accept connections, read them request by request, reset them when the process ends.

Theory of operation. The next request of a connection is read when the last one has been answered (acks=0: handled). So
the requests of one connection are served in their order, and a parked request holds up those behind it. Here a request
that finds its connection idle is handled where it arrives. A request that must wait gets a turn of its own, at the
instant of the response that it waited for. A parked Fetch that holds up others is answered when its `fetch.max.wait.ms`
is over.

A client that closes its end is noticed behind the requests that it had sent: a response to it is still written, and the
next request is served. The response to that one fails, which drops the rest.
Source: `kafka.network.SocketServer` (`Processor`, mute and unmute), `Selector.close` (`CloseMode.GRACEFUL`).
"""

from collections.abc import Callable, Iterable
from typing import Any

from cluster.broker.disk import appends_of
from cluster.broker.host import BrokerHost, RequestHandlers
from cluster.network import FROM_HOST, Connection, InFlightRequest


class SocketServer:
    """Every connection to one broker. `host_is_up`: the host answers for a dead process.

    `never_received` is called with each request that is lost with its connection; `expire` answers a parked Fetch at
    the end of its `fetch.max.wait.ms`.
    """

    def __init__(
        self,
        host: BrokerHost[Any],
        handlers: RequestHandlers,
        never_received: Callable[[InFlightRequest], None],
        expire: Callable[[InFlightRequest], None],
    ) -> None:
        self._host, self.name, self._timeline = host, host.name, host.timeline
        self._handlers, self.never_received, self.expire = handlers, never_received, expire
        self._connections: dict[Connection, None] = {}
        self.host_is_up = True

    @property
    def running(self) -> bool:
        """Whether the broker's process runs: neither frozen nor dead, nor loading its logs."""
        return self._host.running

    # --- connections --------------------------------------------------------------------------------------------------

    def accept(self, connection: Connection) -> None:
        """A client connects: a frozen process answers when it resumes.

        The host refuses for a dead process, and for a starting one (`BrokerServer.startup` opens the port last).
        """
        host = self._host
        if host.running and not host.starting:
            self._connections[connection] = None
            connection.accepted = True
            connection.inbound.send(connection.established, None)
        elif host.frozen and not host.starting:
            connection.connect_pending()
            host.defer(self.accept, connection)
        elif self.host_is_up:
            connection.inbound.send(connection.reset, FROM_HOST)

    def disconnected(self, connection: Connection) -> None:
        """A client closed its end, after all its requests arrived."""
        if self._host.frozen:
            self._host.defer(self.disconnected, connection)
        elif connection.unread:
            connection.half_closed = True
        else:
            self._forget(connection)

    def close(self, connection: Connection) -> None:
        """The broker closes a connection; unread requests are lost."""
        self._forget(connection)
        self._drop_unread(connection)
        connection.inbound.send(connection.reset, None)

    def _forget(self, connection: Connection) -> None:
        if connection.accepted:
            connection.accepted = False
            self._connections.pop(connection, None)

    def _drop_unread(self, connection: Connection) -> None:
        unread = tuple(connection.unread)
        connection.serving = None
        connection.unread.clear()
        for call in unread:
            self.never_received(call)

    def refresh_reachability(self) -> None:
        """The process froze or resumed: its clients check again whether the broker is reachable."""
        for connection in self._connections:
            connection.refresh_reachability()

    # --- requests -----------------------------------------------------------------------------------------------------

    def receive(self, call: InFlightRequest) -> None:
        """A request arrived over a link; a connection to a former process is not one to the present process."""
        connection, host = call.connection, self._host
        if host.running and connection.accepted:
            if connection.serving is None:
                if connection.in_order:
                    connection.serving = call
                if host.disk.bad:
                    self._handle(call)
                else:
                    self._handlers[call.request.__class__](call)
            else:
                connection.unread.append(call)
                connection.serving.hurry()
        elif host.frozen:
            host.defer(self.receive, call)
        else:
            self.never_received(call)
            if self.host_is_up:
                connection.inbound.send(connection.reset, None)

    def read_on(self, connection: Connection, *, answered: bool) -> None:
        """The request in hand was handled, and others wait behind it: schedule the next one now."""
        if connection.half_closed and answered:
            if connection.refused:
                self._forget(connection)
                self._drop_unread(connection)
                return
            connection.refused = True
        self._timeline.post(self._timeline.now_us, self._read, connection)

    def _read(self, connection: Connection) -> None:
        if not connection.unread:  # the process died meanwhile
            return
        if not self._host.running:
            self._host.defer(self._read, connection)
            return
        call = connection.serving = connection.unread.pop(0)
        if connection.unread:
            call.hurry()
        elif connection.half_closed:
            self._forget(connection)
        self._handle(call)

    def _handle(self, call: InFlightRequest) -> None:
        disk = self._host.disk
        if disk.bad and (appends := appends_of(call.request)):
            if disk.full:  # the process halts before it answers
                self.never_received(call)
            disk.append(appends, self.serve, call)
        else:
            self._handlers[call.request.__class__](call)

    def serve(self, call: InFlightRequest) -> None:
        """The disk finished the appends of a request: handle it."""
        if self._host.running:
            self._handlers[call.request.__class__](call)
        else:
            self._host.defer(self.serve, call)

    # --- the end ------------------------------------------------------------------------------------------------------

    def died(
        self, deferred: Iterable[tuple[Callable[[Any], object], Any]], waiting: Iterable[InFlightRequest]
    ) -> list[Connection]:
        """The process ended: its deferred, disk-bound (`waiting`) and unread requests are lost.

        Returns the connections that it had or would have accepted: they are reset after the end was emitted.
        """
        deferred = list(deferred)
        for call in [*[call for action, call in deferred if action in (self.receive, self.serve)], *waiting]:
            self.never_received(call)
        for connection in self._connections:
            self._drop_unread(connection)
        connecting = [connection for action, connection in deferred if action == self.accept]
        connections = [*self._connections, *connecting]
        self._connections = {}
        return connections

    def reset(self, connections: Iterable[Connection], *, host_is_up: bool) -> None:
        """Reset the connections of a dead process, if its host still runs."""
        self.host_is_up = host_is_up
        for connection in connections:
            connection.accepted = False
            if host_is_up:
                connection.inbound.send(connection.reset, None)
            else:  # no reset is sent: requests in flight time out
                connection.refresh_reachability()
