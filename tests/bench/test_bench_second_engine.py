"""What Spark's queries cost beside DuckDB's for the same answers; `pytest tests/bench/test_bench_second_engine.py -s`.

Promised: none above ten times, start-up left out. Each question is asked of a short flight first, which compiles and
plans, then of a long one; the difference is what events cost. DuckDB (two threads) asks by SQL that is as short as the
flight allows: it knows no truncation, no compaction, no member that ends. So its answers are compared before its cost.

FLIGHTDECK_MINUTES of reference-m make the long flight, 91,000 events each: 24 by default, 110 for ten million events.
"""

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from recordings.spark.analyses.producers import batch_times
from recordings.spark.facts.anomalies import anomalies
from recordings.spark.facts.lag import lag_by_partition
from recordings.spark.facts.lag_measures import group_lag
from recordings.spark.facts.time_windows import last_second
from recordings.spark.facts.totals import group_totals, partition_totals, reader_totals
from recordings.spark.report import cheaply_readable
from recordings.spark.runtime.session import spark_session, suited_to
from recordings.spark.tables import Tables
from recordings.tables.export import export
from tests.support.spark.report_cost import process_s

SQL = Path(__file__).parent / "second_engine"
SHORT_MINUTES, LONG_MINUTES = 2, int(os.environ.get("FLIGHTDECK_MINUTES", "24"))
PROMISED = 10
MANY_EVENTS = 1_000_000  # both flights are asked with the settings for many
FEWEST_SECONDS = 0.02  # what DuckDB takes cannot be measured below


def _delivery(tables: Tables) -> DataFrame:
    ends = tables.flights.select("run_id", last_second().alias("second"))
    end = lag_by_partition(tables).join(sf.broadcast(ends), ["run_id", "second"])
    columns = ("group", "processed", "duplicated", "acknowledged", "delivered")
    return group_totals(tables, reader_totals(tables, end)).select(*columns)


def _producers(tables: Tables) -> DataFrame:
    return batch_times(tables).select("producer", "what", "batches", "p50_us", "p95_us", "p99_us", "slowest_us")


class Question(NamedTuple):
    """The same in Spark and, below `SQL`, in DuckDB; `first`: what Spark computes before, for others as well."""

    ask: Callable[[Tables], DataFrame]
    first: Callable[[Tables], object] = lambda _: None


QUESTIONS = {
    "lag": Question(lambda tables: group_lag(tables).select("group", "second", "lag", "time_lag_us")),
    "totals": Question(lambda tables: partition_totals(tables).drop("run_id", "topic", "internal", "bytes")),
    "producers": Question(_producers),
    "delivery": Question(_delivery, lag_by_partition),
    "anomalies": Question(lambda tables: anomalies(tables).groupBy("anomaly").agg(sf.sum("records").alias("records"))),
}


def _flown(place: Path, scenario: str, minutes: int | None = None) -> str:
    name = f"{scenario}-{minutes}"
    until_us = None if minutes is None else minutes * 60_000_000
    fly(make_plan(load(scenario), until_us=until_us, invariants=False), record=place / f"{name}.flight")
    export([place / f"{name}.flight"], place / name)
    return str(place / name)


def _by_duckdb(place: str) -> dict[str, tuple[list[tuple[Any, ...]], float]]:
    """The rows of each question, and the processor seconds that they took."""
    found = {}
    with duckdb.connect(config={"threads": 2}) as base:
        base.execute("SET asof_loop_join_threshold = 0")  # else it joins in a loop where it expects few rows
        for table in sorted((Path(place) / "tables").iterdir()):
            files = f"read_parquet('{table}/*.parquet', union_by_name = true)"
            base.execute(f"CREATE VIEW {table.name} AS SELECT * EXCLUDE (run_id), 1 AS run_id FROM {files}")
        base.execute((SQL / "views.sql").read_text(encoding="utf-8"))
        for name in QUESTIONS:
            began = time.process_time()
            rows = base.execute((SQL / f"{name}.sql").read_text(encoding="utf-8")).fetchall()
            found[name] = [row[1:] for row in rows], time.process_time() - began
    return found


def _by_spark(places: Iterable[str]) -> list[dict[str, tuple[list[tuple[Any, ...]], float]]]:
    """The same of each place, in one session; each question is asked of tables of which nothing is kept yet."""
    found = []
    with spark_session(name="second engine") as spark:
        java: int = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
        for place in places:
            answers = {}
            with cheaply_readable(spark, [place]) as read, suited_to(spark, MANY_EVENTS):
                for name, question in QUESTIONS.items():
                    tables = Tables(spark, read)
                    question.first(tables)
                    began = process_s(java)
                    rows = [tuple(row) for row in question.ask(tables).collect()]
                    answers[name] = rows, process_s(java) - began
            found.append(answers)
    return found


@pytest.mark.timeout(3600)
def test_spark_beside_duckdb(tmp_path: Path) -> None:
    places = [_flown(tmp_path, "reference-m", minutes) for minutes in (SHORT_MINUTES, LONG_MINUTES)]
    _, short, long = _by_spark([places[0], *places])  # the first one compiles
    second = _by_duckdb(places[1])
    sys.stdout.write(f"\n{LONG_MINUTES} minutes, load {os.getloadavg()[0]:.1f}; promised: at most {PROMISED} ×\n")
    for name in QUESTIONS:
        rows, duckdb_s = second[name]
        assert _comparable(long[name][0]) == _comparable(rows), name
        spark_s = long[name][1] - short[name][1]
        ratio = spark_s / max(duckdb_s, FEWEST_SECONDS)
        sys.stdout.write(f"{name:12} Spark {spark_s:6.2f} s, DuckDB {duckdb_s:5.2f} s: {ratio:5.1f} ×\n")


@pytest.mark.timeout(600)
def test_both_find_the_anomalies_that_there_are(tmp_path: Path) -> None:
    """The long flight has none: that neither finds one there says nothing."""
    anomalous = ("at-least-once", "transaction-abort")
    places = [_flown(tmp_path, scenario) for scenario in anomalous]
    with spark_session(name="second engine") as spark:
        by_spark = [
            _comparable(tuple(row) for row in QUESTIONS["anomalies"].ask(Tables(spark, [place])).collect())
            for place in places
        ]
    assert {name for rows in by_spark for name, _ in rows} == {"duplicate", "nonmonotonic-send", "G1a"}
    assert by_spark == [_comparable(_by_duckdb(place)["anomalies"][0]) for place in places]


def _comparable(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows in an order of their own; lists of percentiles are unfolded, and whole numbers are whole."""
    flat = [[one for cell in row for one in (cell if isinstance(cell, list) else [cell])] for row in rows]
    return sorted((tuple(round(one) if isinstance(one, float) else one for one in row) for row in flat), key=str)
