"""Commands that only look: at the library, at a scenario's text, at this machine."""

# ruff: noqa: PLC0415 - everything heavy is imported by the command that needs it

from typing import Annotated

import msgspec
from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD, NOT_HELD
from console.cli.streams import say


def scenarios(*, json: Json = False) -> int:
    """List the library of scenarios."""
    from console.cli import output
    from recordings.scenarios.loader import list_scenarios

    listed = list_scenarios()
    say(msgspec.json.encode(listed).decode() if json else output.of_library(listed))
    return HELD


def show(scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")], /) -> int:
    """Print a scenario's text: what it declares, what happens in it, what must hold, and its lesson."""
    from recordings.scenarios.loader import load

    say(load(scenario).text.rstrip("\n"))
    return HELD


def doctor(*, json: Json = False) -> int:
    """Say what this machine has, what is missing, and how to get it."""
    from recordings.doctor import diagnose, render

    diagnosis = diagnose()
    say(msgspec.json.encode(diagnosis).decode() if json else render(diagnosis))
    return HELD if diagnosis.healthy else NOT_HELD
