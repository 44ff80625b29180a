"""Compacted topics in flight: who cleans, what readers and followers meet, what is refused, what no fault breaks."""

from collections.abc import Sequence

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
    TransactionsSpec,
)
from cluster.storage.partition_log import PartitionLog
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import Scenario
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import MS, SECOND_US, THREE_BROKERS, steps_at

SMALL: dict[str, Value] = {"cleanup.policy": ("compact",), "segment.bytes": 2_000, "min.cleanable.dirty.ratio": 0.1}
KEYS = KeysSpec("uniform", distinct=20)
NAMES = ("prices-0", "prices-1")


def compacted(
    *steps: tuple[float, str],
    until_s: float = 120,
    config: dict[str, Value] | None = None,
    producers: Sequence[ProducerSpec] | None = None,
    late_s: float = 60,
) -> ScenarioSpec:
    """Two partitions on three brokers; `early` reads from the first minute on, `late` begins when much is compacted."""
    read: dict[str, Value] = {"auto.offset.reset": "earliest"}
    return ScenarioSpec(
        title="a compacted topic",
        until_us=int(until_s * SECOND_US),
        brokers=THREE_BROKERS,
        config={"offsets.topic.num.partitions": 1, "log.cleaner.backoff.ms": 5_000},
        network=NetworkSpec(latency_us=MS, jitter=0.0),
        topics=(TopicSpec("prices", partitions=2, replication=3, config={**SMALL, **(config or {})}),),
        producers=tuple(
            producers or (ProducerSpec("feed", ("prices",), rate_per_second=20.0, keys=KEYS, size_bytes=100),)
        ),
        groups=(
            GroupSpec("early", ("prices",), members=2, config=read, application=ApplicationSpec()),
            GroupSpec("late", ("prices",), start_us=int(late_s * SECOND_US), config=read),
        ),
        steps=steps_at(*steps),
    )


def logs_of(flight: Flown, name: str) -> list[PartitionLog]:
    logs = [flight.simulation.log_of(broker.id, name) for broker in THREE_BROKERS]
    return [log for log in logs if log is not None]


def latest_of(flight: Flown, name: str, end: int) -> dict[int, int]:
    """The last offset of each key below `end`, in the log that has most of the partition's records."""
    found: dict[int, int] = {}
    for log in logs_of(flight, name):
        for batch in log.batches:
            for place in batch.places:
                if not batch.marker and batch.base_offset + place < end:
                    key = batch.keys[place]
                    found[key] = max(found.get(key, -1), batch.base_offset + place)
    return found


def held(scenario: ScenarioSpec) -> dict[str, int]:
    """Fly it under the invariants; returns the delivery."""
    plan = make_plan(Scenario(scenario, "compacted", ""), until_us=scenario.until_us)
    result = fly(plan)
    assert result.invariants["violations"] == []
    delivery: dict[str, int] = result.view["delivery"]
    assert delivery["acknowledged"] == sum(delivery[each] for each in ("delivered", "lost", "unread", "skipped"))
    return delivery


def test_each_replica_keeps_the_last_record_of_each_key() -> None:
    flight = flown(compacted())
    for name in NAMES:
        cleaned = flight.all(e.LogCompacted, partition=name)
        assert {event.broker for event in cleaned} == {1, 2, 3}
        logs = logs_of(flight, name)
        for log in logs:
            assert log.segments is not None
            end = log.segments.first_dirty
            here = [
                (batch.keys[place], batch.base_offset + place)
                for batch in log.batches
                for place in batch.places
                if batch.base_offset + place < end
            ]
            assert len(here) == len(dict(here)), "one record of each key"
            assert dict(here) == latest_of(flight, name, end)
            assert log.bytes == sum(batch.bytes for batch in log.batches)
        assert logs[0].log_end == logs[1].log_end == logs[2].log_end


def test_events_say_which_offsets_went() -> None:
    """The runs of all cleanings of a log are what it lacks; none is named twice."""
    flight = flown(compacted())
    for log, broker in zip(logs_of(flight, "prices-0"), (1, 2, 3), strict=True):
        gone: list[int] = []
        for event in flight.all(e.LogCompacted, partition="prices-0", broker=broker):
            runs = list(zip(event.removed_from, event.removed_to, strict=True))
            offsets = [offset for first, end in runs for offset in range(first, end)]
            assert event.records == len(offsets)
            assert all(offset < event.end for offset in offsets)
            gone += offsets
        there = [batch.base_offset + place for batch in log.batches for place in batch.places]
        assert sorted([*gone, *there]) == list(range(log.log_end))


def test_a_late_group_reads_around_the_gaps() -> None:
    delivery = held(compacted())
    assert delivery["lost"] == 0
    assert delivery["skipped"] > 100, "what was compacted before the late group came is skipped"


