"""Queue times of producers, and what held last stable offsets back: Spark's rows, and the raw lines of the journals.

What recomputes them (`raw_queue_times`, `raw_held_back`) shares nothing with the analyses, the tables or the fold.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from recordings.journal.reader import Recording
from recordings.spark.analyses import held_back as held
from recordings.spark.analyses import producers
from recordings.spark.facts import open_transactions as facts
from recordings.spark.report_model import FlightReport
from recordings.spark.runtime.session import suited_to
from recordings.spark.tables import Tables
from recordings.tables.export import export
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import AT_LENGTH, EVERY_RUN
from tests.support.spark.hand_made_tables import HandMadeTables
from tests.support.spark.raw_held_back import Held, raw_held_back
from tests.support.spark.raw_queue_times import measured, raw_queue_times

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy

Queues = dict[str, dict[str, float]]


def lines_of(readers: FiveReaders, name: str) -> Iterator[dict[str, Any]]:
    for line in b"".join(Recording(readers.flights[name].path).event_lines()).splitlines():
        yield json.loads(line)


def raw_queues(readers: FiveReaders, name: str) -> Queues:
    return {producer: measured(left) for producer, left in raw_queue_times(lines_of(readers, name)).items()}


def raw_held(readers: FiveReaders, name: str) -> list[Held]:
    return raw_held_back(lines_of(readers, name), readers.reported(name).virtual_us)


def told_queues(flight: FlightReport) -> Queues:
    queued = {one.producer: msgspec.to_builtins(one.queued) for one in flight.producers if one.queued is not None}
    return {producer: {field: round(number, 3) for field, number in row.items()} for producer, row in queued.items()}


def told_held(flight: FlightReport) -> list[Held]:
    rows: list[Any] = flight.held_back  # type: ignore[attr-defined]  # an analysis's own list
    return [Held(*(getattr(row, name) for name in Held._fields))._replace(groups=tuple(row.groups)) for row in rows]


def in_order(rows: list[Held]) -> list[str]:
    return sorted(map(str, rows))


@pytest.mark.parametrize("name", EVERY_RUN)
def test_queue_times_are_those_of_the_raw_lines(name: str, every_run: FiveReaders) -> None:
    assert told_queues(every_run.reported(name)) == raw_queues(every_run, name)


@pytest.mark.parametrize("name", EVERY_RUN)
def test_what_held_last_stable_offsets_back_is_in_the_raw_lines(name: str, every_run: FiveReaders) -> None:
    assert in_order(told_held(every_run.reported(name))) == in_order(raw_held(every_run, name))


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_so_it_is_in_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    flight = whole_fleet.reported(name)
    assert told_queues(flight) == raw_queues(whole_fleet, name)
    assert in_order(told_held(flight)) == in_order(raw_held(whole_fleet, name))


@pytest.mark.slow
def test_the_flights_have_what_readers_may_get_wrong(every_run: FiveReaders) -> None:
    queued = [row for name in EVERY_RUN for row in raw_queues(every_run, name).values()]
    assert sum(row["unsent"] for row in queued) > 20
    assert max(row["longest_us"] for row in queued) > 5_000_000
    transactions = [row for name in EVERY_RUN for row in raw_held(every_run, name)]
    assert {row.outcome for row in transactions} == {"COMMIT", "ABORT", "truncated", None}
    assert {row.groups for row in transactions} > {()}


# --- facts that are broken on purpose ---------------------------------------------------------------------------------


class Without(Tables):
    """The tables of flights, where one has no rows."""

    def __init__(self, tables: Tables, forgotten: str) -> None:
        super().__init__(tables.spark, tables.places)
        self.forgotten = forgotten

    def __getitem__(self, name: str) -> DataFrame:
        rows = super().__getitem__(name)
        return rows.where(sf.lit(False)) if name == self.forgotten else rows


def spark_queues(tables: Any, run_id: str) -> Queues:  # noqa: ANN401 - `Tables`, or made by hand
    rows = producers.batch_times(tables).where(f"what = '{producers.QUEUED}' and run_id = '{run_id}'").collect()
    same = ("batches", "unsent", "p50_us", "p95_us", "p99_us")
    return {
        row["producer"]: {name: round(row[name], 3) for name in same}
        | {"longest_us": row["slowest_us"], "longest_at_us": row["slowest_at_us"]}
        for row in rows
    }


def spark_held(tables: Tables, run_id: str) -> list[str]:
    kept = held.held_back(tables).where(f"run_id = '{run_id}'").select(*Held._fields)
    return in_order([Held(**row.asDict() | {"groups": tuple(row["groups"] or ())}) for row in kept.collect()])


@pytest.fixture(scope="module")
def two_flights(
    spark: SparkSession, every_run: FiveReaders, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tables]:
    """The tables of the flights that are looked at here, with the settings of a report on few events."""
    place = tmp_path_factory.mktemp("two")
    export([every_run.flights[name].path for name in ("swarm-7001", "swarm-7020")], place)
    with suited_to(spark, 0):
        yield Tables(spark, [str(place)])


@pytest.mark.slow
def test_queue_times_without_batches_that_were_never_sent_are_caught(
    two_flights: Tables, every_run: FiveReaders
) -> None:
    run_id = every_run.flights["swarm-7001"].run_id
    assert spark_queues(two_flights, run_id) == raw_queues(every_run, "swarm-7001")
    assert spark_queues(Without(two_flights, "batch_failed"), run_id) != raw_queues(every_run, "swarm-7001")


def since_its_first_record(spans: DataFrame) -> DataFrame:
    return spans.withColumn("held_from_us", sf.col("from_us"))


def always_one(_tables: Tables, spans: DataFrame) -> DataFrame:
    return spans.withColumn("waiting", sf.lit(1).cast("bigint"))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda _, tables: Without(tables, "log_truncated"), id="truncations"),
        pytest.param(lambda _, tables: Without(tables, "high_watermark_advanced"), id="high watermarks"),
        pytest.param(lambda _, tables: Without(tables, "group_declared"), id="groups", marks=pytest.mark.slow),
        pytest.param(
            lambda patch, tables: patch.setattr(facts, "_with_hold", since_its_first_record) or tables,
            id="hold",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda patch, tables: patch.setattr(facts, "_with_waiting", always_one) or tables,
            id="waiting",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_broken_fact_of_what_held_an_offset_back_is_caught(
    broken: Callable[[pytest.MonkeyPatch, Tables], Tables],
    two_flights: Tables,
    every_run: FiveReaders,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id, truth = every_run.flights["swarm-7020"].run_id, in_order(raw_held(every_run, "swarm-7020"))
    tables = broken(monkeypatch, Tables(two_flights.spark, two_flights.places))
    assert spark_held(tables, run_id) != truth


# --- a process that ends with batches in its queue --------------------------------------------------------------------


def of_a_process_that_died() -> list[dict[str, Any]]:
    """A batch is opened at 1 s, and its process killed; the next process opens one at 5 s, and sends it at 7 s."""
    batch = {"partition": "orders-0", "bytes": 100}
    events: list[dict[str, Any]] = [
        {"kind": "batch_opened", "at_us": 1_000_000, **batch},
        {"kind": "producer_state_changed", "at_us": 2_000_000, "state": "Dead", "reason": "kill"},
        {"kind": "batch_opened", "at_us": 5_000_000, **batch},
        {"kind": "produce_sent", "at_us": 7_000_000, "broker": 1, "records": {"orders-0": 3}, "retried": {}},
    ]
    return [{"seq": seq, "producer": "writer-1", **event} for seq, event in enumerate(events)]


def made(spark: SparkSession) -> Any:  # noqa: ANN401 - what analyses need of `Tables`
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in of_a_process_that_died():
        rows.setdefault(line["kind"], []).append({name: field for name, field in line.items() if name != "kind"})
    return HandMadeTables(spark, rows)


@pytest.mark.slow
def test_what_a_process_leaves_in_its_queue_is_no_batch_of_the_next(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = {name: measured(left) for name, left in raw_queue_times(of_a_process_that_died()).items()}
    assert truth["writer-1"]["longest_us"] == 2_000_000
    assert spark_queues(made(spark), "r") == truth
    monkeypatch.setattr(producers, "_with_life", lambda _tables, rows: rows.withColumn("life", sf.lit(0)))
    assert spark_queues(made(spark), "r") != truth
