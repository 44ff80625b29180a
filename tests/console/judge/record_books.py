"""Every broker's log of every partition, batch by batch, as an administrator would note it from raw events."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from cluster import events as e

Batches = list[e.RecordsAppended]


class PartitionLogs:
    """The logs of one partition: each broker's that has led it, and the last leader's before its host crashed.

    `refused`: instant, client and answer of what leaders did not append.
    """

    def __init__(self) -> None:
        self.logs: dict[int, Batches] = {}
        self.before_crash: Batches = []
        self.leader, self.epoch = -1, -1
        self.leaders: dict[int, int] = {}  # leader epoch → broker
        self.refused: list[tuple[int, str, str]] = []
        self.removed: dict[int, set[int]] = {}  # broker → offsets whose records its cleaner removed

    @property
    def log(self) -> Batches:
        """The last leader's log."""
        return self.logs.get(self.leader, [])

    def left(self, batch: e.RecordsAppended) -> list[int]:
        """The offsets of a batch whose records the leader's log still has."""
        removed = self.removed.get(self.leader, set())
        return [one for one in range(batch.base_offset, batch.base_offset + batch.count) if one not in removed]


def below(batches: Batches, offset: int) -> Batches:
    """The batches that end at an offset or before."""
    return [one for one in batches if one.base_offset + one.count <= offset]


def end_of(batches: Batches) -> int:
    """The offset behind the last batch."""
    return batches[-1].base_offset + batches[-1].count if batches else 0


def ends_of(batches: Sequence[e.RecordsAppended]) -> dict[int, str]:
    """Base offset of each transactional batch → the marker that ended its transaction, "" while it is open."""
    opened: dict[int, list[int]] = {}
    found: dict[int, str] = {}
    for one in batches:
        if one.marker:
            found |= dict.fromkeys(opened.pop(one.producer_id, []), one.marker)
        elif one.transactional:
            opened.setdefault(one.producer_id, []).append(one.base_offset)
            found[one.base_offset] = ""
    return found


class RecordBooks:
    """All partitions."""

    def __init__(self) -> None:
        self.partitions: dict[str, PartitionLogs] = {}
        self.appended: list[int] = []  # the number of each event that appended a batch, to any log

    def is_old(self, batch: e.RecordsAppended, newer: int) -> bool:
        """Whether at least so many batches of all partitions are newer."""
        return len(self.appended) - bisect_right(self.appended, batch.seq) >= newer

    def note(self, event: e.Event) -> None:
        """Record one event."""
        if isinstance(event, e.RecordsAppended):
            self.appended.append(event.seq)
        handler = HANDLERS.get(type(event))
        if handler is not None:
            handler(self.of(getattr(event, "partition", "")), event)

    def of(self, partition: str) -> PartitionLogs:
        """The logs of a partition."""
        return self.partitions.setdefault(partition, PartitionLogs())


def appended(one: PartitionLogs, event: e.RecordsAppended) -> None:
    """A leader, deposed or not, appends to its own log."""
    one.logs.setdefault(one.leaders.get(event.leader_epoch, -1), []).append(event)


def led(one: PartitionLogs, event: e.LeadershipTaken) -> None:
    """A broker leads: with its own log, if that has parted from its predecessor's, else with a copy of that one."""
    one.leaders[event.leader_epoch] = event.broker
    if event.leader_epoch < one.epoch:
        return
    copied, own = one.log, one.logs.get(event.broker, [])
    if event.broker != one.leader:
        if event.log_end > end_of(copied):
            copied = one.before_crash or copied
        one.before_crash = []
    parted = own != copied[: len(own)]
    one.logs[event.broker] = below(own if parted else copied, event.log_end)
    one.leader, one.epoch = event.broker, event.leader_epoch


def truncated(one: PartitionLogs, event: e.LogTruncated) -> None:
    """A replica drops the end of its log."""
    if event.broker == one.leader:
        one.before_crash = one.before_crash or list(one.log)
    one.logs[event.broker] = below(one.logs.get(event.broker, []), event.offset)
    one.removed[event.broker] = {gone for gone in one.removed.get(event.broker, ()) if gone < event.offset}


def compacted(one: PartitionLogs, event: e.LogCompacted) -> None:
    """A cleaner removes records of its own replica."""
    for first, end in zip(event.removed_from, event.removed_to, strict=True):
        one.removed.setdefault(event.broker, set()).update(range(first, end))


def acknowledged(one: PartitionLogs, event: e.BatchAcknowledged) -> None:
    """A duplicate was acknowledged."""
    if event.duplicate:
        one.refused.append((event.at_us, event.producer, f"duplicate of the batch at offset {event.base_offset}"))


def retried(one: PartitionLogs, event: e.BatchRetried) -> None:
    """A leader answered with an error."""
    if event.disconnected_from < 0:
        one.refused.append((event.at_us, event.producer, event.error))


def old_epoch(one: PartitionLogs, event: e.ProducerEpochRefused) -> None:
    """A leader refused a producer's old epoch."""
    if event.partition:
        one.refused.append((event.at_us, event.transactional_id, "INVALID_PRODUCER_EPOCH"))


def marker_refused(one: PartitionLogs, event: e.TransactionMarkerRefused) -> None:
    """A leader refused a marker."""
    one.refused.append((event.at_us, "transaction coordinator", f"{event.error} (marker)"))


HANDLERS: dict[type[e.Event], Callable[[PartitionLogs, Any], None]] = {
    e.RecordsAppended: appended,
    e.LeadershipTaken: led,
    e.LogTruncated: truncated,
    e.LogCompacted: compacted,
    e.BatchAcknowledged: acknowledged,
    e.BatchRetried: retried,
    e.ProducerEpochRefused: old_epoch,
    e.TransactionMarkerRefused: marker_refused,
}
