"""The network: every request and response passes a link of this one object, and what is injured is injured here.

Theory of operation. A link is one direction between two named nodes (`broker-1`, `billing-2`). It delivers in order,
after a latency with jitter from its own random stream. An injury has a name and lies on every link that its places
cover, also on links that are made later. A link may bear several; each is mended by its name, and what remains is what
the others do: a link is blocked while any of them blocks it, and as slow as the last one that slows it.

A connection is TCP: what is sent over a blocked link is not lost but goes on, in order, when nothing blocks it any
more. Behind a *cut* it is still in its sender's socket buffer, and ends with the sender. On a *held* link it is on the
wire, and arrives whatever became of its sender. Whether anybody waits for it then is the connection's business.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cluster.random_streams import random_stream
from cluster.spec import NetworkSpec
from cluster.virtual_time import Timeline

Watcher = Callable[[], None]
Action = Callable[[Any], object]


class Place(NamedTuple):
    """Links from `source` to `target`; None stands for every other process."""

    source: str | None
    target: str | None

    def covers(self, source: str, target: str) -> bool:
        """Whether the link from `source` to `target` is meant. A process' way to itself is never injured."""
        return source != target and self.source in (None, source) and self.target in (None, target)


class Injury:
    """Something wrong with the links at some places. It leaves everything as it is: see the kinds of injuries."""

    blocks = False  # nothing gets through
    on_the_wire = False  # … but what is kept left its sender
    latency_us: int | None = None  # one way, instead of the link's own
    diverts = False  # something may become of what is sent

    def __init__(self, places: tuple[Place, ...]) -> None:
        self.places = places

    def covers(self, source: str, target: str) -> bool:
        """Whether it lies on the link from `source` to `target`."""
        return any(place.covers(source, target) for place in self.places)

    def divert(self, action: Action, argument: object) -> tuple[Action, object]:
        """What arrives instead of `action(argument)`."""
        return action, argument


class Cut(Injury):
    """Packets are lost: what is sent stays with its sender."""

    blocks = True


class Hold(Injury):
    """Packets are kept on their way."""

    blocks = on_the_wire = True


class Slow(Injury):
    """Another one-way latency, in microseconds."""

    def __init__(self, places: tuple[Place, ...], latency_us: int) -> None:
        super().__init__(places)
        self.latency_us = latency_us


FROM_HOST = object()
"""The argument of what a host answers for a process that does not run: the end of a later process leaves it alone."""


class Kept(NamedTuple):
    """What a blocked link keeps."""

    action: Action
    argument: object
    on_the_wire: bool


