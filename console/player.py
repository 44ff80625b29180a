"""A recording as a `SeekableSource`: the interface of the bridge, and seeking.

No thread moves the cursor: each frame plays the wall time since the last one. Seeks requested between two frames are
combined and done at the next frame, so that a held key or a dragged mouse never queues seeks. One thread scans the
whole recording once: it verifies the files, makes missing keyframes, and finds the landmarks.
"""

import math
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands import Command, Names
from cluster.events import EVENT_KINDS, Event
from cluster.view import ClusterView
from cluster.view.state import LogEntry
from console.flight import READ_ONLY, Source, Stepped
from console.flight_clock import ENDED, LIVE, PAUSED, FlightClock
from console.presenters.conversations.newest_events import NewestEvents
from console.presenters.formatting import clock
from console.presenters.producers.limits import configs_of
from console.refused_commands import RefusedCommands
from recordings.bounded_files import RecordingError
from recordings.flights.declared import declared_spec
from recordings.journal.format import Header
from recordings.journal.keyframes import Keyframes
from recordings.journal.playback import FASTEST, SLOWEST, Playback
from recordings.journal.reader import Recording

if TYPE_CHECKING:
    from console.game.game import Game
    from recordings.flights.beside import FlownSoFar

FRAME_BUDGET_SECONDS = 0.05  # wall time that playing may take in a frame: nothing else runs beside it
SEARCH_EVENTS = 64  # between two readings of the wall clock
SCAN_EVENTS = 1_000
NEWEST_EVENTS = 10_000  # before the cursor, at least, which are read again after a jump
JOIN_SECONDS = 2.0
STAY_US, LEAD_US = 5_000_000, 2_000_000  # of virtual time that is played behind and before a landmark,
STAY_SECONDS, LEAD_SECONDS = 2.0, 1.0  # and at least so long for the viewer
GRACE_SECONDS = 1.0  # while playing, a landmark passed within this time is not the previous one
NO_MATCH = "no match in the rest of the recording"
AT_THE_END = "the recording ends here: { and [ move back, b plays backwards, :go 0s to its beginning"
NOTHING_BEFORE = "there is no event before this: ] moves on"
AT_THE_BEGINNING = "the recording begins here: b plays forwards"


