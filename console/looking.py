"""Commands that only look: at the library, at a scenario's text, at this machine."""

# ruff: noqa: PLC0415 - everything heavy is imported by the command that needs it

from typing import Annotated

import msgspec
from cyclopts import Parameter

from console.arguments import Json
from console.complaints import HELD, NOT_HELD
from console.printing import say


def scenarios(*, json: Json = False) -> int:
    """List the library of scenarios."""
    from console import output
    from recordings.scenario import list_scenarios

    listed = list_scenarios()
    say(msgspec.json.encode(listed).decode() if json else output.of_library(listed))
    return HELD


def show(scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")], /) -> int:
    """Print a scenario's text: what it declares, what happens in it, what must hold, and its lesson."""
    from recordings.scenario import load

    say(load(scenario).text.rstrip("\n"))
    return HELD


def doctor(*, json: Json = False) -> int:
    """Say what this machine has, what is missing, and how to get it."""
    from recordings.doctor import diagnose, render

    diagnosis = diagnose()
    say(msgspec.json.encode(diagnosis).decode() if json else render(diagnosis))
    return HELD if diagnosis.healthy else NOT_HELD
