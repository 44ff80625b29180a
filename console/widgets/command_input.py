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

from console.presenters.styled_text import ACCENT, ERROR, FAINT, MUTED, PLAIN, Line, joined, length, line, wrapped
from console.widgets.canvas import Canvas


class LineError(NamedTuple):
    """An error in a typed line: the message, and the column of the wrong word."""

    message: str
    column: int


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


class CommandInput(Widget):
    """A prompt, a line of hints above it, and below it the preview of the command or its error. Hidden until `open`.

    The widget is always mounted, so that `open` moves the focus before the next key arrives.
    """

    DEFAULT_CSS = """
    CommandInput { layer: line; dock: bottom; height: 3; background: $background; display: none; }
    CommandInput #prompt { width: 3; height: 1; }
    CommandInput Horizontal { height: 1; }
    CommandInput Input { height: 1; border: none; padding: 0; background: $background; }
    CommandInput Input:focus { border: none; }
    CommandInput #hints, CommandInput #feedback { height: 1; }
    """

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape", "cancel", "cancel", show=False, id="line.cancel"),
        Binding("tab", "complete", "complete", show=False, id="line.complete", priority=True),
        Binding("up", "recall(-1)", "earlier", show=False, id="line.earlier", priority=True),
        Binding("down", "recall(1)", "later", show=False, id="line.later", priority=True),
    ]

    class Entered(Message):
        """Enter was pressed."""

        def __init__(self, line: "CommandInput", text: str) -> None:
            super().__init__()
            self.line, self.text = line, text

    class Changed(Message):
        """The text changed."""

        def __init__(self, line: "CommandInput", text: str) -> None:
            super().__init__()
            self.line, self.text = line, text

    class Cancelled(Message):
        """Escape was pressed."""

        def __init__(self, line: "CommandInput") -> None:
            super().__init__()
            self.line = line

    def __init__(self) -> None:
        super().__init__(id="command-line")
        self.prompt = ":"
        self._helper = InputHelp()
        self._recalled = 0
        self._error: LineError | None = None
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
        self._recalled, self._error = 0, None
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
        words = self._helper.complete(self.input.value)
        shown: list[Line] = [line((word, PLAIN if place else ACCENT)) for place, word in enumerate(words[:12])]
        usage = self._helper.usage(self.input.value)
        hint = joined(shown, ("  ", FAINT)) if shown else line((usage, MUTED))
        if shown and usage:
            hint = (*hint, ("   ", FAINT), (usage, FAINT))
        self.hints.paint([line(" ", *(line(("tab ", FAINT)) if shown else ()), *hint)])
        below = self._feedback_lines()
        self._resize_feedback(len(below))
        self.feedback.paint(below)

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
        self.draw()
        self.post_message(self.Changed(self, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Post the line; the application executes it or calls `show_error`."""
        event.stop()
        self.post_message(self.Entered(self, event.value))

    def action_cancel(self) -> None:
        """Cancel the line."""
        self.post_message(self.Cancelled(self))

    def action_complete(self) -> None:
        """Complete with the first hint."""
        words = self._helper.complete(self.input.value)
        if words:
            self.input.value = self._helper.replace(self.input.value, words[0])
            self.input.cursor_position = len(self.input.value)

    def action_recall(self, by: int) -> None:
        """Show an earlier (-1) or later (1) line of the history."""
        earlier = self._helper.earlier
        self._recalled = max(-len(earlier), min(0, self._recalled + by))
        self.input.value = earlier[self._recalled] if self._recalled else ""
        self.input.cursor_position = len(self.input.value)
