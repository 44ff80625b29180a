"""The fold of each record's delivery, by (producer, serial number), since truncations use offsets again.

`cluster.view.delivery` counts from it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from cluster import events as e
from cluster.storage.offset_ranges import IntervalSet
from cluster.view.placements import NOWHERE, ReplicaGaps, Run, Serials, note_run
from cluster.view.state import NEVER, ClusterView, PartitionView, ReaderView
from cluster.view.transactions import EndedTransaction

SETTLED_US: Final = 60_000_000  # within this time a failed leader's successor may have a lower log start


def note(serials: Serials, runs: Iterable[Run]) -> None:
    """Add the records of these runs."""
    for first, end, producer, serial in runs:
        note_run(serials, producer, serial, serial + end - first)


def unfinished(partition: PartitionView, reader: ReaderView, first: int, end: int) -> Iterable[Run]:
    """Records at offsets first … end - 1 that the group has not finished there."""
    if first >= end:
        return ()
    done = reader.finished.ends
    if not done or done[-1] <= first:  # nearly always
        return partition.placements.between(first, end)
    gaps = reader.finished.gaps(first, end)
    return chain.from_iterable([partition.placements.between(start, stop) for start, stop in gaps])


def begins(partition: PartitionView, reader: ReaderView, offset: int) -> None:
    """Set a group's first position in this partition; it replaces one that the log never reached."""
    reader.start = reader.highest_position = offset
    reader.end_at_start = partition.log_end
    reader.before_start = {}
    note(reader.before_start, standing(partition, partition.placements.first, offset))


def finished(partition: PartitionView, reader: ReaderView, event: e.RecordsProcessed) -> None:
    """Apply finished records. Repeated ones without a serial number of their own are copies of inputs."""
    first, end = event.first_offset, event.next_offset
    truncated, placements, done = reader.truncated, partition.placements, reader.finished
    if event.repeated:
        _finished_again(partition, reader, event)
    elif truncated:
        note(reader.finished_serials, _worked_on(partition, reader, first, end))
    else:
        note(reader.finished_serials, unfinished(partition, reader, first, end))
    ends = done.ends
    for start, stop in _by_offset(truncated, first, min(end, placements.end)):
        before = ends[-1] if ends else start
        only_markers = before < start and not any(True for _ in placements.between(before, start))
        done.add(before if only_markers else start, stop)
    if truncated:
        reader.truncated = [run for run in truncated if run[1] > end]


def truncated_since(reader: ReaderView, event: e.TruncatedRecordsProcessed) -> None:
    """Note truncated records that an application is about to finish: the log has others at these offsets, or none."""
    end = event.first_offset + event.records
    reader.truncated = [*reader.truncated, (event.first_offset, end, event.producer, event.first_serial)]


def _by_offset(truncated: list[Run], first: int, end: int) -> list[tuple[int, int]]:
    """The offsets first … end - 1 without those of truncated records that an application processes."""
    if first >= end:
        return []
    if not truncated:
        return [(first, end)]
    others = IntervalSet()
    for start, stop, _, _ in truncated:
        others.add(start, stop)
    return list(others.gaps(first, end))


def _worked_on(partition: PartitionView, reader: ReaderView, first: int, end: int) -> Iterator[Run]:
    """The records that an application has just finished; some may have been truncated after their fetch."""
    for start, stop, producer, serial in reader.truncated:
        low, high = max(start, first), min(stop, end)
        if low < high:
            yield low, high, producer, serial + low - start
    for start, stop in _by_offset(reader.truncated, first, end):
        yield from unfinished(partition, reader, start, stop)


