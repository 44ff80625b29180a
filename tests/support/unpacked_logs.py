"""The batches of a log as a plain list, for checks that read logs whole and often.

A `BatchList` makes packed batches anew for each reader, and walks from its beginning to find one by its place: a check
that looks at each batch once a second would take longer than the flight. Here a chunk is unpacked once.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import cast

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.packed_batches import Chunk
from cluster.storage.partition_log import PartitionLog

CHUNKS = 128


def batches_of(log: PartitionLog) -> list[RecordBatch]:
    """All batches of a log in offset order; the list is the caller's."""
    batches: list[RecordBatch] = []
    runs = log.batches.runs()
    for run in runs:
        if not isinstance(run, Chunk):
            batches.append(run)
            batches += cast("Iterator[RecordBatch]", runs)  # only the newest ones are not packed
        elif run.payloads:  # the cleaner takes records out of them
            batches += run
        else:
            batches += _unpacked(run)
    return batches


def added_since(log: PartitionLog, seen: Sequence[RecordBatch]) -> list[RecordBatch] | None:
    """The batches behind the last one of `seen`; None when the log was cut there, or packed in the meantime."""
    if not seen:
        return batches_of(log)
    there = log.batches.since(seen[-1].base_offset)
    return list(there) if next(there, None) is seen[-1] else None


@lru_cache(CHUNKS)
def _unpacked(chunk: Chunk) -> list[RecordBatch]:
    return list(chunk)


def begin_of(log: PartitionLog) -> int:
    """Where the first batch of a log begins; its end, if it has none."""
    oldest = log.batches.oldest
    return oldest.base_offset if oldest is not None else log.log_end
