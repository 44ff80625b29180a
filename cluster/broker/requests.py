"""The requests that a broker serves itself: produce, fetch, offsets, metadata, producer ids.

One method for each API; its docstring says what is simulated. A Fetch that finds nothing is parked at every partition
that it wants, and answered when one of them has something; the stale entries at the others are skipped.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from cluster.broker.controller import PRODUCER_IDS_IN_BLOCK
from cluster.broker.purgatory import DelayedProduce, Timeouts
from cluster.broker.replica import Replica
from cluster.connection import Call, Connection
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode
from cluster.timeline import Timeline

ALL_IN_SYNC = -1


class Server(Protocol):
    """The broker whose requests these are."""

    timeline: Timeline
    timeouts: Timeouts
    replicas: dict[str, Replica]
    image: dict[str, m.PartitionMetadata]
    live: tuple[int, ...]

    def new_producer_ids(self) -> int:
        """The first id of a fresh block."""


class Requests:
    """Produce, Fetch, ListOffsets, Metadata and InitProducerId of one broker."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._producer_ids = range(0)
        self._producing: dict[Connection, deque[Call]] = {}  # the request under way, and those that came after it
        self.handlers: dict[type[m.Request], Callable[[Call], None]] = {
            m.ProduceRequest: self.produce,
            m.FetchRequest: self.fetch,
            m.ListOffsetsRequest: self.list_offsets,
            m.MetadataRequest: self.metadata,
            m.InitProducerIdRequest: self.init_producer_id,
        }

    def produce(self, call: Call) -> None:
        """Produce (API 0): append each batch; with acks=all the answer waits for the high watermark.

        Kafka reads no further from a connection before it has answered: a later request waits for an earlier one. That
        is what makes five remembered batches enough for five requests in flight. Only produce requests do it here.
        """
        under_way = self._producing.get(call.connection)
        if under_way is not None and not under_way[0].done:
            under_way.append(call)
            return
        self._producing[call.connection] = deque([call])
        self._produce(call)

    def _produced(self, call: Call) -> None:
        """A produce request was answered: the next one of its connection that anybody still waits for."""
        under_way = self._producing.get(call.connection)
        if under_way is None or under_way[0] is not call:
            return
        under_way.popleft()
        while under_way and under_way[0].done:
            under_way.popleft()
        if under_way:
            self._produce(under_way[0])
        else:
            del self._producing[call.connection]

    def died(self) -> None:
        """The broker's process ended, and its connections with it."""
        self._producing.clear()

    def _produce(self, call: Call) -> None:
        request: m.ProduceRequest = call.request
        server = self._server
        now_us = server.timeline.now_us
        results: list[m.ProduceResult] = []
        delayed = DelayedProduce(call, results, self._produced)
        delayed.left = 1  # this loop itself: nothing is answered before every batch was looked at
        for index, batch in enumerate(request.batches):
            replica = server.replicas.get(batch.partition)
            if replica is None or not replica.is_leader:
                results.append(m.ProduceResult(batch.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER))
                continue
            if request.acks == ALL_IN_SYNC and len(replica.metadata.isr) < replica.min_insync_replicas:
                results.append(m.ProduceResult(batch.partition, ErrorCode.NOT_ENOUGH_REPLICAS))
                continue
            error, offset = replica.log.producers.check(batch)
            results.append(m.ProduceResult(batch.partition, error, offset, offset >= 0))
            if error is ErrorCode.NONE:
                if offset < 0:
                    results[index].base_offset = offset = replica.append(batch, now_us).base_offset
                if request.acks == ALL_IN_SYNC:
                    replica.when_committed(offset + batch.count, delayed.waits_for(index))
        delayed.left -= 1
        if delayed.left == 0:
            if request.acks != 0:
                delayed.answer()
            else:
                self._produced(call)
        else:
            server.timeouts.give_up_at(now_us + request.timeout_ms * 1000, delayed)

    def fetch(self, call: Call) -> None:
        """Fetch (API 1): answer with whatever is readable, or park at every wanted partition until something is."""
        request: m.FetchRequest = call.request
        replicas = self._server.replicas
        found: list[m.FetchedPartition] = []
        room = request.max_bytes
        for name, (offset, _) in request.positions.items():
            replica = replicas.get(name)
            if replica is None or not replica.is_leader:
                found.append(m.FetchedPartition(name, ErrorCode.NOT_LEADER_OR_FOLLOWER))
                continue
            end = replica.high_watermark
            log = replica.log
            if log.log_start <= offset < end:
                if room > 0:
                    batches = log.read(offset, end, min(room, request.max_partition_bytes))
                    room -= sum([batch.bytes for batch in batches])
                    found.append(m.FetchedPartition(name, ErrorCode.NONE, end, end, log.log_start, batches))
            elif offset > log.log_end or offset < log.log_start:
                found.append(m.FetchedPartition(name, ErrorCode.OFFSET_OUT_OF_RANGE, end, end, log.log_start))
        if found:
            call.reply(m.FetchResponse(found))
            return
        for name in request.positions:
            replicas[name].fetches[request.client] = call

    def resume_fetches(self, replica: Replica) -> None:
        """Something became readable (those that were answered elsewhere, or that nobody waits for, are stale)."""
        fetches, replica.fetches = replica.fetches, {}
        for call in fetches.values():
            if call.response is None and not call.done:
                self.fetch(call)

    @staticmethod
    def refuse_fetches(replica: Replica) -> None:
        """This broker leads the partition no more: whoever waits for it has to look elsewhere."""
        fetches, replica.fetches = replica.fetches, {}
        for call in fetches.values():
            if call.response is None:
                refused = m.FetchedPartition(replica.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER)
                call.reply(m.FetchResponse([refused]))

    def list_offsets(self, call: Call) -> None:
        """ListOffsets (API 2): the log's start, or its high watermark."""
        request: m.ListOffsetsRequest = call.request
        offsets: dict[str, tuple[ErrorCode, int]] = {}
        for name in request.partitions:
            replica = self._server.replicas.get(name)
            if replica is None or not replica.is_leader:
                offsets[name] = ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
            else:
                offsets[name] = ErrorCode.NONE, replica.high_watermark if request.latest else replica.log.log_start
        call.reply(m.ListOffsetsResponse(offsets))

    def metadata(self, call: Call) -> None:
        """Metadata (API 3), as this broker has heard it; a topic's partitions are numbered from 0 without gaps."""
        request: m.MetadataRequest = call.request
        image = self._server.image
        topics: dict[str, tuple[m.PartitionMetadata, ...]] = {}
        for topic in request.topics:
            partitions: list[m.PartitionMetadata] = []
            while (known := image.get(f"{topic}-{len(partitions)}")) is not None:
                partitions.append(known)
            topics[topic] = tuple(partitions)
        call.reply(m.MetadataResponse(self._server.live, topics))

    def init_producer_id(self, call: Call) -> None:
        """InitProducerId (API 22) without a transactional id: the next id of this broker's block."""
        if not self._producer_ids:
            first = self._server.new_producer_ids()
            self._producer_ids = range(first, first + PRODUCER_IDS_IN_BLOCK)
        producer_id, self._producer_ids = self._producer_ids[0], self._producer_ids[1:]
        call.reply(m.InitProducerIdResponse(ErrorCode.NONE, producer_id, 0))
