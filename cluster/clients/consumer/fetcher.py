"""A consumer's fetcher: positions, one Fetch in flight for each broker, a buffer that poll() takes records from.

A partition with buffered records is not fetched again; before poll() returns records the next fetches are on their way
(prefetch). A Fetch that waits at its broker does not know of partitions that became wanted after it was sent: they are
asked for when `fetch.max.wait.ms` is over and the broker answers it empty, as it does with every idle Fetch in Kafka.
Source: `org.apache.kafka.clients.consumer.internals.Fetcher`, `FetchCollector`.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, Protocol

from cluster.network import Connection, InFlightRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchedPartition, FetchRequest, FetchResponse, PartitionMetadata
from cluster.protocol.record_batch import RecordBatch, Slice


class FetchPosition(NamedTuple):
    """The next offset to read, the leader epoch of the record before it (-1: unknown), and who leads in which epoch.

    Source: `SubscriptionState.FetchPosition`.
    """

    offset: int
    offset_epoch: int
    leader: int
    leader_epoch: int


class Reader(Protocol):
    """The consumer that a fetcher works for."""

    name: str
    partitions: dict[str, PartitionMetadata]

    def connection(self, broker: int) -> Connection:
        """The connection to a broker."""

    def wake(self) -> None:
        """Records came."""

    def mark_metadata_stale(self) -> None:
        """A broker does not lead what it was asked for, or does not answer."""

    def position_out_of_range(self, partition: str) -> None:
        """The log does not reach the position."""

    def position_skipped(self, partition: str, position: int) -> None:
        """The position passed offsets that the application does not get."""


class Fetcher:
    """Fetch positions and buffered batches of the partitions that a consumer holds.

    `offset_epochs`, `leader_epochs` are what else a `FetchPosition` has: the epoch of what was read last, and that of
    the leader for which the position is valid. No other leader is asked for more (`PositionValidation` sees to it).
    """

    def __init__(
        self,
        reader: Reader,
        max_bytes: int,
        max_partition_bytes: int,
        max_wait_us: int,
        *,
        read_committed: bool = False,
    ) -> None:
        self._reader, self._max_wait_us, self._read_committed = reader, max_wait_us, read_committed
        self._max_bytes, self._max_partition_bytes = max_bytes, max_partition_bytes
        self.positions: dict[str, int] = {}
        self.offset_epochs: dict[str, int] = {}
        self.leader_epochs: dict[str, int] = {}
        self._buffer: deque[tuple[str, list[RecordBatch]]] = deque()
        self._buffered: dict[str, None] = {}
        self._ends: dict[str, RecordBatch] = {}  # of a buffered partition, when its fetch ends with what nobody gets
        self._in_flight: dict[int, InFlightRequest] = {}
        self._free: dict[int, None] = {}  # brokers that lead something and have no Fetch in flight
        self._by_leader: dict[int, list[str]] = {}
        self._handlers: dict[int, Callable[[FetchResponse | None], None]] = {}
        self.answered_fetches = 0

    def limit(self, max_bytes: int, max_partition_bytes: int, max_wait_us: int) -> None:
        """Other limits for the fetches from now on."""
        self._max_bytes, self._max_partition_bytes, self._max_wait_us = max_bytes, max_partition_bytes, max_wait_us

    def assign(self, positions: dict[str, int], offset_epochs: Mapping[str, int] | None = None) -> None:
        """Begin to fetch these partitions here, of whoever leads them now, beside what is fetched already."""
        for name, offset in positions.items():
            self.positions[name] = offset
            self.offset_epochs[name] = offset_epochs.get(name, -1) if offset_epochs else -1
            known = self._reader.partitions.get(name)
            self.leader_epochs[name] = known.leader_epoch if known is not None else -1
        self.route()

    def resume(self, name: str, position: FetchPosition) -> None:
        """Fetch a partition on: its position is valid for the leader that it names."""
        self.positions[name], self.offset_epochs[name] = position.offset, position.offset_epoch
        self.leader_epochs[name] = position.leader_epoch
        self.route()

    def revoke(self, partitions: tuple[str, ...]) -> None:
        """Forget these partitions and what is buffered of them."""
        for name in partitions:
            for known in (self.positions, self.offset_epochs, self.leader_epochs, self._buffered, self._ends):
                known.pop(name, None)
        self._buffer = deque(entry for entry in self._buffer if entry[0] in self.positions)
        self.route()

    def route(self) -> None:
        """Leaders or the assignment changed: group partitions by the broker to ask."""
        self._by_leader = {}
        for name, epoch in self.leader_epochs.items():
            metadata = self._reader.partitions.get(name)
            if metadata is not None and metadata.leader >= 0:
                if metadata.leader_epoch == epoch:  # else it is not valid there, as far as is known
                    self._by_leader.setdefault(metadata.leader, []).append(name)
            else:  # nobody to fetch from, as far as this client knows
                self._reader.mark_metadata_stale()
        self._free = dict.fromkeys(broker for broker in self._by_leader if broker not in self._in_flight)
        for name in self.positions:
            self._now_wanted(name)

    def _now_wanted(self, name: str) -> None:
        """A partition can be fetched (again): if its leader holds a Fetch that asks for something else, renew it."""
        metadata = self._reader.partitions.get(name)
        if metadata is None or name in self._buffered:
            return
        broker = metadata.leader
        call = self._in_flight.get(broker)
        if call is None:
            return
        asked = call.request.positions.get(name)
        if asked is None or asked[0] != self.positions[name] or asked[1] != self.leader_epochs[name]:
            call.hurry()

    def send(self) -> None:
        """Send a Fetch to every broker that leads something wanted and has none in flight."""
        if not self._free:
            return
        buffered, positions, epochs = self._buffered, self.positions, self.leader_epochs
        for broker in tuple(self._free):
            wanted = {name: (positions[name], epochs[name]) for name in self._by_leader[broker] if name not in buffered}
            if not wanted:
                continue
            del self._free[broker]
            handler = self._handlers.get(broker)
            if handler is None:
                handler = self._handlers[broker] = partial(self._answered, broker)
            request = FetchRequest(
                self._reader.name,
                wanted,
                self._max_bytes,
                self._max_partition_bytes,
                self._read_committed,
                self._max_wait_us,
            )
            self._in_flight[broker] = self._reader.connection(broker).send(request, handler, long_poll=True)

    def _answered(self, broker: int, response: FetchResponse | None) -> None:
        call = self._in_flight.pop(broker, None)
        if response is None:
            self._reader.mark_metadata_stale()  # it is free again when the reader knows who leads (`route`)
            return
        if broker in self._by_leader:
            self._free[broker] = None
        if response.partitions:
            self.answered_fetches += 1
        for fetched in response.partitions:
            if not self._keep(fetched, call):
                self._free.pop(broker, None)  # as above
        self._reader.wake()

    def _keep(self, fetched: FetchedPartition, call: InFlightRequest | None) -> bool:
        """Buffer what was fetched; false when this broker does not lead the partition."""
        name = fetched.partition
        position = self.positions.get(name)
        if position is None:
            return True  # revoked meanwhile
        if fetched.error is ErrorCode.NONE:
            batches = [batch for batch in fetched.batches if batch.base_offset + batch.count > position]
            if batches and batches[0].base_offset <= position and name not in self._buffered:
                for batch in batches:
                    if batch.transactional:
                        batches = self._for_readers(batches, fetched)
                        break
                if batches:
                    self._buffer.append((name, batches))
                    self._buffered[name] = None
        elif fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            if call is None or call.request.positions[name][0] == position:  # else a seek has moved it since: stale
                self._reader.position_out_of_range(name)
        else:
            self._reader.mark_metadata_stale()
            return False
        return True

    def _for_readers(self, batches: list[RecordBatch], fetched: FetchedPartition) -> list[RecordBatch]:
        """Without markers and aborted records; the position passes those in front, and later those at the end."""
        name, last = fetched.partition, batches[-1]
        returned = [batch for batch in batches if not batch.transactional or _is_for_readers(batch, fetched)]
        if not returned:
            self.positions[name], self.offset_epochs[name] = last.next_offset, last.leader_epoch
            self._reader.position_skipped(name, last.next_offset)
        elif returned[-1] is not last:
            self._ends[name] = last
        return returned

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
                if position < batch.base_offset:
                    position = batch.base_offset  # what lies between is for nobody
                end = batch.base_offset + batch.count
                if end - position > max_records:
                    end = position + max_records
                else:
                    taken += 1
                slices.append(Slice(batch, position, end))
                max_records -= end - position
                position = end
            last = slices[-1].batch
            if self._ends and taken == len(batches) and name in self._ends:
                last = self._ends.pop(name)
                position = last.next_offset
            self.positions[name], self.offset_epochs[name] = position, last.leader_epoch
            if taken == len(batches):
                buffer.popleft()
                del self._buffered[name]
                self._now_wanted(name)
            else:
                del batches[:taken]
        return slices

    def reset(self) -> None:
        """The process starts anew: nothing assigned, nothing in flight."""
        self.positions, self.offset_epochs, self.leader_epochs, self._by_leader = {}, {}, {}, {}
        self._buffer.clear()
        self._buffered, self._ends, self._in_flight, self._free = {}, {}, {}, {}


def _is_for_readers(batch: RecordBatch, fetched: FetchedPartition) -> bool:
    """Whether the application gets a transactional batch: no marker, and no record of a transaction that was aborted.

    Only a reader of committed data is told of aborted ones. Source: `CompletedFetch`.
    """
    if batch.marker:
        return False
    return not any(
        producer_id == batch.producer_id and first <= batch.base_offset < marker
        for producer_id, first, marker in fetched.aborted
    )
