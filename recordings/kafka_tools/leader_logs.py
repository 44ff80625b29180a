"""The logs of partitions as their leaders have them, batch by batch: read from events, since no view keeps batches.

A leader that takes over brings its own log: what its predecessor had beyond it is gone, and comes back only if that
broker leads again before it has truncated. `cluster.view.ledger` keeps records in the same way.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from cluster import events as e
from cluster.storage.offset_ranges import IntervalSet

NO_BROKER: Final = -1
RETENTION: Final = "retention"
"""The reason of a log start that whole segments were removed for."""


class NotAppended(NamedTuple):
    """What a leader answered and did not append; `base_offset` is that of the batch in the log, -1 without one.

    `client`: a producer, the transactional id of a fenced one, or "" for a marker of a transaction coordinator.
    """

    at_us: int
    client: str
    records: int
    base_offset: int
    answer: str


class LogBatch(NamedTuple):
    """A batch in a log and the offsets of the records that compaction has left of it.

    `cleaned`: a cleaner went over it, so that its size and its delete horizon are unknown.
    """

    appended: e.RecordsAppended
    offsets: tuple[int, ...]
    cleaned: bool


class LeaderLog:
    """A partition's log as its last leader has it.

    `batches` are all that were ever in it, deleted ones too; `log_start` is where readers begin.
    """

    def __init__(self) -> None:
        self.batches: list[e.RecordsAppended] = []
        self.not_appended: list[NotAppended] = []
        self.log_start = 0
        self._first_kept = 0  # where the log's files begin, when retention has removed some
        self._epoch, self._leader = 0, NO_BROKER
        self._led: dict[int, int] = {}  # leader epoch → broker
        self._tails: dict[int, list[e.RecordsAppended]] = {}  # broker → what only its own log has
        self._crashed: list[e.RecordsAppended] = []  # what the leader's host lost, and a follower may have
        self._removed: dict[int, IntervalSet] = {}  # broker → offsets whose records its cleaner removed
        self._cleaned: dict[int, int] = {}  # broker → where its last cleaning ended

    def left(self, first: int = 0, *, newest_first: bool = False, deleted: bool = False) -> Iterator[LogBatch]:
        """The batches with a record at or behind an offset, without what was deleted or removed by compaction.

        `deleted`: also those before the log start that no retention has removed.
        """
        start = self._first_kept if deleted else self.log_start
        removed, cleaned = self._removed.get(self._leader), self._cleaned.get(self._leader, 0)
        for batch in reversed(self.batches) if newest_first else self.batches:
            end = batch.base_offset + batch.count
            begin = max(batch.base_offset, first, start)
            if begin >= end:
                continue
            offsets = tuple(range(batch.base_offset, end))
            if removed is not None:
                gaps = removed.gaps(batch.base_offset, end)
                offsets = tuple(offset for start, stop in gaps for offset in range(start, stop))
            if offsets:
                yield LogBatch(batch, offsets, end <= cleaned)

    def appended(self, event: e.RecordsAppended) -> None:
        """A leader appends a batch; a deposed one that does not know it appends to its own log."""
        if event.leader_epoch >= self._epoch:
            self._epoch = event.leader_epoch  # for a reader that begins after the election
            self.batches.append(event)
        else:
            self._tails.setdefault(self._led.get(event.leader_epoch, NO_BROKER), []).append(event)

    def taken(self, event: e.LeadershipTaken) -> None:
        """A broker leads with its own log."""
        self._led[event.leader_epoch] = event.broker
        if event.leader_epoch < self._epoch:
            return  # a resumed broker learns of an election that another one followed
        before, end = self._leader, event.log_end
        own = [one for one in self._tails.pop(event.broker, []) if one.base_offset + one.count > event.log_start]
        bound = own[0].base_offset if own else end
        tail = own
        if event.broker != before:  # a follower may have what the leader's host lost
            tail = [*(one for one in self._crashed if one.base_offset < bound), *own]
            self._crashed = []
        tail = [one for one in tail if one.base_offset < end]
        dropped = self._cut(min(end, tail[0].base_offset if tail else end))
        if dropped and before not in {event.broker, NO_BROKER}:
            self._tails[before] = dropped
        self.batches += tail
        self._epoch, self._leader, self.log_start = event.leader_epoch, event.broker, event.log_start
        self._first_kept = min(self._first_kept, event.log_start)  # its own files

    def truncated(self, event: e.LogTruncated) -> None:
        """A replica drops the end of its log."""
        if event.broker in self._removed:
            self._removed[event.broker].truncate(event.offset)
        if event.broker == self._leader:
            dropped = self._cut(event.offset)
            known = [one for one in self._crashed if one.base_offset >= event.offset + sum(b.count for b in dropped)]
            self._crashed = [*dropped, *known]
        elif event.broker in self._tails:
            self._tails[event.broker] = [one for one in self._tails[event.broker] if one.base_offset < event.offset]

    def survived(self, event: e.RecordsRecovered) -> None:
        """A follower has records that their leader's host lost while they were on their way."""
        found = [
            one for one in self._crashed if (one.producer, one.base_offset) == (event.producer, event.first_offset)
        ]
        if event.broker == self._leader:
            self._cut(event.first_offset)
            self.batches += found
        else:
            tail = [one for one in self._tails.get(event.broker, ()) if one.base_offset < event.first_offset]
            self._tails[event.broker] = [*tail, *found]

    def advanced(self, event: e.LogStartAdvanced) -> None:
        """The leader deletes the beginning of its log."""
        if event.leader_epoch >= self._epoch:
            self.log_start = event.log_start
            if event.reason == RETENTION:
                self._first_kept = event.log_start

    def compacted(self, event: e.LogCompacted) -> None:
        """A broker's cleaner removes records of its own replica."""
        removed = self._removed.setdefault(event.broker, IntervalSet())
        for first, end in zip(event.removed_from, event.removed_to, strict=True):
            removed.add(first, end)
        self._cleaned[event.broker] = event.end

    def _cut(self, offset: int) -> list[e.RecordsAppended]:
        """Drop what lies at or behind an offset; what was dropped."""
        place = len(self.batches)
        while place and self.batches[place - 1].base_offset >= offset:
            place -= 1
        dropped = self.batches[place:]
        del self.batches[place:]
        return dropped


