"""One broker's replica of one partition, as leader and as follower.

Theory of operation. The leader appends batches and pushes them to each follower whose fetch is parked. The follower's
next fetch acknowledges them. The high watermark is the smallest log end of the in-sync replicas; when it advances, it
completes acks=all, a coordinator's appends and parked fetches. Replication is one message for each batch and follower,
not a poll: a waiting follower is a fetch parked at the leader. A follower of a new leader first asks where its own last
leader epoch ends in the leader's log. It truncates there (KIP-101, KIP-279), then fetches. Both ends name the leader
epoch that they know; the one that is behind retries later. One class holds both roles, because they share one log and
one high watermark.
Source: `kafka.cluster.Partition`, `ReplicaFetcherThread`, `AbstractFetcherThread`; deviations in FIDELITY.md.
"""

from bisect import insort
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from cluster.broker.follower_state import LONG_AGO_US, FetchResponse, FetchSession, FollowerState
from cluster.broker.host import BrokerHost
from cluster.events import (
    HighWatermarkAdvanced,
    LeadershipTaken,
    LogStartAdvanced,
    LogTruncated,
    RecordsAppended,
)
from cluster.network import InFlightRequest, Link
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.reach import reached
from cluster.storage.leader_epochs import EpochEnd, follower_truncation
from cluster.storage.log_config import Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.retention import segment_starts

REPLICA_FETCH_MAX_BYTES: Final = 1_048_576
REPLICA_FETCH_BACKOFF_US: Final = 1_000_000
NO_LIMIT: Final = 1 << 62
Committed = Callable[[ErrorCode], object]
_offset = itemgetter(0)


