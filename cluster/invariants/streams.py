"""Invariants of each process's own order over a whole flight (Jepsen's poll-skip, nonmonotonic poll and send).

And of a group's committed offsets: only an operator, a reset or a loss moves them back.
"""

from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.replicas import ALL_BYTES, LogLookup
from cluster.invariants.sentences import broken
from cluster.protocol.names import ADMIN_CLIENT
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.state import PartitionView

MS: Final = 1_000
ABANDONED_KEPT: Final = 3  # closed connections whose parked commit may not have timed out yet
SETTLED_US: Final = 3_000_000  # delayed messages have arrived by then
_DELAYS_NO_REQUEST = ("kill", "crash", "scale", "subscribe", "set")
"""Kinds of faults after which every request still arrives in its usual time, or never."""


class StreamInvariants:
    """The sentences about the order of polls, sends and commits. Without `log_of` J1 is not judged."""

    def __init__(
        self, spec: ScenarioSpec, view: ClusterView, logs: dict[str, LogState], log_of: LogLookup | None
    ) -> None:
        self._view, self._logs, self._log_of = view, logs, log_of
        self._next: dict[str, dict[str, int]] = {}  # member → partition → next offset after its last record
        self._committed: dict[tuple[str, str], int] = {}
        self._committers: dict[tuple[str, str], str] = {}  # in groups with consumers that call assign()
        self._assigning = {group.name: None for group in spec.groups if group.assign}
        self._used: dict[str, dict[int, int]] = {}  # producer → producer id → the last epoch of its process
        self._left: dict[str, dict[int, int]] = {}  # the same, for its earlier processes
        self._moved: dict[str, None] = {}  # groups whose offsets an operator moved
        self._abandoned_us: dict[str, list[int]] = {}  # member → when it closed connections with a commit
        self._disturbed_us = 0
        timeouts_ms = [spec.broker_config(broker)["offsets.commit.timeout.ms"] for broker in spec.brokers]
        # The commit before the abandoned one is written or fails within one timeout, the abandoned one within another.
        self._under_way_us = 2 * max(int(str(each)) for each in timeouts_ms) * MS + SETTLED_US
        self._ordered = {
            name: None
            for producer in spec.producers
            if producer.producer_config()["enable.idempotence"]
            and (producer.transactions is None or producer.transactions.on_abort == "drop")
            for name in producer.instances()
        }

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.MemberStarted: self.forget_member,
            e.MemberStopped: self.forget_member,
            e.PartitionsAssigned: self.forget_partitions,
            e.PartitionsRevoked: self.forget_partitions,
            e.PositionsRolledBack: self.forget_partitions,
            e.PositionsReset: self.positions_reset,
            e.RecordsProcessed: self.records_processed,
            e.RecordSkipped: self.record_skipped,
            e.ProducerIdAssigned: self.producer_id_assigned,
            e.ProducerStateChanged: self.producer_state_changed,
            e.RecordsAppended: self.records_appended,
            e.LeadershipTaken: self.leadership_taken,
            e.SettingChanged: self.setting_changed,
            e.OffsetsCommitted: self.offsets_committed,
            e.CoordinatorLost: self.coordinator_lost,
            e.FaultStarted: self.disturbed,
            e.FaultEnded: self.disturbed,
            e.GroupLoaded: self.group_loaded,
            e.ConsumerGroupLoaded: self.group_loaded,
            e.GroupDeleted: self.forget_group,
            e.OffsetsExpired: self.offsets_expired,
            e.OffsetsDeleted: self.offsets_expired,
        }

    # --- polls --------------------------------------------------------------------------------------------------------

    def forget_member(self, event: e.MemberStarted | e.MemberStopped) -> None:
        """Forget the positions of a process that starts or ends."""
        self._next.pop(event.member, None)

    def forget_partitions(self, event: e.PartitionsAssigned | e.PartitionsRevoked | e.PositionsRolledBack) -> None:
        """Forget positions that a rebalance, or an application that rolls back, may move (as Jepsen does)."""
        known = self._next.get(event.member)
        for name in event.partitions if known else ():
            known.pop(name, None)  # type: ignore[union-attr]

    def positions_reset(self, event: e.PositionsReset) -> None:
        """Forget positions that the consumer looked up, or that an application set by seek()."""
        known = self._next.get(event.member)
        for name in event.positions:
            if known:
                known.pop(name, None)
            if event.reason != "committed":
                self._committed.pop((event.group, name), None)
        if event.reason == "seek":
            self._moved[event.group] = None

    def records_processed(self, event: e.RecordsProcessed) -> None:
        """J1, J2. A worker thread may end a record after its partition was revoked, and assigned again (seed 830)."""
        if event.next_offset > self._view.members[event.member].positions.get(event.partition, -1):
            return  # not of a poll() since then
        known = self._next.setdefault(event.member, {})
        last = known.get(event.partition)
        known[event.partition] = event.next_offset
        if last is None or event.first_offset == last:
            return
        if event.first_offset < last:
            found = f"{event.member} reads offset {event.first_offset} of {event.partition} after {last - 1}"
            broken("J2", event, found)
        self._passed(event, last)

    def record_skipped(self, event: e.RecordSkipped) -> None:
        """Note a record that the application skips."""
        known = self._next.setdefault(event.member, {})
        known[event.partition] = event.offset + 1

    def _passed(self, event: e.RecordsProcessed, last: int) -> None:
        """J1: only markers, aborted, deleted and compacted records lie between two polls."""
        partition, log = self._view.partitions[event.partition], self._logs[event.partition]
        seen = self._log_of(partition.taken_by, event.partition) if self._log_of is not None else None
        if seen is None or log.lossy:
            return
        known = partition.transactions
        first, end = max(last, seen.log_start), min(event.first_offset, seen.log_end)
        for batch in seen.read(first, end, ALL_BYTES):
            begin, stop = max(batch.base_offset, first), min(batch.next_offset, end)
            if batch.marker or begin >= stop or self._undelivered(event, batch):
                continue
            if seen.segments is not None and not _left(partition, batch, begin, stop):
                continue
            if known is None or known.aborted.covered(begin, stop) < stop - begin:
                found = f"{event.member} skips {begin} … {stop - 1} of {event.partition}: after {last - 1} it reads "
                broken("J1", event, f"{found}{event.first_offset}")

    def _undelivered(self, event: e.RecordsProcessed, batch: RecordBatch) -> bool:
        """Whether the batch's transaction may be aborted, and the consumer reads only committed records."""
        return batch.transactional and self._view.groups[event.group].read_committed

    # --- sends --------------------------------------------------------------------------------------------------------

    def producer_id_assigned(self, event: e.ProducerIdAssigned) -> None:
        """Note the producer id that a process sends with."""
        self._used.setdefault(event.producer, {})[event.producer_id] = event.epoch

    def producer_state_changed(self, event: e.ProducerStateChanged) -> None:
        """Note the ids of an ended process: a broker may read its last requests after the next process's."""
        if event.state in {"Dead", "Stopped"}:
            self._left.setdefault(event.producer, {}).update(self._used.pop(event.producer, {}))

    def records_appended(self, event: e.RecordsAppended) -> None:
        """J3: an idempotent producer's records are in a log in the order of send().

        No event describes records behind a fork of logs (`LogState.forked_at`). Refused records come again in the
        producer's next epoch, even if a log has them (`LogState.repeats`).
        """
        producer, first_serial = event.producer, event.first_serial
        if producer not in self._ordered or first_serial < 0 or event.marker:
            return
        log = self._logs[event.partition]
        if event.leader_epoch < log.taken:
            return
        producer_id, epoch = event.producer_id, event.epoch
        left = self._left.get(producer)
        if left is not None and epoch <= left.get(producer_id, -1):
            return
        used = self._used.get(producer)
        if used is None:
            used = self._used[producer] = {}
        if epoch >= used.get(producer_id, 0):
            used[producer_id] = epoch
        if event.base_sequence == 0 and producer_id in log.repeats:
            del log.repeats[producer_id]
            log.sent.pop(producer, None)
        base_offset, count = event.base_offset, event.count
        known = log.sent.get(producer)
        if known is not None and first_serial < known[0] and known[1] <= base_offset:
            found = f"{producer}'s record {first_serial} comes after its record {known[0] - 1}"
            broken("J3", event, f"{event.partition}: {found}")
        log.sent[producer] = first_serial + count, base_offset + count

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """Forget records behind the fork: the producer may send them again, and the new leader's were never judged."""
        log = self._logs[event.partition]
        if event.leader_epoch < log.taken:
            return
        for producer in [each for each, (_, end) in log.sent.items() if end > log.forked_at]:
            del log.sent[producer]

    def setting_changed(self, event: e.SettingChanged) -> None:
        """Stop judging a producer that may no longer be idempotent."""
        for name in event.processes:
            self._ordered.pop(name, None)

    # --- commits ------------------------------------------------------------------------------------------------------

    def coordinator_lost(self, event: e.CoordinatorLost) -> None:
        """Note a closed connection: a commit that waits behind a parked one may be served after later ones.

        At most one commit: its answer finds no connection, and the broker drops the rest.
        """
        left = self._pending_abandoned(event.member, event.at_us)
        self._abandoned_us[event.member] = [*left, event.at_us][-ABANDONED_KEPT:]

    def disturbed(self, event: e.FaultStarted | e.FaultEnded) -> None:
        """Note a disturbance: delayed commits arrive after the fault."""
        self._disturbed_us = event.at_us

    def _pending_abandoned(self, member: str, now_us: int) -> list[int]:
        """The instants of closed connections whose commit may still arrive: it is written or fails after a while.

        A fault may delay it longer: a paused broker's timers do not run, and a link may hold messages.
        """
        left = self._abandoned_us.get(member, [])
        if any(fault.kind not in _DELAYS_NO_REQUEST for fault in self._view.faults.values()):
            return left
        return [lost_us for lost_us in left if now_us - max(lost_us, self._disturbed_us) <= self._under_way_us]

    def offsets_committed(self, event: e.OffsetsCommitted) -> None:
        """G14."""
        known = self._committed
        if event.member == ADMIN_CLIENT:  # an administrator moves them anywhere
            known.update({(event.group, name): offset for name, offset in event.offsets.items()})
            return
        fallen = [name for name, offset in event.offsets.items() if offset < known.get((event.group, name), -1)]
        if fallen and (left := self._pending_abandoned(event.member, event.at_us)):
            self._abandoned_us[event.member] = left[1:]
            fallen = []
        for name in fallen:
            if not self._own_position(event, name):
                self._fell(event, name, event.offsets[name])
        for name, offset in event.offsets.items():
            known[event.group, name] = offset
        if event.group in self._assigning:
            self._committers |= {(event.group, name): event.member for name in event.offsets}

    def _own_position(self, event: e.OffsetsCommitted, name: str) -> bool:
        """Whether a consumer with assign() commits after another one: the last commit counts, wherever it stands."""
        return event.generation < 0 and self._committers.get((event.group, name), event.member) != event.member

    def group_loaded(self, event: e.GroupLoaded | e.ConsumerGroupLoaded) -> None:
        """G14: a loading coordinator has every answered commit, or newer ones that need not be committed yet."""
        for name, offset in event.offsets.items():
            if offset < self._committed.get((event.group, name), -1):
                self._fell(event, name, offset)
                self._committed[event.group, name] = offset

    def _fell(self, event: e.OffsetsCommitted | e.GroupLoaded | e.ConsumerGroupLoaded, name: str, offset: int) -> None:
        log, offsets = self._logs.get(name), self._logs.get(self._view.groups[event.group].coordinator_partition)
        if (
            event.group in self._moved
            or log is None
            or log.lossy
            or offsets is None
            or offsets.lossy
            or offsets.lacking
        ):
            return
        before = self._committed[event.group, name]
        broken("G14", event, f"{event.group} has committed {offset} in {name} after {before}")

    def forget_group(self, event: e.GroupDeleted) -> None:
        """Forget a deleted group."""
        for key in [key for key in self._committed if key[0] == event.group]:
            del self._committed[key]

    def offsets_expired(self, event: e.OffsetsExpired | e.OffsetsDeleted) -> None:
        """Forget offsets that are dropped."""
        for name in event.partitions:
            self._committed.pop((event.group, name), None)


def _left(partition: PartitionView, batch: RecordBatch, first: int, end: int) -> bool:
    """Whether compaction has left a record of a batch at these offsets, in every log that led or serves consumers."""
    shift = batch.first_serial - batch.base_offset
    gone = partition.compacted_serials.get(batch.producer)
    apart = [gaps.offsets for gaps in partition.gaps.values()]
    for place in batch.places:
        offset = batch.base_offset + place
        if (
            first <= offset < end
            and (gone is None or not gone.covered(offset + shift, offset + shift + 1))
            and not any(each.covered(offset, offset + 1) for each in apart)
        ):
            return True
    return False
