"""Records and bytes of each topic, and its busiest partition, as the raw event log has them."""

import json
from collections import Counter
from typing import Any

import pytest

from recordings.journal.reader import Recording
from recordings.spark.report_model import FlightReport
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import EVERY_RUN

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy

Told = dict[str, tuple[int, int, int, int, int, float]]


def told(flight: FlightReport) -> Told:
    rows: list[Any] = flight.throughput  # type: ignore[attr-defined]  # an analysis's own list
    return {
        one.topic: (one.partitions, one.empty, one.records, one.bytes, one.busiest_records, round(one.skew, 6))
        for one in rows
    }


def raw(readers: FiveReaders, name: str) -> tuple[Told, dict[str, set[str]]]:
    """The same from the lines of the journal, and the partitions of each topic that have most records."""
    sizes: dict[str, int] = {}
    records, weight = Counter[str](), Counter[str]()
    for text in b"".join(Recording(readers.flights[name].path).event_lines()).splitlines():
        line = json.loads(text)
        match line["kind"]:
            case "topic_created" if not line["internal"]:
                sizes[line["topic"]] = line["partitions"]
            case "partitions_added":
                sizes[line["topic"]] = line["partitions"]
            case "records_appended" if not line["marker"]:
                records[line["partition"]] += line["count"]
                weight[line["partition"]] += line["bytes"]
    found: Told = {}
    busiest: dict[str, set[str]] = {}
    for topic, size in sizes.items():
        names = [f"{topic}-{number}" for number in range(size)]
        counts = [records[name] for name in names]
        total, most = sum(counts), max(counts)
        skew = round(most / (total / size), 6) if total else 1.0
        found[topic] = (size, counts.count(0), total, sum(weight[name] for name in names), most, skew)
        busiest[topic] = {name for name in names if records[name] == most}
    return found, busiest


@pytest.mark.parametrize("name", EVERY_RUN)
def test_a_report_has_what_leaders_appended(name: str, every_run: FiveReaders) -> None:
    flight = every_run.reported(name)
    expected, busiest = raw(every_run, name)
    assert told(flight) == expected
    for one in flight.throughput:  # type: ignore[attr-defined]
        assert one.busiest in busiest[one.topic]
        assert one.records_per_s == pytest.approx(one.records / (flight.virtual_us / 1_000_000))


@pytest.mark.slow
def test_the_flights_have_uneven_topics_and_added_partitions(every_run: FiveReaders) -> None:
    skews = [row[5] for name in EVERY_RUN for row in raw(every_run, name)[0].values()]
    assert max(skews) > 2
    assert min(skews) < 1.5
