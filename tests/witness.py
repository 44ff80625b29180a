"""What a flight's ground truth needs and no object of the cluster remembers: who did what, by record identity.

A Witness stands beside the product: while `watching()`, it wraps the doors through which records, answers and
leaderships pass, and takes notes of its own. It sees no event, no view and no fold. A record's identity is (producer,
partition, serial), whatever its offset.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from cluster.broker.controller import Controller
from cluster.broker.coordination import Coordination, Hosted
from cluster.broker.replica import Replica
from cluster.clients.accumulator import Accumulator, ProducerBatch
from cluster.clients.applications import Application
from cluster.clients.consumer import Consumer
from cluster.clients.fetcher import Fetcher
from cluster.clients.member import Member
from cluster.clients.membership import GroupMembership
from cluster.connection import Call, Connection
from cluster.coordinators import group_coordinator, group_rebalance, group_sync
from cluster.coordinators.decision import Draft
from cluster.coordinators.group import ClassicGroup
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, PartitionMetadata, ProduceRequest
from cluster.protocol.record_batch import RecordBatch
from tests.witness_groups import CoordinatorNotes, Ownership

UUID_AND_DASH = 37

BatchKey = tuple[str, str, int]  # producer, partition, first serial


class Completions:
    """What one group's applications have finished, record by record, and the order of its keys."""

    def __init__(self) -> None:
        self.serials: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self.delivered = self.duplicated = 0
        self.broken_keys: set[tuple[str, int]] = set()
        self._last: dict[tuple[str, str, int], int] = {}

    def add(self, batch: RecordBatch, serial: int) -> None:
        """An application finished this record (once more)."""
        known = self.serials[batch.producer, batch.partition]
        if serial in known:
            self.duplicated += 1
            return
        known.add(serial)
        self.delivered += 1
        if batch.keys:
            key = batch.keys[serial - batch.first_serial]
            who = (batch.producer, batch.partition, key)
            if self._last.get(who, -1) > serial:
                self.broken_keys.add((batch.partition.rpartition("-")[0], key))
            self._last[who] = max(serial, self._last.get(who, -1))

    def has(self, batch: RecordBatch, offset: int) -> bool:
        """Whether the record at this offset of this batch was finished."""
        return batch.first_serial + offset - batch.base_offset in self.serials[batch.producer, batch.partition]


class Counters:
    """What one producer's wire has carried."""

    def __init__(self) -> None:
        self.sent = self.acked = self.failed = self.retries = self.requests = self.batches = 0


class Progress(NamedTuple):
    """One group's reading of one partition."""

    start: int
    highest: int


