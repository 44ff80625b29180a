"""What Spark rebuilds from tables equals the fold, in every flight, at every second."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import pytest
from pyspark.sql import Row

from cluster.view.rebalances import RebalanceView
from recordings.spark.facts.group_generations import groups_by_second
from recordings.spark.facts.lag import lag_by_partition
from recordings.spark.facts.ownership import owners_by_second, unowned
from recordings.spark.facts.rebalances import rebalances
from recordings.spark.facts.totals import group_totals, partition_totals, reader_totals
from recordings.spark.tables import Tables, count_with_spark
from tests.support.spark.folded_view import Folded, Lag, final

pytestmark = pytest.mark.timeout(300)  # a Java virtual machine, and a machine that may be busy

Truths = Mapping[str, Folded]
Key = TypeVar("Key")
Value = TypeVar("Value")


def _lag(row: Row) -> Lag:
    return Lag(*(row[name] for name in Lag._fields))


def by_flight(rows: Iterable[Row]) -> dict[str, list[Row]]:
    flights: dict[str, list[Row]] = {}
    for row in rows:
        flights.setdefault(row["run_id"], []).append(row)
    return flights


def differences(found: Mapping[Key, Value], truth: Mapping[Key, Value]) -> list[str]:
    """The first few keys for which the two differ, in words."""
    keys = [key for key in {**truth, **found} if found.get(key) != truth.get(key)]
    return [f"{key}: Spark {found.get(key)}, fold {truth.get(key)}" for key in keys[:5]]


@pytest.mark.slow
def test_lag_in_records_and_in_time(tables: Tables, truths: Truths) -> None:
    found = by_flight(lag_by_partition(tables).collect())
    assert found.keys() == truths.keys()
    for run_id, rows in found.items():
        lags = {(row["group"], row["partition"], row["second"]): _lag(row) for row in rows}
        assert not differences(lags, truths[run_id].lag)


@pytest.mark.slow
def test_owners(tables: Tables, truths: Truths) -> None:
    found = by_flight(owners_by_second(tables).collect())
    assert found.keys() == {run_id for run_id, truth in truths.items() if truth.owners}
    for run_id, rows in found.items():
        owners = {(row["group"], row["partition"], row["second"]): row["owner"] for row in rows if row["owner"]}
        assert not differences(owners, truths[run_id].owners)


@pytest.mark.slow
def test_generations_and_states(tables: Tables, truths: Truths) -> None:
    found = by_flight(groups_by_second(tables).collect())
    assert found.keys() == {run_id for run_id, truth in truths.items() if truth.groups}
    for run_id, rows in found.items():
        groups = {(row["group"], row["second"]): (row["generation"], row["state"]) for row in rows}
        assert not differences(groups, truths[run_id].groups)


def waited(view: RebalanceView) -> tuple[str, int]:
    """The member that a rebalance waited for, and how long; of the consumer protocol, for its revocation."""
    if view.reconciliation is None:
        return view.waited_for, view.waited_us
    slowest = view.reconciliation.revocations.get(view.reconciliation.slowest)
    return view.reconciliation.slowest, slowest.done_us - slowest.asked_us if slowest else 0


@pytest.mark.slow
def test_rebalances(tables: Tables, truths: Truths) -> None:
    found = by_flight(rebalances(tables).orderBy("group", "rebalance").collect())
    for run_id, truth in truths.items():
        rows = [row for row in found[run_id] if row["ends"] in {"Stable", "Empty"}]
        for group, views in truth.rebalances.items():
            mine = [row for row in rows if row["group"] == group]
            assert len(mine) == len(views)
            for row, view in zip(mine, views, strict=True):
                assert row["generation"] == view.generation
                assert (row["cause"], row["trigger"]) == (view.cause, view.trigger)
                assert (row["started_us"], row["ended_us"]) == (view.started_us, view.stable_us)
                assert (row["waited_for"], row["waited_us"]) == waited(view)
                assert row["protocol"] == ("consumer" if view.reconciliation else "classic")
                assert (row["moved"], row["members"]) == (view.moved, view.members), (run_id, view)


@pytest.mark.slow
def test_what_rebalances_cost_adds_up(tables: Tables, truths: Truths) -> None:
    found = by_flight(rebalances(tables).collect())
    lasting = {(row["run_id"], row["group"], row["partition"]): row for row in unowned(tables).collect()}
    for run_id, truth in truths.items():
        for group, fields in final(truth)["groups"].items():
            mine = [row for row in found[run_id] if row["group"] == group]
            stopped_us = sum(
                row["stopped_partition_us"] + row["orphaned_partition_us"] + row["after_partition_us"] for row in mine
            )
            open_us = sum(
                row["until_us"] - row["from_us"]
                for (flight, name, _), row in lasting.items()
                if (flight, name) == (run_id, group) and row["seq"] is None
            )
            assert (stopped_us + open_us) // 1000 == fields["stopped_partition_ms"]
            told = sum(view.reread for view in truth.rebalances[group])
            assert sum(row["reread"] for row in mine) == told


@pytest.mark.slow
def test_totals(tables: Tables, truths: Truths) -> None:
    ends = tables.flights.selectExpr("run_id", "(virtual_us + 999999) div 1000000 as second")
    readers = reader_totals(tables, lag_by_partition(tables).join(ends, ["run_id", "second"]))
    found = by_flight(group_totals(tables, readers).collect())
    produced = by_flight(partition_totals(tables).where("not internal").collect())
    for run_id, truth in truths.items():
        delivery = final(truth)["delivery"]
        for row in found[run_id]:
            counted = delivery["by_group"][row["group"]]
            for name in ("delivered", "duplicated", "lost", "unread", "out_of_order_keys"):
                assert row[name] == counted[name], (run_id, row["group"], name)
        for name in ("produced", "acked", "appended"):
            assert sum(row[name] for row in produced[run_id]) == delivery[name]


@pytest.mark.slow
def test_every_event_is_there_once(tables: Tables) -> None:
    found = by_flight(tables.kinds())
    for flight in tables.flights.collect():
        rows = found[flight["run_id"]]
        assert {row["kind"]: row["events"] for row in rows} == flight["kinds"]
        assert sum(row["events"] for row in rows) == flight["events"] == max(row["last_seq"] for row in rows)


@pytest.mark.slow
def test_spark_and_arrow_count_alike(tables: Tables) -> None:
    by_spark = count_with_spark(tables.spark, tables.places)
    here, anywhere = (
        sorted(tuple(sorted(row.asDict().items())) for row in rows) for rows in (tables.kinds(), by_spark)
    )
    assert here == anywhere
