"""A broker's sockets: it accepts connections, reads each one request by request, and resets them with its process.

Theory of operation. The next request of a connection is read when the last one has been answered (acks=0: handled), so
that requests of one connection are served in the order of their arrival, and whatever is parked holds up what came
behind it. Here a request that finds its connection idle is handled where it arrives; only what must wait gets a turn of
its own, at the instant of the answer that it waited for. A parked Fetch that holds something up is answered when its
`fetch.max.wait.ms` is over.

A client that closes its end is noticed behind what it had sent: an answer to it is still written, the next request is
served, and the answer to that one fails, which drops the rest.
Source: `kafka.network.SocketServer` (`Processor`, mute and unmute), `Selector.close` (`CloseMode.GRACEFUL`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from cluster.broker.disk import Disk, appends_of
from cluster.network import FROM_HOST, Connection, InFlightRequest
from cluster.protocol.messages import Request
from cluster.virtual_time import Timeline


class SocketHost(Protocol):
    """The broker's process; a `frozen` one stands still."""

    name: str
    running: bool
    frozen: bool
    timeline: Timeline
    disk: Disk

    @property
    def starting(self) -> bool:
        """Whether it takes no connections yet."""

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Keep what reached a frozen process until it thaws."""


class SocketServer:
    """Every connection to one broker. `host_is_up`: the host answers for a dead process.

    `never_received` gets each request that is lost with its connection, `expire` answers a parked Fetch when its
    time is up.
    """

    def __init__(
        self,
        host: SocketHost,
        handlers: Mapping[type[Request], Callable[[InFlightRequest], None]],
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
        """A client wants to connect: a frozen process answers when it thaws.

        The host refuses for a dead one, and for one that is starting (`BrokerServer.startup` opens the port last).
        """
        host = self._host
        if host.running and not host.starting:
            self._connections[connection] = None
            connection.accepted = True
            connection.inbound.send(connection.established, None)
        elif host.frozen and not host.starting:
            connection.connect_pending()
            host.later(self.accept, connection)
        elif self.host_is_up:
            connection.inbound.send(connection.reset, FROM_HOST)

    def disconnected(self, connection: Connection) -> None:
        """A client closed its end, after everything that it had sent before."""
        if self._host.frozen:
            self._host.later(self.disconnected, connection)
        elif connection.unread:
            connection.half_closed = True
        else:
            self._forget(connection)

    def close(self, connection: Connection) -> None:
        """The broker closes a connection, with what it has not read of it."""
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

    def look(self) -> None:
        """The process froze or thawed: clients look again whether it answers."""
        for connection in self._connections:
            connection.refresh_reachability()

    # --- requests -----------------------------------------------------------------------------------------------------

    def receive(self, call: InFlightRequest) -> None:
        """A request arrived over a link. A connection with a former life of this process is not one with this."""
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
            host.later(self.receive, call)
        else:
            self.never_received(call)
            if self.host_is_up:
                connection.inbound.send(connection.reset, None)

    def read_on(self, connection: Connection, *, answered: bool) -> None:
        """The request in hand was handled, and others have come behind it: the next one has its turn now."""
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
            self._host.later(self._read, connection)
            return
        call = connection.serving = connection.unread.popleft()
        if connection.unread:
            call.hurry()
        elif connection.half_closed:
            self._forget(connection)
        self._handle(call)

    def _handle(self, call: InFlightRequest) -> None:
        disk = self._host.disk
        if disk.bad and (appends := appends_of(call.request)):
            if disk.full:  # the process halts with it in its hands
                self.never_received(call)
            disk.append(appends, self.serve, call)
        else:
            self._handlers[call.request.__class__](call)

    def serve(self, call: InFlightRequest) -> None:
        """The disk has done what a request asks of it."""
        if self._host.running:
            self._handlers[call.request.__class__](call)
        else:
            self._host.later(self.serve, call)

    # --- the end ------------------------------------------------------------------------------------------------------

    def died(
        self, backlog: Iterable[tuple[Callable[[Any], object], Any]], waiting: Iterable[InFlightRequest]
    ) -> list[Connection]:
        """The process is gone, with its backlog, with what waited for its disk, and with what it had not read.

        Returns the connections that it had, or would have accepted: they are reset when the world knows of its end.
        """
        backlog = list(backlog)
        for call in (*(call for action, call in backlog if action in (self.receive, self.serve)), *waiting):
            self.never_received(call)
        for connection in self._connections:
            self._drop_unread(connection)
        knocking = [connection for action, connection in backlog if action == self.accept]
        connections = [*self._connections, *knocking]
        self._connections = {}
        return connections

    def reset(self, connections: Iterable[Connection], *, host_is_up: bool) -> None:
        """Tell the clients of a dead process, if its host still can."""
        self.host_is_up = host_is_up
        for connection in connections:
            connection.accepted = False
            if host_is_up:
                connection.inbound.send(connection.reset, None)
            else:  # no reset is sent: what waits for an answer times out
                connection.refresh_reachability()
