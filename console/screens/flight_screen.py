"""The base of all screens: header, breadcrumb, a board of panels, flight strip, ticker, footer."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Self, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.css.query import QueryType
from textual.widget import Widget

from console.app_interface import AppInterface
from console.command_line import partition_place
from console.flight import Flight
from console.presenters import chrome
from console.presenters.exceptions.headline import Headline, headline
from console.presenters.fault_menu import CommandTarget
from console.presenters.formatting import SECOND_US
from console.presenters.list_view import Listing, NotThere
from console.presenters.logged.groups import date_line
from console.presenters.raster.axis import short_clock
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    MUTED,
    STRONG,
    WARN,
    Line,
    PlaceLink,
    fit,
    length,
    line,
    wrapped,
)
from console.presenters.travel.steps import step_line
from console.presenters.why.answers import Subject
from console.presenters.why.questions import QUESTIONS
from console.widgets.canvas import Canvas, LinkedCanvas
from console.widgets.command_input import PromptLine
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, Board, PanelSlot, SizeHint
from console.widgets.scrubber import Scrubber
from console.widgets.stacked_screens import StackedScreen

MIN_WIDTH, MIN_HEIGHT = 60, 16
TALL = 32  # from this terminal height the strip has a scale and the ticker three lines
WIDE, WIDEST = 110, 160
ALL_PANELS = "all"
NO_RASTER = "open ownership over time first"
NO_LIBRARY = "open the library first: go library"
MOST_EXCEPTIONS = 6  # lines that a panel reserves for rows that need attention
ListFactory = Callable[[int], Listing]


class FlightScreen(StackedScreen[None]):
    """A screen that `go` reaches. Its panels show listings that `list_factories` makes for every frame.

    A subclass in `console.screens.catalogue.SCREENS` gets its key, palette entry and help line from the class
    attributes `place`, `key`, `help` and `in_footer`.
    """

    AUTO_FOCUS = "Panel"

    place = ""
    """The word after `go`; empty for a screen of many places."""
    key = ""
    """The key that opens the screen, as Textual names it; empty for none."""
    help = ""
    """The contents of the screen in a few words."""
    in_footer = False
    """Whether the footer of a live flight shows the key."""
    presets: Mapping[str, Sequence[str]] = {}
    """Arrangements by their names, besides that of all panels: the panels that each shows."""
    in_logs: ClassVar[bool] = False
    """Whether a recording of logs has what the place shows."""
    places_inside: ClassVar[Mapping[str, str]] = {}
    """Other words after `go` for this screen, and the panel that gets the focus."""
    above = ""
    """The place that escape leads to; empty for the overview."""

    footer_actions: ClassVar[tuple[str, ...]] = ()
    """The ids of the actions in the footer, by importance; empty for those of time and faults."""

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """A new screen for a place; None if the place belongs to another screen."""
        del app
        if not place or place not in {cls.place, *cls.places_inside}:
            return None
        screen = cls()
        if place in cls.places_inside:
            screen.focus_on(cls.places_inside[place])
        return screen

    def __init__(self) -> None:
        super().__init__()
        self.board = Board(*self.panels())
        self.bars: dict[str, Canvas] = {
            name: LinkedCanvas(id=name) for name in ("header", "crumbs", "caption", "ticker", "footer")
        }
        self.bars["strip"] = Scrubber("strip")
        self.too_small = Canvas(id="too-small")
        self.command_line = PromptLine()
        self._focused_before: Widget | None = None
        self.unfolded: set[str] = set()  # rows that show what they stand for
        self._numbered = 0  # the panel whose number was pressed last, until another key or a click
        self._last_key = ""
        self._focus_next = ""  # the panel that gets the focus when the screen is on top
        self._painted = False

    # --- a subclass defines -----------------------------------------------------------------------------------------

    def panels(self) -> list[Panel]:
        """The panels, in the order of their numbers."""
        return []

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """For each panel, the function that makes its listing for a width in cells."""
        del flight
        return {}

    def arrangement(self, width: int) -> Arrangement:
        """The panels of each row of the board, for a width in cells."""
        del width
        return [[PanelSlot(panel.id or "")] for panel in self.board.panels.values()]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The lines that a panel can use, and those of its rows that need attention."""
        exceptions = min(MOST_EXCEPTIONS, len(listing.exceptions()) * listing.row_height)
        return SizeHint(panel.wanted_height(listing), exceptions=exceptions)

    def glossary(self) -> tuple[str, ...]:
        """The states that the help of the place explains: titles of `presenters.help.STATES`."""
        return ()

    def footer_enter(self) -> str:
        """What `enter` does, for the footer; empty to leave it out."""
        return ""

    def path(self) -> list[str]:
        """The breadcrumb."""
        return ["overview", self.place]

    def selected_target(self) -> CommandTarget | None:
        """The selected object, for the fault menu; None if no fault applies to it."""
        return None

    def why_subject(self) -> Subject | None:
        """The selected object, for `why?`; None without one."""
        target = self.selected_target()
        return Subject(*target) if target is not None and target.kind in QUESTIONS else None

    def why_no_remedies(self) -> str | None:
        """Why there is no rebalance to find remedies for; None if there is one."""
        return "open a rebalance first: enter in the group's list of rebalances"

    def toggle_remedies(self) -> None:
        """Begin to measure remedies, or end that."""

    def change_raster(self, what: str) -> str:
        """Change the raster; returns the reason of a refusal."""
        del what
        return NO_RASTER

    def change_comparison(self, what: str) -> str:
        """Change the comparison; returns the reason of a refusal."""
        del what
        return "open the comparison first: go comparison"

    def change_library(self, what: str) -> str:
        """Mark, compare or delete recordings; returns the reason of a refusal."""
        del what
        return NO_LIBRARY

    def opened(self, panel: str, key: str) -> None:
        """React to enter on a row."""
        del panel, key

    # --- actions on the screen itself -------------------------------------------------------------------------------

    def action_panel(self, number: int) -> None:
        """Focus a panel by its number, and show it if it is hidden; the number twice in a row hides it."""
        panel = next((one for one in self.board.panels.values() if one.number == number and one.display), None)
        if panel is None:
            numbers = [one.number for one in self.board.panels.values() if one.display]
            self.console_app.warn(f"there is no panel {number} here now: {', '.join(map(str, sorted(numbers)))}")
            return
        if self.board.maximized:
            self.action_maximize()
        elif panel.has_focus and self._numbered == number and len(self.board.shown()) > 1:
            self.action_next_panel()
            self.board.hidden.add(panel.id or "")
            self._rearrange()
            self.notify(f"panel {number} is hidden: {number} shows it again", timeout=3)
            return
        if panel.id in self.board.hidden:
            self.board.hidden.discard(panel.id)
            self._rearrange()
        self._numbered = number
        self.set_focus(panel)

    def on_key(self, event: events.Key) -> None:
        """Know what is pressed twice in a row: who works in a panel may press its number without losing it."""
        if event.key != self._last_key:
            self._numbered = 0
        self._last_key = event.key

    def on_click(self) -> None:
        """A click between two keys ends their row."""
        self._last_key = ""

    def action_next_panel(self) -> None:
        """Focus the next panel; one that is maximized gives its place to it."""
        self.focus_next()

    def action_previous_panel(self) -> None:
        """Focus the previous panel; one that is maximized gives its place to it."""
        self.focus_previous()

    def focus_next(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """The next panel with a place gets the focus: Textual's own key for it does the same."""
        del selector
        return self._focus_other(1)

    def focus_previous(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """The previous panel with a place gets the focus."""
        del selector
        return self._focus_other(-1)

    def _focus_other(self, by: int) -> Widget | None:
        shown, self._numbered = self.board.shown(), 0
        if not shown:
            return None
        here = next((place for place, panel in enumerate(shown) if panel.has_focus), -1 if by > 0 else 0)
        panel = shown[(here + by) % len(shown)]
        if self.board.maximized:
            self.board.maximized = panel.id or ""
            self._rearrange()
        self.set_focus(panel)
        return panel

    def _rearrange(self) -> None:
        self.board.rearrange()
        self.call_after_refresh(self.paint)

    def action_preset(self) -> None:
        """Show the next arrangement of the place, and remember it."""
        names = [ALL_PANELS, *self.presets]
        if len(names) == 1:
            self.notify("this place has one arrangement", severity="warning", timeout=4)
            return
        app, kind = self.console_app, type(self).__name__
        remembered = app.settings_file.settings.presets
        here = remembered.get(kind, ALL_PANELS)
        name = names[(names.index(here) + 1) % len(names)] if here in names else ALL_PANELS
        remembered[kind] = name
        self._arrange_by(name)
        refusal = app.settings_file.save()
        self.notify(f"panels: {name}" + (f" ({refusal})" if refusal else ""), timeout=3)

    def _arrange_by(self, name: str) -> None:
        """Show the panels of an arrangement; all for a name that the place does not know."""
        wanted = self.presets.get(name, self.board.panels)
        self.board.hidden = set(self.board.panels) - set(wanted)
        self.board.maximized = ""
        if self.board.hidden.intersection(panel.id or "" for panel in self.board.panels.values() if panel.has_focus):
            self.action_next_panel()
        self._rearrange()

    def on_mount(self) -> None:
        """Take the arrangement that was chosen for the place last."""
        self._arrange_by(self.console_app.settings_file.settings.presets.get(type(self).__name__, ALL_PANELS))

    def action_maximize(self) -> None:
        """Maximize the focused panel, or show all again."""
        panel = self.console_app.focused_panel()
        if panel is not None:
            self.board.maximized = "" if self.board.maximized else panel.id or ""
            self._rearrange()

    def action_remedies(self) -> None:
        """Measure which settings would have changed the rebalance that is shown, or end that."""
        why_not = self.why_no_remedies()
        if why_not is None:
            self.toggle_remedies()
        else:
            self.console_app.warn(why_not)

    def action_raster(self, what: str) -> None:
        """Change the raster that is shown, or save it."""
        self.console_app.warn(self.change_raster(what))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the command line is open, the key that opens it for a fork is text."""
        if action == "fork":
            line = self.console_app.input_line()
            return line is not None and not line.is_open
        return super().check_action(action, parameters)

    def action_fork(self) -> None:
        """Open the command line for a fork at the shown instant; while one is flown, for the line that ends it."""
        app = self.console_app
        if app.forking.under_way:
            app.open_line(":", "fork cancel")
            app.warn("a fork is running: enter ends it, esc lets it run")
        else:
            app.open_line(":", f"fork at {short_clock(app.flight.now_us, 3)} do ")

    def action_comparison(self, what: str) -> None:
        """Change the comparison that is shown, keep or open its second flight."""
        self.console_app.warn(self.change_comparison(what))

    def action_library(self, what: str) -> None:
        """Mark, compare or delete the recordings of the library."""
        self.console_app.warn(self.change_library(what))

    def action_on_member(self, text: str) -> None:
        """Give a command for the selected member."""
        target = self.selected_target()
        if target is None or target.kind != "member":
            self.console_app.warn("select a member first")
        else:
            self.console_app.execute_line(text.format(target.name))

    # --- the frame --------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The bars and the board, top to bottom; the message about the size replaces them on a small terminal."""
        with Container(id="frame"):
            yield self.bars["header"]
            yield self.bars["crumbs"]
            yield self.board
            yield self.bars["caption"]
            yield self.bars["strip"]
            yield self.bars["ticker"]
            yield self.bars["footer"]
        yield self.command_line
        yield self.too_small

    @property
    def console_app(self) -> AppInterface:
        """The application, as `AppInterface`."""
        return cast("AppInterface", self.app)

    def on_resize(self) -> None:
        """Choose the layout for the new size, or the message that it is too small."""
        size = self.size
        small = size.width < MIN_WIDTH or size.height < MIN_HEIGHT
        was_small = self.has_class("-too-small")
        if small and not was_small:
            self._focused_before = self.focused or self._focused_before  # Textual moves it on, as panels are hidden
        self.set_class(small, "-too-small")
        if was_small and not small:
            self.call_after_refresh(self._focus_as_before)  # until then the panel is hidden, and takes no focus
        self.set_class(size.height >= TALL, "-tall")
        self.call_after_refresh(self.paint)

    def _focus_again(self) -> None:
        if self.focused is None:
            self._focus_as_before()

    def _focus_as_before(self) -> None:
        before = self._focused_before
        if before is None or self.has_class("-too-small"):
            return
        if all(node.display for node in before.ancestors_with_self):  # a line that was closed meanwhile is hidden
            self.set_focus(before)

    def focus_on(self, panel: str) -> None:
        """Focus a panel now, or as soon as the screen is on top."""
        self._focus_next = panel
        if self.is_current:
            self.call_after_refresh(self._focus_chosen)

    def _focus_chosen(self) -> None:
        if self._focus_next:
            self.set_focus(self.board.panels[self._focus_next])
            self._focus_next = ""

    def on_screen_resume(self) -> None:
        """Paint again when the screen is back on top."""
        self._focus_chosen()
        self.call_after_refresh(self.paint)

    def on_panel_opened(self, message: Panel.Opened) -> None:
        """Show the partition of an opened cell, or what a row stands for; pass another row to the subclass."""
        at_us = None if message.in_cell else message.panel.instant_of(message.key)
        if message.in_cell:
            self.console_app.go(partition_place(message.key))
        elif message.panel.unfolds(message.key):
            self.unfolded ^= {message.key}
            self.paint()
        elif at_us is not None:
            self.console_app.follow(PlaceLink("instant", str(at_us)))
        else:
            self.opened(message.panel.id or "", message.key)

    def on_canvas_followed(self, message: Canvas.Followed) -> None:
        """Go where the link leads."""
        self.console_app.follow(message.link)

    def on_descendant_focus(self) -> None:
        """Paint again for the new focus: heights and footer depend on it."""
        self.call_after_refresh(self.paint)

    def paint(self, shares: int = 0, *, bars: bool = True) -> None:
        """Draw the flight's current state; the cost follows the number of changed cells.

        `shares`: the rows of the panels are drawn anew in so many frames, more for a large panel; 0: all at once.
        """
        if not self._has_room():
            return
        self._focus_again()  # a hidden panel loses the focus late: on a busy machine only when it is shown again
        flight = self.console_app.flight
        with self.app.batch_update():
            if bars:
                self._paint_bars(flight)
            self._paint_board(flight, shares)
            self.command_line.follow(flight.now_us // SECOND_US)

    def paint_bars(self) -> None:
        """Draw what stands above and below the panels."""
        if self._has_room():
            with self.app.batch_update():
                self._paint_bars(self.console_app.flight)

    def _compositor_refresh(self) -> None:
        """Textual's frame. Its first one, before they have heard of their size, would show empty widgets."""
        if not self._painted and self.is_current and self.board.size:
            self._painted = True
            self.paint()
        super()._compositor_refresh()

    def _has_room(self) -> bool:
        """Whether the screen can be drawn; in a terminal that is too small it says so."""
        if not self.is_attached or not self.size:
            return False
        if self.has_class("-too-small"):
            self._paint_too_small()
            return False
        return True

    def _paint_board(self, flight: Flight, shares: int) -> None:
        factories = self.list_factories(flight)
        widths = {name: panel.size.width or self.size.width for name, panel in self.board.panels.items()}
        listings = {name: make(widths[name]) for name, make in factories.items()}
        listings |= {name: self._not_there(name, widths[name]) for name in widths.keys() - listings.keys()}
        size_hints = {name: self._size_hint(self.board.panels[name], listing) for name, listing in listings.items()}
        self.board.update_layout(size_hints, self.arrangement(self.size.width))
        for name, panel in self.board.panels.items():
            panel.show(listings[name], partial(self._listing_of_now, name), shares)

    def _size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """With the focus, a panel that takes all remaining lines leaves those that it cannot fill to the others."""
        hint = self.size_hint(panel, listing)
        if hint.most < ALL_THERE_IS or not panel.has_focus:
            return hint
        return hint._replace(most=max(hint.least, min(hint.most, panel.wanted_height(listing))))

    def _listing_of_now(self, name: str, width: int) -> Listing:
        """The list of a panel between two frames; a list may be made from those before it."""
        for each, make in self.list_factories(self.console_app.flight).items():
            listing = make(width if each == name else self.board.panels[each].size.width or width)
            if each == name:
                return listing
        return self._not_there(name, width)

    def _not_there(self, name: str, width: int) -> NotThere:
        """For a panel whose group does not exist yet, or not at this instant of a recording."""
        view = self.console_app.flight.view
        return NotThere(name, width, built=bool(view.brokers) or view.logs is not None)

    def _paint_bars(self, flight: Flight) -> None:
        width, app = self.size.width, self.console_app
        source = flight.source
        bars = self.bars
        recorded, lags = bool(source.recording), flight.group_lags
        bars["header"].paint([chrome.header(flight.view, flight.clock, source.title, width, recorded, lags)])
        notice = self._notice() or (date_line(flight.view.logs, flight.now_us) if flight.view.logs else ())
        bars["crumbs"].paint([chrome.crumbs(self.path(), width, notice, self._headline(flight))])
        ahead = flight.seekable.landmarks if flight.seekable is not None else ()
        strip = [chrome.flight_strip(flight.view, flight.clock, width, ahead), chrome.strip_scale(flight.clock, width)]
        bars["strip"].paint(strip)
        rows, stepped = max(1, bars["ticker"].size.height), source.stepped
        said = [fit(step_line(stepped), width)] if stepped is not None else []
        working = app.forking.progress()
        said = [fit(working, width)] if working else said
        bars["ticker"].paint([*chrome.ticker(flight.view, width, rows)[len(said) :], *said])
        self._paint_footer(app)
        self._paint_caption(app.caption)

    def _paint_footer(self, app: AppInterface) -> None:
        """The footer, or the notice of now in its place; while an overlay or the input line covers it, notices wait."""
        bar, width = self.bars["footer"], self.size.width
        covered = self.command_line.is_open or not self.is_current
        lines = [] if covered else app.notices.lines(width)
        if self.command_line.is_open:
            app.notices.hold()
        lines = lines or [app.footer(width, self.footer_actions, self.footer_enter())]
        if bar.size.height != len(lines):
            bar.styles.height = len(lines)
        bar.paint(lines)

    def _paint_caption(self, words: str) -> None:
        bar = self.bars["caption"]
        rows = [line((" ▌ ", ACCENT), *row) for row in wrapped(line((words, STRONG)), self.size.width - 5)]
        bar.display = bool(words)
        bar.styles.height = len(rows)
        bar.paint(rows)

    def action_live(self) -> None:
        """Return from the past of a live flight to the live instant."""
        self.console_app.execute_line("go live")

    def on_scrubber_scrubbed(self, message: Scrubber.Scrubbed) -> None:
        """Seek to the column of the flight strip under the mouse."""
        self.console_app.scrub(message.x, self.size.width, first=message.first)

    @staticmethod
    def _headline(flight: Flight) -> Headline | None:
        """The worst exception of the cluster; None before there is a cluster."""
        if not flight.view.brokers:
            return None
        source = flight.source
        return headline(flight.view, flight.now_us, source.broker_session_us, source.producer_configs)

    def _notice(self) -> Line:
        """The warning in place of the headline: a failure, or a console that lags behind."""
        app = self.console_app
        failure = app.flight.source.failure
        if failure:
            return line((f"✖ {failure}", ERROR))
        if app.flight.behind:
            return line(("the console is catching up", WARN))
        return ()

    def _paint_too_small(self) -> None:
        size = self.size
        words = [
            line(("This terminal is too small for Flightdeck.", STRONG)),
            line((f"now {size.width}×{size.height}, needed {MIN_WIDTH}×{MIN_HEIGHT}", WARN)),
            line(("make it larger, or q to quit; the flight continues", MUTED)),
        ]
        top: list[Line] = [()] * max(0, (size.height - len(words)) // 2)
        self.too_small.paint([*top, *(_centred(row, size.width) for row in words)])


def _centred(row: Line, width: int) -> Line:
    return line(" " * max(0, (width - length(row)) // 2), *row)
