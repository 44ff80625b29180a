"""The delivery of the acknowledged records of a group's topics. Full definitions: docs/delivery.md.

    acknowledged = delivered + lost + unread + skipped

A record is identified by producer, partition and serial number. No count has records of aborted transactions (for a
read_committed group), or further copies of a record written for one input.
"""

from collections.abc import Iterable

from cluster.storage.offset_ranges import IntervalSet
from cluster.view.ledger import gaps_met, note, passed, standing
from cluster.view.placements import Serials
from cluster.view.state import NEVER, ClusterView, GroupView, PartitionView, ReaderView

FATES = (
    "acknowledged", "delivered", "lost", "unread", "skipped", "delivered_unacknowledged", "delivered_then_lost",
)  # fmt: skip

SKIPPED = ("before_start", "compacted", "deleted")
"""Why records are skipped: before the group's first position, compacted, deleted by retention or an operator."""

_NONE = IntervalSet()


def fates(view: ClusterView, group: GroupView, names: Iterable[str]) -> dict[str, int]:
    """The counts of one group over these partitions."""
    counts = fates_in_full(view, group, names)
    return {fate: counts[fate] for fate in FATES}


def fates_in_full(view: ClusterView, group: GroupView, names: Iterable[str]) -> dict[str, int]:
    """The counts of one group over these partitions, and how many of its skipped records for which reason."""
    counts = dict.fromkeys((*FATES, *SKIPPED), 0)
    for name in names:
        partition, reader = view.partitions[name], group.readers.get(name)
        if partition.acked_serials or reader is not None:
            _count(counts, partition, reader or ReaderView(), read_committed=group.read_committed)
    counts["skipped"] = sum(counts[reason] for reason in SKIPPED)
    counts["unread"] = counts["acknowledged"] - counts["delivered"] - counts["lost"] - counts["skipped"]
    return counts


def _count(counts: dict[str, int], partition: PartitionView, reader: ReaderView, *, read_committed: bool) -> None:
    fated = _fated(partition, reader)
    left_out = [reader.copies, partition.aborted_serials] if read_committed else [reader.copies]
    for producer in dict.fromkeys((*partition.acked_serials, *reader.finished_serials)):
        acked = partition.acked_serials.get(producer, _NONE)
        finished = reader.finished_serials.get(producer, _NONE)
        for serials in left_out:
            if producer in serials:
                acked, finished = acked.without(serials[producer]), finished.without(serials[producer])
        delivered = acked.within(finished) if acked != finished else acked
        counts["acknowledged"] += acked.size
        counts["delivered"] += delivered.size
        counts["delivered_unacknowledged"] += finished.size - delivered.size
        lost = partition.lost_serials.get(producer, _NONE)
        if lost.starts:
            counts["delivered_then_lost"] += delivered.within(lost).size
        left = acked.without(finished) if delivered.size < acked.size else _NONE
        for key, serials in fated:
            if left.starts and producer in serials:
                counts[key] += left.within(serials[producer]).size
                left = left.without(serials[producer])


def _fated(partition: PartitionView, reader: ReaderView) -> tuple[tuple[str, Serials], ...]:
    """The reasons why a record is not delivered, in order: the first that holds counts. Without one it is unread."""
    if reader.start > partition.log_end:  # the group has no position in the log yet
        gone = _deleted(partition)
        return ("lost", partition.lost_serials), ("compacted", partition.compacted_serials), ("deleted", gone)
    return (
        ("lost", partition.lost_serials),
        ("before_start", reader.before_start),
        ("before_start", _appended_before(partition, reader)),
        *(_compacted(partition, reader) if partition.gaps else ()),
        ("lost", _passed(partition, reader)),
        ("deleted", _deleted(partition)),
    )


def _compacted(partition: PartitionView, reader: ReaderView) -> tuple[tuple[str, Serials], ...]:
    """Records passed before they were compacted, compacted ones, and those at which the group met a follower's gap."""
    met: Serials = {}
    for gaps in gaps_met(partition, reader):
        for first, end in gaps.shared().ranges():
            note(met, standing(partition, max(first, reader.start), min(end, reader.committed)))
    return ("lost", reader.passed), ("compacted", partition.compacted_serials), ("compacted", met)


def _appended_before(partition: PartitionView, reader: ReaderView) -> Serials:
    """Records appended between the log end and a first position beyond that end."""
    found: Serials = {}
    if reader.end_at_start < reader.start:  # rare
        note(found, standing(partition, reader.end_at_start, reader.start))
    return found


def _passed(partition: PartitionView, reader: ReaderView) -> Serials:
    """Unfinished records below the committed offset."""
    if reader.start == NEVER:
        return {}
    first = max(reader.start, partition.log_start)
    if not reader.passed and reader.finished.covered(first, reader.committed) >= reader.committed - first:
        return {}
    found = _copy(reader.passed)
    note(found, passed(partition, reader, first, reader.committed))
    return found


def _deleted(partition: PartitionView) -> Serials:
    """Records deleted before the group reached them."""
    first = partition.placements.first
    if partition.log_start <= first and not partition.deleted_serials:
        return {}
    found: Serials = {}
    for producer, serials in partition.deleted_serials.items():
        note(found, [(start, stop, producer, start) for start, stop in serials.ranges()])
    note(found, standing(partition, first, partition.log_start))
    return found


def _copy(serials: Serials) -> Serials:
    return {producer: IntervalSet(list(known.starts), list(known.ends)) for producer, known in serials.items()}
