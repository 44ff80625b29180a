"""Invariants of rollouts and autoscalers: their limits, and the gate of a rolling restart of brokers.

A rollout answers for what it stops itself: a member that a fault takes away may leave fewer than it promises.
"""

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.sentences import broken
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView


class _PodBook:
    """A rollout under way: its ready members, those it has asked to stop, its pods, and the first name that it wants.

    Its names are numbered on from the first: what lies beyond as many as there are replicas, a `scale` has taken away.
    """

    __slots__ = ("asked", "first", "pods", "ready")

    def __init__(self, ready: tuple[str, ...], pods: tuple[str, ...], names: tuple[str, ...]) -> None:
        self.ready, self.pods = dict.fromkeys(ready), dict.fromkeys(pods)
        self.asked: dict[str, None] = {}
        self.first = _number(names[0]) if names else 1


class RolloutInvariants:
    """The sentences about rollouts."""

    def __init__(self, spec: ScenarioSpec, view: ClusterView) -> None:
        self._view = view
        self._autoscalers = {group.name: group.autoscaler for group in spec.groups}
        self._under_way: dict[str, _PodBook] = {}

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.RolloutStarted: self.started,
            e.RolloutAdvanced: self.advanced,
            e.RolloutEnded: self.ended,
            e.MemberReady: self.member_ready,
            e.MemberStopped: self.member_stopped,
            e.GroupAutoscaled: self.autoscaled,
        }

    def started(self, event: e.RolloutStarted) -> None:
        """Begin a book."""
        self._under_way[event.target] = _PodBook(event.ready, event.replaced, event.names)

    def ended(self, event: e.RolloutEnded) -> None:
        """Close a book."""
        self._under_way.pop(event.target, None)

    def member_ready(self, event: e.MemberReady) -> None:
        """Note that a member is ready."""
        book = self._under_way.get(event.group)
        if book is not None:
            book.ready[event.member] = None
            book.asked.pop(event.member, None)

    def member_stopped(self, event: e.MemberStopped) -> None:
        """Note that a member is not ready."""
        book = self._under_way.get(event.group)
        if book is not None:
            book.ready.pop(event.member, None)

    def advanced(self, event: e.RolloutAdvanced) -> None:
        """K1, K2: what a rollout stops and starts is within its limits. K3: behind the gate replicas are in sync."""
        if event.awaits_isr:
            self._gated(event)
        book = self._under_way.get(event.target)
        if book is None or event.workload == "brokers":
            return
        takes_away = any(name in book.ready and name not in book.asked for name in event.stops)
        book.asked |= dict.fromkeys(event.stops)
        left = sum(name not in book.asked for name in book.ready)
        if takes_away and left < event.replicas - event.max_unavailable:
            limit = f"{event.max_unavailable} of {event.replicas} may be away"
            broken("K1", event, f"{event.target}: {left} ready members are left, {limit}")
        book.pods = {name: None for name in book.pods if name not in event.stops} | dict.fromkeys(event.starts)
        book.pods = {name: None for name in book.pods if _number(name) < book.first + event.replicas}
        most = event.replicas + event.max_surge
        if event.starts and len(book.pods) > most:
            broken("K2", event, f"{event.target}: {len(book.pods)} pods, {most} may be there")

    def _gated(self, event: e.RolloutAdvanced) -> None:
        for name, partition in self._view.partitions.items():
            if len(partition.isr) < len(partition.replicas) - len(partition.adding):
                found = f"{', '.join(event.stops)} is stopped while {name} has the ISR {partition.isr}"
                broken("K3", event, found)

    def autoscaled(self, event: e.GroupAutoscaled) -> None:
        """K4: a group has at least `min` members, at most `max`, and more than `min` only for as many partitions."""
        autoscaler = self._autoscalers.get(event.group)
        if autoscaler is None:
            broken("K4", event, f"{event.group} has no autoscaler")
        topics = self._view.topics
        partitions = sum(topics[topic].partitions for topic in self._view.groups[event.group].topics if topic in topics)
        most = min(autoscaler.most, max(autoscaler.least, partitions))
        if not autoscaler.least <= event.to <= most:
            broken("K4", event, f"{event.group} gets {event.to} members, {autoscaler.least} to {most} are allowed")


def _number(name: str) -> int:
    """The number at the end of a member's name."""
    return int(name.rpartition("-")[2])
