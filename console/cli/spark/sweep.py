"""`flightdeck sweep`: many settings and seeds of a scenario flown with Spark, judged as a frontier of two measures."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from console.cli.arguments import Json, Master
from console.cli.errors import HELD, NOT_HELD, UsageError
from console.cli.options import AllowCode, leave_of
from console.cli.streams import json_of, print_text, write_help


def sweep(
    file: Annotated[Path, Parameter(help="A sweep file (TOML): docs/sweep.md has the format.")],
    /,
    *,
    out: Annotated[str, Parameter(help="A directory, or a URI that all workers see; the same command resumes there.")],
    master: Master = None,
    record: Annotated[
        Path | None, Parameter(help="Record each flight in this directory, under the name of its result.")
    ] = None,
    allow_code: AllowCode = False,
    json: Json = False,
) -> int:
    """Fly a grid or a sample of settings and seeds with Spark, and show the frontier of two measures."""
    try:
        from recordings.spark.sweep.sweep_file import load_sweep

        ordered = load_sweep(file)
        leave = leave_of(allow_code)
        from console.cli.outputs import sweep as sweep_output
        from recordings.spark.runtime.java import find_java

        find_java()  # before the slow imports
        from recordings.spark.sweep.sweep import run_sweep

        if record is not None:
            record.mkdir(parents=True, exist_ok=True)
        progress = sweep_output.progress_on(sys.stderr)
        try:
            progress.starting()
            swept = run_sweep(
                ordered,
                out,
                master=master,
                recordings=None if record is None else record.absolute(),
                leave=leave,
                progress=progress.flown,
            )
        finally:
            progress.clear()
    except KeyboardInterrupt:
        raise UsageError(f"interrupted: the same command continues; {out} keeps what has ended") from None
    if json:
        print_text(json_of(swept))
    else:
        write_help(sweep_output.of_sweep(swept, out, coloured=sys.stdout.isatty()))
    complete = not swept.frontier.missing and all(each.measures for each in swept.frontier.points)
    return HELD if complete else NOT_HELD
