"""`flightdeck check`: validate the options, fly the swarm, and write a scenario file for each failure."""

# ruff: noqa: PLC0415 - the swarm is imported when it is flown

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD, NOT_HELD, UsageError, print_error
from console.cli.options import duration_of, whole_number
from console.cli.streams import json_of, print_text
from recordings.flights import interruption

if TYPE_CHECKING:
    from console.cli.output import StageProgress
    from recordings.swarm.check import Checked

MAX_JOBS = 256


def check(
    *,
    seeds: Annotated[int, Parameter(help="The number of random clusters to fly.", converter=whole_number)] = 200,
    first: Annotated[int, Parameter(name="--from", help="The first seed.", converter=whole_number)] = 1,
    virtual: Annotated[
        str, Parameter(help="Virtual time of each flight; its last 38 s are for recovery.", allow_leading_hyphen=True)
    ] = "60s",
    jobs: Annotated[int, Parameter(help="The number of processes.", converter=whole_number)] = 1,
    json: Json = False,
) -> int:
    """Fly random clusters under random faults: every invariant must hold, and each cluster must recover."""
    from console.cli import output

    checked = fly_seeds(seeds, first, virtual, output.StageProgress(sys.stderr), jobs)
    print_text(json_of(checked) if json else output.of_check(checked))
    return HELD if checked.held else NOT_HELD


def fly_seeds(seeds: int, first_seed: int, virtual: str, progress: "StageProgress", jobs: int = 1) -> "Checked":
    """Fly `seeds` seeds from `first_seed` on for `virtual` each. Raises UsageError.

    The files go into the current directory; a file that cannot be written is reported on stderr.
    """
    from recordings.swarm.check import check as check_seeds
    from recordings.swarm.generator import SHORTEST_US

    virtual_us = duration_of("--virtual", virtual) or 0
    if seeds < 1:
        raise UsageError("--seeds: at least 1")
    if first_seed < 0:
        raise UsageError("--from: a seed is at least 0")
    if not 1 <= jobs <= MAX_JOBS:
        raise UsageError(f"--jobs: from 1 to {MAX_JOBS} processes")
    if virtual_us < SHORTEST_US:
        raise UsageError(
            f"--virtual: {virtual} leaves no time for faults and recovery: at least {SHORTEST_US // 1_000_000}s"
        )

    def show_progress(done: int, failed: int, what: str) -> None:
        progress(f"{failed} failed, {what}", done / seeds)

    with interruption.seen_to():  # signals are also handled between two flights
        checked = check_seeds(seeds, virtual_us, first_seed=first_seed, progress=show_progress, jobs=jobs)
    progress.clear()
    for failure in checked.failures:
        try:
            Path(failure.file).write_text(failure.scenario, encoding="utf-8")
        except OSError as error:
            print_error(f"cannot write {failure.file}: {error.strerror or error}")
    return checked
