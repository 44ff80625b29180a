"""Virtual time: the Timeline is trio's clock, and trio's question to its clock is the turn of the simulation.

trio asks `deadline_to_sleep_time` when, and only when, every task is blocked. The Timeline answers by taking turns: it
runs the due actions of its heap, one at a time, until one of them lets a task run; then it answers 0. When the next
action is not yet due at the chosen speed it answers with the wall seconds to wait. No other module moves time.

* Time is an integer number of microseconds. The heap holds (at_us, sequence, action, argument). A sequence is unique:
  the heap compares integers only, in C, and what is due at one instant happens in the order of scheduling. An entry
  without an action is a Timer or a timed Waiter; a cancelled one is skipped, moving neither time nor turn, and
  cancelled entries are removed when they are the majority.
* A turn is one step: an action, a kill, a command. trio shuffles the tasks that can run, so between two turns exactly
  one actor runs. Therefore only the first wake of a turn is delivered in it; every other wake, and a wake by a running
  actor, becomes a turn of its own at the same instant.
* Actors are the simulated threads: tasks that `start` started and that block only in `park`, `park_until`, `sleep` or
  at the end of a nursery of their own. Everything else is plain actions. An actor whose hot loop needs no task parks in
  a Continuation: its function runs in the task's place, at the end of the turn whose wake would have resumed the task.
* Cancelling a scope is kill -9: each death is a turn, in the order of the actors' numbers, and clean-up does not await.
  A clean stop is a message to the actor. No trio deadline is ever set inside the simulation.
* Kills are executed first, then commands, then the heap. A command is known by the turn at which it was
  executed, and that is what makes a rerun exact. Commands and controls come on trio's own thread, from outside by
  `token.run_sync_soon(timeline.submit, command)`.
* Speed, pause and steps are permission: the Timeline asks how far it may go, in time and in turns, before it takes
  turns. Flat out and without a predicate (`_steered` is false) it does not ask. A pause permits no turn, a step one,
  `step_until` any number at any speed; the predicate of `step_until` and `run_until` is asked when every actor is
  blocked again after a turn, and its truth is a pause. None of it is part of the flight, and a rerun is not steered.
"""

import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from heapq import heapify, heappop, heappush
from typing import Any, Final, TypeVar

import outcome
import trio
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

from cluster.virtual_time.errors import DeadlockError, LivelockError, RerunDivergedError, TurnCutShort
from cluster.virtual_time.pacing import MICROSECONDS, Pace
from cluster.virtual_time.waiting import Continuation, Timer, Waiter

Argument = TypeVar("Argument")

_PUSH: Final = heappush  # a compiled module looks an imported name up for each use, a Final of its own once

CANCELLED_WORTH_COMPACTING: Final = 64
FIRST_ENTRIES: Final = 1_000_000
TURNS_AT_ONE_INSTANT = 100_000
TURNS_BETWEEN_LOOKS: Final = 250  # flat out, trio looks at the outside world this often: well within 50 ms
TURNS_BETWEEN_HOLDS: Final = 50  # … and this often when a reader may fall behind


class _Actor:
    """A simulated thread; actors that die together die in the order of their numbers."""

    __slots__ = ("name", "number", "owned", "owned_limit", "task", "timeline", "waiter")
    task: Task  # from its first step on

    def __init__(self, timeline: "Timeline", number: int, name: str) -> None:
        self.timeline, self.number, self.name = timeline, number, name
        self.waiter = Waiter(timeline.deliver, timeline.entry_cancelled, "its first turn")
        self.owned: list[Timer] = []
        self.owned_limit = 8  # before more are added, those that have run are dropped

    def abort(self, raise_cancel: Callable[[], None]) -> Abort:
        """Cancel the wait: the kill becomes a turn, except after the flight."""
        waiter, timeline = self.waiter, self.timeline
        if waiter.pending and waiter.timed:
            timeline.entry_cancelled()
        waiter.pending, waiter.parked = False, None
        if timeline.closed:
            return Abort.SUCCEEDED
        timeline._busy, timeline._limit = True, 0
        _PUSH(timeline._cancelled, (self.number, self, raise_cancel))
        return Abort.FAILED

    def describe(self) -> str:
        waits = self.waiter.pending and self.waiter.parked is not None
        what = (self.waiter.label or "something without a label") if waits else "actors of its own"
        return f"{self.name} (actor {self.number}) waits for {what}"


