"""Tables of one made-up flight: rows by hand, everything else empty."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from recordings.spark.tables import Tables
from recordings.tables.schema import TABLES


class HandMadeTables(Tables):
    """Tables without files. A row lacks what a test does not care for; `run_id` is "r"."""

    def __init__(self, spark: SparkSession, rows: Mapping[str, Sequence[Mapping[str, Any]]], end_us: int = 0) -> None:
        super().__init__(spark, ())
        self._rows, self._end_us = rows, end_us

    def __getitem__(self, name: str) -> DataFrame:
        rows = [{"run_id": "r", **row} for row in self._rows.get(name, ())]
        return self.spark.createDataFrame(rows, TABLES[name].ddl)

    def has_rows(self, name: str) -> bool:
        """Whether the test has rows of this kind."""
        return bool(self._rows.get(name))

    @property
    def flights(self) -> DataFrame:
        """The flight and its end."""
        return self.spark.createDataFrame([("r", self._end_us)], "run_id string, virtual_us bigint")
