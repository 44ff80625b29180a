"""Log cleaners that are broken on purpose."""

from collections.abc import Iterable, Sequence

from cluster.protocol.record_batch import RecordBatch, Remains
from cluster.storage import cleanable, partition_log
from cluster.storage.compaction import BatchFilter, OffsetMap, offset_map
from cluster.storage.segment_list import SegmentList
from cluster.storage.transaction_index import AbortedTransaction
from tests.mutants.brokers import Patch

Aborted = list[AbortedTransaction]


def removes_the_last_record_of_a_key(patch: Patch) -> None:
    """A record stays if it is behind the last one of its key."""

    def one_too_many(
        batches: Iterable[RecordBatch], start: int, end: int, aborted: list[AbortedTransaction]
    ) -> OffsetMap:
        offsets, read_to = offset_map(batches, start, end, aborted)
        return OffsetMap({key: offset + 1 for key, offset in offsets.items()}, read_to)

    patch.setattr(partition_log, "offset_map", one_too_many)


def leaves_the_older_records(patch: Patch) -> None:
    def all_of_them(_: BatchFilter, batch: RecordBatch) -> Sequence[int]:
        return batch.places

    patch.setattr(BatchFilter, "_kept", all_of_them)


def removes_tombstones_too_early(patch: Patch) -> None:
    """They go with the next cleaning, whatever `delete.retention.ms` says."""
    left = BatchFilter.left

    def at_once(rules: BatchFilter, batch: RecordBatch) -> RecordBatch | None:
        rules._delete_retention_us = 0
        return left(rules, batch)

    patch.setattr(BatchFilter, "left", at_once)


def cleans_what_is_not_decided(patch: Patch) -> None:
    """It cleans up to the active segment, open transactions included."""

    def up_to_the_active_segment(segments: SegmentList, _: int, __: int) -> int:
        return segments.active.base_offset

    patch.setattr(cleanable, "first_uncleanable", up_to_the_active_segment)


def counts_aborted_records(patch: Patch) -> None:
    """A record of an aborted transaction replaces the earlier one of its key."""

    def of_all(batches: Iterable[RecordBatch], start: int, end: int, _: Aborted) -> OffsetMap:
        return offset_map(batches, start, end, ())

    patch.setattr(partition_log, "offset_map", of_all)


def moves_records_to_the_front(patch: Patch) -> None:
    """The records that stay get the first offsets of their batch."""
    cleaned = RecordBatch.cleaned

    def moved(batch: RecordBatch, remains: Remains) -> RecordBatch:
        return cleaned(batch, Remains(tuple(range(len(remains.kept))), remains.delete_horizon_us))

    patch.setattr(RecordBatch, "cleaned", moved)
