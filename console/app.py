"""The console: Textual's application around one flight."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.notifications import SeverityLevel
from textual.screen import Screen

from cluster.commands import CommandError
from console.actions import ACTIONS, bindings
from console.bridge import Bridge
from console.command_line import Go, completed, completions, read, usage_of
from console.control_commands import execute
from console.flight import ONLY_RECORDED, Flight, Source
from console.flight_clock import PLAYBACK_SPEEDS, SPEEDS, faster, slower
from console.live_flight import Setting
from console.presenters.chrome import instant_under
from console.presenters.fault_menu import CommandTarget, fault_menu_entries
from console.presenters.formatting import speed as speed_words
from console.presenters.impact import BROKER_SESSION_US, preview
from console.presenters.styled_text import Line
from console.screens.flight_screen import FlightScreen
from console.screens.group import GroupScreen
from console.screens.library import HangarScreen
from console.screens.overlays import Chosen, FailureScreen, FaultMenu, HelpScreen, Overlay
from console.screens.overview import OverviewScreen
from console.screens.transactions import TransactionsScreen
from console.shutdown import ShutdownGuard
from console.terminal_output import leaving, size_of_terminal
from console.themes import DARK, DESCRIPTIONS, MONO, THEMES, Styles, styles_of
from console.time_input import At
from console.visible import visible
from console.widgets.command_line import CommandLine, Complaint, Helper
from console.widgets.panel import Panel
from recordings.flights import interruption

if TYPE_CHECKING:
    from textual.command import Provider

FRAME_SECONDS = 0.1
BEATS = 2  # a frame's worth of folding is done in so many parts, so that a key waits for one of them only
UNFOCUSED_FRAMES = 3  # when the terminal has lost the focus, only every third frame is drawn
DRAIN_SECONDS = 0.020
BEGIN_SECONDS = 1.0  # by then the flight begins, painted or not: a terminal may have Textual lay out for ever
AT_ONCE_SECONDS = 0.003  # for folding before something is drawn that somebody waits for
BAD_INPUT = 2
NOT_HELD = 1  # a bug of ours ended the flight: as `flightdeck run` says it
TRANSACTIONS = "transactions"
LIBRARY = "hangar"


def _palette_provider() -> "type[Provider]":
    from console.screens.palette import ThingsProvider  # noqa: PLC0415 - not needed before the palette is opened

    return ThingsProvider


class FlightdeckApp(App[None]):
    """Flies a scenario (a name of the library or a file) and shows it. `return_code` is 2 for bad input.

    `until_us`, `seed`: the scenario's own unless given; `settings`: (scope, key, value) for each `--set`; `record`: the
    recording's directory. `invariants`: whether what must always hold is looked at. `source`: where events come from
    instead of a simulation. `directory`: where the library screen looks for recordings.
    """

    CSS_PATH = "console.tcss"
    TITLE = "Flightdeck"
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    NOTIFICATION_TIMEOUT = 5
    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_palette_provider}

    directory = Path()

    def __init__(
        self,
        scenario: str | Path = "first-flight",
        *,
        seed: int | None = None,
        until_us: int | None = None,
        settings: Sequence[Setting] = (),
        record: str | Path | None = None,
        speed: float = 1.0,
        invariants: bool = True,
        source: Source | None = None,
    ) -> None:
        super().__init__()
        self.console.size = size_of_terminal()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = MONO if self.no_color else DARK
        self.flight = Flight(
            source
            or Bridge(
                scenario,
                seed=seed,
                until_us=until_us,
                settings=settings,
                record=record,
                speed=speed,
                invariants=invariants,
            )
        )
        self.invariants = invariants  # for whatever is flown next, too
        self._beats = 0
        self._begun = False
        self._asked_to_leave = False
        self._told_failure = False
        self._last_place = "overview"
        self._drawing = False
        self._shutdown_guard: ShutdownGuard | None = None
        self.caption = ""  # what a script says about what is shown

    # --- life -------------------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[None]:
        """The overview."""
        return OverviewScreen()

    def on_mount(self) -> None:
        """Paint first; build the simulation after that."""
        loop = asyncio.get_running_loop()

        def leave() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.exit)

        self._shutdown_guard = ShutdownGuard(leave, self._stop_flight)
        self._shutdown_guard.remember_terminal(getattr(self._driver, "attrs_before", None))
        self._shutdown_guard.install()
        if interruption.was_asked():
            leave()
        self.call_after_refresh(self._begin_flight)
        self.set_timer(BEGIN_SECONDS, self._begin_flight)

    def _stop_flight(self) -> bool:
        source = self.flight.source
        source.stop()
        return source.stopped

    def _begin_flight(self) -> None:
        if self._begun:
            return
        self._begun = True
        self.begin()
        self.set_interval(FRAME_SECONDS / BEATS, self._tick)

    def begin(self) -> None:
        """Let the source of the flight begin."""
        gc.freeze()  # modules and styles stay: a collection that walked them would cost a frame or two
        loop = asyncio.get_running_loop()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.draw)

        self.flight.source.start(wake)

    def on_unmount(self) -> None:
        """The simulation's thread ends with the console."""
        self.flight.source.stop()
        if self._shutdown_guard is not None:
            self._shutdown_guard.uninstall()

    # --- frames -----------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._beats += 1
        self.flight.advance(DRAIN_SECONDS / BEATS)
        if self._beats % (BEATS if self.app_focus else BEATS * UNFOCUSED_FRAMES) == 0:
            self.paint()

    def draw(self) -> None:
        """Bring the flight up to date and paint it, without waiting for the next frame."""
        if self.is_running and not self._drawing:
            self._drawing = True
            try:
                self.flight.advance(AT_ONCE_SECONDS)
                self.paint()
            finally:
                self._drawing = False

    def paint(self) -> None:
        """Paint the screen on top, and the one that shows through if something lies over it."""
        self._show_notices()
        for screen in reversed(self.screen_stack):
            if isinstance(screen, FlightScreen | Overlay):
                screen.paint()
            if isinstance(screen, FlightScreen):
                break

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Write what Textual drew, but no more of it than has changed (see `console.terminal_output`)."""
        super()._display(screen, leaving(renderable))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Say something in a corner, with control characters spelled out."""
        super().notify(visible(message), title=visible(title), severity=severity, timeout=timeout, markup=markup)

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave; what is said after that has its control characters spelled out."""
        super().exit(result, return_code, visible(message) if isinstance(message, str) else message)

    def _show_notices(self) -> None:
        source = self.flight.source
        if source.input_error:
            self.exit(return_code=BAD_INPUT, message=source.input_error)
            return
        if source.notice:
            notice, source.notice = source.notice, ""
            self.notify(notice)
        for text in self.flight.refused_commands.take_all():
            self.notify(text, severity="warning")
        if source.failure and not self._told_failure:
            self._told_failure = True
            self.push_screen(FailureScreen(source))

    # --- themes -----------------------------------------------------------------------------------------------------

    @property
    def tone_styles(self) -> Styles:
        """What tones look like in the theme in force."""
        return styles_of(self.theme, self.theme_variables, self.get_line_filters())

    def action_next_theme(self) -> None:
        """Dark, light, high contrast, monochrome, and again."""
        names = list(DESCRIPTIONS)
        place = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(place + 1) % len(names)]
        self.notify(f"theme: {DESCRIPTIONS[self.theme]}", timeout=2)

    # --- places -----------------------------------------------------------------------------------------------------

    def focused_panel(self) -> Panel | None:
        """The panel that has the focus."""
        focused = self.screen.focused if self.screen_stack else None
        return focused if isinstance(focused, Panel) else None

    def flight_screen(self) -> FlightScreen | None:
        """The place that is shown, even if something lies over it."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, FlightScreen)), None)

    def selected_thing(self) -> CommandTarget | None:
        """What the fault menu would be about."""
        screen = self.flight_screen()
        return screen.thing() if screen is not None and screen.is_attached else None

    def place(self) -> str:
        """Where we are, as `go` names it."""
        screen = self.flight_screen()
        if isinstance(screen, HangarScreen):
            return LIBRARY
        if isinstance(screen, TransactionsScreen):
            return TRANSACTIONS
        return screen.group if isinstance(screen, GroupScreen) else "overview"

    def go(self, place: str) -> None:
        """Show the overview, the library, the transactions, a group, or a member in its group."""
        here = self.place()
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self._last_place = here
        member = self.flight.view.members.get(place)
        if member is not None:
            self.push_screen(GroupScreen(member.group, place))
        elif place in self.flight.names().groups:
            self.push_screen(GroupScreen(place))
        elif place == TRANSACTIONS:
            self.push_screen(TransactionsScreen())
        elif place == LIBRARY:
            self.push_screen(HangarScreen(self.directory))

    def action_transactions(self) -> None:
        """Transactional ids."""
        if self.place() != TRANSACTIONS:
            self.go(TRANSACTIONS)

    def action_hangar(self) -> None:
        """Scenarios and recordings."""
        if self.place() != LIBRARY:
            self.go(LIBRARY)

    def action_last_place(self) -> None:
        """Where we were before."""
        self.go(self._last_place)

    def action_go_back(self) -> None:
        """Clear the filter, or one place up."""
        panel = self.focused_panel()
        screen = self.flight_screen()
        if screen is not None and screen.board.maximized:
            self.action_maximize()
        elif panel is not None and panel.pattern:
            panel.filter("")
        elif len(self.screen_stack) > 1:
            self._last_place = self.place()
            self.pop_screen()

    def action_panel(self, number: int) -> None:
        """Focus a panel by its number."""
        screen = self.flight_screen()
        panels = [panel for panel in screen.board.panels.values() if panel.display] if screen is not None else []
        if number <= len(panels):
            if screen is not None and screen.board.maximized:
                self.action_maximize()
            panels[number - 1].focus()

    def action_next_panel(self) -> None:
        """The next panel."""
        self.screen.focus_next()

    def action_previous_panel(self) -> None:
        """The one before."""
        self.screen.focus_previous()

    def action_maximize(self) -> None:
        """The focused panel alone, or all of them again."""
        screen, panel = self.flight_screen(), self.focused_panel()
        if screen is not None and panel is not None:
            board = screen.board
            board.maximized = "" if board.maximized else panel.id or ""
            board.rearrange()
            self.call_after_refresh(screen.paint)

    # --- flights ------------------------------------------------------------------------------------------------------

    def start_scenario(self, scenario: str) -> None:
        """Leave this flight, and fly a scenario live."""
        self._fly(Bridge(scenario, invariants=self.invariants))

    def play_recording(self, path: Path) -> None:
        """Leave this flight, and play a recording; one that cannot be opened is said, and this flight stays."""
        from console.player import Player  # noqa: PLC0415 - a live flight needs no reader
        from recordings.bounded_files import RecordingError  # noqa: PLC0415

        try:
            player = Player(path)
        except RecordingError as error:
            self.say(str(error))
        else:
            self._fly(player)

    def _fly(self, source: Source) -> None:
        self.flight.source.stop()
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.flight = Flight(source)
        self._asked_to_leave = self._told_failure = False
        self._last_place = "overview"
        self.begin()

    # --- time -------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Stop time, or let it go on."""
        self.say(self.flight.why_not_controllable() or self.flight.pause_or_resume())

    def action_step(self) -> None:
        """One turn."""
        self.say(self.flight.why_not_controllable() or self.flight.source.step(None))

    def action_slower(self) -> None:
        """The next lower speed."""
        self._speed(slower(self.flight.clock.speed, self._speeds()))

    def action_faster(self) -> None:
        """The next higher speed."""
        self._speed(faster(self.flight.clock.speed, self._speeds()))

    def _speeds(self) -> Sequence[float]:
        return SPEEDS if self.flight.seekable is None else PLAYBACK_SPEEDS

    def action_go_to_time(self) -> None:
        """Type an instant."""
        if self.flight.seekable is None:
            self.say(ONLY_RECORDED)
        else:
            self.open_line(":", "go ")

    def _speed(self, factor: float) -> None:
        failure = self.flight.why_not_controllable() or self.flight.source.set_speed(factor)
        if failure:
            self.say(f"{failure}: the speed stays {speed_words(self.flight.clock.speed)}")
        else:  # a second key press before the next frame counts from here
            self.flight.clock = self.flight.clock._replace(speed=factor)

    def say(self, words: str | None) -> None:
        """Something in passing, if there is anything to be said."""
        if words:
            self.notify(words, severity="warning", timeout=4)

    def action_events(self, by: int) -> None:
        """So many recorded events further on, or back; keys that are held down add up to one jump."""
        seekable = self.flight.seekable
        self.say(ONLY_RECORDED if seekable is None else seekable.move(by))
        self.call_later(self.draw)

    def action_landmark(self, by: int) -> None:
        """The next rebalance or fault, or the previous one."""
        seekable = self.flight.seekable
        self.say(ONLY_RECORDED if seekable is None else seekable.landmark(by))
        self.call_later(self.draw)

    def travel(self, at: At) -> None:
        """Be at an instant of the recording."""
        seekable = self.flight.seekable
        self.say(ONLY_RECORDED if seekable is None else seekable.seek(at.seen_from(self.flight.now_us)))
        self.call_later(self.draw)

    def scrub(self, x: int, width: int, *, first: bool) -> None:
        """The mouse holds the flight strip at a column: be at the instant that is drawn there."""
        seekable = self.flight.seekable
        if seekable is not None:
            seekable.seek(instant_under(x, self.flight.clock, width))
            self.call_later(self.draw)
        elif first:
            self.say(ONLY_RECORDED)

    # --- acting -----------------------------------------------------------------------------------------------------

    def action_fault(self) -> None:
        """Open the fault menu of what is selected."""
        thing = self.selected_thing()
        if thing is None:
            self.say("nothing is selected that can be injured")
            return
        faults = fault_menu_entries(self.flight.view, self.flight.names(), thing)
        why_not = self.flight.why_read_only()
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
            self._execute(read(text, self.flight.names()))
        except CommandError as error:
            self.say(str(error))
            return False
        return True

    def _execute(self, command: object) -> None:
        match command:
            case Go(place):
                self.go(place)
            case At():
                self.travel(command)
            case _:
                self.say(execute(self.flight, command))

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
            lambda typed: completions(typed, names),
            usage_of,
            completed,
            self._foretell,
        )
        command_line.open(prompt, text, helper if prompt == ":" else None)

    def _foretell(self, typed: str) -> Line:
        """What a command that is typed would hit if it were given now; nothing in a recording."""
        flight = self.flight
        if flight.why_read_only() is not None:
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
            command = read(text, self.flight.names())
        except CommandError as error:
            suggestion = f" (did you mean {error.suggestion}?)" if error.suggestion else ""
            command_line.complain(Complaint(f"{error.message}{suggestion}", error.column))
            return
        command_line.remember(text)
        command_line.close()
        self._execute(command)

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
        failure = self.flight.source.failure
        self.exit(return_code=NOT_HELD if failure else 0, message=failure or None)

    # --- keys -------------------------------------------------------------------------------------------------------

    def keys_by_action(self) -> dict[str, str]:
        """What is pressed for each action's id."""
        remapped = {binding_id: keys for binding_id, keys in self._keymap.items() if keys}
        return {action.id: remapped.get(action.id, action.shown).partition(",")[0] for action in ACTIONS}
