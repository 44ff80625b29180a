"""The page that a scrape gets, and the file with timestamps: text that Prometheus' own parsers read."""

import socket
import threading
import urllib.error
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client import parser
from prometheus_client.core import Metric
from prometheus_client.openmetrics import parser as openmetrics_parser

from cluster.events import Event
from cluster.view import ClusterView, fold
from recordings.bounded_files import RecordingError
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.metrics.catalogue import EXPORTED
from recordings.metrics.counts import ProcessCounts
from recordings.metrics.history import export_openmetrics
from recordings.metrics.live import FlownMetrics, PlayedMetrics
from recordings.metrics.page import labels_of, samples
from recordings.metrics.server import MetricsPortError, MetricsServer, NoMetricsNow
from tests.support.prometheus import get

pytestmark = pytest.mark.xdist_group("metrics")  # the flight is flown once

Values = dict[tuple[str, frozenset[tuple[str, str]]], float]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def truth(path: Path, at_us: int) -> Values:
    view, counts = ClusterView(), ProcessCounts()
    for event in Recording(path).events():
        if event.at_us > at_us:
            break
        fold(view, event)
        counts.take(event)
    return {(one.name, frozenset(labels_of(one).items())): float(one.value) for one in samples(view, counts)}


def values(families: list[Metric]) -> Values:
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def openmetrics(text: str) -> list[Metric]:
    return list(openmetrics_parser.text_string_to_metric_families(text))  # type: ignore[no-untyped-call] # untyped


def events(path: Path) -> list[Event]:
    return list(Recording(path).events())


def test_a_scrape_of_some_names_has_these(troubled: Path) -> None:
    flown = FlownMetrics()
    names = {"kafka_brokers", "kafka_server_brokertopicmetrics_messagesin_total"}
    with MetricsServer(flown.collect, 0) as server:
        for event in events(troubled)[:2_000]:
            flown(event)
        text = get(f"{server.address}?{'&'.join(f'name[]={name}' for name in sorted(names))}")
    assert {name for name, _ in values(list(parser.text_string_to_metric_families(text)))} == names


@pytest.mark.slow
def test_a_scrape_of_a_flight_has_what_the_flight_is_at(troubled: Path) -> None:
    flown = FlownMetrics()
    with MetricsServer(flown.collect, 0) as server:
        for event in events(troubled):
            if event.at_us > 20_000_000:
                break
            flown(event)
        text = get(server.address)
        families = list(parser.text_string_to_metric_families(text))
        strict = openmetrics(get(server.address, OPENMETRICS))
    assert values(families) == values(strict) == truth(troubled, 20_000_000)
    assert {family.name: family.type for family in strict} == {
        metric.family: metric.kind for name, metric in EXPORTED.items() if any(name == key for key, _ in values(strict))
    }
    assert all(family.documentation for family in strict)


def test_a_scrape_of_a_playback_follows_its_cursor(troubled: Path) -> None:
    playback = Playback(Recording(troubled))
    played = PlayedMetrics(troubled, lambda: playback.view, lambda question: question())
    with MetricsServer(played.collect, 0) as server:
        for at_us in (0, 60_000_000, 21_500_000, 21_600_000, 90_000_000, 5_000_000):
            playback.seek_us(at_us)
            found = values(list(parser.text_string_to_metric_families(get(server.address))))
            assert found == truth(troubled, at_us), at_us


def test_flight_and_scrapes_go_on_at_once(troubled: Path) -> None:
    flown, done, pages = FlownMetrics(), threading.Event(), list[str]()
    with MetricsServer(flown.collect, 0) as server:

        def scrape() -> None:
            while not done.is_set():
                pages.append(get(server.address))

        scraper = threading.Thread(target=scrape)
        scraper.start()
        for event in events(troubled):
            flown(event)
            if event.at_us > 29_000_000:  # then broker-1 stops
                break
        done.set()
        scraper.join()
    lasts = [values(list(parser.text_string_to_metric_families(page))) for page in pages]
    appended = ("kafka_server_brokertopicmetrics_messagesin_total", frozenset({("instance", "broker-1")}))
    counts = [one[appended] for one in lasts if appended in one]
    assert all(after >= before for before, after in pairwise(counts))


def refused(address: str) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as error:
        get(address)
    return error.value.code, error.value.read().decode()


def test_what_is_no_page_is_refused_in_a_sentence() -> None:
    def nothing() -> list[Metric]:
        raise NoMetricsNow("the console is not open")

    with MetricsServer(nothing, 0) as server:
        assert refused(server.address) == (503, "the console is not open\n")
        assert refused(server.address.removesuffix("metrics")) == (404, "the metrics are at /metrics\n")
        connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/metrics", headers={"Host": "kafka.example:80"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (403, b"this page is for 127.0.0.1\n")
        connection.close()
        with pytest.raises(MetricsPortError, match=f"port {server.port} of 127.0.0.1 is in use: choose another one"):
            MetricsServer(nothing, server.port)


def test_a_recording_that_cannot_be_read_on_is_a_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    def damaged() -> list[Metric]:
        raise RecordingError("a.flight is damaged")

    with MetricsServer(damaged, 0) as server:
        assert refused(server.address) == (503, "a.flight is damaged\n")
    assert capfd.readouterr() == ("", "")


def test_the_page_is_for_this_machine_only() -> None:
    with MetricsServer(list, 0) as server, socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", server.port)) != 0


# --- the file ---


@pytest.mark.slow
def test_the_file_has_every_sample_at_its_instant(troubled: Path, tmp_path: Path) -> None:
    start = datetime(2026, 11, 27, 14, tzinfo=UTC)
    made = export_openmetrics(troubled, tmp_path / "a.om", step_us=18_000_000, start=start)
    families = openmetrics((tmp_path / "a.om").read_text(encoding="utf-8"))
    by_instant: dict[float, Values] = {}
    for family in families:
        for one in family.samples:
            assert one.timestamp is not None
            at_s = round(float(one.timestamp) - start.timestamp(), 3)
            by_instant.setdefault(at_s, {})[one.name, frozenset(one.labels.items())] = one.value
    assert sorted(by_instant) == [18.0 * number for number in range(6)]
    for at_s in (0.0, 36.0, 54.0, 90.0):
        assert by_instant[at_s] == truth(troubled, round(at_s * 1e6)), at_s
    assert made.samples == sum(len(one) for one in by_instant.values())
    assert (made.instants, made.bytes) == (6, (tmp_path / "a.om").stat().st_size)
    assert (made.from_s, made.to_s) == (start.timestamp(), start.timestamp() + 90)


def test_without_a_start_time_0_is_when_the_flight_was_flown(troubled: Path, tmp_path: Path) -> None:
    made = export_openmetrics(troubled, tmp_path / "a.om", step_us=90_000_000)
    assert made.from_s == datetime.fromisoformat(Recording(troubled).header.started).timestamp()


def test_a_file_that_cannot_be_written_is_named(troubled: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"cannot write metrics to .*: it is a directory"):
        export_openmetrics(troubled, tmp_path)
    with pytest.raises(RecordingError, match=r"cannot write metrics to .*: No such file or directory"):
        export_openmetrics(troubled, tmp_path / "none" / "a.om", step_us=90_000_000)
    assert list(tmp_path.iterdir()) == []


def test_too_many_samples_are_refused(troubled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recordings.metrics.history.MOST_SAMPLES", 5_000)
    with pytest.raises(RecordingError, match="more than 5,000 samples: give a longer --step"):
        export_openmetrics(troubled, tmp_path / "a.om", step_us=1_000_000)
