"""The console: what a person can do on the deck."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.command import CommandPalette

from cluster.commands import CommandError
from console import command_line as command_text
from console import flight_clock as clock
from console.control_commands import carry_out
from console.flight import ONLY_RECORDED
from console.presenters.fault_menu import faults_of
from console.presenters.formatting import speed as speed_words
from console.presenters.impact import BROKER_SESSION_US, preview
from console.presenters.styled_text import Line
from console.screens.flight_screen import FlightScreen
from console.screens.overlays import Chosen, FaultMenu, HelpScreen, Overlay
from console.time_input import At
from console.travel import Travel
from console.widgets.command_line import CommandLine, Complaint, Helper
from console.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.command import Provider

NOT_HELD = 1  # a bug of ours ended the flight: as `flightdeck run` says it


def _palette_provider() -> "type[Provider]":
    from console.palette import ThingsProvider  # noqa: PLC0415 - not needed before the palette is opened

    return ThingsProvider


class FlightdeckApp(Travel):
    """Flies a scenario (a name of the library or a file) and shows it. `return_code` is 2 for bad input.

    `until_us`, `seed`: the scenario's own unless given; `settings`: (scope, key, value) for each `--set`; `record`: the
    recording's directory. `invariants`: whether what must always hold is looked at. `source`: where events come from
    instead of a simulation.
    """

    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_palette_provider}

    # --- time -------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Stop time, or let it go on."""
        self.say(self.flight.cannot_steer() or self.flight.pause_or_resume())

    def action_step(self) -> None:
        """One turn."""
        self.say(self.flight.cannot_steer() or self.flight.source.step(None))

    def action_slower(self) -> None:
        """The next lower speed."""
        self._speed(clock.slower(self.flight.clock.speed, self._speeds()))

    def action_faster(self) -> None:
        """The next higher speed."""
        self._speed(clock.faster(self.flight.clock.speed, self._speeds()))

    def _speeds(self) -> Sequence[float]:
        return clock.SPEEDS if self.flight.past is None else clock.PLAYBACK_SPEEDS

    def action_go_to_time(self) -> None:
        """Type an instant."""
        if self.flight.past is None:
            self.say(ONLY_RECORDED)
        else:
            self.open_line(":", "go ")

    def _speed(self, factor: float) -> None:
        trouble = self.flight.cannot_steer() or self.flight.source.set_speed(factor)
        if trouble:
            self.say(f"{trouble}: the speed stays {speed_words(self.flight.clock.speed)}")
        else:  # a second key press before the next frame counts from here
            self.flight.clock = self.flight.clock._replace(speed=factor)

    # --- acting -----------------------------------------------------------------------------------------------------

    def action_fault(self) -> None:
        """Open the fault menu of what is selected."""
        thing = self.selected_thing()
        if thing is None:
            self.say("nothing is selected that can be injured")
            return
        faults = faults_of(self.flight.view, self.flight.names(), thing)
        why_not = self.flight.cannot_injure()
        if why_not is not None:
            faults = [fault._replace(reason=why_not) for fault in faults]
        self.push_screen(FaultMenu(thing, faults), self._on_fault)

    def _on_fault(self, chosen: Chosen | None) -> None:
        if chosen is not None:
            if chosen.edit:
                self.open_line(":", str(chosen))
            else:
                self.give(str(chosen))

    def action_stall(self) -> None:
        """Hold up the selected member's poll loop."""
        self._on_member("stall {} for 1m")

    def action_silence(self) -> None:
        """Hold up the selected member's heartbeat thread."""
        self._on_member("pause heartbeats of {} for 1m")

    def _on_member(self, text: str) -> None:
        thing = self.selected_thing()
        if thing is None or thing.kind != "member":
            self.say("select a member first")
        else:
            self.give(text.format(thing.name))

    def give(self, text: str) -> bool:
        """Carry out a line as if it had been typed; complaints become notices. Whether it was understood."""
        try:
            self._carry_out(command_text.read(text, self.flight.names()))
        except CommandError as error:
            self.say(str(error))
            return False
        return True

    def _carry_out(self, command: object) -> None:
        match command:
            case command_text.Go(place):
                self.go(place)
            case At():
                self.travel(command)
            case _:
                self.say(carry_out(self.flight, command))

    # --- the line at the bottom -------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While somebody types, the keys that open the line are letters like others."""
        if action in {"command_line", "filter"} and self.screen_stack:
            command_line = self.line()
            return command_line is not None and not command_line.is_open
        return super().check_action(action, parameters)

    def action_command_line(self) -> None:
        """Type a command."""
        self.open_line(":")

    def action_filter(self) -> None:
        """Type what the rows of the list should hold."""
        panel = self.focused_panel()
        if panel is None:
            self.say("there is no list here")
        else:
            self.open_line("/", panel.pattern)

    def line(self) -> CommandLine | None:
        """The line at the bottom of what is shown, whether open or not."""
        return self.screen.query_one(CommandLine) if isinstance(self.screen, FlightScreen | Overlay) else None

    def open_line(self, prompt: str, text: str = "") -> None:
        """Open the line at the bottom."""
        command_line = self.line()
        if command_line is None or command_line.is_open:
            return
        names = self.flight.names()
        helper = Helper(
            lambda typed: command_text.completions(typed, names),
            command_text.usage_of,
            command_text.completed,
            self._foretell,
        )
        command_line.open(prompt, text, helper if prompt == ":" else None)

    def _foretell(self, typed: str) -> Line:
        """What a command that is typed would hit if it were given now; nothing in a recording."""
        flight = self.flight
        if flight.cannot_injure() is not None:
            return ()
        session_us = flight.source.broker_session_us or BROKER_SESSION_US
        return preview(flight.view, flight.names(), flight.now_us, typed, session_us)

    def on_command_line_entered(self, message: CommandLine.Entered) -> None:
        """Carry it out, or say what is wrong with it."""
        command_line, text = message.line, message.text
        if command_line.prompt != ":" or not text.strip():
            command_line.close()
            return
        try:
            command = command_text.read(text, self.flight.names())
        except CommandError as error:
            suggestion = f" (did you mean {error.suggestion}?)" if error.suggestion else ""
            command_line.complain(Complaint(f"{error.message}{suggestion}", error.column))
            return
        command_line.remember(text)
        command_line.close()
        self._carry_out(command)

    def on_command_line_changed(self, message: CommandLine.Changed) -> None:
        """A filter works while it is typed."""
        self._filter(message.line, message.text)

    def on_command_line_cancelled(self, message: CommandLine.Cancelled) -> None:
        """Leave it as it was before."""
        self._filter(message.line, "")
        message.line.close()

    def _filter(self, command_line: CommandLine, pattern: str) -> None:
        if command_line.prompt == "/" and isinstance(command_line.before, Panel):
            command_line.before.filter(pattern)

    # --- the console itself -----------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """All keys and commands."""
        self.push_screen(HelpScreen())

    def action_palette(self) -> None:
        """Find anything by its name."""
        self.push_screen(CommandPalette(id="--command-palette"))

    def action_leave(self) -> None:
        """Leave; a recording that is still being made asks once."""
        recording = self.flight.source.recording
        if recording and not self._asked_to_leave:
            self._asked_to_leave = True
            self.notify(f"still recording to {recording}; q again ends the flight here", severity="warning", timeout=6)
            return
        trouble = self.flight.source.trouble
        self.exit(return_code=NOT_HELD if trouble else 0, message=trouble or None)
