"""A partition's leader that does nothing but keep a log."""

from collections.abc import Callable

from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog


class FakeReplica:
    """A leader without followers: what is appended is committed at once, or waits for ever while it is `slow`."""

    def __init__(self, partition: str) -> None:
        self.partition, self.log = partition, PartitionLog(partition)
        self.is_leader, self.min_insync_replicas, self.max_message_bytes = True, 2, 1_048_588
        self.metadata = PartitionMetadata(1, 5, (1, 2), (1, 2))
        self.waiting: list[tuple[int, Callable[[ErrorCode], object]]] = []
        self.slow = False
        self.append(RecordBatch(partition, "", -1, -1, -1, -1, 1, 100, 0), 0)

    @property
    def has_min_isr(self) -> bool:
        return len(self.metadata.isr) >= self.min_insync_replicas

    def append(self, one: RecordBatch, now_us: int) -> RecordBatch:
        placed = one.placed(self.log.log_end, 5, now_us)
        self.log.append_as_leader(placed)
        return placed

    def when_committed(self, offset: int, committed: Callable[[ErrorCode], object]) -> None:
        if self.slow:
            self.waiting.append((offset, committed))
        else:
            committed(ErrorCode.NONE)
