"""Commands of the plan that this release does not have yet: they are listed, and say so."""

from typing import Annotated

from cyclopts import App, Parameter

from console.cli.errors import UsageError
from recordings.version import VERSION

LATER = {
    "diff": "Compare two recordings.",
    "compare": "Analyse two flights side by side with Spark.",
    "sweep": "Fly a grid of settings and seeds with Spark.",
}


def announce(app: App) -> None:
    """Add them to the command line."""
    for name, summary in LATER.items():
        _announce(app, name, summary)


def _announce(app: App, name: str, summary: str) -> None:
    def later(*_: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> int:
        raise UsageError(f"`flightdeck {name}` comes with a later release; this is {VERSION}")

    later.__doc__ = f"{summary} (Comes with a later release.)"
    app.command(later, name=name)
