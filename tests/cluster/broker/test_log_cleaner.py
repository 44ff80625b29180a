"""Compacted topics in flight: who cleans, what readers and followers meet, what is refused, what no fault breaks."""

from collections.abc import Callable

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.spec import KeysSpec, ProducerSpec, ScenarioSpec, TransactionsSpec
from cluster.storage.partition_log import PartitionLog
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import Scenario
from tests.mutants import Patch, cleaner
from tests.support.checks_delivery import delivery_errors
from tests.support.compacted_flights import (
    FAULTS,
    KEYS,
    NAMES,
    all_compacted,
    compacted,
    from_followers,
    in_transactions,
)
from tests.support.completed_flight import Flown, flown
from tests.support.random_delivery_flights import fateful
from tests.support.scenario_builders import SECOND_US, THREE_BROKERS, steps_at
from tests.support.slow_cases import mostly_slow


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


@pytest.mark.slow
def test_max_compaction_lag_cleans_a_log_that_is_not_dirty_enough() -> None:
    rarely: dict[str, Value] = {"min.cleanable.dirty.ratio": 1.0}
    assert not flown(compacted(config=rarely)).all(e.LogCompacted)
    assert flown(compacted(config={**rarely, "max.compaction.lag.ms": 30_000})).all(e.LogCompacted)


@pytest.mark.slow
def test_max_compaction_lag_rolls_the_active_segment() -> None:
    """`LogConfig.maxSegmentMs`: what segment.ms would keep open for a week is closed, and then compacted."""
    endless: dict[str, Value] = {"segment.ms": 7 * 86_400_000, "internal.segment.bytes": 1 << 30}
    assert not flown(compacted(config=endless)).all(e.LogCompacted)
    assert flown(compacted(config={**endless, "max.compaction.lag.ms": 30_000})).all(e.LogCompacted)


@pytest.mark.slow
def test_a_cleaner_without_a_backoff_lets_time_pass() -> None:
    scenario = compacted(until_s=5)
    eager = msgspec.structs.replace(scenario, config={**scenario.config, "log.cleaner.backoff.ms": 0})
    assert flown(eager).simulation.timeline.now_us == 5 * SECOND_US


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("steps", mostly_slow(FAULTS, quick=FAULTS[::3]))
def test_faults_break_nothing(steps: tuple[tuple[float, str], ...]) -> None:
    held(compacted(*steps))


@pytest.mark.parametrize("steps", mostly_slow(FAULTS[:3], quick=FAULTS[2:3]))
def test_transactions_are_compacted_too(steps: tuple[tuple[float, str], ...]) -> None:
    """Aborted records go first, markers when their records have gone; readers of committed data see no aborted one."""
    held(in_transactions(*steps))


