"""`flightdeck check`: validate the options, fly the swarm, and write a scenario file for each failure."""

from pathlib import Path

from console.cli.errors import UsageError, print_error
from console.cli.options import duration_of
from console.cli.output import StageProgress
from recordings.flights import interruption
from recordings.swarm.check import Checked, check
from recordings.swarm.generator import SHORTEST_US

MAX_JOBS = 256


def fly_seeds(seeds: int, first_seed: int, virtual: str, progress: StageProgress, jobs: int = 1) -> Checked:
    """Fly `seeds` seeds from `first_seed` on for `virtual` each. Raises UsageError.

    The files go into the current directory; a file that cannot be written is reported on stderr.
    """
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
        checked = check(seeds, virtual_us, first_seed=first_seed, progress=show_progress, jobs=jobs)
    progress.clear()
    for failure in checked.failures:
        try:
            Path(failure.file).write_text(failure.scenario, encoding="utf-8")
        except OSError as error:
            print_error(f"cannot write {failure.file}: {error.strerror or error}")
    return checked
