"""Exported tables as DataFrames, with the schema of the events: no schema is inferred, no local path is assumed."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from recordings.spark.errors import ReportError
from recordings.tables.schema import FLIGHTS, TABLES


class Tables:
    """The tables of any number of flights; `places` are the exports' directories or URIs.

    `tables["records_appended"]` is a DataFrame with the columns of `docs/data-dictionary.md`. A column that a file
    lacks, because an older version wrote it, is null.
    """

    def __init__(self, spark: SparkSession, places: Sequence[str]) -> None:
        self.spark, self.places = spark, tuple(place.rstrip("/") for place in places)
        self._opened: dict[str, DataFrame] = {}
        self._computed: dict[str, Future[DataFrame]] = {}
        self._lock = Lock()

    def __getitem__(self, name: str) -> DataFrame:
        """A table by its name, an event's kind. Raises KeyError for an unknown name, ReportError without an export."""
        table = TABLES[name]
        if name not in self._opened:
            paths = [f"{place}/tables/{name}" for place in self.places]
            try:
                self._opened[name] = self.spark.read.schema(table.ddl).parquet(*paths)
            except AnalysisException as error:
                if error.getCondition() != "PATH_NOT_FOUND":
                    raise
                raise ReportError(
                    f"there is no table `{name}` at {' or '.join(self.places)}: it was exported by another version, or"
                    " not to there; `flightdeck export` makes it again"
                ) from error
        return self._opened[name]

    @property
    def flights(self) -> DataFrame:
        """One row for each flight."""
        return self[FLIGHTS]

    def once(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """The result of `make`, computed at the first call and kept by Spark for later ones.

        Analyses build on one another; a plan that holds all of them at once would take longer to plan than to run.
        """
        with self._lock:
            promise = self._computed.get(name)
            mine = promise is None
            if promise is None:
                promise = self._computed[name] = Future()
        if mine:
            try:
                promise.set_result(make().localCheckpoint())
            except BaseException as error:
                promise.set_exception(error)
                raise
        return promise.result()

    def every_row(self) -> DataFrame:
        """Every event of every kind: `run_id`, `seq`, `at_us`, `kind`. One pass over all files, two columns read."""
        paths = [f"{place}/tables/*" for place in self.places]
        rows = self.spark.read.schema("run_id string, seq bigint, at_us bigint").parquet(*paths)
        kind = sf.regexp_extract(sf.col("_metadata.file_path"), "/tables/([^/]+)/[^/]+$", 1)
        return rows.where("seq is not null").withColumn("kind", kind)
