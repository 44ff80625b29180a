"""Exported tables as DataFrames, with the schema of the events: no schema is inferred, no local path is assumed."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import reduce
from threading import Lock

from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from recordings.spark.errors import ReportError
from recordings.spark.runtime.session import is_local
from recordings.tables.exported_files import count_events
from recordings.tables.parquet_files import SCHEMA_FILE
from recordings.tables.schema import COMMANDS, FLIGHTS, TABLES, Table

NOT_EVENTS = (COMMANDS, FLIGHTS)


class Tables:
    """The tables of any number of flights; `places` are the exports' directories or URIs.

    `tables["records_appended"]` is a DataFrame with the columns of `docs/data-dictionary.md`. A column that a file
    lacks, because an older version wrote it, is null.
    """

    def __init__(self, spark: SparkSession, places: Sequence[str]) -> None:
        self.spark, self.places = spark, tuple(place.rstrip("/") for place in places)
        self._opened: dict[str, DataFrame] = {}
        self._counted: list[Row] | None = None
        self._counting = Lock()
        self._computed: dict[str, Future[DataFrame]] = {}
        self._persisted: list[DataFrame] = []
        self._lock = Lock()

    def __getitem__(self, name: str) -> DataFrame:
        """A table by its name, an event's kind. Raises KeyError for an unknown name, ReportError without an export."""
        table = TABLES[name]
        if name not in self._opened:
            self._opened[name] = self._files(table.ddl, name) if self.has_rows(name) else self._without_rows(table)
        return self._opened[name]

    def has_rows(self, name: str) -> bool:
        """Whether any event of this kind happened: to plan what is empty takes longer than a small flight's queries."""
        return name in NOT_EVENTS or any(row["kind"] == name for row in self.kinds())

    def union(self, parts: Mapping[str, Callable[[DataFrame], DataFrame]]) -> DataFrame:
        """The rows of several kinds, one after the other, each as its function makes it; all have the same columns.

        Kinds without events are left out of the plan (`has_rows`); without any, the first one's empty rows come.
        """
        there = [name for name in parts if self.has_rows(name)] or [next(iter(parts))]
        return reduce(DataFrame.unionByName, (parts[name](self[name]) for name in there))

    def _without_rows(self, table: Table) -> DataFrame:
        """A table without rows, which Spark's optimizer sees, and with it that joins and unions with it are empty."""
        return self._files(table.ddl, f"{table.name}/{SCHEMA_FILE}").where(sf.lit(False))

    def _files(self, schema: str, path: str) -> DataFrame:
        """The table's files. Raises ReportError if there are none."""
        try:
            return self.spark.read.schema(schema).parquet(*(f"{place}/tables/{path}" for place in self.places))
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            raise ReportError(
                f"there is no table `{path.partition('/')[0]}` at {' or '.join(self.places)}: it was exported by"
                " another version, or not to there; `flightdeck export` makes it again"
            ) from error

    @property
    def flights(self) -> DataFrame:
        """One row for each flight."""
        return self[FLIGHTS]

    def once(self, name: str, make: Callable[[], DataFrame], *, computed: bool = True) -> DataFrame:
        """The result of `make`, computed at the first call and kept by Spark for later ones.

        Analyses build on one another; a plan that holds all of them at once would take longer to plan than to run. Not
        `computed`: of what is kept already a few columns more or less, for which a copy of all rows would not pay.
        """
        with self._lock:
            promise = self._computed.get(name)
            mine = promise is None
            if promise is None:
                promise = self._computed[name] = Future()
        if mine:
            try:
                promise.set_result(self._kept(make()) if computed else make())
            except BaseException as error:
                promise.set_exception(error)
                raise
        return promise.result()

    def _kept(self, made: DataFrame) -> DataFrame:
        """Computed now, on this machine; on a cluster what a lost executor had is computed again."""
        if is_local(self.spark):
            return made.localCheckpoint()
        self._persisted.append(made.persist(StorageLevel.MEMORY_AND_DISK))
        return made

    def release(self) -> None:
        """Give back the cluster's memory."""
        while self._persisted:
            self._persisted.pop().unpersist()

    def kinds(self) -> list[Row]:
        """The events of each kind that the files hold: `run_id`, `kind`, `events`, `first_seq`, `last_seq`.

        Counted at the first call, in one pass over all files: a file holds one kind of event. Directories of this
        machine are counted without Spark, which takes ten times as long for it.
        """
        with self._counting:
            if self._counted is None:
                self._counted = self._count()
            return self._counted

    def _count(self) -> list[Row]:
        counted = [count_events(place) for place in self.places] if is_local(self.spark) else [None]
        found = [events for events in counted if events is not None]
        if len(found) == len(counted):
            return [Row(**each._asdict()) for events in found for each in events]
        return count_with_spark(self.spark, self.places)


def count_with_spark(spark: SparkSession, places: Sequence[str]) -> list[Row]:
    """The rows of `Tables.kinds` of any places that Spark can read."""
    paths = [f"{place}/tables/*" for place in places]
    rows = spark.read.schema("run_id string, seq bigint").parquet(*paths).where("seq is not null")
    counts = (sf.count("*").alias("events"), sf.min("seq").alias("first_seq"), sf.max("seq").alias("last_seq"))
    files = rows.groupBy("run_id", sf.col("_metadata.file_path").alias("file")).agg(*counts)
    kind = sf.regexp_extract("file", "/tables/([^/]+)/[^/]+$", 1).alias("kind")
    return files.select("run_id", kind, "events", "first_seq", "last_seq").collect()
