"""`flightdeck sweep`: fly a sweep file's flights as Spark tasks, and write what they cost.

    OUT/flights/KEY.json      each flight that has ended, written by its task
    OUT/results.parquet       the same as one table, for notebooks and SQL
    OUT/sweep.json, .html     the points, and the frontier of two measures

One task flies one flight (`mapInArrow`: one order in, its name out). The driver plans with an anti-join of all orders
and what has ended, so the same command continues a sweep that was interrupted, in whatever way.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from recordings.bounded_files import RecordingError
from recordings.planning.flying import RowPilot
from recordings.planning.grid import RowSettings, refuse_hopeless, texts_of
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import ScenarioErrors, SettingError
from recordings.spark.errors import ReportError, ReportInterruptedError, cause_of
from recordings.spark.runtime.session import spark_session
from recordings.spark.runtime.worker_tasks import NUMBER, attended, one_a_task, patient
from recordings.spark.sweep.frontier import Frontier, judge
from recordings.spark.sweep.kept_flights import COLUMNS, FLIGHTS, KeptFlights, SweptFlight, key_of
from recordings.spark.sweep.sampling import Point, between, first_points
from recordings.spark.sweep.sweep_file import NAMES, Sweep
from recordings.spark.sweep.sweep_page import Swept, page
from recordings.spark.sweep.tasks import ENDED, ORDER, FlightOrder, SweepTask
from recordings.tables.parquet_files import absolute

JSON, HTML, TABLE = "sweep.json", "sweep.html", "results.parquet"

Progress = Callable[[int, int, float | None], object]
"""(flights that have ended, flights in all, seconds that the rest is estimated to take; None: unknown)."""


def run_sweep(
    sweep: Sweep,
    out: str,
    *,
    master: str | None = None,
    recordings: Path | None = None,
    leave: Leave | None = None,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> Swept:
    """Fly what is missing of a sweep, and write its results to `out`, a directory or URI that all workers see.

    `master`: a Spark master or Spark Connect URL, this machine if None; `recordings`: a directory for the recording of
    each flight; `leave`: the permission to run the scenarios' code; `spark`: a session to use. Raises SettingError (a
    value that no point can have), RecordingError (`out` cannot be used) and ReportError (Spark failed, interrupted);
    what has ended is kept in all cases.
    """
    began = time.perf_counter()
    points = first_points(sweep)
    _refuse_slips(sweep, points, leave)
    kept = KeptFlights(out)
    kept.prepare()
    task = SweepTask(sweep, absolute(out), recordings=recordings, allow_code=leave is not None)
    try:
        with nullcontext(spark) if spark is not None else spark_session(patient(master), name="sweep") as session:
            driver = _Driver(session, sweep, kept, task)
            return attended(lambda: driver.run(points, began), lambda: driver.look(progress or (lambda *_: None)))
    except KeyboardInterrupt:
        raise ReportInterruptedError(f"interrupted: the same command continues; {out} keeps what has ended") from None
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise ReportError(f"the sweep failed ({cause_of(error)}); {out} keeps the flights that have ended") from error


def _refuse_slips(sweep: Sweep, points: Sequence[Point], leave: Leave | None) -> None:
    """Refuse the sweep for a key, or a listed value, that no point of a scenario can have; names the code that runs.

    A drawn value is one of a kind: only its key can be a slip. Raises SettingError.
    """
    for number, scenario in enumerate(sweep.scenarios):
        rows: list[RowSettings] = []
        impossible: dict[int, str] = {}
        for point in points:
            if point.scenario != number:
                continue
            pilot = RowPilot(
                scenario,
                [point.settings],
                fixed=sweep.fixed,
                until_us=sweep.until_us,
                allow_code=leave is not None,
            )
            try:
                pilot.plan(0, None if leave is None else leave.notify)
            except (SettingError, ScenarioErrors) as error:
                impossible[len(rows)] = str(error)
            listed = point.settings[: len(sweep.lists)]
            rows.append((*listed, *((each.scope, each.key, "") for each in sweep.ranges)))
        refuse_hopeless(rows, impossible)


class _Driver:
    """Flies a sweep round by round, judges it, and writes the results."""

    def __init__(self, session: SparkSession, sweep: Sweep, kept: KeptFlights, task: SweepTask) -> None:
        self._session, self._sweep, self._kept, self._task = session, sweep, kept, task
        self._flown_now = 0
        self._watched: tuple[set[str], int, float] | None = None

    def run(self, points: list[Point], began: float) -> Swept:
        """Fly these points, and those of further rounds. `began`: when the sweep did, by the performance counter."""
        sweep = self._sweep
        self._kept.forget([each.key for each in self._ended() if not each.repeatable])
        rounds, frontier = 1, self._round(points)
        while rounds < sweep.rounds and (added := between(sweep, [each.point for each in frontier.best], points)):
            points = [*points, *added]
            rounds, frontier = rounds + 1, self._round(points)
        swept = Swept(
            title=sweep.title,
            scenarios=[one.name for one in sweep.scenarios],
            run_as=sweep.run_as,
            seeds=list(sweep.seeds),
            fixed=texts_of(sweep.fixed),
            until_us=sweep.until_us,
            rounds=rounds,
            flown_now=self._flown_now,
            seconds=round(time.perf_counter() - began, 3),
            frontier=frontier,
        )
        self._write(swept)
        return swept

    def look(self, progress: Progress) -> None:
        """Report how many flights have ended, from the directory itself: that works under any master."""
        if self._watched is None:
            return
        wanted, before, began = self._watched
        ended, passed = len(self._kept.keys() & wanted), time.monotonic() - began
        new = ended - before
        progress(ended, len(wanted), passed / new * (len(wanted) - ended) if new else None)

    def _write(self, swept: Swept) -> None:
        """Write the table of all flights in the directory, then both files of the judgement."""
        flat = self._frame().select("*", "measures.*").drop("measures", "file").coalesce(1)
        flat.write.mode("overwrite").parquet(self._kept.uri(TABLE))
        self._kept.write(JSON, msgspec.json.encode(swept) + b"\n")
        self._kept.write(HTML, page(swept).encode())

    def _round(self, points: Sequence[Point]) -> Frontier:
        sweep = self._sweep
        names = {point: [self._key(point, seed) for seed in sweep.seeds] for point in points}
        self._fly(
            FlightOrder(keys[place], point.scenario, point.settings, seed)
            for place, seed in enumerate(sweep.seeds)
            for point, keys in names.items()
        )
        described = [
            (point, sweep.scenarios[point.scenario].name, texts_of(point.settings), keys)
            for point, keys in names.items()
        ]
        first, second = (NAMES[name].field for name in sweep.frontier)
        return judge(described, {each.key: each for each in self._ended()}, (first, second))

    def _key(self, point: Point, seed: int) -> str:
        sweep = self._sweep
        return key_of(sweep.scenarios[point.scenario], (*sweep.fixed, *point.settings), seed, sweep.until_us)

    def _fly(self, orders: Iterable[FlightOrder]) -> None:
        """Fly the orders that have not ended, in their order."""
        rows = [(number, *order.row()) for number, order in enumerate(orders)]
        ordered = self._session.createDataFrame(rows, f"{NUMBER} bigint, {ORDER}")
        missing = ordered.join(self._frame().select("key"), "key", "left_anti").collect()
        if not missing:
            return
        tasks = one_a_task(self._session.createDataFrame(missing), len(missing))
        wanted = {key for _, key, *_ in rows}
        self._watched = wanted, len(wanted) - len(missing), time.monotonic()
        self._flown_now += len(tasks.mapInArrow(self._task, ENDED).collect())
        self._watched = None

    def _frame(self) -> DataFrame:
        """The flights that have ended, as a DataFrame."""
        if not self._kept.keys():
            return self._session.createDataFrame([], f"{COLUMNS}, file string")
        return (
            self._session.read.schema(COLUMNS)
            .json(self._kept.uri(FLIGHTS))
            .select("*", "_metadata.file_name")
            .withColumnRenamed("file_name", "file")
        )

    def _ended(self) -> Iterator[SweptFlight]:
        for row in self._frame().collect():
            found = row.asDict(recursive=True)
            try:
                yield msgspec.convert(found, SweptFlight)
            except msgspec.ValidationError as error:
                name = self._kept.uri(f"{FLIGHTS}/{found['file']}")
                raise RecordingError(f"{name} is damaged: remove it, and its flight is flown again ({error})") from None
