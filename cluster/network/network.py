"""The simulated network: every request and response passes a link of this one object, which also has the link faults.

Theory of operation. A link is one direction between two named nodes (`broker-1`, `billing-2`). It delivers in order,
after a latency with jitter. A client's links in both directions draw from one random stream, the client's own; a link
between two brokers draws from the stream of the one that sends. So one more client changes the draws of no other link.

A fault has a name. It acts on every link that its selectors match, also on links that are made later. A link may have
several faults. Each is cleared by its name; the others stay: a link is blocked while any fault blocks it, and has the
latency of the last fault that sets one.

A connection is TCP: a message that is sent over a blocked link is not lost. It is delivered, in order, when no fault
blocks the link. Behind a *cut* the message is in its sender's socket buffer, and is lost with the sender's process. On
a *held* link the message has left its sender, and is delivered even if the sender has ended. Whether the receiver still
waits for it is decided by the connection.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from cluster.random_streams import random_stream
from cluster.spec import NetworkSpec
from cluster.virtual_time import Timeline

Watcher = Callable[[], None]
Action = Callable[[Any], object]


class LinkSelector(NamedTuple):
    """Selects the links from `source` to `target`; None stands for every other process."""

    source: str | None
    target: str | None

    def covers(self, source: str, target: str) -> bool:
        """Whether the link from `source` to `target` is selected. A process's link to itself never is."""
        return source != target and self.source in (None, source) and self.target in (None, target)


class LinkFault:
    """A fault on the links that `selectors` match. The base class changes nothing; its kinds do."""

    blocks = False  # no message is delivered
    on_the_wire = False  # … and held messages have left their sender
    latency_us: int | None = None  # one-way latency, instead of the link's own
    diverts = False  # a message may be replaced

    def __init__(self, selectors: tuple[LinkSelector, ...]) -> None:
        self.selectors = selectors

    def covers(self, source: str, target: str) -> bool:
        """Whether the fault acts on the link from `source` to `target`."""
        return any(selector.covers(source, target) for selector in self.selectors)

    def divert(self, action: Action, argument: object) -> tuple[Action, object]:
        """The action and argument that are delivered instead of `action(argument)`."""
        return action, argument


class LinkCut(LinkFault):
    """Packets are lost: messages stay in their sender's socket buffer until the link is clear."""

    blocks = True


class LinkHold(LinkFault):
    """Packets are held on the wire until the link is clear."""

    blocks = True
    on_the_wire = True


class LinkDelay(LinkFault):
    """The links have another one-way latency, in microseconds."""

    def __init__(self, selectors: tuple[LinkSelector, ...], latency_us: int) -> None:
        super().__init__(selectors)
        self.latency_us = latency_us


FROM_HOST = object()
"""The argument of a response that a host sends for a process that does not run: it survives the end of processes."""


class HeldMessage(NamedTuple):
    """A message that a blocked link holds."""

    action: Action
    argument: Any
    on_the_wire: bool


