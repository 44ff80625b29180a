"""The batches of one log in offset order: the newest as objects, the older ones packed.

Theory of operation. A batch takes some 350 bytes as an object, and is rarely read again once its readers have passed
it. When the tail holds `PACK_AT` batches, the oldest `PACKED_TOGETHER` become one `Chunk`. Offsets, sizes and order
stay the same, so that packing has no visible effect.

Of the records of an internal topic `clean` keeps those that a replay needs, see `cluster.storage.cleaner`. Compaction
of other topics (`replace_below`) leaves offsets without a batch, and batches with fewer records than offsets.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import overload

from cluster.protocol.record_batch import RecordBatch
from cluster.storage.cleaner import Cleaner
from cluster.storage.packed_batches import Chunk, Oldest, packed, whole_payloads

PACK_AT = 1_024
PACKED_TOGETHER = 512
_base_offset, _next_offset = attrgetter("base_offset"), attrgetter("next_offset")


class BatchList(Sequence[RecordBatch]):
    """A log's batches. `tail`: those that are not packed; `bases`: their base offsets."""

    __slots__ = ("_chunks", "_cleaned", "_cleaner", "_in_chunks", "_opened", "bases", "tail")

    def __init__(self) -> None:
        self.tail: list[RecordBatch] = []
        self.bases: list[int] = []
        self._chunks: tuple[Chunk, ...] = ()
        self._in_chunks = 0
        self._cleaned = 0  # chunks
        self._cleaner: Cleaner | None = None  # internal topics only
        self._opened: tuple[Chunk, list[RecordBatch]] | None = None  # a reader reads its next batch soon

    def append(self, batch: RecordBatch) -> None:
        """Add a batch at the end."""
        tail = self.tail
        tail.append(batch)
        self.bases.append(batch.base_offset)
        if len(tail) >= PACK_AT:
            self._pack()

    def pop(self) -> RecordBatch:
        """Remove and return the last batch."""
        if not self.tail:
            self._unpack()
        self.bases.pop()
        return self.tail.pop()

    def shed(self, offset: int) -> Iterator[RecordBatch]:
        """Drop the batches that end at or before an offset; yields each one after it was dropped."""
        while self._chunks and self._chunks[0].oldest.next_offset <= offset:
            chunk, self._chunks = self._chunks[0], self._chunks[1:]
            self._in_chunks -= chunk.count
            self._cleaned = max(0, self._cleaned - 1)
            batches = list(chunk)
            left = [batch for batch in batches if batch.next_offset > offset]
            if left:
                self._chunks = Chunk(left, whole_payloads(left)), *self._chunks
                self._cleaned = 0
                self._in_chunks += len(left)
            self._forget_cleaned()
            yield from batches[: len(batches) - len(left)]
        if not self._chunks:
            gone = bisect_right(self.tail, offset, key=_next_offset)
            batches = self.tail[:gone]
            del self.tail[:gone], self.bases[:gone]
            yield from batches

    # --- reading --------------------------------------------------------------------------------------------------

    @property
    def oldest(self) -> Oldest | None:
        """The first batch, None without any."""
        if self._chunks:
            return self._chunks[0].oldest
        first = self.tail[0] if self.tail else None
        return Oldest(first.base_offset, first.next_offset, first.created_us) if first is not None else None

    def runs(self) -> Iterator[Chunk | RecordBatch]:
        """All batches in order, packed ones chunk by chunk."""
        return chain(self._chunks, self.tail)

    def younger(self, instant_us: int) -> Iterator[int]:
        """The base offsets of the batches whose timestamp is not before an instant."""
        for run in self.runs():
            batches = [run] if isinstance(run, RecordBatch) else run if run.newest_us >= instant_us else ()
            for batch in batches:
                if batch.created_us >= instant_us:
                    yield batch.base_offset

    def since(self, offset: int) -> Iterator[RecordBatch]:
        """The batches from the one that holds an offset; all when the first one begins after it."""
        if self._chunks and (not self.bases or offset < self.bases[0]):
            place = max(0, bisect_right(self._chunks, offset, key=lambda chunk: chunk.oldest.base_offset) - 1)
            batches = self._open(self._chunks[place])
            yield from batches[max(0, bisect_right(batches, offset, key=_base_offset) - 1) :]
            for chunk in self._chunks[place + 1 :]:
                yield from self._open(chunk)
            yield from self.tail
        else:
            yield from self.tail[max(0, bisect_right(self.bases, offset) - 1) :]

    def _open(self, chunk: Chunk) -> list[RecordBatch]:
        if self._opened is None or self._opened[0] is not chunk:
            self._opened = chunk, list(chunk)
        return self._opened[1]

    def __len__(self) -> int:
        return self._in_chunks + len(self.tail)

    def __iter__(self) -> Iterator[RecordBatch]:
        return self.after(0)

    def after(self, place: int) -> Iterator[RecordBatch]:
        """Every batch but the first `place` ones."""
        for chunk in self._chunks:
            if place < chunk.count:
                yield from islice(chunk, max(place, 0), None)
            place -= chunk.count
        yield from self.tail[max(place, 0) :]

    @overload
    def __getitem__(self, place: int) -> RecordBatch: ...

    @overload
    def __getitem__(self, place: slice) -> list[RecordBatch]: ...

    def __getitem__(self, place: int | slice) -> RecordBatch | list[RecordBatch]:
        if isinstance(place, slice):
            return list(self)[place]
        from_tail = place if place < 0 else place - len(self)
        if -len(self.tail) <= from_tail < 0:
            return self.tail[from_tail]
        if not -len(self) <= from_tail < 0:
            raise IndexError(place)
        return next(self.after(len(self) + from_tail))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    # --- packing --------------------------------------------------------------------------------------------------

    def _pack(self) -> None:
        batches = self.tail[:PACKED_TOGETHER]
        del self.tail[:PACKED_TOGETHER], self.bases[:PACKED_TOGETHER]
        self._chunks = *self._chunks, packed(batches)
        self._in_chunks += len(batches)
        self._opened = None

    def clean(self, end: int) -> None:
        """Compact the packed records below an offset."""
        while self._cleaned < len(self._chunks) and self._chunks[self._cleaned].next_offset <= end:
            if self._cleaner is None:
                self._cleaner = Cleaner()
            self._cleaner.clean(self._chunks[self._cleaned])
            self._cleaned += 1

    def replace_below(self, offset: int, batches: Sequence[RecordBatch]) -> None:
        """Put these in the place of all batches that begin below an offset."""
        held = bisect_left(self._chunks, offset, key=lambda chunk: chunk.oldest.base_offset)
        split = list(self._chunks[held - 1]) if held else []  # the offset may lie in this chunk
        front = [*batches, *split[bisect_left(split, offset, key=_base_offset) :]]
        later = self._chunks[held:]
        if self.bases and self.bases[0] < offset:
            front += self.tail[bisect_left(self.bases, offset) :]
            whole = len(front) - len(front) % PACKED_TOGETHER
            self.tail = front[whole:]
            self.bases = [batch.base_offset for batch in self.tail]
            del front[whole:]
        parts = [front[at : at + PACKED_TOGETHER] for at in range(0, len(front), PACKED_TOGETHER)]
        self._chunks = *[packed(part) for part in parts], *later
        self._in_chunks = sum(chunk.count for chunk in self._chunks)
        self._opened = None

    def _forget_cleaned(self) -> None:
        if self._cleaner is not None:
            self._cleaner.forget()

    def _unpack(self) -> None:
        """Make the last chunk part of the tail again."""
        chunk, self._chunks = self._chunks[-1], self._chunks[:-1]
        self._in_chunks -= chunk.count
        self.tail[:0] = batches = list(chunk)
        self.bases[:0] = [batch.base_offset for batch in batches]
        self._cleaned = min(self._cleaned, len(self._chunks))
        self._forget_cleaned()
        self._opened = None
