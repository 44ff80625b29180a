"""Anomalies of delivery: as an independent reader of the raw event log has them, and only where Kafka allows them."""

import json
from pathlib import Path
from typing import Any

import pytest

from recordings.journal.reader import Recording
from recordings.spark.analyses.delivery import document
from recordings.spark.report_model import FlightReport
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import AT_LENGTH, EVERY_RUN
from tests.support.spark.raw_anomalies import Found, raw_anomalies

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy

SHOWS = {
    "mutant-passes_records_over": "poll-skip",
    "mutant-reads_everything_twice": "nonmonotonic-poll",
    "mutant-acknowledges_before_the_high_watermark": "nonmonotonic-send",
    "mutant-waits_for_no_follower": "lost-write",
    "mutant-begins_behind_what_was_committed": "lost-write",
    "mutant-commits_what_it_has_not_got_yet": "lost-write",
}
"""Broken clusters whose fault shows in what is delivered, in this one flight of each."""
ABORTED_READ = ("mutant-gets_aborted_records", "mutant-returns_aborted_records")
"""Their flights have truncated logs, too, in which a COMMIT may be gone: then Kafka allows it."""
FATES = ("lost-write", "unseen")  # the report's own figures, which test_equality.py compares with four other readers


def rows(flight: FlightReport) -> list[Any]:
    found: list[Any] = flight.anomalies  # type: ignore[attr-defined]  # an analysis's own list
    return found


def told(flight: FlightReport) -> Found:
    return {(one.anomaly, one.subject): one.records for one in rows(flight) if one.anomaly not in FATES}


def raw(readers: FiveReaders, name: str) -> Found:
    lines = b"".join(Recording(readers.flights[name].path).event_lines()).splitlines()
    return raw_anomalies(json.loads(line) for line in lines)


@pytest.mark.parametrize("name", EVERY_RUN)
def test_a_report_has_the_anomalies_of_the_log(name: str, every_run: FiveReaders) -> None:
    assert told(every_run.reported(name)) == raw(every_run, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_a_report_has_the_anomalies_of_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    assert told(whole_fleet.reported(name)) == raw(whole_fleet, name)


@pytest.mark.parametrize("name", [name for name in EVERY_RUN if not name.startswith("mutant-")])
def test_a_flight_of_a_sound_cluster_has_no_anomaly_that_kafka_forbids(name: str, every_run: FiveReaders) -> None:
    assert [one for one in rows(every_run.reported(name)) if not one.allowed] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "anomaly"), SHOWS.items())
def test_a_broken_cluster_shows_its_anomaly(name: str, anomaly: str, whole_fleet: FiveReaders) -> None:
    assert anomaly in {one.anomaly for one in rows(whole_fleet.reported(name)) if not one.allowed}


@pytest.mark.slow
@pytest.mark.parametrize("name", ABORTED_READ)
def test_a_broken_cluster_shows_aborted_reads(name: str, whole_fleet: FiveReaders) -> None:
    found = [one for one in rows(whole_fleet.reported(name)) if one.anomaly == "G1a"]
    assert any("COMMIT" in one.because for one in found)


def test_the_document_has_every_anomaly() -> None:
    path = Path(__file__).resolve().parents[2] / "docs" / "anomalies.md"
    assert path.read_text(encoding="utf-8") == document(), "write what `delivery.document()` returns to it"
