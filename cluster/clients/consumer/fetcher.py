"""A consumer's fetcher: positions, one Fetch in flight for each broker, a buffer from which poll() takes records.

A partition with buffered records is not fetched again. The next fetches are sent before poll() returns records
(prefetch). A Fetch that waits at its broker lacks partitions that became fetchable after it was sent. They are fetched
when `fetch.max.wait.ms` is over: the broker then returns an empty response, as to every idle Fetch in Kafka.
Source: `org.apache.kafka.clients.consumer.internals.Fetcher`, `FetchCollector`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from cluster.clients.consumer.read_replica import Reader
from cluster.network import InFlightRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchedPartition, FetchRequest, FetchResponse, PartitionMetadata
from cluster.protocol.record_batch import FetchedRecords, RecordBatch, Slice, measured, present


class FetchPosition(NamedTuple):
    """The next offset to read, the leader epoch of the record before it (-1: unknown), the leader and its epoch.

    Source: `SubscriptionState.FetchPosition`.
    """

    offset: int
    offset_epoch: int
    leader: int
    leader_epoch: int


class Fetcher:
    """Fetch positions and buffered batches of the partitions that a consumer owns.

    `offset_epochs`: the leader epoch of the last record read. `leader_epochs`: the epoch of the leader for which the
    position is valid; no other leader gets a Fetch for it before `PositionValidation` has confirmed the position.
    `untold`: what is buffered and no event has told yet, because the next poll() may return all of it at once.
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
        self.untold: dict[str, FetchedRecords] = {}
        self.paused: dict[str, None] = {}
        self._withheld: dict[str, None] = {}  # what the consumer is about to give up
        self._ends: dict[
            str, RecordBatch
        ] = {}  # partition → the last batch of its fetch, if the application does not get it
        self._in_flight: dict[int, InFlightRequest] = {}
        self._free: dict[int, None] = {}  # brokers to fetch a partition from that have no Fetch in flight
        self._by_broker: dict[int, list[str]] = {}
        self._handlers: dict[int, Callable[[FetchResponse | None], None]] = {}
        self.answered_fetches = 0
        self._rack, self._preferred_for_us, self._rerouted = "", 0, False

    def limit(self, max_bytes: int, max_partition_bytes: int, max_wait_us: int) -> None:
        """Set the limits of the next fetches."""
        self._max_bytes, self._max_partition_bytes, self._max_wait_us = max_bytes, max_partition_bytes, max_wait_us

    def stand_in(self, rack: str, preferred_for_us: int) -> None:
        """Name this rack to leaders, and keep for so long the replica that they prefer for it."""
        self._rack, self._preferred_for_us = rack, preferred_for_us

    def assign(self, positions: dict[str, int], offset_epochs: Mapping[str, int] | None = None) -> None:
        """Start fetching these partitions at these positions, from their leaders."""
        for name, offset in positions.items():
            self.positions[name] = offset
            self.offset_epochs[name] = offset_epochs.get(name, -1) if offset_epochs else -1
            known = self._reader.partitions.get(name)
            self.leader_epochs[name] = known.leader_epoch if known is not None else -1
        self.route()

    def resume(self, name: str, position: FetchPosition) -> None:
        """Continue fetching a partition: its position is valid for the leader that it names."""
        self.positions[name], self.offset_epochs[name] = position.offset, position.offset_epoch
        self.leader_epochs[name] = position.leader_epoch
        self.route()

    def revoke(self, partitions: tuple[str, ...], reason: str) -> None:
        """Stop fetching these partitions, and drop their buffered records for a `reason` in words."""
        dropped = tuple(name for name in partitions if name in self._buffered and name not in self.untold)
        if dropped:
            self._reader.fetched_records_dropped(dropped, reason)
        for name in partitions:
            for known in (
                self.positions,
                self.offset_epochs,
                self.leader_epochs,
                self._buffered,
                self.untold,
                self._ends,
                self._withheld,
            ):
                known.pop(name, None)
        self._buffer = deque([entry for entry in self._buffer if entry[0] in self.positions])
        self.route()

    def pause(self, partitions: Iterable[str]) -> None:
        """Return and fetch no records of these; what is buffered, or arrives of a Fetch in flight, is kept.

        Source: `SubscriptionState.pause`, `FetchCollector.collectFetch`.
        """
        self.paused |= dict.fromkeys(partitions)

    def withhold(self, partitions: Iterable[str]) -> None:
        """Return and fetch no records of these until they are revoked. Source: `markPendingRevocation`."""
        self._withheld |= dict.fromkeys(partitions)

    def unpause(self, partitions: Iterable[str]) -> None:
        """Return and fetch records of these again."""
        for name in partitions:
            self.paused.pop(name, None)
            if name in self.positions:
                self._renew_fetch(name)

    def route(self) -> None:
        """Group partitions by the broker to fetch from, after leaders, read replicas or the assignment changed."""
        self._by_broker = {}
        for name, epoch in self.leader_epochs.items():
            metadata = self._reader.partitions.get(name)
            if metadata is not None and metadata.leader >= 0:
                if metadata.leader_epoch == epoch:  # else the position must be validated first
                    self._by_broker.setdefault(self._source(name, metadata), []).append(name)
            else:  # this client's metadata has no leader
                self._reader.mark_metadata_stale()
        self._free = dict.fromkeys([broker for broker in self._by_broker if broker not in self._in_flight])
        for name in self.positions:
            self._renew_fetch(name)

    def _source(self, name: str, metadata: PartitionMetadata) -> int:
        """The broker to fetch a partition from: its preferred read replica or its leader."""
        replicas = self._reader.read_replica
        if name not in replicas.preferred:
            return metadata.leader
        broker = replicas.of(name, metadata.leader)
        if name not in replicas.preferred:
            self._reader.mark_metadata_stale()
        return broker

    def _renew_fetch(self, name: str) -> None:
        """Renew the Fetch that waits at a partition's broker, if it lacks the partition or has another position."""
        metadata = self._reader.partitions.get(name)
        if metadata is None or name in self._buffered:
            return
        broker = self._source(name, metadata)
        call = self._in_flight.get(broker)
        if call is None:
            return
        asked = call.request.positions.get(name)
        if asked is None or asked[0] != self.positions[name] or asked[1] != self.leader_epochs[name]:
            call.hurry()

    def send(self) -> None:
        """Send a Fetch to every broker that serves a fetchable partition and has none in flight."""
        buffered, positions, epochs, paused = self._buffered, self.positions, self.leader_epochs, self._unfetched
        for broker in tuple(self._free):
            wanted: dict[str, tuple[int, int]] = {}
            for name in self._by_broker[broker]:
                if name not in buffered and name not in paused:
                    wanted[name] = positions[name], epochs[name]
            if not wanted:
                continue
            if self._rack and self._reader.read_replica.backs_off(broker):
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
                self._rack,
            )
            self._in_flight[broker] = self._reader.connection(broker).send(request, handler, long_poll=True)

    def _answered(self, broker: int, response: FetchResponse | None) -> None:
        call = self._in_flight.pop(broker, None)
        replicas = self._reader.read_replica
        if response is None:
            self._reader.mark_metadata_stale()  # the broker is free again after a refresh (`route`)
            if self._rack and replicas.drop(
                [name for name, one in replicas.preferred.items() if one.broker == broker], "disconnected"
            ):
                self.route()
                self._reader.wake()
            return
        if broker in self._by_broker:
            self._free[broker] = None
        if response.partitions:
            self.answered_fetches += 1
        for fetched in response.partitions:
            if not self._keep(broker, fetched, call):
                self._free.pop(broker, None)  # as above
        if self._rerouted:
            self._rerouted = False
            self.route()
        if self.untold:
            self._reader.records_buffered()
        self._reader.wake()

    def _keep(self, broker: int, fetched: FetchedPartition, call: InFlightRequest | None) -> bool:
        """Buffer the fetched batches; returns false when this broker does not serve the partition."""
        name = fetched.partition
        position = self.positions.get(name)
        if position is None:
            return True  # revoked after the request
        if fetched.error is not ErrorCode.NONE or fetched.preferred_read_replica >= 0:
            return self._redirected(fetched, current=call is None or call.request.positions[name][0] == position)
        batches = fetched.batches
        if batches and batches[0].base_offset + batches[0].count <= position:  # some are older than the position
            batches = [batch for batch in batches if batch.base_offset + batch.count > position]
        if batches and name not in self._buffered:
            if batches[0].base_offset > position and (call is None or call.request.positions[name][0] != position):
                return True  # an answer for another position; one for this begins behind it in a compacted log only
            for batch in batches:
                if batch.transactional or batch.remains is not None:
                    batches = self._visible_batches(batches, fetched, position)
                    break
            if batches:
                self._buffer.append((name, batches))
                self._buffered[name] = None
                end = self._ends[name] if self._ends and name in self._ends else batches[-1]
                self.untold[name] = measured(broker, batches, position, end.next_offset)
        return True

    def _redirected(self, fetched: FetchedPartition, *, current: bool) -> bool:
        """Fetch from another broker, or reset the position. A seek may have changed it: it is not `current` then.

        Returns false when this broker does not serve the partition.
        """
        name, replicas = fetched.partition, self._reader.read_replica
        if fetched.error is ErrorCode.NONE:
            if current and replicas.choose(name, fetched.preferred_read_replica, self._preferred_for_us):
                self._rerouted = True
        elif fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            if replicas.drop((name,), fetched.error.name):
                self._rerouted = True  # the leader decides
            elif current:
                self._reader.position_out_of_range(name)
        else:
            if replicas.drop((name,), fetched.error.name):
                self._rerouted = True
            self._reader.mark_metadata_stale()
            return False
        return True

    def _visible_batches(
        self, batches: list[RecordBatch], fetched: FetchedPartition, position: int
    ) -> list[RecordBatch]:
        """Drop markers, aborted records and batches that compaction has emptied from the position on.

        The position passes those in front now, and those at the end later.
        """
        name, last = fetched.partition, batches[-1]
        returned = [
            batch
            for batch in batches
            if (not batch.transactional or _is_visible(batch, fetched)) and _reaches(batch, position)
        ]
        if not returned:
            self.positions[name], self.offset_epochs[name] = last.next_offset, last.leader_epoch
            self._reader.position_skipped(name, last.next_offset)
        elif returned[-1] is not last:
            self._ends[name] = last
        return returned

    def poll(self, max_records: int) -> list[Slice]:
        """Return buffered records for poll(), and send the next fetches before the application works on them."""
        slices = self.collect(max_records) if self._buffer else []
        if self._free:
            self.send()
        return slices

    def collect(self, max_records: int) -> list[Slice]:
        """Take up to `max_records` buffered records, oldest fetch first, and move the positions past them."""
        if self.paused or self._withheld:
            return self._collect_unpaused(max_records)
        return self._collect(max_records)

    @property
    def _unfetched(self) -> dict[str, None]:
        """The partitions that poll() returns nothing of: paused by the application, or about to be given up."""
        return self.paused | self._withheld if self._withheld else self.paused

    def _collect_unpaused(self, max_records: int) -> list[Slice]:
        """Collect without the paused partitions; their batches go to the end of the buffer."""
        unfetched = self._unfetched
        paused = [entry for entry in self._buffer if entry[0] in unfetched]
        self._buffer = deque([entry for entry in self._buffer if entry[0] not in unfetched])
        slices = self._collect(max_records)
        self._buffer.extend(paused)
        return slices

    def _collect(self, max_records: int) -> list[Slice]:
        buffer = self._buffer
        slices: list[Slice] = []
        while buffer and max_records > 0:
            name, batches = buffer[0]
            position, last = self.positions[name], batches[0]
            taken = 0
            for batch in batches:
                if max_records <= 0:
                    break
                last = batch
                if position < batch.base_offset:
                    position = batch.base_offset  # offsets between batches have no records
                if batch.remains is not None:
                    runs = present(batch, position, max_records)
                    slices += runs
                    max_records -= sum([run.next_offset - run.first_offset for run in runs])
                    position = runs[-1].next_offset
                    if position > batch.base_offset + batch.remains.kept[-1]:
                        position = batch.next_offset
                        taken += 1
                    continue
                end = batch.base_offset + batch.count
                if end - position > max_records:
                    end = position + max_records
                else:
                    taken += 1
                slices.append(Slice(batch, position, end))
                max_records -= end - position
                position = end
            if self._ends and taken == len(batches) and name in self._ends:
                last = self._ends.pop(name)
                position = last.next_offset
            self.positions[name], self.offset_epochs[name] = position, last.leader_epoch
            if taken == len(batches):
                buffer.popleft()
                del self._buffered[name]
                self.untold.pop(name, None)
                self._renew_fetch(name)
            else:
                del batches[:taken]
        return slices

    def reset(self, *, read_committed: bool) -> None:
        """Begin a new process: nothing assigned, nothing in flight."""
        self._read_committed = read_committed
        self.positions, self.offset_epochs, self.leader_epochs, self._by_broker = {}, {}, {}, {}
        self._rerouted = False
        self._reader.read_replica.reset()
        self._buffer.clear()
        self.untold = {}
        self.paused.clear()
        self._withheld = {}
        self._buffered, self._ends, self._in_flight, self._free = {}, {}, {}, {}


def _reaches(batch: RecordBatch, position: int) -> bool:
    """Whether compaction has left a record of a batch from a position on."""
    return batch.remains is None or any(batch.base_offset + place >= position for place in batch.remains.kept[-1:])


def _is_visible(batch: RecordBatch, fetched: FetchedPartition) -> bool:
    """Whether the application gets a transactional batch: it is no marker, and its transaction was not aborted.

    Only responses to a read_committed reader list aborted transactions. Source: `CompletedFetch`.
    """
    if batch.marker:
        return False
    return not any(
        producer_id == batch.producer_id and first <= batch.base_offset < marker
        for producer_id, first, marker in fetched.aborted
    )
