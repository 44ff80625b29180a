"""What the view knows of a partition's transactional records, and what became of them."""

import msgspec

from cluster.intervals import IntervalSet
from cluster.transaction_index import TransactionIndex


class EndedTransaction(msgspec.Struct, gc=False):
    """A transaction that may not be decided for the next leader: its high watermark may lie below the marker."""

    producer_id: int
    first_offset: int
    committed: bool
    records: IntervalSet


class PartitionTransactions(msgspec.Struct, gc=False):
    """The transactions of one partition; a partition that never saw one has none of this.

    `open` maps a producer id to the offsets of its open transaction, `ended` a marker's offset to its transaction;
    `aborted` are the offsets of aborted records. `told`: markers above the high watermark, each with what the high
    watermark was when the leader appended it: every replica that fetched the marker has at least that one.
    """

    index: TransactionIndex = msgspec.field(default_factory=TransactionIndex)
    open: dict[int, IntervalSet] = {}
    ended: dict[int, EndedTransaction] = {}
    aborted: IntervalSet = msgspec.field(default_factory=IntervalSet)
    told: dict[int, int] = {}

    def appended(self, producer_id: int, offset: int, end: int) -> None:
        """Records of an open transaction."""
        self.index.began(producer_id, offset)
        self.open.setdefault(producer_id, IntervalSet()).add(offset, end)

    def marked(self, producer_id: int, offset: int, *, committed: bool, high_watermark: int) -> None:
        """A marker ends the producer's open transaction, if there is one."""
        self.told[offset] = high_watermark
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
        """Every in-sync replica has the markers below it: what they know as committed stays so under any leader."""
        self.index.high_watermark_at(offset)
        passed = [marker for marker in self.told if marker < offset]
        if not passed:
            return
        decided = max(self.told.pop(marker) for marker in passed)
        for marker in [marker for marker in self.ended if marker < decided]:
            del self.ended[marker]

    def taken_over(self, log_end: int, high_watermark: int) -> None:
        """Another leader, whose log ends here, counts what its own high watermark has not passed as undecided."""
        self.cut(log_end)
        self.index.undecided = {
            marker: ended.first_offset for marker, ended in self.ended.items() if marker >= high_watermark
        }

    def cut(self, log_end: int) -> None:
        """The log ends here: what was ended beyond it is open again, what began beyond it never was."""
        for marker in [marker for marker in reversed(self.ended) if marker >= log_end]:  # the first opens last
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
        self.told = {marker: passed for marker, passed in self.told.items() if marker < log_end}
        self.aborted.truncate(log_end)
