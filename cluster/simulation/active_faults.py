"""The book of faults in force: each has a number, begins with a command, and ends when it is told to or is mended.

Both times are told. What a fault does, and what mending it takes, is known to whoever made the entry.
"""

from collections.abc import Callable
from typing import NamedTuple

from cluster import events as e
from cluster.commands import catalogue as c
from cluster.commands import kind_of, targets_of
from cluster.events import Event
from cluster.virtual_time import Timeline

UNTIL_MENDED = -1
FaultKey = tuple[str, ...]


class Fault(NamedTuple):
    """A fault in force: its number, the command that started it, and from when until when (UNTIL_MENDED) it lasts."""

    number: int
    command: c.Command
    text: str
    since_us: int
    ends_us: int


class FaultBook:
    """Every fault in force, by what is injured and how: one of a kind at one place."""

    def __init__(self, timeline: Timeline, emit: Callable[[Event], None]) -> None:
        self._timeline, self._emit = timeline, emit
        self.faults: dict[FaultKey, Fault] = {}
        self._mends: dict[int, Callable[[], object]] = {}
        self.numbered = 0  # how many there ever were: the number of the last

    def begin(self, key: FaultKey, command: c.Command, for_us: int | None, mend: Callable[[], object]) -> None:
        """A fault begins. `mend` undoes it when its time is up, unless somebody did before."""
        self.over(key)
        self.numbered += 1
        number, text, now_us = self.numbered, c.text_of(command), self._timeline.now_us
        ends_us = UNTIL_MENDED if for_us is None else now_us + for_us
        self.faults[key] = Fault(number, command, text, now_us, ends_us)
        self._mends[number] = mend
        kind, targets = kind_of(command), targets_of(command)
        self._emit(e.FaultStarted(fault=number, text=text, ends_at_us=ends_us, fault_kind=kind, targets=targets))
        if for_us is not None:
            self._timeline.call_at(ends_us, self._time_is_up, key, number)

    def _time_is_up(self, key: FaultKey, number: int) -> None:
        fault = self.faults.get(key)
        if fault is not None and fault.number == number:
            self.end(key)

    def end(self, key: FaultKey) -> None:
        """End a fault that is in force now: it is over, and what it did is undone."""
        mend = self._mends[self.faults[key].number]
        self.over(key)
        mend()

    def over(self, key: FaultKey) -> None:
        """A fault is over, if it was in force."""
        fault = self.faults.pop(key, None)
        if fault is not None:
            del self._mends[fault.number]
            self._emit(e.FaultEnded(fault=fault.number))


class Refused(Exception):  # noqa: N818 - a sentence for the operator, not an error of ours
    """The command cannot be carried out now; the message says why."""
