"""The read model of transactions: each transactional id, and the transactional records of a partition."""

from typing import Final

import msgspec

from cluster.storage.offset_ranges import IntervalSet
from cluster.storage.transaction_index import TransactionIndex

SETTLED_US: Final = 60_000_000  # after this time in every in-sync replica a record is on every disk


class EndedTransaction(msgspec.Struct, gc=False):
    """An ended transaction whose marker a crash or an unclean election may still take; then it is open again."""

    producer_id: int
    first_offset: int
    committed: bool
    records: IntervalSet


class PartitionTransactions(msgspec.Struct, gc=False):
    """The transactions of one partition, from its first transactional record on.

    `open` maps a producer id to the offsets of its open transaction, `ended` a marker's offset to its transaction.
    `aborted` has the offsets of aborted records; `aborted_deleted` counts those dropped below the log start. `control`
    has the offsets of markers. `safe` is an offset and an instant: since then all replicas are in sync without losses
    and have the markers below the offset.
    """

    index: TransactionIndex = msgspec.field(default_factory=TransactionIndex)
    open: dict[int, IntervalSet] = {}
    ended: dict[int, EndedTransaction] = {}
    aborted: IntervalSet = msgspec.field(default_factory=IntervalSet)
    aborted_deleted: int = 0
    control: IntervalSet = msgspec.field(default_factory=IntervalSet)
    safe: tuple[int, int] = (0, 0)

    @property
    def aborted_records(self) -> int:
        """The number of records of aborted transactions in the log, deleted ones included."""
        return self.aborted.size + self.aborted_deleted

    def appended(self, producer_id: int, offset: int, end: int) -> None:
        """Add records of an open transaction."""
        self.index.began(producer_id, offset)
        self.open.setdefault(producer_id, IntervalSet()).add(offset, end)

    def marked(self, producer_id: int, offset: int, *, committed: bool) -> None:
        """Apply a marker: it ends the producer's open transaction, if there is one."""
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

    def high_watermark_at(self, offset: int, at_us: int, *, all_in_sync: bool) -> None:
        """Apply a high watermark: in-sync replicas have the markers below. Drop those on every replica's disk."""
        self.index.high_watermark_at(offset)
        below, since_us = self.safe
        if at_us - since_us < SETTLED_US:
            return
        for marker in [marker for marker in self.ended if marker < below]:
            del self.ended[marker]
        self.safe = (offset if all_in_sync else 0, at_us)

    def endangered(self, at_us: int) -> None:
        """Restart the safe interval: a replica lost its log's end, or the ISR changed."""
        self.safe = (0, at_us)

    def taken_over(self, log_end: int, high_watermark: int) -> None:
        """Apply a new leader's log."""
        self.cut(log_end)
        self.fallen_to(high_watermark)

    def fallen_to(self, high_watermark: int) -> None:
        """Apply a high watermark that fell: markers above it are undecided."""
        self.index.undecided = {
            marker: ended.first_offset for marker, ended in self.ended.items() if marker >= high_watermark
        }

    def cut(self, log_end: int) -> None:
        """Truncate at `log_end`: transactions ended beyond it are open again, those begun beyond it are dropped."""
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
        self.control.truncate(log_end)

    def deleted(self, first: int) -> None:
        """Drop what lies below `first`: the log start will not fall below it again."""
        self.aborted_deleted += self.aborted.drop_before(first)
        self.control.drop_before(first)
        self.index.drop_before(first)


class TransactionView(msgspec.Struct, gc=False):
    """A transactional id at its coordinator; `begun`, `committed`, `aborted` count transactions.

    `start_us` is -1 without an open transaction. `fenced` counts requests refused for their epoch. `fencing`: the epoch
    is raised (PrepareEpochFence), and the abort that follows is not committed yet.
    """

    transactional_id: str
    state: str = ""
    producer_id: int = -1
    epoch: int = -1
    coordinator: int = -1
    timeout_ms: int = 0
    start_us: int = -1
    partitions: tuple[str, ...] = ()
    begun: int = 0
    committed: int = 0
    aborted: int = 0
    fenced: int = 0
    fencing: bool = False


def is_hanging(transaction: TransactionView | None, partition: str) -> bool:
    """Whether no coordinator will end the open transaction of a producer id in a partition.

    `transaction` is the transactional id that has the producer id. Its coordinator writes markers only to partitions of
    its ongoing transaction. Source: `TransactionsCommand.filterHangingTransactions`.
    """
    return transaction is None or partition not in transaction.partitions
