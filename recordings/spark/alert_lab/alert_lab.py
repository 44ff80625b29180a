"""`flightdeck alerts --out DIR`: rules scored by Spark tasks, a flight a task.

    OUT/alerts.json        the rules, their leaderboard, what each made of each flight
    OUT/alerts.html        the same on one page
    OUT/outcomes.parquet   a row for each outcome, for notebooks and SQL

A flight is a recording, or a game (`recordings/game`): a drawn cluster with noise, whose hidden faults are known.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from recordings.alerts.rules import RuleSet
from recordings.alerts.scoring import leaderboard
from recordings.spark.alert_lab.lab_page import page
from recordings.spark.alert_lab.lab_result import LabResult
from recordings.spark.alert_lab.lab_tasks import ORDER, SEEN, LabFlight, LabOrder, LabTask
from recordings.spark.errors import ReportError, ReportInterruptedError, cause_of
from recordings.spark.output_files import refuse_output, write_output
from recordings.spark.runtime.session import spark_session
from recordings.spark.runtime.worker_tasks import NUMBER, attended, one_a_task, patient
from recordings.version import VERSION

JSON, HTML, TABLE = "alerts.json", "alerts.html", "outcomes.parquet"
WHAT: Final = "alert scores"
COLUMNS: Final = pa.schema(
    [
        ("recording", pa.string()),
        ("level", pa.int64()),
        ("seed", pa.int64()),
        ("rule", pa.string()),
        ("outcome", pa.string()),
        ("fault_class", pa.string()),
        ("fault", pa.string()),
        ("group", pa.string()),
        ("at_us", pa.int64()),
        ("delay_us", pa.int64()),
        ("why", pa.string()),
    ]
)

Progress = Callable[[int, int], object]
"""(flights that have ended, flights in all)."""


def score_flights(
    rules: RuleSet,
    orders: Sequence[LabOrder],
    out: Path,
    *,
    master: str | None = None,
    salvage: bool = False,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> LabResult:
    """Score rules on flights, and write the files to the directory `out`.

    `master`: a Spark master or Spark Connect URL, this machine if None: its workers read the recordings, at the same
    paths. `spark`: a session to use. Raises ReportError (Spark failed, interrupted, `out` cannot be written); nothing
    is written then.
    """
    refuse_output(out, (JSON, HTML, TABLE), WHAT)
    try:
        with nullcontext(spark) if spark is not None else spark_session(patient(master), name="alerts") as session:
            result = scored(session, rules, orders, salvage=salvage, progress=progress)
    except KeyboardInterrupt:
        raise ReportInterruptedError(f"interrupted: nothing was written to {out}") from None
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise ReportError(f"the alert scores failed ({cause_of(error)}); nothing was written to {out}") from error
    files = {JSON: msgspec.json.encode(result) + b"\n", HTML: page(result).encode(), TABLE: _table(result)}
    write_output(out, files, WHAT)
    return result


def scored(
    session: SparkSession,
    rules: RuleSet,
    orders: Sequence[LabOrder],
    *,
    salvage: bool = False,
    progress: Progress | None = None,
) -> LabResult:
    """Score rules on flights in a session, and write nothing. Raises what Spark raises."""
    began = time.perf_counter()
    flights: list[LabFlight] = attended(
        lambda: _seen(session, LabTask(rules, salvage=salvage), orders),
        lambda: None if progress is None else progress(_ended(session), len(orders)),
    )
    return LabResult(
        flightdeck=VERSION,
        rules=rules,
        leaderboard=leaderboard([each.outcomes for each in flights if each.outcomes is not None], rules),
        flights=flights,
        seconds=round(time.perf_counter() - began, 3),
    )


def _seen(session: SparkSession, task: LabTask, orders: Sequence[LabOrder]) -> list[LabFlight]:
    """What every rule made of each flight, in the order of the orders."""
    rows = [(number, each.recording, each.level, each.seed) for number, each in enumerate(orders)]
    ordered = one_a_task(session.createDataFrame(rows, ORDER), len(rows))
    seen = ordered.mapInArrow(task, SEEN).orderBy(NUMBER).collect()
    return [msgspec.json.decode(row["flight"], type=LabFlight) for row in seen]


def _ended(session: SparkSession) -> int:
    """How many tasks of the running stages have ended; 0 where the session does not tell (Spark Connect)."""
    context = getattr(session, "_sc", None)
    if context is None:
        return 0
    tracker = context.statusTracker()
    infos = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return max((info.numCompletedTasks for info in infos if info is not None), default=0)


def _table(result: LabResult) -> bytes:
    """Every outcome as a row of Parquet."""
    sink = BytesIO()
    pq.write_table(pa.Table.from_pylist(list(_rows(result)), schema=COLUMNS), sink, compression="zstd")
    return sink.getvalue()


def _rows(result: LabResult) -> Iterator[dict[str, Any]]:
    for flight in result.judged:
        place = msgspec.structs.asdict(flight.order)
        for outcome in flight.outcomes.outcomes if flight.outcomes is not None else ():
            yield place | msgspec.structs.asdict(outcome)
