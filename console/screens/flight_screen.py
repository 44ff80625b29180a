"""The frame that every screen has: header, breadcrumb, a board of panels, flight strip, ticker, footer."""

from collections.abc import Callable
from typing import cast

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from console.actions import in_footer
from console.app_interface import AppInterface
from console.flight import Flight
from console.presenters import chrome
from console.presenters.fault_menu import CommandTarget
from console.presenters.formatting import SECOND_US
from console.presenters.list_view import Listing
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    STRONG,
    WARN,
    Line,
    joined,
    length,
    line,
    wrapped,
)
from console.widgets.canvas import Canvas
from console.widgets.command_line import CommandLine
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, Board, Place, Wish
from console.widgets.scrubber import Scrubber

MIN_WIDTH, MIN_HEIGHT = 60, 16
TALL = 32  # from this height on the strip has a scale and the ticker three lines
WIDE, WIDEST = 110, 160
Maker = Callable[[int], Listing]


class FlightScreen(Screen[None]):
    """A place: its panels show listings that `makers` makes anew for every frame."""

    AUTO_FOCUS = "Panel"

    def __init__(self) -> None:
        super().__init__()
        self.board = Board(*self.panels())
        self.bars = {name: Canvas(id=name) for name in ("header", "crumbs", "caption", "ticker", "footer")}
        self.bars["strip"] = Scrubber("strip")
        self.too_small = Canvas(id="too-small")
        self.command_line = CommandLine()

    # --- what a subclass says ---------------------------------------------------------------------------------------

    def panels(self) -> list[Panel]:
        """The panels, in the order of their numbers."""
        return []

    def makers(self, flight: Flight) -> dict[str, Maker]:
        """For each panel, what makes its listing for a width."""
        del flight
        return {}

    def arrangement(self, width: int) -> Arrangement:
        """Which panels stand side by side."""
        del width
        return [[Place(panel.id or "")] for panel in self.board.panels.values()]

    def wish(self, panel: Panel, listing: Listing) -> Wish:
        """How much room a panel could use."""
        return Wish(panel.wanted_height(listing))

    def path(self) -> list[str]:
        """The breadcrumb."""
        return []

    def thing(self) -> CommandTarget | None:
        """What is selected, for the fault menu."""
        return None

    def opened(self, panel: str, key: str) -> None:
        """A row was opened."""
        del panel, key

    # --- the frame --------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Everything, top to bottom; the message about size covers it all when it is needed."""
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
        """The application, by its own type."""
        return cast("AppInterface", self.app)

    def on_resize(self) -> None:
        """Another size may need another layout, or be too small for any."""
        size = self.size
        self.set_class(size.width < MIN_WIDTH or size.height < MIN_HEIGHT, "-too-small")
        self.set_class(size.height >= TALL, "-tall")
        self.call_after_refresh(self.paint)

    def on_screen_resume(self) -> None:
        """Back on top: everything may have changed meanwhile."""
        self.call_after_refresh(self.paint)

    def on_panel_opened(self, message: Panel.Opened) -> None:
        """Pass on what was opened."""
        self.opened(message.panel.id or "", message.key)

    def on_descendant_focus(self) -> None:
        """Another panel has the focus: it may want more room, and the footer may change."""
        self.call_after_refresh(self.paint)

    def paint(self) -> None:
        """Draw the flight as it stands. Costs little when little changed."""
        if not self.is_attached or not self.size:
            return
        if self.has_class("-too-small"):
            self._paint_too_small()
            return
        flight = self.console_app.flight
        with self.app.batch_update():
            self._paint_bars(flight)
            self._paint_board(flight)
            self.command_line.follow(flight.now_us // SECOND_US)

    def _paint_board(self, flight: Flight) -> None:
        listings: dict[str, Listing] = {}
        for name, make in self.makers(flight).items():
            panel = self.board.panels[name]
            listings[name] = make(panel.size.width or self.size.width)
        for name, panel in self.board.panels.items():
            if name not in listings:  # what it shows is not there: not yet, or, in a recording, not at this instant
                listings[name] = Listing(panel.size.width or self.size.width)
        wishes = {name: self.wish(self.board.panels[name], listing) for name, listing in listings.items()}
        self.board.wish(wishes, self.arrangement(self.size.width))
        for name, listing in listings.items():
            self.board.panels[name].show(listing)

    def _paint_bars(self, flight: Flight) -> None:
        width, app = self.size.width, self.console_app
        source = flight.source
        bars = self.bars
        bars["header"].paint([chrome.header(flight.view, flight.clock, source.title, width, bool(source.recording))])
        bars["crumbs"].paint([chrome.crumbs(self.path(), width, self._notice())])
        ahead = flight.seekable.landmarks if flight.seekable is not None else ()
        strip = [chrome.flight_strip(flight.view, flight.clock, width, ahead), chrome.strip_scale(flight.clock, width)]
        bars["strip"].paint(strip)
        bars["ticker"].paint(chrome.ticker(flight.view, width, max(1, bars["ticker"].size.height)))
        bars["footer"].paint([footer(app, width)])
        self._paint_caption(app.caption)

    def _paint_caption(self, words: str) -> None:
        bar = self.bars["caption"]
        rows = [line((" ▌ ", ACCENT), *row) for row in wrapped(line((words, STRONG)), self.size.width - 5)]
        bar.display = bool(words)
        bar.styles.height = len(rows)
        bar.paint(rows)

    def on_scrubber_scrubbed(self, message: Scrubber.Scrubbed) -> None:
        """The mouse holds the flight strip."""
        self.console_app.scrub(message.x, self.size.width, first=message.first)

    def _notice(self) -> Line:
        """At the right of the breadcrumb: what hangs over the flight, if anything does."""
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
            line(("This terminal is too small for the flight deck.", STRONG)),
            line((f"now {size.width}×{size.height}, needed {MIN_WIDTH}×{MIN_HEIGHT}", WARN)),
            line(("make it larger, or q to quit; the flight goes on", MUTED)),
        ]
        top: list[Line] = [()] * max(0, (size.height - len(words)) // 2)
        self.too_small.paint([*top, *(_centred(row, size.width) for row in words)])


def _centred(row: Line, width: int) -> Line:
    return line(" " * max(0, (width - length(row)) // 2), *row)


def footer(app: AppInterface, width: int) -> Line:
    """The keys that are most useful now; one that cannot be used is faint."""
    parts: list[Line] = []
    keys = app.keys_by_action()
    for action in in_footer(recorded=app.flight.seekable is not None):
        tone = FAINT if action.reason(app) else MUTED
        label = "go on" if action.id == "time.pause" and app.flight.clock.phase == "paused" else action.label
        parts.append(line((keys[action.id], FAINT if tone == FAINT else ACCENT), (f" {label}", tone)))
    while length(joined(parts, ("  ", FAINT))) > width - 2 and len(parts) > 3:
        parts.pop(-2)
    return line(" ", *joined(parts, ("   " if width >= 100 else "  ", FAINT)))
