"""What a leader knows of each follower: how far it has come, and when it last had everything.

A follower has caught up at the instant of a fetch that asks for the leader's log end; one that is always a little
behind a busy leader has caught up when its next fetch reaches where the log ended at the last one.
Source: `kafka.cluster.Replica.updateFetchStateOrThrow`.
"""

from collections.abc import Sequence
from typing import Protocol

from cluster.network import Link
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.leader_epochs import EpochEnd

LONG_AGO_US = -(1 << 62)

Pushed = tuple[int, Sequence[RecordBatch], int, int]
"""A fetch's answer: (session, batches, the leader's high watermark, its log start)."""


class FollowersHost(Protocol):
    """The broker that a follower lives on: `stopped_us` is -1 while its process lives, `died_us`: when one ended."""

    stopped_us: int
    died_us: int


class FollowingReplica(Protocol):
    """The other end of replication; a fetch of another `session` than its present one is nobody's any more."""

    session: int

    @property
    def host(self) -> FollowersHost:
        """Its broker."""

    def replicated(self, data: Pushed) -> None:
        """A fetch was answered."""

    def truncate(self, answer: tuple[int, EpochEnd | None]) -> None:
        """The leader said where the logs part."""

    def start_over(self, answer: tuple[int, int]) -> None:
        """A fetch was answered OFFSET_OUT_OF_RANGE."""


class Follower:
    """One follower. `waiting`: its fetch is parked here, it has everything that was sent."""

    __slots__ = (
        "_fetched_us",
        "_leader_end",
        "back",
        "broker",
        "caught_up_us",
        "link",
        "log_end",
        "replica",
        "session",
        "waiting",
    )

    def __init__(self, broker: int, replica: FollowingReplica, link: Link, back: Link, caught_up_us: int) -> None:
        self.broker, self.replica, self.link, self.back = broker, replica, link, back
        self.log_end, self.session, self.waiting = -1, -1, False
        self.caught_up_us = caught_up_us
        self._fetched_us, self._leader_end = LONG_AGO_US, 1 << 62

    def fetched(self, session: int, offset: int, leader_end: int, now_us: int) -> None:
        """It asks for `offset` while the leader's log ends at `leader_end`."""
        self.session, self.log_end = session, offset
        self.waiting = offset >= leader_end  # also when a fetch of its former life is still parked here
        if self.waiting:
            self.caught_up_us = now_us
        elif offset >= self._leader_end and self._fetched_us > self.caught_up_us:
            self.caught_up_us = self._fetched_us
        self._fetched_us, self._leader_end = now_us, leader_end

    def unpark(self, leader_end: int, now_us: int) -> None:
        """Its parked fetch is answered with what comes after `leader_end`; only for one that is `waiting`."""
        if self.link.cut_since_us is None and self.back.cut_since_us is None and self.replica.host.stopped_us < 0:
            self.caught_up_us = self._fetched_us = now_us
        else:
            self.caught_up_us = self._fetched_us = self.last_caught_up_us(now_us)
        self.waiting, self._leader_end = False, leader_end

    def last_caught_up_us(self, now_us: int) -> int:
        """When it last had everything: a parked fetch is renewed while both ends live and the links work."""
        if not self.waiting:
            return self.caught_up_us
        seen_us = now_us
        replica = self.replica
        if replica.session != self.session:  # its next life has still to fetch, whatever its disk has (KIP-903)
            seen_us = replica.host.died_us
        for link in (self.link, self.back):
            cut_us = link.cut_since_us
            if cut_us is not None and cut_us < seen_us:
                seen_us = cut_us
        return max(seen_us, self.caught_up_us)
