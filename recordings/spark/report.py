"""The report: recordings in, `report.json` and `report.html` out.

    report([Path("night.flight")], Path("out"))

Recordings are exported to tables first (to a place that goes away, unless one is given); what was exported already is
read where it is. Nothing is written before everything is known, and then both files appear at once or not at all.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from recordings.spark.analyses.across_flights import AcrossFlights, Asked, flights_at
from recordings.spark.errors import ReportError, ReportInterruptedError, cause_of
from recordings.spark.html_page import HTML, pages
from recordings.spark.output_files import reason_of, refuse_output, write_output
from recordings.spark.queries import run_queries
from recordings.spark.report_builder import assemble
from recordings.spark.report_document import FORMAT, Report
from recordings.spark.runtime.interrupts import temporary_directory
from recordings.spark.runtime.session import is_local, spark_session
from recordings.spark.runtime.worker_tasks import patient
from recordings.spark.tables import Tables
from recordings.tables.compaction import compact
from recordings.tables.export import export, is_exported
from recordings.tables.exported_files import refuse_unfit_files
from recordings.tables.parquet_files import absolute
from recordings.version import VERSION

JSON = "report.json"
EXPORTED, STARTED, ASKED = 0.1, 0.3, 0.97  # share of the whole report that is done after each of its steps

NOTHING_MORE: Final = Asked()

Progress = Callable[[str, float], object]
"""(the current step, the share of the whole that is done: 0 to 1)."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """The result: the two files, the report's data, the time it took, and the reader's warnings."""

    json: Path
    html: Path
    report: Report
    seconds: float
    warnings: list[str]


def report(  # noqa: PLR0913 - options of the command
    recordings: Sequence[str | Path],
    out: Path,
    *,
    master: str | None = None,
    tables: str | None = None,
    salvage: bool = False,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
    refresh_s: int | None = None,
    asked: Asked = NOTHING_MORE,
) -> Reported:
    """Analyse flights with Spark and write `report.json` and `report.html` to the directory `out`.

    `recordings`: recordings' directories, or places that flights were exported to (directories or URIs). `master`: a
    Spark master or Spark Connect URL, this machine if None; `tables`: where to export recordings to, for the cluster to
    read (a directory or URI; kept); `salvage`: damaged recordings are read up to the damage; `spark`: a session to use,
    not stopped afterwards; `refresh_s`: the page reloads itself so often; `asked`: what it says of all flights.

    Raises RecordingError (no recording, or damaged), and ReportError: no Java, Spark failed, `out` cannot be written,
    interrupted. Nothing is written then.
    """
    began = time.perf_counter()
    report_progress = progress or (lambda *_: None)
    refuse_output(out, (JSON, HTML))
    across = AcrossFlights(asked, recordings, salvage=salvage)
    try:
        with readable_tables(recordings, master, tables, salvage, report_progress) as (places, warnings):
            report_progress("starting Spark", EXPORTED)
            with nullcontext(spark) if spark is not None else _session(master, asked) as session:
                made = _analyse(session, places, across, report_progress)
        report_progress("writing", ASKED)
        html = {name: text.encode() for name, text in pages(made, refresh_s).items()}
        write_output(out, {JSON: msgspec.json.encode(made) + b"\n"} | html)
    except KeyboardInterrupt:
        raise ReportInterruptedError(f"the report was interrupted; nothing was written to {out}") from None
    except ConnectionError as error:  # Spark's Java has ended, for instance after its context was stopped
        where = master or "this machine"
        raise ReportError(
            f"Spark stopped while it worked on {where} ({reason_of(error)}); nothing was written to {out}"
        ) from error
    except OSError as error:  # a full disk, or no directory for temporary files
        raise ReportError(f"cannot make a report: {reason_of(error)}; nothing was written to {out}") from error
    return Reported(
        json=out / JSON,
        html=out / HTML,
        report=made,
        seconds=round(time.perf_counter() - began, 3),
        warnings=warnings,
    )


def _session(master: str | None, asked: Asked) -> AbstractContextManager[SparkSession]:
    """Spark; a task in Python, whose process may end, is tried again."""
    return spark_session(master if asked == NOTHING_MORE else patient(master), name="flightdeck report")


@contextmanager
def readable_tables(
    recordings: Sequence[str | Path], master: str | None, tables: str | None, salvage: bool, report_progress: Progress
) -> Iterator[tuple[list[str], list[str]]]:
    """The places of all flights' tables for Spark, exported now if necessary, and the reader's warnings."""
    exported = [absolute(str(place)) for place in recordings if is_exported(place)]
    flights = flights_at(recordings)
    if not flights:
        yield exported, []
        return
    if master is not None and not master.startswith("local") and tables is None:
        raise ReportError(
            f"{flights[0]} is on this machine, and {master} may not see it: give --tables URI, a place that the"
            " cluster reads, to export it there first"
        )
    report_progress("reading the recordings", 0)
    with temporary_directory("flightdeck-tables-") if tables is None else nullcontext(tables) as place:
        warnings = [warning for each in export(flights, place, salvage=salvage) for warning in each.warnings]
        yield [*exported, absolute(place)], warnings


@contextmanager
def cheaply_readable(spark: SparkSession, places: Sequence[str]) -> Iterator[list[str]]:
    """The places, or copies of them with fewer files; a cluster does not see what this machine copies."""
    if not is_local(spark):
        yield list(places)
        return
    for place in places:
        refuse_unfit_files(place)
    with temporary_directory("flightdeck-compacted-") as directory:
        yield [compact(place, Path(directory) / str(number)) for number, place in enumerate(places)]


def _analyse(spark: SparkSession, places: Sequence[str], across: AcrossFlights, report_progress: Progress) -> Report:
    def later(step: str) -> None:
        report_progress(step, ASKED)

    def answered(question: str, done: int, of: int) -> None:
        report_progress(f"analysing: {question}", STARTED + (ASKED - STARTED) * done / of)

    report_progress("analysing", STARTED)
    with cheaply_readable(spark, places) as read:
        tables = Tables(spark, read)
        try:
            results = run_queries(tables, answered)
            alerts, compared = across.alerts(spark, later), across.compared(spark, later)
        except (PySparkException, Py4JError) as error:
            raise ReportError(f"Spark could not finish: {cause_of(error)}") from error
        finally:
            tables.release()
    return Report(
        format=FORMAT,
        flightdeck=VERSION,
        spark=spark.version,
        flights=assemble(results),
        alerts=alerts,
        compared=compared,
    )