@pytest.mark.parametrize(
    ("breaks", "found"),
    [
        (cleaner.removes_the_last_record_of_a_key, "the last record of its key, is gone"),
        (cleaner.leaves_the_older_records, "is still there"),
        (cleaner.removes_tombstones_too_early, "is gone before delete.retention.ms"),
        (cleaner.counts_aborted_records, "is gone"),
        (cleaner.moves_records_to_the_front, "offset"),
    ],
)
def test_a_broken_cleaner_is_caught(
    breaks: Callable[[Patch], None], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L2 tells each; the sound cleaner passes the same flights."""
    scenario = in_transactions()
    long = TransactionsSpec("pay-{n}", records=80, abort=0.3)
    linger: dict[str, Value] = {"linger.ms": 500}
    [writer] = scenario.producers
    many = KeysSpec("uniform", distinct=200)
    writer = msgspec.structs.replace(writer, keys=many, tombstones=0.2, transactions=long, config=linger)
    scenario = msgspec.structs.replace(scenario, producers=(writer,))
    plan = make_plan(Scenario(scenario, "compacted", ""), until_us=60 * SECOND_US)
    assert fly(plan).invariants["violations"] == []
    breaks(monkeypatch)
    (violation,) = fly(plan).invariants["violations"]
    assert violation["invariant"] == "L2"
    assert found in violation["found"]


@pytest.mark.parametrize("steps", mostly_slow(FAULTS, quick=FAULTS[1::3]))
def test_the_fate_of_each_record_is_the_truth(steps: tuple[tuple[float, str], ...]) -> None:
    """Compared at each second with logs and clients, which know nothing of events."""
    assert delivery_errors(compacted(*steps)) == []


@pytest.mark.parametrize("steps", mostly_slow(FAULTS, quick=FAULTS[1:2]))
def test_the_fate_of_each_record_that_is_read_from_followers_is_the_truth(steps: tuple[tuple[float, str], ...]) -> None:
    """A crash takes from a leader's log what its followers have, and what their compaction has removed stays so."""
    scenario = from_followers()
    known = steps_at(*steps)
    assert delivery_errors(msgspec.structs.replace(scenario, steps=(*scenario.steps, *known))) == []


@pytest.mark.slow
@pytest.mark.parametrize("steps", FAULTS[1:2])
def test_the_fate_of_each_record_of_transactions_is_the_truth(steps: tuple[tuple[float, str], ...]) -> None:
    """With aborted records and markers that compaction removes."""
    assert delivery_errors(in_transactions(*steps)) == []


@pytest.mark.parametrize("seed", mostly_slow([2002, 2005, 2006, 2007, 2012, 2014, 2017, 2020], quick=[2007], slow=4))
def test_random_flights_with_every_trouble(seed: int) -> None:
    """Crashes, unclean elections, deletions, seeks, transactions, applications that write: over compacted topics."""
    scenario = all_compacted(fateful(seed), seed)
    assert delivery_errors(scenario, seed) == []
    held(scenario)


# --- keys that `set` changes in flight --------------------------------------------------------------------------------

DELETE: dict[str, Value] = {"cleanup.policy": ("delete",)}
IN_FLIGHT = {
    "made compacted": compacted((30.0, "set prices cleanup.policy compact"), (50.0, "crash broker-2"), config=DELETE),
    "for a while not": compacted(
        (30.0, "set prices cleanup.policy delete"),
        (50.0, "set prices cleanup.policy compact"),
        (55.0, "kill broker-3 for 10s"),
    ),
    "no more, and retention": compacted(
        (40.0, "set prices cleanup.policy delete"), (60.0, "set prices retention.ms 9000")
    ),
    "every other key": compacted(
        (20.0, "set prices min.compaction.lag.ms 15000"),
        (40.0, "set prices delete.retention.ms 5000"),
        (50.0, "set prices max.compaction.lag.ms 20000"),
        (60.0, "set prices min.cleanable.dirty.ratio 0.9"),
        (80.0, "set prices delete.retention.ms 50000"),
    ),
    "in transactions": in_transactions(
        (30.0, "set prices cleanup.policy delete"), (50.0, "set prices cleanup.policy compact")
    ),
}


@pytest.mark.parametrize("name", mostly_slow(IN_FLIGHT, quick=["in transactions"]))
def test_the_fate_of_each_record_is_the_truth_while_the_policy_changes(name: str) -> None:
    """And L2 holds, in logs that were not compacted from the beginning, too."""
    assert delivery_errors(IN_FLIGHT[name]) == []
    held(IN_FLIGHT[name])


def cleanings(scenario: ScenarioSpec) -> list[e.LogCompacted]:
    seen: list[e.LogCompacted] = []

    def see(event: e.Event) -> None:
        if isinstance(event, e.LogCompacted):
            seen.append(event)

    fly(make_plan(Scenario(scenario, "compacted", "")), log=see)
    return seen


@pytest.mark.slow
def test_a_topic_is_compacted_while_its_policy_says_so() -> None:
    assert min(each.at_us for each in cleanings(IN_FLIGHT["made compacted"])) == 30 * SECOND_US
    between = [each.at_us for each in cleanings(IN_FLIGHT["for a while not"])]
    assert min(between) < 30 * SECOND_US
    assert not [at_us for at_us in between if 30 * SECOND_US < at_us < 50 * SECOND_US]
    assert max(between) >= 50 * SECOND_US


def test_the_policy_of_the_cluster_is_that_of_topics_without_one() -> None:
    scenario = compacted((30.0, "set cluster log.cleanup.policy compact"), until_s=60)
    config = {key: value for key, value in scenario.topics[0].config.items() if key != "cleanup.policy"}
    topics = (msgspec.structs.replace(scenario.topics[0], config=config),)
    assert cleanings(msgspec.structs.replace(scenario, topics=topics))
    assert min(each.at_us for each in cleanings(scenario)) < 30 * SECOND_US


WITHOUT_KEYS = compacted(
    (20.0, "set prices cleanup.policy compact"),
    until_s=60,
    config={"cleanup.policy": ("delete",)},
    producers=[ProducerSpec("plain", ("prices",), rate_per_second=20.0, size_bytes=100)],
)


def test_records_without_a_key_go_when_their_topic_becomes_compacted() -> None:
    """`Cleaner.shouldRetainRecord`: such a record is invalid in a compacted topic, and stays nowhere."""
    held(WITHOUT_KEYS)
    (first, *_) = [each for each in cleanings(WITHOUT_KEYS) if each.partition == "prices-0"]
    assert first.removed_from == (0,)
    assert first.removed_to == (first.end,)


def test_a_cleaner_that_leaves_records_without_a_key_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    cleaner.leaves_the_older_records(monkeypatch)
    (violation,) = fly(make_plan(Scenario(WITHOUT_KEYS, "compacted", ""))).invariants["violations"]
    assert violation["invariant"] == "L2"
    assert "offset 0 has no key, and is still there" in violation["found"]


def test_a_cleaner_that_breaks_a_log_which_became_compacted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(Scenario(IN_FLIGHT["made compacted"], "compacted", ""), until_us=60 * SECOND_US)
    assert fly(plan).invariants["violations"] == []
    cleaner.removes_the_last_record_of_a_key(monkeypatch)
    (violation,) = fly(plan).invariants["violations"]
    assert violation["invariant"] == "L2"
