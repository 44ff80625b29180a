"""A recording as a source: the same surface as the bridge, and a past to go to.

No thread moves this flight: each frame says how much wall time has passed. Jumps that are wished for between two frames
are done once, at the next frame, so that a key that is held down or a mouse that is dragged never queues seeks. One
thread of its own looks through the whole recording once: it verifies it, makes keyframes where there are none, and
finds the moments that can be gone to.
"""

import math
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path

from cluster.commands import Command, Names
from cluster.events import EVENT_KINDS, Event
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.state import LogEntry
from console.flight import READ_ONLY
from console.flight_clock import ENDED, LIVE, PAUSED, FlightClock
from console.presenters.formatting import clock
from console.refused_commands import RefusedCommands
from recordings.bounded_files import RecordingError
from recordings.journal.format import Header
from recordings.journal.keyframes import Keyframes
from recordings.journal.playback import FASTEST, SLOWEST, Playback
from recordings.journal.reader import Recording
from recordings.scenarios.loader import ScenarioErrors, SettingError, apply_settings, parse_scenario

FRAME_BUDGET_SECONDS = 0.05  # of wall time that playing may take in a frame: nothing else runs beside it
LOOK_EVENTS = 64  # between two looks at the wall time
SCAN_EVENTS = 1_000
JOIN_SECONDS = 2.0
GRACE_SECONDS = 1.0  # while it plays, the moment that was passed so lately is not the previous one
THE_END = "the recording ends here: { and [ go back, :go 0s to its beginning"


