"""The periodic work of a broker on its logs: write-back, retention, compaction, expired producers.

Source: `LogManager.cleanupLogs`, `UnifiedLog.removeExpiredProducers`.
"""

from typing import Final

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.host import BrokerHost
from cluster.broker.replica import Replica
from cluster.storage.partition_log import WRITEBACK_EVERY_US
from cluster.storage.retention import first_kept, segment_starts

FIRST_RETENTION_CHECK_US: Final = 30_000_000  # LogManager's initial task delay


class LogCleanup:
    """The periodic log work of one broker."""

    def __init__(self, host: BrokerHost[Replica], config: BrokerConfig) -> None:
        self._host, self._config = host, config

    def write_back(self) -> None:
        """The host's operating system writes old pages to disk, also while the process is dead."""
        for replica in self._host.replicas.values():
            replica.log.write_back()
        self._host.timeline.call_later(WRITEBACK_EVERY_US, self.write_back)

    def load(self) -> None:
        """The process starts again and reads its logs from disk."""
        for replica in self._host.replicas.values():
            replica.log.started(segment_starts(replica.log, replica.retention))

    def start(self) -> None:
        """Schedule the checks of a process that has started."""
        self._host.after(FIRST_RETENTION_CHECK_US, self._check_retention, None)
        self._host.after(self._config.producer_id_expiration_check_us, self._expire_producers, None)

    def _check_retention(self, _: None) -> None:
        for replica in self._host.replicas.values():
            if not replica.log.compacted:  # else the log cleaner does it
                clean_up(replica)
        self._host.after(self._config.log_retention_check_us, self._check_retention, None)

    def _expire_producers(self, _: None) -> None:
        for replica in self._host.replicas.values():
            if replica.is_leader:  # a follower expires its producers when it becomes leader
                replica.expire_producers()
        self._host.after(self._config.producer_id_expiration_check_us, self._expire_producers, None)


def clean_up(replica: Replica) -> None:
    """Delete segments that `retention.ms` and `retention.bytes` release, or compact; each replica on its own."""
    log, retention = replica.log, replica.retention
    if retention is None:
        log.clean(replica.high_watermark)
    else:
        delete_old_segments(replica)


def delete_old_segments(replica: Replica) -> None:
    """Delete the segments that retention releases (`UnifiedLog.deleteOldSegments`)."""
    log, retention = replica.log, replica.retention
    assert retention is not None
    log_start, size = log.log_start, log.bytes
    log.drop_before(first_kept(log, retention, replica.high_watermark, replica.host.now_us))
    if replica.is_leader and (log_start, size) != (log.log_start, log.bytes):
        replica.emit_log_start("retention")
