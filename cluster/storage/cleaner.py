"""Which records of an internal topic stay: of each key the newest, in the place of the oldest.

Theory of operation. Chunks come in the order of the log; of each key the first record stays and takes over what later
ones say, so that replaying the log has the same result. An offset in a transaction is decided by the transaction's
marker: with ABORT it goes, with COMMIT it counts as if it stood alone, unless a commit of the same key stands behind
it. Nothing is moved past an offset of the same key that still waits. A record without a key (a tombstone) is a border:
what stands before it is not replaced by what stands behind it.
That is Kafka's log cleaner without its gaps. Source: `org.apache.kafka.storage.internals.log.Cleaner`.
"""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple, Protocol, cast

from cluster.protocol.record_batch import COMMIT, NO_PRODUCER_ID
from cluster.storage.packed_batches import Chunk, Kept


class _Keyed(Protocol):
    """A record whose key a later one may have too."""

    @property
    def compaction_key(self) -> tuple[str, ...]: ...


class _InTransaction(_Keyed, Protocol):
    """A record that may be part of a transaction; in another one's place it waits for that one's marker."""

    @property
    def decided_by(self) -> int: ...

    def in_place_of(self, older: object) -> object: ...


class _Waiting(NamedTuple):
    """A record of an open transaction; `may_go`: its group is in the log without it."""

    chunk: Chunk
    place: int
    kept: Kept
    at: int
    may_go: bool


class Cleaner:
    """What one log's cleaned records have said since the last border."""

    def __init__(self) -> None:
        self._newest: dict[Hashable, tuple[Kept, int]] = {}  # the first of a key, and which record speaks through it
        self._waiting: dict[int, list[_Waiting]] = {}  # by producer id
        self._keys_waiting: Counter[Hashable] = Counter()
        self._groups: set[str] = set()  # or transactional ids: what a record that stays is about
        self._seen = 0

    def forget(self) -> None:
        """What was cleaned so far stays as it is."""
        if self._newest or self._waiting:
            self._newest.clear()
            self._waiting.clear()
            self._keys_waiting.clear()
            self._groups.clear()

    def clean(self, chunk: Chunk) -> None:
        """Clean the next chunk."""
        self._walk(chunk)
        chunk.payloads = dict(chunk.payloads)  # a dict does not shrink as keys are deleted; its copy is small

    def _walk(self, chunk: Chunk) -> None:
        payloads = chunk.payloads
        if not self._waiting and not any(_decided_by(one) >= 0 for kept in payloads.values() for one in kept):
            for place in list(payloads):
                self._batch(chunk, place)
            return
        for place, batch in enumerate(chunk):
            if place in payloads:
                self._batch(chunk, place)
            if batch.marker:
                self._ended(batch.producer_id, committed=batch.marker == COMMIT)

    def _batch(self, chunk: Chunk, place: int) -> None:
        for kept in tuple(chunk.payloads[place]):
            self._seen += 1
            key = getattr(kept.record, "compaction_key", None)
            if key is None:
                self.forget()
            elif (producer_id := _decided_by(kept)) >= 0:
                waiting = _Waiting(chunk, place, kept, self._seen, key[0] in self._groups)
                self._waiting.setdefault(producer_id, []).append(waiting)
                self._keys_waiting[key] += 1
            elif self._stays(key, kept, self._seen):
                self._groups.add(key[0])
            else:
                _remove(chunk, place, kept)

    def _stays(self, key: Hashable, kept: Kept, at: int, *, may_go: bool = True) -> bool:
        """Whether a record is the first of its key; else it speaks through the first one."""
        first, _ = self._newest.get(key, (kept, at))
        if first is kept or self._keys_waiting[key] or not may_go:
            self._newest[key] = kept, at
            return True
        newer = kept.record
        first.record = cast(_InTransaction, newer).in_place_of(first.record) if hasattr(newer, "in_place_of") else newer
        self._newest[key] = first, at
        return False

    def _ended(self, producer_id: int, *, committed: bool) -> None:
        """A marker decides what a producer's transaction has written."""
        ended = self._waiting.pop(producer_id, ())
        for one in ended:
            self._keys_waiting[cast(_Keyed, one.kept.record).compaction_key] -= 1
        for one in ended:
            key = cast(_Keyed, one.kept.record).compaction_key
            _, newest_at = self._newest.get(key, (None, -1))
            if committed and newest_at < one.at and self._stays(key, one.kept, one.at, may_go=one.may_go):
                self._groups.add(key[0])
            elif one.may_go:
                _remove(one.chunk, one.place, one.kept)


def _decided_by(kept: Kept) -> int:
    decided_by: int = getattr(kept.record, "decided_by", NO_PRODUCER_ID)
    return decided_by


def _remove(chunk: Chunk, place: int, kept: Kept) -> None:
    records = chunk.payloads[place]
    records.remove(kept)
    if not records:
        del chunk.payloads[place]
