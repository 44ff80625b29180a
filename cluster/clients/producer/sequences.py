"""The sequence numbers of an idempotent producer, partition by partition, and when a new epoch is needed.

A batch that expired after it was sent may leave a hole: whether the leader appended it is unknown. When all other
batches of its partition are settled, the acknowledgements show it. If there is a hole, the epoch is raised and the
partition's sequence restarts at 0 (KIP-360). Other partitions keep their epoch until they have nothing in flight.
Source: `TransactionManager`, `TxnPartitionEntry`.
"""

from collections.abc import Callable

from cluster.clients.producer.accumulator import UNSENT, ProducerBatch
from cluster.protocol.record_batch import LAST_SEQUENCE


class PartitionSequence:
    """One partition's sequence in one epoch: the next number, and the end of what was acknowledged."""

    __slots__ = ("acknowledged", "epoch", "next_sequence")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.next_sequence = self.acknowledged = 0


class Sequences:
    """Every partition's sequence. `unresolved`: partitions with an expired batch that may have been appended."""

    def __init__(self) -> None:
        self.epoch = UNSENT
        self.unresolved: dict[str, int] = {}  # partition → the sequence after the last such batch
        self.to_rewrite: dict[str, None] = {}  # partitions that need a new epoch
        self._of: dict[str, PartitionSequence] = {}

    def number(self, batch: ProducerBatch) -> None:
        """Give a batch the next sequence of its partition; in a new epoch the first one is 0."""
        sequence = self._of.get(batch.partition)
        if sequence is None or sequence.epoch != self.epoch:
            sequence = self._of[batch.partition] = PartitionSequence(self.epoch)
        batch.base_sequence, batch.epoch = sequence.next_sequence, sequence.epoch
        sequence.next_sequence = (batch.base_sequence + batch.count) & LAST_SEQUENCE

    def must_hold(self, batch: ProducerBatch, *, in_flight: bool) -> bool:
        """Whether earlier batches of the partition must be settled before this one gets a sequence, or is sent again.

        Source: `RecordAccumulator.shouldStopDrainBatchesForPartition`.
        """
        name = batch.partition
        if batch.base_sequence != UNSENT or name in self.to_rewrite:
            return in_flight
        sequence = self._of.get(name)
        return name in self.unresolved or (in_flight and sequence is not None and sequence.epoch != self.epoch)

    def acknowledged(self, batch: ProducerBatch) -> None:
        """Note that the leader has appended this batch."""
        sequence = self._of[batch.partition]
        if sequence.epoch == batch.epoch:
            behind = (batch.base_sequence + batch.count) & LAST_SEQUENCE
            if behind > sequence.acknowledged:
                sequence.acknowledged = behind

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        """Note that a batch that was sent has failed. Source: `markSequenceUnresolved`."""
        behind = (batch.base_sequence + batch.count) & LAST_SEQUENCE
        self.unresolved[batch.partition] = max(behind, self.unresolved.get(batch.partition, 0))

    def out_of_order(self, batch: ProducerBatch) -> bool:
        """Handle OUT_OF_ORDER_SEQUENCE_NUMBER: the leader has neither this batch nor any after it.

        Sending the batch again is enough if it overtook its predecessors; otherwise its partition needs a new epoch.
        Returns whether sending it again is not enough: it is the next batch, or the outcome of a predecessor is
        unknown. Source: `TransactionManager.canRetry`.
        """
        sequence = self._of[batch.partition]
        first = batch.base_sequence == self.unresolved.get(batch.partition, sequence.acknowledged)
        if first and batch.epoch == sequence.epoch:
            self.to_rewrite[batch.partition] = None
        return first or batch.partition in self.unresolved

    def resolve(self, settled: Callable[[str], bool]) -> list[tuple[str, PartitionSequence]]:
        """For settled partitions, decide whether the expired batch was appended.

        If a later batch was acknowledged, it was, and the sequence continues. Returns the others, which need an epoch.
        Source: `maybeResolveSequences`.
        """
        in_doubt = []
        for name in [name for name in self.unresolved if settled(name)]:
            del self.unresolved[name]
            sequence = self._of[name]
            if sequence.acknowledged != sequence.next_sequence:
                self.to_rewrite[name] = None
                in_doubt.append((name, sequence))
        return in_doubt

    def begin_epoch(self, epoch: int, partitions: list[str]) -> None:
        """Restart the sequences of these partitions at 0; they have nothing in flight."""
        self.epoch = epoch
        for name in partitions:
            del self.to_rewrite[name]
            self.unresolved.pop(name, None)
            self._of[name] = PartitionSequence(epoch)