class Player:
    """A recorded flight, seen from the console. Raises RecordingError when there is no recording to open.

    `wall` is what time passes by. With `playing` it begins to play at once.
    """

    def __init__(
        self,
        path: Path,
        *,
        salvage: bool = False,
        playing: bool = True,
        wall: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.path, self.salvage = path, salvage
        self._keyframes = Keyframes(path)
        self.playback = Playback(Recording(path, salvage=salvage), self._keyframes)
        self.playback.playing = playing
        self.playback.listeners.append(self._hear)
        header = self.playback.recording.header
        self.title = f"{header.scenario} · seed {header.settings.seed}"
        self._spec, unreadable = _spec(header)
        self.names = self._spec.names() if self._spec is not None else Names()
        self.broker_session_us = self._spec.broker_session_us if self._spec is not None else None
        self.warnings = [*self.playback.recording.warnings, *([unreadable] if unreadable else [])]
        self.notice = "\n".join(self.warnings)
        self.input_error = ""  # why this recording cannot be shown (any more)
        self.last_events: Sequence[Event] = ()  # a recording shows them on its screens
        self.failure = ""
        self.recording = ""  # nothing is recorded meanwhile
        self._wall = wall
        self._looked = wall()
        self._measured = (self._looked, 0)
        self._reached = 0.0
        self._goal_us: int | None = None
        self._steps = 0
        self._hunt: Callable[[], bool] | None = None
        self._last: Event | None = None
        self._refused_commands = RefusedCommands()
        self._landmarks: list[LogEntry] | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False

    # --- what the console reads -------------------------------------------------------------------------------------

    @property
    def view(self) -> ClusterView:
        """What the events up to the cursor add up to; another object after a jump."""
        return self.playback.view

    @property
    def now_us(self) -> int:
        """The cursor's instant."""
        return self.playback.at_us

    @property
    def clock(self) -> FlightClock:
        """Where the playback stands."""
        playback = self.playback
        moving = playback.playing or self._hunt is not None
        phase = LIVE if moving else ENDED if playback.at_end else PAUSED
        return FlightClock(playback.at_us, playback.speed, self._reached, phase, playback.end_us, recorded=True)

    @property
    def busy(self) -> bool:
        """Whether a jump or a search is still to be done."""
        return self._hunt is not None or self._goal_us is not None or self._steps != 0

    @property
    def landmarks(self) -> Sequence[LogEntry]:
        """The rebalances and faults of the whole recording, as soon as they are known."""
        return self._landmarks or ()

    def start(self, wake: Callable[[], None]) -> None:
        """Begin to look through the recording; `wake` is called on that thread when something is to be seen."""
        self._looked = self._wall()
        if self._landmarks is None:
            self._thread = threading.Thread(target=self._look_through, args=(wake,), name="recording", daemon=True)
            self._thread.start()
        wake()

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        """Go where somebody wished to be, or play what has become due. Folds into a view of its own (`view`)."""
        del view, seconds
        self._refused_commands = refused_commands
        now = self._wall()
        elapsed, self._looked = now - self._looked, now
        try:
            if self._goal_us is not None or self._steps:
                self._jump()
            elif self._hunt is not None:
                self._search(self._hunt)
            else:
                self.playback.tick(elapsed, FRAME_BUDGET_SECONDS)
        except RecordingError as error:
            self.playback.playing, self._hunt = False, None
            self.input_error = str(error)
        self._measure()
        return False

    def request_clock(self) -> None:
        """The clock is always right."""

    # --- what the console wants -------------------------------------------------------------------------------------

    def submit(self, command: Command) -> str:
        """Nothing can be done to what has happened."""
        del command
        return READ_ONLY

    def set_speed(self, speed: float) -> str:
        """Choose a speed; what is said when it is not quite that one."""
        self.playback.speed = speed
        if speed not in {math.inf, self.playback.speed}:
            return f"a recording is played at ×{SLOWEST:g} to ×{FASTEST:,.0f}"
        return ""

    def pause(self, paused: bool) -> str:
        """Stop, or go on; why that cannot be, or nothing."""
        self._hunt = None
        if not paused and self.playback.at_end and not self.busy:
            return THE_END
        self.playback.playing = not paused
        return ""

    def step(self, kind: str | None) -> str:
        """One event, or as many as it takes to see one of this kind; why that cannot be, or nothing."""
        if kind is None:
            return self.move(1)
        wanted = EVENT_KINDS[kind]
        return self._begin_search(lambda: self._last.__class__ is wanted)

    def run_until(self, expression: str) -> str:
        """Search onwards until an expression over the view document holds; why that cannot be, or nothing."""
        from console.run_until import UntilCondition  # noqa: PLC0415 - CEL is not needed to start
        from recordings.scenarios.predicates import PredicateError  # noqa: PLC0415

        try:
            return self._begin_search(UntilCondition(expression, self.playback.view, lambda: self.now_us, self._spec))
        except PredicateError as error:
            return str(error)

    def record(self, path: str) -> str:
        """It is one."""
        del path
        return f"this is a recording already: {self.path}"

    @property
    def stopped(self) -> bool:
        """Always: nothing is lost when playing ends."""
        return True

    def stop(self) -> None:
        """Nobody looks any more."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS)

    # --- going elsewhere --------------------------------------------------------------------------------------------

    def seek(self, at_us: int) -> str:
        """Be at an instant with the next frame; what is said when the recording does not reach so far."""
        end_us = self.playback.end_us
        self._goal_us, self._steps, self._hunt = min(max(at_us, 0), end_us), 0, None
        return f"the recording ends at {clock(end_us, 3)}" if at_us > end_us else ""

    def move(self, by: int) -> str:
        """Be so many events further on (back: negative) with the next frame, and stand still there."""
        self.playback.playing, self._hunt = False, None
        if by > 0 and self.playback.at_end and not self.busy:
            return THE_END
        self._steps += by
        return ""

    def landmark(self, by: int) -> str:
        """Be at the next rebalance or fault (previous: negative) with the next frame; why that cannot be."""
        if self._landmarks is None:
            self._landmarks = self.playback.landmarks()
        moments = self._landmarks
        here = self._goal_us if self._goal_us is not None else self.playback.at_us
        if by > 0:
            place = bisect_right(moments, here, key=_instant)
        else:
            grace = GRACE_SECONDS * self.playback.speed * 1_000_000 if self.playback.playing else 0
            place = bisect_left(moments, here - grace, key=_instant) - 1
        if not 0 <= place < len(moments):
            return f"there is no rebalance or fault {'after' if by > 0 else 'before'} this"
        return self.seek(moments[place].at_us)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        self._last = event
        self._refused_commands.observe(event)

    def _jump(self) -> None:
        goal_us, steps = self._goal_us, self._steps
        self._goal_us, self._steps = None, 0
        if goal_us is not None:
            self.playback.seek_us(goal_us)
        if steps:
            self.playback.step(steps)
        self._looked = self._wall()  # the time that a jump takes is not played
        self._measured, self._reached = (self._looked, self.playback.at_us), 0.0

    def _begin_search(self, holds: Callable[[], bool]) -> str:
        if self.playback.at_end:
            return THE_END
        self.playback.playing, self._last, self._hunt = False, None, holds
        return ""

    def _search(self, holds: Callable[[], bool]) -> None:
        playback, deadline = self.playback, time.perf_counter() + FRAME_BUDGET_SECONDS
        while time.perf_counter() < deadline:
            for _ in range(LOOK_EVENTS):
                if playback.at_end:
                    self._hunt, self.notice = None, "it does not happen in the rest of the recording"
                    return
                playback.step()
                if holds():
                    self._hunt = None
                    return

    def _measure(self) -> None:
        since, from_us = self._measured
        if not self.playback.playing:
            self._measured, self._reached = (self._looked, self.playback.at_us), 0.0
        elif self._looked - since >= 1.0:
            self._reached = (self.playback.at_us - from_us) / 1e6 / (self._looked - since)
            self._measured = (self._looked, self.playback.at_us)

    # --- on the thread that looks through ---------------------------------------------------------------------------

    def _look_through(self, wake: Callable[[], None]) -> None:
        try:
            self.verify()
        except RecordingError as error:
            self.input_error = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the screen says it and the thread ends
            self.failure = f"the recording could not be looked through: {type(error).__name__}: {error}"
        if not self._stopping:
            wake()

    def verify(self) -> None:
        """Read everything once. Raises DamagedError where the recording cannot be trusted."""
        recording = Recording(self.path, salvage=self.salvage)
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


def _spec(header: Header) -> tuple[ScenarioSpec | None, str]:
    """What a recording is of, and why that is not known if it is not."""
    try:
        scenario = parse_scenario(header.scenario_text, header.scenario, recorded=True)
        return apply_settings(scenario.spec, header.settings.set), ""
    except (ScenarioErrors, SettingError) as error:
        return None, f"this version does not understand the recording's scenario: {error}"


def _instant(moment: LogEntry) -> int:
    return moment.at_us
