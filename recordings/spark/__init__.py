"""Reports with Spark: the session, the tables, the analyses with their groundwork, the page; `open` for notebooks."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from recordings.spark.opened_flights import OpenedFlights


def open(  # noqa: A001 - `recordings.spark.open`, as one opens a file
    places: "str | Path | Sequence[str | Path]", *, spark: "SparkSession | None" = None, salvage: bool = False
) -> "OpenedFlights":
    """Open flights as DataFrames: recordings' directories, or places that flights were exported to (also URIs).

        with recordings.spark.open(["night.flight", "s3://bucket/exports"]) as flights:
            flights.lag().where("lag > 1000").show()

    Recordings are exported first, to a directory that `close` removes. `spark`: the session to use; by default the
    active one of this process, else a new one on this machine, which `close` stops. `salvage`: damaged recordings are
    read up to the damage. Raises RecordingError (no recording, or damaged) and ReportError (no Java, no tables).
    """
    from recordings.spark.opened_flights import OpenedFlights  # noqa: PLC0415 - seconds; parts of this package need no Spark

    return OpenedFlights([places] if isinstance(places, str | Path) else places, spark=spark, salvage=salvage)
