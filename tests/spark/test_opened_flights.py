"""`recordings.spark.open` gives what the fold says, over recordings and exported tables; the example notebook runs."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

import recordings.spark
from cluster.view import ClusterView, fold
from recordings.bounded_files import RecordingError
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load
from recordings.spark.errors import ReportError
from recordings.spark.opened_flights import OpenedFlights
from recordings.tables.export import export
from recordings.tables.summary import summarize
from tests.support.repository import ROOT

NOTEBOOK = ROOT / "examples" / "cost-of-a-restart.ipynb"
US = 1_000_000


@pytest.fixture(scope="module")
def recorded_pair(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A flight with transactions and one with a killed member, for a minute each."""
    paths = [
        tmp_path_factory.mktemp("opened") / name for name in ("zombie-producer", "crash-between-commit-and-answer")
    ]
    for path in paths:
        fly(make_plan(load(path.name), until_us=60 * US), record=path)
    return paths


def folded(path: Path) -> ClusterView:
    view = ClusterView()
    for event in Recording(path).events():
        fold(view, event)
    return view


def test_recordings_and_exported_tables_open_alike(
    spark: SparkSession, recorded_pair: list[Path], tmp_path: Path
) -> None:
    export(recorded_pair[1:], tmp_path)
    with recordings.spark.open([recorded_pair[0], tmp_path]) as flights:
        assert flights.spark is spark
        found = {row["scenario"]: row["events"] for row in flights.flights.collect()}
        kept = [Path(place) for place in flights.tables.places]
    assert found == {path.name: summarize(path).events for path in recorded_pair}
    assert [place.exists() for place in kept] == [True, False], "what was exported for it is gone"
    assert spark.range(3).count() == 3, "the session of others goes on"


def test_what_cannot_be_opened_is_said_in_a_sentence(spark: SparkSession, recorded_pair: list[Path]) -> None:
    with pytest.raises(RecordingError, match="nowhere does not exist"):
        recordings.spark.open("nowhere")
    with pytest.raises(ReportError, match="no flight is named"):
        recordings.spark.open([])
    with recordings.spark.open(recorded_pair[0]) as flights, pytest.raises(ReportError, match="mean member_removed"):
        flights.events("member_remove")


def test_a_foreign_file_among_the_tables_is_named(recorded_pair: list[Path], tmp_path: Path) -> None:
    """Spark reads what it lacks as null: a notebook would count nothing, and no error would say so."""
    export(recorded_pair[1:], tmp_path)
    foreign = next((tmp_path / "tables" / "records_appended").glob("[!s]*.parquet"))
    parquet.write_table(pa.table({"x": [1]}), foreign)
    with pytest.raises(RecordingError, match=f"{foreign} is no file of the table `records_appended`"):
        recordings.spark.open(tmp_path)


@pytest.mark.slow
def test_every_frame_says_what_the_fold_says(spark: SparkSession, recorded_pair: list[Path]) -> None:
    with recordings.spark.open(recorded_pair, spark=spark) as flights:
        found = {name: frame(flights).collect() for name, frame in FRAMES.items()}
    for path in recorded_pair:
        assert _told(found, Recording(path).header.run_id) == _expected(path), path.name


FRAMES: dict[str, Callable[[OpenedFlights], DataFrame]] = {
    "totals": OpenedFlights.totals,
    "transactions": OpenedFlights.transactions,
    "unowned": OpenedFlights.unowned,
    "lag": OpenedFlights.lag,
    "lag_by_partition": OpenedFlights.lag_by_partition,
    "rebalances": OpenedFlights.rebalances,
    "ownership": OpenedFlights.ownership,
    "producers": OpenedFlights.producers,
    "partition_totals": OpenedFlights.partition_totals,
    "availability": OpenedFlights.availability,
    "removed": lambda flights: flights.events("member_removed"),
}


def _told(found: Mapping[str, list[Any]], run_id: str) -> dict[str, Any]:
    rows = {name: [row for row in frame if row["run_id"] == run_id] for name, frame in found.items()}
    unowned: Counter[str] = Counter()
    for row in rows["unowned"]:
        unowned[row["group"]] += row["until_us"] - row["from_us"]
    last = max(row["second"] for row in rows["lag"])
    return {
        "rebalances": Counter((row["group"], row["cause"], row["started_us"]) for row in rows["rebalances"]),
        "delivered": {row["group"]: (row["delivered"], row["duplicated"], row["lost"]) for row in rows["totals"]},
        "unowned ms": {group: us // 1000 for group, us in unowned.items() if us},
        "lag": {row["group"]: row["lag"] for row in rows["lag"] if row["second"] == last},
        "owners": {
            (row["group"], row["partition"]): row["owner"]
            for row in sorted(rows["ownership"], key=lambda row: int(row["seq"]))
        },
        "transactions": Counter(
            (row["transactional_id"], row["outcome"]) for row in rows["transactions"] if row["outcome"]
        ),
        "fenced": {row["fenced_by"] for row in rows["transactions"] if row["fenced_by"]},
        "acked": {row["producer"]: row["acked"] for row in rows["producers"]},
        "produced": sum(row["produced"] for row in rows["partition_totals"] if not row["internal"]),
        "unavailable": {row["topic"] for row in rows["availability"]},
        "removed": len(rows["removed"]),
        "waiting": sum(row["lag"] for row in rows["lag_by_partition"] if row["second"] == last),
    }


def _expected(path: Path) -> dict[str, Any]:
    view, summary = folded(path), summarize(path)
    lags = {row.group: row.lag for row in summary.groups}
    done = Counter[Any]()
    for name, one in view.transactions.items():
        done.update({(name, "committed"): one.committed, (name, "aborted"): one.aborted})
    lives = view.lives.transactions.values()
    return {
        "rebalances": Counter(
            (name, one.cause, one.started_us) for name, group in view.groups.items() for one in group.rebalances
        ),
        "delivered": {row.group: (row.delivered, row.duplicated, row.lost) for row in summary.groups},
        "unowned ms": {
            row.group: round(row.stopped_partition_s * 1e3) for row in summary.groups if row.stopped_partition_s
        },
        "lag": lags,
        "owners": {(name, part): owner for name, group in view.groups.items() for part, owner in group.owners.items()},
        "transactions": +done,
        "fenced": {each.fenced_for for life in lives for each in life.finished if each.fenced_for},
        "acked": {row.producer: row.acked for row in summary.producers},
        "produced": summary.delivery["produced"],
        "unavailable": set(),
        "removed": summary.kinds.get("member_removed", 0),
        "waiting": sum(lags.values()),
    }


@pytest.mark.slow
def test_the_example_notebook_runs_and_says_what_the_fold_says(spark: SparkSession) -> None:
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert all(not cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code")
    said: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}: {cell['id']}", "exec"), said)
    summary = summarize(said["recording"])
    unowned = {row.group: round(row.stopped_partition_s, 3) for row in summary.groups if row.stopped_partition_s}
    found = said["unowned"]
    assert {
        group: int(us * 1000) / 1000 for group, us in zip(found["group"], found["partition_s"], strict=True)
    } == unowned
    assert len(said["costs"]) == sum(not row.initial_delay_s for row in summary.rebalances)
    assert said["removed"]["count"].sum() == summary.kinds["member_removed"]
