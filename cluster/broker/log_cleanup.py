"""What a broker does with its logs: it loads them, deletes old segments, forgets producers that write no more.

Source: `LogManager.cleanupLogs`, `UnifiedLog.removeExpiredProducers`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cluster.broker.replica import Replica
from cluster.config import broker_number
from cluster.storage.partition_log import WRITEBACK_EVERY_US
from cluster.virtual_time import Timeline

FIRST_RETENTION_CHECK_US = 30_000_000  # LogManager's initial task delay


class UpkeepHost(Protocol):
    """The broker whose logs these are."""

    replicas: dict[str, Replica]
    timeline: Timeline

    def after(self, delay_us: int, action: Callable[[Any], object], argument: object) -> None:
        """Do something in a while, unless this life of the process is over by then."""


class LogUpkeep:
    """One broker's."""

    def __init__(self, host: UpkeepHost, config: Mapping[str, object]) -> None:
        self._host = host
        self._retention_check_us = 1_000 * broker_number(config, "log.retention.check.interval.ms")
        self._expiration_check_us = 1_000 * broker_number(config, "producer.id.expiration.check.interval.ms")

    def write_back(self) -> None:
        """The host's operating system writes old pages to disk, whether or not the process lives."""
        for replica in self._host.replicas.values():
            replica.log.write_back()
        self._host.timeline.call_later(WRITEBACK_EVERY_US, self.write_back)

    def load(self) -> None:
        """The process starts again: with what its disk has."""
        for replica in self._host.replicas.values():
            replica.started()

    def start(self) -> None:
        """The process is up."""
        self._host.after(FIRST_RETENTION_CHECK_US, self._check_retention, None)
        self._host.after(self._expiration_check_us, self._expire_producers, None)

    def _check_retention(self, _: None) -> None:
        for replica in self._host.replicas.values():
            replica.delete_old_segments()
        self._host.after(self._retention_check_us, self._check_retention, None)

    def _expire_producers(self, _: None) -> None:
        for replica in self._host.replicas.values():
            if replica.is_leader:  # a follower looks when it takes over: nobody asks it before
                replica.expire_producers()
        self._host.after(self._expiration_check_us, self._expire_producers, None)
