"""The invariants of one flight as a sink of events. An event that no invariant handles costs one look-up.

Theory of operation. The view has folded the event before a sink gets it, so the invariants keep the state *before* it:
for each partition the committed end, for each group the generation. A configuration or a fault switches a sentence off
only where it makes a breach legal. Records of producers without acks=all may vanish. A partition is `lossy` after an
unclean election, and after a leader that lost committed records with its host.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from cluster import events as e
from cluster.commands import CreateTopic, Set
from cluster.invariants.assignments import AssignmentInvariants
from cluster.invariants.committed_reads import CommittedReads
from cluster.invariants.compaction import CompactionInvariants
from cluster.invariants.consumer_groups import ConsumerGroupInvariants
from cluster.invariants.durations import DurationInvariants
from cluster.invariants.groups import GroupInvariants
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.logs import LogInvariants
from cluster.invariants.replicas import LogLookup, ReplicaInvariants
from cluster.invariants.rollouts import RolloutInvariants
from cluster.invariants.sentences import NEED_LOGS, SENTENCES
from cluster.invariants.streams import StreamInvariants
from cluster.invariants.timeouts import TimeoutInvariants
from cluster.invariants.transactions import TransactionInvariants
from cluster.spec import ScenarioSpec, TopicSpec
from cluster.view import ClusterView

_FIRST_OF_NEW_PROTOCOL: Final = (e.ClassicGroupUpgraded, e.ConsumerMemberSubscribed, e.ConsumerGroupLoaded)


class Invariants:
    """A sink of events that raises InvariantViolated. `view` has folded the event; `in_force`: active ids."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView, log_of: LogLookup | None = None) -> None:
        """`log_of`: returns the log of a replica, if the flight has replicas.

        Without it R6, R8, J1 and L2 are not judged, and T3 not for partitions whose logs may differ.
        """
        known: dict[str, LogState] = {}
        transactions = TransactionInvariants(view, _transaction_version(spec), known)
        logs = LogInvariants(view, _strict_producers(spec), known, transactions)
        groups = GroupInvariants(view, known, transactions)
        self._handlers: dict[type[e.Event], tuple[Callable[[Any], None], ...]] = {}
        self._watch(logs.handlers())
        self._watch(groups.handlers())
        declared = _declared(spec)
        if "acks=all" in declared:
            self._watch({e.BatchAcknowledged: logs.batch_acknowledged})
        if "txn" in declared:
            self._watch({e.TransactionStateChanged: transactions.state_changed})
            self._watch({e.HangingTransactionAborted: transactions.aborted_by_hand})
        if "reader" in declared:
            self._watch(CommittedReads(view, known, log_of).handlers())
        self._watch(TimeoutInvariants(spec, view).handlers())
        if "group" in declared:
            self._watch(AssignmentInvariants(view).handlers())
            self._watch(DurationInvariants(spec, view).handlers())
        self._later: Handlers = {}
        if "consumer group" in declared:
            self._watch(ConsumerGroupInvariants(view, known).handlers())
        elif "group" in declared:  # a group may become one of the new protocol
            self._later = ConsumerGroupInvariants(view, known).handlers()
            self._watch(dict.fromkeys(_FIRST_OF_NEW_PROTOCOL, self._begin_consumer_groups))
        self._watch(RolloutInvariants(spec, view).handlers())
        self._watch(StreamInvariants(spec, view, known, log_of).handlers())
        if log_of is not None:
            self._watch(ReplicaInvariants(known, log_of).handlers())
            if "compacted topic" in declared:
                self._watch(CompactionInvariants(view, known, log_of, _compacted_later(spec)).handlers())
        self._handlers_of = self._handlers.get
        self.in_force = tuple(
            name
            for name, each in SENTENCES.items()
            if (not each.needs or each.needs in declared) and (log_of is not None or name not in NEED_LOGS)
        )

    def _begin_consumer_groups(self, event: e.Event) -> None:
        """Judge groups of the new protocol from their first event on, which no scenario may have declared."""
        if not self._later:
            return
        handlers, self._later = self._later, {}
        self._watch(handlers)
        new = [name for name, each in SENTENCES.items() if each.needs == "consumer group"]
        self.in_force = tuple(name for name in SENTENCES if name in self.in_force or name in new)
        handlers[type(event)](event)

    def _watch(self, handlers: Handlers) -> None:
        """Add handlers; they run after the present handlers of the same event."""
        for kind, handler in handlers.items():
            self._handlers[kind] = (*self._handlers.get(kind, ()), handler)

    def __call__(self, event: e.Event) -> None:
        """Judge one event. Raises InvariantViolated."""
        for judge in self._handlers_of(type(event), ()):
            judge(event)


_COMPACTED: Final = re.compile("cleanup[.]policy=.*compact")


def _strict_producers(spec: ScenarioSpec) -> dict[str, None]:
    """The producers that no acknowledged record may be lost of: those with acks=all."""
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


def _policy(spec: ScenarioSpec, topic: TopicSpec) -> tuple[str, ...]:
    policy = topic.topic_config(spec.config)["cleanup.policy"]
    assert isinstance(policy, tuple)
    return policy


def _compacted_later(spec: ScenarioSpec) -> frozenset[str]:
    """The topics that a step makes compacted, or creates as such."""
    commands = [step.command for step in spec.steps if isinstance(step.command, CreateTopic)]
    created = {each.topic for each in commands if any(_COMPACTED.match(pair) for pair in each.config)}
    given = [step.command for step in spec.steps if isinstance(step.command, Set)]
    scopes = {each.scope for each in given if "cleanup.policy" in each.key and "compact" in each.value}
    names = set(spec.created_us())
    return frozenset((names & scopes if scopes <= names else names) | created)


def _declared(spec: ScenarioSpec) -> dict[str, None]:
    """The kinds of declared objects that sentences need: groups, transactional ids, …"""
    found: dict[str, None] = {}
    if spec.groups:
        found["group"] = None
    if any(group.speaks_new_protocol for group in spec.groups):
        found["consumer group"] = None
    if any(group.autoscaler is not None for group in spec.groups):
        found["autoscaler"] = None
    if _compacted_later(spec) or any("compact" in _policy(spec, topic) for topic in spec.topics):
        found["compacted topic"] = None
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
