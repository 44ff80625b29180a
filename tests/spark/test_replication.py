"""Elections and in-sync replicas of each topic, as the raw event log has them."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from recordings.journal.reader import Recording
from recordings.spark.report_model import FlightReport
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import AT_LENGTH, EVERY_RUN

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy

Told = dict[str, tuple[dict[str, int], int, int, int]]


def told(flight: FlightReport) -> Told:
    rows: list[Any] = flight.replication  # type: ignore[attr-defined]  # an analysis's own list
    return {one.topic: (one.elections, one.shrinks, one.expands, one.fewest_in_sync) for one in rows}


def raw(readers: FiveReaders, name: str, *, without: str = "") -> Told:
    """The same from the lines of the journal, perhaps without a kind of them."""
    users: set[str] = set()
    sizes: dict[str, list[int]] = {}
    elections: dict[str, Counter[str]] = {}
    for text in b"".join(Recording(readers.flights[name].path).event_lines()).splitlines():
        line = json.loads(text)
        match line["kind"]:
            case kind if kind == without:
                continue
            case "topic_created" if not line["internal"]:
                users.add(line["topic"])
            case "leader_elected" | "isr_changed":
                sizes.setdefault(line["partition"], []).append(len(line["isr"]))
                if line["kind"] == "leader_elected" and line["leader"] >= 0 and line["reason"] != "created":
                    elections.setdefault(line["partition"].rpartition("-")[0], Counter())[line["reason"]] += 1
    found: Told = {}
    for topic in users:
        mine = [known for name, known in sizes.items() if name.rpartition("-")[0] == topic]
        steps = [after - before for known in mine for before, after in pairwise(known)]
        shrinks, expands = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
        if shrinks or expands or topic in elections:
            found[topic] = (dict(elections.get(topic, {})), shrinks, expands, min(map(min, mine)))
    return found


@pytest.mark.parametrize("name", EVERY_RUN)
def test_a_report_has_the_elections_and_in_sync_replicas_of_the_log(name: str, every_run: FiveReaders) -> None:
    assert told(every_run.reported(name)) == raw(every_run, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_so_it_is_in_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    assert told(whole_fleet.reported(name)) == raw(whole_fleet, name)


@pytest.mark.slow
def test_the_flights_have_elections_and_in_sync_replicas_that_leave(every_run: FiveReaders) -> None:
    rows = [row for name in EVERY_RUN for row in raw(every_run, name).values()]
    assert {"broker fenced", "unclean"} <= {reason for row in rows for reason in row[0]}
    assert sum(row[1] for row in rows) > 10
    assert sum(row[2] for row in rows) > 10


@pytest.mark.parametrize("kind", ["leader_elected", "isr_changed"])
def test_a_reader_without_a_kind_of_events_is_caught(kind: str, every_run: FiveReaders) -> None:
    assert told(every_run.reported("short-unclean-election")) != raw(every_run, "short-unclean-election", without=kind)