class Witness:
    """The notes of one flight."""

    def __init__(self) -> None:
        self.completions: defaultdict[str, Completions] = defaultdict(Completions)
        self.processed: defaultdict[str, int] = defaultdict(int)
        self.counters: defaultdict[str, Counters] = defaultdict(Counters)
        self.produced: defaultdict[str, int] = defaultdict(int)  # by partition
        self.acked: defaultdict[str, int] = defaultdict(int)
        self.acked_batches: defaultdict[str, dict[BatchKey, int]] = defaultdict(dict)
        self._on_the_wire: set[BatchKey] = set()
        self._accumulators: dict[int, tuple[str, Accumulator]] = {}
        self.leaders: dict[str, Replica] = {}  # the last that took over
        self._epochs: dict[str, int] = {}
        self.elected: dict[str, int] = {}  # the newest leader epoch
        self.launched: set[str] = set()
        self.given_up: defaultdict[str, int] = defaultdict(int)
        self.heartbeat_us: dict[str, int] = {}
        self.progress: dict[tuple[str, str], Progress] = {}
        self.ownership: defaultdict[str, Ownership] = defaultdict(Ownership)
        self.coordinators = CoordinatorNotes(self)

    # --- producers ----------------------------------------------------------------------------------------------------

    def _request_leaves(self, name: str, request: ProduceRequest) -> None:
        counters = self.counters[name]
        counters.requests += 1
        for batch in request.batches:
            key = (batch.producer, batch.partition, batch.first_serial)
            if key in self._on_the_wire:
                counters.retries += 1
                continue
            self._on_the_wire.add(key)
            counters.batches += 1
            counters.sent += batch.count
            self.produced[batch.partition] += batch.count

    def _response_arrives(self, call: Call) -> None:
        request: ProduceRequest = call.request
        for batch, result in zip(request.batches, call.response.results, strict=True):
            if result.error is ErrorCode.NONE:
                self.counters[call.client].acked += batch.count
                self.acked[batch.partition] += batch.count
                self.acked_batches[batch.partition][batch.producer, batch.partition, batch.first_serial] = batch.count

    def knows_accumulator(self, producer: str, accumulator: Accumulator) -> None:
        """Whose memory is given back when this accumulator releases a batch."""
        self._accumulators[id(accumulator)] = producer, accumulator

    def _memory_given_back(self, accumulator: Accumulator, batch: ProducerBatch) -> None:
        producer, _ = self._accumulators[id(accumulator)]
        key = (producer, batch.partition, batch.first_serial)
        if key in self.acked_batches[batch.partition]:
            return
        self.counters[producer].failed += batch.count
        if key not in self._on_the_wire:
            self.produced[batch.partition] += batch.count

    # --- brokers ------------------------------------------------------------------------------------------------------

    def _took_over(self, replica: Replica) -> None:
        epoch = replica.metadata.leader_epoch
        if epoch >= self._epochs.get(replica.partition, -1):
            self._epochs[replica.partition] = epoch
            self.leaders[replica.partition] = replica

    def _heartbeat_answered(self, member_id: str, now_us: int) -> None:
        self.heartbeat_us[member_id[:-UUID_AND_DASH]] = now_us

    # --- consumers ----------------------------------------------------------------------------------------------------

    def _finished(self, consumer: Consumer, slices: list[Any], records: int) -> None:
        completions = self.completions[consumer.group]
        for batch, first, end in slices:
            for offset in range(first, min(end, first + records)):
                completions.add(batch, batch.first_serial + offset - batch.base_offset)
                self.processed[consumer.name] += 1
            records -= min(end, first + records) - first
            if records <= 0:
                return

    def _positioned(self, consumer: Consumer, positions: dict[str, int]) -> None:
        for name, offset in positions.items():
            known = self.progress.get((consumer.group, name))
            if known is None:
                self.progress[consumer.group, name] = Progress(offset, offset)
            else:
                self.coordinators.reread(consumer.group, max(0, known.highest - offset))

    def _read(self, consumer: Consumer, slices: list[Any]) -> None:
        for batch, _, end in slices:
            known = self.progress[consumer.group, batch.partition]
            self.progress[consumer.group, batch.partition] = Progress(known.start, max(known.highest, end))


