"""A consumer's fetcher: positions, one Fetch in flight for each broker, a buffer that poll() takes records from.

A partition with buffered records is not fetched again; before poll() returns records the next fetches are on their way
(prefetch). Source: `org.apache.kafka.clients.consumer.internals.Fetcher`, `FetchCollector`.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from cluster.connection import Connection
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchedPartition, FetchRequest, FetchResponse, PartitionMetadata
from cluster.protocol.record_batch import RecordBatch


class Slice(NamedTuple):
    """Records of one batch that one poll() returned: offsets first_offset … next_offset - 1."""

    batch: RecordBatch
    first_offset: int
    next_offset: int


class Reader(Protocol):
    """The consumer that a fetcher works for."""

    name: str
    partitions: dict[str, PartitionMetadata]

    def connection(self, broker: int) -> Connection:
        """The connection to a broker."""

    def wake(self) -> None:
        """Records came."""

    def metadata_is_stale(self) -> None:
        """A broker does not lead what it was asked for, or does not answer."""

    def position_out_of_range(self, partition: str) -> None:
        """The log does not reach the position."""


class Fetcher:
    """Fetch positions and buffered batches of the partitions that a consumer holds."""

    def __init__(self, reader: Reader, max_bytes: int, max_partition_bytes: int) -> None:
        self._reader = reader
        self._max_bytes, self._max_partition_bytes = max_bytes, max_partition_bytes
        self.positions: dict[str, int] = {}
        self._buffer: deque[tuple[str, list[RecordBatch]]] = deque()
        self._buffered: dict[str, None] = {}
        self._in_flight: dict[int, None] = {}
        self._free: dict[int, None] = {}  # brokers that lead something and have no Fetch in flight
        self._by_leader: dict[int, list[str]] = {}
        self._handlers: dict[int, Callable[[FetchResponse | None], None]] = {}
        self.answered_fetches = 0

    def assign(self, positions: dict[str, int]) -> None:
        """Begin to fetch these partitions here, beside what is fetched already."""
        self.positions.update(positions)
        self.route()

    def revoke(self, partitions: tuple[str, ...]) -> None:
        """Forget these partitions and what is buffered of them."""
        for name in partitions:
            self.positions.pop(name, None)
            self._buffered.pop(name, None)
        self._buffer = deque(entry for entry in self._buffer if entry[0] in self.positions)
        self.route()

    def route(self) -> None:
        """Leaders or the assignment changed: group partitions by the broker to ask."""
        self._by_leader = {}
        for name in self.positions:
            metadata = self._reader.partitions.get(name)
            if metadata is not None and metadata.leader >= 0:
                self._by_leader.setdefault(metadata.leader, []).append(name)
        self._free = dict.fromkeys(broker for broker in self._by_leader if broker not in self._in_flight)

    def send(self) -> None:
        """Send a Fetch to every broker that leads something wanted and has none in flight."""
        if not self._free:
            return
        buffered, positions = self._buffered, self.positions
        for broker in tuple(self._free):
            wanted = {name: (positions[name], -1) for name in self._by_leader[broker] if name not in buffered}
            if not wanted:
                continue
            self._in_flight[broker] = None
            del self._free[broker]
            handler = self._handlers.get(broker)
            if handler is None:
                handler = self._handlers[broker] = partial(self._answered, broker)
            request = FetchRequest(self._reader.name, wanted, self._max_bytes, self._max_partition_bytes)
            self._reader.connection(broker).send(request, handler, long_poll=True)

    def _answered(self, broker: int, response: FetchResponse | None) -> None:
        self._in_flight.pop(broker, None)
        if broker in self._by_leader:
            self._free[broker] = None
        if response is None:
            self._reader.metadata_is_stale()
            return
        self.answered_fetches += 1
        for fetched in response.partitions:
            self._keep(fetched)
        self._reader.wake()

    def _keep(self, fetched: FetchedPartition) -> None:
        name = fetched.partition
        position = self.positions.get(name)
        if position is None:
            return  # revoked meanwhile
        if fetched.error is ErrorCode.NONE:
            batches = [batch for batch in fetched.batches if batch.next_offset > position]
            if batches and batches[0].base_offset <= position and name not in self._buffered:
                self._buffer.append((name, batches))
                self._buffered[name] = None
        elif fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._reader.position_out_of_range(name)
        else:
            self._reader.metadata_is_stale()

    def collect(self, max_records: int) -> list[Slice]:
        """Take up to `max_records` buffered records, oldest fetch first, and move the positions past them."""
        buffer = self._buffer
        slices: list[Slice] = []
        while buffer and max_records > 0:
            name, batches = buffer[0]
            position = self.positions[name]
            taken = 0
            for batch in batches:
                if max_records <= 0:
                    break
                end = batch.next_offset
                if end - position > max_records:
                    end = position + max_records
                else:
                    taken += 1
                slices.append(Slice(batch, position, end))
                max_records -= end - position
                position = end
            self.positions[name] = position
            if taken == len(batches):
                buffer.popleft()
                del self._buffered[name]
            else:
                del batches[:taken]
        return slices

    def reset(self) -> None:
        """The process starts anew: nothing assigned, nothing in flight."""
        self.positions, self._by_leader = {}, {}
        self._buffer.clear()
        self._buffered, self._in_flight, self._free = {}, {}, {}
