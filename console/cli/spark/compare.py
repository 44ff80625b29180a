"""`flightdeck compare`: two flights, or two sets of flights with the same seeds, against each other."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from console.cli.arguments import Json, Master, Salvage
from console.cli.errors import HELD, NOT_HELD, UsageError, warn
from console.cli.streams import json_of, print_text, write_help


def compare(
    a: Annotated[Path, Parameter(help="A recording, or a directory of recordings: one for each seed.")],
    b: Annotated[Path, Parameter(help="What is compared with it: the same seeds with one change.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The directory for compare.json and compare.html.")],
    master: Master = None,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Compare two sets of flights seed by seed with Spark: what differs, by how much, and how sure that is."""
    from console.cli.outputs import compare as compare_output
    from recordings.spark.runtime.java import find_java

    try:
        find_java()  # before the slow imports
        from recordings.spark.compare.compare import compare_sets

        progress = compare_output.progress_on(sys.stderr)
        try:
            compared = compare_sets(a, b, out, master=master, salvage=salvage, progress=progress.reading)
        finally:
            progress.clear()
    except KeyboardInterrupt:
        raise UsageError(f"interrupted: nothing was written to {out}") from None
    warn([warning for pair in compared.pairs for warning in pair.warnings])
    if json:
        print_text(json_of(compared))
    else:
        write_help(compare_output.of_compared(compared, out, coloured=sys.stdout.isatty()))
    return NOT_HELD if compared.failed else HELD
