"""The truth about delivery: the fate of each record of a group's topics, one by one, from logs, clients and notes."""

from collections.abc import Callable

from cluster.broker.replica import Replica
from tests.support.finished_records import Identity
from tests.support.independent_recorder import IndependentRecorder
from tests.support.lost_records import Vanished
from tests.support.passed_over_records import names

Counts = dict[str, int]
FATES = (
    "acknowledged", "delivered", "lost", "unread", "skipped", "delivered_unacknowledged", "delivered_then_lost",
)  # fmt: skip
SKIPPED = ("before_start", "compacted", "deleted")
"""Why records are skipped."""


class Fates:
    """One group's records of one partition: what is delivered need not be looked at again."""

    def __init__(
        self, group: str, name: str, recorder: IndependentRecorder, copies: Callable[[], list[Replica]]
    ) -> None:
        self._group, self._name, self._recorder = group, name, recorder
        self._vanished = Vanished(copies)
        self._seen = 0
        self._waiting: set[Identity] = set()
        self._delivered: set[Identity] = set()

    def look(self, *, read_committed: bool) -> set[Identity]:
        """Sort what was acknowledged by now; returns the records that no log holds."""
        recorder, name = self._recorder, self._name
        acked = recorder.acked_batches[name]
        for producer, partition, first in list(acked)[self._seen :]:
            self._waiting |= {
                (producer, partition, first + number) for number in range(acked[producer, partition, first])
            }
        self._seen = len(acked)
        completions = recorder.completions[self._group]
        self._delivered |= self._waiting & completions.written[name]
        left_out = completions.copies | (recorder.passages.aborted[name] if read_committed else set())
        self._delivered -= left_out
        self._waiting -= self._delivered | left_out
        return self._vanished.gone(acked, recorder.judged)

    def count(self, committed: int, *, read_committed: bool) -> Counts:
        """The counts as of now; `committed` is the group's commit, -1 for none."""
        recorder, name = self._recorder, self._name
        gone = self.look(read_committed=read_committed)
        log, notes, key = recorder.leaders[name].log, recorder.passages, (self._group, name)
        progress = recorder.progress.get(key)
        passed, before, replaced = set(notes.passed[key]), set[Identity](), notes.compacted[name]
        if progress is not None and progress.start <= log.log_end:
            before = notes.before_start[key] | names(notes.records(log, progress.log_end, progress.start))
            now, met = set(notes.records(log, max(progress.start, log.log_start), committed)), notes.met(*key)
            passed |= names(now - met) - notes.compacted[name]
            passed_by = set(notes.records(log, progress.start, committed))
            replaced = replaced | (names(passed_by & met) - notes.passed[key])
        lost = self._waiting & (gone | (passed - before - (replaced - notes.compacted[name])))
        deleted = names(notes.records(log, 0, log.log_start))
        skipped = (self._waiting - lost) & (before | replaced | deleted)
        finished = set(recorder.completions[self._group].written[name]) - recorder.completions[self._group].copies
        if read_committed:
            finished -= notes.aborted[name]
        return {
            "acknowledged": len(self._waiting) + len(self._delivered),
            "delivered": len(self._delivered),
            "lost": len(lost),
            "unread": len(self._waiting - lost - skipped),
            "skipped": len(skipped),
            "before_start": len(skipped & before),
            "compacted": len((skipped - before) & replaced),
            "deleted": len(skipped - before - replaced),
            "delivered_unacknowledged": len(finished - self._delivered),
            "delivered_then_lost": len(self._delivered & gone),
        }
