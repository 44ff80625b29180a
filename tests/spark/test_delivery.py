"""Anomalies of delivery: as an independent reader of the raw event log has them, and only where Kafka allows them."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from recordings.journal.reader import Recording
from recordings.spark.analyses.delivery import DELIVERY, document
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


# --- what is allowed --------------------------------------------------------------------------------------------------

TEXT = """
title = "Delivery"
until = "60s"
{defaults}
[[topic]]
name = "orders"
partitions = 1
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "1/s"
{producer}
[[group]]
name = "billing"
topics = ["orders"]
members = 1
{group}
"""
DUPLICATE = {"anomaly": "duplicate", "subject": "checkout-1", "partition": "orders-0", "records": 2, "first_seq": 9}
ABORTED = {"anomaly": "G1a", "subject": "billing", "partition": "orders-0", "records": 2, "first_seq": 9}
LOST = {"group": "billing", "lost": 3, "unread": 0}


Texts = dict[str, str]
Queries = dict[str, list[dict[str, Any]]]


def allowed(row: dict[str, Any], *settings: str, texts: Texts | None = None, queries: Queries | None = None) -> bool:
    """Whether an anomaly is allowed in a flight of this scenario."""
    words = {"defaults": "", "producer": "", "group": ""} | (texts or {})
    found: dict[str, list[Any]] = defaultdict(list, queries or {})
    found["flights"] = [{"scenario_text": TEXT.format(**words), "scenario": "delivery", "settings": list(settings)}]
    found["readers" if "group" in row else "anomalies"] = [row]
    [one] = DELIVERY.build(found)
    return one.allowed


COMMITTED = {"isolation": [{"group": "billing"}]}


def test_kafka_s_defaults_allow_no_anomaly() -> None:
    assert not allowed(DUPLICATE)
    assert not allowed(LOST)
    assert not allowed(ABORTED, queries=COMMITTED)


@pytest.mark.parametrize(
    "texts",
    [
        {"producer": 'config = { "enable.idempotence" = false }'},
        {"producer": "config = { acks = 1 }"},
        {"defaults": "[defaults.producer]\nconfig = { acks = 1 }"},
    ],
)
def test_a_producer_that_does_not_wait_or_number_may_write_twice_and_lose(texts: Texts) -> None:
    assert allowed(DUPLICATE, texts=texts)
    assert allowed(LOST, texts=texts)


def test_settings_of_the_flight_count_as_those_of_the_scenario() -> None:
    assert allowed(DUPLICATE, "checkout:enable.idempotence=false")
    assert not allowed(DUPLICATE, "checkout:linger.ms=5")
    assert allowed(DUPLICATE, queries={"changed": [{"run_id": "x"}]})


def test_an_application_that_commits_before_it_processes_may_lose() -> None:
    assert allowed(LOST, texts={"group": '[group.application]\ncommit = "before-processing"'})
    assert not allowed(LOST, texts={"group": '[group.application]\ncommit = "after-each-poll"'})
    assert allowed(LOST, queries={"moved": [{"group": "billing"}]})


def test_an_application_that_skips_what_it_cannot_process_loses_it() -> None:
    skips = "[group.application]\nfail = { share = 0.1, crashes = false }"
    assert allowed(LOST, texts={"group": skips})
    assert not allowed(LOST, texts={"group": skips.replace("false", "true")})


def test_a_producer_inside_an_application_counts_as_any_other() -> None:
    """Records that it has acknowledged by the leader alone may be lost to the group that reads them."""
    writing = (
        '[group.application]\nwrites = "lines"\nproducer = {{ acks = {} }}\n[[topic]]\nname = "lines"\npartitions = 1'
    )
    assert allowed(LOST, texts={"group": writing.format(1)})
    assert not allowed(LOST, texts={"group": writing.format('"all"')})


def test_only_a_log_that_was_cut_explains_an_aborted_read() -> None:
    lossy = COMMITTED | {"hazards": [{"events": 1}]}
    assert allowed(ABORTED)
    assert not allowed(ABORTED, queries=lossy)
    assert not allowed(ABORTED, queries=lossy | {"cut": [{"partition": "orders-1"}]})
    assert allowed(ABORTED, queries=lossy | {"cut": [{"partition": "orders-0"}]})


def test_the_document_has_every_anomaly() -> None:
    path = Path(__file__).resolve().parents[2] / "docs" / "anomalies.md"
    assert path.read_text(encoding="utf-8") == document(), "write what `delivery.document()` returns to it"
