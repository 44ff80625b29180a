"""Commands on recordings: `summary`, and `diff`, which compares two by what they cost."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from console.cli.arguments import Json, Salvage
from console.cli.errors import HELD, NOT_HELD, warn
from console.cli.streams import print_text


def summary(
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Print a recording's main tables, without Spark."""
    from console.cli import output
    from recordings.tables.summary import summarize

    found = summarize(recording, salvage=salvage)
    warn(found.warnings)
    print_text(msgspec.json.encode(found).decode() if json else output.of_recording(found))
    return HELD


def diff(
    a: Annotated[Path, Parameter(help="A recording's directory.")],
    b: Annotated[Path, Parameter(help="Another recording's directory.")],
    /,
    *,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Compare two recordings: what each costs, the first divergence that matters, and both bills."""
    from console.cli.comparison import of_diff
    from recordings.comparison.diff import diff as diff_recordings
    from recordings.flights import interruption

    with interruption.seen_to():
        found = diff_recordings(a, b, salvage=salvage)
    warn([*found.a.course.warnings, *found.b.course.warnings])
    print_text(msgspec.json.encode(found.report()).decode() if json else of_diff(found))
    return HELD if found.equal else NOT_HELD
