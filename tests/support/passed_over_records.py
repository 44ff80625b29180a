"""The records that a group left behind: before its first position, and below its commits when they went.

Records are named by who wrote them: (producer, partition, serial), whatever their offset.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from cluster.protocol.record_batch import ABORT, RecordBatch
from cluster.storage.partition_log import PartitionLog
from tests.support.unpacked_logs import batches_of

if TYPE_CHECKING:
    from tests.support.independent_recorder import Identity, IndependentRecorder

_next_offset = attrgetter("next_offset")


def writers(batch: RecordBatch, first: int, end: int) -> Iterator["Identity"]:
    """Whose records stand at offsets first … end - 1 of a batch; a marker has none, compaction may have left few."""
    for place in batch.places if not batch.marker else ():
        if first <= batch.base_offset + place < end:
            yield batch.producer, batch.partition, batch.first_serial + place


class Passages:
    """By group and partition: `before_start`, and what its commits had `passed` when it was deleted or truncated.

    `aborted`: by partition, the records of transactions that an ABORT marker ended in its leader's log. `compacted`: by
    partition, the records that compaction has removed from a leader's log; `_apart`: by log, those that it has removed
    from a log since, which count when that leads.
    """

    def __init__(self, recorder: "IndependentRecorder") -> None:
        self._recorder = recorder
        self.committed: Callable[[str, str], int] = lambda _group, _partition: -1
        self.before_start: defaultdict[tuple[str, str], set[Identity]] = defaultdict(set)
        self.passed: defaultdict[tuple[str, str], set[Identity]] = defaultdict(set)
        self.aborted: defaultdict[str, set[Identity]] = defaultdict(set)
        self.compacted: defaultdict[str, set[Identity]] = defaultdict(set)
        self._apart: defaultdict[int, dict[Identity, int]] = defaultdict(dict)
        self._held: dict[Identity, int] = {}

    def records(self, log: PartitionLog, first: int, end: int) -> Iterator["Identity"]:
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
        self.before_start[group, name] = set(self.records(self._recorder.leaders[name].log, 0, offset))

    def goes(self, log: PartitionLog, first: int, end: int) -> None:
        """These offsets of the log that counts are about to be deleted or truncated."""
        for (group, name), progress in self._recorder.progress.items():
            if name == log.partition:
                committed = self.committed(group, name)
                passed = set(self.records(log, max(first, progress.start), min(end, committed)))
                self.passed[group, name] |= passed - self.compacted[name] - self.apart(name)

    def apart(self, name: str) -> set["Identity"]:
        """What compaction has removed from logs that do not lead: a reader of theirs met the gap."""
        return {record for gone in self._apart.values() for record in gone if record[1] == name}

    def begins_to_compact(self, log: PartitionLog) -> None:
        """A cleaner is about to clean a log."""
        self._held = _places(log)

    def has_compacted(self, log: PartitionLog, *, leads: bool) -> None:
        """A cleaner has cleaned a log."""
        left = _places(log)
        self._apart[id(log)] |= {record: offset for record, offset in self._held.items() if record not in left}
        if leads:
            self.takes_over(log)

    def takes_over(self, log: PartitionLog) -> None:
        """A log counts from now on, without what compaction has removed from it."""
        name, gone = log.partition, self._apart.pop(id(log), {})
        for (group, partition), progress in self._recorder.progress.items():
            if partition == name:
                end = self.committed(group, name)
                passed = {record for record, offset in gone.items() if progress.start <= offset < end}
                self.passed[group, name] |= passed - self.compacted[name] - self.apart(name)
        self.compacted[name] |= set(gone)

    def marked(self, log: PartitionLog, marker: RecordBatch) -> None:
        """A marker was appended to the log that counts."""
        if marker.marker != ABORT:
            return
        for batch in reversed((*self._recorder.before(log), *batches_of(log))):
            if batch is marker or not batch.transactional or batch.producer_id != marker.producer_id:
                continue
            if batch.marker:
                return
            self.aborted[log.partition].update(writers(batch, batch.base_offset, batch.next_offset))


def _places(log: PartitionLog) -> dict["Identity", int]:
    """The records of a log, and their offsets."""
    batches = [batch for batch in batches_of(log) if not batch.marker]
    return {
        (batch.producer, batch.partition, batch.first_serial + place): batch.base_offset + place
        for batch in batches
        for place in batch.places
    }


def divergence(one: PartitionLog, other: PartitionLog) -> int:
    """The first offset that two logs do not have in common."""
    end = min(one.log_end, other.log_end)
    places = {batch.base_offset: batch for batch in batches_of(one)}
    for batch in batches_of(other):
        twin = places.get(batch.base_offset)
        if twin is not None and (twin.producer, twin.first_serial) != (batch.producer, batch.first_serial):
            return min(end, batch.base_offset)
    return end
