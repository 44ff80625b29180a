"""One replica's log: record batches in offset order, the leader epochs that wrote them, what producers it knows.

Batches are shared between the replicas that hold them; a log only ever adds whole ones at its end or drops whole ones
from it. Source: `org.apache.kafka.storage.internals.log.UnifiedLog`.
"""

from bisect import bisect_right

from cluster.broker.leader_epochs import LeaderEpochs
from cluster.broker.producer_state import NO_PRODUCER_ID, ProducerStates
from cluster.protocol.record_batch import RecordBatch


class PartitionLog:
    """The log of one replica; `log_end` is the offset that the next record will get.

    `appended_records` counts what leaders appended here, whatever was truncated later. Only a leader asks what
    producers a log knows, so a follower's are looked up in the log when it takes over (`recall_producers`).
    """

    __slots__ = (
        "_bases",
        "_recalled",
        "appended_records",
        "batches",
        "bytes",
        "epochs",
        "log_end",
        "log_start",
        "partition",
        "producers",
    )

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.batches: list[RecordBatch] = []
        self._bases: list[int] = []
        self.log_start = self.log_end = self.bytes = self.appended_records = 0
        self.epochs = LeaderEpochs()
        self.producers = ProducerStates()
        self._recalled = 0  # batches that `producers` has seen

    def append(self, batch: RecordBatch) -> None:
        """Add a batch that has its offset already. Raises AssertionError when it does not follow the log's end."""
        assert batch.base_offset == self.log_end, f"{self.partition}: {batch.base_offset} after {self.log_end}"
        self.batches.append(batch)
        self._bases.append(batch.base_offset)
        self.log_end += batch.count
        self.bytes += batch.bytes
        if batch.leader_epoch != self.epochs.latest_epoch:
            self.epochs.assign(batch.leader_epoch, batch.base_offset)

    def recall_producers(self) -> None:
        """Bring `producers` up to the log's end."""
        for batch in self.batches[self._recalled :]:
            if batch.producer_id != NO_PRODUCER_ID:
                self.producers.update(batch)
        self._recalled = len(self.batches)

    def append_as_leader(self, batch: RecordBatch) -> None:
        """Add a batch and remember its producer; the producers were recalled when this replica took over."""
        self.append(batch)
        self.appended_records += batch.count
        if batch.producer_id != NO_PRODUCER_ID:
            self.producers.update(batch)
        self._recalled += 1

    def read(self, offset: int, end: int, max_bytes: int) -> list[RecordBatch]:
        """Whole batches from the one that holds `offset`, below `end`; the first one even above `max_bytes`."""
        batches = self.batches
        if offset >= end:
            return []
        index = bisect_right(self._bases, offset) - 1
        index = max(index, 0)
        if index + 1 == len(batches):  # the common case: a reader at the end of the log
            return [batches[index]] if batches[index].base_offset < end else []
        found: list[RecordBatch] = []
        size = 0
        while index < len(batches):
            batch = batches[index]
            if batch.base_offset >= end or (found and size + batch.bytes > max_bytes):
                break
            found.append(batch)
            size += batch.bytes
            index += 1
        return found

    def truncate_to(self, offset: int) -> int:
        """Drop every batch that reaches beyond `offset`; returns how many records went."""
        before = self.log_end
        while self.batches and self.batches[-1].next_offset > offset:
            batch = self.batches.pop()
            self._bases.pop()
            self.log_end = batch.base_offset
            self.bytes -= batch.bytes
        if self.log_end != before:
            self.epochs.truncate_from_end(self.log_end)
            self.producers, self._recalled = ProducerStates(), 0
        return before - self.log_end
