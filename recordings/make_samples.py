"""Make the packaged recordings anew: `python -m recordings.make_samples`.

They are flights of the library, cut short, for newcomers and tests to play. Keyframes are left out: they belong to one
version of the fold, and the player makes them.
"""

import shutil
from pathlib import Path

from recordings.flights.runner import fly, make_plan
from recordings.journal.catalogue import SAMPLES
from recordings.journal.format import KEYFRAMES
from recordings.scenarios.loader import load

MINUTE_US = 60_000_000
FLIGHTS = {"first-flight": 2 * MINUTE_US}
"""Scenario → the virtual time to fly."""


def make_sample(scenario: str, until_us: int, directory: Path) -> Path:
    """Fly a scenario up to an instant, into `NAME.flight` below a directory; replaces an existing one."""
    path = directory / f"{scenario}.flight"
    if path.exists():
        shutil.rmtree(path)
    directory.mkdir(parents=True, exist_ok=True)
    fly(make_plan(load(scenario), until_us=until_us), record=path)
    shutil.rmtree(path / KEYFRAMES, ignore_errors=True)
    return path


if __name__ == "__main__":
    for name, length_us in FLIGHTS.items():
        make_sample(name, length_us, SAMPLES)
