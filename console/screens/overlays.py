"""Overlays over a screen that close with escape: fault menu, help, failure report, a key, what a tool prints."""

from collections.abc import Callable, Sequence
from typing import cast

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip

from cluster.commands import CommandError
from console.actions import shortcuts
from console.app_interface import AppInterface
from console.command_line import usages
from console.flight import Flight, Source, failure_title
from console.operating.key_question import KeyQuestion
from console.operating.tool_question import ToolQuestion, answer
from console.presenters.fault_menu import CommandTarget, MenuEntry
from console.presenters.help import FaultMenuListing, TextListing, failure_lines, help_lines
from console.presenters.list_view import Listing, NotThere
from console.presenters.partitions.key_placement import key_lines, key_report
from console.presenters.styled_text import MUTED, PLAIN, STRONG, Line, line
from console.screens.catalogue import PLACES
from console.widgets.canvas import Canvas
from console.widgets.command_input import PromptLine
from console.widgets.panel import Panel
from console.widgets.stacked_screens import ScreenBelow, StackedScreen
from recordings.kafka_tools.printed import Printed


class ChosenCommand(str):
    """The text of a command chosen from a menu; with `edit` it goes to the command line first."""

    __slots__ = ("edit",)
    edit: bool


class Overlay(ModalScreen[ChosenCommand | None], StackedScreen[ChosenCommand | None]):
    """One panel in a box over the screen."""

    DEFAULT_CSS = """
    Overlay { align: center middle; background: $background 60%; }
    Overlay > #notice { dock: bottom; height: 1; background: $background; display: none; }
    Overlay > #box { border: round $border; padding: 0 1; background: $background; overflow: hidden; }
    """
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape", "close", "close", show=False, id="overlay.close"),
        # a modal screen hides the bindings of the application
        Binding("q", "app.leave", "quit", show=False, id="console.quit"),
    ]
    widest = 118

    def __init__(self, list_factory: Callable[[int], Listing]) -> None:
        super().__init__()
        self.list_factory = list_factory
        self.box = Container(id="box")  # kept: at the application's end Textual mounts a screen without its widgets
        self.panel = Panel(0, "overlay")
        self.notice = Canvas(id="notice")
        self.dimmed = ScreenBelow(self)
        self._drawn = False

    def _compositor_refresh(self) -> None:
        """Textual tells the panel of its size after the first frame, which would show an empty box."""
        if not self._drawn and self.panel.size:
            self._drawn = True
            self.panel.on_resize()
        super()._compositor_refresh()

    def _set_dirty(self, *regions: Region) -> None:
        """Textual's way to say what is to be drawn anew, of this screen or of the one below; without regions, all."""
        self.dimmed.forget(regions)
        super()._set_dirty(*regions)

    def notify_style_update(self) -> None:
        """The theme changed: every line is dimmed anew."""
        super().notify_style_update()
        self.dimmed.forget(())

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a region of the screen below, dimmed: they have their styles, and an overlay has no border."""
        return self.dimmed.lines(crop) or super().render_lines(crop)

    def compose(self) -> ComposeResult:
        """A box with a panel in it, and the command line. The box has its size at once: a second layout costs a key."""
        self._fit()
        with self.box:
            yield self.panel
        yield self.notice
        yield PromptLine()

    def on_mount(self) -> None:
        """Focus the panel."""
        self.panel.focus()
        self.call_after_refresh(self.paint)

    def on_resize(self) -> None:
        """Fit the box to its contents and the terminal."""
        self._fit()
        self.call_after_refresh(self.paint)

    def _fit(self) -> None:
        """Size the box for its list, which the panel draws as soon as it is laid out."""
        width, height = self.app.size
        outer = min(width - 2, self.widest)
        listing = self.list_factory(outer - 4)
        self.box.styles.width = outer
        self.box.styles.height = min(height - 2, self.panel.wanted_height(listing) + 2)
        self.panel.show(listing, self.list_factory)

    def paint(self) -> None:
        """Show the list; the box grows with it, and does not shrink under the eyes of a reader."""
        if self.panel.size:  # the first frame may come before there is anything in the overlay
            listing = self.list_factory(self.panel.size.width)
            if self.panel.size.height < min(self.app.size.height - 4, self.panel.wanted_height(listing)):
                self._fit()
            else:
                self.panel.show(listing, self.list_factory)
            self._paint_notice()

    def _paint_notice(self) -> None:
        """The notice of now, below the box."""
        notices, bar = cast("AppInterface", self.app).notices, self.notice
        if self.query_one(PromptLine).is_open or not self.is_current:
            notices.hold()
            return
        lines = notices.lines(self.size.width)
        if bar.display != bool(lines):  # Textual lays out the whole overlay even when the value is the same
            bar.display = bool(lines)
        if lines:
            bar.styles.height = len(lines)
            bar.paint(lines)

    def on_canvas_followed(self, message: Panel.Followed) -> None:
        """Close, and go where the link leads."""
        self.dismiss(None)
        cast("AppInterface", self.app).follow(message.link)

    def action_close(self) -> None:
        """Clear the filter, or close."""
        if self.panel.pattern:
            self.panel.filter("")
        else:
            self.dismiss(None)


class FaultMenu(Overlay):
    """The faults that can be injected into a target. The result is the command's text.

    `forks`: the flight that is shown takes no commands; the result is the line that forks it here with the command.
    """

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("e", "edit", "edit", show=False, id="menu.edit"),
        Binding("f", "close", "close", show=False, id="menu.close"),
    ]

    def __init__(self, target: CommandTarget, faults: Sequence[MenuEntry], *, forks: bool = False) -> None:
        super().__init__(lambda width: FaultMenuListing(target, faults, width, forks=forks))
        self.faults, self.forks = {fault.text: fault for fault in faults}, forks

    def on_panel_opened(self, message: Panel.Opened) -> None:
        """Choose the command, if it is possible."""
        self._choose(message.key, edit=False)

    def action_edit(self) -> None:
        """Put the command into the command line."""
        self._choose(self.panel.selected, edit=True)

    def _choose(self, text: str, *, edit: bool) -> None:
        if text not in self.faults:  # a filter may leave no row
            return
        reason = self.faults[text].reason
        if reason and not edit:
            self.notify(f"{text}: {reason}", severity="warning", timeout=4)
            return
        chosen = ChosenCommand(f"fork do {text}" if self.forks else text)
        chosen.edit = edit or self.forks
        self.dismiss(chosen)


class HelpScreen(Overlay):
    """The keys of a place and the states that it shows; `?` again: every key, command and state."""

    BINDINGS = [Binding("question_mark,f1", "more", "everything", show=False, id="help.more")]  # noqa: RUF012

    def __init__(self, subject: str, here: Callable[[int], Sequence[Line]]) -> None:
        super().__init__(self._listing)
        self.subject, self._here = subject, here
        self.everything = False
        self._made: dict[tuple[int, bool], Sequence[Line]] = {}  # an overlay asks several times before its first frame

    def _listing(self, width: int) -> Listing:
        if self.everything:
            return TextListing("help", self.lines(width), width)
        return TextListing(f"help: {self.subject}", self.lines(width), width, "? everything · / finds · esc closes")

    def lines(self, width: int) -> Sequence[Line]:
        """The lines of the page that is shown, made once for a width."""
        asked = width, self.everything
        if asked not in self._made:
            self._made[asked] = self._lines(width)
        return self._made[asked]

    def _lines(self, width: int) -> Sequence[Line]:
        if not self.everything:
            return self._here(width - 2)
        app = cast("AppInterface", self.app)
        return help_lines(shortcuts(app.keys_by_action()), usages(PLACES).values())

    def action_more(self) -> None:
        """Show everything; on that page, close."""
        if self.everything:
            self.dismiss(None)
        else:
            self.everything = True
            self.panel.action_edge(0)
            self._fit()
            self.call_after_refresh(self.paint)


class FailureScreen(Overlay):
    """Why the flight ended early. `source.failure` may grow while the report is open."""

    def __init__(self, source: Source) -> None:
        def lines(width: int) -> Sequence[Line]:
            return failure_lines(source.failure, width, failure_title(source.failure), source.last_events)

        super().__init__(lambda width: TextListing("failure", lines(width), width))


class KeyScreen(Overlay):
    """Where a key goes in a topic as it is now, and with more partitions."""

    def __init__(self, flight: Flight, question: KeyQuestion) -> None:
        def listing(width: int) -> Listing:
            title, topic = f"key {question.key}", flight.view.topics.get(question.topic)
            if topic is None:  # time travel goes back beyond its creation
                return NotThere(title, width, built=bool(flight.view.brokers))
            now = topic.partitions
            later = question.partitions or 2 * now
            counts = [(0, now), *([(0, later)] if later > now else [])]
            report = key_report(question.key, question.topic, None, counts, [])
            first, *rest = key_lines(report)
            lines = [line((first, STRONG)), *(line((text, PLAIN)) for text in rest)]
            return TextListing(title, lines, width)

        super().__init__(listing)


def open_placement(app: App[None], flight: Flight, question: KeyQuestion) -> str:
    """Open the overlay; returns why it has no answer, or an empty text."""
    topic = flight.view.topics.get(question.topic)
    if topic is None:
        return f"{question.topic} is not created yet"
    if question.partitions and question.partitions < topic.partitions:
        return f"Kafka only adds partitions: {question.topic} has {topic.partitions}"
    app.push_screen(KeyScreen(flight, question))
    return ""


class PrintedScreen(Overlay):
    """What a tool of Kafka's prints of the instant at which it was asked; lines wrap as on a terminal."""

    widest = 220

    def __init__(self, text: str, printed: Printed) -> None:
        def listing(width: int) -> TextListing:
            cells = max(1, width - 2)
            lines: list[Line] = [line((f"$ {text}", MUTED)), ()]
            for one in printed.streams.strip("\n").expandtabs().split("\n"):
                pieces = [one[start : start + cells] for start in range(0, len(one), cells)]
                lines += [line((piece, PLAIN)) for piece in pieces or [""]]
            return TextListing("Kafka's tool", lines, width)

        super().__init__(listing)


def open_printed(app: App[None], flight: Flight, question: ToolQuestion) -> str:
    """Ask a tool, and open its answer; returns why it cannot be asked, or an empty text."""
    try:
        printed = answer(flight, question)
    except CommandError as error:
        return str(error)
    app.push_screen(PrintedScreen(question.text, printed))
    return ""
