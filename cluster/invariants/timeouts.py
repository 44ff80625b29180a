"""Invariants of the durations of transactions, brokers and batches, by the configuration alone (S5, S6, S7)."""

from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.sentences import broken
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView

MS: Final = 1_000
LATE_US: Final = 1_000_000
SETTLED_US: Final = 3_000_000
_OVER = {"Empty", "CompleteCommit", "CompleteAbort"}
TIMED_OUT: Final = "timeout"
SESSION_EXPIRED: Final = "session expired"
_OF_PROCESSES = (
    "kill", "stop", "crash", "pause", "pause_heartbeats", "stall", "fill_disk", "slow_disk", "abandon_transaction"
)  # fmt: skip
"""Kinds of faults that leave every link as it is."""


class TimeoutInvariants:
    """The sentences about timeouts outside groups."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView) -> None:
        self._view = view
        config = spec.broker_config(spec.brokers[0])
        session_ms, beat_ms = config["broker.session.timeout.ms"], config["broker.heartbeat.interval.ms"]
        assert isinstance(session_ms, int)
        assert isinstance(beat_ms, int)
        self._session_us, self._beat_us = session_ms * MS, beat_ms * MS
        self._lasts_us: dict[str, int] = {}  # transactional id → transaction.timeout.ms
        self._delivery_us: dict[str, int] = {}  # producer → delivery.timeout.ms
        for producer in spec.producers:
            settings = producer.producer_config()
            for number, name in enumerate(producer.instances(), 1):
                self._delivery_us[name] = int(str(settings["delivery.timeout.ms"])) * MS
                if producer.transactions is not None:  # producers with the same id have their own timeouts
                    own_id = producer.transactions.id_of(number)
                    lasts_us = int(str(settings["transaction.timeout.ms"])) * MS
                    self._lasts_us[own_id] = min(lasts_us, self._lasts_us.get(own_id, lasts_us))
        self._ended_us: dict[str, int] = {}  # transactional id → the end of its last transaction
        self._known: dict[str, tuple[str, int, int]] = {}  # transactional id → state, producer id and epoch
        self._down_us: dict[int, int] = {}  # broker → since when its process is paused or stopped
        self._frozen: dict[int, tuple[int, int]] = {}  # broker → begin and end of its last pause
        self._silent_us: dict[int, int] = {}  # broker that is down → since when it may have sent no heartbeat
        self._controller_us = self._disturbed_us = self._held_up_us = 0
        self._of_processes: dict[int, None] = {}  # faults that delay no message
        self._outstanding: dict[str, dict[str, list[int]]] = {}  # producer → partition → openings of its open batches

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.TransactionStateChanged: self.transaction_state_changed,
            e.TransactionFenced: self.transaction_fenced,
            e.BrokerPaused: self.broker_down,
            e.BrokerStopped: self.broker_down,
            e.BrokerResumed: self.broker_up,
            e.BrokerUnfenced: self.broker_up,
            e.BrokerFenced: self.broker_fenced,
            e.ControllerElected: self.controller_elected,
            e.FaultStarted: self.fault,
            e.FaultEnded: self.fault,
            e.SettingChanged: self.setting_changed,
            e.ProducerStateChanged: self.producer_state_changed,
            e.BatchOpened: self.batch_opened,
            e.BatchSplit: self.batch_split,
            e.BatchAcknowledged: self.batch_acknowledged,
            e.BatchFailed: self.batch_failed,
        }

    # --- transactions -------------------------------------------------------------------------------------------------

    def transaction_state_changed(self, event: e.TransactionStateChanged) -> None:
        """Note the end of a transaction: the next one begins after it. A repeated state is no new end."""
        now = event.state, event.producer_id, event.epoch
        if event.state in _OVER and now != self._known.get(event.transactional_id):
            self._ended_us[event.transactional_id] = event.at_us
        self._known[event.transactional_id] = now

    def transaction_fenced(self, event: e.TransactionFenced) -> None:
        """S5."""
        ended_us = self._ended_us.get(event.transactional_id)
        lasts_us = self._lasts_us.get(event.transactional_id)
        if event.reason == TIMED_OUT and ended_us is not None and lasts_us is not None:
            age_us = event.at_us - ended_us
            if age_us < lasts_us:
                found = f"aborted for its age {age_us / MS:g} ms after the one before was over"
                broken("S5", event, f"{event.transactional_id}: {found}, it may last {lasts_us / MS:g} ms")

    # --- brokers ------------------------------------------------------------------------------------------------------

    def broker_down(self, event: e.BrokerPaused | e.BrokerStopped) -> None:
        """Note that a broker sends no heartbeats; one that was just resumed may not have sent any since."""
        if event.broker not in self._down_us:
            since_us, until_us = self._frozen.get(event.broker, (0, -self._beat_us - 1))
            just_resumed = event.at_us - until_us <= self._beat_us
            self._silent_us[event.broker] = since_us if just_resumed else event.at_us
            self._down_us[event.broker] = event.at_us
        self._disturbed_us = event.at_us

    def broker_up(self, event: e.BrokerResumed | e.BrokerUnfenced) -> None:
        """Note that a broker sends heartbeats again; a started one registers after its former session has expired."""
        self._held_up_us = event.at_us
        if self._down_us.pop(event.broker, None) is not None and isinstance(event, e.BrokerResumed):
            self._frozen[event.broker] = (self._silent_us[event.broker], event.at_us)
        self._disturbed_us = event.at_us

    def controller_elected(self, event: e.ControllerElected) -> None:
        """Note a new controller: every broker session restarts."""
        self._controller_us = event.at_us

    def fault(self, event: e.FaultStarted | e.FaultEnded) -> None:
        """Note a disturbance: messages may be late."""
        self._disturbed_us = event.at_us
        if isinstance(event, e.FaultStarted) and event.fault_kind in _OF_PROCESSES:
            self._of_processes[event.fault] = None
        elif event.fault not in self._of_processes:
            self._held_up_us = event.at_us

    def broker_fenced(self, event: e.BrokerFenced) -> None:
        """S6: a broker is fenced neither while it sends heartbeats, nor before its session expires, nor long after."""
        if event.reason != SESSION_EXPIRED:
            return
        name, down_us = f"broker-{event.broker}", self._down_us.get(event.broker)
        if down_us is None:
            quiet = not self._view.faults and event.at_us - self._disturbed_us > self._session_us + SETTLED_US
            if quiet:
                broken("S6", event, f"{name} is fenced while it runs and no fault is in force")
            return
        stopped_us, silent_us = event.at_us - down_us, event.at_us - self._silent_us[event.broker]
        session = f"its session is {self._session_us / MS:g} ms"
        links = any(fault.kind not in _OF_PROCESSES for fault in self._view.faults.values())
        if not links and silent_us < self._session_us - self._beat_us - SETTLED_US and self._disturbed_us == down_us:
            broken("S6", event, f"{name} is fenced {stopped_us / MS:g} ms after it stopped, {session}")
        since_us = max(down_us, self._controller_us, self._held_up_us)  # a new controller restarts sessions
        if not links and event.at_us - since_us > self._session_us + LATE_US:
            broken("S6", event, f"{name} is fenced {stopped_us / MS:g} ms after it stopped, {session}")

    # --- batches ------------------------------------------------------------------------------------------------------

    def setting_changed(self, event: e.SettingChanged) -> None:
        """Stop judging changed producers: an open batch may have the old or the new value."""
        for name in event.processes:
            self._delivery_us.pop(name, None)

    def producer_state_changed(self, event: e.ProducerStateChanged) -> None:
        """Stop judging a paused producer; forget the batches of one that has ended."""
        if event.state == "Paused":
            self._delivery_us.pop(event.producer, None)
        if event.state in {"Dead", "Stopped"}:
            self._outstanding.pop(event.producer, None)

    def batch_opened(self, event: e.BatchOpened) -> None:
        """Start a batch's time with its first record."""
        outstanding, partition = self._outstanding.get(event.producer), event.partition
        if outstanding is None:
            outstanding = self._outstanding[event.producer] = {}
        opened = outstanding.get(partition)
        if opened is None:
            opened = outstanding[partition] = []
        opened.append(event.at_us)

    def batch_split(self, event: e.BatchSplit) -> None:
        """Stop judging: the parts of a split batch have its age, and no event names each."""
        self._delivery_us.pop(event.producer, None)

    def batch_acknowledged(self, event: e.BatchAcknowledged) -> None:
        """S7: a batch waits at most delivery.timeout.ms."""
        self._settled(event)
        most_us = self._delivery_us.get(event.producer)
        if most_us is not None and event.latency_us > most_us + LATE_US:
            found = f"{event.partition}: {event.producer}'s batch is acknowledged after {event.latency_us / MS:g} ms"
            broken("S7", event, f"{found}, delivery.timeout.ms is {most_us / MS:g}")

    def batch_failed(self, event: e.BatchFailed) -> None:
        """S7: no batch expires before delivery.timeout.ms."""
        oldest_us = self._settled(event)
        most_us = self._delivery_us.get(event.producer)
        if oldest_us is not None and event.error == "TimeoutException" and most_us is not None:
            age_us = event.at_us - oldest_us
            if age_us < most_us - MS:
                found = f"{event.partition}: {event.producer}'s batch fails after {age_us / MS:g} ms at most"
                broken("S7", event, f"{found}, delivery.timeout.ms is {most_us / MS:g}")

    def _settled(self, event: e.BatchAcknowledged | e.BatchFailed) -> int | None:
        """Forget one open batch, and return the opening of the oldest: events do not name the batch.

        The remaining ones are at least as old.
        """
        outstanding = self._outstanding.get(event.producer)
        opened = outstanding.get(event.partition) if outstanding is not None else None
        if not opened:
            return None
        oldest_us = opened[0]
        opened.pop()
        return oldest_us
