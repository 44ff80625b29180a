"""Flights that are watched while they are recorded: what their brokers, coordinators and clients say of themselves."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from recordings.flights.runner import journal_command
from recordings.journal.format import Settings
from recordings.journal.writer import Recorder, new_header
from recordings.scenarios.loader import load
from tests.support.expected_document import INTERNAL, Truth
from tests.support.independent_recorder import IndependentRecorder, watching
from tests.support.lost_records import Vanished
from tests.support.random_flights import random_spec
from tests.support.spark.fleet import Sortie

SEED = 6
SECOND_US = 1_000_000


class Watched(msgspec.Struct):
    """A recording, and the view document that the simulator's own objects made of its end, without any event.

    `lag`: what they said of each group's lag and of its age in ms at each second. `gone`: topic → acknowledged records
    that no replica's log held in the end, those of aborted transactions left out. `deleted`: group → acknowledged
    records that were deleted before it reached them.
    """

    path: Path
    run_id: str
    told: dict[str, Any] = {}
    lag: dict[tuple[str, int], tuple[int, int]] = {}
    gone: dict[str, int] = {}
    deleted: dict[str, int] = {}


def fly_watched(path: Path) -> Watched:
    """Record a random flight and ask everybody in it."""
    return watch(path, random_spec(SEED), SEED)


def watch_sortie(place: Path, sortie: Sortie) -> Watched:
    """Record a flight of the fleet below `place`."""
    spec = sortie.make()
    path = place / f"{sortie.name}.flight"
    seed = spec.seed if sortie.seed is None else sortie.seed
    text = load(sortie.scenario).text if sortie.scenario else ""
    return watch(path, spec, seed, sortie.until_us, sortie.breaks, text=text)


def watch(
    path: Path,
    spec: ScenarioSpec,
    seed: int,
    until_us: int | None = None,
    breaks: Callable[[pytest.MonkeyPatch], None] | None = None,
    text: str = "",
) -> Watched:
    """Record a flight, perhaps with something broken in its cluster, and ask all its readers at every second.

    `text`: of the scenario, if there is one; without it a report knows no setting of the flight.
    """
    end_us = min(spec.until_us, until_us or spec.until_us)
    settings = Settings(seed=seed, until_us=end_us)
    text = text or "title = " + msgspec.json.encode(spec.title).decode()
    header = new_header(spec.title or "watched", text, settings)
    recorder = Recorder(path, header)
    result = Watched(path, header.run_id)
    with pytest.MonkeyPatch.context() as patch:
        if breaks is not None:
            breaks(patch)  # before the recorder comes: what is broken is what it stands beside
        with watching() as independent:
            simulation = Simulation(spec, seed, sinks=[recorder])
            simulation.on_command = lambda *note: journal_command(recorder, note)

            async def main() -> None:
                async with simulation.running():
                    truth = Truth(simulation, independent)  # it remembers what it saw each second
                    for now_us in range(0, end_us + 1, SECOND_US):
                        await simulation.timeline.fly(now_us)
                        for name, lag in truth.lags().items():
                            result.lag[name, now_us // SECOND_US] = lag
                    result.told = truth.document()
                    result.gone = _gone(simulation, independent)
                    result.deleted = {group: counts["deleted"] for group, counts in truth.fates_in_full().items()}

            trio.run(main, clock=simulation.timeline)
    recorder.close(turns=simulation.timeline.turn, virtual_us=end_us)
    return result


def _gone(simulation: Simulation, recorder: IndependentRecorder) -> dict[str, int]:
    """Walk every replica's log for every batch that was acknowledged, whether a group reads its topic or not."""
    losses: Counter[str] = Counter()
    for topic, partitions in simulation.topics.items():
        for name in (f"{topic}-{number}" for number in range(partitions) if topic not in INTERNAL):
            copies = [broker.replicas[name] for broker in simulation.brokers.values() if name in broker.replicas]
            lost = Vanished(partial(list, copies)).gone(recorder.acked_batches[name], recorder.judged)
            losses[topic] += len(lost - recorder.passages.aborted[name])
    return {topic: records for topic, records in losses.items() if records}