def test_a_group_that_reads_in_time_gets_every_record() -> None:
    """`min.compaction.lag.ms` holds the cleaner back."""
    delivery = held(compacted(config={"min.compaction.lag.ms": 3_600_000}))
    assert (delivery["lost"], delivery["skipped"]) == (0, 0)


def test_max_compaction_lag_cleans_a_log_that_is_not_dirty_enough() -> None:
    rarely: dict[str, Value] = {"min.cleanable.dirty.ratio": 1.0}
    assert not flown(compacted(config=rarely)).all(e.LogCompacted)
    assert flown(compacted(config={**rarely, "max.compaction.lag.ms": 30_000})).all(e.LogCompacted)


def test_compact_and_delete_does_both() -> None:
    both: dict[str, Value] = {"cleanup.policy": ("compact", "delete"), "retention.ms": 40_000}
    many = ProducerSpec("feed", ("prices",), rate_per_second=20.0, keys=KeysSpec("uniform", distinct=5_000))
    scenario = compacted(config=both, producers=[many])  # most keys come once: their records stay, and grow old
    flight = flown(scenario)
    assert flight.all(e.LogCompacted)
    assert flight.all(e.LogStartAdvanced, reason="retention")
    assert not flown(compacted(config={"retention.ms": 40_000}, producers=[many])).all(e.LogStartAdvanced), (
        "compact deletes nothing"
    )
    assert held(scenario)["lost"] == 0


def test_records_without_a_key_are_refused() -> None:
    """`LogValidator`: INVALID_RECORD, which no repetition mends."""
    flight = flown(compacted(producers=[ProducerSpec("plain", ("prices",), rate_per_second=5.0)], until_s=20))
    failed = flight.all(e.BatchFailed)
    assert failed
    assert {event.error for event in failed} == {"INVALID_RECORD"}
    assert not flight.all(e.RecordsAppended, partition="prices-0")


def test_tombstones_remove_their_keys_and_go_themselves() -> None:
    """A tombstone stays for `delete.retention.ms` after its first cleaning; then its key has no record at all."""
    feed = ProducerSpec("feed", ("prices",), rate_per_second=20.0, keys=KEYS, size_bytes=100, tombstones=0.3)
    scenario = compacted(producers=[feed], config={"delete.retention.ms": 10_000})
    flight = flown(scenario)
    kept = 0
    for log, broker in zip(logs_of(flight, "prices-0"), (1, 2, 3), strict=True):
        assert log.segments is not None
        last_us = max(event.at_us for event in flight.all(e.LogCompacted, partition="prices-0", broker=broker))
        cleaned = [batch for batch in log.batches if batch.next_offset <= log.segments.first_dirty]
        tombstones = [batch for batch in cleaned if any(place in batch.tombstones for place in batch.places)]
        assert all(batch.delete_horizon_us > last_us for batch in tombstones)
        kept += len(tombstones)
        keys = {batch.keys[place] for batch in cleaned for place in batch.places}
        assert len(keys) < KEYS.distinct, "some keys have no record any more"
    assert kept
    assert held(scenario)["lost"] == 0


FAULTS: tuple[tuple[tuple[float, str], ...], ...] = (
    ((40.0, "kill broker-1"), (55.0, "start broker-1")),
    ((40.0, "crash broker-1 for 20s"), (75.0, "crash broker-2 for 10s")),
    ((40.0, "pause broker-2"), (70.0, "resume broker-2"), (80.0, "kill broker-1")),
    ((35.0, "seek early prices-0 to 10"), (50.0, "seek early prices-1 to 300"), (65.0, "kill early-1")),
    ((50.0, "delete records prices-0 before 150"), (60.0, "add partitions prices to 3")),
)


@pytest.mark.parametrize("steps", FAULTS)
def test_faults_break_nothing(steps: tuple[tuple[float, str], ...]) -> None:
    held(compacted(*steps))


@pytest.mark.parametrize("steps", FAULTS[:3])
def test_transactions_are_compacted_too(steps: tuple[tuple[float, str], ...]) -> None:
    """Aborted records go first, markers when their records have gone; readers of committed data see no aborted one."""
    writer = ProducerSpec(
        "pay",
        ("prices",),
        rate_per_second=20.0,
        keys=KEYS,
        size_bytes=100,
        transactions=TransactionsSpec("pay-{n}", records=20, abort=0.3),
    )
    scenario = compacted(*steps, producers=[writer], config={"delete.retention.ms": 10_000})
    committed: dict[str, Value] = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    groups = tuple(msgspec.structs.replace(group, config=committed) for group in scenario.groups)
    held(msgspec.structs.replace(scenario, groups=groups))
