"""A client's process: its threads, its connections, its metadata, and how it is killed and frozen.

The threads are actors in one nursery. A kill cancels their scope: nothing is cleaned up, and nothing is sent. A freeze
(SIGSTOP, a long GC) delays everything that arrives, and the next step of every thread.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from cluster.clients.client_environment import ClientEnvironment
from cluster.config import ClientConfig
from cluster.network import NEVER_FROZEN, Connection, ConnectionAttempts, InFlightRequest
from cluster.protocol.api import Request
from cluster.protocol.messages import MetadataRequest, MetadataResponse, PartitionMetadata
from cluster.virtual_time import TIMED_OUT, TimedOut, Timer, Waiter
from cluster.virtual_time.waiting import NEVER_US

MS: Final = 1_000
HIGHEST_NODE: Final = 2_147_483_647  # Integer.MAX_VALUE

Wait = Callable[[], Awaitable[object]]
"""What a thread must wait for before it goes on: it calls this, and awaits the result."""


def coordinator_node(broker: int) -> int:
    """The node id of a consumer's connection to its coordinator, which is separate from the one it fetches over.

    It is its own inverse. Source: `AbstractCoordinator.FindCoordinatorResponseHandler`.
    """
    return HIGHEST_NODE - broker


class Process:
    """A client's process. `number`: its place among the clients, which spreads first requests over the brokers."""

    timed_out_after_us = 0  # how long after its timeout a request counts as timed out

    def __init__(self, environment: ClientEnvironment, name: str, number: int, config: ClientConfig) -> None:
        self.environment, self.name, self.number = environment, name, number
        self.timeline, self.emit = environment.timeline, environment.emit
        self.alive = self.running = False
        self.frozen_us = NEVER_FROZEN
        self.scope: trio.CancelScope | None = None
        self._connections: dict[int, Connection] = {}
        self._attempts: dict[int, ConnectionAttempts] = {}
        self.random = environment.network.random_of(name)
        self.read_timeouts(config)
        self._watched: dict[Connection, None] = {}
        self._timeouts: Timer | None = None  # one for all connections: many timers would slow every turn
        self._incarnation = 0
        self._backlog: list[tuple[Callable[[Any], object], Any]] = []
        self._thaw: list[Waiter] = []
        self._broker_offset = 0
        self.on_stopped: Callable[[], object] | None = None
        self.metadata_version = 0
        self.refreshed_us = 0
        self.topic_partitions: dict[str, tuple[str, ...]] = {}
        self.partitions: dict[str, PartitionMetadata] = {}
        self.live_brokers: tuple[int, ...] = ()
        self.broker_racks: dict[int, str] = {}

    def read_timeouts(self, config: ClientConfig) -> None:
        """Read the keys that all clients share; a request in flight is still checked at its old timeout."""
        self._connection_config = config
        self._request_timeout_us = config.request_timeout_ms * MS + self.timed_out_after_us
        self.retry_backoff_us = max(1, config.retry_backoff_ms) * MS  # a backoff of 0 would stop virtual time
        self.retry_backoff_max_us = config.retry_backoff_max_ms * MS
        for connection in self._connections.values():
            connection.timeout_us = self._request_timeout_us

    # --- waiting ------------------------------------------------------------------------------------------------------

    async def park(self, waiter: Waiter) -> Any:  # noqa: ANN401 - any value
        """Wait until the waiter is woken; returns the value it is woken with."""
        value = await self.timeline.park(waiter)
        if not self.running:
            await self.thawed()
        return value

    async def park_until(self, waiter: Waiter, at_us: int) -> object | TimedOut:
        """Wait until the waiter is woken, or until an instant."""
        value = await self.timeline.park_until(waiter, at_us)
        if not self.running:
            await self.thawed()
        return value

    async def sleep(self, duration_us: int) -> None:
        """Wait for a duration."""
        await self.timeline.sleep(duration_us)
        if not self.running:
            await self.thawed()

    async def thawed(self) -> None:
        """Wait until the process is no longer frozen."""
        while not self.running:
            waiter = self.timeline.waiter("its process to thaw")
            self._thaw.append(waiter)
            await self.timeline.park(waiter)

    def defer(self, action: Callable[[Any], object], argument: object) -> None:
        """Queue an action until a frozen process resumes; for a dead process it is lost."""
        if self.alive:
            self._backlog.append((action, argument))

    def after(self, duration_us: int, action: Callable[[], object]) -> Timer:
        """Call `action` after a duration: later if the process is frozen then, never if it has ended."""
        return self.timeline.call_later(duration_us, self._due, (self._incarnation, action))

    def _due(self, due: tuple[int, Callable[[], object]]) -> None:
        life, action = due
        if life != self._incarnation or not self.alive:
            return
        if self.running:
            action()
        else:
            self.defer(self._due, due)

    def watch(self, connection: Connection, at_us: int) -> None:
        """Check a connection for timed-out requests at this instant, at the latest."""
        self._watched[connection] = None
        if self._timeouts is None or self._timeouts.at_us > at_us:
            if self._timeouts is not None:
                self._timeouts.cancel()
            self._timeouts = self.timeline.call_at(at_us, self._check_timeouts, None)

    def _check_timeouts(self, _: None) -> None:
        self._timeouts = None
        if not self.running:
            self.defer(self._check_timeouts, None)
            return
        watched, self._watched = self._watched, {}
        for connection in watched:
            at_us = connection.check_timeouts()
            if at_us is not None:
                self.watch(connection, at_us)

    # --- start and end ------------------------------------------------------------------------------------------------

    @property
    def life(self) -> int:
        """Which process of this name it is: each start makes the next one."""
        return self._incarnation

    def begin(self) -> None:
        """Start the process."""
        self.alive = self.running = True
        self._incarnation += 1
        self._backlog.clear()

    def end(self) -> None:
        """End the process: its threads are cancelled, its connections closed."""
        self.alive = self.running = False
        for connection in self._connections.values():
            connection.close()
        self._connections, self._attempts, self._watched = {}, {}, {}
        if self._timeouts is not None:
            self._timeouts.cancel()
            self._timeouts = None
        self._backlog.clear()
        self._thaw.clear()
        if self.scope is not None:
            self.scope.cancel()
            self.scope = None

    @property
    def awaits_response(self) -> bool:
        """Whether a request is in flight."""
        return any(connection.awaits_response for connection in self._connections.values())

    def notify_stopped(self, *, cleanly: bool) -> None:
        """Run the `on_stopped` callback after the stop event was emitted; only after a clean stop."""
        on_stopped, self.on_stopped = self.on_stopped, None
        if on_stopped is not None and cleanly:
            on_stopped()

    def freeze(self) -> None:
        """Stop every thread at its next step."""
        self.running = False
        self.frozen_us = self.timeline.now_us, NEVER_US

    def thaw(self) -> None:
        """Resume: first the actions that arrived meanwhile, in order, then the threads."""
        self.running = True
        self.frozen_us = self.frozen_us[0], self.timeline.now_us
        backlog, self._backlog = self._backlog, []
        for action, argument in backlog:
            action(argument)
        waiters, self._thaw = self._thaw, []
        for waiter in waiters:
            waiter.wake()

    # --- connections and requests -------------------------------------------------------------------------------------

    def connection(self, node: int) -> Connection:
        """The connection to a node (a broker's id, or `coordinator_node`), made anew only after its backoff."""
        connection = self._connections.get(node)
        if connection is None or connection.broken:
            return self._connect(node, connection)
        return connection

    def _connect(self, node: int, broken: Connection | None) -> Connection:
        attempts = self._attempts.get(node)
        if attempts is None:
            attempts = self._attempts[node] = ConnectionAttempts(self._connection_config, self.random)
        if broken is not None and self.timeline.now_us < attempts.not_before_us:
            return broken
        environment = self.environment
        endpoint = environment.brokers[node if node in environment.brokers else coordinator_node(node)]
        connection = Connection(
            environment.timeline, environment.network, self, endpoint, self._request_timeout_us, attempts
        )
        self._connections[node] = connection
        return connection

    def backs_off(self, node: int) -> bool:
        """Whether there is no connection to a node, and its backoff forbids another attempt."""
        connection = self._connections.get(node)
        return connection is not None and connection.broken and self.timeline.now_us < connection.attempts.not_before_us

    def connection_ready_us(self, broker: int) -> int:
        """When a connection may be ready: now; the end of its backoff; NEVER_US if `connected` will report it.

        Begins to connect when the backoff allows it.
        """
        connection = self.connection(broker)
        if connection.broken:
            return connection.attempts.not_before_us
        return self.timeline.now_us if connection.ready else NEVER_US

    def connected(self, _: Connection) -> None:
        """React to a connection that is ready."""

    def disconnected(self, _: Connection) -> None:
        """React to a connection that broke, or could not be made."""

    async def ask(self, broker: int, request: Request, *, long_poll: bool = False) -> Any:  # noqa: ANN401 - its response
        """Send a request and wait for its response; None when the connection broke."""
        waiter = self.timeline.waiter(request)
        call: InFlightRequest = self.connection(broker).send(request, waiter.wake, long_poll=long_poll)
        response = await self.park(waiter)
        assert call.completed
        return response

    def any_broker(self) -> int:
        """The broker to ask if any broker will do: the one with the fewest requests in flight.

        Connected brokers come first, then those being connected to, then others; brokers in backoff come last. Kafka
        starts its search at a random broker; here it starts at the last one asked, as long as that one helps.
        Source: `NetworkClient.leastLoadedNode`.
        """
        brokers = list(self.environment.brokers)
        first = self.number + self._broker_offset
        return min((brokers[(first + step) % len(brokers)] for step in range(len(brokers))), key=self._load_rank)

    def _load_rank(self, broker: int) -> tuple[int, int]:
        """The order in which brokers are asked: by how far they are from being connected, then by load."""
        connection = self._connections.get(broker)
        if connection is None:
            return 2, 0
        if connection.ready:
            return 0, connection.load
        if not connection.broken:
            return 1, 0
        return 3 if self.backs_off(broker) else 2, connection.attempts.not_before_us

    def try_another_broker(self) -> None:
        """Let `any_broker` start its search at the next broker: the last one did not help."""
        self._broker_offset += 1

    async def refresh_metadata(self, topics: tuple[str, ...]) -> None:
        """Ask brokers in turn until one returns the leaders of these topics' partitions."""
        while True:
            response: MetadataResponse | None = await self.ask(self.any_broker(), MetadataRequest(topics))
            if response is not None and response.brokers:
                break
            self.try_another_broker()
            await self.sleep(self.retry_backoff_us)
        self.metadata_version += 1
        self.refreshed_us = self.timeline.now_us
        self.live_brokers, self.broker_racks = response.brokers, dict(response.racks)
        for topic, partitions in response.topics.items():
            names = tuple(f"{topic}-{number}" for number in range(len(partitions)))
            self.topic_partitions[topic] = names
            for name, metadata in zip(names, partitions, strict=True):
                known = self.partitions.get(name)
                if known is None or metadata.leader_epoch >= known.leader_epoch:
                    self.partitions[name] = metadata

    def racks_of(self, partition: str) -> tuple[str, ...]:
        """The racks of a partition's replicas, sorted; "" stands for those on brokers that metadata does not list."""
        racks = [self.broker_racks.get(broker, "") for broker in self.partitions[partition].replicas]
        return tuple(sorted(dict.fromkeys(racks)))

    def leader_of(self, partition: str) -> int:
        """The leader in this client's metadata; -1 when it has none."""
        metadata = self.partitions.get(partition)
        return metadata.leader if metadata is not None else -1


__all__ = ["TIMED_OUT", "ClientEnvironment", "Process"]