def _never() -> bool:
    return False


def _unheard(_turn: int, _at_us: int, _command: object) -> None:
    """Ignore a command that is about to be executed."""


class Timeline(trio.abc.Clock):
    """The clock for `trio.run(…, clock=timeline)`; the theory of operation is at the top of the module.

    `execute(command)` executes a submitted or recorded command, in a turn of its own. `speed`: virtual seconds per
    wall second. `live`: when nothing is left, wait for commands instead of raising DeadlockError. `wall`: a wall clock.

    `hold()` is asked often; while it is true no action runs (commands and kills do). The code that makes it false
    calls `run_sync_soon` with any function, so that trio asks again. `on_command(turn, at_us, command)` is called just
    before each command is executed. `replay`, (turn, at_us, command) in order, makes an exact rerun; submitted commands
    wait until it is used up. `replay_by_time`, (at_us, command) in order: each before the actions of its instant.
    `closed`: the flight is over for good.
    """

    __slots__ = (
        *("_actors", "_busy", "_cancelled", "_cancelled_entries", "_continued", "_end_us", "_execute", "_heap"),
        *("_horizon_us", "_instant_turn", "_limit", "_live", "_main", "_numbers", "_pace", "_permitted_turn"),
        *("_predicate", "_predicate_turn", "_sequence", "_steered", "_submitted", "closed", "hold", "now_us"),
        *("_first", "_next", "on_command", "replay", "replay_by_time", "turn"),
    )

    def __init__(
        self,
        execute: Callable[[object], None],
        speed: float = math.inf,
        *,
        live: bool = False,
        wall: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.now_us = 0
        self.turn = 0
        self._heap: list[tuple[int, int, Callable[[Any], object] | None, Any]] = []
        self._sequence = 0
        self._first, self._next = 0, -FIRST_ENTRIES
        self._cancelled_entries = 0
        self._limit = 0  # turns are taken below this one before trio looks at the outside world
        self._pace = pace = Pace(wall, speed)
        self._permitted_turn = 0.0  # while paused, turns are taken below this one
        self._predicate: Callable[[], bool] | None = None
        self._predicate_turn = 0
        self._steered = pace.limited
        self.hold: Callable[[], bool] = _never
        self.on_command: Callable[[int, int, object], None] = _unheard
        self.replay: list[tuple[int, int, object]] = []
        self.replay_by_time: list[tuple[int, object]] = []
        self._execute, self._live, self._numbers = execute, live, 0
        self._actors: dict[Task, _Actor] = {}
        self._submitted: deque[object] = deque()
        self._cancelled: list[tuple[int, _Actor, Callable[[], None]]] = []
        self._busy = True  # except in a turn that has let no task run yet; part of the flight, not to be steered
        self._continued: Continuation | None = None  # whose function this turn runs at its end
        self.closed = False
        self._main: Task | None = None  # the task in fly()
        self._end_us = self._horizon_us = math.inf
        self._instant_turn = 0

    # --- what is scheduled --------------------------------------------------------------------------------------------

    def call_at(self, at_us: int, action: Callable[..., object], *args: object) -> Timer:
        """Run `action(*args)` at `at_us` (now, if that is past), after what was scheduled for that instant before."""
        now_us = self.now_us
        timer = Timer(self.entry_cancelled, at_us if at_us > now_us else now_us, action, args)  # noqa: FURB136 - max() costs more
        self._sequence = sequence = self._sequence + 1
        _PUSH(self._heap, (timer.at_us, sequence, None, timer))
        return timer

    def call_later(self, delay_us: int, action: Callable[..., object], *args: object) -> Timer:
        """Run `action(*args)` in `delay_us` microseconds."""
        return self.call_at(self.now_us + delay_us, action, *args)

    def call_first(self, at_us: int, action: Callable[..., object], *args: object) -> Timer:
        """Run `action(*args)` before what was scheduled in flight for `at_us`; for now: in the next turn."""
        if at_us > self.now_us:
            self._first = sequence = self._first + 1
        else:
            self._next = sequence = self._next + 1
        timer = Timer(self.entry_cancelled, at_us, action, args)
        _PUSH(self._heap, (at_us, sequence, None, timer))
        return timer

    def post(self, at_us: int, action: Callable[[Argument], object], argument: Argument) -> None:
        """Run `action(argument)` at `at_us` (now, if that is past): cheaper than a Timer, and final."""
        self._sequence = sequence = self._sequence + 1
        now_us = self.now_us
        _PUSH(self._heap, (at_us if at_us > now_us else now_us, sequence, action, argument))  # noqa: FURB136 - max() costs more

    def entry_cancelled(self) -> None:
        """Count a cancelled entry of the heap. Only Timers and Waiters call this."""
        self._cancelled_entries = cancelled = self._cancelled_entries + 1
        heap = self._heap
        if cancelled >= CANCELLED_WORTH_COMPACTING and 2 * cancelled > len(heap):
            heap[:] = [entry for entry in heap if entry[2] is not None or entry[3].pending]
            heapify(heap)
            self._cancelled_entries = 0

    # --- trio.abc.Clock -----------------------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """Do nothing: wall time counts from the first fly() on."""

    def current_time(self) -> float:
        """Virtual seconds, for trio; the simulation never reads them."""
        return self.now_us / MICROSECONDS

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Take turns, since every task is blocked. Returns the wall seconds to wait; 0 when a task may run."""
        if self._main is None:
            return self._wait_without_flight(deadline)
        self._busy = False
        try:
            return self._take_turns(deadline)
        except TurnCutShort:
            self._task_runs()  # a Continuation that this turn woke before
            return 0.0
        except BaseException as error:  # noqa: BLE001 - raised from here it would be trio's crash; main shall have it
            self._finish(outcome.Error(error))
            return 0.0
        finally:
            self._busy = True

    def _take_turns(self, deadline: float) -> float:
        if deadline != math.inf:
            raise RuntimeError("a trio deadline was set inside the simulation; timeouts belong to the Timeline")
        self._horizon_us, self._limit = self._end_us, self.turn + TURNS_BETWEEN_LOOKS
        recorded = self.replay or self.replay_by_time
        if recorded or self._cancelled or self._submitted or self._steered or self.hold is not _never:
            answer = self._attend()
            if answer is not None:
                return answer
        heap, pop, horizon_us = self._heap, heappop, self._horizon_us
        now_us, turn = self.now_us, self.turn
        while heap:
            at_us, _, action, argument = heap[0]
            if at_us > horizon_us:
                break
            pop(heap)
            if action is None and not argument.pending:
                self._cancelled_entries -= 1
                continue
            if at_us != now_us:
                self.now_us = now_us = at_us
                self._instant_turn = turn
            elif turn - self._instant_turn >= TURNS_AT_ONE_INSTANT:
                raise LivelockError(f"more than {TURNS_AT_ONE_INSTANT} turns at {now_us} us: {action or argument}")
            self.turn = turn = turn + 1
            if action is None:
                argument.fire()
            else:
                action(argument)
            if (self._busy and self._task_runs()) or turn >= self._limit:
                return 0.0
        return self._end_or_wait()

    def _attend(self) -> float | None:
        """Execute what comes before the heap; returns the answer to trio, or None to go on with the heap."""
        if self._cancelled:
            self._kill_next()
            return 0.0
        self._watch()
        if self._submitted and not self.replay:
            self._run_command(self.position_us, self._submitted.popleft())
            return 0.0
        if self.hold is not _never:
            if self.hold():
                return math.inf
            self._limit = self.turn + TURNS_BETWEEN_HOLDS
        if self._steered:
            horizon_us, last_turn = self._permission(self._next_us())
            if last_turn <= self.turn:
                return math.inf
            self._horizon_us, self._limit = min(self._end_us, horizon_us), int(min(self._limit, last_turn))
        return self._run_recorded()

    def _run_recorded(self) -> float | None:
        """Execute the recorded command that is due, if any; else stop the heap before the next one."""
        if self.replay:
            turn, at_us, command = self.replay[0]
            if turn < self.turn or (turn == self.turn and not self.now_us <= at_us <= self._next_us()):
                here = f"turn {self.turn}, {self.now_us} us"
                raise RerunDivergedError(f"{command} was recorded at turn {turn}, {at_us} us; the rerun is at {here}")
            if turn == self.turn and at_us <= self._horizon_us:
                del self.replay[0]
                self._run_command(at_us, command)
                return 0.0
            self._limit = min(self._limit, turn)
        if self.replay_by_time:
            at_us, command = self.replay_by_time[0]
            if at_us <= self._horizon_us and at_us <= self._next_us():
                del self.replay_by_time[0]
                self._run_command(max(at_us, self.now_us), command)
                return 0.0
            self._horizon_us = min(self._horizon_us, at_us - 1)
        return None

    def _end_or_wait(self) -> float:
        """Handle a moment without a due action: the flight ends, wall time must pass, or there is a deadlock."""
        next_us = min(self._next_us(), self._end_us)
        if next_us == math.inf:
            if self.replay:
                raise RerunDivergedError(
                    f"{self.replay[0]} was recorded; the rerun has nothing left after turn {self.turn}"
                )
            if self._live:
                return math.inf
            parked = sorted(self._actors.values(), key=lambda actor: actor.number)
            title = (
                f"nothing can happen any more after turn {self.turn}, {self.now_us} us; parked actors: {len(parked)}"
            )
            raise DeadlockError("\n  ".join([title, *[actor.describe() for actor in parked]]))
        wait = self._seconds_until(next_us)
        if wait == 0.0 and self._next_us() > self._end_us:
            if self.now_us < self._end_us:
                self.now_us, self._instant_turn = int(self._end_us), self.turn
            self._finish(outcome.Value(None))
        return wait

    # --- for actors -----------------------------------------------------------------------------------------------

    def own(self, timer: Timer) -> Timer:
        """Cancel `timer` when the running actor ends in any way; returns the timer."""
        actor = self._actors[current_task()]
        if len(actor.owned) >= actor.owned_limit:
            actor.owned = [owned for owned in actor.owned if owned.pending]
            actor.owned_limit = 2 * len(actor.owned) + 8
        actor.owned.append(timer)
        return timer

    def start(
        self, nursery: trio.Nursery, actor: Callable[..., Awaitable[object]], *args: object, name: str | None = None
    ) -> None:
        """Start `actor(*args)` as a child of `nursery`: it begins at this instant, in its turn, in the order of starts.

        What it raises ends the flight in main. `name` is for people. Raises RuntimeError if the nursery is closed.
        """
        self._numbers = number = self._numbers + 1
        record = _Actor(self, number, name or str(getattr(actor, "__qualname__", actor)))
        nursery.start_soon(self._run, record, actor, args, name=record.name)
        self._time(record.waiter, self.now_us)
        self._busy = True  # the task runs up to its first wait before the next turn; no other task can see a difference
        self._limit = 0

    async def _run(self, record: _Actor, actor: Callable[..., Awaitable[object]], args: tuple[object, ...]) -> None:
        record.task = task = current_task()
        self._actors[task] = record
        try:
            await self.park(record.waiter)
            await actor(*args)
        except TurnCutShort:
            pass
        except Exception as error:
            if self._main is None:
                raise
            self._finish(outcome.Error(error))
        finally:
            del self._actors[task]
            for timer in record.owned:
                timer.cancel()

    def waiter(self, label: object = "") -> Waiter:
        """Make the Waiter of a future wait; `label` describes the wait in errors, and is formatted only there."""
        return Waiter(self.deliver, self.entry_cancelled, label)

    def continuation(self, function: Callable[[], object], label: object = "") -> Continuation:
        """Make the Continuation of an actor; it waits for nothing yet."""
        return Continuation(self.deliver, self.entry_cancelled, function, label)

    def wait_until(self, continuation: Continuation, at_us: int) -> None:
        """Let a Continuation wait until `at_us`; a wake does not end this wait, a kill does."""
        continuation.pending = continuation.timed = True  # `_time`, without its call
        self._sequence = sequence = self._sequence + 1
        _PUSH(self._heap, (max(at_us, self.now_us), sequence, None, continuation))

    async def park(self, waiter: Waiter) -> Any:  # noqa: ANN401 - any value
        """Wait until the waiter is woken; returns the value. Raises RuntimeError if it was parked in before."""
        if waiter.parked is not None:
            raise RuntimeError(f"a waiter works once, and this one has ({waiter.label})")
        waiter.parked = task = current_task()
        if waiter.pending:
            actor = self._actors[task]  # a KeyError here: this task was not started by `start`
            actor.waiter = waiter
            await wait_task_rescheduled(actor.abort)
        return waiter.value

    async def park_until(self, waiter: Waiter, at_us: int) -> object:
        """Wait until the waiter is woken, but not past `at_us`: then returns TIMED_OUT."""
        if waiter.pending:
            self._time(waiter, at_us)
        return await self.park(waiter)

    async def sleep(self, duration_us: int) -> None:
        """Wait `duration_us` microseconds; 0 lets what is due at this instant go first."""
        waiter = Waiter(self.deliver, self.entry_cancelled, "time to pass")
        self._time(waiter, self.now_us + duration_us)
        waiter.parked = task = current_task()  # `park`, without its coroutine: every batch that is worked on sleeps
        (actor := self._actors[task]).waiter = waiter
        await wait_task_rescheduled(actor.abort)

    # --- for the task that runs the flight (main) --------------------------------------------------------------------

    async def fly(self, until_us: float = math.inf) -> None:
        """Pass time up to exactly `until_us`, all of that instant included; costs no turn, and may be called again.

        Raises what an action, command or actor raised, DeadlockError, LivelockError or RerunDivergedError, ValueError
        if the end is past, RuntimeError when closed. An error, and a cancelled main, closes the Timeline.
        """
        if self.closed or self._main is not None:
            raise RuntimeError("the flight is over" if self.closed else "the flight is under way")
        if until_us < self.now_us:
            raise ValueError(f"{until_us} us is past: it is {self.now_us} us")
        if self.turn == 0:
            self._pace.rebase(self.now_us)
        if not self._first:
            self._first, self._sequence = self._sequence + 1, self._sequence + FIRST_ENTRIES
        self._end_us, self._main = until_us, current_task()
        await wait_task_rescheduled(self._abandon)

    def close(self) -> None:
        """End the flight for good: no turn is taken any more. Call this before the actors are cancelled."""
        self.closed, self._main = True, None
        while self._cancelled:
            self._kill_next()

    def _abandon(self, _raise_cancel: object) -> Abort:
        self.close()
        return Abort.SUCCEEDED

    def _finish(self, result: outcome.Outcome[None]) -> None:
        main, self._main = self._main, None
        if isinstance(result, outcome.Error):
            self.close()
        if main is not None:
            reschedule(main, result)

    def _wait_without_flight(self, deadline: float) -> float:
        if self._cancelled:
            self._kill_next()
            return 0.0
        parked = [task for task in self._actors if not task.child_nurseries]
        if parked and not self.closed and not self._live:
            self.close()
            # Main may wait for anything and cannot be woken with an error; its nursery can be cancelled.
            reschedule(parked[0], outcome.Error(RuntimeError("main waits, but not in fly(): nothing will ever happen")))
            return 0.0
        return math.inf if deadline == math.inf else 0.0

    # --- for the outside, on trio's thread ----------------------------------------------------------------------------

    def submit(self, command: object) -> bool:
        """Schedule `command` for a turn of its own as soon as possible; False when the flight is over."""
        if not self.closed:
            self._submitted.append(command)
            self._limit = 0
        return not self.closed

    @property
    def position_us(self) -> int:
        """The virtual time of the wall clock: not before the last turn, and not past the next one."""
        return int(min(self._pace.position_us(self.now_us), max(self.now_us, self._next_us()), self._end_us))

    def interrupt(self, error: BaseException) -> None:
        """End the flight under way: fly() raises `error` in main."""
        if self._main is not None:
            self._finish(outcome.Error(error))

    # --- controls: on trio's thread, from outside through `token.run_sync_soon` ---------------------------------------

    @property
    def speed(self) -> float:
        """The chosen speed, in virtual seconds per wall second; infinity is as fast as possible."""
        return self._pace.speed

    @property
    def paused(self) -> bool:
        """Whether time stands still until `resume` (a step may be under way)."""
        return self._pace.paused

    @property
    def actual_speed(self) -> float:
        """The speed reached over the last half second or more of wall time; 0 while paused."""
        return self._pace.actual_speed(self.position_us)

    def set_speed(self, speed: float) -> None:
        """From here on, `speed` virtual seconds per wall second; raises ValueError unless it is above zero."""
        self._pace.set_speed(speed, self.position_us)
        self._steer(self._permitted_turn, self._predicate)

    def pause(self) -> None:
        """Stop time, and end a `step`, `step_until` or `run_until` that is under way. Commands are still executed."""
        self._pace.set_paused(True, self.position_us)
        self._steer(0, None)

    def resume(self) -> None:
        """Pass time again at the chosen speed, from the instant at which it was stopped."""
        self._pace.set_paused(False, self.position_us)
        self._steer(0, None)

    def step(self) -> None:
        """Take the next turn without waiting for its time, and pause after it. Two calls are two turns."""
        if not self._pace.paused or self._predicate is not None:
            self.pause()
        self._steer(max(self._permitted_turn, self.turn) + 1, None)

    def step_until(self, predicate: Callable[[], bool]) -> None:
        """Take turns as fast as possible until `predicate()` is true after one of them, and pause there."""
        self.pause()
        self._steer(math.inf, predicate)

    def run_until(self, predicate: Callable[[], bool]) -> None:
        """Take turns at the chosen speed until `predicate()` is true after one of them, and pause there."""
        self.resume()
        self._steer(0, predicate)

    def _steer(self, permitted_turn: float, predicate: Callable[[], bool] | None) -> None:
        if predicate is not self._predicate:
            self._predicate, self._predicate_turn = predicate, self.turn
        self._permitted_turn = permitted_turn
        self._steered = self._pace.limited or predicate is not None
        self._limit = 0  # if it is an action that steers, the next one asks for permission

    def _watch(self) -> None:
        """Pause if the awaited predicate is true now."""
        if self._predicate is not None and self.turn > self._predicate_turn and self._predicate():
            self.pause()

    def _permission(self, next_us: float) -> tuple[float, float]:
        """Up to which instant, and below which turn, the heap may go on when its next turn is due at `next_us`."""
        horizon_us: float = math.inf
        last_turn: float = math.inf if self._predicate is None else self.turn + 1
        if self._pace.paused:
            last_turn = min(last_turn, self._permitted_turn)
        elif self._pace.limited:
            horizon_us = float(self._pace.reached_us(next_us))
        return horizon_us, last_turn

    def _seconds_until(self, at_us: float) -> float:
        """Wall seconds to wait for `at_us`; 0 when it need not be waited for."""
        return self._pace.seconds_until(int(at_us)) if self._pace.limited and not self._pace.paused else 0.0

    # --- for Timer and Waiter -----------------------------------------------------------------------------------------

    def deliver(self, waiter: Waiter) -> None:
        """Resume the actor parked in `waiter`: in this turn, if it is the first, else in one of its own."""
        if self._busy:
            self.post(self.now_us, self._resume, waiter)
        else:
            self._resume(waiter)

    def _resume(self, waiter: Waiter) -> None:
        if waiter.parked is None:  # killed since
            return
        self._busy = True
        if isinstance(waiter, Continuation):
            self._continued = waiter
        else:
            reschedule(waiter.parked)

    def _task_runs(self) -> bool:
        """Whether trio runs a task after this turn: one that the turn woke, unless its Continuation does the work."""
        continuation, self._continued = self._continued, None
        if continuation is None or continuation.parked is None:
            return True
        value = continuation.function()
        if value is None:
            self._busy = False
            return False
        task, continuation.parked, continuation.value = continuation.parked, None, value
        reschedule(task)
        return True

    # --- inside -------------------------------------------------------------------------------------------------------

    def _kill_next(self) -> None:
        _, actor, raise_cancel = heappop(self._cancelled)
        self.turn += not self.closed
        reschedule(actor.task, outcome.capture(raise_cancel))

    def _run_command(self, at_us: int, command: object) -> None:
        if at_us != self.now_us:
            self.now_us, self._instant_turn = at_us, self.turn
        self.on_command(self.turn, at_us, command)
        self.turn += 1
        self._execute(command)
        if self._busy:
            self._task_runs()

    def _next_us(self) -> float:
        """The earliest known instant of a turn; infinity when nothing is scheduled."""
        next_us = self._first_us()
        if self.replay_by_time:
            next_us = min(next_us, self.replay_by_time[0][0])
        if self.replay and self.replay[0][0] == self.turn:
            next_us = min(next_us, self.replay[0][1])
        return next_us

    def _time(self, waiter: Waiter, at_us: int) -> None:
        """Let the wait end at `at_us`, unless something ends it before."""
        waiter.timed = True
        self._sequence = sequence = self._sequence + 1
        now_us = self.now_us
        _PUSH(self._heap, (at_us if at_us > now_us else now_us, sequence, None, waiter))  # noqa: FURB136

    def _first_us(self) -> float:
        """When the first live entry is due; infinity when there is none."""
        heap = self._heap
        while heap and heap[0][2] is None and not heap[0][3].pending:
            heappop(heap)
            self._cancelled_entries -= 1
        return heap[0][0] if heap else math.inf
