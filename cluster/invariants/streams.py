"""What must hold of each process's own order over a whole flight (Jepsen's poll-skip, nonmonotonic poll and send).

Also of a group's commits, which only an operator, a reset or a loss may move back.
"""

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.replicas import ALL_BYTES, Look
from cluster.invariants.sentences import broken
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView

MS = 1_000
LEFT_BEHIND = 3  # connections given up whose parked commit may not have timed out yet
SETTLED_US = 3_000_000  # what was held up has arrived by then
_DELAYS_NO_REQUEST = ("kill", "crash", "scale", "subscribe", "set")
"""Kinds of faults after which every request still arrives in its usual time, or never."""


class StreamInvariants:
    """The sentences about what comes behind what. `look`: at logs, without which nothing is said of what was passed."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView, logs: dict[str, LogState], look: Look | None) -> None:
        self._view, self._logs, self._look = view, logs, look
        self._next: dict[str, dict[str, int]] = {}  # member → partition → the offset behind what it finished last
        self._serials: dict[tuple[str, str], tuple[int, int]] = {}  # (partition, producer) → (serial, offset) behind
        self._committed: dict[tuple[str, str], int] = {}
        self._used: dict[str, dict[int, int]] = {}  # producer → producer id → the last epoch of its process
        self._left: dict[str, dict[int, int]] = {}  # the same, of its earlier processes
        self._moved: dict[str, None] = {}  # groups whose positions an operator moved
        self._left_behind: dict[str, list[int]] = {}  # member → when it gave up connections that commits may come over
        self._disturbed_us = 0
        timeouts_ms = (spec.broker_config(broker)["offsets.commit.timeout.ms"] for broker in spec.brokers)
        # The commit before the one left behind is written or fails within one, the one left behind within another.
        self._under_way_us = 2 * max(int(str(each)) for each in timeouts_ms) * MS + SETTLED_US
        self._ordered = {
            name: None
            for producer in spec.producers
            if producer.producer_config()["enable.idempotence"]
            and (producer.transactions is None or producer.transactions.on_abort == "drop")
            for name in producer.instances()
        }

    def handlers(self) -> Handlers:
        """What it looks at."""
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
            e.GroupDeleted: self.forget_group,
            e.OffsetsExpired: self.offsets_expired,
        }

    # --- polls --------------------------------------------------------------------------------------------------------

    def forget_member(self, event: e.MemberStarted | e.MemberStopped) -> None:
        """A process begins anew."""
        self._next.pop(event.member, None)

    def forget_partitions(self, event: e.PartitionsAssigned | e.PartitionsRevoked | e.PositionsRolledBack) -> None:
        """Jepsen's allowance: a rebalance may move a reader, and so may an application that gives positions up."""
        known = self._next.get(event.member)
        for name in event.partitions if known else ():
            known.pop(name, None)  # type: ignore[union-attr]

    def positions_reset(self, event: e.PositionsReset) -> None:
        """A position is found, or an application seeks."""
        known = self._next.get(event.member)
        for name in event.positions:
            if known:
                known.pop(name, None)
            if event.reason != "committed":
                self._committed.pop((event.group, name), None)
        if event.reason == "seek":
            self._moved[event.group] = None

    def records_processed(self, event: e.RecordsProcessed) -> None:
        """J1, J2."""
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
        """The application itself gives one up."""
        known = self._next.setdefault(event.member, {})
        known[event.partition] = event.offset + 1

    def _passed(self, event: e.RecordsProcessed, last: int) -> None:
        """J1: between two polls lie markers, aborted records, and what was deleted."""
        partition, log = self._view.partitions[event.partition], self._logs[event.partition]
        seen = self._look(partition.taken_by, event.partition) if self._look is not None else None
        if seen is None or log.lossy:
            return
        known = partition.transactions
        first, end = max(last, seen.log_start), min(event.first_offset, seen.log_end)
        for batch in seen.read(first, end, ALL_BYTES):
            begin, stop = max(batch.base_offset, first), min(batch.next_offset, end)
            if batch.marker or begin >= stop or self._undelivered(event, batch):
                continue
            if known is None or known.aborted.covered(begin, stop) < stop - begin:
                found = f"{event.member} skips {begin} … {stop - 1} of {event.partition}: after {last - 1} it reads "
                broken("J1", event, f"{found}{event.first_offset}")

    def _undelivered(self, event: e.RecordsProcessed, batch: RecordBatch) -> bool:
        """Whether a transaction of it is not decided as far as the view knows: it may be aborted."""
        return batch.transactional and self._view.groups[event.group].read_committed

    # --- sends --------------------------------------------------------------------------------------------------------

    def producer_id_assigned(self, event: e.ProducerIdAssigned) -> None:
        """Its process sends under this id from now on."""
        self._used.setdefault(event.producer, {})[event.producer_id] = event.epoch

    def producer_state_changed(self, event: e.ProducerStateChanged) -> None:
        """A process is gone: what a broker has not read of its connections may come behind what the next one sends."""
        if event.state in {"Dead", "Stopped"}:
            self._left.setdefault(event.producer, {}).update(self._used.pop(event.producer, {}))

    def records_appended(self, event: e.RecordsAppended) -> None:
        """J3: an idempotent producer's records are in a log in the order in which it sent them.

        Of what a log has behind the point where it parted from the one before, no event told (`LogState.parted`).
        What was refused comes in the producer's next epoch, also where a log has it (`LogState.repeats`).
        """
        if event.marker or event.producer not in self._ordered or event.first_serial < 0:
            return
        log = self._logs[event.partition]
        if event.leader_epoch < log.taken:
            return
        if event.epoch <= self._left.get(event.producer, {}).get(event.producer_id, -1):
            return
        used = self._used.setdefault(event.producer, {})
        used[event.producer_id] = max(event.epoch, used.get(event.producer_id, 0))
        key = event.partition, event.producer
        if event.base_sequence == 0 and event.producer_id in log.repeats:
            del log.repeats[event.producer_id]
            self._serials.pop(key, None)
        serial, offset = self._serials.get(key, (0, 0))
        if event.first_serial < serial and offset <= event.base_offset:
            found = f"{event.producer}'s record {event.first_serial} comes after its record {serial - 1}"
            broken("J3", event, f"{event.partition}: {found}")
        self._serials[key] = event.first_serial + event.count, event.base_offset + event.count

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """What a new leader does not have may be sent again; what it has behind the fork was never judged."""
        log = self._logs[event.partition]
        if event.leader_epoch < log.taken:
            return
        for key in [key for key, (_, end) in self._serials.items() if key[0] == event.partition and end > log.parted]:
            del self._serials[key]

    def setting_changed(self, event: e.SettingChanged) -> None:
        """A producer that is idempotent no more promises no order."""
        for name in event.processes:
            self._ordered.pop(name, None)

    # --- commits ------------------------------------------------------------------------------------------------------

    def coordinator_lost(self, event: e.CoordinatorLost) -> None:
        """A commit may wait behind a parked one there; it is served all the same, behind those of the next connection.

        Only one: its answer finds no connection, and the broker drops the rest.
        """
        left = self._still_left_behind(event.member, event.at_us)
        self._left_behind[event.member] = [*left, event.at_us][-LEFT_BEHIND:]

    def disturbed(self, event: e.FaultStarted | e.FaultEnded) -> None:
        """What was held up comes after the fault."""
        self._disturbed_us = event.at_us

    def _still_left_behind(self, member: str, now_us: int) -> list[int]:
        """When it gave up connections whose commit may still come: it is written or has failed after a while.

        Not while a fault may hold it up: a frozen broker's timers stand still, and a link may hold what it carries.
        """
        left = self._left_behind.get(member, [])
        if any(fault.kind not in _DELAYS_NO_REQUEST for fault in self._view.faults.values()):
            return left
        return [lost_us for lost_us in left if now_us - max(lost_us, self._disturbed_us) <= self._under_way_us]

    def offsets_committed(self, event: e.OffsetsCommitted) -> None:
        """G14."""
        known = self._committed
        fallen = [name for name, offset in event.offsets.items() if offset < known.get((event.group, name), -1)]
        if fallen and (left := self._still_left_behind(event.member, event.at_us)):
            self._left_behind[event.member] = left[1:]
            fallen = []
        for name in fallen:
            self._fell(event, name, event.offsets[name])
        for name, offset in event.offsets.items():
            known[event.group, name] = offset

    def group_loaded(self, event: e.GroupLoaded) -> None:
        """G14: a coordinator has what the one before had answered, or newer, which need not be safe yet."""
        for name, offset in event.offsets.items():
            if offset < self._committed.get((event.group, name), -1):
                self._fell(event, name, offset)
                self._committed[event.group, name] = offset

    def _fell(self, event: e.OffsetsCommitted | e.GroupLoaded, name: str, offset: int) -> None:
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
        """A deleted group begins anew."""
        for key in [key for key in self._committed if key[0] == event.group]:
            del self._committed[key]

    def offsets_expired(self, event: e.OffsetsExpired) -> None:
        """As above."""
        for name in event.partitions:
            self._committed.pop((event.group, name), None)
