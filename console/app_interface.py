"""What screens, the palette and the table of actions may ask of the application they belong to."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.widgets.panel import Panel


class AppInterface(Protocol):
    """The application, as everything that it shows knows it; `FlightdeckApp` is the one there is."""

    flight: Flight
    theme: str
    caption: str

    def selected_thing(self) -> CommandTarget | None:
        """What faults would be about."""

    def focused_panel(self) -> Panel | None:
        """The list that keys move in."""

    def keys_by_action(self) -> dict[str, str]:
        """How each action's key is shown, as it is bound now."""

    def go(self, place: str) -> None:
        """Show a place by its name."""

    def give(self, text: str) -> bool:
        """Carry out a line as if it had been typed."""

    def open_line(self, prompt: str, text: str = "") -> None:
        """Open the line at the bottom with something to begin with."""

    def action_fault(self) -> None:
        """Open the fault menu of what is selected."""

    def scrub(self, x: int, width: int, *, first: bool) -> None:
        """Travel to where the flight strip was touched."""

    def start_scenario(self, scenario: str) -> None:
        """Fly a scenario instead."""

    def play_recording(self, path: Path) -> None:
        """Play a recording instead."""

    def run_action(self, action: str) -> Awaitable[bool]:
        """Run one of Textual's actions by its name."""
