"""Commands on recordings: `summary`, `diff` (two by what they cost), `fork` (one with another course)."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from console.cli.arguments import Json, Record, Salvage, Strict
from console.cli.errors import HELD, NOT_HELD, warn
from console.cli.options import AllowCodeFrom, Sets, Until, duration_of, leave_of, settings_of
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


def fork(  # noqa: PLR0913 - options
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    at: Annotated[str, Parameter(help="The instant of the fork in virtual time.", allow_leading_hyphen=True)],
    do: Annotated[
        list[str] | None,
        Parameter(help="A command at that instant, as it is typed: 'kill broker-2'; may be repeated.", negative=""),
    ] = None,
    settings: Sets = None,
    until: Until = None,
    record: Record = None,
    salvage: Salvage = False,
    strict: Strict = False,
    allow_code: AllowCodeFrom = None,
    json: Json = False,
) -> int:
    """Fly a recording again up to an instant, then with other commands and settings: what does it cost?"""
    at_us, until_us, changes = duration_of("--at", at) or 0, duration_of("--until", until), settings_of(settings)
    from console.cli import output
    from console.cli.comparison import of_fork
    from recordings.flights.fork import ForkPoint
    from recordings.flights.fork import fork as fork_recording

    point = ForkPoint(at_us=at_us, commands=tuple(do or ()), settings=tuple(changes))
    progress = output.progress_on(sys.stderr, until_us)
    try:
        result = fork_recording(
            recording, point, until_us=until_us, record=record, salvage=salvage, progress=progress,
            leave=leave_of(allow_code),
        )  # fmt: skip
    finally:
        if progress is not None:
            progress.clear()
    warn(result.warnings)
    print_text(msgspec.json.encode(result.report()).decode() if json else of_fork(result, record, strict=strict))
    flight = result.flight
    return HELD if flight.held and not (strict and flight.accidental) else NOT_HELD
