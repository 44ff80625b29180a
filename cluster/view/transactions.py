"""What the view knows of a partition's transactional records, and what became of them."""

import msgspec

from cluster.storage.offset_ranges import IntervalSet
from cluster.storage.transaction_index import TransactionIndex

SETTLED_US = 60_000_000  # what every in-sync replica has had for so long, its host's disk has too


class EndedTransaction(msgspec.Struct, gc=False):
    """A transaction whose marker a crash or an unclean election may still take: then it is open again."""

    producer_id: int
    first_offset: int
    committed: bool
    records: IntervalSet


class PartitionTransactions(msgspec.Struct, gc=False):
    """The transactions of one partition; a partition that never saw one has none of this.

    `open` maps a producer id to the offsets of its open transaction, `ended` a marker's offset to its transaction,
    `aborted` are the offsets of aborted records, and `aborted_deleted` counts those below the log's start that it has
    forgotten. `safe` is an offset and an instant: since then all replicas have been in sync and none has lost a
    record, and each of them had the markers below that offset.
    """

    index: TransactionIndex = msgspec.field(default_factory=TransactionIndex)
    open: dict[int, IntervalSet] = {}
    ended: dict[int, EndedTransaction] = {}
    aborted: IntervalSet = msgspec.field(default_factory=IntervalSet)
    aborted_deleted: int = 0
    safe: tuple[int, int] = (0, 0)

    @property
    def aborted_records(self) -> int:
        """How many records of the log, deleted ones included, are those of aborted transactions."""
        return self.aborted.size + self.aborted_deleted

    def appended(self, producer_id: int, offset: int, end: int) -> None:
        """Records of an open transaction."""
        self.index.began(producer_id, offset)
        self.open.setdefault(producer_id, IntervalSet()).add(offset, end)

    def marked(self, producer_id: int, offset: int, *, committed: bool) -> None:
        """A marker ends the producer's open transaction, if there is one."""
        first = self.index.open.get(producer_id)
        if first is None:
            return
        self.index.ended(producer_id, offset, committed=committed)
        records = self.open.pop(producer_id)
        self.ended[offset] = EndedTransaction(producer_id, first, committed, records)
        if not committed:
            for start, end in records.ranges():
                self.aborted.add(start, end)

    def high_watermark_at(self, offset: int, at_us: int, *, all_in_sync: bool) -> None:
        """Every in-sync replica has the markers below it. Those that all replicas have on disk need not be known."""
        self.index.high_watermark_at(offset)
        below, since_us = self.safe
        if at_us - since_us < SETTLED_US:
            return
        for marker in [marker for marker in self.ended if marker < below]:
            del self.ended[marker]
        self.safe = (offset if all_in_sync else 0, at_us)

    def endangered(self, at_us: int) -> None:
        """A replica lost the end of its log, or is not the one that it was among those in sync."""
        self.safe = (0, at_us)

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
        self.aborted.truncate(log_end)

    def deleted(self, first: int) -> None:
        """The log will not begin below this offset again."""
        self.aborted_deleted += self.aborted.drop_before(first)
        self.index.drop_before(first)
