"""Planned commands that this release lists but does not have yet."""

from typing import Annotated

from cyclopts import App, Parameter

from console.cli.errors import UsageError
from recordings.version import VERSION

PLANNED = {
    "compare": "Analyse two flights side by side with Spark.",
}


def add_planned_commands(app: App) -> None:
    """Add the planned commands to the command line."""
    for name, summary in PLANNED.items():
        _add_planned(app, name, summary)


def _add_planned(app: App, name: str, summary: str) -> None:
    def later(*_: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> int:
        raise UsageError(f"`flightdeck {name}` comes with a later release; this is {VERSION}")

    later.__doc__ = f"{summary} (Comes with a later release.)"
    app.command(later, name=name)