class Player:
    """A recorded flight for the console. Raises RecordingError if the recording cannot be opened.

    `wall` returns the wall time in seconds. With `playing` it starts to play at once.
    `grown` is for a recording that is being written (`Playback`); it is not scanned, and `grow` continues it.
    """

    def __init__(
        self,
        path: Path,
        *,
        salvage: bool = False,
        playing: bool = True,
        wall: Callable[[], float] = time.perf_counter,
        grown: tuple[int, int] | None = None,
    ) -> None:
        self.path, self.salvage = path, salvage
        self._keyframes = Keyframes(path)
        self.playback = Playback(Recording(path, salvage=salvage, logs=True), self._keyframes, grown)
        if self.playback.recording.header.read_from:
            self.playback.seek_us(0)  # the first event says so
        self.playback.playing = playing
        self.playback.listeners.append(self._observe)
        header = self.playback.recording.header
        self.reads_logs = bool(header.read_from)
        self.title = f"{header.scenario} · {_origin_words(header)}"
        self.spec, unreadable = declared_spec(header) if not self.reads_logs else (None, "")
        self.names = self.spec.names() if self.spec is not None else Names()
        self.broker_session_us = self.spec.broker_session_us if self.spec is not None else None
        self.producer_configs = configs_of(self.spec) if self.spec is not None else {}
        self.warnings = [*self.playback.recording.warnings, *([unreadable] if unreadable else [])]
        self.notice, self.warning = "", "\n".join(self.warnings)
        self.input_error = ""  # why the recording cannot be read on
        self.last_events: Sequence[Event] = ()  # a Player keeps none: seek to see them
        self.failure = ""
        self.recording = ""  # a recording is never recorded itself
        self._wall = wall
        self._advanced = wall()
        self._measured = (self._advanced, 0)
        self._reached = 0.0
        self._goal_us: int | None = None
        self._steps = 0
        self._has_stepped = False  # the cursor came to its event by a step or a search
        self._search_condition: Callable[[], bool] | None = None
        self._searched_from = 0, 0  # the last event and the instant
        self.search_missed = False  # the last search found nothing
        self._last: Event | None = None
        self._refused_commands = RefusedCommands()
        self._newest, self._noted = NewestEvents(), 0  # with the number of jumps that it knows of
        self._landmarks: list[LogEntry] | None = None
        self._skips_quiet = False
        self._thread: threading.Thread | None = None
        self._stopping = False

    # --- state for the console --------------------------------------------------------------------------------------

    @property
    def view(self) -> ClusterView:
        """The view at the cursor; a seek replaces the object."""
        return self.playback.view

    @property
    def now_us(self) -> int:
        """The instant of the cursor, in µs."""
        return self.playback.at_us

    @property
    def clock(self) -> FlightClock:
        """The clock of the playback."""
        playback = self.playback
        moving = playback.playing or self._search_condition is not None
        phase = LIVE if moving else ENDED if playback.at_end else PAUSED
        skips = self._skips_quiet
        return FlightClock(playback.at_us, playback.speed, self._reached, phase, playback.end_us, True, skips)

    @property
    def stepped(self) -> Stepped | None:
        """The event that a step or search led to, while the cursor stands just behind it."""
        event = self.playback.last
        standing = self._has_stepped and not self.playback.playing and not self.busy
        return Stepped(1, event) if standing and event is not None else None

    @property
    def busy(self) -> bool:
        """Whether a requested seek or search is still pending."""
        return self._search_condition is not None or self._goal_us is not None or self._steps != 0

    @property
    def landmarks(self) -> Sequence[LogEntry]:
        """The rebalances and faults of the whole recording; empty until the scan has found them."""
        return self._landmarks or ()

    def newest(self) -> NewestEvents:
        """The newest requests, answers and batches before the cursor; after a jump they are read again."""
        playback = self.playback
        if self._noted != playback.jumps:
            self._newest, self._noted = NewestEvents(), playback.jumps
            start = self._keyframes.before_seq(max(0, playback.seq - NEWEST_EVENTS))
            try:
                for event in playback.recording.events(start):
                    if event.seq > playback.seq:
                        break
                    self._newest.observe(event)
            except RecordingError as error:
                self.input_error = str(error)
        return self._newest

    def origin(self) -> "Path | FlownSoFar | None":
        """The recording; logs cannot be flown again."""
        return self.path if not self.reads_logs else None

    def undone(self) -> "tuple[Source | None, str]":
        """Refuse: nothing is given to a recording."""
        return None, READ_ONLY

    def successor(self) -> "Source | None":
        """None: a recording stays on the screens."""
        return None

    def game(self) -> "Game | None":
        """None: nothing is hidden."""
        return None

    def start(self, wake: Callable[[], None]) -> None:
        """Start the scan of the recording; its thread calls `wake` at the end."""
        self._advanced = self._wall()
        if self._landmarks is None:
            self._thread = threading.Thread(target=self._scan, args=(wake,), name="recording", daemon=True)
            self._thread.start()
        wake()

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        """Do the pending seek or search, or play the elapsed time. Folds into the player's own view (`view`)."""
        del view, seconds
        self._refused_commands = refused_commands
        now = self._wall()
        elapsed, self._advanced = now - self._advanced, now
        try:
            if self._goal_us is not None or self._steps:
                self._seek_now()
            elif self._search_condition is not None:
                self._search(self._search_condition)
            else:
                self.playback.tick(elapsed, FRAME_BUDGET_SECONDS)
                if self._skips_quiet and self.playback.playing:
                    self._leave_quiet()
        except RecordingError as error:
            self.playback.playing, self._search_condition = False, None
            self.input_error = str(error)
        self._measure()
        return False

    def request_clock(self) -> None:
        """A no-op: the clock is always current."""

    def give_way(self) -> None:
        """A no-op: a recording is played on the console's own thread."""

    # --- controls ----------------------------------------------------------------------------------------------------

    def submit(self, command: Command) -> str:
        """Refuse every command: a recording is read-only."""
        del command
        return READ_ONLY

    def set_speed(self, speed: float) -> str:
        """Set the speed, backwards below zero; returns a notice if it is outside the range of recordings.

        At the end, turning backwards plays; so does turning forwards at the beginning.
        """
        turned = (speed < 0) != (self.playback.speed < 0)
        if turned and (self.playback.at_end if speed < 0 else self.playback.at_us <= 0):
            self.playback.playing = True
        self.playback.speed = speed
        if speed not in {math.inf, self.playback.speed}:
            return f"a recording is played at ×{SLOWEST:g} to ×{FASTEST:,.0f}, backwards too"
        return ""

    def pause(self, paused: bool) -> str:
        """Pause or resume; returns the reason of a refusal."""
        self._search_condition = None
        if not paused and not self.busy:
            if self.playback.speed < 0 and self.playback.at_us <= 0:
                return AT_THE_BEGINNING
            if self.playback.speed > 0 and self.playback.at_end:
                return AT_THE_END
        self.playback.playing, self._has_stepped = not paused, False
        return ""

    def step(self, kind: str | None) -> str:
        """Move by one event, or search for the next event of `kind`; returns the reason of a refusal."""
        if kind is None:
            return self.move(1)
        wanted = EVENT_KINDS[kind]
        return self._begin_search(lambda: self._last.__class__ is wanted)

    def run_until(self, expression: str) -> str:
        """Search forwards until an expression over the view document holds; returns the reason of a refusal."""
        from console.run_until import UntilCondition  # noqa: PLC0415 - CEL is not needed to start
        from recordings.scenarios.predicates import PredicateError  # noqa: PLC0415

        try:
            condition = UntilCondition(expression, self.playback.view, lambda: self.now_us, self.spec)
        except PredicateError as error:
            return str(error)
        held = condition.holding()
        return f"already true at this instant: {held}" if held else self._begin_search(condition)

    def record(self, path: str) -> str:
        """Refuse: the flight is a recording already."""
        del path
        return f"this is already a recording: {self.path}"

    @property
    def stopped(self) -> bool:
        """Always True: playback has nothing to close."""
        return True

    def stop(self) -> None:
        """End the scan."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS)

    # --- seeking ---------------------------------------------------------------------------------------------------

    def seek(self, at_us: int) -> str:
        """Move to an instant with the next frame; returns a notice if the recording ends before it."""
        end_us = self.playback.end_us
        self._goal_us, self._steps, self._search_condition = min(max(at_us, 0), end_us), 0, None
        return f"the recording ends at {clock(end_us, 3)}" if at_us > end_us else ""

    def move(self, by: int) -> str:
        """Move by `by` events (back: negative) with the next frame, and pause there."""
        self.playback.playing, self._search_condition = False, None
        if by > 0 and self.playback.at_end and not self.busy:
            return AT_THE_END
        if by < 0 and not self.playback.seq and not self.busy:
            return NOTHING_BEFORE
        self._steps += by
        return ""

    def landmark(self, by: int) -> str:
        """Move to the next (1) or previous (-1) landmark with the next frame; returns the reason of a refusal."""
        if self._landmarks is None:
            self._landmarks = self.playback.landmarks()
        landmarks = self._landmarks
        here = self._goal_us if self._goal_us is not None else self.playback.at_us
        if by > 0:
            index = bisect_right(landmarks, here, key=_instant)
        else:
            grace = GRACE_SECONDS * max(0.0, self.playback.speed) * 1_000_000 if self.playback.playing else 0
            index = bisect_left(landmarks, here - grace, key=_instant) - 1
        if not 0 <= index < len(landmarks):
            return f"there is no rebalance or fault {'after' if by > 0 else 'before'} this"
        return self.seek(landmarks[index].at_us)

    def skip_quiet(self) -> str:
        """Play only what is near a landmark, or everything again; returns the reason of a refusal."""
        if not self._skips_quiet and self._landmarks is None:
            return "the recording is still being scanned: its rebalances and faults are not known yet"
        self._skips_quiet = not self._skips_quiet
        return ""

    def grow(self, events: int, end_us: int, landmarks: Sequence[LogEntry]) -> None:
        """Know a recording that is being written up to a later event; the cursor stays. Raises RecordingError."""
        self._landmarks, before = list(landmarks), self.playback
        if events == before.events:
            return
        self._keyframes = Keyframes(self.path)
        playback = Playback(Recording(self.path), self._keyframes, (events, end_us))
        playback.seek_seq(before.seq)
        playback.at_us, playback.speed, playback.playing = before.at_us, before.speed, before.playing
        playback.listeners.append(self._observe)
        self.playback, self._noted = playback, -1

    # --- inside -----------------------------------------------------------------------------------------------------

    def _observe(self, event: Event) -> None:
        self._last = event
        self._refused_commands.observe(event)
        if self._noted == self.playback.jumps:  # else it is read again when it is asked for
            self._newest.observe(event)

    def _seek_now(self) -> None:
        goal_us, steps = self._goal_us, self._steps
        self._goal_us, self._steps = None, 0
        self._has_stepped = steps != 0
        if goal_us is not None:
            self.playback.seek_us(goal_us)
        if steps:
            self.playback.step(steps)
        self._advanced = self._wall()  # the wall time of a seek is not played
        self._measured, self._reached = (self._advanced, self.playback.at_us), 0.0

    def _leave_quiet(self) -> None:
        """Jump over the time between two landmarks, or up to the end, that is not near to either."""
        here, speed = self.playback.at_us, abs(self.playback.speed)
        landmarks = self._landmarks or []
        index = bisect_right(landmarks, here, key=_instant)
        before = landmarks[index - 1].at_us if index else 0
        behind = landmarks[index].at_us if index < len(landmarks) else self.playback.end_us
        stay_us = max(STAY_US, round(STAY_SECONDS * speed * 1_000_000))
        lead_us = max(LEAD_US, round(LEAD_SECONDS * speed * 1_000_000))
        if self.playback.speed < 0:
            passed_us, goal_us = behind - here, before + lead_us
        else:
            passed_us, goal_us = here - before, behind - lead_us
        if passed_us >= stay_us and abs(goal_us - here) > lead_us and (goal_us < here) == (self.playback.speed < 0):
            self.playback.seek_us(goal_us)
            self._advanced = self._wall()
            self._measured = (self._advanced, self.playback.at_us)

    def _begin_search(self, holds: Callable[[], bool]) -> str:
        if self.playback.at_end:
            return AT_THE_END
        self.playback.playing, self._last, self._search_condition = False, None, holds
        self._searched_from, self.search_missed = (self.playback.seq, self.playback.at_us), False
        return ""

    def _search(self, holds: Callable[[], bool]) -> None:
        playback, deadline = self.playback, time.perf_counter() + FRAME_BUDGET_SECONDS
        while time.perf_counter() < deadline:
            for _ in range(SEARCH_EVENTS):
                if playback.at_end:
                    self._search_condition, self.notice, self.search_missed = None, NO_MATCH, True
                    self._return_to(*self._searched_from)
                    return
                playback.step()
                if holds():
                    self._search_condition, self._has_stepped = None, True
                    return

    def _return_to(self, seq: int, at_us: int) -> None:
        """Show again what was there before a search that found nothing."""
        self.playback.seek_seq(seq)
        if self.playback.at_us < at_us:  # no event between them
            self.playback.seek_us(at_us)

    def _measure(self) -> None:
        since, from_us = self._measured
        if not self.playback.playing:
            self._measured, self._reached = (self._advanced, self.playback.at_us), 0.0
        elif self._advanced - since >= 1.0:
            self._reached = abs(self.playback.at_us - from_us) / 1e6 / (self._advanced - since)
            self._measured = (self._advanced, self.playback.at_us)

    # --- on the scanning thread --------------------------------------------------------------------------------------

    def _scan(self, wake: Callable[[], None]) -> None:
        try:
            self.verify()
        except RecordingError as error:
            self.input_error = str(error)
        except Exception as error:  # noqa: BLE001 - any error is shown on the screen and ends the thread
            self.failure = f"the recording could not be scanned: {type(error).__name__}: {error}"
        if not self._stopping:
            wake()

    def verify(self) -> None:
        """Read the whole recording once. Raises DamagedError for damaged files."""
        recording = Recording(self.path, salvage=self.salvage, logs=True)
        scan = Playback(recording, self._keyframes)
        if self._keyframes.positions:
            for _ in recording.batches():
                if self._stopping:
                    return
            self._landmarks = scan.landmarks()
            return
        while not scan.at_end:
            if self._stopping:
                return
            scan.step(SCAN_EVENTS)
        self._landmarks = scan.landmarks()


def _origin_words(header: Header) -> str:
    """Where the events are from."""
    if header.read_from:
        return "read from 1 log" if len(header.read_from) == 1 else f"read from {len(header.read_from)} logs"
    return f"seed {header.settings.seed}"


def _instant(moment: LogEntry) -> int:
    return moment.at_us
