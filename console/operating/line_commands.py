"""Command lines: typed at the `:` prompt, or given as text by keys, menus, the palette and scripts.

A refused line stays open with its error: a caret stands under the wrong word, and what was typed can be corrected.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cluster.commands import COMMANDS, Command, CommandError
from console.app_interface import AppInterface
from console.command_line import (
    USAGES,
    Fly,
    Go,
    Play,
    Theme,
    Why,
    completed,
    completions,
    read,
    usage_of,
)
from console.control_commands import execute
from console.flight import ONLY_RECORDED, READ_ONLY
from console.forking.fork_line import Fork, ForkCancel, Undo
from console.operating.key_question import KeyQuestion
from console.operating.tool_question import ToolOrder, ToolQuestion, order_preview, output_of, why_refused
from console.presenters.impact import BROKER_SESSION_US, impact_of, preview
from console.presenters.list_view import FILTER_USAGE
from console.presenters.styled_text import ERROR, MUTED, STRONG, Line, line
from console.screens.catalogue import PLACES
from console.screens.overlays import PrintedScreen, open_printed
from console.settings.settings_file import MOST_COMMANDS
from console.themes.names import THEME_NAMES
from console.time_input import Instant
from console.widgets.command_input import InputHelp, LineError, PromptLine
from recordings.kafka_tools.tool_lines import is_tool_line

if TYPE_CHECKING:
    from textual.app import App

_PATHS = re.compile(r"[\w-]+(?:\.[\w-]+)*")
FORK_IT = " · F flies it from here, beside"
GRAMMAR_WORDS = {"at", "do", "for", "from", "in", "is", "no", "of", "on", "to"}


class LineCommands:
    """Reads, previews and executes command lines for the application."""

    def __init__(self, app: AppInterface) -> None:
        self._app = app

    def execute_line(self, text: str) -> bool:
        """Execute a line as if it were typed; errors become notices. True if the line could be parsed."""
        try:
            command = self._read(text)
        except CommandError as error:
            self._app.warn(str(error))
            return False
        self._app.warn(self._execute(command))
        return True

    def is_typed(self) -> bool:
        """Whether a line is open: another screen would read what is typed as keys."""
        on_top = cast("App[None]", self._app).screen_stack[-1:]  # none when the console ends
        return any(line.is_open for screen in on_top for line in screen.query(PromptLine))

    def open(self, prompt: str, text: str = "") -> PromptLine | None:
        """Open the input line with `text` in it; None where it cannot be opened."""
        command_line = self._app.input_line()
        if command_line is None or command_line.is_open:
            return None
        names = self._app.flight.names()
        input_help = InputHelp(
            lambda typed: completions(typed, names, PLACES),
            lambda typed: usage_of(typed, PLACES),
            completed,
            self._preview,
            self._app.settings_file.settings.commands,
        )
        command_line.open(prompt, text, input_help if prompt == ":" else InputHelp(usage=lambda _: FILTER_USAGE))
        return command_line

    def entered(self, command_line: PromptLine, text: str) -> None:
        """Execute the line, or show its error; a filter stays."""
        if command_line.prompt == "/":
            if command_line.filter_list(text):
                command_line.close()
        elif text.strip():
            self._entered(command_line, text)
        else:
            command_line.close()

    def _entered(self, command_line: PromptLine, text: str) -> None:
        try:
            command = self._read(text)
        except CommandError as error:
            suggestion = f" (did you mean {error.suggestion}?)" if error.suggestion else ""
            command_line.show_error(LineError.at(text, error.column, f"{error.message}{suggestion}"))
            return
        command_line.close()  # a command may show another screen
        refusal = self._execute(command)
        if not refusal:
            self._remember(text)
        elif self._app.input_line() is command_line:
            self.open(":", text)
            command_line.show_error(LineError.at(text, refused_column(text, refusal), refusal))
        else:
            self._app.warn(refusal)

    def _remember(self, text: str) -> None:
        remembered = self._app.settings_file
        commands = remembered.settings.commands
        if commands[-1:] != [text]:
            commands.append(text)
            del commands[:-MOST_COMMANDS]
            remembered.save()

    def _read(self, text: str) -> object:
        return read(text, self._app.flight.names(), PLACES)

    def _execute(self, command: object) -> str:
        """Execute a command; returns the reason of a refusal, or an empty text."""
        app = self._app
        match command:
            case Go(place):
                app.go(place)
            case Instant():
                if app.flight.seekable is None:
                    return ONLY_RECORDED
                app.seek(command)
            case Fly(scenario):
                return app.start_scenario(scenario)
            case Play(path):
                return app.play_recording(Path(path))
            case Why(name):
                return app.show_why(name)
            case KeyQuestion():
                return app.show_key(command)
            case ToolQuestion():
                return open_printed(cast("App[None]", app), app.flight, command)
            case Fork() | ForkCancel() | Undo():
                return self._fork(command)
            case Theme(name):
                app.theming.choose(THEME_NAMES[name])
            case ToolOrder():
                return self._give(command)
            case _:
                return self._why_without_effect(command) or execute(app.flight, command)
        return ""

    def _fork(self, command: Fork | ForkCancel | Undo) -> str:
        """Fork the flight, end the fork, or go on from before the last command."""
        if isinstance(command, Fork):
            return self._app.forking.fork(self._app.flight, command)
        return self._app.forking.cancel() if isinstance(command, ForkCancel) else self._app.undo()

    def _give(self, order: ToolOrder) -> str:
        """Give what a tool's line orders, and open what the tool prints of it."""
        flight = self._app.flight
        refused = self._why_without_effect(order)
        output = None if refused else output_of(flight.view, order)
        refused = refused or execute(flight, order)
        if output is not None and not refused:
            cast("App[None]", self._app).push_screen(PrintedScreen(order.text, output))
        return refused

    def _why_without_effect(self, command: object) -> str:
        """Why the cluster would refuse a command in the state that the screens show; empty if it would not."""
        flight = self._app.flight
        if isinstance(command, ToolOrder) and not flight.why_not_controllable():
            return why_refused(flight.view, command)
        if not isinstance(command, Command) or flight.why_read_only() or flight.why_not_controllable():
            return ""
        return impact_of(flight.view, command, flight.now_us, spec=flight.source.spec).refused

    def _preview(self, typed: str) -> Line:
        """The impact that a typed command would have now, or why the cluster takes no command."""
        flight = self._app.flight
        why_not = flight.why_read_only() or flight.why_not_controllable()
        if why_not is not None:
            how = FORK_IT if why_not == READ_ONLY else ""
            return line(("✖ ", ERROR), (why_not, STRONG), (how, MUTED)) if is_for_cluster(typed) else ()
        session_us, spec = flight.source.broker_session_us or BROKER_SESSION_US, flight.source.spec
        if is_tool_line(typed):
            return order_preview(flight.view, flight.now_us, typed, flight.names(), session_us, spec)
        return preview(flight.view, flight.names(), flight.now_us, typed, session_us, spec)


def is_for_cluster(text: str) -> bool:
    """Whether a line that is being typed is a command to the cluster."""
    word, _, rest = text.strip().partition(" ")
    own = word in USAGES and not (word in {"pause", "resume"} and rest.strip())
    return not own and any(str(form.required[0]) == word for form in COMMANDS)


def refused_column(text: str, refusal: str) -> int:
    """The column of the last word that the refusal names; without one, of the first word after the command."""
    named = set(_PATHS.findall(refusal.partition(" (did you mean")[0]))
    pieces = {piece for path in named for piece in path.split(".")} - GRAMMAR_WORDS
    command, _, rest = text.lstrip().partition(" ")
    found = len(text) - len(rest.lstrip() or command)
    for path in _PATHS.finditer(text, found if rest else 0):
        if path[0] in named - GRAMMAR_WORDS:
            found = path.start()
            continue
        at = path.start()
        for piece in path[0].split("."):
            found = at if piece in pieces else found
            at += len(piece) + 1
    return found
