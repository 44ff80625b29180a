"""Load per partition, recounted from the raw events and held against the leaders' logs."""

from collections import Counter
from pathlib import Path

import pytest
import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.fold import fold
from console.cli.output import of_recording
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from recordings.tables.partition_loads import PartitionLoads
from recordings.tables.summary import summarize
from tests.support.truncation_scenarios import deposed

SECOND_US = 1_000_000
FLIGHTS = {"partition-load": 40, "hot-key": 40, "transaction-abort": 40, "add-partitions": 330, "idempotent": 60}


def flown(spec: ScenarioSpec, until_us: int) -> tuple[Simulation, list[e.Event]]:
    emitted: list[e.Event] = []
    simulation = Simulation(spec, spec.seed, sinks=[emitted.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(until_us)

    trio.run(main, clock=simulation.timeline)
    return simulation, emitted


def loads_of(events: list[e.Event]) -> tuple[ClusterView, PartitionLoads]:
    view, loads = ClusterView(), PartitionLoads()
    for event in events:
        fold(view, event)
        loads.note(event)
    return view, loads


@pytest.mark.parametrize("name", FLIGHTS)
def test_the_load_is_what_the_events_and_the_logs_say(name: str) -> None:
    now_us = FLIGHTS[name] * SECOND_US
    simulation, events = flown(load(name).spec, now_us)
    view, loads = loads_of(events)
    records: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for event in events:
        if isinstance(event, e.RecordsAppended) and event.marker == "":
            records[event.partition] += event.count
            size[event.partition] += event.bytes
    rows = {row.partition: row for row in loads.partitions(view, now_us)}
    written = {topic.name for topic in simulation.spec.topics if any(records[f"{topic.name}-{n}"] for n in range(99))}
    assert set(rows) == {one for one in view.partitions if one.rpartition("-")[0] in written}
    for partition, row in rows.items():
        assert (row.records, row.bytes) == (records[partition], size[partition])
        leader = simulation.brokers[view.partitions[partition].leader].replicas[partition].log
        assert row.records == sum(batch.count for batch in leader.batches if not batch.marker)
    for topic in loads.topics(view, now_us):
        mine = sorted((row.records for row in rows.values() if row.topic == topic.topic), reverse=True)
        assert topic.records == sum(mine)
        assert topic.skew == pytest.approx(mine[0] / (sum(mine) / len(mine)))
        assert [row.records for row in loads.partitions(view, now_us) if row.topic == topic.topic] == mine
        assert sum(row.share for row in rows.values() if row.topic == topic.topic) == pytest.approx(1)


def test_a_truncated_log_was_written_twice() -> None:
    """What a deposed leader appended counts: it was load, whatever became of it."""
    spec = deposed()
    _, events = flown(spec, spec.until_us)
    view, loads = loads_of(events)
    (row,) = loads.partitions(view, spec.until_us)
    assert row.records == sum(
        event.count for event in events if isinstance(event, e.RecordsAppended) and event.producer == "p-1"
    )
    assert row.records > view.partitions["t-0"].log_end


@pytest.mark.slow
def test_the_lesson_compares_four_partitioners() -> None:
    spec = load("partition-load").spec
    view, loads = loads_of(flown(spec, spec.until_us)[1])
    skews = {row.topic: row.skew for row in loads.topics(view, spec.until_us)}
    assert skews["in-turns"] == 1.0
    assert 1.0 < skews["stuck"] < skews["adapted"] < skews["by-key"]


def test_the_summary_prints_the_heaviest_first_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "load.flight"
    fly(make_plan(load("reference-m"), until_us=8 * SECOND_US), record=path)
    found = summarize(path)
    assert len(found.partition_loads) > 24
    text = of_recording(found)
    assert f"load by partition, the first 24 of {len(found.partition_loads):,} (all of them with --json)" in text
    assert found.topic_loads[0].skew == max(row.skew for row in found.topic_loads)


def test_what_is_not_written_to_is_no_row() -> None:
    assert PartitionLoads().topics(ClusterView(), 0) == []
