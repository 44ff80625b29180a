"""The network: every request and response passes a link of this one object, and what is injured is injured here.

Theory of operation. A link is one direction between two named nodes (`broker-1`, `billing-2`). It delivers in order,
after a latency with jitter from its own random stream. A fault has a name and lies on every link that its selectors
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


class LinkSelector(NamedTuple):
    """Links from `source` to `target`; None stands for every other process."""

    source: str | None
    target: str | None

    def covers(self, source: str, target: str) -> bool:
        """Whether the link from `source` to `target` is meant. A process' way to itself is never injured."""
        return source != target and self.source in (None, source) and self.target in (None, target)


class LinkFault:
    """Something wrong with the links at some selectors. It leaves everything as it is: see the kinds of faults."""

    blocks = False  # nothing gets through
    on_the_wire = False  # … but what is kept left its sender
    latency_us: int | None = None  # one way, instead of the link's own
    diverts = False  # something may become of what is sent

    def __init__(self, selectors: tuple[LinkSelector, ...]) -> None:
        self.selectors = selectors

    def covers(self, source: str, target: str) -> bool:
        """Whether it lies on the link from `source` to `target`."""
        return any(selector.covers(source, target) for selector in self.selectors)

    def divert(self, action: Action, argument: object) -> tuple[Action, object]:
        """What arrives instead of `action(argument)`."""
        return action, argument


class LinkCut(LinkFault):
    """Packets are lost: what is sent stays with its sender."""

    blocks = True


class LinkHold(LinkFault):
    """Packets are kept on their way."""

    blocks = on_the_wire = True


class LinkDelay(LinkFault):
    """Another one-way latency, in microseconds."""

    def __init__(self, selectors: tuple[LinkSelector, ...], latency_us: int) -> None:
        super().__init__(selectors)
        self.latency_us = latency_us


FROM_HOST = object()
"""The argument of what a host answers for a process that does not run: the end of a later process leaves it alone."""


class HeldMessage(NamedTuple):
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
        "_faults",
        "_held",
        "_jitter",
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
        self._held: list[HeldMessage] = []
        self._faults: dict[str, LinkFault] = {}
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
            self._send_faulted(action, argument)

    def _send_faulted(self, action: Action, argument: object) -> None:
        for fault in tuple(self._faults.values()):
            if fault.diverts:
                action, argument = fault.divert(action, argument)
        if self.cut_since_us is None:
            self._deliver(action, argument)
        else:
            on_the_wire = all(fault.on_the_wire for fault in self._faults.values() if fault.blocks)
            self._held.append(HeldMessage(action, argument, on_the_wire))

    def _deliver(self, action: Action, argument: object) -> None:
        was_open, self._open = self._open, True
        self.send(action, argument)
        self._open = was_open

    def inject(self, name: str, fault: LinkFault, since_us: int) -> None:
        """Bear a fault under this name, instead of any other of that name."""
        self._faults.pop(name, None)
        self._faults[name] = fault
        self._changed(since_us)

    def clear(self, name: str) -> bool:
        """Bear it no more. What was kept goes on, in order, when nothing else blocks the link; false: never had it."""
        if self._faults.pop(name, None) is None:
            return False
        self._changed(self._timeline.now_us)
        return True

    def faults(self) -> tuple[str, ...]:
        """The names of its faults."""
        return tuple(self._faults)

    def _changed(self, since_us: int) -> None:
        faults = self._faults.values()
        slowed = [fault.latency_us for fault in faults if fault.latency_us is not None]
        self._set_latency(slowed[-1] if slowed else self.normal_us)
        blocked = any(fault.blocks for fault in faults)
        self._open = not blocked and not any(fault.diverts for fault in faults)
        if blocked == (self.cut_since_us is not None):
            return
        self.cut_since_us = since_us if blocked else None
        kept, self._held = self._held, []
        for one in kept:
            self._deliver(one.action, one.argument)
        for watcher in tuple(self.watchers):
            watcher()

    def drop_unsent(self, meant: Callable[[object], bool]) -> list[object]:
        """The sender is gone, with what it had not got onto the wire of what is meant: returns those arguments."""
        stays: list[HeldMessage] = []
        goes: list[object] = []
        for one in self._held:
            if one.on_the_wire or not meant(one.argument):
                stays.append(one)
            else:
                goes.append(one.argument)
        self._held = stays
        return goes


class Network:
    """Every link of the cluster, made when two nodes first speak, and every fault."""

    def __init__(self, timeline: Timeline, spec: NetworkSpec, seed: int) -> None:
        self._timeline, self._spec, self.seed = timeline, spec, seed
        self._links: dict[tuple[str, str], Link] = {}
        self._faults: dict[str, tuple[LinkFault, int]] = {}
        self.watchers: dict[Watcher, None] = {}  # called when links were injured or mended
        self._latencies = {frozenset(link.between): link.latency_us for link in spec.links}

    @property
    def has_faults(self) -> bool:
        """Whether there is any fault."""
        return bool(self._faults)

    def link(self, source: str, target: str) -> Link:
        """The direction from `source` to `target`."""
        link = self._links.get((source, target))
        if link is None:
            latency_us = self._latencies.get(frozenset((source, target)), self._spec.latency_us)
            if source == target:
                latency_us = 0
            link = Link(self._timeline, source, target, latency_us, self._spec.jitter, self.seed)
            self._links[source, target] = link
            for name, (fault, since_us) in self._faults.items():
                if fault.covers(source, target):
                    link.inject(name, fault, since_us)
        return link

    def inject(self, name: str, fault: LinkFault) -> None:
        """A fault begins, instead of any other of that name."""
        self.clear(name)
        now_us = self._timeline.now_us
        self._faults[name] = fault, now_us
        for (source, target), link in self._links.items():
            if fault.covers(source, target):
                link.inject(name, fault, now_us)
        self._changed()

    def clear(self, name: str) -> None:
        """A fault ends, wherever it lies."""
        if self._faults.pop(name, None) is not None:
            for link in self._links.values():
                link.clear(name)
            self._changed()

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()

    def clear_between(self, first: str, second: str) -> bool:
        """Mend both directions between two nodes, whatever their faults do elsewhere; false: they had none."""
        links = (self.link(first, second), self.link(second, first))
        mended = [link.clear(name) for link in links for name in link.faults()]
        self._changed()
        return any(mended)

    def process_died(self, name: str) -> None:
        """A process is gone: what its sockets had not got onto the wire is gone as well."""
        for (source, _), link in self._links.items():
            if source == name:
                link.drop_unsent(lambda word: word is not FROM_HOST)
