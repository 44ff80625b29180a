"""The line at the bottom where commands and filters are typed: completion, history, a caret under the wrong word."""

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from console.presenters.styled_text import ACCENT, ERROR, FAINT, MUTED, PLAIN, Line, joined, length, line, wrapped
from console.widgets.canvas import Canvas


class Complaint(Exception):  # noqa: N818 - it is shown, not raised through
    """What is wrong with a line: the words and the column of the wrong one."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message, self.column = message, column


def complaint_lines(complaint: Complaint, width: int) -> list[Line]:
    """A caret under the wrong word and what is wrong beside it, or below where it does not fit there."""
    caret: Line = line(" " * (3 + complaint.column), ("▲ ", ERROR))
    beside = line(*caret, (complaint.message, ERROR))
    if length(beside) <= width:
        return [beside]
    return [caret, *wrapped(line("   ", (complaint.message, ERROR)), width - 1, indent=3)]


class Helper(NamedTuple):
    """What helps at a prompt: the next words, how the line goes on, the text with a word put in, what it would do."""

    complete: Callable[[str], Sequence[str]] = lambda _: ()
    usage: Callable[[str], str] = lambda _: ""
    replace: Callable[[str, str], str] = lambda _, word: word
    foretell: Callable[[str], Line] = lambda _: ()


class CommandLine(Widget):
    """A prompt with a line of hints above it, and below it one for what it would do or what is wrong with it.

    Hidden until `open`.

    It is there all the time, so that it has the keyboard before the next key comes, however fast that is.
    """

    DEFAULT_CSS = """
    CommandLine { layer: line; dock: bottom; height: 3; background: $background; display: none; }
    CommandLine #prompt { width: 3; height: 1; }
    CommandLine Horizontal { height: 1; }
    CommandLine Input { height: 1; border: none; padding: 0; background: $background; }
    CommandLine Input:focus { border: none; }
    CommandLine #hints, CommandLine #complaint { height: 1; }
    """

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape", "cancel", "cancel", show=False, id="line.cancel"),
        Binding("tab", "complete", "complete", show=False, id="line.complete", priority=True),
        Binding("up", "recall(-1)", "earlier", show=False, id="line.earlier", priority=True),
        Binding("down", "recall(1)", "later", show=False, id="line.later", priority=True),
    ]
    history: ClassVar[dict[str, list[str]]] = {}

    class Entered(Message):
        """The line was given."""

        def __init__(self, line: "CommandLine", text: str) -> None:
            super().__init__()
            self.line, self.text = line, text

    class Changed(Message):
        """The line reads otherwise now."""

        def __init__(self, line: "CommandLine", text: str) -> None:
            super().__init__()
            self.line, self.text = line, text

    class Cancelled(Message):
        """The line was left."""

        def __init__(self, line: "CommandLine") -> None:
            super().__init__()
            self.line = line

    def __init__(self) -> None:
        super().__init__(id="command-line")
        self.prompt = ":"
        self._helper = Helper()
        self._recalled = 0
        self._complaint: Complaint | None = None
        self._drawn_at = 0
        self._before: Widget | None = None
        self.input = Input(select_on_focus=False)
        self.hints = Canvas(id="hints")
        self.complaint = Canvas(id="complaint")
        self.sign = Canvas(id="prompt")

    def compose(self) -> ComposeResult:
        """Hints, the line with its prompt, what is wrong."""
        yield self.hints
        with Horizontal():
            yield self.sign
            yield self.input
        yield self.complaint

    @property
    def is_open(self) -> bool:
        """Whether somebody is typing."""
        return bool(self.display)

    @property
    def before(self) -> Widget | None:
        """What had the keyboard when the line was opened."""
        return self._before

    def open(self, prompt: str, text: str = "", helper: Helper | None = None) -> None:
        """Take the keyboard at once."""
        self.prompt, self._helper = prompt, helper or Helper()
        self._recalled, self._complaint = 0, None
        self._before = self.screen.focused
        self.display = True
        self.input.cursor_blink = False
        with self.prevent(Input.Changed):
            self.input.value = text
        self.input.cursor_position = len(text)
        self.screen.set_focus(self.input)
        self.call_after_refresh(self.draw)

    def close(self) -> None:
        """Give the keyboard back."""
        self.display = False
        self.screen.set_focus(self._before)

    @property
    def past(self) -> list[str]:
        """What was typed before at this prompt, oldest first."""
        return self.history.setdefault(self.prompt, [])

    def on_resize(self, _: events.Resize) -> None:
        """Draw for the new size."""
        self.draw()

    def draw(self) -> None:
        """Prompt, hints, complaint."""
        if not self.is_open:
            return
        self.sign.paint([line((f" {self.prompt} ", ACCENT))])
        words = self._helper.complete(self.input.value)
        shown: list[Line] = [line((word, PLAIN if place else ACCENT)) for place, word in enumerate(words[:12])]
        usage = self._helper.usage(self.input.value)
        hint = joined(shown, ("  ", FAINT)) if shown else line((usage, MUTED))
        if shown and usage:
            hint = (*hint, ("   ", FAINT), (usage, FAINT))
        self.hints.paint([line(" ", *(line(("tab ", FAINT)) if shown else ()), *hint)])
        below = self._below()
        self._room_for(len(below))
        self.complaint.paint(below)

    def _below(self) -> list[Line]:
        """What is wrong with the line, or what it would hit."""
        width = self.size.width
        if self._complaint is not None:
            return complaint_lines(self._complaint, width)
        return wrapped(line("   ", *self._helper.foretell(self.input.value)), width - 1, indent=3)

    def _room_for(self, lines: int) -> None:
        """Complaints and foretellings may be longer than a line."""
        if self.complaint.size.height != lines:
            self.complaint.styles.height, self.styles.height = lines, 2 + lines

    def follow(self, second: int) -> None:
        """Time goes on while somebody types: what the command would do changes."""
        if self.is_open and second != self._drawn_at:
            self._drawn_at = second
            self.draw()

    def complain(self, complaint: Complaint) -> None:
        """Say what is wrong, under the word that is."""
        self._complaint = complaint
        self.draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Another text: hints follow, the complaint is forgotten."""
        event.stop()
        if not self.is_open:
            return
        self._complaint = None
        self.draw()
        self.post_message(self.Changed(self, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The line is given; whoever opened it says whether it is well."""
        event.stop()
        self.post_message(self.Entered(self, event.value))

    def remember(self, text: str) -> None:
        """Keep a line for `up`."""
        if text.strip() and (not self.past or self.past[-1] != text):
            self.past.append(text)

    def action_cancel(self) -> None:
        """Leave the line."""
        self.post_message(self.Cancelled(self))

    def action_complete(self) -> None:
        """Take the first of the hints."""
        words = self._helper.complete(self.input.value)
        if words:
            self.input.value = self._helper.replace(self.input.value, words[0])
            self.input.cursor_position = len(self.input.value)

    def action_recall(self, by: int) -> None:
        """Show an earlier line, or a later one."""
        past = self.past
        self._recalled = max(-len(past), min(0, self._recalled + by))
        self.input.value = past[self._recalled] if self._recalled else ""
        self.input.cursor_position = len(self.input.value)
