"""What a leader knows of each follower: its log end, and when it was last caught up.

A follower is caught up at the instant of a fetch that asks for the leader's log end. A follower of a busy leader is
caught up, too, when a fetch reaches the leader's log end at the time of the fetch before.
Source: `kafka.cluster.Replica.updateFetchStateOrThrow`.
"""

from collections.abc import Sequence
from typing import Any, Final, Generic

from cluster.broker.host import BrokerHost, ReplicaT
from cluster.network import Link
from cluster.protocol.record_batch import RecordBatch

LONG_AGO_US: Final = -(1 << 62)

FetchResponse = tuple[int, Sequence[RecordBatch], int, int]
"""The response to a follower's fetch: (session, batches, the leader's high watermark, its log start)."""


class FetchSession:
    """The fetch session of one replica: `number` grows when it follows anew or its process ends.

    A fetch or a response of an earlier number is void. The leader compares the number with that of the parked fetch.
    """

    __slots__ = ("host", "number")

    def __init__(self, host: BrokerHost[Any]) -> None:
        self.host, self.number = host, 0


class FollowerState(Generic[ReplicaT]):
    """One follower of a leader. `waiting`: its fetch is parked at the leader, so it has every batch that was sent."""

    __slots__ = (
        "_current",
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

    def __init__(
        self, broker: int, replica: ReplicaT, current: FetchSession, links: tuple[Link, Link], caught_up_us: int
    ) -> None:
        self.broker, self.replica, self._current = broker, replica, current
        self.link, self.back = links
        self.log_end, self.session, self.waiting = -1, -1, False
        self.caught_up_us = caught_up_us
        self._fetched_us, self._leader_end = LONG_AGO_US, 1 << 62

    def fetched(self, session: int, offset: int, leader_end: int, now_us: int) -> None:
        """Record a fetch of `offset` while the leader's log ends at `leader_end`."""
        self.session, self.log_end = session, offset
        self.waiting = offset >= leader_end  # also when a fetch of a former session is still parked
        if self.waiting:
            self.caught_up_us = now_us
        elif offset >= self._leader_end and self._fetched_us > self.caught_up_us:
            self.caught_up_us = self._fetched_us
        self._fetched_us, self._leader_end = now_us, leader_end

    def unpark(self, leader_end: int, now_us: int) -> None:
        """The parked fetch is answered with the records after `leader_end`. Only for a `waiting` follower."""
        stopped_us = self._current.host.stopped_us
        if self.link.cut_since_us is None and self.back.cut_since_us is None and stopped_us < 0:
            self.caught_up_us = self._fetched_us = now_us
        else:
            self.caught_up_us = self._fetched_us = self.last_caught_up_us(now_us)
        self.waiting, self._leader_end = False, leader_end

    def last_caught_up_us(self, now_us: int) -> int:
        """When the follower was last caught up; a parked fetch is renewed while both ends live and the links work."""
        if not self.waiting:
            return self.caught_up_us
        seen_us = now_us
        current = self._current
        if current.number != self.session:  # the next session has still to fetch, whatever the disk holds (KIP-903)
            seen_us = current.host.died_us
        for link in (self.link, self.back):
            cut_us = link.cut_since_us
            if cut_us is not None and cut_us < seen_us:
                seen_us = cut_us
        return max(seen_us, self.caught_up_us)
