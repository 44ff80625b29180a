"""Transactions by transactional id: as the raw event log has them, and as hand-made logs of a coordinator have them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from recordings.journal.reader import Recording
from recordings.spark.facts.transactions import transactions
from recordings.spark.report_model import FlightReport
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import AT_LENGTH, EVERY_RUN
from tests.support.spark.folded_transactions import Ended, folded_transactions
from tests.support.spark.hand_made_tables import HandMadeTables
from tests.support.spark.raw_transactions import raw_transactions

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy


KEPT = (
    *("committed", "aborted", "lost", "open_at_end", "timed_out", "superseded"),
    *("p50_us", "longest_us", "longest_from_us", "most_partitions"),
)


def told(flight: FlightReport) -> dict[str, dict[str, Any]]:
    """The report's rows, without what the raw reader does not count."""
    rows: list[Any] = flight.transactions  # type: ignore[attr-defined]  # an analysis's own list
    return {row.transactional_id: {name: getattr(row, name) for name in KEPT} for row in rows}


def raw(readers: FiveReaders, name: str) -> dict[str, dict[str, Any]]:
    flight = readers.flights[name]
    lines = (json.loads(line) for line in b"".join(Recording(flight.path).event_lines()).splitlines())
    return raw_transactions(lines, readers.reported(name).virtual_us)


@pytest.mark.parametrize("name", EVERY_RUN)
def test_a_report_has_the_transactions_of_the_log(name: str, every_run: FiveReaders) -> None:
    assert told(every_run.reported(name)) == raw(every_run, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_a_report_has_the_transactions_of_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    assert told(whole_fleet.reported(name)) == raw(whole_fleet, name)


@pytest.mark.slow
def test_the_flights_have_transactions_of_every_end(every_run: FiveReaders) -> None:
    ends = [row for name in EVERY_RUN for row in raw(every_run, name).values()]
    for end in ("committed", "aborted"):
        assert sum(row[end] for row in ends) > 3, end


def most_open(readers: FiveReaders, name: str) -> list[Ended]:
    """The longest hundred transactions in a partition, and all of more than 15 s, by the fold."""
    end_us = readers.reported(name).virtual_us

    def took_us(one: Ended) -> int:
        return (end_us if one.until_us is None else one.until_us) - one.from_us

    every = folded_transactions(Recording(readers.flights[name].path))
    found = sorted(every, key=lambda one: (-took_us(one), one.from_us, one.partition))
    return [one for place, one in enumerate(found) if place < 100 or took_us(one) > 15_000_000]


def held(flight: FlightReport) -> list[Ended]:
    rows: list[Any] = flight.held_back  # type: ignore[attr-defined]  # an analysis's own list
    return [Ended(*(getattr(row, name) for name in Ended._fields)) for row in rows]


@pytest.mark.parametrize("name", EVERY_RUN)
def test_what_held_the_last_stable_offset_back_is_what_the_fold_saw(name: str, every_run: FiveReaders) -> None:
    assert sorted(map(str, held(every_run.reported(name)))) == sorted(map(str, most_open(every_run, name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_so_it_is_in_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    assert sorted(map(str, held(whole_fleet.reported(name)))) == sorted(map(str, most_open(whole_fleet, name)))


def test_the_flights_have_transactions_that_records_waited_for(every_run: FiveReaders) -> None:
    rows = [row for name in EVERY_RUN for row in held(every_run.reported(name))]
    assert {row.outcome for row in rows} == {"COMMIT", "ABORT", "truncated", None}
    assert max(row.waiting for row in rows) > 30
    assert any(row.held_from_us is None for row in rows), "one behind another"
    assert any(row.held_from_us not in {None, row.from_us} for row in rows), "one that held only later"


# --- hand-made logs ---------------------------------------------------------------------------------------------------


def changes(*states: tuple[str, int] | tuple[str, int, str]) -> Iterator[dict[str, Any]]:
    """(state, start[, "loaded"]), one each second."""
    for second, (state, start, *loaded) in enumerate(states, 1):
        yield {
            "transactional_id": "t",
            "seq": second,
            "at_us": second * 1_000_000,
            "state": state,
            "start_us": start,
            "partitions": ["a-0"],
            "loaded": bool(loaded),
            "producer_id": 7,
            "epoch": 0,
        }


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([("Ongoing", 1), ("PrepareCommit", 1), ("CompleteCommit", 1)], [(1, 3, "committed")]),
        ([("Ongoing", 1), ("PrepareAbort", 1), ("CompleteAbort", 1)], [(1, 3, "aborted")]),
        ([("Ongoing", 1)], [(1, None, None)]),
        # a new coordinator repeats what it finds, and goes on
        (
            [("Ongoing", 1), ("Ongoing", 1, "loaded"), ("PrepareCommit", 1), ("CompleteCommit", 1)],
            [(1, 4, "committed")],
        ),
        # its log has lost the second one: the first one is what it finds
        (
            [("Ongoing", 1), ("CompleteCommit", 1), ("Ongoing", 2), ("CompleteCommit", 1, "loaded"), ("Ongoing", 5)],
            [(1, 2, "committed"), (3, 4, "lost"), (5, None, None)],
        ),
        # the end was written, and its event is only told by the coordinator that loads it
        ([("Ongoing", 1), ("PrepareAbort", 1), ("CompleteAbort", 1, "loaded")], [(1, 3, "aborted")]),
        ([("Ongoing", 1), ("Empty", -1, "loaded"), ("Ongoing", 3)], [(1, 2, "lost"), (3, None, None)]),
    ],
)
def test_each_transaction_has_its_own_end(
    states: list[Any], expected: list[tuple[int, int | None, str | None]], spark: SparkSession
) -> None:
    """Without the rows that a coordinator loads, a lost transaction would last until the end of the next one."""
    made: Any = HandMadeTables(spark, {"transaction_state_changed": list(changes(*states))})
    rows = sorted(transactions(made).collect(), key=lambda row: int(row["from_us"]))
    seconds = [
        (row["from_us"] // 1_000_000, None if row["until_us"] is None else row["until_us"] // 1_000_000, row["outcome"])
        for row in rows
    ]
    assert seconds == expected


def test_a_fencing_belongs_to_the_transaction_that_it_ends(spark: SparkSession) -> None:
    states = list(changes(("Ongoing", 1), ("CompleteCommit", 1), ("Ongoing", 3), ("CompleteAbort", 3)))
    for row in states:
        row["seq"] *= 10
    fenced = {"transactional_id": "t", "seq": 35, "at_us": 3_500_000, "reason": "timeout", "epoch": 1}
    made: Any = HandMadeTables(spark, {"transaction_state_changed": states, "transaction_fenced": [fenced]})
    rows = sorted(transactions(made).collect(), key=lambda row: int(row["from_us"]))
    assert [row["fenced_by"] for row in rows] == [None, "timeout"]
