"""`flightdeck sweep`: fly a sweep file's flights as Spark tasks, and write what they cost.

    OUT/flights/KEY.json      each flight that has ended, written by its task
    OUT/results.parquet       the same as one table, for notebooks and SQL
    OUT/sweep.json, .html     the points, and the frontier of two measures

One task flies one flight (`mapInArrow`: one row in, one row out). The driver plans with an anti-join of all orders and
what has ended, so the same command continues a sweep that was interrupted, in whatever way.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from recordings.bounded_files import RecordingError
from recordings.flights.processes import cores
from recordings.planning.grid import texts_of
from recordings.spark.errors import ReportError, ReportInterruptedError, cause_of
from recordings.spark.session import spark_session
from recordings.spark.sweep.frontier import Frontier, by_key, judge
from recordings.spark.sweep.kept_flights import COLUMNS, KeptFlights, SweptFlight, key_of
from recordings.spark.sweep.sampling import Point, between, first_points
from recordings.spark.sweep.sweep_file import NAMES, Sweep
from recordings.spark.sweep.sweep_page import Swept, page
from recordings.spark.sweep.tasks import ATTEMPTS, ENDED, ORDER, FlightOrder, SweepTask

JSON, HTML, TABLE = "sweep.json", "sweep.html", "results.parquet"
LOOK_EVERY_S: Final = 1.0

Progress = Callable[[int, int, float | None], object]
"""(flights that have ended, flights in all, seconds that the rest is estimated to take; None: unknown)."""


def run_sweep(
    sweep: Sweep,
    out: str,
    *,
    master: str | None = None,
    recordings: Path | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> Swept:
    """Fly what is missing of a sweep, and write its results to `out`, a directory or URI that all workers see.

    `master`: a Spark master or Spark Connect URL, this machine if None; `recordings`: a directory for the recording of
    each flight; `spark`: a session to use. Raises RecordingError (`out` cannot be used) and ReportError (Spark failed,
    interrupted); what has ended is kept in both cases.
    """
    began = time.perf_counter()
    kept = KeptFlights(out)
    kept.prepare()
    task = SweepTask(sweep, out, recordings=recordings, allow_code=allow_code)
    try:
        with nullcontext(spark) if spark is not None else spark_session(_patient(master), name="sweep") as session:
            driver = _Driver(session, sweep, kept, task, progress or (lambda *_: None))
            frontier = driver.fly()
            swept = Swept(
                title=sweep.title,
                scenarios=[one.name for one in sweep.scenarios],
                seeds=list(sweep.seeds),
                fixed=texts_of(sweep.fixed),
                until_us=sweep.until_us,
                rounds=driver.rounds,
                flown_now=driver.flown_now,
                seconds=round(time.perf_counter() - began, 3),
                frontier=frontier,
            )
            _write(kept, session, swept)
    except KeyboardInterrupt:
        raise ReportInterruptedError(f"interrupted: the same command continues; {out} keeps what has ended") from None
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise ReportError(f"the sweep failed ({cause_of(error)}); {out} keeps the flights that have ended") from error
    return swept


def _patient(master: str | None) -> str:
    """A local master tries a task again whose process ended; others do so by themselves."""
    if master is not None and not (master.startswith("local") and "," not in master):
        return master
    number = str(cores()) if master in {None, "local[*]"} else (master or "").partition("[")[2].rstrip("]") or "1"
    return f"local[{number},{ATTEMPTS + 1}]"


class _Driver:
    """Flies a sweep round by round. `rounds`: those flown; `flown_now`: the flights that this process added."""

    def __init__(
        self, session: SparkSession, sweep: Sweep, kept: KeptFlights, task: SweepTask, progress: Progress
    ) -> None:
        self._session, self._sweep, self._kept, self._task, self._progress = session, sweep, kept, task, progress
        self.rounds = self.flown_now = 0

    def fly(self) -> Frontier:
        """Fly every round, and judge all points."""
        points = first_points(self._sweep)
        while True:
            frontier = self._round(points)
            self.rounds += 1
            if self.rounds == self._sweep.rounds:
                return frontier
            added = between(self._sweep, [each.point for each in frontier.best], points)
            if not added:
                return frontier
            points += added

    def _round(self, points: Sequence[Point]) -> Frontier:
        sweep = self._sweep
        orders = [FlightOrder(self._key(each, seed), *_parts(each), seed) for seed in sweep.seeds for each in points]
        before = self._kept.keys()
        self._fly(orders)
        self.flown_now += sum(1 for each in orders if each.key not in before)
        names: dict[Point, list[str]] = {}
        for order in orders:
            names.setdefault(Point(order.scenario, order.settings), []).append(order.key)
        described = [
            (each, sweep.scenarios[each.scenario].name, texts_of(each.settings), names[each]) for each in points
        ]
        wanted = {order.key for order in orders}
        flights = by_key(each for each in self._ended() if each.key in wanted)
        axes = tuple(NAMES[name].field for name in sweep.frontier)
        return judge(described, flights, (axes[0], axes[1]))

    def _key(self, point: Point, seed: int) -> str:
        sweep = self._sweep
        return key_of(sweep.scenarios[point.scenario], (*sweep.fixed, *point.settings), seed, sweep.until_us)

    def _fly(self, orders: Sequence[FlightOrder]) -> None:
        """One task for each order that has not ended, all points of a seed before the next seed."""
        frame = self._session.createDataFrame([order.row() for order in orders], ORDER)
        missing = frame.join(self._frame().select("key"), "key", "left_anti").collect()
        rest = {row["key"] for row in missing}
        if not rest:
            return
        wanted = [order.row() for order in orders if order.key in rest]
        tasks = self._session.createDataFrame(wanted, ORDER).repartition(len(wanted), "key")
        with _watched(self._kept, {order.key for order in orders}, self._progress):
            tasks.mapInArrow(self._task, ENDED).collect()

    def _frame(self) -> DataFrame:
        """The flights that have ended, as a DataFrame."""
        return self._session.read.schema(COLUMNS).json(f"{self._place()}/*.json") if self._kept.keys() else self._none()

    def _none(self) -> DataFrame:
        return self._session.createDataFrame([], COLUMNS)

    def _place(self) -> str:
        return f"{self._kept.out}/flights" if "://" in self._kept.out else f"file://{self._kept.root}"

    def _ended(self) -> Iterator[SweptFlight]:
        for row in self._frame().collect():
            found = row.asDict(recursive=True)
            yield msgspec.convert(found, SweptFlight)


def _parts(point: Point) -> tuple[int, tuple[tuple[str | None, str, str], ...]]:
    return point.scenario, point.settings


@contextmanager
def _watched(kept: KeptFlights, wanted: set[str], progress: Progress) -> Iterator[None]:
    """Report how many flights have ended, from the directory itself: that works under any master."""
    before, began = len(kept.keys() & wanted), time.monotonic()
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK_EVERY_S):
            try:
                ended = len(kept.keys() & wanted)
            except RecordingError:  # the task that writes there says so, too, and ends the sweep
                return
            new, passed = ended - before, time.monotonic() - began
            progress(ended, len(wanted), passed / new * (len(wanted) - ended) if new else None)

    progress(before, len(wanted), None)
    watching = threading.Thread(target=look, name="sweep progress", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def _write(kept: KeptFlights, session: SparkSession, swept: Swept) -> None:
    """Write the table of all flights in the directory, then both files of the judgement."""
    frame = session.read.schema(COLUMNS).json(
        f"{kept.out}/flights/*.json" if "://" in kept.out else f"file://{kept.root}/*.json"
    )
    flat = frame.select("*", "measures.*").drop("measures").coalesce(1)
    above = kept.root.rpartition("/")[0]
    flat.write.mode("overwrite").parquet(f"{kept.out}/{TABLE}" if "://" in kept.out else f"file://{above}/{TABLE}")
    for name, content in ((JSON, msgspec.json.encode(swept) + b"\n"), (HTML, page(swept).encode())):
        try:
            with kept.filesystem.open_output_stream(f"{above}/{name}") as file:
                file.write(content)
        except (OSError, ValueError) as error:
            raise RecordingError(f"cannot write {kept.out}/{name}: {error}") from error
