"""Settings that suit analyses by their size, and tables that are exported on the way."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from recordings.spark.errors import SparkStartError
from recordings.spark.report import readable_tables
from recordings.spark.runtime.session import MANY_EVENTS, SMALL_EVENTS, spark_session, suited_to
from recordings.spark.tables import Tables

HINTS = "spark.sql.optimizer.disableHints"


@pytest.fixture
def untouched(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose settings are the same afterwards."""
    before = spark.conf.get(HINTS, None)
    yield spark
    assert spark.conf.get(HINTS, None) == before


def plan(spark: SparkSession) -> str:
    """How Spark would join with a side that is too large to be broadcast unless it is told to."""
    large = spark.range(50_000_000)
    said = StringIO()
    with redirect_stdout(said):
        large.join(sf.broadcast(large), "id").explain()
    return said.getvalue()


@pytest.mark.parametrize(
    ("events", "broadcast"),
    [(SMALL_EVENTS, True), (SMALL_EVENTS + 1, True), (MANY_EVENTS - 1, True), (MANY_EVENTS, False)],
)
def test_no_broadcast_is_unconditional_in_very_many_events(
    untouched: SparkSession, events: int, broadcast: bool
) -> None:
    with suited_to(untouched, events):
        assert ("BroadcastHashJoin" in plan(untouched)) == broadcast


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_tables_are_exported_on_the_way_and_kept(rare: Path, spark: SparkSession, tmp_path: Path, form: str) -> None:
    """A master that is not this machine reads them there."""
    to = form.format(tmp_path / "tables")
    with readable_tables([rare], "spark://elsewhere:7077", to, False, lambda *_: None) as (places, _):
        assert places == [to]
    assert Tables(spark, [to]).flights.count() == 1


@pytest.mark.parametrize("master", [None, "local[*]", "local[7,2]"])
def test_a_running_session_is_used_and_goes_on(spark: SparkSession, master: str | None) -> None:
    with spark_session(master, name="second") as second:
        assert second.range(3).count() == 3
        assert second.sparkContext is spark.sparkContext
    assert spark.range(4).count() == 4


@pytest.mark.parametrize("master", ["yarn", "k8s://https://127.0.0.1:1"])
def test_a_second_master_is_refused(spark: SparkSession, master: str) -> None:
    """PySpark would run everything on the first one and say nothing."""
    with pytest.raises(SparkStartError, match=rf"runs a Spark session on local\[2\]: stop it before you use {master}"):
        spark_session(master).__enter__()
    assert spark.range(4).count() == 4
