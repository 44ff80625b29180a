"""A plan from its first flight to its judgement: what is flown, kept, resumed, and judged."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path

import msgspec

from recordings.flights import interruption
from recordings.journal.format import FORMAT
from recordings.planning.flying import RowFlight, RowPilot, RowSeed, flown
from recordings.planning.grid import RowSettings, refuse_hopeless, texts_of
from recordings.planning.ranking import Judgement, judge
from recordings.planning.storage import PlanDirectory, PlanHeader
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import Scenario, ScenarioErrors, SettingError
from recordings.version import VERSION


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as far as it was flown: its rows judged over `seeds`, and every flight.

    `flown_now`: the flights of this process; the others come from the directory. `missing`: those not flown.
    """

    scenario: str
    fixed: list[str]
    seeds: list[int]
    judgement: Judgement
    flights: list[RowFlight]
    flown_now: int
    missing: int
    interrupted: bool
    jobs: int
    wall_s: float

    @property
    def complete(self) -> bool:
        """Whether every row was judged."""
        return not self.interrupted and all(row.judged for row in self.judgement.rows)


class PlanOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: rows, seeds from `first_seed` on (default: the scenario's), and the options of each flight."""

    scenario: Scenario
    rows: list[RowSettings]
    seeds: int
    fixed: RowSettings = ()
    first_seed: int | None = None
    until_us: int | None = None
    invariants: bool = True

    def all_seeds(self) -> list[int]:
        """The seeds that every row flies."""
        first = self.scenario.spec.seed if self.first_seed is None else self.first_seed
        return list(range(first, first + self.seeds))

    def pilot(self, *, allow_code: bool) -> RowPilot:
        """What flies it."""
        return RowPilot(
            self.scenario,
            self.rows,
            fixed=self.fixed,
            until_us=self.until_us,
            invariants=self.invariants,
            allow_code=allow_code,
        )

    def header(self) -> PlanHeader:
        """What a directory keeps of it."""
        return PlanHeader(
            flightdeck=VERSION,
            format=FORMAT,
            scenario=self.scenario.name,
            scenario_sha256=sha256(self.scenario.text.encode()).hexdigest(),
            fixed=texts_of(self.fixed),
            rows=[texts_of(row) for row in self.rows],
            until_us=self.scenario.spec.until_us if self.until_us is None else self.until_us,
            invariants=self.invariants,
            first_seed=self.all_seeds()[0],
        )


def fly_plan(
    order: PlanOrder,
    *,
    leave: Leave | None = None,
    jobs: int = 1,
    out: Path | None = None,
    progress: Callable[[int, int, int], object] | None = None,
) -> Planned:
    """Fly every row with every seed, and judge the rows.

    `progress` gets the number of flights that have ended, of those that failed, and of all. Raises SettingError or
    ScenarioErrors if no row with one of the values is possible, RecordingError if `out` is another plan's or cannot be
    written.
    """
    began = time.perf_counter()
    pilot = order.pilot(allow_code=leave is not None)
    seeds = order.all_seeds()
    impossible = _impossible(pilot, leave, seeds[0])
    possible = [row for row in range(len(order.rows)) if row not in impossible]
    kept = None if out is None else PlanDirectory(out, order.header())
    flights = [] if kept is None else [each for each in kept.flights if each.seed in seeds and each.row in possible]
    earlier, total = len(flights), len(seeds) * len(possible)
    with interruption.seen_to(), kept or nullcontext():
        for flight in _flown(pilot, seeds, possible, flights, jobs):
            if kept is not None:
                kept.append(flight)
            flights.append(flight)
            if progress is not None:
                progress(len(flights), sum(1 for each in flights if each.failed is not None), total)
    interrupted = len(flights) < total
    flights.sort(key=lambda each: (each.row, each.seed))
    if interrupted:  # the seeds that all rows have
        done = Counter(each.seed for each in flights)
        seeds = [seed for seed in seeds if done[seed] == len(possible)]
    everything = [*impossible.values(), *flights]
    return Planned(
        scenario=order.scenario.name,
        fixed=texts_of(order.fixed),
        seeds=seeds,
        judgement=judge([texts_of(row) for row in order.rows], everything, seeds),
        flights=everything,
        flown_now=len(flights) - earlier,
        missing=total - len(flights),
        interrupted=interrupted,
        jobs=jobs,
        wall_s=round(time.perf_counter() - began, 3),
    )


def _flown(
    pilot: RowPilot, seeds: Sequence[int], rows: Sequence[int], there: Sequence[RowFlight], jobs: int
) -> Iterator[RowFlight]:
    """Fly what is missing: all rows of a seed before the next seed, so that an interruption leaves paired flights."""
    known = {(each.seed, each.row) for each in there}
    orders = [RowSeed(row, seed) for seed in seeds for row in rows if (seed, row) not in known]
    with flown(pilot, orders, max(1, min(jobs, len(orders)))) as ended:
        yield from ended


def _impossible(pilot: RowPilot, leave: Leave | None, seed: int) -> dict[int, RowFlight]:
    """The rows whose settings cannot be made, as failed flights of the first seed. Raises if no row can."""
    found: dict[int, RowFlight] = {}
    for row in range(len(pilot.rows)):
        try:
            pilot.plan(row, None if leave is None else leave.notify)
        except (SettingError, ScenarioErrors) as error:
            if len(found) == len(pilot.rows) - 1:
                raise
            found[row] = RowFlight(row=row, seed=seed, failed=str(error))
    refuse_hopeless(pilot.rows, {row: each.failed for row, each in found.items() if each.failed})
    return found
