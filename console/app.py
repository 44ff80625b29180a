"""The console: the Textual application around one flight."""

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

from console.actions import ACTIONS, bindings, default_keys, possible_shortcuts
from console.bridge import Bridge, Watch
from console.flight import ONLY_RECORDED, Flight, Source
from console.flight_clock import PLAYBACK_SPEEDS, SPEEDS, next_speed
from console.forking.flights_beside import Forking
from console.live_flight import FlightRequest, Setting
from console.navigation.links import link_at, objects_of
from console.navigation.places import OVERVIEW, Places
from console.operating.footer import footer
from console.operating.key_question import KeyQuestion
from console.operating.line_commands import LineCommands
from console.operating.notices import Notice, Notices
from console.presenters.chrome import instant_under, mark_under
from console.presenters.fault_menu import CommandTarget, fault_menu_entries
from console.presenters.formatting import speed as speed_words
from console.presenters.help import place_help
from console.presenters.styled_text import Line, PlaceLink
from console.screens.catalogue import SCREENS
from console.screens.comparison import ComparisonScreen
from console.screens.flight_screen import FlightScreen
from console.screens.game import GameScreen
from console.screens.links import LinksScreen
from console.screens.overlays import ChosenCommand, FailureScreen, FaultMenu, HelpScreen, Overlay, open_placement
from console.screens.why import open_why
from console.settings import Keymap, SettingsFile, read_keymap, shown_key
from console.shutdown import ShutdownGuard
from console.terminal_output import (
    adapt,
    hear_input,
    remapped_keys,
    size_of_terminal,
    terminal_attributes,
)
from console.themes.styles import Styles
from console.themes.theming import Theming
from console.time_input import Instant
from console.travel.live_travel import watched, with_past
from console.visible import visible
from console.widgets.command_input import PromptLine
from console.widgets.panel import Panel
from recordings.flights import interruption

if TYPE_CHECKING:
    from textual.command import Provider

FRAME_SECONDS = 0.1
TICKS_PER_FRAME = 2  # a frame folds its events in so many parts, so that a key waits for one part only
UNFOCUSED_FRAMES = 3  # without the terminal's focus only every third frame is drawn
DRAIN_SECONDS = 0.020
BEGIN_SECONDS = 1.0  # the flight begins by then, painted or not: on some terminals Textual lays out for ever
IMMEDIATE_SECONDS = 0.003  # of folding before a draw that the user waits for
NOTICES_IN_HELP = 3
BAD_INPUT = 2
NOT_HELD = 1  # the flight failed: the exit code of `flightdeck run`


def _palette_provider() -> "type[Provider]":
    from console.screens.palette import ConsoleProvider  # noqa: PLC0415 - not needed before the palette is opened

    return ConsoleProvider


