"""Many flights in several processes: each process flies one at a time, and its end costs only that flight.

Processes are spawned: they import Flightdeck once and inherit neither threads nor trio. Not a pool of Python's: one
forgets the flight of a process that the machine kills, the other gives up every flight under way with it.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from typing import Generic, TypeVar

import msgspec

from cluster.simulation import garbage_collection
from recordings.flights import interruption

ASKED_EVERY_S = 0.2  # whether the user asked to end, while other processes fly

MOST_PROCESSES = 256

LEFT_TO_PARENT = (signal.SIGINT, signal.SIGHUP)
"""The signals that a terminal sends to all processes."""

O = TypeVar("O")  # noqa: E741 - an order
R = TypeVar("R")


def cores() -> int:
    """The cores that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST_PROCESSES)


def can_fly_another() -> bool:
    """Whether a second process would fly beside this one, on a core of its own."""
    return cores() > 1 and not multiprocessing.current_process().daemon


class ProcessEnded(msgspec.Struct, frozen=True):
    """A process ended during a flight (by the machine, out of memory): `code` is negative for a signal."""

    code: int | None

    @property
    def reason(self) -> str:
        """The end in words."""
        if self.code is None or self.code >= 0:
            return f"its process ended with exit code {self.code}"
        hint = ": the machine may be out of memory" if -self.code == signal.SIGKILL else ""
        return f"its process was ended by {signal.Signals(-self.code).name}{hint}"


class _FlyingProcess(Generic[O, R]):
    """A process, the pipe to it, and the order that it flies."""

    def __init__(self, context: SpawnContext, fly: Callable[[O], R]) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_fly_orders, args=(fly, theirs), daemon=True)
        resource_tracker.ensure_running()  # whose start, part of the first one's, would unblock them
        before = signal.pthread_sigmask(signal.SIG_BLOCK, LEFT_TO_PARENT)  # inherited, until it ignores them
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()  # so that the pipe ends with the process
        self.order: tuple[int, O] | None = None

    def give(self, order: tuple[int, O]) -> None:
        self.order = order
        with suppress(OSError):  # it has ended, which `take` says
            self.pipe.send(order[1])

    def take(self) -> tuple[int, O, R | ProcessEnded]:
        """The order that has ended, and its result. Raises what the flight raised."""
        assert self.order is not None
        (number, order), self.order = self.order, None
        try:
            result: R | Exception = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return number, order, ProcessEnded(self.process.exitcode)
        if isinstance(result, Exception):
            raise result
        return number, order, result

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


class _FlyingProcesses(Generic[O, R]):
    """At most `jobs` processes; each is started when there is an order for it."""

    def __init__(self, jobs: int, fly: Callable[[O], R]) -> None:
        self._jobs, self._fly = jobs, fly
        self._context = multiprocessing.get_context("spawn")
        self._processes: list[_FlyingProcess[O, R]] = []

    def results(self, orders: Iterator[tuple[int, O]]) -> Iterator[tuple[int, O, R | ProcessEnded]]:
        while not interruption.was_asked():
            self._give(orders)
            flying = {each.pipe: each for each in self._processes if each.order is not None}
            if not flying:
                return
            for pipe in wait(list(flying), timeout=ASKED_EVERY_S):
                assert isinstance(pipe, Connection)
                process = flying[pipe]
                result = process.take()
                if isinstance(result[2], ProcessEnded):
                    process.end()
                    self._processes.remove(process)
                yield result

    def _give(self, orders: Iterator[tuple[int, O]]) -> None:
        """An order for each process that flies none."""
        while sum(1 for each in self._processes if each.order is not None) < self._jobs:
            order = next(orders, None)
            if order is None:
                return
            idle = next((each for each in self._processes if each.order is None), None)
            if idle is None:
                idle = _FlyingProcess(self._context, self._fly)
                self._processes.append(idle)
            idle.give(order)

    def end(self) -> None:
        for process in self._processes:
            process.end()


@contextmanager
def flown_in(
    jobs: int, fly: Callable[[O], R], orders: Iterable[O]
) -> Iterator[Iterator[tuple[int, O, R | ProcessEnded]]]:
    """Fly orders in `jobs` processes and yield each with its number and result as soon as it has ended.

    `fly` and the orders are pickled, `fly` once for each process. After Ctrl-C the results end, and the caller checks
    `interruption.was_asked`. Leaving the context ends the processes.
    """
    processes = _FlyingProcesses(jobs, fly)
    try:
        yield processes.results(enumerate(orders))
    finally:
        processes.end()


@contextmanager
def flown_meanwhile(fly: Callable[[O], R], order: O) -> Iterator[Callable[[], R | ProcessEnded]]:
    """Fly one order in a process of its own while this one goes on; what is yielded waits for the result.

    Not from within such a process: it can have no processes of its own. Leaving the context ends the process.
    """
    process = _FlyingProcess(multiprocessing.get_context("spawn"), fly)
    try:
        process.give((0, order))
        yield lambda: process.take()[2]
    finally:
        process.end()


def _fly_orders(fly: Callable[[O], R], pipe: Connection) -> None:
    """The life of a process: it flies until its parent has no more orders, or has ended."""
    begin_process()
    with garbage_collection.few_collections(), suppress(EOFError, OSError):
        while True:
            order = pipe.recv()
            try:
                result: R | Exception = fly(order)
            except Exception as error:  # noqa: BLE001 - whatever it is, the parent raises it
                result = error
            pipe.send(result)


def begin_process() -> None:
    """Leave signals of the terminal to the parent, and end when it has ended; call it first in a new process."""
    for number in LEFT_TO_PARENT:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes, and no process waits for their flights."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
