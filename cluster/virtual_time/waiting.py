"""Waits in virtual time: a Timer waits for its instant, a Waiter for a wake.

Both are entries of the Timeline's heap and may be cancelled before they reach its top. `pending` is False then, and the
Timeline counts the cancelled entry (`on_cancel`). Only the Timeline resumes an actor, through a Waiter that works once:
a late answer, a timeout and a kill cannot resume the same wait twice. A Continuation is the wait of an actor whose hot
loop needs no task: it is armed anew for each wait, and its function runs where the task would have run.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final


class TimedOut(Enum):
    """What `park_until` returns when the waiter was not woken in time."""

    TIMED_OUT = "timed out"


NEVER_US: Final = 1 << 62
"""An instant that no flight reaches."""

TIMED_OUT: Final = TimedOut.TIMED_OUT


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
        """Run the action. Only the Timeline calls this."""
        self.pending = False
        self._action(*self._args)


class Waiter:
    """One wait of one actor. `wake` works once; after a wake, a timeout or the actor's death it does nothing.

    `label` describes the wait in a DeadlockError. `parked` is the task of the actor that waits or waited; `timed`:
    whether the wait has a timeout; `value`: the result of the wait.
    """

    __slots__ = ("_deliver", "_on_cancel", "label", "parked", "pending", "timed", "value")

    def __init__(self, deliver: Callable[["Waiter"], None], on_cancel: Callable[[], None], label: object = "") -> None:
        self._deliver, self._on_cancel, self.label = deliver, on_cancel, label
        self.pending, self.timed = True, False
        self.parked: Any = None  # a task; only the Timeline knows of trio
        self.value: object = None

    def wake(self, value: object = None) -> bool:
        """End the wait, now or before it begins, with `value`; returns whether this call ended it."""
        if not self.pending:
            return False
        self.pending, self.value = False, value
        if self.timed:
            self._on_cancel()
        if self.parked is not None:
            self._deliver(self)
        return True

    def fire(self) -> None:
        """End the wait with TIMED_OUT. Only the Timeline calls this."""
        self.pending, self.value = False, TIMED_OUT
        if self.parked is not None:
            self._deliver(self)


class Continuation(Waiter):
    """The repeated wait of one actor, whose task stays parked in it while `function` does the actor's part.

    Each wake calls `function()` in the turn, and at the moment, in which it would have resumed the task. `function`
    arms the next wait (`wait`, or `Timeline.wait_until`) and returns None. Else it returns what the task does next, in
    this turn.
    """

    __slots__ = ("function",)

    def __init__(
        self,
        deliver: Callable[[Waiter], None],
        on_cancel: Callable[[], None],
        function: Callable[[], object],
        label: object = "",
    ) -> None:
        super().__init__(deliver, on_cancel, label)
        self.function = function

    def wait(self) -> None:
        """Wait until the next wake."""
        self.pending, self.timed = True, False

    def wake(self, value: object = None) -> bool:
        """End the wait, unless it is one for an instant: that one's entry in the heap would be found again."""
        return not self.timed and super().wake(value)
