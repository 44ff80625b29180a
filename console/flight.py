"""One flight as the screens see it: the cluster's view, the virtual clock, and the source of both.

A `Source` delivers events and takes commands: `Bridge` for a live simulation, `Player` for a recording, `LiveTravel`
for a live simulation with its past. A `SeekableSource` can also move to any instant of its events. `Flight` folds the
events into one view for all screens.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from cluster.commands import Command, Names
from cluster.events import Event
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.document import group_lag
from cluster.view.state import LogEntry
from console.flight_clock import BUILDING, ENDED, FAILED, PAUSED, FlightClock
from console.presenters.conversations.newest_events import NewestEvents
from console.presenters.producers.limits import ProducerConfigs
from console.refused_commands import RefusedCommands

if TYPE_CHECKING:
    from console.game.game import Game
    from recordings.flights.beside import FlownSoFar

READ_ONLY = "a recording is read-only"
INVARIANT_BROKEN = "an invariant does not hold"  # `Source.failure` begins with it after an invariant violation
SIMULATION_FAILED = "the simulation failed"
ONLY_RECORDED = "this flight keeps no past: it cannot seek"
VIEWING_PAST = "the screens show the past, and commands act on the live flight: L returns to it"


def failure_title(failure: str) -> str:
    """The cause that ended a flight early, in a few words; `failure` is the full text of `Source.failure`."""
    return INVARIANT_BROKEN if failure.startswith(INVARIANT_BROKEN) else SIMULATION_FAILED


class Stepped(NamedTuple):
    """What a step did: the number of its events, and the last of them; the event of a kind counts alone."""

    events: int
    event: Event | None


class Source(Protocol):
    """Delivers a flight's events and takes its commands. `Bridge` and `Player` implement it.

    Methods that return a text return the reason of a refusal, or an empty text on success.
    """

    notice: str
    """A message to show once; the console empties it after that."""
    warning: str
    """The same for what went wrong."""

    @property
    def title(self) -> str:
        """Scenario and seed, for the header."""

    @property
    def names(self) -> Names:
        """The names that commands may use; empty until the scenario is loaded."""

    @property
    def broker_session_us(self) -> int | None:
        """`broker.session.timeout.ms` in µs; None until the scenario is loaded."""

    @property
    def spec(self) -> ScenarioSpec | None:
        """The scenario as it was declared, with the settings of its start; None until it is loaded."""

    @property
    def producer_configs(self) -> ProducerConfigs:
        """The configuration of each producer instance; empty until the scenario is loaded."""

    @property
    def clock(self) -> FlightClock:
        """The clock as of the last `request_clock`."""

    @property
    def recording(self) -> str:
        """The path of the recording being written; empty without one."""

    @property
    def input_error(self) -> str:
        """Why the scenario or recording cannot be opened or read on; empty if it can."""

    @property
    def failure(self) -> str:
        """Why the flight ended early, as text; empty unless it did."""

    @property
    def last_events(self) -> Sequence[Event]:
        """The last events before a failure, oldest first."""

    @property
    def stepped(self) -> Stepped | None:
        """What the last step did, while the view stands where it led; None otherwise."""

    @property
    def stopped(self) -> bool:
        """Whether the source's thread has ended and its recording is closed."""

    def newest(self) -> NewestEvents:
        """The newest requests, answers and batches up to the shown instant."""

    def origin(self) -> "Path | FlownSoFar | None":
        """What the flight can be flown again from: its recording, or what was flown so far; None without a cluster."""

    def undone(self) -> "tuple[Source | None, str]":
        """A source that goes on from before the last command, and that command; or None and the reason of a refusal."""

    def successor(self) -> "Source | None":
        """What the console shows from now on, when this flight is over; None while it stays."""

    def game(self) -> "Game | None":
        """The game that is played or was played; None of any other flight."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. Any thread may call `wake` to have the console draw at once."""

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        """Fold queued events into `view` for at most `seconds` of wall time; True if events remain."""

    def request_clock(self) -> None:
        """Request a new `clock` from the simulation."""

    def give_way(self) -> None:
        """Leave the processor to the console for a moment, because its user waits for an effect."""

    def submit(self, command: Command) -> str:
        """Submit a command to the cluster."""

    def set_speed(self, speed: float) -> str:
        """Set the speed, in virtual seconds per second."""

    def pause(self, paused: bool) -> str:
        """Pause or resume virtual time."""

    def step(self, kind: str | None) -> str:
        """Advance by one turn, or up to the next event of `kind`."""

    def run_until(self, expression: str) -> str:
        """Run until a CEL expression over the view document holds."""

    def record(self, path: str) -> str:
        """Record the flight to `path`, from its beginning."""

    def stop(self) -> None:
        """End the flight and close its recording."""