def _finished_again(partition: PartitionView, reader: ReaderView, event: e.RecordsProcessed) -> None:
    fresh: list[Run] = []
    for at, until, producer, serial in list(_worked_on(partition, reader, event.first_offset, event.next_offset)):
        shift = serial - at
        known = reader.finished_serials.get(producer)
        gaps = list(known.gaps(serial, until + shift)) if known is not None else [(serial, until + shift)]
        fresh += [(start - shift, stop - shift, producer, start) for start, stop in gaps]
        note_run(
            reader.finished_serials, producer, serial, until + shift
        )  # at once: a record may be in the range twice
    news = sum(until - at for at, until, _, _ in fresh)
    if event.repeated + news > event.next_offset - event.first_offset:
        note(reader.copies, fresh)


def ended(partition: PartitionView, transaction: EndedTransaction | None) -> None:
    """Apply the end of a transaction. Aborted records stay aborted if the marker is truncated: it is decided."""
    if transaction is not None and not transaction.committed:
        for first, end in transaction.records.ranges():
            note(partition.aborted_serials, standing(partition, first, end))


def taken_over(view: ClusterView, partition: PartitionView, leader: int, log_start: int, log_end: int) -> None:
    """Switch to a new leader's log: its common part, and the records that only it had and did not truncate.

    Records that only it had below its log start are deleted: its own leader's log began behind them, so it restarted
    its log there.
    """
    tails, before = partition.tails, partition.taken_by
    theirs: list[Run] = []
    if leader != before:  # else a follower may keep records lost in a crash, and lead with them later
        theirs = _copied(partition, log_end)
        partition.crashed = []
    own = list(_from(log_start, tails.pop(leader, [])))  # its own records; below them, its leader's
    bound = own[0][0] if own else log_end
    shared = [(first, min(end, bound), name, serial) for first, end, name, serial in theirs if first < bound]
    tail = [run for run in [*shared, *own] if run[0] < log_end]
    common_end = min(log_end, tail[0][0] if tail else log_end)
    dropped = cut(view, partition, common_end)
    if dropped and before not in {leader, NEVER} and before in partition.led:  # else its replica is deleted
        tails[before] = dropped
    for first, end, producer, serial in tail:
        partition.placements.append(first, min(end, log_end), producer, serial)
    apart = common_end if dropped else min(log_end, bound)  # what a crash took from one log, other followers have, too
    if before not in partition.led:
        partition.gaps.pop(before, None)
    for broker, gaps in partition.gaps.items():
        if broker != leader:
            gaps.part(apart)


def _held(partition: PartitionView) -> list[list[Run]]:
    """The runs that crashes took from the last leader's log, without records that no log holds."""
    known = partition.lost_serials
    return [tail for tail in partition.crashed if not _has(known, *tail[0][2:])]


def _has(serials: Serials, producer: str, serial: int) -> bool:
    return producer in serials and serials[producer].covered(serial, serial + 1) > 0


def _copied(partition: PartitionView, log_end: int) -> list[Run]:
    """The runs that a crash took from the last leader's log and a follower with this log end has.

    After several crashes: those of the newest log of that length, since a follower drops what its leader lacks.
    """
    if log_end <= partition.placements.end:
        return []
    held = _held(partition)
    for tail in held:
        if tail[-1][1] >= log_end:
            return tail
    return max(held, key=lambda tail: tail[-1][1], default=[])


def appended_apart(partition: PartitionView, event: e.RecordsAppended) -> None:
    """Note an append of a deposed leader to its own log; it counts if an unclean election makes it leader again."""
    producer = "" if event.marker else event.producer
    run = (event.base_offset, event.base_offset + event.count, producer, event.first_serial)
    for broker, epoch in partition.led.items():
        if epoch == event.leader_epoch:
            partition.tails.setdefault(broker, []).append(run)


def _from(offset: int, runs: Iterable[Run]) -> Iterator[Run]:
    """The parts of these runs from `offset` on."""
    for first, end, producer, serial in runs:
        if end > offset:
            yield max(first, offset), end, producer, serial + max(offset - first, 0)


def _below(offset: int, runs: Iterable[Run]) -> Iterator[Run]:
    """The parts of these runs below `offset`."""
    for first, end, producer, serial in runs:
        if first < offset:
            yield first, min(end, offset), producer, serial


