"""Ground truth about records that replicas drop: which of them no log holds, or not the leader's log."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog


class LostRange(NamedTuple):
    """Records of one producer and one leader epoch at successive offsets."""

    first_offset: int
    records: int
    leader_epoch: int
    producer: str
    first_serial: int


def records_lost_everywhere(dropped: Iterable[RecordBatch], logs: Sequence[PartitionLog]) -> Iterator[LostRange]:
    """Records of `dropped` that no log in `logs` still holds, at the old offset or (sent again) at another.

    Records of coordinators have no producer and do not count as lost.
    """
    compacted = any(log.segments is not None for log in logs)
    run: LostRange | None = None
    for lost in _records_gone(dropped, logs) if compacted else _batches_gone(dropped, logs):
        if run is None:
            run = lost
        elif _continues(run, lost):
            run = run._replace(records=run.records + lost.records)
        else:
            yield run
            run = lost
    if run is not None:
        yield run


def _batches_gone(dropped: Iterable[RecordBatch], logs: Sequence[PartitionLog]) -> list[LostRange]:
    gone = [
        batch
        for batch in dropped
        if batch.producer and not any(log.has_at_its_place(batch) or log.has_deleted(batch) for log in logs)
    ]
    if not gone:
        return []
    sought = {(batch.producer, batch.first_serial) for batch in gone}
    held = {known for log in logs for batch in log.batches if (known := (batch.producer, batch.first_serial)) in sought}
    return [
        LostRange(batch.base_offset, batch.count, batch.leader_epoch, batch.producer, batch.first_serial)
        for batch in gone
        if (batch.producer, batch.first_serial) not in held
    ]


def _records_gone(dropped: Iterable[RecordBatch], logs: Sequence[PartitionLog]) -> list[LostRange]:
    """One by one: compaction may have deleted some of a batch's records in a log that has lost the others."""
    held = {
        (batch.producer, batch.first_serial + place) for log in logs for batch in log.batches for place in batch.places
    }
    return [
        LostRange(batch.base_offset + place, 1, batch.leader_epoch, batch.producer, serial)
        for batch in dropped
        for place in (batch.places if batch.producer else ())
        if (batch.producer, serial := batch.first_serial + place) not in held
        and not any(log.has_deleted_record(batch.producer, serial) for log in logs)
    ]


def truncated(batch: RecordBatch, log: PartitionLog, logs: Iterable[PartitionLog]) -> bool:
    """Whether a fetched batch is missing in the leader's `log`, and was not deleted by retention in any of `logs`."""
    if log.has_at_its_place(batch) or (log.segments is not None and log.has_deleted(batch)):
        return False
    start = batch.base_offset
    if start >= log.log_start:
        return True
    return not any(one.has_deleted(batch) or (start < one.log_start and one.has_at_its_place(batch)) for one in logs)


def _continues(run: LostRange, lost: LostRange) -> bool:
    offset, serial = run.first_offset + run.records, run.first_serial + run.records
    return (offset, run.leader_epoch, run.producer, serial) == (
        lost.first_offset,
        lost.leader_epoch,
        lost.producer,
        lost.first_serial,
    )
