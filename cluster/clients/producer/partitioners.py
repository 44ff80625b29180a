"""Choose the partition of a record.

A key decides by murmur2 over all partitions, in librdkafka by CRC-32. Without a key, the sticky partitioner stays on
a partition until `batch.size` bytes went there. It then moves as soon as that leaves no half-filled batch behind; at
twice the size it moves at once. With adaptive partitioning the draw prefers partitions with short queues of batches.
Source: `BuiltInPartitioner` (KIP-480, KIP-794), `RoundRobinPartitioner`; librdkafka: `rd_kafka_msg_partitioner`.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from cluster.protocol.names import crc32_place, murmur2_place


class KeyedPartitioner:
    """Caches the partition of each key; added partitions need a new instance."""

    def __init__(self, partitions: Sequence[str], partitioner: str | None = None) -> None:
        self._partitions = partitions
        self._place = crc32_place if partitioner == "consistent_random" else murmur2_place
        self._known: dict[int, str] = {}

    def partition(self, key: int) -> str:
        """The partition of a key number, whose bytes are its digits: of all partitions, leaderless ones included."""
        name = self._known.get(key)
        if name is None:
            place = self._place(str(key).encode(), len(self._partitions))
            name = self._known[key] = self._partitions[place]
        return name


class PartitionLoad:
    """How often each partition is drawn: in proportion to (longest queue + 1 - its own queue), in batches.

    Only partitions with a leader take part. For equal queues of all partitions `of` returns None, and the draw is
    uniform. Source: `BuiltInPartitioner.updatePartitionLoadStats`.
    """

    __slots__ = ("cumulative", "partitions")

    def __init__(self, partitions: Sequence[str], cumulative: Sequence[int]) -> None:
        self.partitions, self.cumulative = partitions, cumulative

    @classmethod
    def of(cls, queues: Mapping[str, int], all_partitions: int) -> "PartitionLoad | None":
        """Weigh the queues (batches for each partition with a leader) of a topic with this many partitions."""
        sizes = list(queues.values())
        if not sizes or (len(sizes) == all_partitions and min(sizes) == max(sizes)):
            return None
        most = max(sizes) + 1
        return cls(tuple(queues), tuple(accumulate([most - size for size in sizes])))

    def draw(self, point: float) -> str:
        """The partition at `point`, from 0 up to (not including) 1."""
        return self.partitions[bisect_right(self.cumulative, int(point * self.cumulative[-1]))]


class RoundRobinPartitioner:
    """Sends every record, with or without a key, to the next partition of its topic that has a leader.

    `available` returns the partitions that have a leader; if it returns none, all are used.
    """

    def __init__(self, partitions: Sequence[str], available: Callable[[], Sequence[str]]) -> None:
        self._partitions, self._available = partitions, available
        self._count = 0

    def next(self) -> str:
        """The partition of the next record."""
        names = self._available() or self._partitions
        name = names[self._count % len(names)]
        self._count += 1
        return name


class StickyPartitioner:
    """The current partition for records without a key, and the bytes sent there since it was chosen.

    `available` returns the partitions that have a leader (all of them when none has). `load` returns their weights, or
    None for a uniform draw (adaptive partitioning).
    """

    def __init__(
        self,
        sticky_bytes: int,
        random: Callable[[], float],
        available: Callable[[], Sequence[str]],
        load: Callable[[], PartitionLoad | None] = lambda: None,
    ) -> None:
        self._sticky_bytes, self._random, self._available, self._load = sticky_bytes, random, available, load
        self._produced = 0
        self.current = self._draw()

    def _draw(self) -> str:
        load = self._load()
        if load is not None:
            return load.draw(self._random())
        available = self._available()
        return available[int(self._random() * len(available))]

    def for_new_batch(self) -> str:
        """The partition of the next batch. The partitioner may move here, for it leaves no half-filled batch behind."""
        if self._produced >= self._sticky_bytes:
            self._move()
        return self.current

    def produced(self, size: int) -> None:
        """Count bytes sent to the current partition; move after twice `batch.size`."""
        self._produced += size
        if self._produced >= 2 * self._sticky_bytes:
            self._move()

    def room(self) -> int:
        """How many bytes remain until the partitioner moves in any case."""
        return 2 * self._sticky_bytes - self._produced

    def _move(self) -> None:
        self._produced = 0
        self.current = self._draw()
