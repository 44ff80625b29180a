"""What a flight's ground truth needs and no object of the cluster remembers: who did what, by record identity.

An `IndependentRecorder` stands beside the product: while `watching()`, it wraps the functions through which records,
answers and leaderships pass, and takes notes of its own. It sees no event, no view and no fold. A record's identity
is (producer, partition, serial), whatever its offset.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from cluster.broker.broker import Broker
from cluster.broker.coordinator_runtime import AdminCall, HostedCoordinator
from cluster.broker.group_coordinator_service import GroupCoordinatorService
from cluster.broker.log_cleaner import LogCleaner
from cluster.broker.replica import Replica
from cluster.broker.request_handlers import BrokerRequests
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.consumer_coordinator import ConsumerCoordinator
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.position_validation import PositionValidation
from cluster.clients.consumer.read_replica import ReadReplica
from cluster.clients.consumer.rejoin import Rejoin
from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.producer import Producer
from cluster.controller.controller import Controller
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.decision import Decision, Draft
from cluster.coordinators.group import admin as group_admin
from cluster.coordinators.group import coordinator as group_coordinator
from cluster.coordinators.group import join as group_join
from cluster.coordinators.group import join_barrier as group_rebalance
from cluster.coordinators.group import offset_retention as group_retention
from cluster.coordinators.group import sync as group_sync
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.rebalance_causes import Trigger
from cluster.network import Connection, InFlightRequest
from cluster.protocol.consumer_group_messages import ConsumerGroupHeartbeatRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, JoinGroupRequest, PartitionMetadata, ProduceRequest
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog
from tests.support.consumer_group_watch import watch_consumer_groups
from tests.support.finished_records import BatchKey, Born, Completions
from tests.support.group_recorder import CoordinatorNotes, Ownership
from tests.support.passed_over_records import Passages, divergence
from tests.support.unpacked_logs import batches_of, begin_of


class Counters:
    """What one producer's wire has carried."""

    def __init__(self) -> None:
        self.sent = self.acked = self.failed = self.retries = self.requests = self.batches = 0


class Progress(NamedTuple):
    """One group's reading of one partition."""

    start: int
    highest: int
    log_end: int  # when it began, if the log was not cut below since


class Leaders(dict[str, Replica]):
    """The last replica of each partition that took over; of a partition that is new, the one that will."""

    def __init__(self) -> None:
        super().__init__()
        self.first: Callable[[str], Replica] | None = None

    def __missing__(self, name: str) -> Replica:
        assert self.first is not None
        return self.first(name)


