"""The Spark task of the alert laboratory: a game or a recording in, what every rule made of it out."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from recordings.alerts.rules import RuleSet
from recordings.alerts.scoring import FlightOutcomes, outcomes_of
from recordings.alerts.watch import Watched, Watcher, watch
from recordings.bounded_files import RecordingError
from recordings.flights.runner import FlightError, fly, make_plan
from recordings.game.drawing import GameScenario, draw_game

ORDER: Final = "number bigint, recording string, level bigint, seed bigint"
SEEN: Final = "number bigint, flight string"


class LabOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A recording to watch, or (recording "") the game of a level and a seed to fly."""

    recording: str = ""
    level: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        """What the flight is called on the page."""
        return self.recording or f"game of level {self.level}, seed {self.seed}"


class LabFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A flight of the laboratory: what the rules made of it, or why it counts nowhere (`failure`)."""

    order: LabOrder
    outcomes: FlightOutcomes | None = None
    warnings: list[str] = []
    failure: str | None = None


class LabTask:
    """Watches flights in a worker. `salvage`: damaged recordings are read up to the damage."""

    def __init__(self, rules: RuleSet, *, salvage: bool) -> None:
        self.rules, self.salvage = rules, salvage

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Watch each flight, and yield what the rules made of it as JSON."""
        for batch in batches:
            for row in batch.to_pylist():
                flight = self.see(LabOrder(recording=row["recording"], level=row["level"], seed=row["seed"]))
                text = msgspec.json.encode(flight).decode()
                yield pa.RecordBatch.from_pydict({"number": [row["number"]], "flight": [text]})

    def see(self, order: LabOrder) -> LabFlight:
        """Watch one flight; what is wrong with it is its result."""
        try:
            if order.recording:
                watched = watch(Path(order.recording), self.rules, salvage=self.salvage)
            else:
                watched = watched_game(draw_game(order.level, order.seed), self.rules)
        except (RecordingError, FlightError) as error:
            return LabFlight(order=order, failure=str(error))
        return LabFlight(order=order, outcomes=outcomes_of(watched, self.rules), warnings=watched.warnings)


def watched_game(drawn: GameScenario, rules: RuleSet) -> Watched:
    """Fly a game under the eyes of the rules. Its faults are the hidden ones: its noise passes, and needs no alert."""
    watcher = Watcher(rules)
    result = fly(make_plan(drawn.scenario, invariants=False), log=watcher)
    watcher.look_until(result.virtual_us)
    watched = watcher.result(drawn.scenario.name, [])
    hidden = {(step.text, step.at_us) for step in drawn.faults}
    watched.faults = [fault for fault in watched.faults if (fault.text, fault.from_us) in hidden]
    return watched


def games(count: int, levels: Sequence[int], first_seed: int) -> list[LabOrder]:
    """So many games, the levels in turn, each seed for every level."""
    return [
        LabOrder(level=levels[number % len(levels)], seed=first_seed + number // len(levels)) for number in range(count)
    ]
