"""From which replica a consumer fetches each partition: the leader, or the preferred read replica (KIP-392).

A leader with a replica selector names the preferred replica. It is kept for `metadata.max.age.ms`; then the leader is
asked again. It is dropped earlier after an error or a disconnect, with a new leader, and when metadata has it offline.
Source: `SubscriptionState.preferredReadReplica`, `AbstractFetch.selectReadReplica`, `FetchCollector`.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from cluster.clients.process import Process
from cluster.events import PreferredReadReplicaChanged
from cluster.network import Connection
from cluster.protocol.messages import PartitionMetadata

MS: Final = 1_000
LEADER: Final = -1


class Preferred(NamedTuple):
    """A preferred read replica, and the instant after which the leader is asked again."""

    broker: int
    expires_us: int


class ReadReplica:
    """The preferred read replicas of one consumer. `changed`: called when one expired, or may be connected to again."""

    def __init__(self, consumer: Process, group: str, changed: Callable[[], None]) -> None:
        self._consumer, self._group, self._changed = consumer, group, changed
        self.reset()

    def reset(self) -> None:
        """Begin a new process."""
        self.preferred: dict[str, Preferred] = {}

    def of(self, partition: str, leader: int) -> int:
        """The broker to fetch a partition from; a preferred one that is offline is dropped."""
        chosen = self.preferred.get(partition)
        if chosen is None:
            return leader
        if chosen.broker not in self._consumer.live_brokers:
            self.drop((partition,), "offline")
            return leader
        return chosen.broker

    def choose(self, partition: str, broker: int, age_us: int) -> bool:
        """Take the replica that the leader prefers; false when it is preferred already, which renews nothing."""
        known = self.preferred.get(partition)
        if known is not None and known.broker == broker:
            return False
        consumer = self._consumer
        self.preferred[partition] = Preferred(broker, consumer.timeline.now_us + age_us)
        consumer.after(age_us + MS, self._expire)
        self._emit(partition, broker, "selected")
        return True

    def backs_off(self, broker: int) -> bool:
        """Whether a preferred replica cannot be connected to yet: its partitions wait for the end of its backoff."""
        consumer = self._consumer
        if not self.preferred or not consumer.backs_off(broker):
            return False
        until_us = consumer.connection(broker).attempts.not_before_us
        consumer.after(max(1, until_us - consumer.timeline.now_us), self._changed)
        return True

    def drop(self, partitions: Iterable[str], reason: str) -> bool:
        """Fetch these partitions from their leaders again; returns whether one was fetched elsewhere."""
        gone = [name for name in partitions if self.preferred.pop(name, None) is not None]
        for name in gone:
            self._emit(name, LEADER, reason)
        return bool(gone)

    def forget(self, partitions: Iterable[str]) -> None:
        """These partitions are fetched no more."""
        for name in partitions:
            self.preferred.pop(name, None)

    def _expire(self) -> None:
        now_us = self._consumer.timeline.now_us
        if self.drop([name for name, one in self.preferred.items() if one.expires_us < now_us], "expired"):
            self._changed()

    def _emit(self, partition: str, broker: int, reason: str) -> None:
        consumer = self._consumer
        consumer.emit(
            PreferredReadReplicaChanged(
                group=self._group, member=consumer.name, partition=partition, broker=broker, reason=reason
            )
        )


class Reader(Protocol):
    """The consumer that a fetcher works for. A Protocol, for the consumer's host interface contains its fetcher."""

    name: str
    partitions: dict[str, PartitionMetadata]
    read_replica: ReadReplica

    def connection(self, broker: int) -> Connection:
        """The connection to a broker."""

    def wake(self) -> None:
        """Wake poll(): records have arrived."""

    def mark_metadata_stale(self) -> None:
        """Refresh metadata: a broker does not lead a partition, or does not answer."""

    def position_out_of_range(self, partition: str) -> None:
        """Reset a position that is not in the log."""

    def records_buffered(self) -> None:
        """Emit what a Fetch brought, unless poll() waits for records: it may return all of them at once."""

    def fetched_records_dropped(self, partitions: tuple[str, ...], reason: str) -> None:
        """Emit that buffered records are dropped."""

    def position_skipped(self, partition: str, position: int) -> None:
        """Emit that the position passed offsets that the application does not get."""
