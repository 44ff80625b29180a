"""Percentiles, peaks, areas, incidents, recoveries and storms, against plain Python over the fold's own series."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from recordings.journal.reader import Recording
from recordings.spark.analyses.incidents import BASELINE_SECONDS, incidents, recoveries
from recordings.spark.analyses.storms import storms
from recordings.spark.facts import delivery, rebalance_costs
from recordings.spark.facts.lag_measures import group_lag, lag_measures
from recordings.spark.facts.rebalance_costs import rereads
from recordings.spark.facts.rebalances import attendance, rebalances
from recordings.spark.facts.time_windows import every_second, last_before
from recordings.spark.queries import QUERIES
from recordings.spark.tables import Tables
from tests.support.spark.folded_view import SECOND_US, Folded

pytestmark = pytest.mark.slow  # a Java virtual machine

Truths = Mapping[str, Folded]
Points = dict[int, tuple[int, int]]  # second → lag, time lag


def series(truth: Folded) -> dict[str, Points]:
    """Each group's lag and time lag at each second; 0 while it reads no partition."""
    groups = {name: dict.fromkeys(range(truth.last_second + 1), (0, 0)) for name in truth.view.groups}
    for (group, _, second), lag in truth.lag.items():
        total, oldest = groups[group][second]
        groups[group][second] = total + lag.lag, max(oldest, lag.time_lag_us)
    return groups


