"""`flightdeck bench`: the reference loads flown several times in turn, and the figures that compare machines."""

import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from console.bench.measurement import MeasuredFlight, calibrate, measure_flight
from recordings.version import VERSION, build_kind

LOADS = ("reference-s", "reference-m", "reference-l")
NORMAL_STEPS_PER_S = 1_000_000
"""A normalised figure is one of a machine that calibrates at this speed."""

Progress = Callable[[str, float], object]


class Spread(msgspec.Struct, frozen=True):
    """The median of several measurements, the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float], digits: int = 3) -> "Spread":
        """The spread of at least one value, rounded."""
        found = (statistics.median(values), min(values), max(values))
        return cls(*(round(each, digits) for each in found))

    @property
    def share(self) -> float:
        """The distance from the lowest to the highest, as a share of the median."""
        return (self.highest - self.lowest) / self.median if self.median else 0.0


class MeasuredLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one load: medians of its rounds, and the spread of the speed.

    `times_real`: virtual seconds per wall second of the flight. `start_and_exit_s`: the process without the flight.
    `normalised_…`: on a machine that calibrates at `NORMAL_STEPS_PER_S`. `repeatable`: all rounds were one flight.
    """

    scenario: str
    until: str
    rounds: int
    virtual_s: float
    events: int
    turns: int
    journal_sha256: str
    repeatable: bool
    times_real: Spread
    normalised_times_real: float
    turns_per_s: int
    us_per_event: float
    normalised_us_per_event: float
    user_s: float
    peak_rss_mb: float
    start_and_exit_s: float


class BenchReport(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `flightdeck bench --json` prints. `build`: of `build_kind`; `calibration`: steps per second."""

    version: str
    build: str
    python: str
    system: str
    processor: str
    cores: int
    recorded: bool
    rounds: int
    interrupted: bool
    calibration: Spread
    loads: tuple[MeasuredLoad, ...]

    @property
    def repeatable(self) -> bool:
        """Whether the rounds of each load were one flight."""
        return all(load.repeatable for load in self.loads)


def measure(loads: Mapping[str, str], rounds: int, *, record: bool, progress: Progress) -> BenchReport:
    """Fly each load (a scenario and its duration) once a round, after a calibration.

    An interruption ends it with the finished flights. `progress` gets what is measured, and the share of the whole.
    Raises FlightFailed, and KeyboardInterrupt if no flight is finished.
    """
    flights: dict[str, list[MeasuredFlight]] = {scenario: [] for scenario in loads}
    calibrations: list[float] = []
    interrupted, done, whole = False, 0, rounds * len(loads)
    try:
        for number in range(1, rounds + 1):
            for scenario, until in loads.items():
                progress(f"round {number} of {rounds}: {scenario}, {until}", done / whole)
                calibrations.append(calibrate())
                flights[scenario].append(measure_flight(scenario, until, record=record))
                done += 1
    except KeyboardInterrupt:
        if not done:
            raise
        interrupted = True
    calibration = Spread.of(calibrations, 0)
    return BenchReport(
        version=VERSION,
        build=build_kind(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=_cores(),
        recorded=record,
        rounds=rounds,
        interrupted=interrupted,
        calibration=calibration,
        loads=tuple(
            _figures(scenario, until, flights[scenario], calibration.median / NORMAL_STEPS_PER_S)
            for scenario, until in loads.items()
            if flights[scenario]
        ),
    )


def _figures(scenario: str, until: str, flights: Sequence[MeasuredFlight], machine: float) -> MeasuredLoad:
    """The figures of a load's flights; `machine` is the machine's speed as a multiple of the normal one."""
    first = flights[0]
    wall_s = statistics.median(flight.wall_s for flight in flights)
    times_real = Spread.of([flight.virtual_s / flight.wall_s for flight in flights])
    us_per_event = wall_s * 1e6 / max(first.events, 1)
    return MeasuredLoad(
        scenario=scenario,
        until=until,
        rounds=len(flights),
        virtual_s=first.virtual_s,
        events=first.events,
        turns=first.turns,
        journal_sha256=first.journal_sha256,
        repeatable=len({(flight.journal_sha256, flight.turns) for flight in flights}) == 1,
        times_real=times_real,
        normalised_times_real=round(times_real.median / machine, 3),
        turns_per_s=round(first.turns / wall_s),
        us_per_event=round(us_per_event, 3),
        normalised_us_per_event=round(us_per_event * machine, 3),
        user_s=round(statistics.median(flight.user_s for flight in flights), 3),
        peak_rss_mb=round(statistics.median(flight.peak_rss_mb for flight in flights), 1),
        start_and_exit_s=round(statistics.median(flight.process_s - flight.wall_s for flight in flights), 3),
    )


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    """The processor's name, where the system has one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
