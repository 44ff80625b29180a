"""The network: every request and response passes a link of this one object, and what is injured is injured here.

A link is one direction between two named nodes (`broker-1`, `billing-2`). It delivers in order, after a latency with
jitter from its own random stream. A connection is TCP: what is sent over a cut or held link is not lost but stays in
the link, as in the sender's socket buffer, and goes on when the link is mended; whether anybody still waits for it
then is the connection's business. Nothing else in the cluster knows of distance.
"""

from collections.abc import Callable
from typing import Any

from cluster.randomness import random_stream
from cluster.spec import NetworkSpec
from cluster.timeline import Timeline

Watcher = Callable[[], None]


class Link:
    """One direction between two nodes. `cut_since_us` is the instant of the cut, None while the link works."""

    __slots__ = (
        "_base_us",
        "_kept",
        "_last_us",
        "_random",
        "_spread_us",
        "_timeline",
        "cut_since_us",
        "latency_us",
        "normal_us",
        "source",
        "target",
        "watchers",
    )

    def __init__(self, timeline: Timeline, source: str, target: str, latency_us: int, jitter: float, seed: int) -> None:
        self._timeline = timeline
        self.source, self.target = source, target
        self._random = random_stream(seed, f"link/{source}/{target}").random
        self._last_us = 0
        self._kept: list[tuple[Callable[[Any], object], Any]] = []
        self.cut_since_us: int | None = None
        self.watchers: list[Watcher] = []
        self.normal_us = latency_us
        self.set_latency(latency_us, jitter)

    def set_latency(self, latency_us: int, jitter: float) -> None:
        """One-way latency in microseconds, uniformly spread by `jitter` (a share of it) to both sides."""
        self.latency_us = latency_us
        self._base_us = int(latency_us * (1 - jitter))
        self._spread_us = int(latency_us * jitter * 2)

    def send(self, action: Callable[[Any], object], argument: object) -> None:
        """Run `action(argument)` at the other end, not before anything that was sent earlier."""
        if self.cut_since_us is not None:
            self._kept.append((action, argument))
            return
        timeline = self._timeline
        at_us = timeline.now_us + self._base_us + int(self._random() * self._spread_us)
        if at_us < self._last_us:
            at_us = self._last_us
        self._last_us = at_us
        timeline.post(at_us, action, argument)

    def cut(self) -> None:
        """Nothing gets through from now on."""
        if self.cut_since_us is None:
            self.cut_since_us = self._timeline.now_us
            for watcher in self.watchers:
                watcher()

    def heal(self) -> None:
        """Mend the link: what it kept goes on, in order."""
        if self.cut_since_us is None:
            return
        self.cut_since_us = None
        kept, self._kept = self._kept, []
        for action, argument in kept:
            self.send(action, argument)


class Network:
    """Every link of the cluster, made when two nodes first speak."""

    def __init__(self, timeline: Timeline, spec: NetworkSpec, seed: int) -> None:
        self._timeline, self._spec, self._seed = timeline, spec, seed
        self._links: dict[tuple[str, str], Link] = {}
        self._latencies = {frozenset(link.between): link.latency_us for link in spec.links}

    def link(self, source: str, target: str) -> Link:
        """The direction from `source` to `target`."""
        link = self._links.get((source, target))
        if link is None:
            latency_us = self._latencies.get(frozenset((source, target)), self._spec.latency_us)
            if source == target:
                latency_us = 0
            link = Link(self._timeline, source, target, latency_us, self._spec.jitter, self._seed)
            self._links[source, target] = link
        return link

    def slow(self, first: str, second: str, latency_us: int | None) -> None:
        """Set the latency of both directions; None restores the scenario's."""
        for link in (self.link(first, second), self.link(second, first)):
            link.set_latency(link.normal_us if latency_us is None else latency_us, self._spec.jitter)

    def cut(self, first: str, second: str, *, one_way: bool) -> None:
        """Cut from `first` to `second`, and back unless `one_way`."""
        self.link(first, second).cut()
        if not one_way:
            self.link(second, first).cut()

    def heal(self, first: str | None = None, second: str | None = None) -> None:
        """Mend both directions between two nodes, or every link."""
        if first is None or second is None:
            for link in list(self._links.values()):
                link.heal()
                link.set_latency(link.normal_us, self._spec.jitter)
            return
        for link in (self.link(first, second), self.link(second, first)):
            link.heal()
        self.slow(first, second, None)
