"""The sequence numbers of an idempotent producer, partition by partition, and when only a new epoch can go on.

A batch that gives up after having been sent may leave a hole: nobody knows whether it was appended. When all others of
its partition are settled, the acknowledgements tell; if there is a hole, the epoch is raised and the partition's
sequence begins at 0 (KIP-360). The other partitions go on in their epoch until nothing of theirs is in flight.
Source: `TransactionManager`, `TxnPartitionEntry`.
"""

from collections.abc import Callable

from cluster.clients.producer.accumulator import UNSENT, ProducerBatch
from cluster.protocol.record_batch import LAST_SEQUENCE


class PartitionSequence:
    """One partition's sequence in one epoch: the next number, and up to where batches were acknowledged."""

    __slots__ = ("acknowledged", "epoch", "following")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.following = self.acknowledged = 0


class Sequences:
    """Every partition's sequence. `unresolved`: a batch was given up that may have been appended."""

    def __init__(self) -> None:
        self.epoch = UNSENT
        self.unresolved: dict[str, int] = {}  # … → the sequence behind the last such batch
        self.to_rewrite: dict[str, None] = {}  # partitions that need a new epoch
        self._of: dict[str, PartitionSequence] = {}

    def number(self, batch: ProducerBatch) -> None:
        """Give a batch the next sequence of its partition; in a new epoch the first one is 0."""
        sequence = self._of.get(batch.partition)
        if sequence is None or sequence.epoch != self.epoch:
            sequence = self._of[batch.partition] = PartitionSequence(self.epoch)
        batch.base_sequence, batch.epoch = sequence.following, sequence.epoch
        sequence.following = (batch.base_sequence + batch.count) & LAST_SEQUENCE

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
        """The leader has this batch."""
        sequence = self._of[batch.partition]
        if sequence.epoch == batch.epoch:
            behind = (batch.base_sequence + batch.count) & LAST_SEQUENCE
            if behind > sequence.acknowledged:
                sequence.acknowledged = behind

    def gave_up(self, batch: ProducerBatch) -> None:
        """A batch that had been sent has failed for good. Source: `markSequenceUnresolved`."""
        behind = (batch.base_sequence + batch.count) & LAST_SEQUENCE
        self.unresolved[batch.partition] = max(behind, self.unresolved.get(batch.partition, 0))

    def out_of_order(self, batch: ProducerBatch) -> bool:
        """The leader refused its sequence, so it has neither this batch nor any after it.

        Sent again is enough if it only came before its predecessors; else its partition needs a new epoch. Returns
        whether it does not help that sequence: it is the next one, or nobody knows what became of those before it.
        Source: `TransactionManager.canRetry`.
        """
        sequence = self._of[batch.partition]
        first = batch.base_sequence == self.unresolved.get(batch.partition, sequence.acknowledged)
        if first and batch.epoch == sequence.epoch:
            self.to_rewrite[batch.partition] = None
        return first or batch.partition in self.unresolved

    def resolve(self, settled: Callable[[str], bool]) -> list[tuple[str, PartitionSequence]]:
        """Of partitions of which nothing is under way any more: was the batch that was given up appended?

        If so, a later one was acknowledged and the sequence goes on; the others are returned.
        Source: `maybeResolveSequences`.
        """
        in_doubt = []
        for name in [name for name in self.unresolved if settled(name)]:
            del self.unresolved[name]
            sequence = self._of[name]
            if sequence.acknowledged != sequence.following:
                self.to_rewrite[name] = None
                in_doubt.append((name, sequence))
        return in_doubt

    def begin_epoch(self, epoch: int, partitions: list[str]) -> None:
        """These begin anew at 0; nothing of theirs is in flight."""
        self.epoch = epoch
        for name in partitions:
            del self.to_rewrite[name]
            self.unresolved.pop(name, None)
            self._of[name] = PartitionSequence(epoch)
