"""The faults in force. Each has a number, starts with a command, and ends by time, by a command or by a restart.

`start` emits `fault_started`, and `fault_ended` is emitted when the fault ends. A fault's effect is the command
handler's: it passes the function that reverts the effect.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster import events as e
from cluster.commands import Command, kind_of, targets_of, text_of
from cluster.events import Event
from cluster.virtual_time import Timeline

UNTIL_REVERTED: Final = -1
FaultKey = tuple[str, ...]
"""What is faulty and how, e.g. ("pause", "broker-1"). Two faults with the same key are never in force at once."""

Handlers = dict[type, Callable[[Any], None]]
"""Command type → the function that executes a command of this type. It raises CommandRefusedError."""


class CommandRefusedError(Exception):
    """A command cannot be executed now; the message is the reason that `command_refused` carries."""


class ActiveFault(NamedTuple):
    """A fault in force: number, command, the command's text, start and end in µs (UNTIL_REVERTED: no end by time)."""

    number: int
    command: Command
    text: str
    since_us: int
    ends_us: int


class ActiveFaults:
    """Every fault in force, by key. `started`: how many faults ever started, which is the last one's number."""

    def __init__(self, timeline: Timeline, emit: Callable[[Event], None]) -> None:
        self._timeline, self._emit = timeline, emit
        self.faults: dict[FaultKey, ActiveFault] = {}
        self._reverts: dict[int, Callable[[], object]] = {}
        self.started = 0

    def start(self, key: FaultKey, command: Command, for_us: int | None, revert: Callable[[], object]) -> None:
        """Start a fault in place of one with the same key; `revert` undoes its effect, after `for_us` at the latest."""
        self.forget(key)
        self.started += 1
        number, text, now_us = self.started, text_of(command), self._timeline.now_us
        ends_us = UNTIL_REVERTED if for_us is None else now_us + for_us
        self.faults[key] = ActiveFault(number, command, text, now_us, ends_us)
        self._reverts[number] = revert
        kind, targets = kind_of(command), targets_of(command)
        self._emit(e.FaultStarted(fault=number, text=text, ends_at_us=ends_us, fault_kind=kind, targets=targets))
        if for_us is not None:
            self._timeline.call_at(ends_us, self._revert_at_end, key, number)

    def _revert_at_end(self, key: FaultKey, number: int) -> None:
        fault = self.faults.get(key)
        if fault is not None and fault.number == number:
            self.revert(key)

    def revert(self, key: FaultKey) -> None:
        """End a fault that is in force, and undo its effect."""
        revert = self._reverts[self.faults[key].number]
        self.forget(key)
        revert()

    def forget(self, key: FaultKey) -> None:
        """End a fault whose effect is gone already; no effect if no fault with this key is in force."""
        fault = self.faults.pop(key, None)
        if fault is not None:
            del self._reverts[fault.number]
            self._emit(e.FaultEnded(fault=fault.number))
