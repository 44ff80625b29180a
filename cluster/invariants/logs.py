"""Invariants of partitions: leaderships, ISRs, watermarks, logs and producers' sequences (R, L, A, P)."""

from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState, ReplicaHistory
from cluster.invariants.sentences import broken
from cluster.invariants.transactions import TransactionInvariants
from cluster.protocol.names import topic_of
from cluster.view import ClusterView

_SEQUENCES: Final = 0x7FFFFFFF  # after the highest comes 0
_ANY_START: Final = 1 << 62
PROPAGATED_US: Final = 3_000_000  # every leader has the controller's records by then, over links without a fault
_HARMLESS = (
    "kill", "stop", "crash", "abandon_transaction", "fill_disk", "lose_responses"
)  # fmt: skip
"""Kinds of faults that delay nothing between brokers."""


def _known(offset: int | None, otherwise: int) -> int:
    return otherwise if offset is None else offset


def _leave_fork(past: ReplicaHistory, log_end: int) -> int:
    """The offset from which a new leader's log differs from its predecessor's; from now on it is what others fetch."""
    if past.fork is None:
        return log_end
    forked, past.fork = min(log_end, past.fork), None
    return forked


class LogInvariants:
    """The sentences about partitions. `strict`: producers with acks=all; this class fills `logs`."""

    def __init__(
        self,
        view: ClusterView,
        strict: dict[str, None],
        logs: dict[str, LogState],
        transactions: TransactionInvariants,
    ) -> None:
        self._view, self._strict, self.logs, self._transactions = view, strict, logs, transactions
        self._fault_ended_us = 0

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.BrokerStarted: self.broker_started,
            e.LeaderElected: self.leader_elected,
            e.IsrChanged: self.isr_changed,
            e.LeadershipTaken: self.leadership_taken,
            e.RecordsAppended: self.records_appended,
            e.HighWatermarkAdvanced: self.high_watermark_advanced,
            e.LogTruncated: self.log_truncated,
            e.LogStartAdvanced: self.log_start_advanced,
            e.RecordsLost: self.records_lost,
            e.SettingChanged: self.setting_changed,
            e.FaultEnded: self.fault_ended,
        }

    # --- the controller -----------------------------------------------------------------------------------------------

    def leader_elected(self, event: e.LeaderElected) -> None:
        """R2, R3; an unclean election may lose committed records."""
        name, epoch = event.partition, event.leader_epoch
        log = self.logs.get(name)
        if log is None:
            log = self.logs[name] = LogState()
        if epoch <= log.elected:
            broken("R2", event, f"{name}: leader epoch {epoch} after {log.elected}")
        log.elected = epoch
        if event.leader >= 0:
            log.leaders[epoch] = event.leader
            if event.leader not in event.isr:
                broken("R3", event, f"{name}: leader {event.leader} is not in the ISR {event.isr}")
        if event.reason == "unclean":
            log.lossy = True
        self._isr(event, log, event.replicas, led=event.leader >= 0)

    def isr_changed(self, event: e.IsrChanged) -> None:
        """R3."""
        partition = self._view.partitions[event.partition]
        self._isr(event, self.logs[event.partition], partition.replicas, led=partition.leader >= 0)

    def _isr(
        self, event: e.LeaderElected | e.IsrChanged, log: LogState, replicas: tuple[int, ...], *, led: bool
    ) -> None:
        name, isr = event.partition, event.isr
        if not isr or any(broker not in replicas for broker in isr):
            broken("R3", event, f"{name}: ISR {isr} of replicas {replicas}")
        brokers = self._view.brokers
        fenced = [broker for broker in isr if brokers[broker].fenced]
        if fenced and led:
            broken("R3", event, f"{name}: fenced {fenced} in the ISR {isr}")
        for broker in log.isr:
            if broker not in isr:
                past = log.note(broker)
                past.held_at_shrink = min(log.committed, _known(past.crashed_end, log.committed))
        for broker in [each for each in isr if each in log.replicas]:
            past = log.replicas[broker]
            past.held_at_shrink = None
            if broker not in log.isr and brokers[broker].up and brokers[broker].registered:
                past.crashed_end = None  # else it joins by what its former process had fetched
            if broker not in log.isr and past.forgets == _ANY_START:  # it has caught up: it rebuilds no producers
                past.forgets = self._view.partitions[name].log_start
        log.isr = isr
        enough = len(isr) >= min(self._view.topics[topic_of(name)].min_insync_replicas, len(replicas))
        log.shrunk_us = -1 if enough else log.shrunk_us if log.shrunk_us >= 0 else event.at_us

    # --- leaders ------------------------------------------------------------------------------------------------------

    def leadership_taken(self, event: e.LeadershipTaken) -> None:
        """R1, R5; records that the new leader's log lacks no longer count."""
        name, epoch, broker = event.partition, event.leader_epoch, event.broker
        log = self.logs[name]
        elected = log.leaders.setdefault(epoch, broker)
        if elected != broker:
            broken("R1", event, f"{name}: broker-{broker} leads in epoch {epoch}, broker-{elected} was elected")
        if log.epoch in log.leaders:
            log.note(log.leaders[log.epoch]).led = log.watermark
        past = log.replica(broker)
        known = min(past.led, event.log_end)
        if event.high_watermark < known and not log.lossy:
            found = f"broker-{broker} leads with high watermark {event.high_watermark}, it had emitted {known}"
            broken("R4", event, f"{name}: {found}")
        if epoch == log.elected:
            log.lossy = log.lossy or (event.log_end < log.committed and past.crashed_end is not None)
            if log.lossy:
                log.committed = min(log.committed, event.log_end)
            elif event.log_end < log.committed:
                found = f"broker-{broker} leads with log end {event.log_end}, {log.committed} were committed"
                broken("R5", event, f"{name}: {found}")
            if past.crashed_end is not None:
                past.crashed_end = None
        if event.log_start > max(event.high_watermark, log.highest_watermark) or event.high_watermark > event.log_end:
            found = f"log start {event.log_start}, high watermark {event.high_watermark}, log end {event.log_end}"
            broken("L1", event, f"{name}: {found}")
        if epoch >= log.taken:
            forked = _leave_fork(past, event.log_end)
            if forked < max(log.end, event.log_end):
                self._fork(name, log, broker, forked)
            log.taken, log.forked_at = epoch, forked
            self._cut(name, log, forked)
            if forked < event.log_end:  # records behind the fork were never judged: any sequence may follow
                log.unobserved = True
                log.producers.clear()
            self._forgotten(log, min(event.log_start, past.forgets))
            log.end = event.log_end
            self._transactions.decides(name, log, broker, event.high_watermark)

    def _fork(self, name: str, log: LogState, broker: int, offset: int) -> None:
        """Note that the other replicas' records may differ from this leader's from `offset` on."""
        for other in self._view.partitions[name].replicas:
            if other != broker:
                past = log.note(other)
                past.fork = min(offset, _known(past.fork, offset))

    def broker_started(self, event: e.BrokerStarted) -> None:
        """Note that a started broker rebuilds its producers from its disk."""
        if event.at_us:
            for log in self.logs.values():
                past = log.note(event.broker)
                past.reloaded, past.forgets = log.end, _ANY_START

    def _forgotten(self, log: LogState, log_start: int) -> None:
        """Forget producers whose records are all deleted: a truncated or restarted replica may not know them."""
        for producer_id in [each for each, known in log.producers.items() if known[2] < log_start]:
            del log.producers[producer_id]
        known = log.producers
        log.first_offsets = {
            each: first for each, first in log.first_offsets.items() if first >= log_start or each in known
        }

    def _cut(self, name: str, log: LogState, end: int) -> None:
        """Apply a truncation to `end`: the state of producers with later records is uncertain."""
        if end < log.end:
            for producer_id in [each for each, known in log.producers.items() if known[2] >= end]:
                del log.producers[producer_id]
            log.first_offsets = {each: first for each, first in log.first_offsets.items() if first < end}
            transactions = self._view.partitions[name].transactions
            log.open = dict.fromkeys(transactions.open) if transactions is not None else {}
            log.watermark, log.unstable = min(log.watermark, end), min(log.unstable, end)
        log.end = end

    def records_appended(self, event: e.RecordsAppended) -> None:
        """L1, R11, P1, P2: the current leader's log grows at its end."""
        log = self.logs[event.partition]
        if event.leader_epoch < log.taken:  # a deposed leader that does not know its successor, and its followers
            self._fork(event.partition, log, log.leaders[log.taken], event.base_offset)
            return
        base = event.base_offset
        if base != log.end:
            broken("L1", event, f"{event.partition}: a batch at {base}, the log ends at {log.end}")
        if base < log.committed and not log.lossy:
            broken("R11", event, f"{event.partition}: offset {base} is given again, {log.committed} were committed")
        log.end = base + event.count
        if event.producer_id >= 0:
            self._sequence(event, log)
            if event.transactional:
                self._transactions.appended(event, log)

    def _sequence(self, event: e.RecordsAppended, log: LogState) -> None:
        producer_id, epoch, sequence = event.producer_id, event.epoch, event.base_sequence
        following = (sequence + event.count) & _SEQUENCES if sequence >= 0 else -1
        known = log.producers.get(producer_id)
        if known is not None:
            last_epoch, next_sequence, _ = known
            if epoch < last_epoch:
                broken("P2", event, f"{_writer(event)} appends with epoch {epoch} after {last_epoch}")
            if sequence < 0:
                following = next_sequence if epoch == last_epoch else -1
            elif epoch > last_epoch:
                if sequence:
                    broken("P1", event, f"{_writer(event)} begins epoch {epoch} with sequence {sequence}")
            elif next_sequence >= 0 and sequence != next_sequence:
                broken("P1", event, f"{_writer(event)} appends sequence {sequence}, {next_sequence} was next")
            if epoch > last_epoch and log.replica(log.leaders.get(log.taken, -1)).reloaded is not None:
                log.repeats[producer_id] = None
        elif sequence > 0 and producer_id not in log.first_offsets:  # any is legal (`ProducerAppendInfo.checkSequence`)
            log.repeats[producer_id] = None
        log.first_offsets.setdefault(producer_id, event.base_offset)
        log.producers[producer_id] = epoch, following, event.base_offset

    def high_watermark_advanced(self, event: e.HighWatermarkAdvanced) -> None:
        """R4, L1, T1."""
        log, offset, epoch = self.logs[event.partition], event.offset, event.leader_epoch
        if offset > log.highest_watermark:
            log.highest_watermark = offset
        if epoch < log.taken:  # a deposed leader: its readers are right, and it commits nothing
            self._transactions.decides(event.partition, log, log.leaders.get(epoch, -1), offset)
            return
        if epoch != log.epoch:
            log.epoch, log.unstable = epoch, 0
        elif offset < log.watermark:
            broken("R4", event, f"{event.partition}: high watermark {offset} after {log.watermark} in epoch {epoch}")
        log.watermark = offset
        if log.shrunk_us >= 0 and event.at_us - log.shrunk_us > PROPAGATED_US and self._calm(event.at_us):
            found = f"high watermark {offset} with the ISR {log.isr} since {log.shrunk_us / 1_000_000:g} s"
            broken("R13", event, f"{event.partition}: {found}")
        if offset > log.end:
            broken("L1", event, f"{event.partition}: high watermark {offset}, log end {log.end}")
        if epoch == log.elected:
            if offset > log.committed:
                log.committed = offset
            for broker in log.isr if log.replicas else ():
                past = log.replica(broker)
                if past.fork is not None and offset > past.fork:
                    past.fork = None  # it has fetched this leader's later records
        if log.transactional:
            self._transactions.decided(event, log)

    # --- losses -------------------------------------------------------------------------------------------------------

    def log_truncated(self, event: e.LogTruncated) -> None:
        """R9: a broker keeps the committed records that it had; only its host's crash may take them."""
        name, broker = event.partition, event.broker
        log = self.logs[name]
        past = log.note(broker)
        past.reloaded, past.forgets = event.offset, _ANY_START
        past.led = min(past.led, event.offset)
        held = _known(past.held_at_shrink, _known(past.crashed_end, log.committed))
        if event.reason == "crash":
            past.crashed_end = event.offset
            if past.held_at_shrink is not None:
                past.held_at_shrink = min(past.held_at_shrink, event.offset)
        elif not log.lossy and event.offset < held:
            broken("R9", event, f"{name}: broker-{broker} truncates to {event.offset}, {held} were committed")
        if broker == self._view.partitions[name].taken_by:
            self._fork(name, log, broker, event.offset)
            self._cut(name, log, event.offset)

    def log_start_advanced(self, event: e.LogStartAdvanced) -> None:
        """L1: only committed records are deleted."""
        log = self.logs[event.partition]
        if event.log_start > log.highest_watermark:
            broken(
                "L1", event, f"{event.partition}: log start {event.log_start}, high watermark {log.highest_watermark}"
            )

    def records_lost(self, event: e.RecordsLost) -> None:
        """R10."""
        self._lost(event, event.partition, event.producer, event.first_serial, event.records)

    def batch_acknowledged(self, event: e.BatchAcknowledged) -> None:
        """A1, and R10 for records lost before their acknowledgement."""
        if event.producer not in self._strict:
            return
        log = self.logs[event.partition]
        if event.base_offset + event.records > log.highest_watermark and not log.lossy:
            end = event.base_offset + event.records
            found = f"{event.producer}'s records up to {end} are acknowledged"
            broken("A1", event, f"{event.partition}: {found}, the high watermark is {log.highest_watermark}")
        if self._view.partitions[event.partition].lost_serials:
            self._lost(event, event.partition, event.producer, event.first_serial, event.records)

    def _lost(
        self, event: e.RecordsLost | e.BatchAcknowledged, name: str, producer: str, first: int, records: int
    ) -> None:
        log = self.logs[name]
        if producer not in self._strict or log.lossy or log.lacking:
            return
        partition = self._view.partitions[name]
        acked, lost = partition.acked_serials.get(producer), partition.lost_serials.get(producer)
        if acked is None or lost is None:
            return
        found = lost.shared(acked, first, first + records)
        if found:
            broken("R10", event, f"{name}: {found} acknowledged records of {producer} are in no log")

    # --- conditions of sentences --------------------------------------------------------------------------------------

    def fault_ended(self, event: e.FaultEnded) -> None:
        """Note the end of a fault: delayed messages arrive after it."""
        self._fault_ended_us = event.at_us

    def _calm(self, now_us: int) -> bool:
        """Whether every leader has the controller's records of 3 s ago: no fault delays brokers, or did recently."""
        calm = now_us - self._fault_ended_us > PROPAGATED_US
        return calm and all(fault.kind in _HARMLESS for fault in self._view.faults.values())

    def setting_changed(self, event: e.SettingChanged) -> None:
        """Stop judging producers that may lose records from now on."""
        if event.key in {"acks", "enable.idempotence"}:
            for name in event.processes:
                self._strict.pop(name, None)


def _writer(event: e.RecordsAppended) -> str:
    return f"{event.partition}: {event.producer or 'a marker'} (producer id {event.producer_id})"
