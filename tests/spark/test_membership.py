"""Who was away, and for how long, as the raw event log has it."""

import json
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from recordings.journal.reader import Recording
from recordings.spark.analyses.membership import membership
from recordings.spark.facts.partitions_given import partitions_given
from recordings.spark.report_model import FlightReport
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import EVERY_RUN
from tests.support.spark.hand_made_tables import HandMadeTables

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy

Told = dict[tuple[str, str], dict[str, Any]]


def told(flight: FlightReport) -> Told:
    rows: list[Any] = flight.membership  # type: ignore[attr-defined]  # an analysis's own list
    kept = ("starts", "stops", "crashes", "removals", "down_us", "longest_down_us", "down_at_end", "frozen_us")
    return {(row.group, row.member): {name: getattr(row, name) for name in kept} for row in rows}


class _Member:
    """A client's process, line by line."""

    def __init__(self) -> None:
        self.starts = self.frozen_us = 0
        self.stops, self.removals, self.crashes = Counter[str](), Counter[str](), Counter[str]()
        self.down: list[int] = []
        self.down_since: int | None = None
        self.frozen_since: int | None = None

    def take(self, line: dict[str, Any]) -> None:
        kind, at_us = line["kind"], line["at_us"]
        if kind == "member_removed":
            self.removals[line["reason"]] += 1
            return
        if self.frozen_since is not None:
            self.frozen_us += at_us - self.frozen_since
            self.frozen_since = None
        if kind == "member_started":
            self.starts += 1
            if self.down_since is not None:
                self.down.append(at_us - self.down_since)
                self.down_since = None
        elif kind == "member_stopped":
            self.stops[line["how"]] += 1
            if line["how"] == "crash":
                self.crashes[line["reason"]] += 1
            self.down_since = at_us
        elif kind == "member_paused":
            self.frozen_since = at_us

    def end(self, at_us: int) -> dict[str, Any]:
        away = self.down_since is not None
        if self.down_since is not None:
            self.down.append(at_us - self.down_since)
        if self.frozen_since is not None:
            self.frozen_us += at_us - self.frozen_since
        return {
            "starts": self.starts,
            "stops": dict(self.stops),
            "removals": dict(self.removals),
            "crashes": dict(self.crashes),
            "down_us": sum(self.down),
            "longest_down_us": max(self.down, default=0),
            "down_at_end": away,
            "frozen_us": self.frozen_us,
        }


KINDS = {"member_started", "member_stopped", "member_paused", "member_resumed", "member_removed"}


def raw(readers: FiveReaders, name: str) -> Told:
    members: dict[tuple[str, str], _Member] = {}
    for text in b"".join(Recording(readers.flights[name].path).event_lines()).splitlines():
        line = json.loads(text)
        if line["kind"] in KINDS:
            members.setdefault((line["group"], line["member"]), _Member()).take(line)
    end_us = readers.reported(name).virtual_us
    return {place: member.end(end_us) for place, member in members.items() if member.starts}


@pytest.mark.parametrize("name", EVERY_RUN)
def test_a_report_has_the_members_of_the_log(name: str, every_run: FiveReaders) -> None:
    assert told(every_run.reported(name)) == raw(every_run, name)


def test_the_flights_have_members_that_were_away(every_run: FiveReaders) -> None:
    rows = [row for name in EVERY_RUN for row in raw(every_run, name).values()]
    assert sum(row["down_us"] > 0 for row in rows) > 3
    assert sum(bool(row["removals"]) for row in rows) > 3


def test_a_frozen_process_is_not_down(spark: SparkSession) -> None:
    """Frozen from 2 s to 5 s and again when it is killed at 8 s; started at 9 s, it is frozen at the end, at 20 s."""
    story = [
        ("started", 1),
        ("paused", 2),
        ("resumed", 5),
        ("paused", 7),
        ("stopped", 8),
        ("started", 9),
        ("paused", 18),
    ]
    rows: dict[str, list[dict[str, Any]]] = {}
    for seq, (what, second) in enumerate(story):
        row = {"seq": seq, "at_us": second * 1_000_000, "group": "g", "member": "g-1"}
        rows.setdefault(f"member_{what}", []).append(row | ({"how": "kill"} if what == "stopped" else {}))
    made: Any = HandMadeTables(spark, rows, 20_000_000)
    [found] = membership(made).collect()
    assert (found["starts"], found["stops"], found["down_us"], found["down_at_end"]) == (
        2,
        {"kill": 1},
        1_000_000,
        False,
    )
    assert found["frozen_us"] == (3 + 1 + 2) * 1_000_000


@pytest.mark.parametrize("ends", ["group_deleted", "group_protocol_converted"])
def test_a_group_that_begins_anew_gives_partitions_with_its_first_generation_again(
    ends: str, spark: SparkSession
) -> None:
    """Generation 1 of two lives is not the same one; within one life, a static member only takes what it had."""

    def assigned(seq: int) -> dict[str, Any]:
        at = {"seq": seq, "at_us": seq, "group": "billing", "member": "billing-1"}
        return at | {"generation": 1, "partitions": ["orders-0"]}

    rows = {
        "partitions_assigned": [assigned(1), assigned(2), assigned(9)],
        ends: [{"seq": 5, "at_us": 5, "group": "billing"}],
    }
    made: Any = HandMadeTables(spark, rows)
    assert sorted(row["seq"] for row in partitions_given(made).collect()) == [1, 9]
