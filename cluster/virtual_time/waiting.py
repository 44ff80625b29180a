"""What can be waiting in virtual time: a Timer for its instant, a Waiter for a wake. And how waiting goes wrong.

Both are entries of the Timeline's heap and may be cancelled before they get to its top: `pending` says so, and what
ends a pending one early reports it (`entry_cancelled`) to the Timeline, which counts its cancelled entries. Nothing
holds a task: an actor is resumed by the Timeline only, through a Waiter that works once, so that a late answer, a
timeout and a kill cannot resume the same wait twice.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final


class TimedOut(Enum):
    """What `park_until` returns when nobody woke the waiter in time."""

    TIMED_OUT = "timed out"


NEVER_US = 1 << 62
"""An instant that no flight reaches."""

TIMED_OUT: Final = TimedOut.TIMED_OUT


class DeadlockError(RuntimeError):
    """Nothing is scheduled any more and the flight has no end; names each parked actor and what it waits for."""


class LivelockError(RuntimeError):
    """More than 100,000 turns at one instant: something schedules itself without a delay."""


class RerunDivergedError(RuntimeError):
    """An exact rerun did not come to a recorded command's turn and instant in the way the recorded flight did."""


class Timer:
    """An action that may be cancelled. `at_us` is when it is due; `pending` until it has run or was cancelled."""

    __slots__ = ("_action", "_args", "_on_cancel", "at_us", "pending")

    def __init__(
        self,
        on_cancel: Callable[[], None],
        at_us: int,
        action: Callable[..., object],
        args: tuple[object, ...],
    ) -> None:
        self._on_cancel, self._action, self._args = on_cancel, action, args
        self.at_us, self.pending = at_us, True

    def cancel(self) -> None:
        """Never run the action. Harmless when it has run or was cancelled before."""
        if self.pending:
            self.pending = False
            self._on_cancel()

    def fire(self) -> None:
        """Run the action. The Timeline calls this, nobody else."""
        self.pending = False
        self._action(*self._args)


class Waiter:
    """One wait of one actor. `wake` works once; after a wake, a timeout or the actor's death it does nothing.

    `label` says what is waited for, to whoever reads that nothing is left to happen. `parked` is the task of the actor
    that waits or waited; `timed`, whether the wait was given a timeout; `value`, what it ended with.
    """

    __slots__ = ("_deliver", "_on_cancel", "label", "parked", "pending", "timed", "value")

    def __init__(self, deliver: Callable[["Waiter"], None], on_cancel: Callable[[], None], label: object = "") -> None:
        self._deliver, self._on_cancel, self.label = deliver, on_cancel, label
        self.pending, self.timed = True, False
        self.parked: Any = None  # a task; only the Timeline knows of trio
        self.value: object = None

    def wake(self, value: object = None) -> bool:
        """End the wait, now or before it begins, with `value`; says whether this call was the one that did it."""
        if not self.pending:
            return False
        self.pending, self.value = False, value
        if self.timed:
            self._on_cancel()
        if self.parked is not None:
            self._deliver(self)
        return True

    def fire(self) -> None:
        """Time is up. The Timeline calls this, nobody else."""
        self.pending, self.value = False, TIMED_OUT
        if self.parked is not None:
            self._deliver(self)