def _wrapped(
    patch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    *,
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> None:
    original = getattr(owner, name)

    def wrapper(*args: object, **kwargs: object) -> object:
        if before is not None:
            before(*args, **kwargs)
        result = original(*args, **kwargs)
        if after is not None:
            after(result, *args, **kwargs)
        return result

    patch.setattr(owner, name, wrapper)


@contextmanager
def watching() -> Iterator[Witness]:
    """Take notes of whatever flies inside."""
    witness = Witness()
    with pytest.MonkeyPatch.context() as patch:
        _watch_clients(patch, witness)
        _watch_brokers(patch, witness)
        _watch_rebalances(patch, witness.coordinators)
        yield witness


def _watch_clients(patch: pytest.MonkeyPatch, witness: Witness) -> None:
    def leaves(connection: Connection, request: object, *_: object, **__: object) -> None:
        if isinstance(request, ProduceRequest):
            witness._request_leaves(connection.owner.name, request)

    def arrives(connection: Connection, call: Call) -> None:
        if connection.owner.running and not call.done and isinstance(call.request, ProduceRequest):
            witness._response_arrives(call)

    def launches(consumer: Consumer, *_: object) -> None:
        witness.launched.add(consumer.name)

    def gives_up(membership: GroupMembership, *_: object) -> None:
        witness.given_up[membership._consumer.name] += 1

    def positions(fetcher: Fetcher, found: dict[str, int]) -> None:
        assert isinstance(fetcher._reader, Consumer)
        witness._positioned(fetcher._reader, found)

    def collected(slices: list[Any], fetcher: Fetcher, _: int) -> None:
        assert isinstance(fetcher._reader, Consumer)
        witness._read(fetcher._reader, slices)

    def finished(_: Application, consumer: Consumer, slices: list[Any], records: int) -> None:
        witness._finished(consumer, slices, records)

    _wrapped(patch, Connection, "send", before=leaves)
    _wrapped(patch, Connection, "arrive", before=arrives)
    _wrapped(patch, Accumulator, "release", before=witness._memory_given_back)
    _wrapped(patch, Consumer, "launch", before=launches)
    _wrapped(patch, GroupMembership, "_give_up", before=gives_up)
    _wrapped(patch, Fetcher, "assign", before=positions)
    _wrapped(patch, Fetcher, "collect", after=collected)
    _wrapped(patch, Application, "_finished", before=finished)

    def owned(consumer: Member) -> tuple[str, ...]:
        partitions: tuple[str, ...] = consumer.__dict__["owned"]
        return partitions

    def own(consumer: Member, partitions: tuple[str, ...]) -> None:
        before = consumer.__dict__.get("owned", ())
        consumer.__dict__["owned"] = partitions
        witness.ownership[consumer.group].changed(consumer.name, before, partitions, consumer.timeline.now_us)

    patch.setattr(Member, "owned", property(owned, own), raising=False)


def _watch_brokers(patch: pytest.MonkeyPatch, witness: Witness) -> None:
    notes = witness.coordinators

    def led(_: None, replica: Replica, __: object) -> None:
        witness._took_over(replica)

    def loaded(_: None, __: Coordination, hosted: Hosted) -> None:
        if not hosted.loading:
            notes.loaded(hosted.replica.partition, hosted.coordinator)

    def elects(_: Controller, partition: str, metadata: PartitionMetadata, __: str) -> None:
        notes.deposed(partition)
        witness.elected[partition] = metadata.leader_epoch

    def handles(coordination: Coordination, call: Call) -> None:
        request = call.request
        if isinstance(request, HeartbeatRequest):
            partition = coordination.partition_of(request.group)
            hosted = coordination.hosted.get(partition)
            if hosted is not None and hosted.epoch == witness.elected.get(partition):
                witness._heartbeat_answered(request.member_id, call.connection.timeline.now_us)

    _wrapped(patch, Replica, "_lead", after=led)
    _wrapped(patch, Coordination, "_load", after=loaded)
    _wrapped(patch, Controller, "_elected", before=elects)
    _wrapped(patch, Coordination, "handle", before=handles)


def _watch_rebalances(patch: pytest.MonkeyPatch, notes: CoordinatorNotes) -> None:
    def closes(_: object, group: ClassicGroup, __: object, waited_for: str = "") -> None:
        notes.closing(group, waited_for)

    def closed(_: None, __: object, group: ClassicGroup, draft: Draft, ___: str = "") -> None:
        notes.closed(group, draft.now_us)

    def prepares(_: object, group: ClassicGroup, cause: str, trigger: str, draft: Draft, *__: object) -> None:
        notes.begins(group, cause, trigger, draft.now_us)

    def stable(_: None, __: object, group: ClassicGroup, ___: object, draft: Draft) -> None:
        notes.over(group, draft.now_us)

    _wrapped(patch, group_rebalance, "close_barrier", before=closes, after=closed)
    _wrapped(patch, group_sync, "_distribute", after=stable)
    for module in (group_rebalance, group_sync, group_coordinator):
        _wrapped(patch, module, "prepare_rebalance", before=prepares)