class Link:
    """One direction between two nodes. `cut_since_us`: since when the link is blocked, None while it is not.

    `watchers` are called when that changes. `number`: how many links were made before.
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
        "number",
        "source",
        "target",
        "watchers",
    )

    def __init__(
        self,
        timeline: Timeline,
        source: str,
        target: str,
        latency_us: int,
        jitter: float,
        random: Callable[[], float],
    ) -> None:
        self._timeline, self._jitter = timeline, jitter
        self.source, self.target = source, target
        self._random = random
        self.number = 0
        self._last_us = 0
        self._held: list[HeldMessage] = []
        self._faults: dict[str, LinkFault] = {}
        self._open = True
        self.cut_since_us: int | None = None
        self.watchers: tuple[Watcher, ...] = ()
        self.normal_us = latency_us
        self._set_latency(latency_us)

    def _set_latency(self, latency_us: int) -> None:
        """Set the one-way latency in microseconds; the jitter spreads it uniformly by this share to both sides."""
        self.latency_us = latency_us
        self._base_us = int(latency_us * (1 - self._jitter))
        self._spread_us = int(latency_us * self._jitter * 2)

    def send(self, action: Action, argument: object) -> None:
        """Run `action(argument)` at the other end, after everything that was sent earlier."""
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

    def move(self, normal_us: int) -> None:
        """Have this latency from now on, while no fault sets another one."""
        self.normal_us = normal_us
        self._changed(self._timeline.now_us)

    def inject(self, name: str, fault: LinkFault, since_us: int) -> None:
        """Apply a link fault under `name`; it replaces a fault of the same name."""
        self._faults.pop(name, None)
        self._faults[name] = fault
        self._changed(since_us)

    def clear(self, name: str) -> bool:
        """Remove the fault `name`; returns false without one. Held messages are delivered once nothing blocks."""
        if self._faults.pop(name, None) is None:
            return False
        self._changed(self._timeline.now_us)
        return True

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` when the link is blocked, or is no more."""
        self.watchers = *self.watchers, watcher

    def unwatch(self, watcher: Watcher) -> None:
        """Call `watcher` no more."""
        self.watchers = tuple([one for one in self.watchers if one != watcher])

    def faults(self) -> tuple[str, ...]:
        """The names of the link's faults."""
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
        held, self._held = self._held, []
        for one in held:
            self._deliver(one.action, one.argument)
        for watcher in self.watchers:
            watcher()

    def drop_unsent(self, meant: Callable[[object], bool]) -> list[object]:
        """Drop held messages that have not left their sender and are `meant`; returns their arguments."""
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
    """Every link of the cluster, made when it is first used, and every link fault.

    `brokers`: the names of the brokers; every other process is a client.
    """

    def __init__(
        self, timeline: Timeline, spec: NetworkSpec, seed: int, brokers: Collection[str] = frozenset()
    ) -> None:
        self._timeline, self._spec, self._seed, self._brokers = timeline, spec, seed, brokers
        self._links: dict[tuple[str, str], Link] = {}
        self._links_from: dict[str, list[Link]] = {}
        self._links_to: dict[str, list[Link]] = {}
        self._random: dict[str, Callable[[], float]] = {}
        self._faults: dict[str, tuple[LinkFault, int]] = {}
        self.watchers: dict[Watcher, None] = {}  # called when a fault is injected or cleared
        self._latencies = {frozenset(link.between): link.latency_us for link in spec.links}
        self._racks: dict[str, str] = {}

    @property
    def has_faults(self) -> bool:
        """Whether any link fault is active."""
        return bool(self._faults)

    def random_of(self, process: str) -> Callable[[], float]:
        """Draw from [0, 1) for a process: the latencies of its links, its backoffs, its start.

        One stream for each process: a Mersenne Twister takes 2.5 kB, and a large cluster has thousands of links.
        """
        random = self._random.get(process)
        if random is None:
            random = self._random[process] = random_stream(self._seed, f"process/{process}").random
        return random

    def _draws_for(self, source: str, target: str) -> str:
        """The process whose stream a link draws from: its client, or the broker that sends to another broker."""
        return target if source in self._brokers and target not in self._brokers else source

    def place(self, process: str, rack: str) -> None:
        """Let a process stand in a rack from now on."""
        if self._racks.get(process, "") == rack:
            return
        self._racks[process] = rack
        for link in (*self._links_from.get(process, ()), *self._links_to.get(process, ())):
            if link.source != link.target:
                link.move(self._latency_us(link.source, link.target))

    def _latency_us(self, source: str, target: str) -> int:
        """The one-way latency between two nodes: their link's own, else that between racks, else every link's."""
        own_us = self._latencies.get(frozenset((source, target)))
        if own_us is not None:
            return own_us
        between_us, here, there = self._spec.between_racks_us, self._racks.get(source), self._racks.get(target)
        apart = here and there and here != there
        return between_us if apart and between_us is not None else self._spec.latency_us

    def link(self, source: str, target: str) -> Link:
        """The direction from `source` to `target`."""
        link = self._links.get((source, target))
        if link is None:
            latency_us = self._latency_us(source, target) if source != target else 0
            random = self.random_of(self._draws_for(source, target))
            link = Link(self._timeline, source, target, latency_us, self._spec.jitter, random)
            link.number = len(self._links)
            self._links[source, target] = link
            self._links_from.setdefault(source, []).append(link)
            self._links_to.setdefault(target, []).append(link)
            for name, (fault, since_us) in self._faults.items():
                if fault.covers(source, target):
                    link.inject(name, fault, since_us)
        return link

    def _selected(self, selector: LinkSelector) -> list[Link]:
        """The links that a selector matches."""
        source, target = selector
        if source is not None and target is not None:
            found: Iterable[Link | None] = (self._links.get((source, target)),)
        elif source is not None:
            found = self._links_from.get(source, ())
        elif target is not None:
            found = self._links_to.get(target, ())
        else:
            found = self._links.values()
        return [link for link in found if link is not None and selector.covers(link.source, link.target)]

    def _covered(self, fault: LinkFault) -> list[Link]:
        """The links that a fault acts on, in the order in which they were made."""
        found = {link.number: link for selector in fault.selectors for link in self._selected(selector)}
        return [found[number] for number in sorted(found)]

    def inject(self, name: str, fault: LinkFault) -> None:
        """Apply a link fault under `name`; it replaces a fault of the same name."""
        self.clear(name)
        now_us = self._timeline.now_us
        self._faults[name] = fault, now_us
        for link in self._covered(fault):
            link.inject(name, fault, now_us)
        self._changed()

    def clear(self, name: str) -> None:
        """Remove the fault `name` from every link."""
        known = self._faults.pop(name, None)
        if known is not None:
            fault, _ = known
            for link in self._covered(fault):
                link.clear(name)
            self._changed()

    def _changed(self) -> None:
        for watcher in self.watchers:
            watcher()

    def process_died(self, name: str) -> None:
        """Drop the messages in the sockets of a process that has ended, except those on the wire."""
        for link in self._links_from.get(name, ()):
            link.drop_unsent(lambda message: message is not FROM_HOST)
