"""What is to happen, in order: the heap of a Timeline.

An entry is (at_us, sequence, action, argument). The sequence is unique, so that the heap compares integers only, in C,
and what is due at one instant happens in the order in which it was asked for. An entry without an action is a Timer or
a timed Waiter, which know themselves what to do; those may be dead before they get to the top. The dead are skipped
without a trace, moving neither time nor turn, and cleared away when they are the majority.
"""

import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

from cluster.virtual_time.waiting import Timer, Waiter

Argument = TypeVar("Argument")

DEAD_WORTH_COMPACTING = 64


class Agenda:
    """The scheduled actions and the instant and turn they are scheduled from. Times are in microseconds."""

    __slots__ = ("_dead", "_heap", "_sequence", "now_us", "turn")

    def __init__(self) -> None:
        self.now_us = 0
        self.turn = 0
        self._heap: list[tuple[int, int, Callable[[Any], object] | None, Any]] = []
        self._sequence = 0
        self._dead = 0

    def call_at(self, at_us: int, action: Callable[..., object], *args: object) -> Timer:
        """Run `action(*args)` at `at_us` (now, if that is past), after what was scheduled for that instant before."""
        now_us = self.now_us
        timer = Timer(self, at_us if at_us > now_us else now_us, action, args)  # noqa: FURB136 - max() costs more
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (timer.at_us, sequence, None, timer))
        return timer

    def call_later(self, delay_us: int, action: Callable[..., object], *args: object) -> Timer:
        """Run `action(*args)` in `delay_us` microseconds."""
        return self.call_at(self.now_us + delay_us, action, *args)

    def post(self, at_us: int, action: Callable[[Argument], object], argument: Argument) -> None:
        """Run `action(argument)` at `at_us` (now, if that is past): cheaper than a Timer, and final."""
        self._sequence = sequence = self._sequence + 1
        now_us = self.now_us
        heappush(self._heap, (at_us if at_us > now_us else now_us, sequence, action, argument))  # noqa: FURB136 - max() costs more

    def bury(self) -> None:
        """Count an entry that died early. Timers and Waiters call this, nobody else."""
        self._dead = dead = self._dead + 1
        heap = self._heap
        if dead >= DEAD_WORTH_COMPACTING and 2 * dead > len(heap):
            heap[:] = [entry for entry in heap if entry[2] is not None or entry[3].pending]
            heapify(heap)
            self._dead = 0

    def _time(self, waiter: Waiter, at_us: int) -> None:
        """Let the wait end at `at_us`, unless something ends it before."""
        waiter.timed = True
        self._sequence = sequence = self._sequence + 1
        now_us = self.now_us
        heappush(self._heap, (at_us if at_us > now_us else now_us, sequence, None, waiter))  # noqa: FURB136

    def _first_us(self) -> float:
        """When the first live entry is due; infinity when there is none."""
        heap = self._heap
        while heap and heap[0][2] is None and not heap[0][3].pending:
            heappop(heap)
            self._dead -= 1
        return heap[0][0] if heap else math.inf
