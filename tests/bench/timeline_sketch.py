# ruff: noqa: E501, BLE001, C901 - a sketch
# mypy: ignore-errors
"""A working sketch of the Timeline: virtual time as a trio Clock (public trio API only; tried with trio 0.35).

trio asks `deadline_to_sleep_time` only when every task is blocked. That question is the turn of the simulation: run due actions,
one at a time, until one of them wakes or starts a task. Kept as it was, as the yardstick of the benchmark: the product never imports it.

Rules it lives by (each was broken once and measured; see architecture.md section 2):
* one actor runs between two actions; actors are started by `start`, never by a bare `start_soon`;
* actors block only in `park` (and `sleep`, built on it) or in waiting for their own nursery's children;
* no actor holds a task: a `Waiter` is one-shot, and waking it late is harmless;
* cancellation means kill: an actor's clean-up does not await; a clean stop is a message to the actor;
* no trio deadline is ever set inside the simulation.
"""

import heapq
import math
import time
from collections.abc import Awaitable, Callable

import outcome
import trio
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

MICROSECONDS = 1_000_000
SLIP_SECONDS = 0.25  # further behind than this, the pace slips; it never catches up in a burst
TURNS_AT_ONE_INSTANT = 100_000


class Timer:
    __slots__ = ("action", "at_us", "sequence")

    def __init__(self, at_us: int, sequence: int, action: Callable[[], object]) -> None:
        self.at_us, self.sequence = at_us, sequence
        self.action: Callable[[], object] | None = action

    def __lt__(self, other: "Timer") -> bool:
        return (self.at_us, self.sequence) < (other.at_us, other.sequence)

    def cancel(self) -> None:
        self.action = None


class Waiter:
    """One wait of one actor. `wake` works once; after a wake, a cancellation or the actor's end it does nothing."""

    __slots__ = ("_done", "_result", "_task", "_timeline")

    def __init__(self, timeline: "Timeline") -> None:
        self._timeline, self._task, self._done = timeline, None, False
        self._result: outcome.Outcome[object] | None = None

    def wake(self, value: object = None) -> bool:
        if self._done:
            return False
        self._done, self._result = True, outcome.Value(value)
        if self._task is not None:
            reschedule(self._task, self._result)
            self._timeline._woke = True
        return True


