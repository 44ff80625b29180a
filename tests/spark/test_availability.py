"""What producers and brokers suffered, recomputed from the events one by one, beside what Spark finds in the tables."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cluster import events as e
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import load, parse_scenario
from recordings.spark.analyses.availability import BELOW, HEADLESS, availability, spells
from recordings.spark.analyses.held_back import held_back
from recordings.spark.analyses.outages import outages
from recordings.spark.analyses.producers import ACKNOWLEDGED, batch_times, producer_delays, producer_totals
from recordings.spark.tables import Tables
from recordings.tables.export import export
from tests.support.reassignment_scenario import WAITING
from tests.support.spark.hand_made_tables import HandMadeTables

pytestmark = pytest.mark.timeout(300)  # a Java virtual machine, and a machine that may be busy

Topic = tuple[int, int, int, int, int, int]


class Watch:
    """Availability as an observer notes it: at each event, what held since the event before."""

    def __init__(self) -> None:
        self.now_us = 0
        self.down: dict[int, tuple[int, str]] = {}
        self.outages: list[tuple[int, str, int, int]] = []
        self.leader: dict[str, int] = {}
        self.isr: dict[str, int] = {}
        self.least: dict[str, int] = {}
        self.replicas: dict[str, int] = {}
        self.headless_us: Counter[str] = Counter()
        self.below_us: Counter[str] = Counter()
        self.lacking: defaultdict[tuple[str, str], list[list[int]]] = defaultdict(list)

    def pass_time(self, at_us: int) -> None:
        spent, since_us, self.now_us = at_us - self.now_us, self.now_us, at_us
        if not spent:
            return
        lacking: Counter[tuple[str, str]] = Counter()
        for partition, leader in self.leader.items():
            topic = partition.rpartition("-")[0]
            if topic not in self.least:
                continue
            if leader < 0 or leader in self.down:
                self.headless_us[partition] += spent
                lacking[topic, HEADLESS] += 1
            if leader >= 0 and self.isr[partition] < min(self.least[topic], self.replicas[partition]):
                self.below_us[partition] += spent
                lacking[topic, BELOW] += 1
        for what, partitions in lacking.items():
            known = self.lacking[what]
            goes_on = bool(known) and known[-1][1:] == [since_us, partitions]
            first_us = known.pop()[0] if goes_on else since_us
            known.append([first_us, at_us, partitions])

    def take(self, event: e.Event) -> None:
        self.pass_time(event.at_us)
        match event:
            case e.TopicCreated(internal=False):
                self.least[event.topic] = event.min_insync_replicas
            case e.LeaderElected():
                self.leader[event.partition], self.isr[event.partition] = event.leader, len(event.isr)
                self.replicas[event.partition] = len(event.replicas)
            case e.PartitionReassigned():
                self.replicas[event.partition] = len(event.replicas)
                if (topic := event.partition.rpartition("-")[0]) in self.least:
                    self.least[topic] = event.min_insync_replicas
            case e.IsrChanged():
                self.isr[event.partition] = len(event.isr)
            case e.SettingChanged(key="min.insync.replicas") if event.scope in self.least:
                self.least[event.scope] = int(event.value)
            case e.BrokerStopped():
                self.end_outage(event.broker)  # one that was frozen was killed
                self.down[event.broker] = (event.at_us, event.how)
            case e.BrokerPaused() if event.broker not in self.down:
                self.down[event.broker] = (event.at_us, "pause")
            case e.BrokerStarted(serves=True) | e.BrokerStateChanged(state="Running"):
                self.end_outage(event.broker)
            case e.BrokerResumed() if self.down.get(event.broker, (0, ""))[1] == "pause":
                self.end_outage(event.broker)

    def end_outage(self, broker: int) -> None:
        if broker in self.down:
            since_us, how = self.down.pop(broker)
            self.outages.append((broker, how, since_us, self.now_us))

    def topics(self) -> dict[str, Topic]:
        found: dict[str, Topic] = {}
        for topic in self.least:
            headless, below = (
                [us for name, us in book.items() if name.rpartition("-")[0] == topic and us]
                for book in (self.headless_us, self.below_us)
            )
            if headless or below:
                longest = max(headless, default=0), max(below, default=0)
                found[topic] = (len(headless), sum(headless), longest[0], len(below), sum(below), longest[1])
        return found


def watched(recordings: list[Path]) -> Iterator[tuple[str, Watch]]:
    for path in recordings:
        recording, watch = Recording(path), Watch()
        for event in recording.events():
            watch.take(event)
        watch.pass_time(recording.survey().totals.virtual_us)
        for broker in list(watch.down):
            watch.end_outage(broker)
        yield recording.header.run_id, watch


@pytest.mark.slow
def test_outages_and_availability_equal_what_an_observer_notes(tables: Tables, recorded: list[Path]) -> None:
    down: dict[str, list[tuple[int, str, int, int]]] = defaultdict(list)
    for row in outages(tables).collect():
        down[row["run_id"]].append((row["broker"], row["how"], row["from_us"], row["until_us"]))
    topics: dict[str, dict[str, Topic]] = defaultdict(dict)
    for row in availability(tables).collect():
        topics[row["run_id"]][row["topic"]] = (
            row["without_leader"],
            row["without_leader_us"],
            row["longest_without_leader_us"],
            row["below_min_isr"],
            row["below_min_isr_us"],
            row["longest_below_min_isr_us"],
        )
    seen = 0
    for run_id, watch in watched(recorded):
        assert sorted(down[run_id]) == sorted(watch.outages), run_id
        assert topics[run_id] == watch.topics(), run_id
        seen += len(watch.outages)
    assert seen > 2, "no broker was ever down: these flights show nothing"


FEWER_AND_MORE = """
[[at]]
time = "6s"
do = "reassign orders-3 to 3"
[[at]]
time = "36s"
do = "set orders min.insync.replicas 3"
[[at]]
time = "37s"
do = "reassign orders-0 to 1,2,3"
[[at]]
time = "38s"
do = "stop broker-1"
"""


@pytest.mark.slow
def test_the_least_in_sync_replicas_count_up_to_the_replicas(spark: SparkSession, tmp_path: Path) -> None:
    """A partition with one replica is not below a minimum of two; one that gets a third is below one of three."""
    path = tmp_path / "reassigned.flight"
    fly(make_plan(parse_scenario(WAITING + FEWER_AND_MORE, "reassigned.toml"), invariants=False), record=path)
    export([path], tmp_path / "tables")
    [row] = availability(Tables(spark, [str(tmp_path / "tables")])).collect()
    [(_, watch)] = watched([path])
    noted = watch.topics()["orders"]
    assert (row["below_min_isr"], row["below_min_isr_us"], row["longest_below_min_isr_us"]) == noted[3:]
    assert watch.below_us["orders-0"]
    assert watch.below_us["orders-3"] < 1_000_000, "only while its second replica was being added"


@pytest.mark.slow
def test_the_lanes_of_topics_have_what_an_observer_notes(tables: Tables, recorded: list[Path]) -> None:
    rows = {(row["run_id"], row["topic"]): row for row in availability(tables).collect()}
    several = 0
    for run_id, watch in watched(recorded):
        for (topic, lack), noted in watch.lacking.items():
            found = spells(rows[run_id, topic][f"{lack}_stretches"])
            assert [[one.from_us, one.until_us, one.partitions] for one in found] == noted, (run_id, topic, lack)
            several += any(one.partitions > 1 for one in found)
    assert several, "no two partitions of a topic lacked anything at once: these flights show little"


@pytest.mark.slow
def test_delays_of_producers_are_those_of_their_events(tables: Tables, recorded: list[Path]) -> None:
    """Every flight here is shorter than ten minutes: a cell is a second."""
    found = {(row["run_id"], row["producer"]): row for row in producer_delays(tables).collect()}
    seen: Counter[str] = Counter()
    for path in recorded:
        recording = Recording(path)
        seconds: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for event in recording.events():
            match event:
                case e.BatchAcknowledged() if event.latency_us > 1_000_000:
                    first, last = (event.at_us - event.latency_us) // 1_000_000, event.at_us // 1_000_000
                    seconds[event.producer]["waiting"] |= set(range(first, last + 1))
                case e.BatchFailed():
                    seconds[event.producer]["failed"].add(event.at_us // 1_000_000)
                case e.SendRefused():
                    seconds[event.producer]["refused"].add(event.at_us // 1_000_000)
        for producer, kinds in seconds.items():
            row = found.pop((recording.header.run_id, producer))
            assert row["seconds_per_cell"] == 1
            for kind in ("waiting", "failed", "refused"):
                assert row[kind] == sorted(kinds[kind]), (producer, kind)
                seen[kind] += len(kinds[kind])
    assert not found
    assert seen["waiting"] > 10
    assert seen["failed"]


@pytest.mark.slow
def test_producers_equal_their_events(tables: Tables, recorded: list[Path]) -> None:
    found = {(row["run_id"], row["producer"]): row for row in producer_totals(tables).collect()}
    retried_at_all = 0
    for path in recorded:
        recording = Recording(path)
        failures: dict[str, Counter[str]] = {}
        put_back: dict[str, Counter[str]] = {}
        sent_again: Counter[str] = Counter()
        acked: Counter[str] = Counter()
        fenced: Counter[str] = Counter()
        for event in recording.events():
            match event:
                case e.ProducerDeclared():
                    failures.setdefault(event.producer, Counter())
                case e.BatchAcknowledged():
                    acked[event.producer] += event.records
                case e.BatchFailed() | e.SendRefused():
                    failures.setdefault(event.producer, Counter())[event.error] += event.records
                case e.BatchRetried():
                    put_back.setdefault(event.producer, Counter())[event.error] += 1
                case e.ProduceSent():
                    sent_again[event.producer] += len(event.retried)
                case e.ProducerStateChanged(state="Fenced"):
                    fenced[event.producer] += 1
        for producer, failed in failures.items():
            row = found.pop((recording.header.run_id, producer))
            assert (row["acked"], row["failed"], row["fenced"]) == (acked[producer], failed.total(), fenced[producer])
            assert row["failures"] == dict(failed)
            assert row["retried"] == dict(put_back.get(producer, {}))
            assert row["retries"] == sent_again[producer]
            retried_at_all += row["retries"]
    assert not found
    assert retried_at_all


@pytest.mark.slow
def test_latencies_are_those_of_the_acknowledgements(tables: Tables, recorded: list[Path]) -> None:
    """A percentile between two batches is interpolated, as `statistics.quantiles` does inclusively."""
    rows = batch_times(tables).where(f"what = '{ACKNOWLEDGED}'").collect()
    found = {(row["run_id"], row["producer"]): row for row in rows}
    slow = 0
    for path in recorded:
        recording = Recording(path)
        acknowledged: defaultdict[str, list[e.BatchAcknowledged]] = defaultdict(list)
        for event in recording.events():
            if isinstance(event, e.BatchAcknowledged):
                acknowledged[event.producer].append(event)
        for producer, events in acknowledged.items():
            row = found.pop((recording.header.run_id, producer))
            slowest = max(events, key=lambda event: (event.latency_us, -event.at_us))
            cuts = quantiles([event.latency_us // 100 * 100 for event in events], n=100, method="inclusive")
            assert row["batches"] == len(events)
            assert [row["p50_us"], row["p95_us"], row["p99_us"]] == pytest.approx([cuts[49], cuts[94], cuts[98]])
            assert (row["slowest_us"], row["slowest_at_us"]) == (slowest.latency_us, slowest.at_us)
            assert row["late"] == sum(event.records for event in events if event.latency_us > 1_000_000)
            slow += row["late"]
    assert not found
    assert slow, "no batch took a second: these flights show nothing"


LONG_US = 15_000_000

Waited = tuple[str, str, str, int, int | None]


def waited_for(recording: Recording) -> list[Waited]:
    """The transactions that stayed open for long, for each group that reads committed records, by events."""
    readers: defaultdict[str, set[str]] = defaultdict(set)
    committed: set[str] = set()
    opened: dict[tuple[str, int], tuple[str, int]] = {}
    spans: list[tuple[str, str, int, int | None]] = []
    for event in recording.events():
        match event:
            case e.GroupDeclared():
                readers[event.group] |= set(event.topics)
                committed |= {event.group} if event.read_committed else set()
            case e.SubscriptionChanged():
                readers[event.group] |= set(event.topics)
            case e.RecordsAppended(transactional=True, marker=""):
                opened.setdefault((event.partition, event.producer_id), (event.producer, event.at_us))
            case e.RecordsAppended(transactional=True):
                producer, from_us = opened.pop((event.partition, event.producer_id), ("", -1))
                spans += [(event.partition, producer, from_us, event.at_us)] if from_us >= 0 else []
    spans += [(name, producer, from_us, None) for (name, _), (producer, from_us) in opened.items()]
    end_us = recording.survey().totals.virtual_us
    return [
        (group, name, producer, from_us, until_us)
        for group in committed
        for name, producer, from_us, until_us in spans
        if name.rpartition("-")[0] in readers[group] and (end_us if until_us is None else until_us) - from_us > LONG_US
    ]


@pytest.mark.slow
def test_lasting_transactions_are_those_that_an_observer_notes(spark: SparkSession, tmp_path: Path) -> None:
    ends = {"stuck-last-stable-offset": 50, "transaction-abort": 30}
    flights = [tmp_path / f"{name}.flight" for name in ends]
    for path, (name, seconds) in zip(flights, ends.items(), strict=True):
        fly(make_plan(load(name), until_us=seconds * 1_000_000, invariants=False), record=path)
    export(flights, tmp_path / "tables")
    found: defaultdict[str, list[Waited]] = defaultdict(list)
    for row in held_back(Tables(spark, [str(tmp_path / "tables")])).where(f"took_us > {LONG_US}").collect():
        for group in row["groups"] or []:
            found[row["run_id"]].append((group, row["partition"], row["producer"], row["from_us"], row["until_us"]))
    for path in flights:
        recording = Recording(path)
        assert sorted(found[recording.header.run_id], key=str) == sorted(waited_for(recording), key=str), path.name
    assert sum(map(len, found.values())) > 0


def test_a_batch_that_expires_before_it_is_sent_again_is_no_retry(spark: SparkSession) -> None:
    """`retries` are those of the summary and of the bill: what a request carried once more."""
    put_back = {"producer": "p-1", "partition": "t-0", "records": 1, "error": "REQUEST_TIMED_OUT"}
    request: dict[str, Any] = {"producer": "p-1", "broker": 1, "bytes": 0}
    rows: dict[str, list[dict[str, Any]]] = {
        "producer_declared": [{"producer": "p-1"}],
        "produce_sent": [
            {**request, "records": {"t-0": 1}, "retried": {}},
            {**request, "records": {"t-0": 1}, "retried": {"t-1": 4, "t-2": 1}},
        ],
        "batch_retried": [put_back, put_back, put_back, {**put_back, "error": "NETWORK_EXCEPTION"}],
    }
    [found] = producer_totals(HandMadeTables(spark, rows)).collect()
    assert found["retries"] == 2
    assert found["retried"] == {"NETWORK_EXCEPTION": 1, "REQUEST_TIMED_OUT": 3}
