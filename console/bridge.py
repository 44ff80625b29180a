"""A live flight as a `Source`: it runs the simulation on a trio thread and connects it with the console's thread.

Textual runs on asyncio, the simulation on trio, each on its own thread. Events go up by reference through one queue.
When the console falls behind, the Timeline's `hold` makes the simulation wait: no event is skipped, and the trio thread
never blocks. Calls go down by `run_sync_soon`. The clock is read on trio's thread at the console's request, and crosses
as one immutable value. Heavy imports wait until the thread runs, so that the first screen is drawn first.
"""

import gc
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.commands import Command, Names, Set, text_of
from cluster.events import EVENT_KINDS, Event
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.flight import INVARIANT_BROKEN, Stepped
from console.flight_clock import BUILDING, ENDED, FAILED, LIVE, PAUSED, FlightClock
from console.live_flight import FlightRequest, Resumption, Setting
from console.presenters.conversations.newest_events import NewestEvents
from console.presenters.producers.limits import ProducerConfigs, configs_of
from console.refused_commands import RefusedCommands

if TYPE_CHECKING:
    import trio

    from cluster.simulation import Simulation
    from console.flight import Source
    from console.game.game import Game
    from console.travel.kept_past import KeptPast
    from recordings.flights.beside import FlownSoFar
    from recordings.flights.runner import CommandNote, Plan
    from recordings.journal.writer import Recorder
    from recordings.scenarios.custom_code import Leave
    from recordings.scenarios.loader import Scenario

MAX_QUEUED = 20_000  # events in the queue above which the simulation waits for the console
CHUNK = 250  # events folded between two readings of the wall clock
JOIN_SECONDS = 2.0
STUCK_SECONDS = 1.0  # after this wait a thread that has not seen the stop request is abandoned
LAST_EVENTS = 50  # shown after a failure
GIVE_WAY_SECONDS = 0.2  # how long the flight rests after a key: both threads want the one lock of the interpreter

SWITCH_SECONDS = 0.001  # the console waits so long for that lock; with Python's 0.005 a key waits for a frame or two

Watch = Callable[[], Callable[[Event], object]]
"""Called as a flight begins, on its thread; the result takes each event of it there."""

YOUNG, MIDDLE, OLD = 20_000, 10, 5  # allocations; collections of the generation before


