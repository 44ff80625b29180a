"""The only place that knows the trio thread: it builds and flies the simulation there, and carries both streams.

Textual is asyncio, the simulation is trio, each on a thread of its own. Up go events, by reference, through one queue;
when the console falls behind, the Timeline's `hold` makes the simulation wait, so that nothing is skipped and the
thread never blocks. Down go calls, by `run_sync_soon`. The clock is read on trio's thread when the console asks, and
crosses as one immutable value. Nothing heavy is imported before the thread runs, so that the first screen comes first.
"""

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands import Command, Names
from cluster.events import EVENT_KINDS, Event
from cluster.view import ClusterView, fold
from console.flight import INVARIANT_BROKEN
from console.flight_clock import BUILDING, ENDED, FAILED, LIVE, PAUSED, FlightClock
from console.live_flight import Setting, Wanted
from console.refused_commands import RefusedCommands

if TYPE_CHECKING:
    import trio

    from cluster.simulation import Simulation
    from recordings.flights.runner import CommandNote, Plan
    from recordings.journal.writer import Recorder
    from recordings.scenarios.custom_code import Leave

QUEUED = 20_000  # events that may wait for the console before the simulation waits for it
CHUNK = 250  # events folded between two looks at the time
JOIN_SECONDS = 2.0
STUCK_SECONDS = 1.0  # a turn that has not ended by then is left alone with its thread
LAST_EVENTS = 50  # that are shown when something went wrong

YOUNG, MIDDLE, OLD = 20_000, 10, 5  # allocations; collections of the generation before


