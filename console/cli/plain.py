"""The flight in lines, for terminals that cannot draw screens and for screen readers: `flightdeck --plain`.

One line for each virtual second, one for each moment worth a mark on the flight strip, and for each line typed what
came of it: the same commands as on the console's `:` line.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable

import msgspec

from cluster.commands import CommandError
from cluster.view.document import group_lag
from cluster.view.state import ClusterView
from console.bridge import Bridge
from console.cli.errors import HELD, NOT_HELD, UsageError
from console.command_line import Go, read
from console.control_commands import execute
from console.flight import INVARIANT_BROKEN, SIMULATION_FAILED, Flight
from console.flight_clock import BUILDING, ENDED, FAILED
from console.presenters.event_log import merged_entries
from console.presenters.formatting import SECOND_US, clock, count
from console.presenters.rebalance_phase import members_words
from console.shutdown import ShutdownGuard
from console.time_input import At

FRAME_SECONDS = 0.1
DRAIN_SECONDS = 0.5
LEAVE = ("q", "quit", "exit")


def fly_in_lines(source: Bridge, tell: Callable[[str], object], typed: int | None = None) -> int:
    """Fly to the end, a signal, or `q`; the exit code. `typed`: the file that lines are typed into, open.

    Raises UsageError for bad input.
    """
    lines = Lines(Flight(source), tell)
    guard = ShutdownGuard(lines.leave, lambda: _stopped(source))
    guard.install()
    try:
        return lines.fly(typed)
    finally:
        source.stop()
        guard.uninstall()


def _stopped(source: Bridge) -> bool:
    source.stop()
    return source.stopped


class Lines:
    """A flight told line by line."""

    def __init__(self, flight: Flight, tell: Callable[[str], object]) -> None:
        self.flight, self.tell = flight, tell
        self._left = False
        self._second = -1
        self._moments = 0
        self._typed: deque[str] = deque()
        self._begun = ""
        self._woken = threading.Event()

    def leave(self) -> None:
        """End with the next frame."""
        self._left = True

    def fly(self, typed: int | None) -> int:
        """To the end; the exit code."""
        source = self.flight.source
        source.start(self._woken.set)
        self.tell("commands are typed as lines (speed 20, pause, kill billing-2); q leaves")
        while not self._left:
            if typed is not None and not self._listen(typed):
                typed = None
            self.flight.advance(DRAIN_SECONDS)
            if source.input_error:
                raise UsageError(source.input_error)
            self.frame()
            if self.flight.clock.phase in {ENDED, FAILED}:
                break
            self._woken.wait(FRAME_SECONDS)
            self._woken.clear()
        return self._end()

    def _end(self) -> int:
        self.flight.advance(DRAIN_SECONDS)
        self.frame()
        while self.flight.source.failure and not self.flight.source.stopped and not self._left:
            self._woken.wait(FRAME_SECONDS)  # what broke an invariant is being recorded
        failure = self.flight.source.failure
        if failure:
            self.tell(
                failure
                if failure.startswith((INVARIANT_BROKEN, SIMULATION_FAILED))
                else f"{SIMULATION_FAILED}: {failure}"
            )
            self.tell("the last events:")
            for event in self.flight.source.last_events:
                self.tell(msgspec.json.encode(event).decode())
            return NOT_HELD
        ended = self.flight.clock.phase == ENDED
        self.tell(f"{clock(self.flight.now_us, 3)}  {'the flight has ended' if ended else 'left'}")
        return HELD

    def _listen(self, typed: int) -> bool:
        """Take what was typed meanwhile; whether there can be more. (A thread that reads would hold up the end.)"""
        while select.select([typed], [], [], 0)[0]:
            read = os.read(typed, 4_096)
            if not read:
                return False
            *lines, self._begun = (self._begun + read.decode(errors="replace")).split("\n")
            self._typed.extend(line.strip() for line in lines)
        return True

    # --- what is told -----------------------------------------------------------------------------------------------

    def frame(self) -> None:
        """Obey what was typed; tell what happened, refusals, and a new second."""
        while self._typed and self.flight.clock.phase != BUILDING:
            self.obey(self._typed.popleft())
        view = self.flight.view
        for noted in merged_entries(view.log_entries[self._moments :]):
            self.tell(f"{clock(noted.at_us, 3)}  {noted.kind}: {noted.text}")
        self._moments = len(view.log_entries)
        for refused in self.flight.refused_commands.take_all():
            self.tell(f"refused: {refused}")
        second = self.flight.now_us // SECOND_US
        if view.groups and second != self._second:
            self._second = second
            self.tell(f"{clock(second * SECOND_US, 0)}  {state_words(view)}")

    def obey(self, text: str) -> None:
        """A line that was typed, as on the console's own line."""
        if text in LEAVE:
            self.leave()
            return
        if not text:
            return
        try:
            command = read(text, self.flight.names())
        except CommandError as error:
            near = f" (did you mean {error.suggestion}?)" if error.suggestion else ""
            self.tell(f"{text}: {error.message}{near}")
            return
        if isinstance(command, Go | At):
            self.tell(f"{text}: there are no places without screens")
            return
        failure = execute(self.flight, command)
        self.tell(f"{text}: {failure or 'done'}")


def state_words(view: ClusterView) -> str:
    """The whole cluster in one line: groups, brokers, faults."""
    groups = [
        f"{group.group} {group.state}, {members_words(len(group.members))}, generation {group.generation},"
        f" lag {count(group_lag(view, group))}"
        for group in view.groups.values()
    ]
    up = sum(1 for broker in view.brokers.values() if broker.up and not broker.paused)
    leaderless = sum(1 for partition in view.partitions.values() if partition.leader < 0)
    parts = [*groups, f"brokers {up} of {len(view.brokers)}"]
    if leaderless:
        parts.append(f"partitions without a leader: {leaderless}")
    if view.faults:
        parts.append("faults: " + ", ".join(fault.text for fault in view.faults.values()))
    return " | ".join(parts)
