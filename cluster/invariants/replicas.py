"""Invariants of the replicas' logs (R6, R8).

Events do not contain a follower's log end, so a flight gives access to its replicas. Nothing here changes them.
"""

from collections.abc import Callable
from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.sentences import broken
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog

LogLookup = Callable[[int, str], PartitionLog | None]
"""(broker, partition) → the replica's log, or None if the broker has none."""

ALL_BYTES: Final = 1 << 62


class ReplicaInvariants:
    """The sentences about replicas. `logs`: each partition's history by its events."""

    def __init__(self, logs: dict[str, LogState], log_of: LogLookup) -> None:
        self._logs, self._log_of = logs, log_of
        # partition → its ISR, and the logs of those brokers
        self._in_sync: dict[str, tuple[tuple[int, ...], list[tuple[int, PartitionLog]]]] = {}
        self._agreed: dict[str, int] = {}  # partition → offset below which all in-sync replicas are equal

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.HighWatermarkAdvanced: self.high_watermark_advanced,
            e.IsrChanged: self.isr_changed,
            e.LeadershipTaken: self.leadership_taken,
            e.LogTruncated: self.log_truncated,
        }

    def high_watermark_advanced(self, event: e.HighWatermarkAdvanced) -> None:
        """R6: every replica that the controller counts as in sync has every committed record.

        Exception: a replica whose host has crashed since (KIP-966): its leader may know of more than its disk has.
        """
        name = event.partition
        log = self._logs[name]
        if event.leader_epoch != log.elected or log.lossy:
            return
        isr, logs = self._in_sync.get(name, ((), []))
        if isr is not log.isr:  # nearly never: a replica keeps its log object for the whole flight
            logs = [(broker, seen) for broker in log.isr if (seen := self._log_of(broker, name)) is not None]
            self._in_sync[name] = log.isr, logs
        for broker, seen in logs:
            if seen.log_end < event.offset and log.replica(broker).crashed_end is None:
                found = f"high watermark {event.offset}, broker-{broker} is in sync and has {seen.log_end}"
                broken("R6", event, f"{name}: {found}")

    def isr_changed(self, event: e.IsrChanged) -> None:
        """R6: a replica that joins the ISR has every committed record; R8: and the same ones."""
        log = self._logs[event.partition]
        if log.lossy:
            return
        for broker in event.isr:
            seen = self._log_of(broker, event.partition)
            if seen is not None and seen.log_end < log.committed and log.replica(broker).crashed_end is None:
                found = f"broker-{broker} is in sync with log end {seen.log_end}, {log.committed} are committed"
                broken("R6", event, f"{event.partition}: {found}")
        self._compare(event, event.partition)

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """R8: committed offsets hold the same batches on every replica, under any leader."""
        self._compare(event, event.partition)

    def log_truncated(self, event: e.LogTruncated) -> None:
        """Compared offsets may be written again from here."""
        self._agreed[event.partition] = min(self._agreed.get(event.partition, 0), event.offset)

    def _compare(self, event: e.IsrChanged | e.LeadershipTaken, name: str) -> None:
        """R8 for the committed offsets that all in-sync replicas have, from the last comparison on."""
        log = self._logs[name]
        logs = [(broker, seen) for broker in log.isr if (seen := self._log_of(broker, name)) is not None]
        end = min([log.committed, *[seen.log_end for _, seen in logs]])
        begin = max([self._agreed.get(name, 0), *[seen.log_start for _, seen in logs]])
        if log.lossy or len(logs) < 2 or begin >= end:
            return
        first, reference = logs[0]
        batches = reference.read(begin, end, ALL_BYTES)
        for broker, seen in logs[1:]:
            other = seen.read(begin, end, ALL_BYTES)
            if seen.segments is not None:
                self._compare_compacted(event, name, (first, broker), (batches, other))
                continue
            for one, two in zip(batches, other, strict=False):
                if one is not two and one != two:
                    found = f"broker-{first} and broker-{broker} differ at offset {one.base_offset}"
                    broken("R8", event, f"{name}: {found}, {log.committed} are committed")
            if len(batches) != len(other):
                found = f"broker-{first} has {len(batches)} batches from {begin} to {end}, broker-{broker} {len(other)}"
                broken("R8", event, f"{name}: {found}")
        self._agreed[name] = end

    def _compare_compacted(
        self,
        event: e.IsrChanged | e.LeadershipTaken,
        name: str,
        brokers: tuple[int, int],
        logs: tuple[list[RecordBatch], list[RecordBatch]],
    ) -> None:
        """R8 where each replica has compacted its own log: what both still have is the same."""
        others = {batch.base_offset: batch for batch in logs[1]}
        for one in logs[0]:
            two = others.get(one.base_offset)
            if two is not None and one.identity != two.identity:
                found = f"broker-{brokers[0]} and broker-{brokers[1]} differ at offset {one.base_offset}"
                broken("R8", event, f"{name}: {found}")
