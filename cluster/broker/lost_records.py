"""Ground truth about records that a replica drops: which of them are on no replica any more, by offset and identity."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cluster.broker.partition_log import PartitionLog
from cluster.protocol.record_batch import RecordBatch


class Lost(NamedTuple):
    """A run of records of one producer and one leader epoch, at successive offsets."""

    first_offset: int
    records: int
    leader_epoch: int
    producer: str
    first_serial: int


def vanished(dropped: Iterable[RecordBatch], logs: Sequence[PartitionLog]) -> Iterator[Lost]:
    """What of the dropped batches none of the logs holds, at its old offset or (sent again) at another.

    Coordinators' own records have no producer and are nobody's loss.
    """
    gone = [
        batch
        for batch in dropped
        if batch.producer and not any(log.has_at_its_place(batch) or _deleted(log, batch) for log in logs)
    ]
    if not gone:
        return
    sought = {(batch.producer, batch.first_serial) for batch in gone}
    held = {known for log in logs for batch in log.batches if (known := (batch.producer, batch.first_serial)) in sought}
    run: Lost | None = None
    for batch in gone:
        if (batch.producer, batch.first_serial) in held:
            continue
        if run is not None:
            if _continues(run, batch):
                run = run._replace(records=run.records + batch.count)
                continue
            yield run
        run = Lost(batch.base_offset, batch.count, batch.leader_epoch, batch.producer, batch.first_serial)
    if run is not None:
        yield run


def _deleted(log: PartitionLog, batch: RecordBatch) -> bool:
    """Whether a log had these records and deleted them on purpose."""
    serials = log.deleted.get(batch.producer)
    return serials is not None and serials.covered(batch.first_serial, batch.first_serial + batch.count) > 0


def _continues(run: Lost, batch: RecordBatch) -> bool:
    offset, serial = run.first_offset + run.records, run.first_serial + run.records
    return (offset, run.leader_epoch, run.producer, serial) == (
        batch.base_offset,
        batch.leader_epoch,
        batch.producer,
        batch.first_serial,
    )
