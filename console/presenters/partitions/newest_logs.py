"""The newest batches of every partition up to the shown instant, beside the view, which keeps no batch."""

from collections import Counter, deque
from typing import Final

from cluster import events as e
from recordings.kafka_tools.leader_logs import READ, LeaderLog, LeaderLogs

KEPT: Final = 20_000  # batches of all partitions together
FORGOTTEN: Final = 1_000  # at once: a list forgets its oldest batches in one go
REFUSALS: Final = 200  # of a partition


class NewestLogs:
    """Follows the leaders' logs and forgets the oldest batches. It may begin at any event of a flight."""

    def __init__(self) -> None:
        self._read = LeaderLogs(())
        self._order: deque[str] = deque()  # the partition of each batch, oldest first

    def observe(self, event: e.Event) -> None:
        """Take one event."""
        if event.__class__ not in READ:
            return  # most events
        partition: str = event.partition  # type: ignore[attr-defined]  # each kind that is read has one
        log = self._read.logs.get(partition)
        if log is None:  # a broker may refuse before it has ever led
            log = self._read.logs[partition] = LeaderLog()
        self._read(event)
        if len(log.not_appended) >= 2 * REFUSALS:
            del log.not_appended[:-REFUSALS]
        if isinstance(event, e.RecordsAppended):
            self._order.append(event.partition)
            if len(self._order) >= KEPT + FORGOTTEN:
                self._forget()

    def of(self, partition: str) -> LeaderLog:
        """What is known of a partition's log."""
        return self._read.logs.get(partition) or LeaderLog()

    def _forget(self) -> None:
        oldest = Counter(self._order.popleft() for _ in range(FORGOTTEN))
        for partition, number in oldest.items():
            del self._read.logs[partition].batches[:number]
