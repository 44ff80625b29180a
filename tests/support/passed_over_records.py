"""The records that a group left behind: before its first position, and below its commits when they went.

Records are named by who wrote them: (producer, partition, serial), whatever their offset.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from cluster.protocol.record_batch import ABORT, RecordBatch
from cluster.storage.partition_log import PartitionLog
from tests.support.finished_records import Identity
from tests.support.unpacked_logs import batches_of

if TYPE_CHECKING:
    from tests.support.independent_recorder import IndependentRecorder

Placed = tuple[int, Identity]
"""An offset, and the record at it."""

_next_offset = attrgetter("next_offset")


def writers(batch: RecordBatch, first: int, end: int) -> Iterator[Placed]:
    """The records at offsets first … end - 1 of a batch; a marker has none, compaction may have left few."""
    for place in batch.places if not batch.marker else ():
        if first <= batch.base_offset + place < end:
            yield batch.base_offset + place, (batch.producer, batch.partition, batch.first_serial + place)


class Passages:
    """By group and partition: `before_start`, and what its commits had `passed` when it was deleted or truncated.

    `aborted`: by partition, the records of transactions that an ABORT marker ended in its leader's log. `compacted`: by
    partition, the records that compaction has removed from a leader's log; `_removed`: by log, what it has removed from
    that. `read_from`: the followers that a group has fetched a partition from.
    """

    def __init__(self, recorder: "IndependentRecorder") -> None:
        self._recorder = recorder
        self.committed: Callable[[str, str], int] = lambda _group, _partition: -1
        self.before_start: defaultdict[tuple[str, str], set[Identity]] = defaultdict(set)
        self.passed: defaultdict[tuple[str, str], set[Identity]] = defaultdict(set)
        self.aborted: defaultdict[str, set[Identity]] = defaultdict(set)
        self.compacted: defaultdict[str, set[Identity]] = defaultdict(set)
        self.read_from: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._removed: defaultdict[int, set[Placed]] = defaultdict(set)
        self._logs: dict[tuple[int, str], PartitionLog] = {}
        self._held: set[Placed] = set()

    def records(self, log: PartitionLog, first: int, end: int) -> Iterator[Placed]:
        """The records at these offsets, deleted ones included."""
        if first >= end:
            return
        batches = [*self._recorder.before(log), *batches_of(log)]
        for place in range(bisect_right(batches, first, key=_next_offset), len(batches)):
            if batches[place].base_offset >= end:
                return
            yield from writers(batches[place], first, end)

    def begins(self, group: str, name: str, offset: int) -> None:
        """A group has its first position in a partition."""
        self.before_start[group, name] = names(self.records(self._recorder.leaders[name].log, 0, offset))

    def goes(self, log: PartitionLog, first: int, end: int) -> None:
        """These offsets of the log that counts are about to be deleted or truncated."""
        for (group, name), progress in self._recorder.progress.items():
            if name == log.partition:
                committed = self.committed(group, name)
                passed = set(self.records(log, max(first, progress.start), min(end, committed)))
                self.passed[group, name] |= names(passed - self.met(group, name)) - self.compacted[name]

    def met(self, group: str, name: str) -> set[Placed]:
        """What compaction has removed from the followers that a group reads: it met their gaps."""
        logs = [self._logs.get((broker, name)) for broker in self.read_from[group, name]]
        leading = self._recorder.leaders[name].log
        return {one for log in logs if log is not None and log is not leading for one in self._removed[id(log)]}

    def begins_to_compact(self, log: PartitionLog, broker: int) -> None:
        """A cleaner is about to clean a log."""
        self._held, self._logs[broker, log.partition] = _places(log), log

    def has_compacted(self, log: PartitionLog, broker: int) -> None:
        """A cleaner has cleaned a log."""
        name, gone = log.partition, self._held - _places(log)
        if self._recorder.leaders[name].log is log:
            self._removed[id(log)] |= gone
            self.leads(log)
            return
        there = _places(self._recorder.leaders[name].log)
        self._pass(name, gone & there, only=broker)
        self._removed[id(log)] |= gone

    def truncated(self, log: PartitionLog, offset: int) -> None:
        """A log is truncated."""
        self._removed[id(log)] = {(at, record) for at, record in self._removed[id(log)] if at < offset}

    def leads(self, log: PartitionLog) -> None:
        """A log counts from now on, without what compaction has removed from it; copies of that may be there."""
        name, left = log.partition, names(_places(log))
        gone = {(at, one) for at, one in self._removed[id(log)] if one not in left and one not in self.compacted[name]}
        self._pass(name, gone)
        self.compacted[name] |= names(gone)

    def _pass(self, name: str, gone: set[Placed], only: int | None = None) -> None:
        """These go: what groups' commits (of those that read from a broker `only`) have passed stays passed."""
        for (group, partition), progress in self._recorder.progress.items():
            if partition == name and (only is None or only in self.read_from[group, name]):
                end = self.committed(group, name)
                passed = {(at, record) for at, record in gone if progress.start <= at < end}
                self.passed[group, name] |= names(passed - self.met(group, name)) - self.compacted[name]

    def marked(self, log: PartitionLog, marker: RecordBatch) -> None:
        """A marker was appended to the log that counts."""
        if marker.marker != ABORT:
            return
        for batch in reversed((*self._recorder.before(log), *batches_of(log))):
            if batch is marker or not batch.transactional or batch.producer_id != marker.producer_id:
                continue
            if batch.marker:
                return
            self.aborted[log.partition] |= names(writers(batch, batch.base_offset, batch.next_offset))


def names(placed: Iterable[Placed]) -> set["Identity"]:
    """The records, wherever they stand."""
    return {record for _, record in placed}


def _places(log: PartitionLog) -> set[Placed]:
    """The records of a log."""
    return {one for batch in batches_of(log) for one in writers(batch, batch.base_offset, batch.next_offset)}


def divergence(one: PartitionLog, other: PartitionLog) -> int:
    """The first offset that two logs do not have in common."""
    end = min(one.log_end, other.log_end)
    places = {batch.base_offset: batch for batch in batches_of(one)}
    for batch in batches_of(other):
        twin = places.get(batch.base_offset)
        if twin is not None and (twin.producer, twin.first_serial) != (batch.producer, batch.first_serial):
            return min(end, batch.base_offset)
    return end
