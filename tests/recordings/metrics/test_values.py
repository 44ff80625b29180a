"""Every series has the value that the journal's lines say, read by code that shares nothing with the product."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster import events as e
from cluster.view import ClusterView, document, fold
from cluster.view.brokers import BrokerView
from cluster.view.document import partition_lags
from cluster.view.state import GroupView, PartitionView, ReaderView, TopicView
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.metrics import kafka_exporter, processes
from recordings.metrics.catalogue import EXPORTED
from recordings.metrics.counts import HANDLERS, KEPT_EVERY, ProcessCounts, RecordedCounts
from recordings.metrics.page import labels_of, samples
from recordings.scenarios.loader import load
from tests.support.independent_metrics import IndependentMetrics, Series
from tests.support.slow_cases import partly_campaign

SECOND_US = 1_000_000
IN_FLIGHT = "kafka_producer_requests_in_flight"
LESSONS = (
    "unclean-election",
    "transaction-abort",
    "add-partitions",
    "hanging-transaction",
    "compacted-topic",
    "migration-rolling",
    "coordinator-failover",
    "fetch-from-follower",
    "assigned-by-hand",
    "static-restart",
)

pytestmark = pytest.mark.xdist_group("metrics")  # the flight is flown once


def said(view: ClusterView, counts: ProcessCounts) -> dict[Series, float]:
    found: dict[Series, float] = {}
    for sample in samples(view, counts):
        series = sample.name, frozenset(labels_of(sample).items())
        assert series not in found, f"{series} twice"
        found[series] = float(sample.value)
    return found


class Instant:
    """The product's view and counts, and the independent reader, after the same events."""

    def __init__(self) -> None:
        self.view, self.counts, self.truth = ClusterView(), ProcessCounts(), IndependentMetrics()

    def differences(self) -> list[str]:
        product = {series: value for series, value in said(self.view, self.counts).items() if series[0] != IN_FLIGHT}
        truth = {series: float(value) for series, value in self.truth.values().items()}
        at_s = self.view.at_us / SECOND_US
        return [
            f"{at_s:.3f} s: {name}{dict(labels)}: {product.get((name, labels))}, not {truth.get((name, labels))}"
            for name, labels in sorted(product.keys() | truth.keys(), key=str)
            if product.get((name, labels)) != truth.get((name, labels))
        ]


def instants(path: Path, step_s: float) -> Iterator[Instant]:
    recording, instant = Recording(path), Instant()
    lines = (json.loads(line) for text in recording.event_lines() for line in text.splitlines())
    next_us = step_us = round(step_s * SECOND_US)
    for event, line in zip(recording.events(), lines, strict=True):
        while event.at_us > next_us:
            yield instant
            next_us += step_us
        fold(instant.view, event)
        instant.counts.take(event)
        instant.truth.take(line)
    yield instant


def differences(path: Path, step_s: float) -> list[str]:
    return [text for instant in instants(path, step_s) for text in instant.differences()]


class Told(NamedTuple):
    """What an instant says: of every metric, of producers and lags in the console, and where the journal differs."""

    values: dict[Series, float]
    in_flight: dict[str, int]
    lags: dict[tuple[str, str], tuple[int, int]]  # (group, partition) → its committed offset, its lag on screen
    differences: list[str]


@pytest.fixture(scope="module")
def told(troubled: Path) -> list[Told]:
    found = []
    for instant in instants(troubled, 2.3):
        view = instant.view
        producers = document(view, view.at_us, ["producers"])["producers"]
        lags = {
            (name, partition): (group.readers[partition].committed if partition in group.readers else -1, lag)
            for name, group in view.groups.items()
            for partition, lag in partition_lags(view, group).items()
        }
        in_flight = {name: one["requests_in_flight"] for name, one in producers.items()}
        found.append(Told(said(view, instant.counts), in_flight, lags, instant.differences()))
    return found


@pytest.mark.slow
def test_every_value_is_what_the_journal_says(told: list[Told]) -> None:
    assert [text for one in told for text in one.differences] == []


@pytest.mark.parametrize("lesson", partly_campaign(LESSONS, 3))
def test_every_value_of_a_lesson_is_what_its_journal_says(lesson: str, tmp_path: Path) -> None:
    fly(make_plan(load(lesson), invariants=False), record=tmp_path / "a.flight")
    assert differences(tmp_path / "a.flight", 13.7) == []


def test_the_flight_has_what_the_metrics_are_about(told: list[Told]) -> None:
    seen: dict[str, set[float]] = {}
    for one in told:
        for (name, _), value in one.values.items():
            seen.setdefault(name, set()).add(value)
    assert set(seen) == set(EXPORTED)
    assert {name for name, values in seen.items() if len(values) == 1} == {
        "kafka_producer_batch_split",
        "kafka_consumer_fetch_manager_preferred_read_replica",
        "kafka_controller_kafkacontroller_globaltopiccount",
        "kafka_coordinator_group_groupmetadatamanager_numgroupsempty",
        "kafka_server_group_coordinator_metrics_state_empty_consumer_group_count",
    }


def test_requests_in_flight_are_those_of_the_view_document(told: list[Told]) -> None:
    for one in told:
        counts = {dict(labels)["clientId"]: value for (name, labels), value in one.values.items() if name == IN_FLIGHT}
        assert counts == {name: float(one.in_flight[name]) for name in counts}


def test_lag_is_the_console_s_where_both_have_one(told: list[Told]) -> None:
    compared = 0
    for one in told:
        for (name, frozen), value in one.values.items():
            if name == "kafka_consumergroup_lag":
                labels = dict(frozen)
                offset, lag = one.lags[labels["consumergroup"], f"{labels['topic']}-{labels['partition']}"]
                assert value == -1 if offset < 0 else max(0, value) == lag
                compared += offset >= 0
    assert compared > 100


