"""What the view knows of a partition's transactional records, and what became of them."""

import msgspec

from cluster.intervals import IntervalSet
from cluster.transaction_index import TransactionIndex


class EndedTransaction(msgspec.Struct, gc=False):
    """A transaction whose marker the high watermark has not passed yet: a truncation may still open it again."""

    producer_id: int
    first_offset: int
    committed: bool
    records: IntervalSet


class PartitionTransactions(msgspec.Struct, gc=False):
    """The transactions of one partition; a partition that never saw one has none of this.

    `open` maps a producer id to the offsets of its open transaction, `ended` a marker's offset to its transaction;
    `control` are the markers' offsets, `aborted` those of aborted records.
    """

    index: TransactionIndex = msgspec.field(default_factory=TransactionIndex)
    open: dict[int, IntervalSet] = {}
    ended: dict[int, EndedTransaction] = {}
    control: IntervalSet = msgspec.field(default_factory=IntervalSet)
    aborted: IntervalSet = msgspec.field(default_factory=IntervalSet)

    def appended(self, producer_id: int, offset: int, end: int) -> None:
        """Records of an open transaction."""
        self.index.began(producer_id, offset)
        self.open.setdefault(producer_id, IntervalSet()).add(offset, end)

    def marked(self, producer_id: int, offset: int, *, committed: bool) -> None:
        """A marker ends the producer's open transaction, if there is one."""
        self.control.add(offset, offset + 1)
        first = self.index.open.get(producer_id)
        if first is None:
            return
        self.index.ended(producer_id, offset, committed=committed)
        records = self.open.pop(producer_id)
        self.ended[offset] = EndedTransaction(producer_id, first, committed, records)
        if not committed:
            for start, end in records.ranges():
                self.aborted.add(start, end)

    def high_watermark_at(self, offset: int) -> None:
        """Markers below the high watermark stay."""
        self.index.high_watermark_at(offset)
        for marker in [marker for marker in self.ended if marker < offset]:
            del self.ended[marker]

    def cut(self, log_end: int) -> None:
        """The log ends here: what was ended beyond it is open again, what began beyond it never was."""
        for marker in [marker for marker in self.ended if marker >= log_end]:
            again = self.ended.pop(marker)
            self.index.undecided.pop(marker, None)
            self.index.open[again.producer_id] = again.first_offset
            self.open[again.producer_id] = again.records
            if not again.committed:
                for start, end in again.records.ranges():
                    self.aborted.remove(start, end)
        self.index.truncate_to(log_end)
        for producer_id, records in list(self.open.items()):
            records.truncate(log_end)
            if not records.starts:
                del self.open[producer_id], self.index.open[producer_id]
        self.control.truncate(log_end)
        self.aborted.truncate(log_end)

    def not_for_readers(self, first: int, end: int, *, read_committed: bool) -> int:
        """How many offsets of a range no application of such readers ever gets."""
        return self.control.covered(first, end) + (self.aborted.covered(first, end) if read_committed else 0)
