"""`flightdeck report --follow`: a report on a flight that is still recorded, made anew until the flight has its end.

The page reloads itself meanwhile. One session serves all reports: the second one costs no start of Java.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from recordings.journal.reader import Recording
from recordings.spark.errors import ReportInterruptedError
from recordings.spark.report import Progress, Reported, report
from recordings.spark.runtime.session import spark_session

REFRESH_S: Final = 10
"""How often the page reloads itself, and the shortest time between two reports."""
LOOK_EVERY_S: Final = 0.5


def follow(
    recording: Path,
    out: Path,
    *,
    master: str | None = None,
    tables: str | None = None,
    progress: Progress | None = None,
    made: Callable[[Reported], object] | None = None,
    spark: SparkSession | None = None,
    refresh_s: float = REFRESH_S,
) -> Reported:
    """Report on a recording until it has its end; `made` gets each report. The rest is as in `report`.

    Ctrl-C stops it with ReportInterruptedError; the last report stays.
    """
    kept = f"nothing was written to {out}"
    try:
        with nullcontext(spark) if spark is not None else spark_session(master, name="flightdeck report") as session:
            while True:
                began, complete = time.monotonic(), _has_its_end(recording)
                last = report(
                    [recording],
                    out,
                    master=master,
                    tables=tables,
                    progress=progress,
                    spark=session,
                    refresh_s=None if complete else max(1, round(refresh_s)),
                )
                kept = f"{out} has the last report"
                progress = None  # of the first report, which waits for Java
                if made is not None:
                    made(last)
                if complete:
                    return last
                while time.monotonic() < began + refresh_s and not _has_its_end(recording):
                    time.sleep(min(LOOK_EVERY_S, refresh_s))
    except (KeyboardInterrupt, ReportInterruptedError):
        raise ReportInterruptedError(f"stopped following {recording}; {kept}") from None


def _has_its_end(recording: Path) -> bool:
    return Recording(recording).footer is not None
