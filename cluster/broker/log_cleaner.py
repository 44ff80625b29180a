"""A broker's log cleaner: it compacts, one after the other, the logs of the replicas that the broker holds.

Theory of operation. The cleaner takes the dirtiest log, cleans it, and looks again at once. Without a log that is dirty
enough it waits for `log.cleaner.backoff.ms`. Each replica's log is cleaned by its own broker, up to the last stable
offset that this broker knows: so replicas have the same records at different times. After each look the cleaner deletes
old segments of compacted logs. A cleaning takes no time here. Source: `LogCleaner.CleanerThread`.
"""

from typing import Final

from cluster.broker.host import BrokerHost
from cluster.broker.log_cleanup import delete_old_segments
from cluster.broker.replica import Replica
from cluster.events import LogCompacted
from cluster.storage.cleanable import LogToClean, filthiest, log_to_clean

LEAST_BACKOFF_US: Final = 1_000
"""Kafka's cleaner may look again at once, `log.cleaner.backoff.ms` = 0, because looking takes it time."""


class LogCleaner:
    """The cleaner of one broker; a broker without a compacted log does not run it."""

    def __init__(self, host: BrokerHost[Replica], backoff_us: int) -> None:
        self._host, self._backoff_us = host, max(LEAST_BACKOFF_US, backoff_us)
        self._incarnation = -1  # the process that it runs in

    def start(self) -> None:
        """Begin to clean, if this broker has a compacted log and does not clean already."""
        if self._incarnation != self._host.incarnation and self._compacted():
            self._incarnation = self._host.incarnation
            self._host.after(0, self._work, None)

    def _compacted(self) -> list[Replica]:
        return [replica for replica in self._host.replicas.values() if replica.log.compacted]

    def _work(self, _: None) -> None:
        while self._clean_filthiest():
            pass
        for replica in self._compacted():
            delete_old_segments(replica)
        self._host.after(self._backoff_us, self._work, None)

    def _clean_filthiest(self) -> bool:
        known = [self._to_clean(replica) for replica in self._compacted()]
        chosen = filthiest([each for each in known if each is not None])
        if chosen is None:
            return False
        first_dirty = chosen.segments.first_dirty
        removed = chosen.log.compact(chosen.first_uncleanable, chosen.retention, self._host.now_us).removed
        self._host.emit(
            LogCompacted(
                partition=chosen.log.partition,
                broker=self._host.id,
                first_dirty=first_dirty,
                end=chosen.segments.first_dirty,
                records=sum(end - first for first, end in removed),
                removed_from=tuple([first for first, _ in removed]),
                removed_to=tuple([end for _, end in removed]),
                bytes=chosen.log.bytes,
            )
        )
        return True

    def _to_clean(self, replica: Replica) -> LogToClean | None:
        log, high_watermark = replica.log, replica.known_high_watermark()
        assert replica.retention is not None
        log.recall_transactions()
        log.transactions.high_watermark_at(high_watermark)
        stable = log.transactions.last_stable_offset(high_watermark, log.log_start)
        if replica.is_leader:
            replica.expire_producers()
        return log_to_clean(log, replica.retention, stable, self._host.now_us)
