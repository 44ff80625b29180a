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
    """Whose records stand at offsets first … end - 1 of a batch; a marker has none."""
    if not batch.marker:
        for offset in range(max(first, batch.base_offset), min(end, batch.next_offset)):
            yield batch.producer, batch.partition, batch.first_serial + offset - batch.base_offset


class Passages:
    """By group and partition: `before_start`, and what its commits had `passed` when it was deleted or truncated.

    `aborted`: by partition, the records of transactions that an ABORT marker ended in its leader's log.
    """

    def __init__(self, recorder: "IndependentRecorder") -> None:
        self._recorder = recorder
        self.committed: Callable[[str, str], int] = lambda _group, _partition: -1
        self.before_start: defaultdict[tuple[str, str], set[Identity]] = defaultdict(set)
        self.passed: defaultdict[tuple[str, str], set[Identity]] = defaultdict(set)
        self.aborted: defaultdict[str, set[Identity]] = defaultdict(set)

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
                self.passed[group, name].update(self.records(log, max(first, progress.start), min(end, committed)))

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


def divergence(one: PartitionLog, other: PartitionLog) -> int:
    """The first offset that two logs do not have in common."""
    end = min(one.log_end, other.log_end)
    places = {batch.base_offset: batch for batch in batches_of(one)}
    for batch in batches_of(other):
        twin = places.get(batch.base_offset)
        if twin is not None and (twin.producer, twin.first_serial) != (batch.producer, batch.first_serial):
            return min(end, batch.base_offset)
    return end
