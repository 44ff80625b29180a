"""The host interface of the console: the part of the application that screens, palette and actions use."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Protocol

from console.flight import Flight
from console.forking.flights_beside import Forking
from console.operating.key_question import KeyQuestion
from console.operating.notices import Notices
from console.presenters.fault_menu import CommandTarget
from console.presenters.styled_text import Line, PlaceLink
from console.settings import SettingsFile
from console.themes.theming import Theming
from console.time_input import Instant
from console.widgets.command_input import PromptLine
from console.widgets.panel import Panel


class AppInterface(Protocol):
    """The application, implemented by `FlightdeckApp`; its screens cannot import that class."""

    flight: Flight
    theming: Theming
    caption: str
    directory: Path
    forking: Forking
    notices: Notices
    settings_file: SettingsFile

    def selected_target(self) -> CommandTarget | None:
        """The object that the fault menu would be about; None without one."""

    def why_no_remedies(self) -> str | None:
        """Why the place shows no rebalance to find remedies for; None if it does."""

    def focused_panel(self) -> Panel | None:
        """The panel with the focus."""

    def keys_by_action(self) -> dict[str, str]:
        """The key in force for each action's id."""

    def footer(self, width: int, place: Sequence[str], enter: str) -> Line:
        """The footer's keys for a width in cells: the actions of a place, or of time and faults."""

    def place(self) -> str:
        """The place that is shown, as `go` names it."""

    def go(self, place: str) -> None:
        """Show a place by its name."""

    def link_at(self, of: Line, x: int) -> PlaceLink | None:
        """Where a cell of a drawn line leads; None if it leads nowhere."""

    def follow(self, link: PlaceLink) -> None:
        """Go where a link leads."""

    def execute_line(self, text: str) -> bool:
        """Execute a command line; True if it could be parsed."""

    def open_line(self, prompt: str, text: str = "") -> None:
        """Open the input line with `text` in it."""

    def input_line(self) -> PromptLine | None:
        """The input line of the screen on top, open or not; None if the screen has none."""

    def seek(self, instant: Instant) -> None:
        """Seek to an instant of the flight."""

    def show_key(self, question: KeyQuestion) -> str:
        """Show where a key goes. Returns the reason of a refusal."""

    def show_why(self, name: str) -> str:
        """Answer `why?` on a name, or on the selection without one; returns the reason of a refusal."""

    def undo(self) -> str:
        """Go on with the live flight from before its last command; returns why not."""

    def warn(self, message: str | None) -> None:
        """Show a short warning; nothing for an empty message."""

    def action_fault(self) -> None:
        """Open the fault menu of the selected target."""

    def scrub(self, x: int, width: int, *, first: bool) -> None:
        """Seek to a column of the flight strip; `first` for the press of the mouse button."""

    def start_scenario(self, scenario: str) -> str:
        """Replace the flight with a live flight of a scenario; returns why not, or the question before that."""

    def play_recording(self, path: Path, key: str = "enter") -> str:
        """Replace the flight with a recording; returns why not, or the question before that."""

    def run_action(self, action: str) -> Awaitable[bool]:
        """Run a Textual action by its name."""