def truncated(view: ClusterView, partition: PartitionView, broker: int, offset: int) -> None:
    """Apply a replica's truncation."""
    if broker in partition.gaps:
        partition.gaps[broker].truncate(offset)
    if broker == partition.taken_by:
        end = partition.placements.end
        dropped = cut(view, partition, offset)
        if dropped:
            markers = [(dropped[-1][1], end, "", 0)] if dropped[-1][1] < end else []
            older = [[*_below(tail[0][0], dropped), *tail] for tail in _held(partition)]
            partition.crashed = [[*dropped, *markers], *older]
    elif broker in partition.tails:
        partition.tails[broker] = [
            (first, min(end, offset), producer, serial)
            for first, end, producer, serial in partition.tails[broker]
            if first < offset
        ]


def recovered(view: ClusterView, partition: PartitionView, event: e.RecordsRecovered) -> None:
    """Apply records that a replica still has: they are in its log if it leads, or when it will lead."""
    end = event.first_offset + event.records
    if event.broker == partition.taken_by:
        cut(view, partition, event.first_offset)
        partition.placements.append(event.first_offset, end, event.producer, event.first_serial)
    else:
        tail = [run for run in partition.tails.get(event.broker, ()) if run[0] < event.first_offset]
        partition.tails[event.broker] = [*tail, (event.first_offset, end, event.producer, event.first_serial)]


def cut(view: ClusterView, partition: PartitionView, offset: int) -> list[Run]:
    """Truncate the leader's log at `offset`: groups' finished and passed offsets beyond it no longer count."""
    for reader in _readers(view, partition):
        note(reader.passed, passed(partition, reader, max(reader.start, offset), reader.committed))
        reader.finished.truncate(offset)
        reader.end_at_start = min(reader.end_at_start, offset)
        if reader.start <= partition.log_end:
            reader.start = min(reader.start, offset)
    return partition.placements.cut(offset)


def standing(partition: PartitionView, first: int, end: int) -> Iterable[Run]:
    """The records at offsets first … end - 1 that compaction has left in the leader's log."""
    return _left(partition, partition.placements.between(first, end))


def _left(partition: PartitionView, runs: Iterable[Run]) -> Iterable[Run]:
    """The parts of these runs that compaction has left in the leader's log."""
    gaps = partition.gaps.get(partition.taken_by)
    return runs if gaps is None else _outside(gaps.offsets, runs)


def passed(partition: PartitionView, reader: ReaderView, first: int, end: int) -> Iterable[Run]:
    """Records at offsets first … end - 1 that the group has not finished, although it could read them."""
    return _met(partition, reader, _left(partition, unfinished(partition, reader, first, end)))


def _met(partition: PartitionView, reader: ReaderView, runs: Iterable[Run]) -> Iterable[Run]:
    """The parts of these runs that compaction had not taken from the leaders' logs, nor from followers it reads."""
    if partition.compacted_serials:
        runs = _without(partition.compacted_serials, runs)
    for gaps in gaps_met(partition, reader):
        runs = _outside(gaps.shared(), runs)
    return runs


def gaps_met(partition: PartitionView, reader: ReaderView) -> list[ReplicaGaps]:
    """The gaps of the followers that a group reads from."""
    gaps, leader = partition.gaps, partition.taken_by
    return [gaps[broker] for broker in reader.replicas if broker in gaps and broker != leader]


def _outside(offsets: IntervalSet, runs: Iterable[Run]) -> Iterator[Run]:
    """The parts of these runs at other offsets."""
    for first, end, producer, serial in runs:
        for start, stop in offsets.gaps(first, end):
            yield start, stop, producer, serial + start - first


def _without(known: Serials, runs: Iterable[Run]) -> Iterator[Run]:
    """The parts of these runs whose records are not known."""
    for first, end, producer, serial in runs:
        if producer not in known:
            yield first, end, producer, serial
            continue
        for start, stop in known[producer].gaps(serial, serial + end - first):
            yield first + start - serial, first + stop - serial, producer, start


