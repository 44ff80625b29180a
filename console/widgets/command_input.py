"""The input line at the bottom for commands and filters, with completion, history and a caret under a wrong word."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from console.presenters.list_view import FilterError
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    Line,
    cells,
    joined,
    length,
    line,
    wrapped,
)
from console.widgets.canvas import Canvas
from console.widgets.panel import Panel

HINTS = 12  # words shown at once


class LineError(NamedTuple):
    """An error in a typed line: the message, and the column of the wrong word in cells."""

    message: str
    column: int

    @classmethod
    def at(cls, text: str, column: int, message: str) -> "LineError":
        """The error at a character of a text."""
        return cls(message, cells(text[:column]))


def error_lines(error: LineError, width: int) -> list[Line]:
    """A caret under the wrong word, with the message beside it, or below it if the line is too short."""
    caret: Line = line(" " * (3 + error.column), ("▲ ", ERROR))
    beside = line(*caret, (error.message, ERROR))
    if length(beside) <= width:
        return [beside]
    return [caret, *wrapped(line("   ", (error.message, ERROR)), width - 1, indent=3)]


class InputHelp(NamedTuple):
    """Help at a prompt: next words, usage, the text completed with a word, a preview of the impact, earlier lines."""

    complete: Callable[[str], Sequence[str]] = lambda _: ()
    usage: Callable[[str], str] = lambda _: ""
    replace: Callable[[str, str], str] = lambda _, word: word
    preview: Callable[[str], Line] = lambda _: ()
    earlier: Sequence[str] = ()


class Cycle(NamedTuple):
    """The words that the completion key goes through, the text before them, and the place of the chosen word."""

    base: str
    words: Sequence[str]
    place: int = -1


def _in_common(words: Sequence[str]) -> str:
    """The beginning that all words have."""
    first, last = min(words), max(words)
    return next((first[:place] for place, letter in enumerate(first) if letter != last[place : place + 1]), first)


class PromptLine(Widget):
    """A prompt, a line of hints above it, and below it the preview of the command or its error. Hidden until `open`.

    The widget is always mounted, so that `open` moves the focus before the next key arrives.
    """

    DEFAULT_CSS = """
    PromptLine { layer: line; dock: bottom; height: 3; background: $background; display: none; }
    PromptLine #prompt { width: 3; height: 1; }
    PromptLine Horizontal { height: 1; }
    PromptLine Input { width: 1fr; height: 1; border: none; padding: 0; background: $background; }
    PromptLine Input:focus { border: none; }
    PromptLine #hints, PromptLine #feedback { height: 1; }
    """

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape", "cancel", "cancel", show=False, id="line.cancel"),
        Binding("tab", "complete(1)", "complete", show=False, id="line.complete", priority=True),
        Binding("shift+tab", "complete(-1)", "the hint before", show=False, id="line.complete-back", priority=True),
        Binding("up", "recall(-1)", "earlier", show=False, id="line.earlier", priority=True),
        Binding("down", "recall(1)", "later", show=False, id="line.later", priority=True),
    ]

    class Entered(Message):
        """Enter was pressed."""

        def __init__(self, line: "PromptLine", text: str) -> None:
            super().__init__()
            self.line, self.text = line, text

    class Changed(Message):
        """The text changed."""

        def __init__(self, line: "PromptLine", text: str) -> None:
            super().__init__()
            self.line, self.text = line, text

    class Cancelled(Message):
        """Escape was pressed."""

        def __init__(self, line: "PromptLine") -> None:
            super().__init__()
            self.line = line

    def __init__(self) -> None:
        super().__init__(id="command-line")
        self.prompt = ":"
        self._helper = InputHelp()
        self._recalled = 0
        self._error: LineError | None = None
        self._cycle: Cycle | None = None
        self._drawn_at = 0
        self._previous_focus: Widget | None = None
        self.input = Input(select_on_focus=False)
        self.hints = Canvas(id="hints")
        self.feedback = Canvas(id="feedback")
        self.prompt_sign = Canvas(id="prompt")

    def compose(self) -> ComposeResult:
        """Hints, the prompt with its input, the feedback."""
        yield self.hints
        with Horizontal():
            yield self.prompt_sign
            yield self.input
        yield self.feedback

    @property
    def is_open(self) -> bool:
        """Whether the line is shown and has the keyboard."""
        return bool(self.display)

    @property
    def previous_focus(self) -> Widget | None:
        """The widget that had the focus when the line was opened."""
        return self._previous_focus

    def open(self, prompt: str, text: str = "", helper: InputHelp | None = None) -> None:
        """Show the line with `text` in it and focus it."""
        self.prompt, self._helper = prompt, helper or InputHelp()
        self._recalled, self._error, self._cycle = 0, None, None
        self._previous_focus = self.screen.focused
        self.display = True
        self.input.cursor_blink = False
        with self.prevent(Input.Changed):
            self.input.value = text
        self.input.cursor_position = len(text)
        self.screen.set_focus(self.input)
        self.call_after_refresh(self.draw)

    def close(self) -> None:
        """Hide the line and focus the widget from before."""
        self.display = False
        self.screen.set_focus(self._previous_focus)

    def on_resize(self, _: events.Resize) -> None:
        """Draw for the new size."""
        self.draw()

    def draw(self) -> None:
        """Draw prompt, hints and feedback."""
        if not self.is_open:
            return
        self.prompt_sign.paint([line((f" {self.prompt} ", ACCENT))])
        self.hints.paint([self._hint_line()])
        below = self._feedback_lines()
        self._resize_feedback(len(below))
        self.feedback.paint(below)

    def _hint_line(self) -> Line:
        """The words that may follow, the chosen one marked, and the usage of the command."""
        cycle = self._cycle
        words, place = (cycle.words, cycle.place) if cycle else (self._helper.complete(self.input.value), -1)
        first = max(0, min(place - 1, len(words) - HINTS))
        shown: list[Line] = [
            line(("▸", ACCENT), (word, STRONG)) if number == place else line((word, PLAIN))
            for number, word in enumerate(words[first : first + HINTS], first)
        ]
        usage = self._helper.usage(self.input.value)
        hint = joined(shown, ("  ", FAINT)) if shown else line((usage, MUTED))
        if len(words) > first + HINTS:
            hint = (*hint, (f"  and {len(words) - first - HINTS} more", FAINT))
        if shown and usage:
            hint = (*hint, ("   ", FAINT), (usage, FAINT))
        return line(" ", *(line(("tab ", FAINT)) if shown else ()), *hint)

    def _feedback_lines(self) -> list[Line]:
        """The error in the line, or the preview of its impact."""
        width = self.size.width
        if self._error is not None:
            return error_lines(self._error, width)
        return wrapped(line("   ", *self._helper.preview(self.input.value)), width - 1, indent=3)

    def _resize_feedback(self, lines: int) -> None:
        """Give the feedback as many rows as it needs."""
        if self.feedback.size.height != lines:
            self.feedback.styles.height, self.styles.height = lines, 2 + lines

    def follow(self, second: int) -> None:
        """Draw again with each virtual second: the preview of a typed command changes with the cluster."""
        if self.is_open and second != self._drawn_at:
            self._drawn_at = second
            self.draw()

    def filter_list(self, pattern: str) -> bool:
        """Filter the list behind the line `/`; False, and the reason on the line, for what is no filter."""
        if self.prompt == "/" and isinstance(self.previous_focus, Panel):
            try:
                self.previous_focus.filter(pattern)
            except FilterError as error:
                self.show_error(LineError(error.reason, error.column))
                return False
            if self._error is not None:  # of a text before: keys come faster than rows are filtered
                self._error = None
                self.draw()
        return True

    def show_error(self, error: LineError) -> None:
        """Show an error below the line, with a caret under its column."""
        self._error = error
        self.draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another text: renew the hints and drop the error."""
        event.stop()
        if not self.is_open:
            return
        self._error = None
        if self._cycle is not None and event.value != self._of_cycle(self._cycle):
            self._cycle = None
        self.draw()
        self.post_message(self.Changed(self, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Post the line; the application executes it or calls `show_error`."""
        event.stop()
        self.post_message(self.Entered(self, event.value))

    def action_cancel(self) -> None:
        """Cancel the line."""
        self.post_message(self.Cancelled(self))

    def action_complete(self, by: int) -> None:
        """Complete what all hints have in common; again, go through the hints, forwards (1) or backwards (-1)."""
        cycle, text = self._cycle, self.input.value
        if cycle is None:
            words = self._helper.complete(text)
            if not words:
                return
            begun = self._helper.replace(text, _in_common(words)).removesuffix(" ")
            if len(words) == 1:
                self._set(self._helper.replace(text, words[0]))
                return
            if len(begun) > len(text):
                self._set(begun)
                return
            cycle = Cycle(text, words, -1 if by > 0 else 0)
        self._cycle = cycle._replace(place=(cycle.place + by) % len(cycle.words))
        self._set(self._of_cycle(self._cycle))

    def _of_cycle(self, cycle: Cycle) -> str:
        """The text with the chosen word; the blank after it is the user's."""
        return self._helper.replace(cycle.base, cycle.words[cycle.place]).removesuffix(" ")

    def _set(self, text: str) -> None:
        self.input.value = text
        self.input.cursor_position = len(text)

    def action_recall(self, by: int) -> None:
        """Show an earlier (-1) or later (1) line of the history."""
        earlier = self._helper.earlier
        self._recalled = max(-len(earlier), min(0, self._recalled + by))
        self._set(earlier[self._recalled] if self._recalled else "")
