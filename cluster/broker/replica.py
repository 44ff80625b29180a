"""One broker's copy of one partition: leading it, or following whoever leads.

Theory of operation. The leader appends, pushes new batches to each follower that waits for them, and learns from the
follower's next fetch (its acknowledgement) how far it got; the high watermark is the smallest log end of the in-sync
replicas. What waits for the high watermark (acks=all, a coordinator's records, parked fetches) is served when it moves.
Replication is a message for each batch and follower, not a poll: a waiting follower is a fetch parked at the leader.
A follower of a new leader first asks where their logs part and truncates (KIP-101, KIP-279), then fetches.
Source: `kafka.cluster.Partition`, `ReplicaFetcherThread`; deviations in FIDELITY.md.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from cluster.broker.follower_fetcher import FollowersHost, FollowingReplica
from cluster.broker.follower_state import LONG_AGO_US, Follower
from cluster.broker.leader_fencing import end_of_epoch
from cluster.events import HighWatermarkAdvanced, LeadershipTaken, LogStartAdvanced, RecordsAppended
from cluster.network import Link
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.reach import reached
from cluster.storage.leader_epochs import EpochEnd
from cluster.storage.partition_log import PartitionLog
from cluster.storage.retention import Retention, first_kept

REPLICA_FETCH_MAX_BYTES = 1_048_576
NO_LIMIT = 1 << 62
Committed = Callable[[ErrorCode], object]


class Host(FollowersHost, Protocol):
    """The broker that a replica lives on: `replica.lag.time.max.ms`, `producer.id.expiration.ms`."""

    lag_us: int
    producer_expiration_us: int

    def link_from(self, broker: int) -> Link:
        """The link from another broker."""

    def leadership_changed(self, replica: "Replica", was_leader: bool) -> None:
        """A replica took over or stepped down."""

    def high_watermark_moved(self, replica: "Replica") -> None:
        """Parked fetches of this partition can be answered."""

    def is_live(self, broker: int) -> bool:
        """Whether a broker may join an ISR, as far as this one has heard: registered and not fenced."""

    def caught_up(self, replica: "Replica", follower: Follower) -> bool:
        """A follower outside the ISR has everything below the high watermark. Whether the controller was asked."""


class Replica(FollowingReplica):
    """A partition on a broker. `isr` is the maximal one: additions still on their way to the controller included.

    `max_message_bytes`: the largest batch that a producer may append; nobody else's is measured.
    """

    def __init__(
        self, host: Host, log: PartitionLog, min_insync_replicas: int, retention: Retention | None = None
    ) -> None:
        super().__init__(host, log, retention)
        self.host: Host = host
        self.min_insync_replicas, self.max_message_bytes = min_insync_replicas, NO_LIMIT
        self.high_watermark_us = self.alter_sent_us = self.epoch_start = 0
        self.isr: tuple[int, ...] = ()
        self.alter_pending, self.is_leader, self.led_epoch = False, False, -1  # in which it took leadership last
        self.followers: dict[int, Follower] = {}
        self._counted: tuple[Follower, ...] = ()  # in the ISR
        self._others: tuple[Follower, ...] = ()
        self.waiting: deque[tuple[int, Committed]] = deque()
        self.fetches: dict[str, Any] = {}

    # --- leadership ---------------------------------------------------------------------------------------------

    def apply(self, metadata: PartitionMetadata, *, restarted: bool = False) -> None:
        """The controller's word reached this broker. Older words than the last one, answers included, are ignored."""
        known = self.metadata
        if metadata.epochs < known.epochs:
            return
        self.metadata = metadata
        if metadata.leader_epoch == known.leader_epoch and not restarted:
            if metadata.epochs > known.epochs:
                self.alter_pending = False  # its answer does not count any more (`Partition.submitAlterPartition`)
            if self.is_leader and not self.alter_pending and metadata.isr != self.isr:
                self.set_isr(metadata.isr)
                self.advance()
            elif self._stops:
                self._begin_to_follow(metadata.leader)
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
        self.expire_producers()
        self.log.transactions.high_watermark_at(self.high_watermark)
        self.log.epochs.assign(metadata.leader_epoch, self.log.log_end)
        self.epoch_start, self.led_epoch = self.log.log_end, metadata.leader_epoch
        self.followers = {
            broker: Follower(
                broker,
                host.replica_on(broker, self.partition),
                host.link_to(broker),
                host.link_from(broker),
                host.now_us if broker in metadata.isr else LONG_AGO_US,
            )
            for broker in metadata.replicas
            if broker != host.id
        }
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
                appended=self.log.appended_records,
            )
        )
        self.advance()

    def resign(self, error: ErrorCode) -> None:
        """This broker leads no more (or its process ends): whoever waits is told `error`."""
        self.is_leader = False
        self._forget_followers()
        waiting, self.waiting = self.waiting, deque()
        for _, committed in waiting:
            committed(error)

    def _forget_followers(self) -> None:
        self.followers, self._counted, self._others = {}, (), ()

    def host_died(self) -> None:
        """The broker's process ended: what it knew besides the log is gone."""
        self.is_leader = self.alter_pending = False
        self._forget_followers()
        self.waiting.clear()
        self.fetches.clear()
        self.session += 1

    def in_sync(self, now_us: int, lag_us: int) -> tuple[int, ...]:
        """The ISR without followers that lack something and have not had everything for `lag_us`.

        One that has all there is stays, however long nothing was heard of it (`Replica.isCaughtUp`).
        """
        return tuple(
            broker
            for broker in self.isr
            if broker == self.host.id
            or self.followers[broker].log_end == self.log.log_end
            or now_us - self.followers[broker].last_caught_up_us(now_us) <= lag_us
        )

    def set_isr(self, isr: tuple[int, ...]) -> None:
        """The in-sync replicas, in the order of the replicas."""
        self.isr = isr
        self._counted = tuple(follower for follower in self.followers.values() if follower.broker in isr)
        self._others = tuple(follower for follower in self.followers.values() if follower.broker not in isr)

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
            batch.origins,
            batch.transactional,
            batch.marker,
            batch.coordinator_epoch,
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
                transactional=batch.transactional,
                marker=batch.marker,
            )
        )
        for follower in self.followers.values():
            if follower.waiting:  # it has everything before this batch
                follower.unpark(placed.base_offset, now_us)
                follower.link.send(
                    follower.replica.replicated, (follower.session, (placed,), self.high_watermark, log.log_start)
                )
        if not self._counted:
            self.advance()
        return placed

    @property
    def last_stable_offset(self) -> int:
        """Up to where a reader of committed data may read."""
        return self.log.transactions.last_stable_offset(self.high_watermark, self.log.log_start)

    def when_committed(self, offset: int, committed: Committed) -> None:
        """Call `committed(NONE)` once everything below `offset` is committed, or with an error upon resignation."""
        if self.high_watermark >= offset:
            committed(ErrorCode.NONE)
        elif not self.waiting or self.waiting[-1][0] <= offset:
            self.waiting.append((offset, committed))
        else:  # an earlier batch, sent again while a later one waits
            self.waiting.insert(sum(other <= offset for other, _ in self.waiting), (offset, committed))

    def _push(self, follower: Follower) -> None:
        log, buggify = self.log, self.host.buggify
        most_bytes = buggify.push_bytes(REPLICA_FETCH_MAX_BYTES) if buggify.on else REPLICA_FETCH_MAX_BYTES
        batches = log.read(follower.log_end, log.log_end, most_bytes)
        follower.link.send(follower.replica.replicated, (follower.session, batches, self.high_watermark, log.log_start))

    def follower_fetched(self, fetch: tuple[int, int, int, int]) -> None:
        """A follower fetches from (and so acknowledges everything below) an offset.

        (broker, session, the leader epoch it knows, offset); another epoch than this leader's is refused
        (FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH): either end has yet to hear of the newer one.
        """
        host = self.host
        if not host.running:
            host.later(self.follower_fetched, fetch)
            return
        broker, session, leader_epoch, offset = fetch
        follower = self.followers.get(broker)
        if follower is None or leader_epoch != self.metadata.leader_epoch:
            self._refuse(broker, session, leader_epoch)
            return
        if session < follower.session:
            return
        if offset < self.log.log_start:
            follower.session = session
            follower.link.send(follower.replica.start_over, (session, self.log.log_start))
            return
        if offset > self.log.log_end:  # what it has beyond, this leader's disk lost: it ends where this log does
            reached("follower: beyond the leader's end")
            end = EpochEnd(leader_epoch, self.log.log_end)
            follower.session = session
            follower.link.send(follower.replica.truncate, (session, end))
            return
        follower.fetched(session, offset, self.log.log_end, host.now_us)
        if not follower.waiting:
            self._push(follower)
        self.advance()
        if broker not in self.isr:
            self.admit_followers(follower)

    # --- the log's start --------------------------------------------------------------------------------------------

    def expire_producers(self) -> None:
        """As leader: forget producers that have not written for `producer.id.expiration.ms`."""
        self.log.producers.expire(self.host.now_us, self.host.producer_expiration_us)

    def advance_log_start(self, offset: int, reason: str) -> None:
        """As leader: nobody reads below `offset` any more. Followers learn of it with the answer to their fetch."""
        if offset > self.log.log_start:
            self.log.advance_start(offset)
            self._tell_log_start(reason)

    def _tell_log_start(self, reason: str) -> None:
        log, host = self.log, self.host
        host.tell(
            LogStartAdvanced(
                partition=self.partition,
                broker=host.id,
                leader_epoch=self.metadata.leader_epoch,
                log_start=log.log_start,
                bytes=log.bytes,
                reason=reason,
            )
        )
        for follower in self.followers.values():
            if follower.waiting:
                follower.unpark(log.log_end, host.now_us)
                self._push(follower)

    def delete_old_segments(self) -> None:
        """Delete what `retention.ms` and `retention.bytes` allow, or compact; every replica does so for itself."""
        if self.retention is None:
            self.log.clean(self.high_watermark)
            return
        log = self.log
        log_start, size = log.log_start, log.bytes
        log.drop_before(first_kept(log, self.retention, self.high_watermark, self.host.now_us))
        if self.is_leader and (log_start, size) != (log.log_start, log.bytes):
            self._tell_log_start("retention")

    def _refuse(self, broker: int, session: int, leader_epoch: int) -> None:
        if leader_epoch >= self.metadata.leader_epoch:  # else it will hear of the newer epoch
            reached("follower: another epoch")
            self.host.link_to(broker).send(self.host.replica_on(broker, self.partition).truncate, (session, None))

    def admit_followers(self, fetching: Follower | None = None) -> None:
        """Ask to let followers into the ISR that have everything below the high watermark, of this epoch at least.

        Those that fetch, that is: the one whose fetch has just come, and those whose parked ones are renewed.
        """
        if not self.is_leader or self.alter_pending or len(self.isr) == len(self.metadata.replicas):
            return
        now_us = self.host.now_us
        for follower in self.followers.values():
            caught_up = follower.log_end >= max(self.high_watermark, self.epoch_start)
            fetches = follower is fetching or (follower.waiting and follower.last_caught_up_us(now_us) == now_us)
            if caught_up and fetches and follower.broker not in self.isr and self.host.caught_up(self, follower):
                return

    def advance(self) -> None:
        """Move the high watermark to the smallest log end of the in-sync replicas; it stands still below min ISR.

        Additions to the ISR that the controller has not confirmed count as in sync here, but not against min ISR. A
        follower that is caught up and about to join holds it back as well, lest it runs away from it.
        """
        offset = self.log.log_end
        for follower in self._counted:
            if follower.log_end < offset:
                offset = follower.log_end
        if offset <= self.high_watermark or len(self.metadata.isr) < self.min_insync_replicas:
            return
        if self._others:
            offset = self._with_those_about_to_join(offset)
            if offset <= self.high_watermark:
                return
        self.high_watermark = offset
        if self.log.transactions.undecided:
            self.log.transactions.high_watermark_at(offset)
        host, waiting = self.host, self.waiting
        self.high_watermark_us = host.now_us
        host.tell(
            HighWatermarkAdvanced(partition=self.partition, offset=offset, leader_epoch=self.metadata.leader_epoch)
        )
        while waiting and waiting[0][0] <= offset:
            waiting.popleft()[1](ErrorCode.NONE)
        if self.fetches:
            host.high_watermark_moved(self)

    def _with_those_about_to_join(self, offset: int) -> int:
        """Source: `Partition.maybeIncrementLeaderHW` (`shouldWaitForReplicaToJoinIsr`)."""
        host = self.host
        recently_us = host.now_us - host.lag_us
        for follower in self._others:
            if (
                follower.log_end < offset
                and follower.last_caught_up_us(host.now_us) >= recently_us
                and host.is_live(follower.broker)
            ):
                reached("leader: waits for a joining follower")
                offset = follower.log_end
        return offset

    def end_of_epoch(self, question: tuple["Replica", int, int, int]) -> None:
        """OffsetsForLeaderEpoch from a follower: (its replica, its session, the leader epoch it knows, its last)."""
        host = self.host
        if not host.running:
            host.later(self.end_of_epoch, question)
            return
        asker, session, leader_epoch, epoch = question
        _, answer = end_of_epoch(self, leader_epoch, epoch)
        host.link_to(asker.host.id).send(asker.truncate, (session, answer))

    def _follow(self, metadata: PartitionMetadata) -> None:
        if self.is_leader:
            self.resign(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.source is not None:
            self.high_watermark = self._followers_high_watermark()
        self._begin_to_follow(metadata.leader)