def percentile(values: Sequence[int], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low, rest = int(place), place % 1
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * rest


def test_the_measures_of_a_group(tables: Tables, truths: Truths) -> None:
    rows = lag_measures(group_lag(tables), ["group"]).collect()
    assert len(rows) == sum(len(truth.view.groups) for truth in truths.values())
    for row in rows:
        points = series(truths[row["run_id"]])[row["group"]]
        lags = [lag for lag, _ in points.values()]
        ages = [age for _, age in points.values()]
        for name, share in {"p50": 0.5, "p95": 0.95, "p99": 0.99}.items():
            assert row[f"lag_{name}"] == pytest.approx(percentile(lags, share))
            assert row[f"time_lag_{name}_us"] == pytest.approx(percentile(ages, share))
        assert row["lag_peak"] == max(lags)
        assert row["lag_peak_second"] == min(second for second, (lag, _) in points.items() if lag == max(lags))
        assert row["time_lag_peak_us"] == max(ages)
        assert row["lag_area"] == sum(lags)
        assert row["lag_end"] == points[max(points)][0]


def test_incidents_are_the_commands_that_did_something(tables: Tables, eventful: Path) -> None:
    recording = Recording(eventful)
    commands = [line for line in recording.survey().commands if not line.command.startswith("mark ")]
    rows = incidents(tables).where(f"run_id = '{recording.header.run_id}'").orderBy("incident").collect()
    assert [(row["at_us"], row["text"], row["source"]) for row in rows] == [
        (line.at_us, line.command, line.source) for line in commands
    ]
    assert [row["next_us"] for row in rows] == [line.at_us for line in commands[1:]] + [90_500_000]
    cleared = {row["text"]: row["cleared_us"] for row in rows}
    assert cleared["kill billing-2"] == 28_000_000
    assert cleared["stall billing-1 for 8s"] == 78_000_000
    assert cleared["scale audit to 4"] is None


def test_what_an_incident_did_to_lag(tables: Tables, truths: Truths) -> None:
    found = {
        (row["run_id"], row["incident"], row["group"]): row
        for row in recoveries(group_lag(tables), incidents(tables)).collect()
    }
    happened = incidents(tables).collect()
    assert len(happened) > 20
    for incident in happened:
        for group, points in series(truths[incident["run_id"]]).items():
            row = found.get((incident["run_id"], incident["incident"], group))
            assert (row is None) == (_expected(incident, points) is None)
            if row is not None:
                got = (row["baseline"], row["peak"], row["peak_second"], row["time_lag_peak_us"], row["recovered_us"])
                assert got == _expected(incident, points)


def _expected(incident: Row, points: Points) -> tuple[int, int, int, int, int | None] | None:
    at = incident["at_us"] // SECOND_US
    until = max(incident["next_us"] // SECOND_US, at + 1)
    before = [points[second][0] for second in range(at - BASELINE_SECONDS, at + 1) if second in points]
    during = [second for second in range(at + 1, until + 1) if second in points]
    if not during:
        return None
    baseline = max(before, default=0)
    peak = max(points[second][0] for second in during)
    peak_second = next(second for second in during if points[second][0] == peak)
    calm = next((second for second in sorted(points) if second > peak_second and points[second][0] <= baseline), None)
    recovered_us = None if calm is None else calm * SECOND_US - incident["at_us"]
    return baseline, peak, peak_second, max(points[second][1] for second in during), recovered_us


def test_everybody_who_joined_a_rebalance_is_in_its_attendance(tables: Tables, eventful: Path) -> None:
    run_id = Recording(eventful).header.run_id
    mine = rebalances(tables).where(f"run_id = '{run_id}' and group = 'billing'")
    [expired] = mine.where("cause = 'session expired'").collect()
    rows = attendance(tables, mine.where(f"rebalance = {expired['rebalance']}")).collect()
    assert {row["member"] for row in rows} == {"billing-1", "billing-3"}
    for row in rows:
        assert not row["newcomer"]
        assert expired["started_us"] <= row["stopped_us"] < row["joined_us"] < row["synced_us"] <= row["ready_us"]
        assert row["joined_us"] <= expired["closed_us"]
    assert expired["stopped_member_us"] == sum(row["ready_us"] - row["stopped_us"] for row in rows)


def test_members_of_the_consumer_protocol_reconcile_as_the_fold_says(tables: Tables, truths: Truths) -> None:
    found = rebalances(tables).where("protocol = 'consumer' and ends in ('Stable', 'Empty')")
    numbers = {(row["run_id"], row["group"], row["rebalance"]): row["generation"] for row in found.collect()}
    seen = {
        (truth.run_id, group, one.generation): one
        for truth in truths.values()
        for group, views in truth.rebalances.items()
        for one in views
        if one.reconciliation
    }
    rows = attendance(tables, found).collect()
    assert sum(row["asked_us"] is not None for row in rows) > 3
    for row in rows:
        one = seen[row["run_id"], row["group"], numbers[row["run_id"], row["group"], row["rebalance"]]]
        assert one.reconciliation is not None
        given = one.reconciliation.revocations.get(row["member"])
        assert (row["asked_us"], row["gave_up_us"]) == ((given.asked_us, given.done_us) if given else (None, None))
        assert row["reached_us"] == one.reconciliation.reached_us.get(row["member"]), (row, one)
        assert (row["joined_us"] is not None) == row["newcomer"] == (row["member"] in one.newcomers), (row, one)


def test_phases_of_a_rebalance_are_in_order(tables: Tables) -> None:
    rows = rebalances(tables).where("ends = 'Stable' and assigned_us is not null").collect()
    assert len(rows) > 10
    for row in rows:
        assert row["started_us"] <= row["closed_us"] <= row["assigned_us"] <= row["ended_us"]


def test_storms_are_rebalances_one_upon_the_other(spark: SparkSession) -> None:
    def row(
        rebalance: int, at_s: int, cause: str = "member joined", group: str = "g", initial: bool = False
    ) -> tuple[object, ...]:
        return ("run", group, rebalance, at_s * SECOND_US, at_s * SECOND_US + 5, cause, 10, 1, initial)

    names = "run_id string, group string, rebalance int, started_us long, ended_us long, cause string"
    columns = f"{names}, stopped_partition_us long, reread long, initial boolean"
    rows = [row(2, 0), row(3, 59), row(4, 100, "member left"), row(5, 161), row(6, 162, "partitions revoked")]
    rows += [row(1, 0, group="new", initial=True), row(2, 1, group="new"), row(3, 2, group="new")]  # a first join
    rows += [row(1, 0, group="forming", initial=True), *(row(n, n - 1, group="forming") for n in (2, 3, 4, 64))]
    rows += [row(2, 0, group="calm"), row(3, 61, group="calm"), row(4, 122, group="calm")]
    rows += [row(n, at_s, "metadata changed", group="pattern") for n, at_s in ((1, 0), (2, 30), (3, 40))]
    [storm] = storms(spark.createDataFrame(rows, columns)).collect()
    assert (storm["group"], storm["rebalances"]) == ("g", 3)
    assert (storm["from_us"], storm["until_us"]) == (0, 100 * SECOND_US + 5)
    assert storm["causes"] == ["member joined", "member joined", "member left"]
    assert (storm["stopped_partition_us"], storm["reread"]) == (30, 3)


class MadeTables(dict[str, DataFrame]):
    """Tables that a test makes: all that is asked of `Tables` here."""

    def has_rows(self, name: str) -> bool:
        return not self[name].isEmpty()

    def once(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        return self[name] if name in self else make()


def test_what_a_truncation_took_is_not_read_again(spark: SparkSession) -> None:
    """Read up to 600, truncated to 300, read up to 350; a rebalance gives the partition, committed are 340."""

    def rows(kind: str, *values: tuple[object, ...]) -> DataFrame:
        fields = {
            "positions_reset": "member string, positions map<string, long>, reason string",
            "poll_returned": "positions map<string, long>",
            "positions_moved_on": "positions map<string, long>",
            "static_member_replaced": "member string, goes_on boolean",
            "partitions_assigned": "member string, generation int, partitions array<string>",
            "position_truncated": "partition string",
            "consumer_group_epoch_bumped": "epoch int",
            "group_deleted": "broker int",
            "group_protocol_converted": "protocol string",
        }
        made = [("run", "g", *value) for value in values]
        return spark.createDataFrame(made, f"run_id string, group string, seq long, {fields[kind]}")

    tables = {
        "partitions_assigned": rows("partitions_assigned", (1, "a", 1, ["t-0"]), (8, "b", 2, ["t-0"])),
        "positions_reset": rows(
            "positions_reset",
            (2, "a", {"t-0": 0}, "earliest"), (5, "a", {"t-0": 300}, "truncated"), (9, "b", {"t-0": 340}, "committed"),
        ),
        "poll_returned": rows("poll_returned", (3, {"t-0": 600}), (6, {"t-0": 350})),
        "positions_moved_on": rows("positions_moved_on"),
        "static_member_replaced": rows("static_member_replaced"),
        "position_truncated": rows("position_truncated", (4, "t-0")),
        "consumer_group_epoch_bumped": rows("consumer_group_epoch_bumped"),
        "group_deleted": rows("group_deleted"),
        "group_protocol_converted": rows("group_protocol_converted"),
    }  # fmt: skip
    tables["read_partitions"] = spark.createDataFrame(
        [("run", "g", "t-0", 1)], "run_id string, group string, partition string, reader int"
    )
    [again] = rereads(cast(Tables, MadeTables(tables))).collect()
    assert (again["seq"], again["partition"], again["reread"]) == (9, "t-0", 10)
    untold = MadeTables(tables | {"position_truncated": rows("position_truncated")})
    [overlooked] = rereads(cast(Tables, untold)).collect()
    assert overlooked["reread"] == 600 - 340


def test_rows_without_a_boundary_between_them_count_together(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether nearly all rows stand alone or nearly none, the records that groups read are the same."""

    def found(stretch: int) -> tuple[list[Row], list[Row]]:
        monkeypatch.setattr(delivery, "STRETCH_OFFSETS", stretch)
        monkeypatch.setattr(rebalance_costs, "STRETCH_EVENTS", stretch)
        fresh = Tables(tables.spark, tables.places)
        return sorted(QUERIES["readers"](fresh).collect()), sorted(rebalance_costs.rereads(fresh).collect())

    alone = found(1 << 30)
    assert alone[0]
    assert alone[1]
    assert found(3) == alone


def test_what_stands_at_a_second_includes_its_own_instant(spark: SparkSession) -> None:
    flights = spark.createDataFrame([("run", 3_500_000)], "run_id string, virtual_us long")
    changes = spark.createDataFrame(
        [("run", "k", 1, 0, 10, "a"), ("run", "k", 2, 1_000_000, 11, None), ("run", "k", 3, 1_000_001, None, "b")],
        "run_id string, key string, seq long, at_us long, number int, text string",
    )
    rows = every_second(changes, flights, ["key"], ["number", "text"]).orderBy("second").collect()
    assert [(row["second"], row["number"], row["text"]) for row in rows] == [
        (0, 10, "a"), (1, 11, "a"), (2, 11, "b"), (3, 11, "b"), (4, 11, "b"),
    ]  # fmt: skip


def test_the_last_fact_before_is_strictly_before(spark: SparkSession) -> None:
    asked = spark.createDataFrame(
        [("run", "k", 5, "x"), ("run", "k", 1, "y")], "run_id string, key string, seq long, ask string"
    )
    facts = spark.createDataFrame(
        [("run", "k", 1, 1), ("run", "k", 4, 4), ("run", "k", 5, 5)], "run_id string, key string, seq long, fact int"
    )
    rows = {row["ask"]: row["fact"] for row in last_before(asked, facts, ["key"]).collect()}
    assert rows == {"x": 4, "y": None}
