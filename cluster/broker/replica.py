"""One broker's copy of one partition: leading it, or following whoever leads.

Theory of operation. The leader appends, pushes new batches to each follower that waits for them, and learns from the
follower's next fetch (its acknowledgement) how far it got; the high watermark is the smallest log end of the in-sync
replicas. What waits for the high watermark (acks=all, a coordinator's records, parked fetches) is served when it moves.
Replication is a message for each batch and follower, not a poll: a waiting follower is a fetch parked at the leader.
A follower of a new leader first asks where their logs part and truncates (KIP-101, KIP-279), then fetches.
Source: `kafka.cluster.Partition`, `ReplicaFetcherThread`; deviations in FIDELITY.md.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from cluster.broker.leader_epochs import EpochEnd, follower_truncation
from cluster.broker.partition_log import PartitionLog
from cluster.events import Event, HighWatermarkAdvanced, LeadershipTaken, LogTruncated, RecordsAppended
from cluster.network import Link
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch

REPLICA_FETCH_MAX_BYTES = 1_048_576
REPLICA_FETCH_BACKOFF_US = 1_000_000
REPLICA_FETCH_WAIT_US = 500_000

Committed = Callable[[ErrorCode], object]


class Host(Protocol):
    """The broker that a replica lives on."""

    id: int
    running: bool
    stopped_us: int
    tell: Callable[[Event], None]

    @property
    def now_us(self) -> int:
        """Virtual time."""

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Keep what reached a broker that does not run."""

    def link_to(self, broker: int) -> Link:
        """The link to another broker."""

    def replica_on(self, broker: int, partition: str) -> "Replica":
        """A partition's copy on another broker."""

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, if this life of the process lasts."""

    def leadership_changed(self, replica: "Replica", was_leader: bool) -> None:
        """A replica took over or stepped down."""

    def high_watermark_moved(self, replica: "Replica") -> None:
        """Parked fetches of this partition can be answered."""

    def caught_up(self, replica: "Replica", follower: "Follower") -> bool:
        """A follower outside the ISR has everything below the high watermark. Whether the controller was asked."""


class Follower:
    """What a leader knows of one follower. `waiting`: its fetch is parked here, it has everything that was sent."""

    __slots__ = ("broker", "caught_up_us", "link", "log_end", "replica", "session", "waiting")

    def __init__(self, broker: int, replica: "Replica", link: Link) -> None:
        self.broker, self.replica, self.link = broker, replica, link
        self.log_end, self.session, self.waiting, self.caught_up_us = -1, -1, False, 0


class Replica:
    """A partition on a broker. `isr` is the maximal one: additions still on their way to the controller included."""

    def __init__(self, host: Host, partition: str, min_insync_replicas: int) -> None:
        self.host, self.partition, self.min_insync_replicas = host, partition, min_insync_replicas
        self.log = PartitionLog(partition)
        self.high_watermark = 0
        self.high_watermark_us = 0
        self.metadata = PartitionMetadata(-1, -1, (), ())
        self.isr: tuple[int, ...] = ()
        self.alter_pending = False
        self.alter_sent_us = 0
        self.is_leader = False
        self.epoch_start = 0
        self.followers: dict[int, Follower] = {}
        self._counted: tuple[Follower, ...] = ()
        self.waiting: deque[tuple[int, Committed]] = deque()
        self.fetches: dict[str, Any] = {}
        self.session = 0
        self.source: Replica | None = None
        self.fetching = False  # it knows that its log is its leader's, as far as it goes
        self._acknowledge: Link | None = None

    # --- leadership ---------------------------------------------------------------------------------------------

    def apply(self, metadata: PartitionMetadata, *, restarted: bool = False) -> None:
        """The controller's word reached this broker. Older words than the last one are ignored."""
        known = self.metadata
        if metadata.leader_epoch < known.leader_epoch:
            return
        self.metadata = metadata
        if metadata.leader_epoch == known.leader_epoch and not restarted:
            if self.is_leader and not self.alter_pending and metadata.isr != self.isr:
                self.set_isr(metadata.isr)
                self.advance()
            return
        was_leader = self.is_leader
        if metadata.leader == self.host.id:
            self._lead(metadata)
        else:
            self._follow(metadata)
        self.host.leadership_changed(self, was_leader)

    def _lead(self, metadata: PartitionMetadata) -> None:
        host = self.host
        self.high_watermark = self._followers_high_watermark()
        self.high_watermark_us = host.now_us
        self.is_leader, self.alter_pending, self.source = True, False, None
        self.session += 1
        self.log.recall_producers()
        self.log.epochs.assign(metadata.leader_epoch, self.log.log_end)
        self.epoch_start = self.log.log_end
        self.followers = {
            broker: Follower(broker, host.replica_on(broker, self.partition), host.link_to(broker))
            for broker in metadata.replicas
            if broker != host.id
        }
        for follower in self.followers.values():
            follower.caught_up_us = host.now_us
        self.set_isr(metadata.isr)
        host.tell(
            LeadershipTaken(
                partition=self.partition,
                broker=host.id,
                leader_epoch=metadata.leader_epoch,
                log_start=self.log.log_start,
                high_watermark=self.high_watermark,
                log_end=self.log.log_end,
                bytes=self.log.bytes,
            )
        )
        self.advance()

    def _followers_high_watermark(self) -> int:
        """The high watermark that this replica knows: the one it was sent last, or its leader's of half a second ago.

        Kafka's idle fetches bring it every `replica.fetch.wait.max.ms`; as nobody reads it before an election, it is
        looked up here instead of being sent.
        """
        source = self.source
        if source is None or not source.is_leader or not self.fetching:
            return self.high_watermark  # also when its own log may still differ from its leader's
        seen_us = self.host.now_us if source.host.stopped_us < 0 else source.host.stopped_us
        if seen_us - source.high_watermark_us >= REPLICA_FETCH_WAIT_US:
            return max(self.high_watermark, min(source.high_watermark, self.log.log_end))
        return self.high_watermark

    def resign(self, error: ErrorCode) -> None:
        """This broker leads no more (or its process ends): whoever waits is told `error`."""
        self.is_leader = False
        self.followers, self._counted = {}, ()
        waiting, self.waiting = self.waiting, deque()
        for _, committed in waiting:
            committed(error)

    def host_died(self) -> None:
        """The broker's process ended: what it knew besides the log is gone, and nobody is told anything."""
        self.is_leader = self.alter_pending = False
        self.followers, self._counted = {}, ()
        self.waiting.clear()
        self.fetches.clear()
        self.session += 1

    def in_sync(self, now_us: int, lag_us: int) -> tuple[int, ...]:
        """The ISR without followers that have not been at the log's end for `lag_us`."""
        return tuple(
            broker
            for broker in self.isr
            if broker == self.host.id or now_us - self._caught_up_us(self.followers[broker], now_us) <= lag_us
        )

    def _caught_up_us(self, follower: Follower, now_us: int) -> int:
        """When the follower last had everything: a parked fetch is renewed while both ends live and the links work."""
        if not follower.waiting:
            return follower.caught_up_us
        seen_us = now_us
        host = follower.replica.host
        if host.stopped_us >= 0:
            seen_us = host.stopped_us
        back = host.link_to(self.host.id)
        for cut_us in (follower.link.cut_since_us, back.cut_since_us):
            if cut_us is not None:
                seen_us = min(seen_us, cut_us)
        return max(seen_us, follower.caught_up_us)

    def set_isr(self, isr: tuple[int, ...]) -> None:
        """The in-sync replicas, in the order of the replicas."""
        self.isr = isr
        self._counted = tuple(follower for follower in self.followers.values() if follower.broker in isr)

    # --- the leader's side --------------------------------------------------------------------------------------

    def append(self, batch: RecordBatch, now_us: int) -> RecordBatch:
        """Append a client's (or coordinator's) batch as leader and push it to waiting followers; returns it placed."""
        log = self.log
        epoch = self.metadata.leader_epoch
        placed = RecordBatch(
            batch.partition,
            batch.producer,
            batch.producer_id,
            batch.epoch,
            batch.base_sequence,
            batch.first_serial,
            batch.count,
            batch.bytes,
            batch.created_us,
            batch.keys,
            log.log_end,
            epoch,
            now_us,
            batch.payload,
        )
        log.append_as_leader(placed)
        self.host.tell(
            RecordsAppended(
                partition=self.partition,
                base_offset=placed.base_offset,
                count=batch.count,
                bytes=batch.bytes,
                producer=batch.producer,
                producer_id=batch.producer_id,
                epoch=batch.epoch,
                base_sequence=batch.base_sequence,
                first_serial=batch.first_serial,
                leader_epoch=epoch,
            )
        )
        for follower in self.followers.values():
            if follower.waiting:  # it has everything before this batch
                follower.waiting = False
                follower.caught_up_us = now_us
                follower.link.send(follower.replica.replicated, (follower.session, (placed,), self.high_watermark))
        if not self._counted:
            self.advance()
        return placed

    def when_committed(self, offset: int, committed: Committed) -> None:
        """Call `committed(NONE)` once everything below `offset` is committed, or with an error upon resignation."""
        if self.high_watermark >= offset:
            committed(ErrorCode.NONE)
        else:
            self.waiting.append((offset, committed))

    def _push(self, follower: Follower, now_us: int) -> None:
        follower.waiting = False
        follower.caught_up_us = now_us
        log_end = self.log.log_end
        batches = self.log.read(follower.log_end, log_end, REPLICA_FETCH_MAX_BYTES)
        follower.link.send(follower.replica.replicated, (follower.session, batches, self.high_watermark))

    def follower_fetched(self, fetch: tuple[int, int, int]) -> None:
        """A follower fetches from (and so acknowledges everything below) an offset: (broker, session, offset)."""
        host = self.host
        if not host.running:
            host.later(self.follower_fetched, fetch)
            return
        broker, session, offset = fetch
        follower = self.followers.get(broker)
        if follower is None or session < follower.session:
            return
        follower.session, follower.log_end = session, offset
        now_us = host.now_us
        if offset < self.log.log_end:
            self._push(follower, now_us)
        else:
            follower.waiting = True
            follower.caught_up_us = now_us
        self.advance()
        if broker not in self.isr:
            self.admit_followers()

    def admit_followers(self) -> None:
        """Ask to let followers into the ISR that have everything below the high watermark, of this epoch at least."""
        if not self.is_leader or self.alter_pending or len(self.isr) == len(self.metadata.replicas):
            return
        for follower in self.followers.values():
            caught_up = follower.log_end >= max(self.high_watermark, self.epoch_start)
            if caught_up and follower.broker not in self.isr and self.host.caught_up(self, follower):
                return

    def advance(self) -> None:
        """Move the high watermark to the smallest log end of the in-sync replicas; it stands still below min ISR."""
        offset = self.log.log_end
        for follower in self._counted:
            if follower.log_end < offset:
                offset = follower.log_end
        if offset <= self.high_watermark or len(self.isr) < self.min_insync_replicas:
            return
        self.high_watermark = offset
        host = self.host
        self.high_watermark_us = host.now_us
        host.tell(
            HighWatermarkAdvanced(partition=self.partition, offset=offset, leader_epoch=self.metadata.leader_epoch)
        )
        waiting = self.waiting
        while waiting and waiting[0][0] <= offset:
            waiting.popleft()[1](ErrorCode.NONE)
        if self.fetches:
            host.high_watermark_moved(self)

    def end_of_epoch(self, question: tuple["Replica", int, int]) -> None:
        """OffsetsForLeaderEpoch from a follower: (its replica, its session, its last epoch)."""
        host = self.host
        if not host.running:
            host.later(self.end_of_epoch, question)
            return
        asker, session, epoch = question
        answer = self.log.epochs.end_offset_for(epoch, self.log.log_end) if self.is_leader else None
        host.link_to(asker.host.id).send(asker.truncate, (session, answer))

    # --- the follower's side ------------------------------------------------------------------------------------

    def _follow(self, metadata: PartitionMetadata) -> None:
        if self.is_leader:
            self.resign(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.source is not None:
            self.high_watermark = self._followers_high_watermark()
        self.session += 1
        self.source, self.fetching = None, False
        if metadata.leader >= 0 and metadata.leader != self.host.id:
            self.source = self.host.replica_on(metadata.leader, self.partition)
            self._acknowledge = self.host.link_to(metadata.leader)
            self._ask(self.session)

    def _ask(self, session: int) -> None:
        if session == self.session and self.source is not None and self._acknowledge is not None:
            self._acknowledge.send(self.source.end_of_epoch, (self, session, self.log.epochs.latest_epoch))

    def truncate(self, answer: tuple[int, EpochEnd | None]) -> None:
        """The leader said where the logs part: cut, and fetch from there. None: it does not lead yet, ask later."""
        host = self.host
        if not host.running:
            host.later(self.truncate, answer)
            return
        session, end = answer
        if session != self.session:
            return
        if end is None:
            host.after(REPLICA_FETCH_BACKOFF_US, self._ask, session)
            return
        cut = follower_truncation(self.log.epochs, end, self.log.log_end, self.high_watermark)
        log_end = self.log.log_end
        if cut.offset < log_end:
            self.log.truncate_to(cut.offset)
            host.tell(LogTruncated(partition=self.partition, broker=host.id, offset=self.log.log_end, log_end=log_end))
        if not cut.complete:
            self._ask(session)
            return
        self._fetch()

    def _fetch(self) -> None:
        assert self.source is not None
        assert self._acknowledge is not None
        self.fetching = True
        self._acknowledge.send(self.source.follower_fetched, (self.host.id, self.session, self.log.log_end))

    def replicated(self, data: tuple[int, Sequence[RecordBatch], int]) -> None:
        """A fetch was answered: (session, batches, the leader's high watermark)."""
        host = self.host
        if not host.running:
            host.later(self.replicated, data)
            return
        session, batches, high_watermark = data
        if session != self.session:
            return
        log = self.log
        for batch in batches:
            log.append(batch)
        if high_watermark > self.high_watermark:
            self.high_watermark = min(high_watermark, log.log_end)
        self._acknowledge.send(self.source.follower_fetched, (host.id, session, log.log_end))  # type: ignore[union-attr]
