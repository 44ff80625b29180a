"""What must hold of the replicas themselves, as their logs show (R6, R8).

Events do not tell how far a follower has got: a flight lends its replicas to be looked at. Nothing here changes them.
"""

from collections.abc import Callable

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.sentences import broken
from cluster.storage.partition_log import PartitionLog

Look = Callable[[int, str], PartitionLog | None]
"""(broker, partition) → the log there; None when the broker has none."""

ALL_BYTES = 1 << 62


class ReplicaInvariants:
    """The sentences about replicas. `logs`: what is known of each partition by its events."""

    def __init__(self, logs: dict[str, LogState], look: Look) -> None:
        self._logs, self._look = logs, look
        self._in_sync: dict[
            str, tuple[tuple[int, ...], list[tuple[int, PartitionLog]]]
        ] = {}  # partition → ISR, its logs
        self._agreed: dict[str, int] = {}  # partition → below this all replicas in sync were found equal

    def handlers(self) -> Handlers:
        """What it looks at."""
        return {
            e.HighWatermarkAdvanced: self.high_watermark_advanced,
            e.IsrChanged: self.isr_changed,
            e.LeadershipTaken: self.leadership_taken,
            e.LogTruncated: self.log_truncated,
        }

    def high_watermark_advanced(self, event: e.HighWatermarkAdvanced) -> None:
        """R6: what is committed is on every replica that the controller counts as in sync.

        Except where the host of one has crashed since (KIP-966): its leader may have heard of more than is on the disk.
        """
        name = event.partition
        log = self._logs[name]
        if event.leader_epoch != log.elected or log.lossy:
            return
        isr, logs = self._in_sync.get(name, ((), []))
        if isr is not log.isr:  # nearly never: a replica keeps its log object for the whole flight
            logs = [(broker, seen) for broker in log.isr if (seen := self._look(broker, name)) is not None]
            self._in_sync[name] = log.isr, logs
        for broker, seen in logs:
            if seen.log_end < event.offset and broker not in log.short:
                found = f"high watermark {event.offset}, broker-{broker} is in sync and has {seen.log_end}"
                broken("R6", event, f"{name}: {found}")

    def isr_changed(self, event: e.IsrChanged) -> None:
        """R6: who comes in has everything that is committed; R8: and it is the same."""
        log = self._logs[event.partition]
        if log.lossy:
            return
        for broker in event.isr:
            seen = self._look(broker, event.partition)
            if seen is not None and seen.log_end < log.committed and broker not in log.short:
                found = f"broker-{broker} is in sync with log end {seen.log_end}, {log.committed} are committed"
                broken("R6", event, f"{event.partition}: {found}")
        self._compare(event, event.partition)

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """R8: committed offsets hold the same on every replica, under any leader."""
        self._compare(event, event.partition)

    def log_truncated(self, event: e.LogTruncated) -> None:
        """What was compared may be written anew."""
        self._agreed[event.partition] = min(self._agreed.get(event.partition, 0), event.offset)

    def _compare(self, event: e.IsrChanged | e.LeadershipTaken, name: str) -> None:
        """R8, from where replicas were last found equal up to what all in sync have and is committed."""
        log = self._logs[name]
        logs = [(broker, seen) for broker in log.isr if (seen := self._look(broker, name)) is not None]
        end = min([log.committed, *(seen.log_end for _, seen in logs)])
        begin = max([self._agreed.get(name, 0), *(seen.log_start for _, seen in logs)])
        if log.lossy or len(logs) < 2 or begin >= end:
            return
        first, reference = logs[0]
        batches = reference.read(begin, end, ALL_BYTES)
        for broker, seen in logs[1:]:
            other = seen.read(begin, end, ALL_BYTES)
            for one, two in zip(batches, other, strict=False):
                if one is not two and one != two:
                    found = f"broker-{first} and broker-{broker} differ at offset {one.base_offset}"
                    broken("R8", event, f"{name}: {found}, {log.committed} are committed")
            if len(batches) != len(other):
                found = f"broker-{first} has {len(batches)} batches from {begin} to {end}, broker-{broker} {len(other)}"
                broken("R8", event, f"{name}: {found}")
        self._agreed[name] = end
