"""Exported tables as DataFrames, with the schema of the events: nothing is inferred, no local path is assumed."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from recordings.schema import FLIGHTS, TABLES


class Tables:
    """The tables of any number of flights; `places` are what they were exported to (directories or URIs).

    `tables["records_appended"]` is a DataFrame with the columns of `docs/data-dictionary.md`. A column that a file
    lacks, because an older version wrote it, is null.
    """

    def __init__(self, spark: SparkSession, places: Sequence[str]) -> None:
        self.spark, self.places = spark, tuple(place.rstrip("/") for place in places)
        self._opened: dict[str, DataFrame] = {}

    def __getitem__(self, name: str) -> DataFrame:
        """A table by its name, an event's kind; KeyError for a name that is none."""
        table = TABLES[name]
        if name not in self._opened:
            paths = [f"{place}/tables/{name}" for place in self.places]
            self._opened[name] = self.spark.read.schema(table.ddl).parquet(*paths)
        return self._opened[name]

    @property
    def flights(self) -> DataFrame:
        """One row for each flight."""
        return self[FLIGHTS]

    def every_row(self) -> DataFrame:
        """Every event of every kind: `run_id`, `seq`, `at_us`, `kind`. One pass over all files, two columns read."""
        paths = [f"{place}/tables/*" for place in self.places]
        rows = self.spark.read.schema("run_id string, seq bigint, at_us bigint").parquet(*paths)
        kind = sf.regexp_extract(sf.col("_metadata.file_path"), "/tables/([^/]+)/[^/]+$", 1)
        return rows.where("seq is not null").withColumn("kind", kind)
