"""What a partition's leader knows of each producer id: the states that DescribeProducers tells (KIP-664).

A broker makes them from the batches of its log, again after a truncation; deleting records does not change them.
Source: `ProducerStateManager`, `ProducerStateEntry`, `ReplicaManager.activeProducerState`.
"""

from typing import NamedTuple

from cluster.events import RecordsAppended
from cluster.view.state import PartitionView
from recordings.kafka_tools.leader_logs import LeaderLog
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


def producers_in(partition: PartitionView, log: LeaderLog) -> list[ProducerInPartition]:
    """The producer ids of a partition, by their numbers."""
    open_since = partition.transactions.index.open if partition.transactions is not None else {}
    states: dict[int, ProducerInPartition] = {}
    for batch in log.batches:
        if batch.producer_id == NO_PRODUCER:
            continue
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