def compacted(view: ClusterView, partition: PartitionView, event: e.LogCompacted) -> None:
    """Apply a cleaning: what a leader's log has lost counts now, what another replica's has lost when it leads."""
    removed = list(zip(event.removed_from, event.removed_to, strict=True))
    if event.broker != partition.taken_by:
        for reader in _readers(view, partition):
            if event.broker in reader.replicas:
                for first, end in removed:
                    note(reader.passed, passed(partition, reader, max(first, reader.start), min(end, reader.committed)))
    gaps = partition.gaps.setdefault(event.broker, ReplicaGaps())
    for first, end in removed:
        gaps.offsets.add(first, end)
    own = partition.tails.get(event.broker)
    if event.broker == partition.taken_by:
        partition.bytes = event.bytes
        _remove(view, partition, removed)
    elif own:  # deposed, it does not know it yet
        gaps.part(own[0][0])


def leads(view: ClusterView, partition: PartitionView) -> None:
    """What compaction has taken from a new leader's log counts from now on."""
    gaps = partition.gaps.get(partition.taken_by)
    if gaps is not None:
        gaps.parted = NOWHERE
        _remove(view, partition, gaps.offsets.ranges())


def _remove(view: ClusterView, partition: PartitionView, offsets: Iterable[tuple[int, int]]) -> None:
    """Records at these offsets are not in the leader's log; a copy of one may be, which an application reads."""
    known, between = partition.compacted_serials, partition.placements.between
    removed = [run for first, end in offsets for run in _without(known, between(first, end))]
    if not removed:
        return
    copies: Serials = {}
    note(copies, standing(partition, max(removed[0][0], partition.log_start), partition.log_end))
    removed = list(_without(copies, removed))
    for reader in _readers(view, partition):
        for first, end, _, _ in removed:
            begin, stop = max(first, reader.start), min(end, reader.committed)
            note(reader.passed, _met(partition, reader, unfinished(partition, reader, begin, stop)))
    note(known, removed)


def _readers(view: ClusterView, partition: PartitionView) -> Iterator[ReaderView]:
    """The groups that have a position in a partition."""
    for group in view.topic_readers.get(partition.topic, ()):
        reader = view.groups[group].readers.get(partition.partition)
        if reader is not None and reader.start != NEVER:
            yield reader


def deleted(view: ClusterView, partition: PartitionView, log_start: int, at_us: int) -> None:
    """Advance the log start: unfinished records below a group's commit are lost to it, those ahead are not.

    Records deleted a minute ago are settled, except those that an application may still process.
    """
    since_us, settled = partition.deleted_before
    for reader in _readers(view, partition):
        first = max(reader.start, partition.log_start)
        note(reader.passed, passed(partition, reader, first, min(reader.committed, log_start)))
        at_work = unfinished(partition, reader, max(reader.start, reader.committed), reader.highest_position)
        settled = min(settled, next(iter(at_work), (settled,))[0])
    if at_us - since_us >= SETTLED_US:
        placements = partition.placements
        note(partition.deleted_serials, standing(partition, placements.first, settled))
        placements.drop_before(settled)
        _forget_deleted(view, partition, placements.first)
        partition.deleted_before = (at_us, log_start)


def _forget_deleted(view: ClusterView, partition: PartitionView, first: int) -> None:
    """Drop what lies below `first`: the log start will not fall below it again."""
    for group in view.topic_readers.get(partition.topic, ()):
        reader = view.groups[group].readers.get(partition.partition)
        if reader is not None:
            reader.finished.drop_before(first)
    for gaps in partition.gaps.values():
        gaps.offsets.drop_before(first)
    if partition.transactions is not None:
        partition.transactions.deleted(first)
    count = bisect_right(partition.append_ends, first)
    del partition.append_ends[:count], partition.append_times_us[:count]
