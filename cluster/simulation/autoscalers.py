"""Autoscalers: each follows the lag of its group, and gives `scale` commands of its own.

Theory of operation. KEDA's Kafka scaler reports the group's lag, at most `lag_per_member` for each partition: a member
without a partition helps nothing. The HorizontalPodAutoscaler recommends ceil(lag ÷ `lag_per_member`) members, and
no change while the average is within a tenth of the threshold. A scale-down waits: it takes the highest recommendation
of the stabilization window. A scale-up at most doubles the group, or adds four members, in 15 s. The command is
journaled with source `autoscaler`; a rerun gives the same ones. A group that was scaled to 0 is left alone.
Source: KEDA `kafka_scaler.go` (`getTotalLag`), Kubernetes `podautoscaler/replica_calculator.go`
(`GetExternalPerPodMetricReplicas`), `horizontal.go` (`normalizeDesiredReplicasWithBehaviors`).
"""

from collections.abc import Mapping
from typing import Final

from cluster import events as e
from cluster.commands import catalogue as c
from cluster.simulation.running_cluster import RunningCluster
from cluster.spec import AutoscalerSpec
from cluster.view.document import group_lag

TOLERANCE: Final = 0.1
PERIOD_US: Final = 15_000_000
MOST_PODS: Final = 4  # of a scale-up in a period, unless doubling is more


class Autoscaler:
    """What an autoscaler remembers: its recommendations in the window, and its scale-ups of the last period."""

    def __init__(self, spec: AutoscalerSpec) -> None:
        self.spec = spec
        self._recommended: list[tuple[int, int]] = []
        self._added: list[tuple[int, int]] = []

    def desired(self, lag: int, members: int, partitions: int) -> int:
        """The members that the lag asks for."""
        per_member = self.spec.lag_per_member
        lag = min(lag, partitions * per_member)
        if abs(1 - lag / (per_member * members)) <= TOLERANCE:
            return members
        return -(-lag // per_member)

    def decide(self, now_us: int, desired: int, members: int) -> int:
        """The members that the group gets, which has `members`."""
        spec = self.spec
        recommended = min(max(desired, spec.least), spec.most)
        self._recommended = [one for one in self._recommended if one[0] > now_us - spec.stabilization_us]
        self._recommended.append((now_us, recommended))
        to = min(max(members, recommended), max(highest for _, highest in self._recommended))
        self._added = [one for one in self._added if one[0] > now_us - PERIOD_US]
        before = members - sum(count for _, count in self._added)
        to = min(to, max(members, before + MOST_PODS, 2 * before))
        to = min(max(to, spec.least), spec.most)
        if to > members:
            self._added.append((now_us, to - members))
        return to


class Autoscalers:
    """The autoscalers of a flight. `replicas`: how many members each group shall have now."""

    def __init__(self, cluster: RunningCluster, replicas: Mapping[str, int]) -> None:
        self._cluster, self._replicas = cluster, replicas

    def start(self) -> None:
        """Let each autoscaler look at its group for the first time."""
        for group in self._cluster.spec.groups:
            if group.autoscaler is not None:
                at_us = group.start_us + group.autoscaler.every_us
                self._cluster.timeline.call_at(at_us, self._look, group.name, Autoscaler(group.autoscaler))

    def _look(self, group: str, autoscaler: Autoscaler) -> None:
        cluster, members = self._cluster, self._replicas[group]
        cluster.timeline.call_later(autoscaler.spec.every_us, self._look, group, autoscaler)
        if members == 0:
            return
        known = cluster.view.groups[group]
        lag = group_lag(cluster.view, known)
        partitions = sum(cluster.topics.get(topic, 0) for topic in known.topics)
        desired = autoscaler.desired(lag, members, partitions)
        to = autoscaler.decide(cluster.timeline.now_us, desired, members)
        if to != members:
            cluster.emit(e.GroupAutoscaled(group=group, lag=lag, desired=desired, members=members, to=to))
            cluster.give(c.Scale(group, to), "autoscaler")
