"""The invariants of one flight as a sink: each event that matters to one is looked at, the others cost a look-up.

Theory of operation. The view has folded the event before a sink gets it, so what was known *before* is kept here: for
each partition the committed end, for each group the generation. What a configuration or a fault makes legal switches a
sentence off where it is legal, and nowhere else: records of producers without acks=all may vanish; a partition that had
an unclean election, or is led by a replica that lost committed records with its host, is `lossy` from then on.
"""

from collections.abc import Callable
from typing import Any

from cluster import events as e
from cluster.invariants.groups import GroupInvariants
from cluster.invariants.log_state import LogState
from cluster.invariants.logs import LogInvariants
from cluster.invariants.sentences import SENTENCES
from cluster.invariants.transactions import TransactionInvariants
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView


class Invariants:
    """A sink of events that raises InvariantViolated. `view` is folded up to the event; `in_force`: ids that are on."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView) -> None:
        known: dict[str, LogState] = {}
        transactions = TransactionInvariants(view, _transaction_version(spec), known)
        logs = LogInvariants(view, _strict_producers(spec), known, transactions)
        groups = GroupInvariants(view, known, transactions)
        self._handlers: dict[type[e.Event], Callable[[Any], None]] = {
            e.LeaderElected: logs.leader_elected,
            e.IsrChanged: logs.isr_changed,
            e.LeadershipTaken: logs.leadership_taken,
            e.RecordsAppended: logs.records_appended,
            e.HighWatermarkAdvanced: logs.high_watermark_advanced,
            e.LogTruncated: logs.log_truncated,
            e.LogStartAdvanced: logs.log_start_advanced,
            e.RecordsLost: logs.records_lost,
            e.SettingChanged: logs.setting_changed,
            e.JoinBarrierCompleted: groups.join_barrier_completed,
            e.GroupLoaded: groups.group_loaded,
            e.GroupDeleted: groups.group_deleted,
            e.GroupStabilized: groups.group_stabilized,
            e.PartitionsAssigned: groups.partitions_assigned,
            e.PollReturned: groups.poll_returned,
            e.PositionsMovedOn: groups.poll_returned,
            e.PositionsReset: groups.positions_reset,
            e.OffsetsCommitted: groups.offsets_committed,
            e.OffsetsExpired: groups.offsets_expired,
            e.HeartbeatAnswered: groups.heartbeat_answered,
            e.MemberRemoved: groups.member_removed,
            e.FaultEnded: logs.fault_ended,
        }
        declared = _declared(spec)
        if "acks=all" in declared:
            self._handlers[e.BatchAcknowledged] = logs.batch_acknowledged
        if "txn" in declared:
            self._handlers[e.TransactionStateChanged] = transactions.state_changed
            self._handlers[e.HangingTransactionAborted] = transactions.aborted_by_hand
        if "reader" in declared:
            self._handlers[e.RecordsProcessed] = transactions.records_processed
        self._find = self._handlers.get
        self.in_force = tuple(name for name, each in SENTENCES.items() if not each.needs or each.needs in declared)

    def __call__(self, event: e.Event) -> None:
        """Look at one more event. Raises InvariantViolated."""
        handler = self._find(event.__class__)
        if handler is not None:
            handler(event)


def _strict_producers(spec: ScenarioSpec) -> dict[str, None]:
    """The producers that were promised something: those with acks=all."""
    return {
        name: None
        for producer in spec.producers
        if producer.producer_config()["acks"] in ("all", "-1", -1)
        for name in producer.instances()
    }


def _transaction_version(spec: ScenarioSpec) -> int:
    version = spec.broker_config(spec.brokers[0])["transaction.version"]
    assert isinstance(version, int)
    return version


def _declared(spec: ScenarioSpec) -> dict[str, None]:
    """What there is for a sentence to speak of."""
    found: dict[str, None] = {}
    if spec.groups:
        found["group"] = None
    if _strict_producers(spec):
        found["acks=all"] = None
    for producer in spec.producers:
        if producer.producer_config()["enable.idempotence"]:
            found["pid"] = None
        if producer.transactions is not None:
            found |= {"pid": None, "txn": None}
    if any(group.application.commit == "transaction" for group in spec.groups):
        found |= {"pid": None, "txn": None}
    if "txn" in found and _transaction_version(spec) >= 2:
        found["txn2"] = None
    committed = any(group.config.get("isolation.level") == "read_committed" for group in spec.groups)
    if committed and "txn" in found:
        found["reader"] = None
    return found
