"""How long partitions of users' topics have no live leader, or too few in-sync replicas for acks=all.

A partition has no live leader while the controller has elected none, and from the instant at which the process of its
leader ends (or freezes) until another one leads: producers and consumers wait through both. The report counts the same.
"""

from collections.abc import Callable
from typing import Any

from cluster import events as e
from cluster.view import ClusterView
from cluster.view.state import PartitionView

MIN_ISR = "min.insync.replicas"


class _Outage:
    """Σ over partitions of the time in one condition: the sum so far, and since when it holds."""

    def __init__(self) -> None:
        self.past_us = 0
        self.since_us: dict[str, int] = {}

    def note(self, partition: str, at_us: int, *, holds: bool) -> None:
        if not holds:
            since_us = self.since_us.pop(partition, None)
            if since_us is not None:
                self.past_us += at_us - since_us
        elif partition not in self.since_us:
            self.since_us[partition] = at_us

    def until(self, now_us: int) -> int:
        return self.past_us + sum(now_us - since_us for since_us in self.since_us.values())


class AvailabilityMeter:
    """Keeps both sums from events; `view` has already folded each of them."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._leaderless, self._below_min_isr = _Outage(), _Outage()

    def leaderless_us(self, now_us: int) -> int:
        """Σ over users' partitions of the time without a live leader."""
        return self._leaderless.until(now_us)

    def below_min_isr_us(self, now_us: int) -> int:
        """Σ over users' partitions of the time with a leader and fewer in-sync replicas than min.insync.replicas."""
        return self._below_min_isr.until(now_us)

    def handlers(self) -> dict[type[e.Event], Callable[[Any], None]]:
        """Kind of event → what to do with it."""
        brokers = (e.BrokerStarted, e.BrokerStopped, e.BrokerStateChanged, e.BrokerPaused, e.BrokerResumed)
        return {
            e.LeaderElected: self._partition_changed,
            e.IsrChanged: self._partition_changed,
            e.SettingChanged: self._setting_changed,
            **dict.fromkeys(brokers, self._all_changed),
        }

    def _partition_changed(self, event: e.LeaderElected | e.IsrChanged) -> None:
        self._note(self._view.partitions[event.partition], event.at_us)

    def _setting_changed(self, event: e.SettingChanged) -> None:
        if event.key == MIN_ISR:
            self._all_changed(event)

    def _all_changed(self, event: e.Event) -> None:
        for partition in self._view.partitions.values():
            if partition.replicas:  # the controller has placed it
                self._note(partition, event.at_us)

    def _note(self, partition: PartitionView, at_us: int) -> None:
        view = self._view
        topic = view.topics[partition.topic]
        if topic.internal:
            return
        leader = view.brokers.get(partition.leader)
        serves = leader is not None and leader.up and not leader.paused
        least = min(topic.min_insync_replicas, len(partition.replicas))
        below = partition.leader >= 0 and len(partition.isr) < least
        self._leaderless.note(partition.partition, at_us, holds=not serves)
        self._below_min_isr.note(partition.partition, at_us, holds=below)