def collect_frames() -> None:
    """Have the garbage collector visit the console's objects about once a second, and never the cluster's.

    A flight makes no reference cycles (`cluster/simulation`). A frame makes few (`divide_without_cycles`), and a place
    that is left many: with the flight's own thresholds they would wait for long. The flight's end restores these.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


@contextmanager
def switching_often() -> Iterator[None]:
    """Have Python offer its lock to the console's thread more often while a flight runs on another."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Bridge:
    """A live flight for the console. Call public methods on the console's thread, unless their docstring differs."""

    def __init__(
        self,
        scenario: "str | Path | Scenario",
        *,
        seed: int | None = None,
        until_us: int | None = None,
        settings: Sequence[Setting] = (),
        record: str | Path | None = None,
        speed: float = 1.0,
        invariants: bool = True,
        leave: "Leave | None" = None,
    ) -> None:
        self._request, self._speed = FlightRequest(scenario, seed, until_us, settings, record, invariants, leave), speed
        self._queue: deque[Event] = deque()
        self.clock = FlightClock(speed=speed)  # as of the last request_clock
        self.names = Names()  # the names that commands may use
        self.title = str(scenario) if isinstance(scenario, str | Path) else scenario.name
        self.failure = ""  # why the flight ended early
        self.input_error = ""  # why the scenario cannot be flown
        self.notice = self.warning = ""  # messages to show once
        self.broker_session_us: int | None = None  # until the scenario is loaded
        self.spec: ScenarioSpec | None = None
        self.producer_configs: ProducerConfigs = {}
        self._wake: Callable[[], object] = bool  # a no-op until `start`
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._abandoned, self._stop_lock = False, threading.Lock()
        # trio's side
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope: trio.CancelScope | None = None
        self._simulation: Simulation | None = None
        self._plan: Plan | None = None
        self._recorder: Recorder | None = None
        self._commands: list[CommandNote] = []
        self._awaited_kind: type[Event] | None = None
        self._kind_seen = False
        self._found: Event | None = None  # the event that a step to a kind led to
        self._enqueued_seq = 0  # of the last event for the console
        self._searched_view: ClusterView | None = None  # of `until`, in place of the simulation's own
        self._step_from_seq: int | None = None  # the last event before the step that is under way
        self._step_to_turn = 0
        self._stepped_seqs: tuple[int, int] | None = None  # the last event before the step, and its own last one
        self._stop_seen = False  # the thread has seen the stop request
        self._copying = False
        self._resume: Resumption | None = None
        self.past: KeptPast | None = None  # keeps the events, where the screens can go back to them
        self.watch: Watch | None = None
        self._last: deque[Event] = deque(maxlen=LAST_EVENTS)
        self._gives_way_until = 0.0  # of the monotonic clock
        self._newest = NewestEvents()

    @classmethod
    def of(cls, request: FlightRequest, speed: float) -> "Bridge":
        """The flight of a request."""
        scenario, seed, until_us, settings, record, invariants, leave = request
        return cls(
            scenario, seed=seed, until_us=until_us, settings=settings, record=record, speed=speed,
            invariants=invariants, leave=leave,
        )  # fmt: skip

    # --- state for the console --------------------------------------------------------------------------------------

    @property
    def recording(self) -> str:
        """The path of the recording being written; empty without one."""
        recorder = self._recorder
        return str(recorder.path) if recorder is not None and not self.clock.over else ""

    @property
    def last_events(self) -> list[Event]:
        """The last events of an ended flight, folded or still queued."""
        return [*self._last, *self._queue][-LAST_EVENTS:]

    @property
    def stepped(self) -> Stepped | None:
        """What the last step did, as soon as its events are folded, and until time goes on."""
        seqs = self._stepped_seqs
        if seqs is None or self.clock.phase != PAUSED:
            return None
        before_seq, seq = seqs
        event = self._last[-1] if self._last else None
        if seq != (event.seq if event is not None else 0):
            return None
        if self._found is not None:
            return Stepped(1, self._found)
        return Stepped(seq - before_seq, event if seq > before_seq else None)

    @property
    def stopped(self) -> bool:
        """Whether the simulation's thread has ended or was abandoned; its recording is closed."""
        return self._thread is None or self._abandoned or not self._thread.is_alive()

    def newest(self) -> NewestEvents:
        """The newest requests, answers and batches of the flight."""
        return self._newest

    def origin(self) -> "FlownSoFar | None":
        """The plan, and the operator's commands so far."""
        if self._plan is None or self._simulation is None:
            return None
        from recordings.flights.beside import FlownSoFar  # noqa: PLC0415
        from recordings.flights.runner import given_by_operator  # noqa: PLC0415

        plan, given = self._plan, given_by_operator(list(self._commands))
        commands = tuple((turn, at_us, text_of(command)) for turn, at_us, command in given)
        return FlownSoFar(plan.scenario, plan.text, plan.settings, commands)

    def undone(self) -> "tuple[Bridge | None, str]":
        """This flight up to before its last command, not started, and that command; or None and why there is none."""
        plan = self._plan
        if self._recorder is not None or self._copying:
            return None, "this flight is being recorded: a recorded flight has no undo"
        from recordings.flights.runner import given_by_operator  # noqa: PLC0415

        given = given_by_operator(list(self._commands))
        if plan is None or not given:
            return None, "nothing to undo: no command was given"
        _, at_us, last = given.pop()
        request = self._request
        again = Bridge(request.scenario, speed=self.clock.speed, invariants=request.invariants, leave=request.leave)
        again._know(plan)
        again._resume = Resumption(given, max(0, at_us - 1), self.clock.phase == PAUSED)
        return again, text_of(last)

    def successor(self) -> "Source | None":
        """None: the screens stay with a flight that is over."""
        return None

    def game(self) -> "Game | None":
        """None: nothing is hidden."""
        return None

    def start(self, wake: Callable[[], None]) -> None:
        """Build and fly on a new thread; that thread calls `wake` to have the console draw at once."""
        self._wake = wake
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self._thread.start()

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        """Fold queued events for at most `seconds` of wall time; True if events remain."""
        queue, observe, last = self._queue, refused_commands.observe, self._last
        note = self._newest.observe
        deadline = time.perf_counter() + seconds
        while queue:
            for _ in range(min(CHUNK, len(queue))):
                event = queue.popleft()
                fold(view, event)
                observe(event)
                note(event)
                last.append(event)
            if time.perf_counter() >= deadline:
                break
        return bool(queue)

    def request_clock(self) -> None:
        """Request a clock snapshot from the simulation thread; also resumes a simulation that waits for the queue."""
        self._soon(self._read_clock)

    def give_way(self) -> None:
        """Have a simulation that runs rest for a moment; the next request of its clock after that wakes it."""
        if self.clock.phase == LIVE:
            self._gives_way_until = time.monotonic() + GIVE_WAY_SECONDS

    # --- controls ----------------------------------------------------------------------------------------------------

    def submit(self, command: Command) -> str:
        """Submit a command to the cluster; returns the reason of a refusal."""
        simulation = self._simulation
        if isinstance(command, Set) and simulation is not None:  # a mistyped value is no part of the flight
            from cluster.spec import why_not  # noqa: PLC0415

            reason = why_not(simulation.spec, command.scope, command.key, command.value)
            if reason is not None:
                return reason
        return self._control(lambda flying: flying.timeline.submit(command))

    def set_speed(self, speed: float) -> str:
        """Set the speed; returns the reason of a refusal."""
        if speed < 0:
            return "a live flight runs forwards; only recordings play backwards"
        return self._control(lambda simulation: simulation.timeline.set_speed(speed))

    def pause(self, paused: bool) -> str:
        """Pause or resume; returns the reason of a refusal."""

        def begin(simulation: "Simulation") -> None:
            self._step_from_seq = self._stepped_seqs = None
            if paused:
                simulation.timeline.pause()
            else:
                simulation.timeline.resume()

        return self._control(begin)

    def step(self, kind: str | None) -> str:
        """Advance by one turn, or up to the next event of `kind`; returns the reason of a refusal."""

        def begin(simulation: "Simulation") -> None:
            timeline = simulation.timeline
            if self._step_from_seq is None:  # two presses in a row are one step of two turns
                self._step_from_seq, self._step_to_turn = self._enqueued_seq, timeline.turn
            self._kind_seen, self._found = kind is None, None
            if kind is None:
                self._awaited_kind = None
                self._step_to_turn += 1
                timeline.step()
            else:
                self._awaited_kind = EVENT_KINDS[kind]
                timeline.step_until(lambda: self._kind_seen)

        self._stepped_seqs = None  # what the step before this one did is not what this one does
        return self._control(begin)

    def run_until(self, expression: str) -> str:
        """Run until an expression over the view document holds; returns the reason of a refusal."""
        from console.run_until import UntilCondition  # noqa: PLC0415 - CEL is not needed to start
        from recordings.scenarios.predicates import PredicateError  # noqa: PLC0415

        simulation, plan = self._simulation, self._plan
        if simulation is None or plan is None:
            return "the cluster is still being built"
        try:
            view = self._searched_view or simulation.view
            condition = UntilCondition(expression, view, lambda: simulation.timeline.now_us, plan.spec)
        except PredicateError as error:
            return str(error)

        def begin(flying: "Simulation") -> None:
            held = condition.holding()
            if held:
                self.notice = f"already true, so time stops here: {held}"
            flying.timeline.run_until(condition)

        return self._control(begin)

    def record(self, path: str) -> str:
        """Record this flight, from its beginning, to a directory; returns the reason of a refusal.

        The part that has been flown is rerun with the same commands, which gives the same events.
        """
        if self._recorder is not None or self._copying:
            return f"this flight is already being recorded to {self._recorder.path if self._recorder else path}"
        simulation, plan = self._simulation, self._plan
        if simulation is None or plan is None or self.clock.phase in {BUILDING, FAILED}:
            return "there is no flight to record"
        from recordings.bounded_files import RecordingError  # noqa: PLC0415

        try:
            recorder = self._request._replace(record=path).recorder(plan)
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
        """End the flight and wait for its thread, at most two seconds.

        A thread that does not see the request is in an endless turn: it is abandoned and its recording is closed.
        """
        self._stopping = True
        self._soon(self._cancel)
        with self._stop_lock:  # a second caller waits for the first
            if self._thread is None or self._abandoned:
                return
            self._thread.join(STUCK_SECONDS)
            if self._thread.is_alive() and not self._stop_seen:
                self._abandoned = True
                if self._recorder is not None and (simulation := self._simulation) is not None:
                    self._recorder.cut_off(turns=simulation.timeline.turn, virtual_us=simulation.timeline.now_us)
            elif self._thread.is_alive():
                self._thread.join(JOIN_SECONDS - STUCK_SECONDS)

    def _control(self, call: "Callable[[Simulation], object]") -> str:
        if self.clock.phase == BUILDING:
            return "the cluster is still being built"
        if self._copying:
            return "the flight so far is being recorded; try again in a moment"
        simulation = self._simulation
        if self.clock.over or simulation is None:
            return f"the flight has ended: {self.failure}" if self.failure else "the flight has ended"

        def on_trio_thread() -> None:
            call(simulation)
            self._read_clock()
            self._wake()

        self._soon(on_trio_thread)
        return ""

    def _soon(self, call: Callable[[], object]) -> None:
        """Schedule a call on trio's thread; a no-op before the thread starts and after it ends."""
        token = self._token
        if token is None:
            return
        import trio  # noqa: PLC0415 - the thread imported it before it set the token

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
        except BaseException as error:  # noqa: BLE001 - any error is shown on the screen and ends the thread
            self._failed(error)
        finally:
            self._wake()

    def load(self) -> "Plan | None":
        """Plan the flight once, which may run custom code; None if `input_error` is set. Any thread may call it."""
        if self._plan is not None or self.input_error:
            return self._plan
        plan, self._recorder, self.input_error = self._request.prepare()
        if plan is None:
            self.clock = self.clock._replace(phase=FAILED)
            return None
        self._know(plan)
        return plan

    def _know(self, plan: "Plan") -> None:
        self._plan = plan
        self.names, self.broker_session_us = plan.spec.names(), plan.spec.broker_session_us
        self.spec, self.producer_configs = plan.spec, configs_of(plan.spec)
        self.title = f"{plan.scenario} · seed {plan.settings.seed}"

    def _fly(self, plan: "Plan") -> None:
        import trio  # noqa: PLC0415

        from cluster.invariants import Invariants  # noqa: PLC0415
        from cluster.simulation import Simulation  # noqa: PLC0415

        simulation = Simulation(plan.spec, plan.settings.seed, speed=self._speed, live=True)
        self._simulation = simulation
        simulation.on_command = self._note_command
        if self._recorder is not None:
            simulation.sinks.append(self._recorder)
        self._connect(plan, simulation.sinks, simulation.view)
        if plan.invariants:  # last, so that the recorder has the event that broke an invariant
            simulation.sinks.append(Invariants(plan.spec, simulation.view))
        simulation.timeline.hold = self._is_behind
        if self._resume is not None:
            simulation.timeline.replay = list(self._resume.commands)
            simulation.timeline.set_speed(math.inf)
        complete = False
        try:
            complete = bool(trio.run(self._main, simulation, plan.settings.until_us, clock=simulation.timeline))
        finally:
            self._close_recorder(simulation, complete=complete)
        phase = ENDED if complete else self.clock.phase
        self.clock = self.clock._replace(now_us=simulation.timeline.now_us, phase=phase, actual_speed=0.0)

    def _connect(self, plan: "Plan", sinks: list[Callable[[Event], object]], view: ClusterView) -> None:
        """Add the sinks of what the screens show: the queue, and the past. `view` is folded before they are called."""
        sinks.append(self._enqueue)
        if self.watch is not None:
            sinks.append(self.watch())
        if self.past is not None:
            self.past.begin(plan, view)
            sinks.append(self.past)

    async def _main(self, simulation: "Simulation", until_us: int | None) -> bool:
        """Fly to the end; False if the flight was stopped before it."""
        import trio  # noqa: PLC0415

        with trio.CancelScope() as scope:
            self._scope, self._token = scope, trio.lowlevel.current_trio_token()
            if self._stopping:
                scope.cancel()
            async with simulation.running():
                collect_frames()
                self._read_clock()
                self._wake()
                if self._resume is not None:
                    await self._fly_again(simulation, self._resume)
                with switching_often():
                    await simulation.timeline.fly(until_us if until_us is not None else float("inf"))
                return True
        return False

    async def _fly_again(self, simulation: "Simulation", resume: Resumption) -> None:
        """Fly what was flown before; then go on at the speed of then."""
        timeline = simulation.timeline
        await timeline.fly(resume.until_us)
        timeline.set_speed(self._speed)
        if resume.paused and timeline.replay:  # given at the instant of the undone command, in a paused flight
            timeline.run_until(lambda: not timeline.replay)
        elif resume.paused:
            timeline.pause()
        self._read_clock()

    def _cancel(self) -> None:
        self._stop_seen = True
        if self._scope is not None:
            self._scope.cancel()

    def _enqueue(self, event: Event) -> None:
        """The sink of the simulation: queue every event, in order."""
        self._queue.append(event)
        self._enqueued_seq = event.seq
        if event.__class__ is self._awaited_kind:
            self._kind_seen, self._found = True, event

    def _is_behind(self) -> bool:
        return len(self._queue) > MAX_QUEUED or self._copying or time.monotonic() < self._gives_way_until

    def _read_clock(self) -> None:
        simulation, plan = self._simulation, self._plan
        if simulation is None or plan is None or self.clock.over:
            return
        timeline = simulation.timeline
        phase = PAUSED if timeline.paused else LIVE
        if not timeline.paused:
            self._step_from_seq = self._stepped_seqs = None
        elif self._step_from_seq is not None and self._kind_seen and timeline.turn >= self._step_to_turn:
            self._stepped_seqs, self._step_from_seq = (self._step_from_seq, self._enqueued_seq), None
        until_us = plan.settings.until_us
        self.clock = FlightClock(timeline.position_us, timeline.speed, timeline.actual_speed, phase, until_us)

    def _note_command(self, command: Command, source: str, turn: int, at_us: int, after_seq: int) -> None:
        from recordings.flights.runner import journal_command  # noqa: PLC0415 - this thread has imported it already

        self._commands.append((command, source, turn, at_us, after_seq))
        if self._recorder is not None:
            journal_command(self._recorder, self._commands[-1])

    def _close_recorder(self, simulation: "Simulation", *, complete: bool) -> None:
        self._stop_seen = True
        if self._recorder is not None and not self._abandoned:
            timeline = simulation.timeline
            self._recorder.close(turns=timeline.turn, virtual_us=timeline.now_us, complete=complete)

    # --- recording the flight so far --------------------------------------------------------------------------------

    def _begin_copy(self, simulation: "Simulation", plan: "Plan", recorder: "Recorder") -> None:
        """Rerun the flight so far into the recorder, on another thread; the simulation waits (`hold`) for it."""
        flown = (plan, recorder, simulation.seq, list(self._commands))
        threading.Thread(target=self._copy, args=flown, name="recording", daemon=True).start()

    def _copy(self, plan: "Plan", recorder: "Recorder", seq: int, commands: "list[CommandNote]") -> None:
        from recordings.flights.runner import fly_again, journal_command  # noqa: PLC0415

        try:
            journaled = fly_again(plan, recorder, seq, commands)
            for note in commands[journaled:]:
                journal_command(recorder, note)
        except Exception as error:  # noqa: BLE001 - the flight continues without the recording
            self._copying = False
            self.warning = f"the recording failed: {type(error).__name__}: {error}"
            self._wake()
            return
        self._recorder = recorder
        simulation = self._simulation
        assert simulation is not None
        if self.clock.phase == ENDED:
            self._close_recorder(simulation, complete=True)
        simulation.sinks.insert(0, recorder)  # before the invariants, so that it gets the event that breaks one
        self._copying = False
        self.notice = f"recording to {recorder.path}, from the beginning"
        self._soon(self._read_clock)
        self._wake()

    def _failed(self, error: BaseException) -> None:
        """Set `failure` from the error that ended the thread; of an exception group, from the first."""
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
                self._record_violation(simulation, plan)
            else:
                self.failure = str(FlightError(error, plan, timeline.now_us, timeline.turn, []))
        else:
            self.failure = f"the cluster could not be built: {type(error).__name__}: {error}"
        self.clock = self.clock._replace(phase=FAILED, actual_speed=0.0)

    def _record_violation(self, simulation: "Simulation", plan: "Plan") -> None:
        """Record the flight that broke an invariant, unless it is being recorded, and add the path to `failure`."""
        from recordings.bounded_files import RecordingError  # noqa: PLC0415
        from recordings.flights.runner import keep_violation  # noqa: PLC0415

        try:
            path = self._recorder.path if self._recorder is not None else None
            path = path or keep_violation(plan, simulation.seq, self._commands)
        except (RecordingError, OSError) as error:
            self.warning = f"the flight could not be recorded: {error}"
            return
        self.failure += f"\nit is recorded in {path}; `flightdeck rerun {path}` shows it again"
        self.notice = f"recorded in {path}"
