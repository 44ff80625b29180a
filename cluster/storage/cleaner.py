"""Log compaction of an internal topic: keep the newest record of each key, at the place of the oldest.

Theory of operation. Chunks are cleaned in the order of the log. The first record of a key stays with the content of the
latest one; a replay of the log has the same result. An offset in a transaction is decided by the transaction's marker:
ABORT removes it; COMMIT makes it count like an offset outside transactions, unless a later commit of the same key
exists. No record moves past an undecided offset of the same key. A record without a key (a tombstone) is a border:
later records do not replace earlier ones across it. This is Kafka's log cleaner without its gaps in offsets. Source:
`org.apache.kafka.storage.internals.log.Cleaner`.
"""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple

from cluster.protocol.record_batch import COMMIT, NO_PRODUCER_ID, KeyedRecord
from cluster.storage.packed_batches import Chunk, StoredRecord


class _Undecided(NamedTuple):
    """A record of an open transaction; `removable`: the log has another record of its group."""

    chunk: Chunk
    place: int
    stored: StoredRecord
    key: Hashable
    at: int
    removable: bool


class Cleaner:
    """The compaction of one log, since the last border."""

    __slots__ = ("_first", "_groups", "_seen", "_undecided", "_undecided_keys")

    def __init__(self) -> None:
        self._first: dict[Hashable, tuple[StoredRecord, int]] = {}  # of each key, with the number of its content
        self._undecided: dict[int, list[_Undecided]] = {}  # by producer id
        self._undecided_keys: Counter[Hashable] = Counter()
        self._groups: set[str] = set()  # groups or transactional ids of the records that stay
        self._seen = 0

    def forget(self) -> None:
        """Set a border: the records that were cleaned so far stay unchanged."""
        if self._first or self._undecided:
            self._first.clear()
            self._undecided.clear()
            self._undecided_keys.clear()
            self._groups.clear()

    def clean(self, chunk: Chunk) -> None:
        """Clean the next chunk."""
        self._clean_batches(chunk)
        chunk.payloads = dict(chunk.payloads)  # a dict does not shrink as keys are deleted; its copy is small

    def _clean_batches(self, chunk: Chunk) -> None:
        payloads = chunk.payloads
        if not self._undecided and not any(_decided_by(one) >= 0 for stored in payloads.values() for one in stored):
            for place in list(payloads):
                self._batch(chunk, place)
            return
        for place, batch in enumerate(chunk):
            if place in payloads:
                self._batch(chunk, place)
            if batch.marker:
                self._decide(batch.producer_id, committed=batch.marker == COMMIT)

    def _batch(self, chunk: Chunk, place: int) -> None:
        for stored in tuple(chunk.payloads[place]):
            self._seen += 1
            record = stored.record
            if not isinstance(record, KeyedRecord):
                self.forget()
                continue
            key = record.compaction_key
            if (producer_id := record.decided_by) >= 0:
                undecided = _Undecided(chunk, place, stored, key, self._seen, key[0] in self._groups)
                self._undecided.setdefault(producer_id, []).append(undecided)
                self._undecided_keys[key] += 1
            elif self._stays(key, stored, record, self._seen):
                self._groups.add(key[0])
            else:
                _remove(chunk, place, stored)

    def _stays(
        self, key: Hashable, stored: StoredRecord, record: KeyedRecord, at: int, *, removable: bool = True
    ) -> bool:
        """Whether a record stays, as the first of its key; else the first one takes its content."""
        first, _ = self._first.get(key, (stored, at))
        if first is stored or self._undecided_keys[key] or not removable:
            self._first[key] = stored, at
            return True
        assert isinstance(first.record, KeyedRecord)
        first.record = record.in_place_of(first.record)
        self._first[key] = first, at
        return False

    def _decide(self, producer_id: int, *, committed: bool) -> None:
        """A marker decides the records of a producer's transaction."""
        decided = self._undecided.pop(producer_id, ())
        for one in decided:
            self._undecided_keys[one.key] -= 1
        for one in decided:
            _, newest_at = self._first.get(one.key, (None, -1))
            record = one.stored.record
            assert isinstance(record, KeyedRecord)
            newest = committed and newest_at < one.at
            if newest and self._stays(one.key, one.stored, record, one.at, removable=one.removable):
                self._groups.add(record.compaction_key[0])
            elif one.removable:
                _remove(one.chunk, one.place, one.stored)


def _decided_by(stored: StoredRecord) -> int:
    return stored.record.decided_by if isinstance(stored.record, KeyedRecord) else NO_PRODUCER_ID


def _remove(chunk: Chunk, place: int, stored: StoredRecord) -> None:
    records = chunk.payloads[place]
    records.remove(stored)
    if not records:
        del chunk.payloads[place]
