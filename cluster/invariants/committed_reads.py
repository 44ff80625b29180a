"""What readers of committed data may be given (T3), also where the logs of a partition have parted.

Where a leader took over whose log goes on behind the point at which it parted from the former leader's, no event told
of it which transactions ended behind that point (`LogState.untold`): the view cannot say what is aborted, and the
replicas' logs do. Where committed records may be gone (`lossy`) readers may hold them yet: what was fetched from a log
that is gone, or from a leader that did not know of its successor, was right when it was fetched.
"""

from collections.abc import Iterable

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.replicas import ALL_BYTES, Look
from cluster.invariants.sentences import broken
from cluster.protocol.record_batch import ABORT, RecordBatch
from cluster.view import ClusterView


class CommittedReads:
    """Judges what readers of committed data process. `look`: at the logs, for partitions that parted."""

    def __init__(self, view: ClusterView, logs: dict[str, LogState], look: Look | None) -> None:
        self._view, self._logs, self._look = view, logs, look
        self._was_stable: dict[str, int] = {}  # partition → below this was stable before its leader took over
        self._since: dict[tuple[str, str], int] = {}  # (member, partition) → the leader epoch when it began to fetch

    def handlers(self) -> Handlers:
        """What it looks at."""
        return {
            e.LeadershipTaken: self.leadership_taken,
            e.PartitionsAssigned: self.began_to_fetch,
            e.PositionsReset: self.began_to_fetch,
            e.RecordsProcessed: self.records_processed,
        }

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """Readers may still hold what the leaders before gave them."""
        log = self._logs[event.partition]
        if log.lossy and event.leader_epoch == log.taken:
            self._was_stable[event.partition] = log.stable

    def began_to_fetch(self, event: e.PartitionsAssigned | e.PositionsReset) -> None:
        """It holds nothing of these partitions that was fetched before."""
        names: Iterable[str] = event.partitions if isinstance(event, e.PartitionsAssigned) else event.positions
        for name in names:
            self._since[event.member, name] = self._logs[name].taken

    def records_processed(self, event: e.RecordsProcessed) -> None:
        """T3: nothing aborted is processed by a reader of committed data."""
        if not self._view.groups[event.group].read_committed:
            return
        log = self._logs[event.partition]
        if log.lossy or log.untold:
            aborted = self._aborted_in_the_logs(event)
        else:
            known = self._view.partitions[event.partition].transactions
            aborted = known.aborted.covered(event.first_offset, event.next_offset) if known is not None else 0
        if aborted:
            where = f"{event.partition} {event.first_offset} … {event.next_offset - 1}"
            broken("T3", event, f"{event.member} processed {where}, {aborted} of them aborted")

    def _aborted_in_the_logs(self, event: e.RecordsProcessed) -> int:
        """How many records are aborted in the log that counts, and were not there to be read in another one."""
        name, first, log = event.partition, event.first_offset, self._logs[event.partition]
        if self._since.get((event.member, name), -1) < log.taken:
            first = max(first, self._was_stable.get(name, 0))
        partition = self._view.partitions[name]
        aborted = self._offsets(partition.taken_by, name, (first, event.next_offset), aborted=True)
        for broker in partition.replicas if aborted and log.lossy else ():
            if broker != partition.taken_by:  # it may lead on, as far as it knows
                aborted -= self._offsets(broker, name, (first, event.next_offset), aborted=False)
        return len(aborted)

    def _offsets(self, broker: int, name: str, between: tuple[int, int], *, aborted: bool) -> set[int]:
        seen = self._look(broker, name) if self._look is not None else None
        if seen is None:
            return set()
        first = max(between[0], seen.log_start)
        return _fates(seen.read(first, seen.log_end, ALL_BYTES), first, between[1])[aborted]


def _fates(batches: Iterable[RecordBatch], first: int, end: int) -> tuple[set[int], set[int]]:
    """Of the offsets first … end - 1: those of records that may be read, and those of aborted ones.

    A transaction that is open lasts until a marker of its producer id comes, whatever its epoch (`ProducerAppendInfo`).
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