class FlightdeckApp(App[None]):
    """Flies a scenario (a name of the library or a file) and shows it. `return_code` is 2 for bad input.

    `until_us`, `seed`: default to the scenario's own; `settings`: (scope, key, value) for each `--set`; `record`: the
    recording's directory. `invariants`: whether invariants are checked. `source`: delivers the events instead of a
    live simulation. `directory`: the library screen's directory of recordings.
    """

    CSS_PATH = "console.tcss"
    TITLE = "Flightdeck"
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    NOTIFICATION_TIMEOUT = 5
    COMMANDS: ClassVar[set["type[Provider] | Callable[[], type[Provider]]"]] = {_palette_provider}

    flight_watch: Watch | None = None
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
        adapt(self)
        self.console.size = size_of_terminal()
        self.settings_file = SettingsFile()
        self.theming = Theming(self, lambda: self.settings_file)
        self.keymap = Keymap({})
        request = FlightRequest(scenario, seed, until_us, settings, record, invariants)
        self.invariants = invariants  # also of the flights that the library starts
        self.flight = Flight(with_past(source or Bridge.of(request, speed)))
        self._ticks = self._frames = 0
        self._begun = self._failure_shown = False
        self.places = Places(self)
        self._drawing = False
        self._shutdown_guard: ShutdownGuard | None = None
        self.caption = ""  # the text that a playback script shows
        self.forking = Forking()
        self.notices = Notices()
        self.line_commands = LineCommands(self)
        self._asked: tuple[Flight, str] | None = None  # the flight and the way out of it that were asked about

    def remember_in(self, settings_file: SettingsFile) -> None:
        """Use the settings of a file and keep them there, and the keymap beside it."""
        self.settings_file = settings_file
        self.theming.recall()
        self.keymap = read_keymap(settings_file.directory, default_keys())

    # --- start and end ----------------------------------------------------------------------------------------------

    def get_default_screen(self) -> Screen[None]:
        """The first of the screens: the overview."""
        return OVERVIEW()

    def on_mount(self) -> None:
        """Paint first, then build the simulation."""
        loop = asyncio.get_running_loop()

        def leave() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.exit)

        self._shutdown_guard = ShutdownGuard(leave, self._stop_flight)
        self._shutdown_guard.remember_terminal(terminal_attributes(self))
        self._shutdown_guard.install()
        if interruption.was_asked():
            leave()

        def give_way() -> None:
            self.flight.source.give_way()

        hear_input(self, give_way)
        self.set_keymap(self.keymap.keys)
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
        for notice in (self.settings_file.notice, self.keymap.notice):
            if notice:
                self.notify(notice, severity="warning", timeout=12)
        self.set_interval(FRAME_SECONDS / TICKS_PER_FRAME, self._tick)

    def begin(self) -> None:
        """Start the source of the flight."""
        gc.freeze()  # modules and styles live on: a collection of them would take a frame or two
        loop = asyncio.get_running_loop()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.draw)

        watched(self.flight.source, self.flight_watch).start(wake)

    def on_unmount(self) -> None:
        """End the simulation's thread, and a fork, with the console."""
        self.flight.source.stop()
        self.forking.close()
        if self._shutdown_guard is not None:
            self._shutdown_guard.uninstall()

    # --- frames -----------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._ticks += 1
        self.flight.advance(DRAIN_SECONDS / TICKS_PER_FRAME)
        if self._ticks % (TICKS_PER_FRAME if self.app_focus else TICKS_PER_FRAME * UNFOCUSED_FRAMES) == 0:
            self.paint_frame()

    def draw(self) -> None:
        """Fold queued events and paint, without waiting for the next frame."""
        if self.is_running and not self._drawing:
            self._drawing = True
            try:
                self.flight.advance(IMMEDIATE_SECONDS)
                self.paint()
            finally:
                self._drawing = False

    def paint(self) -> None:
        """Paint the screen on top, and the screen below an overlay."""
        self._paint([screen.paint for screen in self.places.shown()])

    def paint_frame(self) -> None:
        """Paint what this frame has its turn with."""
        turns = self.places.turns()
        self._frames += 1
        self._paint([turns[self._frames % len(turns)]] if turns else [])

    def _paint(self, paints: Sequence[Callable[[], None]]) -> None:
        self._show_notices()
        self._show_comparison()
        for paint in paints:
            paint()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a notice in the place of the footer, with control characters spelled out."""
        del markup
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.notices.add(Notice(visible(f"{title}: {message}" if title else message), severity, seconds))
        self.call_later(self.paint)

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End the console; the message after it has control characters spelled out."""
        super().exit(result, return_code, visible(message) if isinstance(message, str) else message)

    def _show_notices(self) -> None:
        source = self.flight.source
        if source.input_error:
            self.exit(return_code=BAD_INPUT, message=source.input_error)
            return
        if (after := source.successor()) is not None and not self.line_commands.is_typed():
            self._fly(after)
            self.call_later(self.go, GameScreen.place)
        if source.notice:
            notice, source.notice = source.notice, ""
            self.notify(notice)
        warning, source.warning = source.warning, ""
        for text in filter(None, (warning, *self.flight.refused_commands.take_all())):
            self.notify(text, severity="warning")
        if source.failure and not self._failure_shown:
            self._failure_shown = True
            self.push_screen(FailureScreen(source))

    def _show_comparison(self) -> None:
        """Show what a fork has come to; where an overlay or a typed line would be lost, say that it is there."""
        ended, screen = self.forking.poll(), self.flight_screen()
        if ended is None:
            return
        beside, line = self.forking.beside, self.input_line()
        if ended.failed or beside is None:
            self.warn(ended.failed)
        elif isinstance(screen, ComparisonScreen):
            screen.show(beside)
        elif line is None or line.is_open or screen is not self.screen:
            self.notify("the fork is complete: go comparison", timeout=6)
        else:
            self.call_later(self.go, ComparisonScreen.place)

    # --- themes -----------------------------------------------------------------------------------------------------

    @property
    def tone_styles(self) -> Styles:
        """The styles of tones in the current theme."""
        return self.theming.styles

    def action_next_theme(self) -> None:
        """Switch to the next theme: dark, light, high contrast, monochrome, the terminal's own."""
        self.theming.next()

    # --- places -----------------------------------------------------------------------------------------------------

    def focused_panel(self) -> Panel | None:
        """The panel with the focus; below the palette, the one that had it."""
        below = (screen for screen in reversed(self.screen_stack) if not isinstance(screen, CommandPalette))
        screen = next(below, None)
        return screen.focused if screen is not None and isinstance(screen.focused, Panel) else None

    def flight_screen(self) -> FlightScreen | None:
        """The screen that is shown, below any overlay."""
        return self.places.screen()

    def selected_target(self) -> CommandTarget | None:
        """The object that the fault menu would be about; None without one."""
        screen = self.flight_screen()
        return screen.selected_target() if screen is not None and screen.is_attached else None

    def why_no_remedies(self) -> str | None:
        """Why the place shows no rebalance to find remedies for; None if it does."""
        screen = self.flight_screen()
        return "no flight to show" if screen is None else screen.why_no_remedies()

    def place(self) -> str:
        """The place that is shown, as `go` names it."""
        return self.places.here()

    def go(self, place: str) -> None:
        """Show a screen, a group, or a member in its group."""
        self.places.go(place)

    def link_at(self, of: Line, x: int) -> PlaceLink | None:
        """Where a cell of a drawn line leads; None if it leads nowhere."""
        return link_at(of, x, objects_of(self.flight.view))

    def follow(self, link: PlaceLink) -> None:
        """Go where a link leads."""
        self.warn(self.places.follow(link))
        self.call_later(self.draw)

    def action_open_screen(self, place: str) -> None:
        """Show a screen of the table, unless it is shown."""
        screen = next(screen for screen in SCREENS if screen.place == place)
        if not isinstance(self.flight_screen(), screen):
            self.places.show(screen.for_place(place, self))

    def action_visited(self, by: int) -> None:
        """Go back (-1) or forward (1) in the history, or to the place before this and back again (0)."""
        self.warn(self.places.move(by))

    def action_links(self) -> None:
        """List the names and instants on the screen."""
        screen = self.flight_screen()
        if screen is not None:
            self.push_screen(LinksScreen(screen))

    def action_go_back(self) -> None:
        """Restore a maximized panel, clear the filter, or go up one screen."""
        panel = self.focused_panel()
        screen = self.flight_screen()
        if screen is not None and screen.board.maximized:
            screen.action_maximize()
        elif panel is not None and panel.pattern:
            panel.filter("")
        else:
            self.places.up()

    # --- flights ----------------------------------------------------------------------------------------------------

    def start_scenario(self, scenario: str) -> str:
        """End this flight and fly a scenario live. Returns why not: the question before a recording ends."""
        question = self._ask_before_leaving("enter", f"scenario {scenario}")
        if not question:
            self._fly(Bridge(scenario, invariants=self.invariants))
        return question

    def play_recording(self, path: Path, key: str = "enter") -> str:
        """End this flight and play a recording. Returns why not: it cannot be opened, or a recording would end."""
        from console.player import Player  # noqa: PLC0415 - a live flight needs no reader
        from recordings.bounded_files import RecordingError  # noqa: PLC0415

        try:
            player = Player(path)
        except RecordingError as error:
            return str(error)
        question = self._ask_before_leaving(key, f"recording {path}")
        if not question:
            self._fly(player)
        return question

    def _ask_before_leaving(self, key: str, goal: str) -> str:
        """The question before a key ends a flight that is being recorded; none when it was asked before."""
        recording, asking = self.flight.source.recording, (self.flight, f"{key} {goal}")
        if not recording or self._asked == asking:
            return ""
        self._asked = asking
        return f"still recording to {recording}; {key} again ends the flight here"

    def _fly(self, source: Source) -> None:
        self.flight.source.stop()
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.flight, self.caption = Flight(with_past(source)), ""
        self._failure_shown = False
        self.places.forget()
        self.begin()

    def undo(self) -> str:
        """Go on with the live flight from before its last command, at the same place. Returns why not."""
        source, words = self.flight.source.undone()
        if source is None:
            return words
        place = self.place()
        self._fly(source)
        self.go(place)
        self.notify(f"undone: {words}", timeout=4)
        return ""

    def action_undo(self) -> None:
        """Undo the last command."""
        self.warn(self.undo())

    # --- time -------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause or resume virtual time."""
        self.warn(self.flight.why_not_controllable() or self.flight.pause_or_resume())

    def action_step(self) -> None:
        """Advance by one turn."""
        self.warn(self.flight.why_not_controllable() or self.flight.source.step(None))

    def action_speed(self, by: int) -> None:
        """Set the next lower (-1) or higher (1) speed, or play a recording the other way (0), also a paused one."""
        clock = self.flight.clock
        done = self._set_speed(next_speed(clock.speed, by, PLAYBACK_SPEEDS if clock.recorded else SPEEDS))
        if done and not by and clock.phase == "paused":
            self.warn(self.flight.source.pause(False))

    def action_go_to_time(self) -> None:
        """Open the command line for an instant."""
        if self.flight.seekable is None:
            self.warn(ONLY_RECORDED)
        else:
            self.open_line(":", "go ")

    def _set_speed(self, factor: float) -> bool:
        backwards = factor < 0 and self.flight.seekable is not None  # of a flight that has ended, too
        why_not = None if backwards else self.flight.why_not_controllable()
        refusal = why_not or self.flight.source.set_speed(factor)
        if refusal:
            self.warn(f"{refusal}: the speed stays {speed_words(self.flight.clock.speed)}")
        else:  # a second key press before the next frame counts from here
            self.flight.clock = self.flight.clock._replace(speed=factor)
        return not refusal

    def warn(self, message: str | None) -> None:
        """Show a short warning; nothing for an empty message."""
        if message:
            self.notify(message, severity="warning", timeout=4)

    def action_events(self, by: int) -> None:
        """Move by `by` events; the presses of a held key add up to one seek."""
        seekable = self.flight.seekable
        self.warn(ONLY_RECORDED if seekable is None else seekable.move(by))
        self.call_later(self.draw)

    def action_landmark(self, by: int) -> None:
        """Seek to the next (1) or previous (-1) rebalance or fault."""
        seekable = self.flight.seekable
        self.warn(ONLY_RECORDED if seekable is None else seekable.landmark(by))
        self.call_later(self.draw)

    def action_skip_quiet(self) -> None:
        """Play only what is near a rebalance or fault, or everything again."""
        seekable = self.flight.seekable
        self.warn(ONLY_RECORDED if seekable is None else seekable.skip_quiet())

    def seek(self, instant: Instant) -> None:
        """Seek to an instant of the flight."""
        seekable = self.flight.seekable
        self.warn(ONLY_RECORDED if seekable is None else seekable.seek(instant.from_cursor(self.flight.now_us)))
        self.call_later(self.draw)

    def scrub(self, x: int, width: int, *, first: bool) -> None:
        """Seek to the mark or instant of the flight strip at a column; `first` for the press of the mouse button."""
        seekable, clock = self.flight.seekable, self.flight.clock
        if seekable is not None:
            mark_us = mark_under(x, self.flight.view, clock, width, seekable.landmarks) if first else None
            seekable.seek(instant_under(x, clock, width) if mark_us is None else mark_us)
            self.call_later(self.draw)
        elif first:
            self.warn(ONLY_RECORDED)

    # --- faults and commands ----------------------------------------------------------------------------------------

    def action_fault(self) -> None:
        """Open the fault menu of the selected target."""
        target = self.selected_target()
        if target is None:
            self.warn("no fault applies to the selection")
            return
        faults = fault_menu_entries(self.flight.view, self.flight.names(), target)
        forks = self.flight.why_read_only() is not None
        self.push_screen(FaultMenu(target, faults, forks=forks), self._on_fault)

    def _on_fault(self, chosen: ChosenCommand | None) -> None:
        if chosen is not None:
            if chosen.edit:
                self.open_line(":", str(chosen))
            else:
                self.execute_line(str(chosen))

    def show_why(self, name: str) -> str:
        """Answer `why?` on a name, or on the selection without one. Returns the reason of a refusal."""
        return open_why(self.flight_screen(), name, self._on_fault)

    def show_key(self, question: KeyQuestion) -> str:
        """Show where a key goes. Returns the reason of a refusal."""
        return open_placement(self, self.flight, question)

    def action_why(self) -> None:
        """Answer `why?` on the selection."""
        self.warn(self.show_why(""))

    def execute_line(self, text: str) -> bool:
        """Execute a line as if it were typed; errors become warnings. True if the line could be parsed."""
        return self.line_commands.execute_line(text)

    # --- the input line ---------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the command line is open, the keys that open it are text."""
        if action in {"command_line", "filter", "go_to_time"} and self.screen_stack:
            command_line = self.input_line()
            return command_line is not None and not command_line.is_open
        return super().check_action(action, parameters)

    def action_command_line(self) -> None:
        """Open the command line."""
        self.open_line(":")

    def action_filter(self) -> None:
        """Open the filter of the focused list."""
        panel = self.focused_panel()
        if panel is None:
            self.warn("no list on this screen")
        else:
            self.open_line("/", panel.pattern)

    def input_line(self) -> PromptLine | None:
        """The input line of the screen on top, open or not; None if the screen has none."""
        return self.screen.query_one(PromptLine) if isinstance(self.screen, FlightScreen | Overlay) else None

    def open_line(self, prompt: str, text: str = "") -> None:
        """Open the input line with `text` in it."""
        self.line_commands.open(prompt, text)

    def on_prompt_line_entered(self, message: PromptLine.Entered) -> None:
        """Execute the line, or show its error."""
        self.line_commands.entered(message.line, message.text)

    def on_prompt_line_changed(self, message: PromptLine.Changed) -> None:
        """Filter the list while the pattern is typed."""
        message.line.filter_list(message.text)

    def on_prompt_line_cancelled(self, message: PromptLine.Cancelled) -> None:
        """Close the line and clear the filter."""
        message.line.filter_list("")
        message.line.close()

    # --- the console itself -----------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """Show the keys of this place."""
        screen, panel = self.flight_screen(), self.focused_panel()
        possible, impossible = possible_shortcuts(self)
        glossary = screen.glossary() if screen is not None else ()
        said = list(self.notices.said)[: -1 - NOTICES_IN_HELP : -1]
        title = " · ".join((*(screen.path() if screen is not None else ()), *((panel.id or "",) if panel else ())))
        self.push_screen(HelpScreen(title, lambda width: place_help(possible, impossible, glossary, said, width)))

    def action_palette(self) -> None:
        """Open the command palette."""
        if not isinstance(self.screen, CommandPalette):
            from console.screens.palette import ConsolePalette  # noqa: PLC0415 - not needed before it is opened

            self.push_screen(ConsolePalette())  # without an id: the one before may not be gone yet

    action_command_palette = action_palette  # Textual's own binding

    def action_leave(self) -> None:
        """Quit; while a recording is being written, the first press only warns."""
        question = self._ask_before_leaving("q", "")
        if question:
            self.notify(question, severity="warning", timeout=6)
            return
        failure = self.flight.source.failure
        self.exit(return_code=NOT_HELD if failure else 0, message=failure or None)

    # --- keys -------------------------------------------------------------------------------------------------------

    def footer(self, width: int, place: Sequence[str], enter: str) -> Line:
        """The footer's keys for a width in cells: the actions of a place, or of time and faults."""
        return footer(self, width, place, enter)

    def keys_by_action(self) -> dict[str, str]:
        """The key in force for each action's id."""
        mapped = {name: shown_key(keys.partition(",")[0]) for name, keys in remapped_keys(self).items()}
        return {action.id: mapped.get(action.id, action.shown) for action in ACTIONS}
