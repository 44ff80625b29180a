"""Which partition a record goes to.

A key decides by murmur2 over all partitions. Without one, the sticky partitioner stays on a partition until
`batch.size` bytes went there, and moves when no half-filled batch would be left behind (at twice that, at once).
With adaptive partitioning the draw prefers partitions whose batches queue up least.
Source: `BuiltInPartitioner` (KIP-480, KIP-794), `RoundRobinPartitioner`.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from random import Random

from cluster.protocol.names import murmur2


class KeyedPartitioner:
    """Remembers where each key goes; adding partitions needs a new one."""

    def __init__(self, partitions: Sequence[str]) -> None:
        self._partitions = partitions
        self._known: dict[int, str] = {}

    def partition(self, key: int) -> str:
        """The partition of a key number: (murmur2 & 0x7fffffff) % all partitions, leaderless ones included."""
        name = self._known.get(key)
        if name is None:
            place = (murmur2(str(key).encode()) & 0x7FFFFFFF) % len(self._partitions)
            name = self._known[key] = self._partitions[place]
        return name


class PartitionLoad:
    """How often each partition is drawn: in proportion to (longest queue + 1 - its own queue), in batches.

    Only partitions that have a leader are given. Equal queues, with none left out, leave nothing to prefer: then `of`
    answers None, and the draw is uniform. Source: `BuiltInPartitioner.updatePartitionLoadStats`.
    """

    __slots__ = ("cumulative", "partitions")

    def __init__(self, partitions: Sequence[str], cumulative: Sequence[int]) -> None:
        self.partitions, self.cumulative = partitions, cumulative

    @classmethod
    def of(cls, queues: Mapping[str, int], all_partitions: int) -> "PartitionLoad | None":
        """Weigh the queues (batches for each partition with a leader) of a topic with so many partitions in all."""
        sizes = list(queues.values())
        if not sizes or (len(sizes) == all_partitions and min(sizes) == max(sizes)):
            return None
        most = max(sizes) + 1
        return cls(tuple(queues), tuple(accumulate(most - size for size in sizes)))

    def draw(self, point: float) -> str:
        """The partition at `point`, from 0 up to (not including) 1."""
        return self.partitions[bisect_right(self.cumulative, int(point * self.cumulative[-1]))]


class RoundRobinPartitioner:
    """Every record to the next partition of its topic, keys or not; those without a leader are passed over.

    `available` answers the partitions that have a leader; without any, all are used.
    """

    def __init__(self, partitions: Sequence[str], available: Callable[[], Sequence[str]]) -> None:
        self._partitions, self._available = partitions, available
        self._count = 0

    def next(self) -> str:
        """Where the next record goes."""
        names = self._available() or self._partitions
        name = names[self._count % len(names)]
        self._count += 1
        return name


class StickyPartitioner:
    """The current partition for records without a key, and how many bytes went there since it was chosen.

    `available` answers the partitions that have a leader (all of them when none has); `load` what to prefer among
    them, if anything (adaptive partitioning).
    """

    def __init__(
        self,
        sticky_bytes: int,
        random: Random,
        available: Callable[[], Sequence[str]],
        load: Callable[[], PartitionLoad | None] = lambda: None,
    ) -> None:
        self._sticky_bytes, self._random, self._available, self._load = sticky_bytes, random, available, load
        self._produced = 0
        self.current = self._draw()

    def _draw(self) -> str:
        load = self._load()
        if load is not None:
            return load.draw(self._random.random())
        available = self._available()
        return available[int(self._random.random() * len(available))]

    def for_new_batch(self) -> str:
        """Where the next batch is opened: no half-filled one is left behind, so this is a moment to move."""
        if self._produced >= self._sticky_bytes:
            self._move()
        return self.current

    def produced(self, size: int) -> None:
        """Bytes went to the current partition; twice `batch.size` moves on in any case."""
        self._produced += size
        if self._produced >= 2 * self._sticky_bytes:
            self._move()

    def room(self) -> int:
        """Bytes until the partitioner moves whatever the batch looks like."""
        return 2 * self._sticky_bytes - self._produced

    def _move(self) -> None:
        self._produced = 0
        self.current = self._draw()
