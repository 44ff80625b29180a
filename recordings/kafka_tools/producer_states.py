"""What a partition's leader knows of each producer id: the states that DescribeProducers tells (KIP-664).

No view has them, and so they are read from the events, as a broker makes them from its log: by its batches, again after
a truncation. Source: `ProducerStateManager`, `ProducerStateEntry`, `ReplicaManager.activeProducerState`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cluster.events import Event, LeadershipTaken, LogTruncated, RecordsAppended
from cluster.view.state import ClusterView
from recordings.kafka_tools.printed import MISSING

NO_PRODUCER = -1
NO_SEQUENCE = -1


class ProducerInPartition(NamedTuple):
    """A producer id in a partition; `last_timestamp_ms`: when its last batch or marker was appended.

    `ended`: a marker ended a transaction, so that the leader knows a coordinator epoch, which no event tells.
    `start_offset`: of its open transaction; -1 without one.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    ended: bool
    start_offset: int

    @property
    def coordinator_epoch(self) -> str:
        """The latest coordinator epoch in Kafka's words: -1 before the first marker, else unknown here."""
        return MISSING if self.ended else "-1"


class PartitionProducers:
    """Reads events; the batches of partitions that hold producer ids, as their leaders have them.

    `only`: the partitions that are asked for.
    """

    def __init__(self, only: Iterable[str]) -> None:
        self._batches: dict[str, list[RecordsAppended]] = {name: [] for name in only}
        self._leaders: dict[str, tuple[int, int]] = {}

    def __call__(self, event: Event) -> None:
        """Read one event."""
        if isinstance(event, RecordsAppended):
            batches = self._batches.get(event.partition)
            epoch, _ = self._leaders.get(event.partition, (0, 0))
            if batches is not None and event.producer_id != NO_PRODUCER and event.leader_epoch >= epoch:
                batches.append(event)  # not what a deposed leader appends to its own log
        elif isinstance(event, LeadershipTaken) and event.partition in self._batches:
            if event.leader_epoch >= self._leaders.get(event.partition, (0, 0))[0]:
                self._leaders[event.partition] = event.leader_epoch, event.broker
                self._cut(event.partition, event.log_end)
        elif (
            isinstance(event, LogTruncated)
            and event.partition in self._batches
            and event.broker == self._leaders.get(event.partition, (0, 0))[1]
        ):
            self._cut(event.partition, event.offset)  # its host crashed, and no broker succeeded it

    def _cut(self, partition: str, log_end: int) -> None:
        batches = self._batches[partition]
        while batches and batches[-1].base_offset >= log_end:
            batches.pop()

    def of(self, view: ClusterView, partition: str) -> list[ProducerInPartition]:
        """The producer ids of a partition, by their numbers."""
        open_since = {}
        transactions = view.partitions[partition].transactions
        if transactions is not None:
            open_since = transactions.index.open
        states: dict[int, ProducerInPartition] = {}
        for batch in self._batches[partition]:
            before = states.get(batch.producer_id)
            sequence, ended = _sequence(before, batch), bool(batch.marker) or (before is not None and before.ended)
            start = open_since.get(batch.producer_id, -1)
            states[batch.producer_id] = ProducerInPartition(
                batch.producer_id, batch.epoch, sequence, batch.at_us // 1_000, ended, start
            )
        return [states[producer_id] for producer_id in sorted(states)]


def _sequence(before: ProducerInPartition | None, batch: RecordsAppended) -> int:
    """The last sequence number after a batch; a marker has none, and one with a new epoch takes what was known."""
    if not batch.marker:
        return (batch.base_sequence + batch.count - 1) & 0x7FFF_FFFF
    if before is None or batch.epoch != before.epoch:
        return NO_SEQUENCE
    return before.last_sequence
