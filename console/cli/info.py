"""Commands that print information: the library, a scenario's text, this machine."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from typing import Annotated

from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD, NOT_HELD, note
from console.cli.streams import json_of, print_text


def scenarios(*, json: Json = False) -> int:
    """List the library of scenarios."""
    from console.cli import output
    from recordings.scenarios.loader import list_scenarios

    listed = list_scenarios()
    print_text(json_of(listed) if json else output.of_library(listed))
    return HELD


def show(scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")], /) -> int:
    """Print a scenario's text: its cluster, its steps, its expectations, and its lesson."""
    from recordings.scenarios.loader import load

    loaded = load(scenario)
    note(loaded.notes)
    print_text(loaded.text.rstrip("\n"))
    return HELD


def doctor(*, json: Json = False) -> int:
    """Report what this machine has, what is missing, and how to install it."""
    from recordings.doctor import diagnose, render

    diagnosis = diagnose()
    print_text(json_of(diagnosis) if json else render(diagnosis))
    return HELD if diagnosis.healthy else NOT_HELD