class IndependentRecorder:
    """The notes of one flight."""

    def __init__(self) -> None:
        self.completions: defaultdict[str, Completions] = defaultdict(Completions)
        self.processed: defaultdict[str, int] = defaultdict(int)
        self.counters: defaultdict[str, Counters] = defaultdict(Counters)
        self.produced: defaultdict[str, int] = defaultdict(int)  # by partition
        self.acked: defaultdict[str, int] = defaultdict(int)
        self.acked_batches: defaultdict[str, dict[BatchKey, int]] = defaultdict(dict)
        self.acked_at: dict[
            BatchKey, int
        ] = {}  # the offset that the answer named: no producer was promised other copies
        self.judged: set[BatchKey] = set()  # appended once, or refused for good
        self._deleted: defaultdict[int, list[RecordBatch]] = defaultdict(list)  # by log: what was in segments that went
        self.archive: defaultdict[str, list[RecordBatch]] = defaultdict(list)  # by partition: what is below its start
        self._archived: defaultdict[str, int] = defaultdict(int)  # up to this offset
        self.sent_batches: dict[BatchKey, RecordBatch] = {}
        self._on_the_wire: set[BatchKey] = set()
        self._in_pieces: set[tuple[str, str, int, int]] = set()  # batches that were split and are given back next
        self._pieces: set[BatchKey] = set()  # of a batch that was too large: its records have left already
        self._too_late: set[BatchKey] = set()  # given up: whatever is answered does not count
        self._accumulators: dict[int, tuple[str, Accumulator]] = {}
        self._born: Born = defaultdict(list)
        self._sends = 0
        self.leaders = Leaders()  # the last that took over
        self._epochs: dict[str, int] = {}
        self.elected: dict[str, int] = {}  # the newest leader epoch
        self.launched: set[str] = set()
        self.subscribed: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self.given_up: defaultdict[str, int] = defaultdict(int)
        self.heartbeat_us: dict[str, int] = {}
        self.progress: dict[tuple[str, str], Progress] = {}
        self.ownership: defaultdict[str, Ownership] = defaultdict(Ownership)
        self.coordinators = CoordinatorNotes(self)
        self.passages = Passages(self)
        self.appended_us: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)  # base offset, instant
        self.fenced: Counter[str] = Counter()  # requests that were refused for their epoch

    # --- producers ----------------------------------------------------------------------------------------------------

    def _request_leaves(self, name: str, request: ProduceRequest) -> None:
        counters = self.counters[name]
        counters.requests += 1
        for batch in request.batches:
            key = (batch.producer, batch.partition, batch.first_serial)
            if key in self._on_the_wire or key in self._pieces:
                counters.retries += 1
                if key in self._pieces:
                    self._pieces.remove(key)
                    self._on_the_wire.add(key)
                    self.sent_batches[key] = batch
                continue
            self._on_the_wire.add(key)
            self.sent_batches[key] = batch
            counters.batches += 1
            counters.sent += batch.count
            self.produced[batch.partition] += batch.count

    def _response_arrives(self, call: InFlightRequest) -> None:
        request: ProduceRequest = call.request
        for batch, result in zip(request.batches, call.response.results, strict=True):
            key = (batch.producer, batch.partition, batch.first_serial)
            if result.error is ErrorCode.NONE and key not in self._too_late:
                self.counters[call.client].acked += batch.count
                self.acked[batch.partition] += batch.count
                self.acked_batches[batch.partition][key] = batch.count
                if result.base_offset >= 0:
                    self.acked_at[key] = result.base_offset

    def knows_accumulator(self, producer: str, accumulator: Accumulator) -> None:
        """Whose memory is given back when this accumulator releases a batch."""
        self._accumulators[id(accumulator)] = producer, accumulator

    def _sent(self, accumulator: Accumulator, batch: ProducerBatch, count: int) -> None:
        if batch.keys:
            assert count == 1, "a keyed record is sent alone"
            self._sends += 1
            producer, _ = self._accumulators[id(accumulator)]
            self._born[producer, batch.partition].append(self._sends)

    def _memory_given_back(self, accumulator: Accumulator, batch: ProducerBatch) -> None:
        producer, _ = self._accumulators[id(accumulator)]
        key = (producer, batch.partition, batch.first_serial)
        if key in self.acked_batches[batch.partition]:
            return
        if (*key, batch.count) in self._in_pieces:
            self._in_pieces.remove((*key, batch.count))
            return
        self._too_late.add(key)
        self.counters[producer].failed += batch.count
        if key not in self._on_the_wire and key not in self._pieces:
            self.produced[batch.partition] += batch.count

    def _split(self, pieces: list[ProducerBatch], accumulator: Accumulator, big: ProducerBatch) -> None:
        """A batch is over without an end of its own: its pieces go on."""
        producer, _ = self._accumulators[id(accumulator)]
        self._in_pieces.add((producer, big.partition, big.first_serial, big.count))
        self._pieces |= {(producer, piece.partition, piece.first_serial) for piece in pieces}

    # --- brokers ------------------------------------------------------------------------------------------------------

    def decided(self, batches: Iterable[RecordBatch]) -> None:
        """A broker appended these, or no broker ever will."""
        self.judged |= {(batch.producer, batch.partition, batch.first_serial) for batch in batches}

    def _took_over(self, replica: Replica) -> None:
        epoch = replica.metadata.leader_epoch
        if epoch >= self._epochs.get(replica.partition, -1):
            self._epochs[replica.partition] = epoch
            before = self.leaders.get(replica.partition)
            if before is not None and before is not replica:
                self._parts(before.log, divergence(before.log, replica.log))
            self.leaders[replica.partition] = replica
            self._starts_at(replica.log, replica.log.log_start)
            self.passages.leads(replica.log)

    def _starts_at(self, log: PartitionLog, offset: int) -> None:
        """The log of a partition's last leader begins here: what it had below is kept, since other logs never had it.

        A follower that comes back behind the start drops everything, also what no other log had at these offsets.
        """
        name = log.partition
        if offset <= self._archived[name] or self.leaders[name].log is not log:
            return
        self.passages.goes(log, self._archived[name], offset)
        archive = self.archive[name]
        for batch in (*self._deleted[id(log)], *batches_of(log)):
            known = archive[-1].next_offset if archive else 0
            if known <= batch.base_offset < offset and batch.next_offset > self._archived[name]:
                archive.append(batch)
        self._archived[name] = offset

    def _parts(self, log: PartitionLog, offset: int) -> None:
        """The log that counts ends here: what it had beyond is truncated, or not in the new leader's log."""
        self.passages.goes(log, offset, log.log_end)
        for (group, name), progress in self.progress.items():
            if name == log.partition:
                began = progress.start <= log.log_end
                start, end = min(progress.start, offset) if began else progress.start, min(progress.log_end, offset)
                self.progress[group, name] = Progress(start, progress.highest, end)

    def before(self, log: PartitionLog) -> list[RecordBatch]:
        """What the partition had before the first batch of its leader's log."""
        begin = begin_of(log)
        archive = self.archive.get(log.partition, [])
        return archive[: bisect_left(archive, begin, key=lambda batch: batch.base_offset)]

    def _heartbeat_answered(self, member: str, now_us: int) -> None:
        self.heartbeat_us[member] = now_us

    # --- consumers ----------------------------------------------------------------------------------------------------

    def _finished(self, consumer: Consumer, slices: list[Any], records: int) -> None:
        completions = self.completions[consumer.group]
        for batch, first, end in slices:
            for offset in range(first, min(end, first + records)):
                completions.add(batch, offset, self._born, stored=consumer.spec.application.sink is not None)
                self.processed[consumer.name] += 1
            records -= min(end, first + records) - first
            if records <= 0:
                return

    def _subscribes(self, consumer: Consumer, topics: tuple[str, ...]) -> None:
        self.subscribed[consumer.group] |= dict.fromkeys(topics)

    def _positioned(self, consumer: Consumer, positions: dict[str, int]) -> None:
        for name, offset in positions.items():
            known = self.progress.get((consumer.group, name))
            log_end = self.leaders[name].log.log_end
            if known is None or known.start > log_end:
                known = self.progress[consumer.group, name] = Progress(offset, offset, log_end)
                self.passages.begins(consumer.group, name, offset)
            self.coordinators.positioned(consumer.group, name, max(0, known.highest - offset))

    def _moved_on(self, consumer: Consumer, partition: str, position: int) -> None:
        known = self.progress[consumer.group, partition]
        self.progress[consumer.group, partition] = known._replace(highest=max(known.highest, position))

    def _read(self, consumer: Consumer, slices: list[Any]) -> None:
        for batch, _, _ in slices:
            known = self.progress[consumer.group, batch.partition]
            position = consumer.fetcher.positions[batch.partition]
            self.progress[consumer.group, batch.partition] = known._replace(highest=max(known.highest, position))


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
def watching() -> Iterator[IndependentRecorder]:
    """Take notes of whatever flies inside."""
    recorder = IndependentRecorder()
    with pytest.MonkeyPatch.context() as patch:
        _watch_producers(patch, recorder)
        _watch_fences(patch, recorder)
        _watch_clients(patch, recorder)
        _watch_positions(patch, recorder)
        _watch_ownership(patch, recorder)
        _watch_joins(patch, recorder)
        _watch_brokers(patch, recorder)
        _watch_logs(patch, recorder)
        _watch_rebalances(patch, recorder.coordinators)
        watch_consumer_groups(patch, recorder.coordinators)
        yield recorder