class Timeline(trio.abc.Clock):
    def __init__(self, execute: Callable[[object], None], speed: float = math.inf, *, live: bool = False) -> None:
        self.now_us = 0
        self.turn = 0  # actions, cancellations and commands so far: where a command stands in a recording
        self.executed: list[tuple[int, int, object]] = []  # (turn, now_us, command): what an exact rerun needs
        self.replay: list[tuple[int, int, object]] = []
        self.hold: Callable[[], bool] = lambda: False  # back-pressure: true while the reader is behind
        self._execute, self._speed, self._live = execute, speed, live
        self._heap: list[Timer] = []
        self._sequence = self._actors = 0
        self._numbers: dict[Task, int] = {}
        self._submitted: list[object] = []
        self._cancelled: list[tuple[int, Task, Callable[[], None]]] = []
        self._woke = self._closed = False
        self._end_us: float = math.inf
        self._main: Task | None = None
        self._instant = (-1, 0)
        self._real_base, self._virtual_base = time.perf_counter(), 0

    # --- trio.abc.Clock ---------------------------------------------------------------------------------------
    def start_clock(self) -> None:
        self._real_base = time.perf_counter()

    def current_time(self) -> float:
        return self.now_us / MICROSECONDS

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Everybody is blocked: the simulation's turn. Returns real seconds to wait, 0 when a task may run."""
        if self._closed:
            return math.inf if deadline == math.inf else 0.0
        try:
            if deadline != math.inf:
                raise RuntimeError("a trio deadline was set inside the simulation; use the Timeline")
            return self._take_turns()
        except BaseException as error:  # an action failed: end the flight in main, not inside trio
            self._finish(outcome.Error(error))
            return 0.0

    def _take_turns(self) -> float:
        self._woke = False
        for _ in range(1000):  # then let trio look at the outside world
            if self._cancelled:
                _, task, raise_cancel = heapq.heappop(self._cancelled)
                self._count()
                reschedule(task, outcome.capture(raise_cancel))
                return 0.0
            if self.replay and self.replay[0][0] == self.turn:
                _, at_us, command = self.replay.pop(0)
                if at_us < self.now_us:
                    raise RuntimeError(f"diverged: turn {self.turn} is at {self.now_us}, recorded at {at_us}")
                self._run_command(at_us, command)
            elif self._submitted:
                self._run_command(self._wall_us(), self._submitted.pop(0))
            else:
                while self._heap and self._heap[0].action is None:
                    heapq.heappop(self._heap)  # a cancelled timer moves neither time nor turn
                if self._heap and self._heap[0].at_us <= self._end_us:
                    wait = self._real_seconds_until(self._heap[0].at_us)
                    if wait > 0 or self.hold():
                        return wait if wait > 0 else math.inf
                    timer = heapq.heappop(self._heap)
                    self.now_us = timer.at_us
                    self._count()
                    timer.action()
                elif self._end_us != math.inf:
                    wait = self._real_seconds_until(int(self._end_us))
                    if wait > 0:
                        return wait
                    self.now_us = int(self._end_us)
                    self._finish(outcome.Value(None))
                    return 0.0
                elif self._live:
                    return math.inf
                else:
                    raise RuntimeError(f"nothing can happen any more; {len(self._numbers)} actors are parked")
            if self._woke:
                return 0.0
        return 0.0

    # --- for actors --------------------------------------------------------------------------------------------
    def call_at(self, at_us: int, action: Callable[[], object]) -> Timer:
        self._sequence += 1
        timer = Timer(max(at_us, self.now_us), self._sequence, action)
        heapq.heappush(self._heap, timer)
        return timer

    def start(self, nursery: trio.Nursery, actor: Callable[..., Awaitable[object]], *args: object) -> None:
        self._actors += 1
        number = self._actors

        async def run() -> None:
            self._numbers[current_task()] = number
            try:
                await actor(*args)
            finally:
                del self._numbers[current_task()]

        def begin() -> None:
            if not nursery.cancel_scope.cancel_called:
                nursery.start_soon(run)
                self._woke = True

        self.call_at(self.now_us, begin)

    def waiter(self) -> Waiter:
        return Waiter(self)

    async def park(self, waiter: Waiter) -> object:
        if waiter._result is not None:
            return waiter._result.unwrap()
        waiter._task = task = current_task()

        def abort(raise_cancel: Callable[[], None]) -> Abort:
            waiter._done = True
            if self._closed:
                return Abort.SUCCEEDED
            heapq.heappush(self._cancelled, (self._numbers[task], task, raise_cancel))  # numbers are unique
            return Abort.FAILED

        return await wait_task_rescheduled(abort)

    async def sleep(self, duration_us: int) -> None:
        waiter = self.waiter()
        timer = self.call_at(self.now_us + duration_us, waiter.wake)
        try:
            await self.park(waiter)
        finally:
            timer.cancel()

    # --- for the one who runs the flight (main) ------------------------------------------------------------------
    async def fly(self, until_us: float = math.inf) -> None:
        """Let time pass to exactly `until_us` (all of that instant included); raises what an action raised."""
        self._end_us, self._main = until_us, current_task()
        await wait_task_rescheduled(lambda _: Abort.SUCCEEDED)

    def close(self) -> None:
        """The flight is over: nothing more happens. Call it before cancelling the actors."""
        self._closed = True
        while self._cancelled:  # kills that were under way
            _, task, raise_cancel = heapq.heappop(self._cancelled)
            reschedule(task, outcome.capture(raise_cancel))

    # --- for the outside (on trio's thread: token.run_sync_soon) --------------------------------------------------
    def submit(self, command: object) -> None:
        self._submitted.append(command)

    def set_speed(self, speed: float) -> None:
        self._virtual_base, self._real_base, self._speed = self.now_us, time.perf_counter(), speed

    # --- inside ------------------------------------------------------------------------------------------------
    def _finish(self, result: outcome.Outcome[None]) -> None:
        if self._main is None:
            raise RuntimeError("no flight is under way") from getattr(result, "error", None)
        main, self._main, self._end_us = self._main, None, math.inf
        self._closed = isinstance(result, outcome.Error)
        reschedule(main, result)

    def _count(self) -> None:
        self.turn += 1
        at_us, turns = self._instant
        self._instant = (at_us, turns + 1) if at_us == self.now_us else (self.now_us, 0)
        if turns > TURNS_AT_ONE_INSTANT:
            raise RuntimeError(f"time stands still at {self.now_us} us")

    def _run_command(self, at_us: int, command: object) -> None:
        self.now_us = at_us
        self.executed.append((self.turn, at_us, command))
        self._count()
        self._execute(command)

    def _wall_us(self) -> int:
        """Where the wall clock stands in virtual time, not before the last action and not past the next one."""
        if not 0 < self._speed < math.inf:
            return self.now_us
        wall = self._virtual_base + int((time.perf_counter() - self._real_base) * self._speed * MICROSECONDS)
        return max(self.now_us, min(wall, self._heap[0].at_us if self._heap else wall))

    def _real_seconds_until(self, at_us: int) -> float:
        if self._speed == math.inf:
            return 0.0
        if self._speed == 0:
            return math.inf
        wait = self._real_base + (at_us - self._virtual_base) / MICROSECONDS / self._speed - time.perf_counter()
        if wait < -SLIP_SECONDS:
            self._virtual_base, self._real_base = at_us, time.perf_counter()
        return wait