class Link:
    """One direction between two nodes. `cut_since_us`: since when nothing gets through, None while something does.

    `watchers` are called when that changes.
    """

    __slots__ = (
        "_base_us",
        "_injuries",
        "_jitter",
        "_kept",
        "_last_us",
        "_open",
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
        self._timeline, self._jitter = timeline, jitter
        self.source, self.target = source, target
        self._random = random_stream(seed, f"link/{source}/{target}").random
        self._last_us = 0
        self._kept: list[Kept] = []
        self._injuries: dict[str, Injury] = {}
        self._open = True
        self.cut_since_us: int | None = None
        self.watchers: dict[Watcher, None] = {}
        self.normal_us = latency_us
        self._set_latency(latency_us)

    def _set_latency(self, latency_us: int) -> None:
        """One-way latency in microseconds, uniformly spread by the jitter (a share of it) to both sides."""
        self.latency_us = latency_us
        self._base_us = int(latency_us * (1 - self._jitter))
        self._spread_us = int(latency_us * self._jitter * 2)

    def send(self, action: Action, argument: object) -> None:
        """Run `action(argument)` at the other end, not before anything that was sent earlier."""
        if self._open:
            timeline = self._timeline
            at_us = timeline.now_us + self._base_us + int(self._random() * self._spread_us)
            if at_us < self._last_us:
                at_us = self._last_us
            self._last_us = at_us
            timeline.post(at_us, action, argument)
        else:
            self._send_injured(action, argument)

    def _send_injured(self, action: Action, argument: object) -> None:
        for injury in tuple(self._injuries.values()):
            if injury.diverts:
                action, argument = injury.divert(action, argument)
        if self.cut_since_us is None:
            self._deliver(action, argument)
        else:
            on_the_wire = all(injury.on_the_wire for injury in self._injuries.values() if injury.blocks)
            self._kept.append(Kept(action, argument, on_the_wire))

    def _deliver(self, action: Action, argument: object) -> None:
        was_open, self._open = self._open, True
        self.send(action, argument)
        self._open = was_open

    def injure(self, name: str, injury: Injury, since_us: int) -> None:
        """Bear an injury under this name, instead of any other of that name."""
        self._injuries.pop(name, None)
        self._injuries[name] = injury
        self._changed(since_us)

    def mend(self, name: str) -> bool:
        """Bear it no more. What was kept goes on, in order, when nothing else blocks the link; false: never had it."""
        if self._injuries.pop(name, None) is None:
            return False
        self._changed(self._timeline.now_us)
        return True

    def injuries(self) -> tuple[str, ...]:
        """The names of its injuries."""
        return tuple(self._injuries)

    def _changed(self, since_us: int) -> None:
        injuries = self._injuries.values()
        slowed = [injury.latency_us for injury in injuries if injury.latency_us is not None]
        self._set_latency(slowed[-1] if slowed else self.normal_us)
        blocked = any(injury.blocks for injury in injuries)
        self._open = not blocked and not any(injury.diverts for injury in injuries)
        if blocked == (self.cut_since_us is not None):
            return
        self.cut_since_us = since_us if blocked else None
        kept, self._kept = self._kept, []
        for one in kept:
            self._deliver(one.action, one.argument)
        for watcher in tuple(self.watchers):
            watcher()

    def forget(self, meant: Callable[[object], bool]) -> list[object]:
        """The sender is gone, with what it had not got onto the wire of what is meant: returns those arguments."""
        stays: list[Kept] = []
        goes: list[object] = []
        for one in self._kept:
            if one.on_the_wire or not meant(one.argument):
                stays.append(one)
            else:
                goes.append(one.argument)
        self._kept = stays
        return goes


class Network:
    """Every link of the cluster, made when two nodes first speak, and every injury."""

    def __init__(self, timeline: Timeline, spec: NetworkSpec, seed: int) -> None:
        self._timeline, self._spec, self.seed = timeline, spec, seed
        self._links: dict[tuple[str, str], Link] = {}
        self._injuries: dict[str, tuple[Injury, int]] = {}
        self.watchers: dict[Watcher, None] = {}  # called when links were injured or mended
        self._latencies = {frozenset(link.between): link.latency_us for link in spec.links}

    @property
    def injured(self) -> bool:
        """Whether there is any injury."""
        return bool(self._injuries)

    def link(self, source: str, target: str) -> Link:
        """The direction from `source` to `target`."""
        link = self._links.get((source, target))
        if link is None:
            latency_us = self._latencies.get(frozenset((source, target)), self._spec.latency_us)
            if source == target:
                latency_us = 0
            link = Link(self._timeline, source, target, latency_us, self._spec.jitter, self.seed)
            self._links[source, target] = link
            for name, (injury, since_us) in self._injuries.items():
                if injury.covers(source, target):
                    link.injure(name, injury, since_us)
        return link

    def injure(self, name: str, injury: Injury) -> None:
        """An injury begins, instead of any other of that name."""
        self.mend(name)
        now_us = self._timeline.now_us
        self._injuries[name] = injury, now_us
        for (source, target), link in self._links.items():
            if injury.covers(source, target):
                link.injure(name, injury, now_us)
        self._changed()

    def mend(self, name: str) -> None:
        """An injury ends, wherever it lies."""
        if self._injuries.pop(name, None) is not None:
            for link in self._links.values():
                link.mend(name)
            self._changed()

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()

    def spare(self, first: str, second: str) -> bool:
        """Mend both directions between two nodes, whatever their injuries do elsewhere; false: they had none."""
        links = (self.link(first, second), self.link(second, first))
        mended = [link.mend(name) for link in links for name in link.injuries()]
        self._changed()
        return any(mended)

    def process_died(self, name: str) -> None:
        """A process is gone: what its sockets had not got onto the wire is gone as well."""
        for (source, _), link in self._links.items():
            if source == name:
                link.forget(lambda word: word is not FROM_HOST)
