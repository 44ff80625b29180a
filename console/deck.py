"""The deck: Textual's application around one flight, as far as showing it goes."""

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import BindingType
from textual.notifications import SeverityLevel
from textual.screen import Screen

from console.actions import ACTIONS, bindings
from console.bridge import Bridge
from console.flight import Flight, Source
from console.live_flight import Setting
from console.presenters.fault_menu import Thing
from console.screens.flight_screen import FlightScreen
from console.screens.group import GroupScreen
from console.screens.overlays import FailureScreen, Overlay
from console.screens.overview import OverviewScreen
from console.screens.transactions import TransactionsScreen
from console.shutdown import WayOut
from console.terminal_output import leaving, size_of_terminal
from console.themes import DARK, DESCRIPTIONS, MONO, THEMES, Styles, styles_of
from console.visible import visible
from console.widgets.panel import Panel
from recordings.flights import interruption

FRAME_SECONDS = 0.1
BEATS = 2  # a frame's worth of folding is done in so many parts, so that a key waits for one of them only
UNFOCUSED_FRAMES = 3  # when the terminal has lost the focus, only every third frame is drawn
DRAIN_SECONDS = 0.020
TAKE_OFF_SECONDS = 1.0  # by then the flight begins, painted or not: a terminal may have Textual lay out for ever
AT_ONCE_SECONDS = 0.003  # for folding before something is drawn that somebody waits for
BAD_INPUT = 2
TRANSACTIONS = "transactions"


class Deck(App[None]):
    """Starts and ends the flight, paints it ten times a second, and knows where on the deck we are."""

    CSS_PATH = "console.tcss"
    TITLE = "Flightdeck"
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    NOTIFICATION_TIMEOUT = 5

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
        self._took_off = False
        self._asked_to_leave = False
        self._told_failure = False
        self._last_place = "overview"
        self._drawing = False
        self._way_out: WayOut | None = None
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

        self._way_out = WayOut(leave, self._land)
        self._way_out.remember(getattr(self._driver, "attrs_before", None))
        self._way_out.guard()
        if interruption.was_asked():
            leave()
        self.call_after_refresh(self._take_off)
        self.set_timer(TAKE_OFF_SECONDS, self._take_off)

    def _land(self) -> bool:
        source = self.flight.source
        source.stop()
        return source.landed

    def _take_off(self) -> None:
        if self._took_off:
            return
        self._took_off = True
        self.begin()
        self.set_interval(FRAME_SECONDS / BEATS, self._beat)

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
        if self._way_out is not None:
            self._way_out.unguard()

    # --- frames -----------------------------------------------------------------------------------------------------

    def _beat(self) -> None:
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
        self._tell_news()
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

    def _tell_news(self) -> None:
        source = self.flight.source
        complaint = getattr(source, "complaint", "")
        if complaint:
            self.exit(return_code=BAD_INPUT, message=complaint)
            return
        notice = getattr(source, "notice", "")
        if notice:
            source.notice = ""  # type: ignore[attr-defined]
            self.notify(notice)
        for text in self.flight.traces.refusals():
            self.notify(text, severity="warning")
        if source.trouble and not self._told_failure:
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

    def selected_thing(self) -> Thing | None:
        """What the fault menu would be about."""
        screen = self.flight_screen()
        return screen.thing() if screen is not None and screen.is_attached else None

    def place(self) -> str:
        """Where we are, as `go` names it."""
        screen = self.flight_screen()
        if isinstance(screen, TransactionsScreen):
            return TRANSACTIONS
        return screen.group if isinstance(screen, GroupScreen) else "overview"

    def go(self, place: str) -> None:
        """Show the overview, the transactions, a group, or a member in its group."""
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

    def action_transactions(self) -> None:
        """Transactional ids."""
        if self.place() != TRANSACTIONS:
            self.go(TRANSACTIONS)

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

    # --- keys -------------------------------------------------------------------------------------------------------

    def keys_by_action(self) -> dict[str, str]:
        """What is pressed for each action's id."""
        remapped = {binding_id: keys for binding_id, keys in self._keymap.items() if keys}
        return {action.id: remapped.get(action.id, action.shown).partition(",")[0] for action in ACTIONS}
