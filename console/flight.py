"""The flight as the screens know it: one view, one clock, and whoever feeds them."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from cluster.commands import Command, Names
from cluster.view import ClusterView
from cluster.view.state import Moment
from console.flight_clock import BUILDING, ENDED, FAILED, PAUSED, Clock
from console.refused_commands import Traces

NO_INJURY = "a recording cannot be injured (forking it comes later)"
BROKEN = "an invariant does not hold"  # how trouble begins when what must always hold did not
FAILURE = "the simulation failed"
ONLY_RECORDED = "only a recording can be gone through back and forth, and this flight is live"


def what_failed(trouble: str) -> str:
    """What ended a flight before its time, in a few words; `trouble` says it at length."""
    return BROKEN if trouble.startswith(BROKEN) else FAILURE


class Source(Protocol):
    """Where events come from and where commands go. Live it is the bridge; in tests, a list of events."""

    @property
    def title(self) -> str:
        """What is flown, for the header."""

    @property
    def names(self) -> Names:
        """What commands may name; nothing before the scenario is loaded."""

    @property
    def broker_session_us(self) -> int | None:
        """`broker.session.timeout.ms` in µs; None while the scenario is not known."""

    @property
    def clock(self) -> Clock:
        """Where the flight stood when it was last asked (`ask`)."""

    @property
    def recording(self) -> str:
        """The path of the recording under way; empty without one."""

    @property
    def trouble(self) -> str:
        """Why there is no flight (any more), in words; empty while all is well."""

    @property
    def landed(self) -> bool:
        """Whether nothing is under way any more: its thread has ended, its recording is closed."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. `wake` may be called from any thread, when something changed that should be seen at once."""

    def drain(self, view: ClusterView, traces: Traces, seconds: float) -> bool:
        """Fold what happened since the last time, for at most this long; whether there is more."""

    def ask(self) -> None:
        """Have the clock read again."""

    def submit(self, command: Command) -> str:
        """Give a command; why that cannot be, or nothing."""

    def set_speed(self, speed: float) -> str:
        """Choose a speed; why that cannot be, or nothing."""

    def pause(self, paused: bool) -> str:
        """Stop time or let it go on; why that cannot be, or nothing."""

    def step(self, kind: str | None) -> str:
        """One turn, or turns up to the next event of a kind; why that cannot be, or nothing."""

    def run_until(self, expression: str) -> str:
        """Go on until an expression over the view document holds; why that cannot be, or nothing."""

    def record(self, path: str) -> str:
        """Record the flight, from its beginning; why that cannot be, or nothing."""

    def stop(self) -> None:
        """End the flight, whatever it is doing."""


@runtime_checkable
class Past(Protocol):
    """What a source can besides if its events are there already: be anywhere in them. A recording is one."""

    @property
    def view(self) -> ClusterView:
        """What is shown; another object after a jump."""

    @property
    def landmarks(self) -> Sequence[Moment]:
        """The rebalances and faults of the whole flight, as far as they are known."""

    @property
    def busy(self) -> bool:
        """Whether something that was wished for is still to be done by `drain`."""

    def seek(self, at_us: int) -> str:
        """Be at an instant with the next frame; what is to be said about it, or nothing."""

    def move(self, by: int) -> str:
        """Be so many events further on with the next frame (back: negative); why that cannot be, or nothing."""

    def landmark(self, by: int) -> str:
        """Be at the next or previous rebalance or fault with the next frame; why that cannot be, or nothing."""


class Flight:
    """What screens draw: the view, its instant, and how the flight is controlled."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.past: Past | None = source if isinstance(source, Past) else None
        self.view = ClusterView()
        self.traces = Traces()
        self.clock = source.clock
        self.behind = False

    @property
    def now_us(self) -> int:
        """The instant that is shown: never before the last event that was folded."""
        return self.clock.now_us

    def names(self) -> Names:
        """What commands may name now: what the scenario declares, and what has come to be since."""
        known, view = self.source.names, self.view
        groups = {group: dict.fromkeys(members) for group, members in known.groups.items()}
        for member in view.members.values():
            groups.setdefault(member.group, {})[member.member] = None
        topics = dict(known.topics)
        for topic, partitions in view.partitions_by_topic.items():
            if topic in topics or not view.topics[topic].internal:
                topics[topic] = max(len(partitions), topics.get(topic, 0))
        brokers = known.brokers or tuple(f"broker-{broker}" for broker in sorted(view.brokers))
        return Names(brokers, {group: tuple(members) for group, members in groups.items()}, known.producers, topics)

    def advance(self, seconds: float) -> None:
        """Fold what came in, and read the clock; while events wait, the view's own instant is now."""
        self.behind = self.source.drain(self.view, self.traces, seconds)
        if self.past is not None:
            self.view = self.past.view
        at = self.source.clock
        now_us = self.view.at_us if self.behind else max(self.view.at_us, at.now_us)
        phase = "live" if self.behind and at.phase in {ENDED, FAILED} else at.phase
        self.clock = at._replace(now_us=now_us, phase=phase)
        self.source.ask()

    def pause_or_resume(self) -> str:
        """The other of the two; why that cannot be, or nothing."""
        return self.source.pause(self.clock.phase != PAUSED)

    def cannot_steer(self) -> str | None:
        """Why time cannot be steered now, in words; None when it can."""
        if self.clock.phase == BUILDING:
            return "the cluster is still being built"
        if self.clock.phase == ENDED and self.past is None:
            return "the flight has ended; what you see is its final state"
        if self.clock.phase == FAILED:
            return f"{what_failed(self.source.trouble)}; what you see is the last that it told"
        return None

    def cannot_injure(self) -> str | None:
        """Why nothing can be done to the cluster, whatever it is, in words; None when something can."""
        return NO_INJURY if self.past is not None else None
