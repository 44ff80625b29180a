"""A client's process: its threads, its connections, what it knows of the cluster, what freezing or killing it means.

Its threads are actors in one nursery. Killing it cancels their scope: nothing is cleaned up, nobody is told. Freezing
it (SIGSTOP, a long GC) holds back whatever arrives and whatever its threads would do next.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio

from cluster.clients.key_order import KeyOrder
from cluster.events import Event
from cluster.network import NEVER_FROZEN, Connection, ConnectionAttempts, Endpoint, InFlightRequest, Network
from cluster.protocol.api import Request
from cluster.protocol.messages import MetadataRequest, MetadataResponse, PartitionMetadata
from cluster.random_streams import random_stream
from cluster.virtual_time import TIMED_OUT, TimedOut, Timeline, Timer, Waiter
from cluster.virtual_time.waiting import NEVER_US

MS = 1_000
HIGHEST_NODE = 2_147_483_647  # Integer.MAX_VALUE


def coordinator_node(broker: int) -> int:
    """The node id by which a consumer has a connection to its coordinator beside the one that it fetches over.

    It is its own inverse. Source: `AbstractCoordinator.FindCoordinatorResponseHandler`.
    """
    return HIGHEST_NODE - broker


class ClientEnvironment(msgspec.Struct):
    """The world as a client has it: time, the network, every broker's address, and a voice.

    `transaction_version` is what brokers tell in their ApiVersions: the cluster's `transaction.version`. `leaders` is
    what the controller knows of every partition: only for telling whether asking would bring any news.
    `start_jitter_us`: a consumer's application begins later than its process by less than this.
    """

    timeline: Timeline
    network: Network
    brokers: dict[int, Endpoint]
    emit: Callable[[Event], None]
    seed: int
    key_order: KeyOrder
    leaders: Mapping[str, PartitionMetadata]
    transaction_version: int = 2
    start_jitter_us: int = 0


class Process:
    """A client's process; `number` is its place among the clients (it spreads first contacts over the brokers)."""

    timed_out_after_us = 0  # from when its timeout is over until a request counts as timed out

    def __init__(self, environment: ClientEnvironment, name: str, number: int, config: Mapping[str, Any]) -> None:
        self.environment, self.name, self.number = environment, name, number
        self.timeline, self.emit = environment.timeline, environment.emit
        self.alive = self.running = False
        self.frozen_us = NEVER_FROZEN
        self.scope: trio.CancelScope | None = None
        self._config = config
        self._connections: dict[int, Connection] = {}
        self._attempts: dict[int, ConnectionAttempts] = {}
        self._jitter = random_stream(environment.seed, f"reconnect/{name}").random
        self.read_timeouts(config)
        self._watched: dict[Connection, None] = {}
        self._timeouts: Timer | None = None  # one for all connections: a heap full of them slows every turn
        self._incarnation = 0
        self._backlog: list[tuple[Callable[[Any], object], Any]] = []
        self._thaw: list[Waiter] = []
        self._broker_offset = 0
        self.on_stopped: Callable[[], object] | None = None
        self.metadata_version = 0
        self.refreshed_us = 0
        self.topic_partitions: dict[str, tuple[str, ...]] = {}
        self.partitions: dict[str, PartitionMetadata] = {}

    def read_timeouts(self, config: Mapping[str, Any]) -> None:
        """Read what every client's configuration has; a request under way is looked at when its old timeout is over."""
        self._request_timeout_us: int = config["request.timeout.ms"] * MS + self.timed_out_after_us
        self.retry_backoff_us: int = max(1, config["retry.backoff.ms"]) * MS  # else time would stand still
        self.retry_backoff_max_us: int = config["retry.backoff.max.ms"] * MS
        for connection in self._connections.values():
            connection.timeout_us = self._request_timeout_us

    # --- waiting ------------------------------------------------------------------------------------------------------

    async def park(self, waiter: Waiter) -> Any:  # noqa: ANN401 - whatever the waiter is woken with
        """Wait until somebody wakes the waiter."""
        value = await self.timeline.park(waiter)
        if not self.running:
            await self._frozen()
        return value

    async def park_until(self, waiter: Waiter, at_us: int) -> object | TimedOut:
        """Wait until somebody wakes the waiter, or until an instant."""
        value = await self.timeline.park_until(waiter, at_us)
        if not self.running:
            await self._frozen()
        return value

    async def sleep(self, duration_us: int) -> None:
        """Let time pass."""
        await self.timeline.sleep(duration_us)
        if not self.running:
            await self._frozen()

    async def _frozen(self) -> None:
        while not self.running:
            waiter = self.timeline.waiter("its process to thaw")
            self._thaw.append(waiter)
            await self.timeline.park(waiter)

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Something arrived at a process that does not run: a frozen one has it in its sockets, a dead one nowhere."""
        if self.alive:
            self._backlog.append((action, argument))

    def after(self, duration_us: int, action: Callable[[], object]) -> Timer:
        """Do something after a while: later when it is frozen by then, never when it is dead."""
        return self.timeline.call_later(duration_us, self._due, (self._incarnation, action))

    def _due(self, due: tuple[int, Callable[[], object]]) -> None:
        life, action = due
        if life != self._incarnation or not self.alive:
            return
        if self.running:
            action()
        else:
            self.later(self._due, due)

    def watch(self, connection: Connection, at_us: int) -> None:
        """Ask the connection at this instant, at the latest, whether a request has timed out."""
        self._watched[connection] = None
        if self._timeouts is None or self._timeouts.at_us > at_us:
            if self._timeouts is not None:
                self._timeouts.cancel()
            self._timeouts = self.timeline.call_at(at_us, self._check_timeouts, None)

    def _check_timeouts(self, _: None) -> None:
        self._timeouts = None
        if not self.running:
            self.later(self._check_timeouts, None)
            return
        watched, self._watched = self._watched, {}
        for connection in watched:
            at_us = connection.check_timeouts()
            if at_us is not None:
                self.watch(connection, at_us)

    # --- life and death -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The process runs."""
        self.alive = self.running = True
        self._incarnation += 1
        self._backlog.clear()

    def end(self) -> None:
        """The process is gone: its threads die, its connections close."""
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

    def notify_stopped(self, *, cleanly: bool) -> None:
        """The world knows that the process is gone: what was to follow a clean stop follows, and only that."""
        on_stopped, self.on_stopped = self.on_stopped, None
        if on_stopped is not None and cleanly:
            on_stopped()

    def freeze(self) -> None:
        """Stop every thread where it is."""
        self.running = False
        self.frozen_us = self.timeline.now_us, NEVER_US

    def thaw(self) -> None:
        """Go on: first with what has arrived meanwhile, in order."""
        self.running = True
        self.frozen_us = self.frozen_us[0], self.timeline.now_us
        backlog, self._backlog = self._backlog, []
        for action, argument in backlog:
            action(argument)
        waiters, self._thaw = self._thaw, []
        for waiter in waiters:
            waiter.wake()

    # --- talking ------------------------------------------------------------------------------------------------------

    def connection(self, node: int) -> Connection:
        """The connection to a node, a broker's id or `coordinator_node`: not begun again before its backoff is over."""
        connection = self._connections.get(node)
        if connection is None or connection.broken:
            return self._connect(node, connection)
        return connection

    def _connect(self, node: int, broken: Connection | None) -> Connection:
        attempts = self._attempts.get(node)
        if attempts is None:
            attempts = self._attempts[node] = ConnectionAttempts(self._config, self._jitter)
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
        """Whether there is no connection to a node, and none may be begun yet."""
        connection = self._connections.get(node)
        return connection is not None and connection.broken and self.timeline.now_us < connection.attempts.not_before_us

    def connection_ready_us(self, broker: int) -> int:
        """When to ask again for a connection that is not ready: when its backoff is over; NEVER_US: it will be told."""
        connection = self.connection(broker)
        if connection.broken:
            return connection.attempts.not_before_us
        return self.timeline.now_us if connection.ready else NEVER_US

    def connected(self, _: Connection) -> None:
        """A connection is ready."""

    def disconnected(self, _: Connection) -> None:
        """A connection broke, or could not be made."""

    async def ask(self, broker: int, request: Request, *, long_poll: bool = False) -> Any:  # noqa: ANN401 - its response
        """Send a request and wait for its response; None when the connection broke."""
        waiter = self.timeline.waiter(request)
        call: InFlightRequest = self.connection(broker).send(request, waiter.wake, long_poll=long_poll)
        response = await self.park(waiter)
        assert call.completed
        return response

    def any_broker(self) -> int:
        """Whom to ask when nobody in particular is to be asked: the broker with the fewest requests in flight.

        One that it is connected to comes before one that it is connecting to, that one before all others, and one whose
        connection broke is the last, as long as its backoff lasts. Kafka begins to look at a random one, here it is the
        one that was asked last, while it helps. Source: `NetworkClient.leastLoadedNode`.
        """
        brokers = list(self.environment.brokers)
        first = self.number + self._broker_offset
        return min((brokers[(first + step) % len(brokers)] for step in range(len(brokers))), key=self._load_rank)

    def _load_rank(self, broker: int) -> tuple[int, int]:
        """What speaks against asking a broker: how far it is from being connected, then how busy it is."""
        connection = self._connections.get(broker)
        if connection is None:
            return 2, 0
        if connection.ready:
            return 0, connection.load
        if not connection.broken:
            return 1, 0
        return 3 if self.backs_off(broker) else 2, connection.attempts.not_before_us

    def try_another_broker(self) -> None:
        """`any_broker` did not help: the next one may."""
        self._broker_offset += 1

    async def refresh_metadata(self, topics: tuple[str, ...]) -> None:
        """Ask brokers in turn until one answers with the leaders of these topics' partitions."""
        while True:
            response: MetadataResponse | None = await self.ask(self.any_broker(), MetadataRequest(topics))
            if response is not None and response.brokers:
                break
            self.try_another_broker()
            await self.sleep(self.retry_backoff_us)
        self.metadata_version += 1
        self.refreshed_us = self.timeline.now_us
        for topic, partitions in response.topics.items():
            names = tuple(f"{topic}-{number}" for number in range(len(partitions)))
            self.topic_partitions[topic] = names
            for name, metadata in zip(names, partitions, strict=True):
                known = self.partitions.get(name)
                if known is None or metadata.leader_epoch >= known.leader_epoch:
                    self.partitions[name] = metadata

    def leader_of(self, partition: str) -> int:
        """The leader as far as this client knows; -1 when it knows none."""
        metadata = self.partitions.get(partition)
        return metadata.leader if metadata is not None else -1


__all__ = ["TIMED_OUT", "ClientEnvironment", "Process"]
