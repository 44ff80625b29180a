"""A live flight as a `SeekableSource`: the flight goes on, or stays paused, while the screens show its past.

The past is a recording that grows (`KeptPast`), and a `Player` is the cursor in it. While the past is shown, the keys
of time move the cursor, and commands are refused: they would act on a cluster that the screens do not show.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands import Command, Names
from cluster.events import Event
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.state import LogEntry
from console.bridge import Bridge, Watch
from console.flight import VIEWING_PAST, Source, Stepped
from console.flight_clock import BUILDING, ENDED, PAUSED, FlightClock
from console.presenters.conversations.newest_events import NewestEvents
from console.presenters.producers.limits import ProducerConfigs
from console.refused_commands import RefusedCommands
from console.travel.kept_past import KeptPast
from recordings.bounded_files import RecordingError

if TYPE_CHECKING:
    from console.game.game import Game
    from console.player import Player
    from recordings.flights.beside import FlownSoFar

FASTEST_BACK = -1_000.0
NEAR_SECONDS = 0.2  # of play before the end of what the cursor knows, in which it reads on
IS_LIVE = "this is the live instant"
PAST_ENDS = "the past ends here: L returns to live"
LANDMARKS = ("rebalance", "fault")


def with_past(source: Source) -> Source:
    """A live flight that keeps its past; any other source as it is."""
    return LiveTravel(source) if isinstance(source, Bridge) else source


def watched(source: Source, watch: Watch | None) -> Source:
    """A source that is not started yet; if it is a live flight, with its events watched."""
    if isinstance(source, LiveTravel):
        source.live.watch = watch
    return source


class LiveTravel:
    """A live flight and a cursor in its past. Call it on the console's thread."""

    def __init__(self, live: Bridge) -> None:
        self.live, self.live_view = live, ClusterView()
        self._kept = live.past = KeptPast()
        self._cursor: Player | None = None
        self._past_refused = RefusedCommands()  # what was refused then is not said again

    # --- state of the live flight -----------------------------------------------------------------------------------

    @property
    def notice(self) -> str:
        """A message to show once."""
        return self.live.notice

    @notice.setter
    def notice(self, text: str) -> None:
        self.live.notice = text

    @property
    def warning(self) -> str:
        """What went wrong with the live flight, to show once."""
        return self.live.warning

    @warning.setter
    def warning(self, text: str) -> None:
        self.live.warning = text

    @property
    def title(self) -> str:
        """Scenario and seed."""
        return self.live.title

    @property
    def names(self) -> Names:
        """The names that commands may use."""
        return self.live.names

    @property
    def broker_session_us(self) -> int | None:
        """`broker.session.timeout.ms` in µs."""
        return self.live.broker_session_us

    @property
    def spec(self) -> ScenarioSpec | None:
        """The scenario as it was declared."""
        return self.live.spec

    @property
    def producer_configs(self) -> ProducerConfigs:
        """The configuration of each producer instance."""
        return self.live.producer_configs

    @property
    def recording(self) -> str:
        """The path of the recording that the user asked for."""
        return self.live.recording

    @property
    def input_error(self) -> str:
        """Why the scenario cannot be flown."""
        return self.live.input_error

    @property
    def failure(self) -> str:
        """Why the flight ended early."""
        return self.live.failure

    @property
    def last_events(self) -> Sequence[Event]:
        """The last events before a failure."""
        return self.live.last_events

    @property
    def stopped(self) -> bool:
        """Whether the simulation's thread has ended."""
        return self.live.stopped

    def origin(self) -> "Path | FlownSoFar | None":
        """What was flown so far."""
        return self.live.origin()

    def newest(self) -> NewestEvents:
        """The newest requests, answers and batches before the instant that is shown."""
        return self.live.newest() if self._cursor is None else self._cursor.newest()

    def undone(self) -> tuple[Source | None, str]:
        """The flight up to before its last command."""
        return (None, VIEWING_PAST) if self._cursor is not None else self.live.undone()

    def successor(self) -> Source | None:
        """What follows the live flight."""
        return self.live.successor()

    def game(self) -> "Game | None":
        """The game that is played on the live flight."""
        return self.live.game()

    def record(self, path: str) -> str:
        """Record the live flight."""
        return self.live.record(path)

    def start(self, wake: Callable[[], None]) -> None:
        """Begin the live flight."""
        self.live.start(wake)

    def stop(self) -> None:
        """End the live flight and remove its past."""
        self._cursor = None
        self.live.stop()
        self._kept.close()

    def request_clock(self) -> None:
        """Request the live flight's clock."""
        self.live.request_clock()

    def give_way(self) -> None:
        """Have the live flight leave the processor to the console for a moment."""
        self.live.give_way()

    # --- what is shown ----------------------------------------------------------------------------------------------

    @property
    def view(self) -> ClusterView:
        """The view at the cursor, or the live one."""
        return self.live_view if self._cursor is None else self._cursor.view

    @property
    def clock(self) -> FlightClock:
        """The clock of the cursor, with the live instant beside it; or the live clock."""
        live, cursor = self.live.clock, self._cursor
        if cursor is None:
            return live
        past = cursor.clock
        phase = PAUSED if past.phase == ENDED else past.phase
        return past._replace(phase=phase, until_us=live.until_us, live_us=max(live.now_us, self.live_view.at_us))

    @property
    def stepped(self) -> Stepped | None:
        """What the last step did."""
        return self.live.stepped if self._cursor is None else self._cursor.stepped

    @property
    def landmarks(self) -> Sequence[LogEntry]:
        """The rebalances and faults up to the live instant, while the past is shown."""
        return () if self._cursor is None else self._cursor.landmarks

    @property
    def busy(self) -> bool:
        """Whether a requested seek or search is still pending."""
        return self._cursor is not None and self._cursor.busy

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        """Fold the live flight's events into the live view (not `view`), and move the cursor."""
        behind = self.live.drain(self.live_view, refused_commands, seconds)
        cursor = self._cursor
        if cursor is None:
            return behind
        was_playing = cursor.playback.playing
        self._read_on(cursor)
        cursor.drain(view, self._past_refused, seconds)
        if cursor.notice:
            self.notice, cursor.notice = "no match up to the live instant", ""
        if cursor.input_error:
            self.warning, self._cursor = f"the past cannot be read: {cursor.input_error}", None
        elif was_playing and cursor.playback.at_end:
            self._cursor = None  # played on into the present
        return False

    def _read_on(self, cursor: "Player") -> None:
        """Let a cursor that plays know what has happened since, shortly before it comes to the end of what it knows."""
        playback = cursor.playback
        near_us = round(NEAR_SECONDS * max(0.0, playback.speed) * 1e6)
        if playback.playing and playback.end_us - playback.at_us < near_us < self.live_view.at_us - playback.end_us:
            self._renew(cursor)

    # --- moving -----------------------------------------------------------------------------------------------------

    def seek(self, at_us: int) -> str:
        """Move to an instant before the live one; any later instant returns to live."""
        if at_us >= self.live_view.at_us:
            if self._cursor is None:
                return IS_LIVE
            self._cursor = None
            return ""
        cursor = self._travel()
        return cursor if isinstance(cursor, str) else cursor.seek(at_us)

    def move(self, by: int) -> str:
        """Move by `by` events; the first step back leaves the live instant."""
        if by > 0 and self._cursor is None:
            return IS_LIVE
        cursor = self._travel()
        if isinstance(cursor, str):
            return cursor
        if by > 0 and cursor.playback.at_end:
            self._cursor = None
            return ""
        return cursor.move(by)

    def landmark(self, by: int) -> str:
        """Move to the next (1) or previous (-1) rebalance or fault."""
        if by > 0 and self._cursor is None:
            return IS_LIVE
        was_live = self._cursor is None
        cursor = self._travel()
        if isinstance(cursor, str):
            return cursor
        refusal = cursor.landmark(by)
        if refusal and was_live:
            self._cursor = None
        return refusal

    def skip_quiet(self) -> str:
        """Play only what is near a landmark; only the past can be skipped."""
        return IS_LIVE if self._cursor is None else self._cursor.skip_quiet()

    def _travel(self) -> "Player | str":
        """The cursor, which knows everything up to the live instant; or the reason why there is none."""
        if self.live.clock.phase == BUILDING:
            return "the cluster is still being built"
        cursor = self._cursor
        written = self._kept.written()
        if written is None:
            return self._kept.failure or "the flight has no past yet"
        try:
            if cursor is None:
                from console.player import Player  # noqa: PLC0415 - a flight without travel needs no reader

                path, events = written
                cursor = Player(path, playing=False, grown=(min(events, self.live_view.seq), self.live_view.at_us))
                cursor.playback.seek_seq(cursor.playback.events)
            self._renew(cursor)
        except RecordingError as error:
            return f"the past cannot be read: {error}"
        self._cursor = cursor
        return cursor

    def _renew(self, cursor: "Player") -> None:
        written = self._kept.written()
        if written is not None:
            seen = [entry for entry in self.live_view.log_entries if entry.kind in LANDMARKS]
            cursor.grow(min(written[1], self.live_view.seq), self.live_view.at_us, seen)

    # --- controls ---------------------------------------------------------------------------------------------------

    def submit(self, command: Command) -> str:
        """Submit a command to the live cluster; refused while the past is shown."""
        return VIEWING_PAST if self._cursor is not None else self.live.submit(command)

    def set_speed(self, speed: float) -> str:
        """Set the speed of what is shown; backwards leaves the live instant."""
        if self._cursor is None and speed >= 0:
            return self.live.set_speed(speed)
        was_live = self._cursor is None
        cursor = self._travel()
        if isinstance(cursor, str):
            return cursor
        refusal = cursor.set_speed(max(speed, FASTEST_BACK))
        if was_live:
            cursor.pause(False)
        return refusal

    def pause(self, paused: bool) -> str:
        """Pause or resume what is shown."""
        if self._cursor is None:
            return self.live.pause(paused)
        cursor = self._travel()
        if isinstance(cursor, str):
            return cursor
        if not paused and cursor.playback.at_end and cursor.playback.speed > 0:
            return PAST_ENDS
        return cursor.pause(paused)

    def step(self, kind: str | None) -> str:
        """Step what is shown: a turn of the live flight, an event of the past, or to the next event of `kind`."""
        if self._cursor is None:
            return self.live.step(kind)
        cursor = self._travel()
        if isinstance(cursor, str):
            return cursor
        if kind is None:
            return self.move(1)
        return PAST_ENDS if cursor.playback.at_end else cursor.step(kind)

    def run_until(self, expression: str) -> str:
        """Run the live flight until an expression holds, or search the past for it."""
        if self._cursor is None:
            return self.live.run_until(expression)
        cursor = self._travel()
        if isinstance(cursor, str):
            return cursor
        return PAST_ENDS if cursor.playback.at_end else cursor.run_until(expression)
