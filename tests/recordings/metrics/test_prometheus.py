"""A real Prometheus scrapes a playback, fires the examples' alert on a known incident, and keeps exported samples."""

import contextlib
import json
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.metrics.history import ExportedHistory, export_openmetrics
from recordings.scenarios.loader import parse_scenario
from tests.support.independent_metrics import IndependentMetrics, series
from tests.support.prometheus import (
    EXAMPLES,
    SPEED,
    WITH_PROMETHEUS,
    Alertmanager,
    asked,
    free_port,
    get,
    prometheus,
    promtool,
)

pytestmark = WITH_PROMETHEUS

STALLED = """
title = "A consumer that stands still for two minutes"
seed = 3
until = "4m"
[[topic]]
name = "orders"
partitions = 2
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "30/s"
[[group]]
name = "billing"
topics = ["orders"]
config = { "auto.offset.reset" = "earliest" }
[[at]]
time = "60s"
do = "stall billing-1 for 2m"
"""
STALLED_US, LAGS_US, FIRES_US, CAUGHT_UP_US = 60_000_000, 94_000_000, 154_000_000, 186_000_000
"""It stalls; it lags by more than 1000 records; for 60 s; it has caught up."""


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prometheus") / "stalled.flight"
    fly(make_plan(parse_scenario(STALLED, "stalled.toml"), invariants=False), record=path)
    return path


@contextlib.contextmanager
def playback(recording: Path) -> Iterator[str]:
    """`flightdeck play … --headless --metrics 0` at SPEED; yields the page's address."""
    words = ["play", recording, "--headless", "--metrics", "0", "--speed", str(SPEED)]
    process = subprocess.Popen(
        [sys.executable, "-m", "console.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield process.stderr.readline().removeprefix("metrics: ").strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_prometheus_scrapes_a_playback_and_fires_on_its_incident(stalled: Path, tmp_path: Path) -> None:
    alertmanager = Alertmanager()
    with playback(stalled) as page:
        checked = promtool("check", "metrics", text=get(page))
        assert set(re.findall(r"^\S+ (.*)$", checked.stderr, re.MULTILINE)) <= COMPLAINTS, checked.stderr
        with prometheus(tmp_path, urllib.parse.urlsplit(page).netloc, alertmanager.target) as api:
            alert = alertmanager.wait_for("ConsumerGroupLag")
            offset = "sum(kafka_topic_partition_current_offset{topic='orders'})"
            appended = float(asked(api, "query", query=offset)[0]["value"][1])
            lags = asked(api, "query", query="kafka_consumergroup_lag_sum")
            brokers = asked(api, "query", query="kafka_server_kafkaserver_brokerstate")
    assert (alert["labels"]["consumergroup"], alert["labels"]["topic"]) == ("billing", "orders")
    assert "billing lags" in alert["annotations"]["summary"]
    # 30 records a second tell the virtual instant at which it fired: after 60 s above the threshold, and before the end
    assert 30 * (FIRES_US - LAGS_US) / 1e6 < appended <= 30 * CAUGHT_UP_US / 1e6
    assert float(lags[0]["value"][1]) > 1000
    assert {one["metric"]["instance"] for one in brokers} == {"broker-1", "broker-2", "broker-3"}


COMPLAINTS = {
    "label names should be written in 'snake_case' not 'camelCase'",  # clientId of kafka-connect.yml
    'non-histogram and non-summary metrics should not have "_sum" suffix',  # kafka_exporter's lag_sum
    'non-histogram and non-summary metrics should not have "_count" suffix',  # Kafka's own attributes
}
"""What promtool says of the real exporters' names, too."""


def exported(recording: Path, place: Path) -> ExportedHistory:
    made = export_openmetrics(recording, place / "stalled.om")
    blocks = promtool("tsdb", "create-blocks-from", "openmetrics", place / "stalled.om", place / "data")
    assert blocks.returncode == 0, blocks.stderr
    return made


def lags_of_the_journal(recording: Path, step_us: int) -> list[float]:
    truth, next_us, lags = IndependentMetrics(), 0, list[float]()

    def look() -> float:
        return float(truth.values().get(series("consumergroup_lag_sum", consumergroup="billing", topic="orders"), -1))

    for line in (json.loads(line) for text in Recording(recording).event_lines() for line in text.splitlines()):
        while line["at_us"] > next_us:
            lags.append(look())
            next_us += step_us
        truth.take(line)
    return [*lags, look()]


def test_prometheus_keeps_what_is_exported(stalled: Path, tmp_path: Path) -> None:
    made = exported(stalled, tmp_path)
    with prometheus(tmp_path, f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}") as api:
        query = 'kafka_consumergroup_lag_sum{consumergroup="billing"}'
        found = asked(api, "query_range", query=query, start=made.from_s, end=made.to_s, step=15)
        count = asked(api, "query", query="count({__name__=~'kafka_.+'})", time=made.to_s)
    kept = {round(at_s - made.from_s): float(value) for at_s, value in found[0]["values"]}
    lags = {15 * place: lag for place, lag in enumerate(lags_of_the_journal(stalled, 15_000_000)) if lag >= 0}
    assert kept == lags
    assert max(kept.values()) > 3000
    assert int(count[0]["value"][1]) > 1000


def test_the_examples_are_valid() -> None:
    assert promtool("check", "config", EXAMPLES / "prometheus.yml").returncode == 0
    broken = promtool("check", "metrics", text="kafka_brokers{ 3\n")
    assert broken.returncode != 0