class Replica:
    """A partition on a broker. `isr` is the maximal ISR: it includes additions that the controller has not confirmed.

    `fetching`: as a follower, its log is a prefix of its leader's. `led_epoch`: the epoch in which it led last.
    `may_restore`: another replica dropped records that may still be on their way to this one (ground truth).
    `max_message_bytes`: the largest batch of a producer; others are not measured. `retention`: None for internal
    topics, which are compacted. `fetches`: those that are parked, by client.
    """

    __slots__ = (
        "_fetch_link", "_in_sync", "_out_of_sync", "alter_pending", "alter_sent_us", "epoch_start", "fetches",
        "fetching", "followers", "high_watermark", "high_watermark_us", "host", "is_leader", "isr", "led_epoch", "log",
        "max_message_bytes", "may_restore", "metadata", "min_insync_replicas", "partition", "retention", "session",
        "source", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        host: BrokerHost["Replica"],
        log: PartitionLog,
        min_insync_replicas: int,
        retention: Retention | None = None,
    ) -> None:
        self.host, self.log, self.partition, self.retention = host, log, log.partition, retention
        self.min_insync_replicas, self.max_message_bytes = min_insync_replicas, NO_LIMIT
        self.metadata = PartitionMetadata(-1, -1, (), ())
        self.high_watermark = self.high_watermark_us = 0
        self.waiting: list[tuple[int, Committed]] | None = None  # as leader: appends above the high watermark
        self.fetches: dict[str, InFlightRequest] | None = None
        # as leader
        self.is_leader, self.led_epoch, self.epoch_start = False, -1, 0
        self.isr: tuple[int, ...] = ()
        self.alter_pending, self.alter_sent_us = False, 0
        self.followers: tuple[FollowerState[Replica], ...] = ()
        self._in_sync: tuple[FollowerState[Replica], ...] = ()
        self._out_of_sync: tuple[FollowerState[Replica], ...] = ()
        # as follower
        self.session = FetchSession(host)
        self.source: Replica | None = None
        self.fetching = self.may_restore = False
        self._fetch_link: Link | None = None

    # --- leadership ---------------------------------------------------------------------------------------------

    def apply(self, metadata: PartitionMetadata, *, restarted: bool = False) -> None:
        """Apply the controller's metadata; metadata older than the last, in responses too, is ignored."""
        known = self.metadata
        if metadata.epochs < known.epochs:
            return
        self.metadata = metadata
        if metadata.replicas != known.replicas and self.is_leader:
            self.assign_followers(metadata.replicas)
        if metadata.leader_epoch == known.leader_epoch and not restarted:
            if metadata.epochs > known.epochs:
                self.alter_pending = False  # its response is stale now (`Partition.submitAlterPartition`)
            if self.is_leader and not self.alter_pending and metadata.isr != self.isr:
                self.set_isr(metadata.isr)
                self.advance()
            elif self._stops_following:
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
        self.high_watermark = self.known_high_watermark()
        self.high_watermark_us = host.now_us
        self.is_leader, self.alter_pending, self.source = True, False, None
        self.session.number += 1
        self.log.recall_producers()
        self.expire_producers()
        self.log.transactions.high_watermark_at(self.high_watermark)
        self.log.epochs.assign(metadata.leader_epoch, self.log.log_end)
        self.epoch_start, self.led_epoch = self.log.log_end, metadata.leader_epoch
        caught_up_us = dict.fromkeys(metadata.isr, host.now_us)
        others = [broker for broker in metadata.replicas if broker != host.id]
        self.followers = tuple([self._follower(broker, caught_up_us.get(broker, LONG_AGO_US)) for broker in others])
        self.set_isr(metadata.isr)
        host.emit(
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

    def _follower(self, broker: int, caught_up_us: int) -> "FollowerState[Replica]":
        host, replica = self.host, self.host.replica_on(broker, self.partition)
        return FollowerState(
            broker, replica, replica.session, (host.link_to(broker), host.link_from(broker)), caught_up_us
        )

    def assign_followers(self, replicas: tuple[int, ...]) -> None:
        """As leader: know the followers of a changed assignment; those that stay keep their state."""
        others = [one for one in replicas if one != self.host.id]
        self.followers = tuple([self.follower_on(one) or self._follower(one, LONG_AGO_US) for one in others])
        self.set_isr(self.isr)

    def follower_on(self, broker: int) -> "FollowerState[Replica] | None":
        """What this leader knows of a follower; None if the broker has none, or this one does not lead."""
        for follower in self.followers:  # two, as a rule: a dictionary for each replica would take four times the room
            if follower.broker == broker:
                return follower
        return None

    def _follow(self, metadata: PartitionMetadata) -> None:
        if self.is_leader:
            self.resign(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.source is not None:
            self.high_watermark = self.known_high_watermark()
        self._begin_to_follow(metadata.leader)

    def resign(self, error: ErrorCode) -> None:
        """This broker leads the partition no more: appends that wait for the high watermark fail with `error`."""
        self.is_leader = False
        self.followers = self._in_sync = self._out_of_sync = ()
        waiting, self.waiting = self.waiting, None
        for _, committed in waiting or ():
            committed(error)

    def leave(self, metadata: PartitionMetadata) -> None:
        """The partition has no replica here any more: stop leading or following (`ReplicaManager.stopPartitions`)."""
        self.metadata, was_leader = metadata, self.is_leader
        if was_leader:
            self.resign(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._begin_to_follow(-1)
        self.host.leadership_changed(self, was_leader)

    def on_process_ended(self) -> None:
        """The broker's process ended: all state besides the log is lost."""
        self.is_leader = self.alter_pending = False
        self.followers = self._in_sync = self._out_of_sync = ()
        if self.waiting is not None:
            self.waiting.clear()
        self.fetches = None
        self.session.number += 1

    # --- in-sync replicas ---------------------------------------------------------------------------------------

    def in_sync(self, now_us: int, lag_us: int) -> tuple[int, ...]:
        """The ISR without followers that lack records and have not been caught up for `lag_us`.

        A follower with the leader's log end stays, however old its last fetch is (`Replica.isCaughtUp`).
        """
        behind = [
            follower.broker
            for follower in self._in_sync
            if follower.log_end != self.log.log_end and now_us - follower.last_caught_up_us(now_us) > lag_us
        ]
        return tuple([broker for broker in self.isr if broker not in behind]) if behind else self.isr

    @property
    def has_min_isr(self) -> bool:
        """Whether the confirmed ISR has `min.insync.replicas` members, or all replicas (`effectiveMinIsr`)."""
        return len(self.metadata.isr) >= min(self.min_insync_replicas, len(self.metadata.replicas))

    def set_isr(self, isr: tuple[int, ...]) -> None:
        """Set the in-sync replicas, in the order of the replicas."""
        self.isr = isr
        self._in_sync = tuple([follower for follower in self.followers if follower.broker in isr])
        self._out_of_sync = tuple([follower for follower in self.followers if follower.broker not in isr])

    def admit_followers(self, fetching: "FollowerState[Replica] | None" = None) -> None:
        """Ask to add followers to the ISR whose log end reached the high watermark and this epoch's start.

        Only a follower that fetches is added: `fetching`, whose fetch just arrived, or one with a renewed parked fetch.
        """
        if not self.is_leader or self.alter_pending or len(self.isr) == len(self.metadata.replicas):
            return
        now_us = self.host.now_us
        for follower in self.followers:
            caught_up = follower.log_end >= max(self.high_watermark, self.epoch_start)
            fetches = follower is fetching or (follower.waiting and follower.last_caught_up_us(now_us) == now_us)
            if (
                caught_up
                and fetches
                and follower.broker not in self.isr
                and self.host.expand_isr(self, follower.broker)
            ):
                return

    def advance(self) -> None:
        """Advance the high watermark to the smallest log end of the in-sync replicas; not below min ISR.

        Additions to the ISR that the controller has not confirmed count as in sync here, but not against min ISR. A
        caught-up follower that is about to join holds the high watermark back too, so that it cannot pass the follower.
        """
        offset = self.log.log_end
        for follower in self._in_sync:
            if follower.log_end < offset:
                offset = follower.log_end
        if offset <= self.high_watermark or not self.has_min_isr:
            return
        if self._out_of_sync:
            offset = self._with_those_about_to_join(offset)
            if offset <= self.high_watermark:
                return
        self.high_watermark = offset
        if self.log.transactions.undecided:
            self.log.transactions.high_watermark_at(offset)
        host, waiting = self.host, self.waiting
        self.high_watermark_us = host.now_us
        host.emit(
            HighWatermarkAdvanced(partition=self.partition, offset=offset, leader_epoch=self.metadata.leader_epoch)
        )
        while waiting and waiting[0][0] <= offset:
            waiting.pop(0)[1](ErrorCode.NONE)
        if self.fetches or host.selects_read_replicas:
            host.high_watermark_advanced(self)

    def _with_those_about_to_join(self, offset: int) -> int:
        """Source: `Partition.maybeIncrementLeaderHW` (`shouldWaitForReplicaToJoinIsr`)."""
        host = self.host
        recently_us = host.now_us - host.lag_us
        for follower in self._out_of_sync:
            if (
                follower.log_end < offset
                and follower.last_caught_up_us(host.now_us) >= recently_us
                and host.is_live(follower.broker)
            ):
                reached("leader: waits for a joining follower")
                offset = follower.log_end
        return offset

    # --- the leader's appends -----------------------------------------------------------------------------------

    def append(self, batch: RecordBatch, now_us: int) -> RecordBatch:
        """Append a batch of a client or coordinator as leader and push it to waiting followers; returns the copy."""
        log = self.log
        epoch = self.metadata.leader_epoch
        placed = batch.placed(log.log_end, epoch, now_us)
        log.append_as_leader(placed)
        self.host.emit(
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
                created_us=batch.created_us,
                keys=batch.keys,
            )
        )
        for follower in self.followers:
            if follower.waiting:  # it has every record before this batch
                follower.unpark(placed.base_offset, now_us)
                follower.link.send(
                    follower.replica.replicated, (follower.session, (placed,), self.high_watermark, log.log_start)
                )
                if self.host.selects_read_replicas:
                    self.host.follower_answered(self, follower.broker)
        if not self._in_sync:
            self.advance()
        return placed

    @property
    def last_stable_offset(self) -> int:
        """The end of what a read_committed consumer may read."""
        return self.log.transactions.last_stable_offset(self.high_watermark, self.log.log_start)

    def when_committed(self, offset: int, committed: Committed) -> None:
        """Call `committed(NONE)` once everything below `offset` is committed, or with an error upon resignation."""
        if self.high_watermark >= offset:
            committed(ErrorCode.NONE)
        else:  # mostly at the end; not if an earlier batch is sent again while a later one waits
            waiting = self.waiting = self.waiting or []
            insort(waiting, (offset, committed), key=_offset)

    def park(self, call: InFlightRequest) -> None:
        """Keep a Fetch without records until there are some."""
        fetches = self.fetches = self.fetches or {}
        fetches[call.client] = call

    def take_fetches(self) -> list[InFlightRequest]:
        """The parked fetches, which are parked no more."""
        fetches, self.fetches = self.fetches, None
        return list(fetches.values()) if fetches else []

    # --- requests for this leader -------------------------------------------------------------------------------

    def leader_epoch_error(self, leader_epoch: int) -> ErrorCode:
        """Why a request that names this leader epoch is refused here, NONE when it is served (KIP-320).

        A client or follower with an older epoch has to learn the newer one; with a newer epoch, this broker has to.
        Source: `Partition.checkCurrentLeaderEpoch`, `getLocalLog`.
        """
        if leader_epoch < self.metadata.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if leader_epoch > self.metadata.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def epoch_end(self, leader_epoch: int, epoch: int) -> tuple[ErrorCode, EpochEnd | None]:
        """Answer OffsetForLeaderEpoch: where `epoch` ends in this log (`Partition.lastOffsetForLeaderEpoch`)."""
        error = self.leader_epoch_error(leader_epoch)
        if error is not ErrorCode.NONE:
            return error, None
        return error, self.log.epochs.end_offset_for(epoch, self.log.log_end)

    def end_of_epoch(self, request: "tuple[Replica, int, int, int]") -> None:
        """OffsetForLeaderEpoch of a follower: (its replica, its session, the leader epoch it knows, its last epoch)."""
        host = self.host
        if not host.running:
            host.defer(self.end_of_epoch, request)
            return
        follower, session, leader_epoch, epoch = request
        _, end = self.epoch_end(leader_epoch, epoch)
        host.link_to(follower.host.id).send(follower.truncate, (session, end))

    def follower_fetched(self, fetch: tuple[int, int, int, int]) -> None:
        """Fetch of a follower: (broker, session, the leader epoch it knows, offset).

        The offset acknowledges every record below it. Another leader epoch is refused (FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH): one end has not received the newer epoch yet.
        """
        host = self.host
        if not host.running:
            host.defer(self.follower_fetched, fetch)
            return
        broker, session, leader_epoch, offset = fetch
        follower = self.follower_on(broker)
        if follower is None or leader_epoch != self.metadata.leader_epoch:
            self._refuse(broker, session, leader_epoch)
            return
        if session < follower.session:
            return
        if offset < self.log.log_start:
            follower.session = session
            follower.link.send(follower.replica.start_over, (session, self.log.log_start))
            return
        if offset > self.log.log_end:  # this leader's disk lost what the follower has: the follower truncates
            reached("follower: beyond the leader's end")
            end = EpochEnd(leader_epoch, self.log.log_end)
            follower.session = session
            follower.link.send(follower.replica.truncate, (session, end))
            return
        if host.selects_read_replicas:
            host.follower_fetched(self, broker, first=session != follower.session)
        follower.fetched(session, offset, self.log.log_end, host.now_us)
        if not follower.waiting:
            self._push(follower)
        self.advance()
        if broker not in self.isr:
            self.admit_followers(follower)

    def _push(self, follower: "FollowerState[Replica]") -> None:
        log, buggify = self.log, self.host.buggify
        most_bytes = buggify.push_bytes(REPLICA_FETCH_MAX_BYTES) if buggify.on else REPLICA_FETCH_MAX_BYTES
        batches = log.read(follower.log_end, log.log_end, most_bytes)
        follower.link.send(follower.replica.replicated, (follower.session, batches, self.high_watermark, log.log_start))

    def answer_parked_fetch(self, follower: "FollowerState[Replica]") -> None:
        """Answer the parked fetch of a `waiting` follower without records: it learns high watermark and log start."""
        follower.unpark(self.log.log_end, self.host.now_us)
        self._push(follower)

    def _refuse(self, broker: int, session: int, leader_epoch: int) -> None:
        if leader_epoch >= self.metadata.leader_epoch:  # else the follower receives the newer epoch anyway
            reached("follower: another epoch")
            self.host.link_to(broker).send(self.host.replica_on(broker, self.partition).truncate, (session, None))

    # --- following ----------------------------------------------------------------------------------------------

    def known_high_watermark(self) -> int:
        """The high watermark that this replica knows: as follower the last one received, or of one fetch ago.

        Kafka's idle fetches bring it every `replica.fetch.wait.max.ms`. It is read only at an election, so it is looked
        up here instead of being sent.
        """
        source = self.source
        if source is None or not source.is_leader or not self.fetching:
            return self.high_watermark  # also while the log may still diverge from the leader's
        seen_us = self.host.now_us if source.host.stopped_us < 0 else source.host.stopped_us
        if seen_us - source.high_watermark_us >= self.host.fetch_wait_us:
            return max(self.high_watermark, min(source.high_watermark, self.log.log_end))
        return self.high_watermark

    @property
    def _stops_following(self) -> bool:
        """A stopping broker follows no leader whose ISR it has left (`ReplicaManager.isInControlledShutdown`)."""
        return self.host.stopping and self.host.id not in self.metadata.isr

    def _begin_to_follow(self, leader: int) -> None:
        """Follow this leader from now on; -1: none."""
        self.session.number += 1
        self.source, self.fetching, self.may_restore = None, False, False
        if leader >= 0 and leader != self.host.id and not self._stops_following:
            self.source = self.host.replica_on(leader, self.partition)
            self._fetch_link = self.host.link_to(leader)
            self._ask_for_epoch_end(self.session.number)

    def _ask_for_epoch_end(self, session: int) -> None:
        if session == self.session.number and self.source is not None and self._fetch_link is not None:
            request = (self, session, self.metadata.leader_epoch, self.log.epochs.latest_epoch)
            self._fetch_link.send(self.source.end_of_epoch, request)

    def truncate(self, response: tuple[int, EpochEnd | None]) -> None:
        """OffsetForLeaderEpoch was answered: truncate and fetch. None: the leader lacks this epoch, retry later."""
        host = self.host
        if not host.running:
            host.defer(self.truncate, response)
            return
        session, end = response
        if session != self.session.number:
            return
        if end is None:
            host.after(REPLICA_FETCH_BACKOFF_US, self._ask_for_epoch_end, session)
            return
        cut = follower_truncation(self.log.epochs, end, self.log.log_end, self.high_watermark)
        if cut.offset < self.log.log_end:
            self._drop_from(cut.offset, "diverged")
        else:
            self.log.truncate_to(cut.offset)
        if not cut.complete:
            self._ask_for_epoch_end(session)
            return
        self._fetch()

    def _fetch(self) -> None:
        assert self.source is not None
        assert self._fetch_link is not None
        self.fetching = True
        fetch = (self.host.id, self.session.number, self.metadata.leader_epoch, self.log.log_end)
        self._fetch_link.send(self.source.follower_fetched, fetch)

    def replicated(self, response: FetchResponse) -> None:
        """A fetch was answered: append the batches and fetch again."""
        host = self.host
        if not host.running:
            host.defer(self.replicated, response)
        elif host.disk.bad:
            host.disk.append(len(response[1]), self._written, response)
        else:
            self._append_fetched(response)

    def _written(self, response: FetchResponse) -> None:
        if not self.host.running:
            self.host.defer(self._written, response)
            return
        self._append_fetched(response)

    def _append_fetched(self, response: FetchResponse) -> None:
        host = self.host
        session, batches, high_watermark, log_start = response
        if session != self.session.number:
            return
        log = self.log
        if batches and batches[0].base_offset < log.log_end:
            self._begin_inside(batches[0].base_offset)
        log.append_fetched(batches, self.source.log)  # type: ignore[union-attr]
        if self.may_restore:
            host.emit_survived(self, batches)
        if high_watermark > self.high_watermark:
            log_end = log.log_end
            self.high_watermark = high_watermark if high_watermark < log_end else log_end  # noqa: FURB136 - see Timeline
            if self.fetches:
                host.high_watermark_advanced(self)
        if log_start > log.log_start:
            log.advance_start(min(log_start, log.log_end))
        fetch = (host.id, session, self.metadata.leader_epoch, log.log_end)
        self._fetch_link.send(self.source.follower_fetched, fetch)  # type: ignore[union-attr]

    def _begin_inside(self, base_offset: int) -> None:
        """The leader's log starts inside a batch, and this log ends inside it too (`UnexpectedAppendOffsetException`).

        The local records at these offsets may be of an epoch whose end no replica knows any more. Kafka's fetcher marks
        the partition as failed then.
        """
        reached("follower: begins inside a batch")
        if self.log.batches:
            self._drop_from(base_offset, "diverged")
        if self.log.log_end != base_offset:
            self.log.start_over(base_offset)

    def start_over(self, response: tuple[int, int]) -> None:
        """OFFSET_OUT_OF_RANGE: the leader's log starts after this log's end. (session, the leader's log start)."""
        host = self.host
        if not host.running:
            host.defer(self.start_over, response)
            return
        session, log_start = response
        if session == self.session.number:
            reached("follower: starts over")
            self.log.start_over(log_start)
            self.high_watermark = log_start
            self._fetch()

    # --- the log ------------------------------------------------------------------------------------------------

    def lose_unflushed(self) -> None:
        """The host crashed: records that were not on disk are lost."""
        if self.log.flushed < self.log.log_end:
            self._drop_from(self.log.flushed, "crash")

    def _drop_from(self, offset: int, reason: str) -> None:
        """Truncate the log at an offset and emit it, and which records no replica holds any more."""
        log, host = self.log, self.host
        dropped, log_end = log.beyond(offset), log.log_end
        log.truncate_to(offset, None if reason == "crash" else segment_starts(log, self.retention))
        self.high_watermark = min(self.high_watermark, log.log_end)  # falls after a crash or an unclean election only
        host.emit(
            LogTruncated(
                partition=self.partition,
                broker=host.id,
                offset=log.log_end,
                log_end=log_end,
                reason=reason,
                bytes=log.bytes,
                appended=log.appended_records,
            )
        )
        host.emit_lost(self, dropped)

    def expire_producers(self) -> None:
        """As leader: forget producers that have not written for `producer.id.expiration.ms`."""
        self.log.producers.expire(self.host.now_us, self.host.producer_expiration_us)

    def advance_log_start(self, offset: int, reason: str) -> None:
        """As leader: no record below `offset` is read any more. Followers learn it with the response to their fetch."""
        if offset > self.log.log_start:
            self.log.advance_start(offset)
            self.emit_log_start(reason)

    def emit_log_start(self, reason: str) -> None:
        """As leader: emit where the log starts now, and let waiting followers know."""
        log, host = self.log, self.host
        host.emit(
            LogStartAdvanced(
                partition=self.partition,
                broker=host.id,
                leader_epoch=self.metadata.leader_epoch,
                log_start=log.log_start,
                bytes=log.bytes,
                reason=reason,
            )
        )
        for follower in self.followers:
            if follower.waiting:
                self.answer_parked_fetch(follower)
