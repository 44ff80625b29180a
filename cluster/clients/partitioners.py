"""Which partition a record goes to.

A key decides by murmur2 over all partitions. Without one, the sticky partitioner stays on a partition until
`batch.size` bytes went there, and moves when no half-filled batch would be left behind (at twice that, at once).
Source: `BuiltInPartitioner` (KIP-480, KIP-794). The adaptive choice by queue length is not built: the draw is uniform.
"""

from collections.abc import Callable, Sequence
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


class StickyPartitioner:
    """The current partition for records without a key, and how many bytes went there since it was chosen.

    `available` answers the partitions that have a leader (all of them when none has).
    """

    def __init__(self, sticky_bytes: int, random: Random, available: Callable[[], Sequence[str]]) -> None:
        self._sticky_bytes, self._random, self._available = sticky_bytes, random, available
        self._produced = 0
        self.current = self._draw()

    def _draw(self) -> str:
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
