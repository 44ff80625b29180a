"""The invariant of compacted logs (L2): what a cleaning may take, and what it must leave.

Events do not contain keys, so a flight gives access to its replicas' logs. A book of each compacted partition holds
what its leader appended: offset, key, whether it is a tombstone. After each cleaning the log below its cleaned end is
held against the book. A topic that a step of the scenario makes compacted has its books from the beginning; its records
without a key, which it took until then, go with their first cleaning. L2 is not judged in a `lossy` partition, nor
behind a fork of logs (`LogState.unobserved`), nor where a log has records that no leader was seen to append: those from
before an operator made the topic compacted.
"""

from collections.abc import Collection
from typing import NamedTuple

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.replicas import ALL_BYTES, LogLookup
from cluster.invariants.sentences import broken
from cluster.storage.compaction import NO_KEY, key_at
from cluster.storage.partition_log import PartitionLog
from cluster.view import ClusterView


class AppendedRecord(NamedTuple):
    """A record as its leader appended it."""

    offset: int
    key: int
    tombstone: bool
    producer: str
    serial: int


class CompactionInvariants:
    """Judges each cleaning. `log_of`: the replicas' logs; `later`: topics that a step makes compacted."""

    def __init__(
        self, view: ClusterView, logs: dict[str, LogState], log_of: LogLookup, later: Collection[str] = ()
    ) -> None:
        self._view, self._logs, self._log_of, self._later = view, logs, log_of, later
        self._books: dict[str, list[AppendedRecord]] = {}
        self._cleaned: dict[str, dict[int, int]] = {}  # partition → broker → the end of its last cleaning
        self._kept_us: dict[str, dict[int, int]] = {}  # partition → a tombstone's offset → its first delete horizon

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {e.RecordsAppended: self.records_appended, e.LogCompacted: self.log_compacted}

    def records_appended(self, event: e.RecordsAppended) -> None:
        """Note the records, and their keys; a marker, too, takes the place of records that were truncated."""
        name, first = event.partition, event.base_offset
        if event.leader_epoch < self._logs[name].taken:
            return
        log = self._log_of(self._view.partitions[name].taken_by, name)
        if log is None or (log.segments is None and self._view.partitions[name].topic not in self._later):
            return
        book = self._books.setdefault(name, [])
        while book and book[-1].offset >= first:  # truncated since
            book.pop()
        if event.marker:
            return
        for batch in log.read(first, first + event.count, ALL_BYTES):
            for place in batch.places:
                empty, key = place in batch.tombstones, key_at(batch, place)
                serial = batch.first_serial + place
                book.append(AppendedRecord(batch.base_offset + place, key, empty, batch.producer, serial))

    def log_compacted(self, event: e.LogCompacted) -> None:
        """L2."""
        name = event.partition
        log, state = self._log_of(event.broker, name), self._logs[name]
        if log is None or state.lossy or state.unobserved:
            return
        there = self._records(event, log)
        known = {record.offset: record for record in self._books.get(name, ()) if record.offset < event.end}
        if any(offset not in known for offset in there):
            return
        for offset, key in there.items():
            if known[offset].key != key:
                broken("L2", event, f"{name} of broker-{event.broker}: offset {offset} has another record than before")
            if key == NO_KEY:
                broken("L2", event, f"{name} of broker-{event.broker}: offset {offset} has no key, and is still there")
        last = self._last(name, event.end)
        self._left(event, log, there, last)
        latest: dict[int, int] = {}
        for offset, key in there.items():
            if key in latest:
                found = f"{name} of broker-{event.broker}: offset {latest[key]} is still there, {offset} has its key"
                broken("L2", event, found)
            if not self._aborted(name, known[offset]):
                latest[key] = offset
        kept = self._kept_us.setdefault(name, {})
        assert log.segments is not None
        horizon_us = event.at_us + log.segments.in_force.delete_retention_us
        for offset in there:
            if known[offset].tombstone:
                kept[offset] = min(kept.get(offset, horizon_us), horizon_us)
        self._forget(event)

    def _records(self, event: e.LogCompacted, log: PartitionLog) -> dict[int, int]:
        """The offsets and keys of the records in the cleaned part of a log; its batches must be in order."""
        there: dict[int, int] = {}
        reached = 0
        for batch in log.read(log.log_start, event.end, ALL_BYTES):
            if batch.base_offset < reached:
                found = f"a batch at {batch.base_offset} comes behind {reached - 1}"
                broken("L2", event, f"{event.partition} of broker-{event.broker}: {found}")
            reached = batch.next_offset
            if not batch.marker:
                there |= {batch.base_offset + place: key_at(batch, place) for place in batch.places}
        return {offset: key for offset, key in there.items() if log.log_start <= offset < event.end}

    def _last(self, name: str, end: int) -> dict[int, AppendedRecord]:
        """The last record of each key below an offset that was not aborted; a record without a key is none."""
        book = self._books.get(name, ())
        return {
            record.key: record
            for record in book
            if record.offset < end and record.key != NO_KEY and not self._aborted(name, record)
        }

    def _left(
        self, event: e.LogCompacted, log: PartitionLog, there: dict[int, int], last: dict[int, AppendedRecord]
    ) -> None:
        """Each key has its last record, unless that was a tombstone for long enough.

        A follower may have fetched from a log that was cleaned further: that had a later record of the key.
        """
        kept = self._kept_us.get(event.partition, {})
        further = self._last(event.partition, max(self._cleaned.get(event.partition, {}).values(), default=0))
        removed = [*zip(event.removed_from, event.removed_to, strict=True)]
        for record in last.values():
            offset = record.offset
            if offset < log.log_start or offset in there:
                continue
            now = any(first <= offset < end for first, end in removed)
            if not now and record.key in further and further[record.key].offset > offset:
                continue
            where = f"{event.partition} of broker-{event.broker}: offset {offset}"
            if not record.tombstone:
                broken("L2", event, f"{where}, the last record of its key, is gone")
            if offset not in kept or kept[offset] > event.at_us:
                broken("L2", event, f"{where}, a tombstone, is gone before delete.retention.ms")

    def _aborted(self, name: str, record: AppendedRecord) -> bool:
        known = self._view.partitions[name].aborted_serials.get(record.producer)
        return known is not None and known.covered(record.serial, record.serial + 1) > 0

    def _forget(self, event: e.LogCompacted) -> None:
        """Drop what every replica has removed."""
        name = event.partition
        ends = self._cleaned.setdefault(name, {})
        ends[event.broker] = event.end
        low = min([ends.get(broker, 0) for broker in self._view.partitions[name].replicas], default=0)
        last = {record.offset for record in self._last(name, low).values()}
        book = self._books.get(name, [])
        self._books[name] = [record for record in book if record.offset >= low or record.offset in last]
