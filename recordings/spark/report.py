"""The report: recordings in, `report.json` and `report.html` out.

    report([Path("night.flight")], Path("out"))

Recordings are exported to tables first (to a place that goes away, unless one is given); what was exported already is
read where it is. Nothing is written before everything is known, and then both files appear at once or not at all.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryFile

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from recordings.journal.format import HEADER
from recordings.spark.errors import ReportError, ReportInterruptedError, cause_of
from recordings.spark.html_page import page
from recordings.spark.interrupts import temporary_directory, uninterrupted
from recordings.spark.queries import run_queries
from recordings.spark.report_builder import assemble
from recordings.spark.report_document import FORMAT, Report
from recordings.spark.session import spark_session
from recordings.spark.tables import Tables
from recordings.tables.export import export
from recordings.version import VERSION

JSON, HTML = "report.json", "report.html"
EXPORTED, STARTED, ASKED = 0.1, 0.3, 0.97  # share of the whole report that is done after each of its steps

Progress = Callable[[str, float], object]
"""(the current step, the share of the whole that is done: 0 to 1)."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """The result: the two files, the report's data, the time it took, and the reader's warnings."""

    json: Path
    html: Path
    report: Report
    seconds: float
    warnings: list[str]


def report(
    recordings: Sequence[str | Path],
    out: Path,
    *,
    master: str | None = None,
    tables: str | None = None,
    salvage: bool = False,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> Reported:
    """Analyse flights with Spark and write `report.json` and `report.html` to the directory `out`.

    `recordings`: recordings' directories, or places that flights were exported to (directories or URIs). `master`: a
    Spark master or Spark Connect URL, this machine if None; `tables`: where to export recordings to, for the cluster to
    read (a directory or URI; kept); `salvage`: damaged recordings are read up to the damage; `spark`: a session to use,
    not stopped afterwards.

    Raises RecordingError (no recording, or damaged), and ReportError: no Java, Spark failed, `out` cannot be written,
    interrupted. Nothing is written then.
    """
    began = time.perf_counter()
    report_progress = progress or (lambda *_: None)
    _refuse(out)
    try:
        with readable_tables(recordings, master, tables, salvage, report_progress) as (places, warnings):
            report_progress("starting Spark", EXPORTED)
            with (
                nullcontext(spark) if spark is not None else spark_session(master, name="flightdeck report") as session
            ):
                made = _analyse(session, places, report_progress)
        report_progress("writing", ASKED)
        _write(out, {JSON: msgspec.json.encode(made) + b"\n", HTML: page(made).encode()})
    except KeyboardInterrupt:
        raise ReportInterruptedError(f"the report was interrupted; nothing was written to {out}") from None
    except ConnectionError as error:  # Spark's Java has ended, for instance after its context was stopped
        where = master or "this machine"
        raise ReportError(
            f"Spark stopped while it worked on {where} ({_reason(error)}); nothing was written to {out}"
        ) from error
    except OSError as error:  # a full disk, or no directory for temporary files
        raise ReportError(f"cannot make a report: {_reason(error)}; nothing was written to {out}") from error
    return Reported(
        json=out / JSON,
        html=out / HTML,
        report=made,
        seconds=round(time.perf_counter() - began, 3),
        warnings=warnings,
    )


@contextmanager
def readable_tables(
    recordings: Sequence[str | Path], master: str | None, tables: str | None, salvage: bool, report_progress: Progress
) -> Iterator[tuple[list[str], list[str]]]:
    """The places of all flights' tables, exported now if necessary, and the reader's warnings."""
    exported = [str(place) for place in recordings if _is_exported(place)]
    flights = [Path(place) for place in recordings if not _is_exported(place)]
    if not flights:
        yield exported, []
        return
    if master is not None and not master.startswith("local") and tables is None:
        raise ReportError(
            f"{flights[0]} is on this machine, and {master} may not see it: `flightdeck export RECORDING… --to URI` to"
            " a place that the cluster reads, then report from that URI"
        )
    report_progress("reading the recordings", 0)
    with temporary_directory("flightdeck-tables-") if tables is None else nullcontext(tables) as place:
        warnings = [warning for each in export(flights, place, salvage=salvage) for warning in each.warnings]
        yield [*exported, place], warnings


def _is_exported(place: str | Path) -> bool:
    if "://" in str(place):
        return True
    return (Path(place) / "tables" / "flights").is_dir() and not (Path(place) / HEADER).exists()


def _analyse(spark: SparkSession, places: Sequence[str], report_progress: Progress) -> Report:
    def answered(question: str, done: int, of: int) -> None:
        report_progress(f"analysing: {question}", STARTED + (ASKED - STARTED) * done / of)

    report_progress("analysing", STARTED)
    tables = Tables(spark, places)
    try:
        results = run_queries(tables, answered)
    except (PySparkException, Py4JError) as error:
        raise ReportError(f"Spark could not finish: {cause_of(error)}") from error
    finally:
        tables.release()
    return Report(format=FORMAT, flightdeck=VERSION, spark=spark.version, flights=assemble(results))


def _refuse(out: Path) -> None:
    """Raise at once if the report cannot be written, not after half a minute."""
    parent = next((place for place in (out, *out.absolute().parents) if place.exists()), out)
    if not parent.is_dir():
        raise ReportError(f"cannot write a report to {out}: {parent} is not a directory")
    for path in (out / JSON, out / HTML):
        if path.is_dir():
            raise ReportError(f"cannot write a report to {out}: {path} is a directory")
    try:
        with TemporaryFile(dir=parent) as probe:  # permissions show neither a full disk nor, to root, a read-only one
            probe.write(b"\0")
    except OSError as error:
        raise ReportError(f"cannot write a report to {out}: {parent} may not be written ({error.strerror})") from error


def _reason(error: OSError) -> str:
    """The operating system's message, with its file."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None)


def _write(out: Path, files: dict[str, bytes]) -> None:
    """Write all files under temporary names, then rename them; removes them if anything fails.

    An interrupt takes effect before the files get their names; after that the report is complete.
    """
    missing = [place for place in (out, *out.absolute().parents) if not place.exists()]
    parts = {out / f".{name}.part": out / name for name in files}
    fresh = [*parts, *(path for path in parts.values() if not path.exists())]
    try:
        out.mkdir(parents=True, exist_ok=True)
        for part, content in zip(parts, files.values(), strict=True):
            part.write_bytes(content)
        with uninterrupted():
            for part, path in parts.items():
                part.replace(path)
    except BaseException as error:
        for path in fresh:
            path.unlink(missing_ok=True)
        for place in missing:
            if place.exists():
                place.rmdir()
        if isinstance(error, OSError):
            raise ReportError(f"cannot write a report to {out}: {_reason(error)}") from error
        raise
