"""Hashes of the flights of the swarm: `python -m tests.support.swarm_hashes --seeds 200` prints a line for each seed.

Two builds of the same source must print the same. `.ci/run` compares a pure build with a compiled one.
"""

import argparse
import multiprocessing
import os
import sys

from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from recordings.swarm.generator import draw
from recordings.version import describe_build

VIRTUAL_US = 60_000_000


def journal_of(seed: int) -> str:
    """The seed, and the hash and numbers of its flight."""
    spec = draw(seed, VIRTUAL_US).spec
    plan = Plan(scenario=spec.title, text="", spec=spec, settings=Settings(seed=spec.seed, until_us=spec.until_us))
    result = fly(plan)
    return f"{seed} {result.journal_sha256} {result.events} events {result.turns} turns"


def main() -> None:
    """Fly the seeds on every core."""
    options = argparse.ArgumentParser(prog="python -m tests.support.swarm_hashes")
    options.add_argument("--seeds", type=int, default=200)
    options.add_argument("--expect", default="", help="end with an error if this build is of another kind")
    asked = options.parse_args()
    kind = describe_build()
    sys.stderr.write(f"{asked.seeds} seeds, {kind}\n")
    if not kind.startswith(asked.expect):
        sys.exit(f"expected a build that is {asked.expect}")
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for line in pool.imap(journal_of, range(1, asked.seeds + 1)):
            sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