def _watch_producers(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    def made(_: None, producer: Producer, *__: object) -> None:
        recorder.knows_accumulator(producer.name, producer.accumulator)

    _wrapped(patch, Producer, "__init__", after=made)
    _wrapped(patch, Accumulator, "add", before=recorder._sent)
    _wrapped(patch, Accumulator, "split", after=recorder._split)
    _wrapped(patch, Accumulator, "release", before=recorder._memory_given_back)

    def gave_up(producer: Producer, *_: object) -> None:
        recorder.counters[producer.name].failed += 1

    _wrapped(patch, Producer, "send_refused", before=gave_up)


def _watch_fences(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    def replies(call: InFlightRequest, response: Any) -> None:  # noqa: ANN401 - any response
        transactional_id = getattr(call.request, "transactional_id", None)
        if transactional_id is None or getattr(call.request, "from_broker", False):
            return
        if isinstance(call.request, ProduceRequest):
            refused = [one.error for one in response.results if one.error is ErrorCode.INVALID_PRODUCER_EPOCH]
            recorder.fenced[transactional_id] += len(refused)
        else:
            errors = (getattr(response, "errors", None) or {0: response.error}).values()
            old_epoch = ErrorCode.PRODUCER_FENCED in errors or ErrorCode.INVALID_PRODUCER_EPOCH in errors
            recorder.fenced[transactional_id] += old_epoch

    _wrapped(patch, InFlightRequest, "reply", before=replies)


def _watch_clients(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    def leaves(connection: Connection, request: object, *_: object, **__: object) -> None:
        if isinstance(request, ProduceRequest):
            recorder._request_leaves(connection.owner.name, request)

    def arrives(connection: Connection, call: InFlightRequest) -> None:
        if connection.owner.running and not call.completed and isinstance(call.request, ProduceRequest):
            recorder._response_arrives(call)

    def launches(consumer: Consumer, *_: object) -> None:
        recorder.launched.add(consumer.name)

    def gives_up(membership: ConsumerCoordinator, *_: object) -> None:
        consumer = membership._consumer
        if not membership.fenced:  # told twice, it gives up once
            recorder.given_up[consumer.name] += 1
            recorder.ownership[consumer.group].changed(consumer.name, consumer.owned, (), consumer.timeline.now_us)

    def collected(slices: list[Any], fetcher: Fetcher, _: int) -> None:
        assert isinstance(fetcher._reader, Consumer)
        recorder._read(fetcher._reader, slices)

    def finished(_: Application, consumer: Consumer, slices: list[Any], records: int) -> None:
        recorder._finished(consumer, slices, records)

    _wrapped(patch, Connection, "send", before=leaves)
    _wrapped(patch, Connection, "arrive", before=arrives)

    def chooses(replicas: ReadReplica, partition: str, broker: int, _: int) -> None:
        assert isinstance(replicas._consumer, Consumer)
        recorder.passages.read_from[replicas._consumer.group, partition].add(broker)

    _wrapped(patch, ReadReplica, "choose", before=chooses)
    _wrapped(patch, Consumer, "launch", before=launches)
    _wrapped(patch, Consumer, "subscribe", before=recorder._subscribes)
    _wrapped(patch, ConsumerCoordinator, "_fence", before=gives_up)
    _wrapped(patch, Fetcher, "collect", after=collected)
    _wrapped(patch, Consumer, "position_skipped", before=recorder._moved_on)
    _wrapped(patch, Application, "_finished", before=finished)


def _watch_positions(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    def positions(validation: PositionValidation, found: dict[str, int], _: object) -> None:
        assert isinstance(validation._consumer, Consumer)
        recorder._positioned(validation._consumer, found)

    def truncated(validation: PositionValidation, name: str, _: object, __: int, end: int) -> None:
        consumer = validation._consumer
        assert isinstance(consumer, Consumer)
        if end >= 0 and consumer.config.auto_offset_reset != "none":
            known = recorder.progress[consumer.group, name]
            recorder.progress[consumer.group, name] = known._replace(highest=end)
            recorder._positioned(consumer, {name: end})

    _wrapped(patch, PositionValidation, "begin", before=positions)
    _wrapped(patch, PositionValidation, "_truncated", before=truncated)


def _watch_ownership(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    def owned(consumer: ConsumerHost) -> tuple[str, ...]:
        partitions: tuple[str, ...] = consumer.__dict__["owned"]
        return partitions

    def own(consumer: ConsumerHost, partitions: tuple[str, ...]) -> None:
        membership = getattr(consumer, "membership", None)
        before = consumer.__dict__.get("owned", ())
        if membership is not None and membership.fenced:  # fenced: it has them until close(), and reads none
            before = ()
        consumer.__dict__["owned"] = partitions
        recorder.ownership[consumer.group].changed(consumer.name, before, partitions, consumer.timeline.now_us)

    patch.setattr(ConsumerHost, "owned", property(owned, own), raising=False)


def _watch_joins(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    complete = Rejoin._complete

    async def completing(joining: Rejoin, assigned: tuple[str, ...]) -> None:
        consumer = joining._consumer
        before = consumer.owned
        await complete(joining, assigned)
        if consumer.stable and consumer.owned == assigned:  # else its topics are not what it wants any more
            added = [name for name in assigned if name not in before]
            notes, now_us = recorder.coordinators, consumer.timeline.now_us
            notes.share_taken(consumer.group, consumer.name, consumer.generation, added, now_us)

    patch.setattr(Rejoin, "_complete", completing)


def _watch_brokers(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    notes = recorder.coordinators

    def led(_: None, replica: Replica, __: object) -> None:
        recorder._took_over(replica)

    def loaded(_: None, __: GroupCoordinatorService, hosted: HostedCoordinator[GroupCoordinator]) -> None:
        if not hosted.coordinator.loading and hosted.epoch >= recorder.elected.get(hosted.replica.partition, 0):
            notes.loaded(hosted.replica.partition, hosted.coordinator)

    def elects(controller: Controller, partition: str, metadata: PartitionMetadata, __: str) -> None:
        before = controller.partitions.get(partition)
        if before is None or before.leader != metadata.leader or metadata.leader < 0:
            notes.deposed(partition)
            recorder.elected[partition] = metadata.leader_epoch

    def runs(_: object, hosted: HostedCoordinator[GroupCoordinator], decision: Decision) -> None:
        """A heartbeat counts when it is answered; one that leaves is none."""
        partition = hosted.replica.partition
        for call, _response in decision.replies if hosted.epoch == recorder.elected.get(partition) else ():
            if isinstance(call, AdminCall):
                continue
            assert isinstance(call, InFlightRequest)
            request = call.request
            new = isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch >= 0
            if new or isinstance(request, HeartbeatRequest):
                recorder._heartbeat_answered(call.client, call.connection.timeline.now_us)

    def emptied(_: Broker, replica: Replica) -> None:
        """A removed leader whose successor has not taken over: the partition is what its log was."""
        if recorder.leaders.get(replica.partition) is replica:
            former = recorder.leaders[replica.partition] = Replica(replica.host, replica.log, 1)
            former.high_watermark = replica.high_watermark

    _wrapped(patch, Broker, "_equip", before=emptied)
    _wrapped(patch, GroupCoordinatorService, "_run", before=runs)
    _wrapped(patch, Replica, "_lead", after=led)
    _wrapped(patch, GroupCoordinatorService, "_load", after=loaded)
    _wrapped(patch, Controller, "_elected", before=elects)


def _watch_logs(patch: pytest.MonkeyPatch, recorder: IndependentRecorder) -> None:
    def refused(_: BrokerRequests, batches: list[RecordBatch]) -> None:
        recorder.decided(batches)

    def appended(placed: RecordBatch, replica: Replica, *_: object) -> None:
        recorder.decided([placed])
        if recorder.leaders.get(replica.partition) is replica:
            dates = recorder.appended_us[replica.partition]
            while dates and dates[-1][0] >= placed.base_offset:
                dates.pop()
            dates.append((placed.base_offset, placed.append_us))
        if placed.marker and recorder.leaders.get(replica.partition) is replica:
            recorder.passages.marked(replica.log, placed)

    def truncates(log: PartitionLog, offset: int, *_: object) -> None:
        replica = recorder.leaders.get(log.partition)
        if replica is not None and replica.log is log:
            recorder._parts(log, offset)
        recorder.passages.truncated(log, offset)

    def drops(log: PartitionLog, offset: int) -> None:
        deleted = recorder._deleted[id(log)]
        deleted += [batch for batch in batches_of(log) if batch.next_offset <= offset]

    cleaning: list[int] = [0]

    def cleans(cleaner: LogCleaner) -> None:
        cleaning[0] = cleaner._host.id

    def compacts(log: PartitionLog, *_: object) -> None:
        recorder.passages.begins_to_compact(log, cleaning[0])

    def compacted(_: object, log: PartitionLog, *__: object) -> None:
        recorder.passages.has_compacted(log, cleaning[0])

    _wrapped(patch, LogCleaner, "_clean_filthiest", before=cleans)
    _wrapped(patch, PartitionLog, "compact", before=compacts, after=compacted)
    _wrapped(patch, PartitionLog, "drop_before", before=drops)
    _wrapped(patch, PartitionLog, "truncate_to", before=truncates)
    _wrapped(patch, PartitionLog, "advance_start", before=recorder._starts_at)
    _wrapped(patch, Replica, "append", after=appended)
    _wrapped(patch, BrokerRequests, "never_appended", before=refused)


def _watch_rebalances(patch: pytest.MonkeyPatch, notes: CoordinatorNotes) -> None:
    def closes(_: object, group: ClassicGroup, __: object, waited_for: str = "") -> None:
        notes.closing(group, waited_for)

    def closed(_: None, __: object, group: ClassicGroup, draft: Draft, ___: str = "") -> None:
        notes.closed(group, draft.now_us)

    def prepares(_: object, group: ClassicGroup, trigger: Trigger, draft: Draft, *__: object) -> None:
        notes.begins(group, trigger.cause, trigger.member, draft.now_us)

    def stable(_: None, __: object, group: ClassicGroup, ___: object, draft: Draft) -> None:
        notes.over(group, draft.now_us)

    def forgets(context: GroupContext, group_id: str) -> None:
        if group_id in context.groups:
            notes.deleted(context.groups[group_id])

    def drops(_: GroupContext, group: ConsumerGroup, __: object, ___: object, *, group_too: bool) -> None:
        if group_too:
            notes.deleted(group)

    def replaced(_: None, __: object, group: ClassicGroup, ___: str, request: JoinGroupRequest, *____: object) -> None:
        notes.replaced(group, request.client_id)

    _wrapped(patch, group_join, "replace_static_member", after=replaced)
    _wrapped(patch, group_retention, "remove_group", before=forgets)
    for admin in (group_admin, group_retention):
        _wrapped(patch, admin, "drop_consumer_group", before=drops)
    _wrapped(patch, group_rebalance, "close_barrier", before=closes, after=closed)
    _wrapped(patch, group_sync, "_distribute", after=stable)
    for module in (group_rebalance, group_sync, group_coordinator):
        _wrapped(patch, module, "prepare_rebalance", before=prepares)
