"""A flight that is watched while it is recorded: what its brokers, coordinators and clients say of themselves."""

from pathlib import Path
from typing import Any, NamedTuple

import trio

from cluster.simulation import Simulation
from recordings.format import Settings
from recordings.journal import Recorder, new_header
from tests.flights import random_spec
from tests.truth import Truth
from tests.witness import watching

SEED = 6


class Watched(NamedTuple):
    """A recording, and the view document that the simulator's own objects made of its end, without any event."""

    path: Path
    told: dict[str, Any]


def fly_watched(path: Path) -> Watched:
    """Record a random flight and ask everybody in it."""
    spec = random_spec(SEED)
    settings = Settings(seed=SEED, until_us=spec.until_us)
    recorder = Recorder(path, new_header(f"random-{SEED}", f'title = "{spec.title}"', settings))
    told: dict[str, Any] = {}
    with watching() as witness:
        simulation = Simulation(spec, SEED, sinks=[recorder])

        async def main() -> None:
            async with simulation.running():
                truth = Truth(simulation, witness)
                for second in range(spec.until_us // 1_000_000 + 1):  # it remembers what it saw each second
                    await simulation.timeline.fly(second * 1_000_000)
                    told.update(truth.document())

        trio.run(main, clock=simulation.timeline)
    recorder.close(turns=simulation.timeline.turn, virtual_us=spec.until_us)
    return Watched(path, told)