def test_lag_is_below_zero_after_a_truncation_where_the_console_shows_none() -> None:
    view = ClusterView()
    partition, group = truncated_scene(view)
    lags = [one.value for one in kafka_exporter.samples_of_exporter(view) if one.name == "kafka_consumergroup_lag"]
    assert (lags, partition_lags(view, group)) == ([-300.0], {partition: 0})


def truncated_scene(view: ClusterView) -> tuple[str, GroupView]:
    view.brokers[1] = BrokerView(1, up=True, state="Running", fenced=False)
    for topic in ("orders", "__consumer_offsets"):
        view.topics[topic] = TopicView(topic, 1, 1, 1, internal=topic != "orders")
        view.partitions_by_topic[topic] = [f"{topic}-0"]
        one = view.partitions[f"{topic}-0"] = PartitionView(f"{topic}-0", topic, 0)
        one.leader, one.leader_epoch, one.taken_epoch, one.replicas, one.isr = 1, 0, 0, (1,), (1,)
    view.partitions["orders-0"].high_watermark = 300
    group = view.groups["billing"] = GroupView(
        "billing", ("orders",), (), "earliest", read_committed=False, coordinator_partition="__consumer_offsets-0"
    )
    group.readers["orders-0"] = ReaderView(committed=600)
    return "orders-0", group


# --- planted errors ---


@pytest.mark.parametrize(
    ("plant", "metric"),
    [
        ("lag to the last stable offset", "kafka_consumergroup_lag"),
        ("members of both protocols", "kafka_consumergroup_members"),
        ("a stopped broker answers", "kafka_server_kafkaserver_brokerstate"),
        ("no reset at a restart", "kafka_server_brokertopicmetrics_messagesin_total"),
        ("markers are no records", "kafka_server_brokertopicmetrics_messagesin_total"),
        ("retries are not sent", "kafka_producer_record_send"),
        ("replicas being added are missed", "kafka_server_replicamanager_underreplicatedpartitions"),
    ],
)
def test_a_planted_error_is_found(troubled: Path, plant: str, metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[plant](monkeypatch)
    found = chain.from_iterable(instant.differences() for instant in instants(troubled, 4.6))
    assert any(metric in text for text in found)


def to_the_stable_end(monkeypatch: pytest.MonkeyPatch) -> None:
    original = kafka_exporter.samples_of_exporter

    def wrong(view: ClusterView) -> Iterator[kafka_exporter.Sample]:
        for sample in original(view):
            if sample.name == "kafka_consumergroup_lag":
                partition = view.partitions[f"{sample.labels['topic']}-{sample.labels['partition']}"]
                yield sample._replace(value=sample.value + partition.last_stable_offset - partition.high_watermark)
            else:
                yield sample

    monkeypatch.setattr("recordings.metrics.page.samples_of_exporter", wrong)


def members_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    original = kafka_exporter.samples_of_exporter

    def wrong(view: ClusterView) -> Iterator[kafka_exporter.Sample]:
        for sample in original(view):
            told = sample.name == "kafka_consumergroup_members"
            yield sample._replace(value=len(view.groups[sample.labels["consumergroup"]].members)) if told else sample

    monkeypatch.setattr("recordings.metrics.page.samples_of_exporter", wrong)


def added_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionView, "replication_factor", property(lambda one: len(one.replicas)))


def stopped_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    original = processes.samples_of_processes

    def wrong(view: ClusterView, counts: ProcessCounts) -> Iterator[kafka_exporter.Sample]:
        yield from original(view, counts)
        for broker in view.brokers.values():
            if broker.state == "NotRunning":
                yield kafka_exporter.Sample("kafka_server_kafkaserver_brokerstate", {}, 0, f"broker-{broker.broker}")

    monkeypatch.setattr("recordings.metrics.page.samples_of_processes", wrong)


def no_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "recordings.metrics.counts.HANDLERS",
        {kind: handler for kind, handler in HANDLERS.items() if kind is not e.BrokerStarted},
    )


def markers_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    original = ProcessCounts.take
    monkeypatch.setattr(
        ProcessCounts, "take", lambda self, event: None if getattr(event, "marker", "") else original(self, event)
    )


def retries_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_only(counts: ProcessCounts, event: e.ProduceSent) -> None:
        for partition, records in event.records.items():
            counts._count(event.producer, "send", partition, records)

    monkeypatch.setattr("recordings.metrics.counts.HANDLERS", HANDLERS | {e.ProduceSent: first_only})


PLANTS = {
    "lag to the last stable offset": to_the_stable_end,
    "members of both protocols": members_of_both,
    "a stopped broker answers": stopped_answers,
    "no reset at a restart": no_reset,
    "markers are no records": markers_left_out,
    "replicas being added are missed": added_are_missed,
    "retries are not sent": retries_left_out,
}


# --- counts at any event of a recording ---


def test_counts_after_any_jump_are_those_of_reading_through(troubled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recordings.metrics.counts.KEPT_EVERY", 700)
    assert KEPT_EVERY > 700
    events = list(Recording(troubled).events())
    jumping = RecordedCounts(Recording(troubled))
    for seq in (5_000, 5_001, 9_000, 0, 8_999, 4_000, len(events), 1):
        reading = ProcessCounts()
        for event in events[:seq]:
            reading.take(event)
        found = jumping.at(seq)
        assert vars(found) == vars(reading), seq