def _acknowledged(event: e.BatchAcknowledged) -> NotAppended | None:
    if not event.duplicate:
        return None
    return NotAppended(event.at_us, event.producer, event.records, event.base_offset, "NONE (duplicate)")


def _retried(event: e.BatchRetried) -> NotAppended | None:
    if event.disconnected_from != NO_BROKER:
        return None  # no answer came: the leader may have appended it
    return NotAppended(event.at_us, event.producer, event.records, -1, event.error)


def _epoch_refused(event: e.ProducerEpochRefused) -> NotAppended | None:
    if not event.partition:
        return None  # the transaction coordinator refused
    return NotAppended(event.at_us, event.transactional_id, 0, -1, "INVALID_PRODUCER_EPOCH")


def _marker_refused(event: e.TransactionMarkerRefused) -> NotAppended:
    return NotAppended(event.at_us, "", 0, -1, f"{event.error} (marker)")


_NOT_APPENDED: Final[dict[type[e.Event], Callable[[Any], NotAppended | None]]] = {
    e.BatchAcknowledged: _acknowledged,
    e.BatchRetried: _retried,
    e.ProducerEpochRefused: _epoch_refused,
    e.TransactionMarkerRefused: _marker_refused,
}
_IN_LOG: Final[dict[type[e.Event], Callable[[LeaderLog, Any], None]]] = {
    e.RecordsAppended: LeaderLog.appended,
    e.LeadershipTaken: LeaderLog.taken,
    e.LogTruncated: LeaderLog.truncated,
    e.RecordsRecovered: LeaderLog.survived,
    e.LogStartAdvanced: LeaderLog.advanced,
    e.LogCompacted: LeaderLog.compacted,
}


READ: Final = frozenset((*_IN_LOG, *_NOT_APPENDED))
"""The events that tell of logs."""
LogOf = Callable[[str], LeaderLog]
"""The log of a partition."""


class LeaderLogs:
    """Reads events into the logs of the partitions that are asked for (`only`)."""

    def __init__(self, only: Iterable[str]) -> None:
        self.logs = {name: LeaderLog() for name in only}

    def __call__(self, event: e.Event) -> None:
        """Read one event."""
        kind = event.__class__
        apply, refusal = _IN_LOG.get(kind), _NOT_APPENDED.get(kind)
        if apply is None and refusal is None:
            return
        log = self.logs.get(event.partition)  # type: ignore[attr-defined]  # each kind of both tables has a partition
        if log is None:
            return
        if apply is not None:
            apply(log, event)
        elif refusal is not None:
            found = refusal(event)
            if found is not None:
                log.not_appended.append(found)
