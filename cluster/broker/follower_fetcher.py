"""A partition's copy on a broker, as far as it follows: finding where its log parts from its leader's, and fetching.

A follower of a new leader asks for the end of its own last epoch in the leader's log, truncates (KIP-101, KIP-279) and
fetches. Both ends name the leader epoch that they know; one that is behind is asked again when it has heard.
Source: `ReplicaFetcherThread`, `AbstractFetcherThread`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from cluster.broker.disk import Disk
from cluster.broker.follower_state import Pushed
from cluster.events import Event, LogTruncated, RecordsLost, RecordsSurvived
from cluster.network import Link
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.reach import reached
from cluster.spec import Buggify
from cluster.storage.leader_epochs import EpochEnd, follower_truncation
from cluster.storage.lost_records import vanished
from cluster.storage.partition_log import PartitionLog
from cluster.storage.retention import Retention, segment_starts

REPLICA_FETCH_BACKOFF_US = 1_000_000


class Leader(Protocol):
    """The replica that is followed."""

    high_watermark: int
    high_watermark_us: int
    is_leader: bool

    @property
    def host(self) -> "FollowersHost":
        """Its broker."""

    @property
    def log(self) -> PartitionLog:
        """Its log."""

    def end_of_epoch(self, question: tuple[Any, int, int, int]) -> None:
        """OffsetsForLeaderEpoch."""

    def follower_fetched(self, fetch: tuple[int, int, int, int]) -> None:
        """Fetch."""


class FollowersHost(Protocol):
    """The broker that a following replica lives on; `stopped_us` is -1 while its process lives.

    `fetch_wait_us` is `replica.fetch.wait.max.ms`.
    """

    id: int
    disk: Disk
    buggify: Buggify
    fetch_wait_us: int
    running: bool
    stopped_us: int
    tell: Callable[[Event], None]

    @property
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""

    @property
    def now_us(self) -> int:
        """Virtual time."""

    def later(self, action: Callable[[Any], object], argument: object) -> None:
        """Keep what reached a broker that does not run."""

    def link_to(self, broker: int) -> Link:
        """The link to another broker."""

    def replica_on(self, broker: int, partition: str) -> Any:  # noqa: ANN401 - a Replica, which is made of this class
        """A partition's copy on another broker."""

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, if this life of the process lasts."""


class FollowingReplica:
    """What a replica has and does while it follows. `fetching`: its log is its leader's, as far as it goes.

    `may_rescue`: another replica dropped records that may still be on their way to this one. `retention` is None for
    internal topics, which are compacted.
    """

    def __init__(self, host: FollowersHost, log: PartitionLog, retention: Retention | None = None) -> None:
        self.host = host
        self.partition, self.log, self.retention = log.partition, log, retention
        self.high_watermark = 0
        self.metadata = PartitionMetadata(-1, -1, (), ())
        self.session = 0
        self.source: Leader | None = None
        self.fetching = self.may_rescue = False
        self._acknowledge: Link | None = None

    def _followers_high_watermark(self) -> int:
        """The high watermark that this replica knows: the one it was sent last, or its leader's of a fetch ago.

        Kafka's idle fetches bring it every `replica.fetch.wait.max.ms`; as nobody reads it before an election, it is
        looked up here instead of being sent.
        """
        source = self.source
        if source is None or not source.is_leader or not self.fetching:
            return self.high_watermark  # also when its own log may still differ from its leader's
        seen_us = self.host.now_us if source.host.stopped_us < 0 else source.host.stopped_us
        if seen_us - source.high_watermark_us >= self.host.fetch_wait_us:
            return max(self.high_watermark, min(source.high_watermark, self.log.log_end))
        return self.high_watermark

    def _begin_to_follow(self, leader: int) -> None:
        """Whom to follow from now on; nobody while there is no leader."""
        self.session += 1
        self.source, self.fetching, self.may_rescue = None, False, False
        if leader >= 0 and leader != self.host.id and not self._stops:
            self.source = self.host.replica_on(leader, self.partition)
            self._acknowledge = self.host.link_to(leader)
            self._ask(self.session)

    @property
    def _stops(self) -> bool:
        """A stopping broker follows no leader whose ISR it has left (`ReplicaManager.isInControlledShutdown`)."""
        return self.host.stopping and self.host.id not in self.metadata.isr

    def _ask(self, session: int) -> None:
        if session == self.session and self.source is not None and self._acknowledge is not None:
            question = (self, session, self.metadata.leader_epoch, self.log.epochs.latest_epoch)
            self._acknowledge.send(self.source.end_of_epoch, question)

    def truncate(self, answer: tuple[int, EpochEnd | None]) -> None:
        """The leader said where the logs part: cut, and fetch from there. None: not in this epoch yet, ask later."""
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
        if cut.offset < self.log.log_end:
            self._drop_from(cut.offset, "diverged")
        else:
            self.log.truncate_to(cut.offset)
        if not cut.complete:
            self._ask(session)
            return
        self._fetch()

    def _fetch(self) -> None:
        assert self.source is not None
        assert self._acknowledge is not None
        self.fetching = True
        fetch = (self.host.id, self.session, self.metadata.leader_epoch, self.log.log_end)
        self._acknowledge.send(self.source.follower_fetched, fetch)

    def replicated(self, data: Pushed) -> None:
        """A fetch was answered: (session, batches, the leader's high watermark, its log start)."""
        host = self.host
        if not host.running:
            host.later(self.replicated, data)
        elif host.disk.bad:
            host.disk.append(len(data[1]), self._written, data)
        else:
            self._appended(data)

    def _written(self, data: Pushed) -> None:
        if not self.host.running:
            self.host.later(self._written, data)
            return
        self._appended(data)

    def _appended(self, data: Pushed) -> None:
        host = self.host
        session, batches, high_watermark, log_start = data
        if session != self.session:
            return
        log = self.log
        if batches and batches[0].base_offset < log.log_end:
            self._begin_inside(batches[0].base_offset)
        for batch in batches:
            log.append(batch)
        if self.may_rescue:
            self._tell_rescued(batches)
        if high_watermark > self.high_watermark:
            log_end = log.log_end
            self.high_watermark = high_watermark if high_watermark < log_end else log_end  # noqa: FURB136 - see Timeline
        if log_start > log.log_start:
            log.advance_start(min(log_start, log.log_end))
        fetch = (host.id, session, self.metadata.leader_epoch, log.log_end)
        self._acknowledge.send(self.source.follower_fetched, fetch)  # type: ignore[union-attr]

    def _begin_inside(self, base_offset: int) -> None:
        """The leader's log starts inside a batch, and this one's end is there too (`UnexpectedAppendOffsetException`).

        What this log has of the same offsets may be of an epoch whose end nobody knows any more: Kafka's fetcher gives
        the partition up then.
        """
        reached("follower: begins inside a batch")
        if self.log.batches:
            self._drop_from(base_offset, "diverged")
        if self.log.log_end != base_offset:
            self.log.start_over(base_offset)

    def start_over(self, answer: tuple[int, int]) -> None:
        """OFFSET_OUT_OF_RANGE: the leader's log begins behind this one's end. (session, the leader's log start)."""
        host = self.host
        if not host.running:
            host.later(self.start_over, answer)
            return
        session, log_start = answer
        if session == self.session:
            reached("follower: starts over")
            self.log.start_over(log_start)
            self.high_watermark = log_start
            self._fetch()

    # --- what it drops ----------------------------------------------------------------------------------------------

    def started(self) -> None:
        """The broker's process starts again, with what its disk has."""
        self.log.started(segment_starts(self.log, self.retention))

    def lose_unflushed(self) -> None:
        """The host crashed: what its disk does not have is gone."""
        if self.log.flushed < self.log.log_end:
            self._drop_from(self.log.flushed, "crash")

    def _drop_from(self, offset: int, reason: str) -> None:
        """Cut the log at an offset, and say so; also which records no replica has any more."""
        log, host = self.log, self.host
        dropped, log_end = log.beyond(offset), log.log_end
        log.truncate_to(offset, None if reason == "crash" else segment_starts(log, self.retention))
        self.high_watermark = min(
            self.high_watermark, log.log_end
        )  # below it after a crash or an unclean election only
        host.tell(
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
        replicas = self._replicas()
        for run in vanished(dropped, [replica.log for replica in replicas]):
            host.tell(RecordsLost(partition=self.partition, broker=host.id, **run._asdict()))
            for replica in replicas:
                replica.may_rescue = True

    def _tell_rescued(self, batches: Sequence[RecordBatch]) -> None:
        """Say which of the batches that came just now were in no log any more."""
        for run in vanished(batches, [replica.log for replica in self._replicas() if replica is not self]):
            self.host.tell(RecordsSurvived(partition=self.partition, broker=self.host.id, **run._asdict()))

    def _replicas(self) -> list["FollowingReplica"]:
        return [self.host.replica_on(broker, self.partition) for broker in self.metadata.replicas]
