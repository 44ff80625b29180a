"""The invariant of read_committed consumers (T3), also after the logs of a partition have diverged.

A new leader's log may continue behind the point where it diverged from the former leader's. No event describes the
transactions that ended behind that point (`LogState.unobserved`), so the replicas' logs decide what is aborted, not the
view. In a `lossy` partition readers may still hold lost records. A fetch from a lost log, or from a leader that did not
know of its successor, was right at its time.
"""

from collections.abc import Iterable

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.replicas import ALL_BYTES, LogLookup
from cluster.invariants.sentences import broken
from cluster.protocol.record_batch import ABORT, RecordBatch
from cluster.view import ClusterView


class CommittedReads:
    """Judges the records that read_committed consumers process. `log_of`: for partitions whose logs diverged."""

    def __init__(self, view: ClusterView, logs: dict[str, LogState], log_of: LogLookup | None) -> None:
        self._view, self._logs, self._log_of = view, logs, log_of
        self._was_stable: dict[str, int] = {}  # partition → the last stable offset before its leader took over
        self._since: dict[tuple[str, str], int] = {}  # (member, partition) → leader epoch at its first fetch

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.LeadershipTaken: self.leadership_taken,
            e.PartitionsAssigned: self.began_to_fetch,
            e.PositionsReset: self.began_to_fetch,
            e.RecordsProcessed: self.records_processed,
        }

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """Note the last stable offset of former leaders: readers may still hold records below it."""
        log = self._logs[event.partition]
        if log.lossy and event.leader_epoch == log.taken:
            self._was_stable[event.partition] = log.stable

    def began_to_fetch(self, event: e.PartitionsAssigned | e.PositionsReset) -> None:
        """Note the leader epoch: the consumer holds no records of earlier fetches."""
        names: Iterable[str] = event.partitions if isinstance(event, e.PartitionsAssigned) else event.positions
        for name in names:
            self._since[event.member, name] = self._logs[name].taken

    def records_processed(self, event: e.RecordsProcessed) -> None:
        """T3: a read_committed consumer processes no aborted record."""
        if not self._view.groups[event.group].read_committed:
            return
        log = self._logs[event.partition]
        if log.lossy or log.unobserved:
            aborted = self._aborted_in_the_logs(event)
        else:
            known = self._view.partitions[event.partition].transactions
            aborted = known.aborted.covered(event.first_offset, event.next_offset) if known is not None else 0
        if aborted:
            where = f"{event.partition} {event.first_offset} … {event.next_offset - 1}"
            broken("T3", event, f"{event.member} processed {where}, {aborted} of them aborted")

    def _aborted_in_the_logs(self, event: e.RecordsProcessed) -> int:
        """The number of records that are aborted in the leader's log and readable in no other log."""
        name, first, log = event.partition, event.first_offset, self._logs[event.partition]
        if self._since.get((event.member, name), -1) < log.taken:
            first = max(first, self._was_stable.get(name, 0))
        partition = self._view.partitions[name]
        aborted = self._offsets(partition.taken_by, name, (first, event.next_offset), aborted=True)
        for broker in partition.replicas if aborted and log.lossy else ():
            if broker != partition.taken_by:  # it may still act as leader
                aborted -= self._offsets(broker, name, (first, event.next_offset), aborted=False)
        return len(aborted)

    def _offsets(self, broker: int, name: str, between: tuple[int, int], *, aborted: bool) -> set[int]:
        seen = self._log_of(broker, name) if self._log_of is not None else None
        if seen is None:
            return set()
        first = max(between[0], seen.log_start)
        return _fates(seen.read(first, seen.log_end, ALL_BYTES), first, between[1])[aborted]


def _fates(batches: Iterable[RecordBatch], first: int, end: int) -> tuple[set[int], set[int]]:
    """The offsets from first to end - 1 of readable records, and those of aborted ones.

    An open transaction lasts until a marker of its producer id, in any epoch (`ProducerAppendInfo`).
    """
    readable, aborted = set[int](), set[int]()
    undecided: dict[int, set[int]] = {}
    for batch in batches:
        offsets = set(range(max(batch.base_offset, first), min(batch.next_offset, end)))
        if batch.marker:
            (aborted if batch.marker == ABORT else readable).update(undecided.pop(batch.producer_id, ()))
        elif batch.transactional:
            undecided.setdefault(batch.producer_id, set()).update(offsets)
        else:
            readable |= offsets
    return readable, aborted