def collect_frames() -> None:
    """Let the garbage collector look at the console's objects once a second, and never at the cluster's.

    A flight leaves no circles (`cluster/simulation`). Each frame of Textual's leaves some: thousands of objects, which
    the flight's own thresholds would let grow to a hundred MB. The thresholds from before come back with its end.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


class Bridge:
    """A live flight, seen from the console's thread. Everything public is called there unless it says otherwise."""

    def __init__(
        self,
        scenario: str | Path,
        *,
        seed: int | None = None,
        until_us: int | None = None,
        settings: Sequence[Setting] = (),
        record: str | Path | None = None,
        speed: float = 1.0,
        invariants: bool = True,
        leave: "Leave | None" = None,
    ) -> None:
        self._wanted, self._speed = Wanted(scenario, seed, until_us, settings, record, invariants, leave), speed
        self._queue: deque[Event] = deque()
        self.clock = FlightClock(speed=speed)  # where the flight stood when it was last asked
        self.names = Names()  # what commands may name
        self.title = str(scenario)
        self.failure = ""  # why there is no flight any more
        self.input_error = ""  # bad input: what to print instead of a flight
        self.notice = ""  # something to be said once
        self.broker_session_us: int | None = None  # until the scenario is loaded
        self._wake: Callable[[], object] = bool  # until a caller waits
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._left_alone, self._ending = False, threading.Lock()
        # trio's side
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope: trio.CancelScope | None = None
        self._simulation: Simulation | None = None
        self._plan: Plan | None = None
        self._recorder: Recorder | None = None
        self._commands: list[CommandNote] = []
        self._watched: type[Event] | None = None
        self._seen = False
        self._heard = False  # that the flight is to end
        self._copying = False
        self._last: deque[Event] = deque(maxlen=LAST_EVENTS)

    # --- what the console reads -------------------------------------------------------------------------------------

    @property
    def recording(self) -> str:
        """The recording's path while one is under way."""
        recorder = self._recorder
        return str(recorder.path) if recorder is not None and not self.clock.over else ""

    @property
    def last_events(self) -> list[Event]:
        """The last events that were told, whether folded here or not; of a flight that is over."""
        return [*self._last, *self._queue][-LAST_EVENTS:]

    @property
    def stopped(self) -> bool:
        """Whether the simulation's thread is not there: what it recorded is closed."""
        return self._thread is None or self._left_alone or not self._thread.is_alive()

    def start(self, wake: Callable[[], None]) -> None:
        """Build and fly on a thread of its own; `wake` is called there when something should be seen at once."""
        self._wake = wake
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        """Fold what waits, for at most this long; whether more waits."""
        queue, observe, last = self._queue, refused_commands.observe, self._last
        deadline = time.perf_counter() + seconds
        while queue:
            for _ in range(min(CHUNK, len(queue))):
                event = queue.popleft()
                fold(view, event)
                observe(event)
                last.append(event)
            if time.perf_counter() >= deadline:
                break
        return bool(queue)

    def request_clock(self) -> None:
        """Have the clock read; this also lets a simulation go on that waited for the queue to drain."""
        self._soon(self._read_clock)

    # --- what the console wants -------------------------------------------------------------------------------------

    def submit(self, command: Command) -> str:
        """Give a command to the cluster; why that cannot be, or nothing."""
        return self._steer(lambda simulation: simulation.timeline.submit(command))

    def set_speed(self, speed: float) -> str:
        """Choose a speed; why that cannot be, or nothing."""
        return self._steer(lambda simulation: simulation.timeline.set_speed(speed))

    def pause(self, paused: bool) -> str:
        """Stop time, or let it go on; why that cannot be, or nothing."""
        return self._steer(lambda simulation: simulation.timeline.pause() if paused else simulation.timeline.resume())

    def step(self, kind: str | None) -> str:
        """One turn, or as many as it takes to see an event of this kind; why that cannot be, or nothing."""
        if kind is None:
            return self._steer(lambda simulation: simulation.timeline.step())

        def begin(simulation: "Simulation") -> None:
            self._watched, self._seen = EVENT_KINDS[kind], False
            simulation.timeline.step_until(lambda: self._seen)

        return self._steer(begin)

    def run_until(self, expression: str) -> str:
        """Go on until an expression over the view document holds; why that cannot be, or nothing."""
        from console.run_until import UntilCondition  # noqa: PLC0415 - CEL is not needed to start
        from recordings.scenarios.predicates import PredicateError  # noqa: PLC0415

        simulation, plan = self._simulation, self._plan
        if simulation is None or plan is None:
            return "the cluster is still being built"
        try:
            condition = UntilCondition(expression, simulation.view, lambda: simulation.timeline.now_us, plan.spec)
        except PredicateError as error:
            return str(error)
        return self._steer(lambda flying: flying.timeline.run_until(condition))

    def record(self, path: str) -> str:
        """Record this flight, from its beginning, to a directory; why that cannot be, or nothing.

        What was flown so far is flown again beside it, with the same commands: the same events come out of it.
        """
        if self._recorder is not None or self._copying:
            return f"this flight is being recorded already, to {self._recorder.path if self._recorder else path}"
        simulation, plan = self._simulation, self._plan
        if simulation is None or plan is None or self.clock.phase in {BUILDING, FAILED}:
            return "there is no flight to record"
        from recordings.bounded_files import RecordingError  # noqa: PLC0415

        try:
            recorder = self._wanted._replace(record=path).recorder(plan)
        except RecordingError as error:
            return str(error)
        assert recorder is not None
        self._copying = True
        if self.clock.phase == ENDED:
            self._begin_copy(simulation, plan, recorder)
        else:
            self._soon(lambda: self._begin_copy(simulation, plan, recorder))
        return ""

    def stop(self) -> None:
        """End the flight, whatever it is doing, and wait for its thread, but not longer than two seconds.

        A thread that does not even hear of it is in a turn without an end: its recording is closed as it is.
        """
        self._stopping = True
        self._soon(self._cancel)
        with self._ending:  # a second caller waits for the first
            if self._thread is None or self._left_alone:
                return
            self._thread.join(STUCK_SECONDS)
            if self._thread.is_alive() and not self._heard:
                self._left_alone = True
                if self._recorder is not None and (simulation := self._simulation) is not None:
                    self._recorder.cut_off(turns=simulation.timeline.turn, virtual_us=simulation.timeline.now_us)
            elif self._thread.is_alive():
                self._thread.join(JOIN_SECONDS - STUCK_SECONDS)

    def _steer(self, call: "Callable[[Simulation], object]") -> str:
        if self.clock.phase == BUILDING:
            return "the cluster is still being built"
        if self._copying:
            return "one moment: what was flown so far is being recorded"
        simulation = self._simulation
        if self.clock.over or simulation is None:
            return f"the flight has ended: {self.failure}" if self.failure else "the flight has ended"

        def on_the_thread() -> None:
            call(simulation)
            self._read_clock()
            self._wake()

        self._soon(on_the_thread)
        return ""

    def _soon(self, call: Callable[[], object]) -> None:
        """Have trio's thread call this; nothing when it has ended, or has not begun."""
        token = self._token
        if token is None:
            return
        import trio  # noqa: PLC0415 - loaded by the thread before there was a token

        try:
            token.run_sync_soon(call)
        except trio.RunFinishedError:
            self._token = None

    # --- on the simulation's thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            plan = self.load()
            if plan is not None and not self._stopping:
                self._fly(plan)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the screen says it and the thread ends
            self._failed(error)
        finally:
            self._wake()

    def load(self) -> "Plan | None":
        """Plan the flight, once; code that is not ours runs then. None: there is a complaint. Callable anywhere."""
        if self._plan is not None or self.input_error:
            return self._plan
        plan, self._recorder, self.input_error = self._wanted.made()
        if plan is None:
            self.clock = self.clock._replace(phase=FAILED)
            return None
        self._plan = plan
        self.names, self.broker_session_us = plan.spec.names(), plan.spec.broker_session_us
        self.title = f"{plan.scenario} · seed {plan.settings.seed}"
        return plan

    def _fly(self, plan: "Plan") -> None:
        import trio  # noqa: PLC0415

        from cluster.invariants import Invariants  # noqa: PLC0415
        from cluster.simulation import Simulation  # noqa: PLC0415

        simulation = Simulation(plan.spec, plan.settings.seed, sinks=[self._take], speed=self._speed, live=True)
        self._simulation = simulation
        simulation.on_command = self._note_command
        if self._recorder is not None:
            simulation.sinks.append(self._recorder)
        if plan.invariants:  # last, so that whoever listens has the event that broke one
            simulation.sinks.append(Invariants(plan.spec, simulation.view))
        simulation.timeline.hold = self._is_behind
        complete = False
        try:
            complete = bool(trio.run(self._main, simulation, plan.settings.until_us, clock=simulation.timeline))
        finally:
            self._close_recorder(simulation, complete=complete)
        phase = ENDED if complete else self.clock.phase
        self.clock = self.clock._replace(now_us=simulation.timeline.now_us, phase=phase, actual_speed=0.0)

    async def _main(self, simulation: "Simulation", until_us: int | None) -> bool:
        """Fly to the end; whether that was reached."""
        import trio  # noqa: PLC0415

        with trio.CancelScope() as scope:
            self._scope, self._token = scope, trio.lowlevel.current_trio_token()
            if self._stopping:
                scope.cancel()
            async with simulation.running():
                collect_frames()
                self._read_clock()
                self._wake()
                await simulation.timeline.fly(until_us if until_us is not None else float("inf"))
                return True
        return False

    def _cancel(self) -> None:
        self._heard = True
        if self._scope is not None:
            self._scope.cancel()

    def _take(self, event: Event) -> None:
        """The sink: every event, in order."""
        self._queue.append(event)
        if event.__class__ is self._watched:
            self._seen = True

    def _is_behind(self) -> bool:
        return len(self._queue) > QUEUED or self._copying

    def _read_clock(self) -> None:
        simulation, plan = self._simulation, self._plan
        if simulation is None or plan is None or self.clock.over:
            return
        timeline = simulation.timeline
        phase = PAUSED if timeline.paused else LIVE
        until_us = plan.settings.until_us
        self.clock = FlightClock(timeline.position_us, timeline.speed, timeline.actual_speed, phase, until_us)

    def _note_command(self, command: Command, source: str, turn: int, at_us: int, after_seq: int) -> None:
        from recordings.flights.runner import journal_command  # noqa: PLC0415 - there already: this thread has loaded it

        self._commands.append((command, source, turn, at_us, after_seq))
        if self._recorder is not None:
            journal_command(self._recorder, self._commands[-1])

    def _close_recorder(self, simulation: "Simulation", *, complete: bool) -> None:
        self._heard = True
        if self._recorder is not None and not self._left_alone:
            timeline = simulation.timeline
            self._recorder.close(turns=timeline.turn, virtual_us=timeline.now_us, complete=complete)

    # --- recording what was flown already ---------------------------------------------------------------------------

    def _begin_copy(self, simulation: "Simulation", plan: "Plan", recorder: "Recorder") -> None:
        """The simulation waits (`hold`) while its past is flown again, on one more thread, into the recorder."""
        past = (plan, recorder, simulation.seq, list(self._commands))
        threading.Thread(target=self._copy, args=past, name="recording", daemon=True).start()

    def _copy(self, plan: "Plan", recorder: "Recorder", seq: int, commands: "list[CommandNote]") -> None:
        from recordings.flights.runner import fly_again, journal_command  # noqa: PLC0415

        try:
            journaled = fly_again(plan, recorder, seq, commands)
            for note in commands[journaled:]:
                journal_command(recorder, note)
        except Exception as error:  # noqa: BLE001 - the flight goes on; the recording does not
            self._copying = False
            self.notice = f"the recording failed: {type(error).__name__}: {error}"
            self._wake()
            return
        self._recorder = recorder
        simulation = self._simulation
        assert simulation is not None
        if self.clock.phase == ENDED:
            self._close_recorder(simulation, complete=True)
        simulation.sinks.insert(0, recorder)  # before the invariants: it gets the event that breaks one
        self._copying = False
        self.notice = f"recording to {recorder.path}, from the beginning"
        self._soon(self._read_clock)
        self._wake()

    def _failed(self, error: BaseException) -> None:
        """Say what ended the thread; the first cause, when there are several."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        simulation, plan = self._simulation, self._plan
        if simulation is not None and plan is not None:
            from cluster.invariants import InvariantViolated  # noqa: PLC0415
            from recordings.flights.runner import FlightError  # noqa: PLC0415

            timeline = simulation.timeline
            self.clock = self.clock._replace(now_us=timeline.now_us, phase=FAILED, actual_speed=0.0)
            if isinstance(error, InvariantViolated):
                self.failure = f"{INVARIANT_BROKEN}: {error}"
                self._wake()
                self._keep(simulation, plan)
            else:
                self.failure = str(FlightError(error, plan, timeline.now_us, timeline.turn, []))
        else:
            self.failure = f"the cluster could not be built: {type(error).__name__}: {error}"
        self.clock = self.clock._replace(phase=FAILED, actual_speed=0.0)

    def _keep(self, simulation: "Simulation", plan: "Plan") -> None:
        """See to it that there is a recording of what broke an invariant, and say where."""
        from recordings.bounded_files import RecordingError  # noqa: PLC0415
        from recordings.flights.runner import keep_violation  # noqa: PLC0415

        try:
            path = self._recorder.path if self._recorder is not None else None
            path = path or keep_violation(plan, simulation.seq, self._commands)
        except (RecordingError, OSError) as error:
            self.notice = f"what was flown could not be recorded: {error}"
            return
        self.failure += f"\nit is recorded in {path}; `flightdeck rerun {path}` shows it again"
        self.notice = f"recorded in {path}"
