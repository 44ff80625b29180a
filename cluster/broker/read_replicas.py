"""Fetching from followers, at the leading broker: the replica that a consumer should read, and what followers know.

Theory of operation. A leader with `replica.selector.class` answers a consumer's fetch without records when another
replica suits the consumer's rack better; the consumer then fetches there. A follower serves records up to the high
watermark that it knows. It learns that with the answer to its fetch. One fetch asks a leader for all its partitions. It
is answered when one of them has records, else after `replica.fetch.wait.max.ms`, and has every high watermark that
changed. Elsewhere the simulation leaves out answers without records (`Replica`). Here they are sent.
Source: `ReplicaManager.findPreferredReadReplica`, `RackAwareReplicaSelector`, `ReplicaView.comparator`; `FetchSession`,
`DelayedFetch`, `ReplicaManager.fetchMessages`.
"""

from typing import Final

from cluster.broker.host import BrokerHost
from cluster.broker.replica import Replica
from cluster.reach import reached

LEADER: Final = -1
"""The consumer should fetch from the leader."""


class ReadReplicas:
    """The read replicas of the partitions that one broker leads. `_pending`: by follower, high watermarks to send."""

    def __init__(self, host: BrokerHost[Replica]) -> None:
        self._host, self._process = host, 0
        self.on_process_ended()

    def on_process_ended(self) -> None:
        """The process ended."""
        self._process += 1
        self._pending: dict[int, dict[str, Replica]] = {}
        self._fetched_us: dict[int, int] = {}
        self._timed: dict[int, None] = {}

    def preferred(self, leader: Replica, rack: str, offset: int) -> int:
        """The follower in a consumer's rack that has most of the leader's log, or LEADER.

        Without a rack, and when the leader stands in it, the leader is preferred. Left out are followers outside the
        ISR, those that are not live, and those without the wanted offset. Of equal followers the one that was caught
        up last is taken, then the one with the highest id.
        """
        host = self._host
        if not rack or host.rack == rack:
            return LEADER
        now_us = host.now_us
        suitable = [
            (follower.log_end, follower.last_caught_up_us(now_us), follower.broker)
            for follower in leader.followers
            if follower.replica.host.rack == rack
            and follower.broker in leader.metadata.isr
            and follower.replica.log.log_start <= offset <= follower.log_end
            and host.is_live(follower.broker)
        ]
        if not suitable:
            reached("fetch: no replica in the rack")
            return LEADER
        return max(suitable)[2]

    # --- what followers know ------------------------------------------------------------------------------------------

    def fetched(self, leader: Replica, follower: int, *, first: bool) -> None:
        """A fetch of a follower arrived and waits from now on; the first one of a session knows no high watermark."""
        self._fetched_us[follower] = self._host.now_us
        if first:
            self._await_fetch(leader, follower)

    def high_watermark_advanced(self, leader: Replica) -> None:
        """No follower knows this high watermark yet."""
        for follower in leader.followers:
            self._await_fetch(leader, follower.broker)

    def _await_fetch(self, leader: Replica, follower: int) -> None:
        self._pending.setdefault(follower, {})[leader.partition] = leader
        self._propagate_when_idle(follower)

    def answered(self, leader: Replica, follower: int) -> None:
        """A follower's fetch is answered with records of one partition: the answer has all high watermarks."""
        pending = self._pending.get(follower)
        if pending:
            pending.pop(leader.partition, None)
            self._propagate(follower)

    def _propagate_when_idle(self, follower: int) -> None:
        """Send the high watermarks when the follower's idle fetch ends; one such fetch follows the other."""
        if follower in self._timed:
            return
        self._timed[follower] = None
        host = self._host
        wait_us = max(1, host.fetch_wait_us)
        period_us = wait_us + host.link_to(follower).latency_us + host.link_from(follower).latency_us
        waited_us = (host.now_us - self._fetched_us.get(follower, host.now_us)) % period_us
        ends_us = wait_us - waited_us if waited_us < wait_us else wait_us + period_us - waited_us
        host.timeline.call_later(ends_us, self._idle, (self._process, follower))

    def _idle(self, timed: tuple[int, int]) -> None:
        process, follower = timed
        if process != self._process:
            return
        if not self._host.running:
            self._host.defer(self._idle, timed)
            return
        self._timed.pop(follower, None)
        self._propagate(follower)
        if self._pending.get(follower):
            self._propagate_when_idle(follower)

    def _propagate(self, follower: int) -> None:
        pending = self._pending.pop(follower, {})
        later = {name: leader for name, leader in pending.items() if not _answered(leader, follower)}
        if later:  # records are on their way to it, with an older one
            self._pending[follower] = later


def _answered(leader: Replica, broker: int) -> bool:
    """Answer a follower's parked fetch without records; false when records are on their way to it."""
    follower = leader.follower_on(broker)
    if follower is None:
        return True
    if follower.waiting:
        leader.answer_parked_fetch(follower)
        return True
    return False


def serves_consumers(follower: Replica, leader_epoch: int) -> bool:
    """Whether a follower serves a consumer that knows this leader epoch."""
    metadata = follower.metadata
    return metadata.leader_epoch == leader_epoch and metadata.leader >= 0 and metadata.leader != follower.host.id


def recall_transactions(follower: Replica) -> None:
    """Let a follower read the transactions of its log, for a consumer that reads committed data."""
    follower.log.recall_transactions()
    follower.log.transactions.high_watermark_at(follower.high_watermark)
