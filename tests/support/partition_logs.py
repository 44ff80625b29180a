"""Partition logs made by hand: batches of so many records."""

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog
from tests.support.broker_flights import SECOND_US

P = "orders-0"


def log_of_tens(count: int) -> PartitionLog:
    """A log of batches with ten records and 100 bytes each, one a second."""
    log = PartitionLog(P)
    for number in range(count):
        log.append(RecordBatch(P, "p-1", -1, -1, -1, number * 10, 10, 100, number * SECOND_US, (), number * 10, 0))
    return log


def log_of(*sizes: int, first_serial: int = 0) -> PartitionLog:
    """A log with batches of so many records."""
    log = PartitionLog(P)
    for size in sizes:
        serial = first_serial + log.log_end
        log.append(RecordBatch(P, "p-1", -1, -1, -1, serial, size, 1, 0, base_offset=log.log_end, leader_epoch=0))
    return log