@runtime_checkable
class SeekableSource(Protocol):
    """A source that can seek: a recording, or a live flight that keeps its past."""

    @property
    def view(self) -> ClusterView:
        """The view at the cursor; a seek replaces the object."""

    @property
    def landmarks(self) -> Sequence[LogEntry]:
        """The flight's rebalances and faults; empty until the recording has been scanned."""

    @property
    def busy(self) -> bool:
        """Whether a requested seek or search is still pending."""

    def seek(self, at_us: int) -> str:
        """Move to an instant with the next frame; returns a notice if the recording ends before it."""

    def move(self, by: int) -> str:
        """Move by `by` events with the next frame; negative moves back. Returns the reason of a refusal."""

    def skip_quiet(self) -> str:
        """Play only what is near a landmark, or everything again. Returns the reason of a refusal."""

    def landmark(self, by: int) -> str:
        """Move to the next (1) or previous (-1) landmark with the next frame. Returns the reason of a refusal."""


class Flight:
    """The view and the clock that screens draw, and the controls of the flight."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seekable: SeekableSource | None = source if isinstance(source, SeekableSource) else None
        self.view = ClusterView()
        self.refused_commands = RefusedCommands()
        self.clock = source.clock
        self.behind = False
        self._lags: dict[str, int] | None = None

    @property
    def now_us(self) -> int:
        """The instant that is shown, in µs; never before the last folded event."""
        return self.clock.now_us

    @property
    def group_lags(self) -> dict[str, int]:
        """The lag of each group in records, counted once for all that one frame shows."""
        if self._lags is None:
            self._lags = {name: group_lag(self.view, group) for name, group in self.view.groups.items()}
        return self._lags

    def names(self) -> Names:
        """The names that commands may use now: the scenario's, and those of members and topics created since."""
        known, view = self.source.names, self.view
        groups = {group: dict.fromkeys(members) for group, members in known.groups.items()}
        for member in view.members.values():
            groups.setdefault(member.group, {})[member.member] = None
        for name in view.logs.groups if view.logs is not None else ():
            groups.setdefault(name, {})
        topics = dict(known.topics)
        for topic, partitions in view.partitions_by_topic.items():
            if topic in topics or not view.topics[topic].internal:
                topics[topic] = max(len(partitions), topics.get(topic, 0))
        brokers = known.brokers or tuple(f"broker-{broker}" for broker in sorted(view.brokers))
        return Names(
            brokers,
            {group: tuple(members) for group, members in groups.items()},
            known.producers,
            topics,
            known.internal,
        )

    def advance(self, seconds: float) -> None:
        """Fold queued events and read the clock; while events remain queued, the clock shows the view's instant."""
        self._lags = None
        self.behind = self.source.drain(self.view, self.refused_commands, seconds)
        if self.seekable is not None:
            self.view = self.seekable.view
        clock = self.source.clock
        now_us = self.view.at_us if self.behind else max(self.view.at_us, clock.now_us)
        phase = "live" if self.behind and clock.phase in {ENDED, FAILED} else clock.phase
        self.clock = clock._replace(now_us=now_us, phase=phase)
        self.source.request_clock()

    def pause_or_resume(self) -> str:
        """Toggle between paused and running; returns the reason of a refusal."""
        return self.source.pause(self.clock.phase != PAUSED)

    def why_not_controllable(self) -> str | None:
        """Why virtual time cannot be controlled now; None if it can."""
        if self.clock.phase == BUILDING:
            return "the cluster is still being built"
        if self.clock.phase == ENDED and not self.clock.recorded:
            return "the flight has ended; the screens show its final state"
        if self.clock.phase == FAILED:
            return f"{failure_title(self.source.failure)}; the screens show the last state before that"
        return None

    def why_read_only(self) -> str | None:
        """Why the cluster takes no commands at all; None if it takes them."""
        if not self.clock.recorded:
            return None
        return READ_ONLY if self.clock.live_us is None else VIEWING_PAST
