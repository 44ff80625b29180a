"""Opening the console on a live flight. `flightdeck` without a word comes here without the parser of options."""

# ruff: noqa: PLC0415 - heavy imports are made when the terminal is known

import os
import sys
from typing import TYPE_CHECKING

from console.cli.errors import UsageError
from console.cli.streams import has_screen, is_dumb_terminal, print_text

if TYPE_CHECKING:
    from console.bridge import Bridge

FIRST_SCENARIO = "first-flight"
"""What flies where no scenario is named."""


def open_first_flight() -> int:
    """Open the console as `flightdeck` does without an option; returns the exit code. Raises UsageError."""
    check_terminal()
    from console.bridge import Bridge

    return fly_here(Bridge(FIRST_SCENARIO), None, plain=False, invariants=True, metrics=None)


def check_terminal() -> None:
    """Raises UsageError if no terminal can show the console."""
    if not has_screen():
        raise UsageError(
            "the console needs a terminal; `flightdeck run SCENARIO` flies without one, `flightdeck --plain` in lines"
        )


def fly_here(source: "Bridge", theme: str | None, *, plain: bool, invariants: bool, metrics: int | None) -> int:
    """Fly on this terminal, on screens or in lines."""
    if plain or is_dumb_terminal():
        from console.cli.plain import fly_in_lines
        from console.cli.scraping.metrics import flights_served

        if not plain:
            print_text(f"TERM={os.environ.get('TERM', '')}: this terminal shows no screens; the flight is in lines")
        with flights_served(metrics) as source.watch:
            return fly_in_lines(source, print_text, sys.stdin.fileno())
    from console.cli.play import fly_on_screen

    return fly_on_screen(source, theme, invariants=invariants, metrics=metrics)
