"""The flight in lines, for terminals without screens and for screen readers: `flightdeck --plain`.

It prints one line for each virtual second, one for each mark of the flight strip, and the result of each typed line.
The commands are those of the console's `:` line.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable, Sequence

from cluster.commands import CommandError
from cluster.view.document import group_lag
from cluster.view.state import ClusterView
from console.bridge import Bridge
from console.cli.errors import HELD, NOT_HELD, UsageError
from console.cli.streams import json_of
from console.command_line import read
from console.control_commands import execute
from console.flight import INVARIANT_BROKEN, SIMULATION_FAILED, Flight
from console.flight_clock import BUILDING, ENDED, FAILED
from console.operating.tool_question import ToolOrder, ToolQuestion, answer, output_of, why_refused
from console.presenters.event_log import merged_entries
from console.presenters.exceptions.headline import Headline, in_force
from console.presenters.formatting import SECOND_US, clock, count
from console.presenters.rebalance_causes import epoch_or_generation
from console.presenters.rebalance_phase import members_words
from console.shutdown import ShutdownGuard

FRAME_SECONDS = 0.1
DRAIN_SECONDS = 0.5
QUIT = ("q", "quit", "exit")


def fly_in_lines(source: Bridge, print_line: Callable[[str], object], typed: int | None = None) -> int:
    """Fly to the end, a signal, or `q`; returns the exit code. `typed` is the open file of typed lines.

    Raises UsageError for bad input.
    """
    lines = Lines(Flight(source), print_line)
    guard = ShutdownGuard(lines.quit, lambda: _stop(source))
    guard.install()
    try:
        return lines.fly(typed)
    finally:
        source.stop()
        guard.uninstall()


def _stop(source: Bridge) -> bool:
    source.stop()
    return source.stopped


class Lines:
    """Prints a flight line by line."""

    def __init__(self, flight: Flight, print_line: Callable[[str], object]) -> None:
        self.flight, self.print_line = flight, print_line
        self._quit_requested = False
        self._second = -1
        self._moments = 0
        self._typed: deque[str] = deque()
        self._partial_line = ""
        self._woken = threading.Event()

    def quit(self) -> None:
        """End with the next frame."""
        self._quit_requested = True

    def fly(self, typed: int | None) -> int:
        """Fly to the end; returns the exit code."""
        source = self.flight.source
        source.start(self._woken.set)
        self.print_line("type a command per line (speed 20, pause, kill billing-2); q quits")
        while not self._quit_requested:
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
        while self.flight.source.failure and not self.flight.source.stopped and not self._quit_requested:
            self._woken.wait(FRAME_SECONDS)  # the bridge is still recording the violation
        failure = self.flight.source.failure
        if failure:
            self.print_line(
                failure
                if failure.startswith((INVARIANT_BROKEN, SIMULATION_FAILED))
                else f"{SIMULATION_FAILED}: {failure}"
            )
            self.print_line("the last events:")
            for event in self.flight.source.last_events:
                self.print_line(json_of(event))
            return NOT_HELD
        ended = self.flight.clock.phase == ENDED
        self.print_line(f"{clock(self.flight.now_us, 3)}  {'the flight has ended' if ended else 'quit'}")
        return HELD

    def _listen(self, typed: int) -> bool:
        """Read the typed lines; False at the end of the file. A reading thread would delay the exit instead."""
        while select.select([typed], [], [], 0)[0]:
            read = os.read(typed, 4_096)
            if not read:
                return False
            *lines, self._partial_line = (self._partial_line + read.decode(errors="replace")).split("\n")
            self._typed.extend(line.strip() for line in lines)
        return True

    # --- output -----------------------------------------------------------------------------------------------------

    def frame(self) -> None:
        """Execute typed lines; print new log entries, refused commands, and the state at each new second."""
        while self._typed and self.flight.clock.phase != BUILDING:
            self.execute_line(self._typed.popleft())
        view = self.flight.view
        for noted in merged_entries(view.log_entries[self._moments :]):
            self.print_line(f"{clock(noted.at_us, 3)}  {noted.kind}: {noted.text}")
        self._moments = len(view.log_entries)
        for refused in self.flight.refused_commands.take_all():
            self.print_line(f"refused: {refused}")
        second = self.flight.now_us // SECOND_US
        if view.brokers and second != self._second:
            self._second = second
            source = self.flight.source
            held = in_force(view, self.flight.now_us, source.broker_session_us, source.producer_configs)
            self.print_line(f"{clock(second * SECOND_US, 0)}  {state_words(view, held)}")

    def execute_line(self, text: str) -> None:
        """Execute a typed line, as on the console's command line."""
        if text in QUIT:
            self.quit()
            return
        if not text:
            return
        if text.split(maxsplit=1)[0] == "go":
            self.print_line(f"{text}: there are no places without screens")
            return
        try:
            command = read(text, self.flight.names())
        except CommandError as error:
            near = f" (did you mean {error.suggestion}?)" if error.suggestion else ""
            self.print_line(f"{text}: {error.message}{near}")
            return
        if isinstance(command, ToolQuestion):
            self._print_answer(command)
            return
        refused = why_refused(self.flight.view, command) if isinstance(command, ToolOrder) else ""
        output = output_of(self.flight.view, command) if isinstance(command, ToolOrder) and not refused else None
        refusal = refused or execute(self.flight, command)
        self.print_line(f"{text}: {refusal or 'done'}")
        if output is not None and not refusal:
            self._print(output.streams)

    def _print_answer(self, question: ToolQuestion) -> None:
        """Print what a tool of Kafka's prints."""
        try:
            printed = answer(self.flight, question).streams
        except CommandError as error:
            printed = f"{question.text}: {error.message}"
        self._print(printed)

    def _print(self, text: str) -> None:
        for one in text.strip("\n").split("\n"):
            self.print_line(one)


def state_words(view: ClusterView, held: Sequence[Headline]) -> str:
    """The state of the cluster in one line: groups, brokers, everything that is wrong, worst first, and each fault."""
    groups = [
        f"{group.group} {group.state}, {members_words(len(group.members))}, {epoch_or_generation(group)},"
        f" lag {count(group_lag(view, group))}"
        for group in view.groups.values()
    ]
    up = sum(1 for broker in view.brokers.values() if broker.up and not broker.paused)
    parts = [*groups, f"brokers {up} of {len(view.brokers)}", *(one.forms[0] for one in held)]
    if len(view.faults) > 1:  # one alone is among what is wrong
        parts.append("faults: " + ", ".join(fault.text for fault in view.faults.values()))
    return " | ".join(parts)
