"""The invariants of one flight as a sink: each event that matters to one is looked at, the others cost a look-up.

Theory of operation. The view has folded the event before a sink gets it, so what was known *before* is kept here: for
each partition the committed end, for each group the generation. What a configuration or a fault makes legal switches a
sentence off where it is legal, and nowhere else: records of producers without acks=all may vanish; a partition that had
an unclean election, or is led by a replica that lost committed records with its host, is `lossy` from then on.
"""

from collections.abc import Callable
from typing import Any

from cluster import events as e
from cluster.invariants.assignments import AssignmentInvariants
from cluster.invariants.committed_reads import CommittedReads
from cluster.invariants.durations import DurationInvariants
from cluster.invariants.groups import GroupInvariants
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.logs import LogInvariants
from cluster.invariants.replicas import Look, ReplicaInvariants
from cluster.invariants.sentences import NEED_LOGS, SENTENCES
from cluster.invariants.streams import StreamInvariants
from cluster.invariants.timeouts import TimeoutInvariants
from cluster.invariants.transactions import TransactionInvariants
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView


class Invariants:
    """A sink of events that raises InvariantViolated. `view` is folded up to the event; `in_force`: ids that are on."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView, look: Look | None = None) -> None:
        """`look`: at the logs of replicas, if there are any.

        Without it R6, R8 and J1 say nothing, and T3 nothing of partitions whose logs may have parted.
        """
        known: dict[str, LogState] = {}
        transactions = TransactionInvariants(view, _transaction_version(spec), known)
        logs = LogInvariants(view, _strict_producers(spec), known, transactions)
        groups = GroupInvariants(view, known, transactions)
        self._looks: dict[type[e.Event], tuple[Callable[[Any], None], ...]] = {}
        self._watch(logs.handlers())
        self._watch(groups.handlers())
        declared = _declared(spec)
        if "acks=all" in declared:
            self._watch({e.BatchAcknowledged: logs.batch_acknowledged})
        if "txn" in declared:
            self._watch({e.TransactionStateChanged: transactions.state_changed})
            self._watch({e.HangingTransactionAborted: transactions.aborted_by_hand})
        if "reader" in declared:
            self._watch(CommittedReads(view, known, look).handlers())
        self._watch(TimeoutInvariants(spec, view).handlers())
        if "group" in declared:
            self._watch(AssignmentInvariants(view).handlers())
            self._watch(DurationInvariants(spec, view).handlers())
        self._watch(StreamInvariants(spec, view, known, look).handlers())
        if look is not None:
            self._watch(ReplicaInvariants(known, look).handlers())
        self._looks_at = self._looks.get
        self.in_force = tuple(
            name
            for name, each in SENTENCES.items()
            if (not each.needs or each.needs in declared) and (look is not None or name not in NEED_LOGS)
        )

    def _watch(self, handlers: Handlers) -> None:
        """These look at events as well, after those that do already."""
        for kind, handler in handlers.items():
            self._looks[kind] = (*self._looks.get(kind, ()), handler)

    def __call__(self, event: e.Event) -> None:
        """Look at one more event. Raises InvariantViolated."""
        for look in self._looks_at(event.__class__, ()):
            look(event)


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
