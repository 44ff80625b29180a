"""`flightdeck check`: the options judged, the swarm flown, and a scenario file written for each failure."""

from pathlib import Path

from console.cli.errors import UsageError, complain
from console.cli.options import duration_of
from console.cli.output import StageProgress
from recordings.flights import interruption
from recordings.swarm.check import Checked
from recordings.swarm.check import check as check_seeds
from recordings.swarm.generator import SHORTEST_US

MOST_JOBS = 256


def check(seeds: int, first_seed: int, virtual: str, progress: StageProgress, jobs: int = 1) -> Checked:
    """Fly `seeds` seeds from `first_seed` on for `virtual` each. Raises UsageError.

    The files of failures are written to the current directory; where that cannot be, it is said.
    """
    virtual_us = duration_of("--virtual", virtual) or 0
    if seeds < 1:
        raise UsageError("--seeds: at least one seed is flown")
    if first_seed < 0:
        raise UsageError("--from: seeds are counted from 0")
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"--jobs: from 1 to {MOST_JOBS} processes fly")
    if virtual_us < SHORTEST_US:
        raise UsageError(
            f"--virtual: {virtual} leaves no time for trouble and healing: at least {SHORTEST_US // 1_000_000}s"
        )

    def tell(done: int, failed: int, what: str) -> None:
        progress(f"{failed} failed, {what}", done / seeds)

    with interruption.seen_to():  # also between two flights
        checked = check_seeds(seeds, virtual_us, first_seed=first_seed, progress=tell, jobs=jobs)
    progress.clear()
    for failure in checked.failures:
        try:
            Path(failure.file).write_text(failure.scenario, encoding="utf-8")
        except OSError as error:
            complain(f"cannot write {failure.file}: {error.strerror or error}")
    return checked
