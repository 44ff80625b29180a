"""The log's start: DeleteRecords, retention by time and size, and who learns of it."""

import itertools
from typing import Any, cast

import pytest

from cluster import events as e
from cluster.broker.replica import Replica
from cluster.config import Value
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.log_config import Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.retention import first_kept, segments
from tests.support.broker_flights import SECOND_US, cluster, flown, log_of, partition, refusals
from tests.support.partition_logs import log_of_tens

KEEP = 1 << 60


def retention(ms: int = -1, size: int = -1, segment: int = 250, segment_ms: int = 1_000_000) -> Retention:
    return Retention(ms * 1000 if ms >= 0 else -1, size, segment, segment_ms * 1000)


def test_a_segment_ends_before_the_batch_that_would_make_it_too_large_or_too_old() -> None:
    assert [one.next_offset for one in segments(log_of_tens(5), retention())] == [20, 40, 50]
    assert [one.bytes for one in segments(log_of_tens(5), retention())] == [200, 200, 100]
    assert [one.next_offset for one in segments(log_of_tens(5), retention(segment=KEEP, segment_ms=2_500))] == [30, 50]
    assert [one.newest_us // SECOND_US for one in segments(log_of_tens(5), retention())] == [1, 3, 4]


@pytest.mark.parametrize(
    ("rules", "high_watermark", "now_s", "start"),
    [
        (retention(), 50, 1_000, 0),  # kept for ever
        (retention(ms=10_000), 50, 11, 0),  # the newest of the first segment is exactly ten seconds old
        (retention(ms=10_000), 50, 12, 20),
        (retention(ms=10_000), 50, 14, 40),
        (retention(ms=10_000), 50, 15, 50),  # all are too old: the active one is rolled, and goes too
        (retention(ms=10_000), 30, 1_000, 20),  # never above the high watermark
        (retention(size=500), 50, 5, 0),
        (retention(size=300), 50, 5, 20),
        (retention(size=200), 50, 5, 20),  # a second one would go below the size
        (retention(size=100), 50, 5, 40),
        (retention(size=0), 50, 5, 50),
    ],
)
def test_whole_segments_go_when_they_are_too_old_or_the_log_too_large(
    rules: Retention, high_watermark: int, now_s: int, start: int
) -> None:
    assert first_kept(log_of_tens(5), rules, high_watermark, now_s * SECOND_US) == start


def test_what_lies_below_the_start_goes_with_its_segment() -> None:
    log = log_of_tens(5)
    log.advance_start(25)
    assert log.bytes == 500
    log.drop_before(first_kept(log, retention(), 50, 5 * SECOND_US))
    assert (log.log_start, log.batches[0].base_offset, log.bytes) == (25, 20, 300)
    assert [batch.base_offset for batch in log.read(25, 50, KEEP)] == [20, 30, 40]


def test_a_log_that_lost_its_beginning_still_knows_its_producers() -> None:
    log = log_of_tens(5)
    log.recall_producers()
    log.drop_before(40)
    assert (log.log_start, log.log_end, len(log.batches)) == (40, 50, 1)
    assert log.beyond(40)[0].base_offset == 40
    log.start_over(90)
    assert (log.log_start, log.log_end, log.bytes) == (90, 90, 0)


def test_delete_records_moves_the_start_everywhere() -> None:
    flight = flown(cluster((20.5, "delete records orders-0 before 200"), until_s=30, rate=20))
    (moved,) = flight.all(e.LogStartAdvanced)
    assert (moved.log_start, moved.reason, moved.broker) == (200, "delete records", 1)
    assert partition(flight)["log_start"] == 200
    assert [broker.replicas["orders-0"].log.log_start for broker in flight.simulation.brokers.values()] == [200] * 3
    assert flight.document["topics"]["orders"]["records"] == partition(flight)["log_end"] - 200
    assert flight.document["delivery"]["lost"] == 0  # the group had read them


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([(10.5, "delete records orders-0 before 100000")], "OFFSET_OUT_OF_RANGE"),
        ([(5, "kill broker-2"), (5, "kill broker-3"), (20, "kill broker-1")], ""),
    ],
)
def test_delete_records_is_refused_above_the_high_watermark(steps: list[tuple[float, str]], reason: str) -> None:
    if not reason:
        steps = [*steps, (21, "start broker-2"), (45, "delete records orders-0 before 10")]
        reason = "LEADER_NOT_AVAILABLE"
    assert refusals(flown(cluster(*steps, until_s=50)))[0].startswith(reason)


def test_retention_deletes_old_segments_at_every_check_and_bounds_the_log() -> None:
    topic: dict[str, Value] = {"retention.ms": 20_000, "internal.segment.bytes": 50_000}
    checks: dict[str, Value] = {"log.retention.check.interval.ms": 10_000}
    flight = flown(cluster(until_s=75, topic=topic, brokers=checks))
    moved = flight.all(e.LogStartAdvanced, partition="orders-0")
    assert [event.at_us // SECOND_US for event in moved] == [30, 40, 50, 60, 70]
    assert {event.reason for event in moved} == {"retention"}
    assert all(broker.replicas["orders-0"].log.log_start > 0 for broker in flight.simulation.brokers.values())
    kept = partition(flight)["log_end"] - partition(flight)["log_start"]
    assert 20 * 20 <= kept <= 35 * 20 + 100


def test_retention_by_size() -> None:
    topic: dict[str, Value] = {"retention.bytes": 100_000, "internal.segment.bytes": 20_000}
    flight = flown(cluster(until_s=35, topic=topic))
    assert 100_000 <= flight.document["topics"]["orders"]["bytes"] <= 100_000 + 20_000 + 6 * 25_000
    assert partition(flight)["log_start"] > 0
    assert not flown(cluster(until_s=35)).all(e.LogStartAdvanced)


def test_a_broker_that_was_away_while_its_records_were_deleted_starts_where_its_leader_begins() -> None:
    steps = [(10, "kill broker-3"), (40, "delete records orders-0 before 700"), (45, "start broker-3")]
    flight = flown(cluster(*steps, until_s=70))
    log = flight.simulation.brokers[3].replicas["orders-0"].log
    assert log.log_start == 700
    assert log.batches[0].base_offset == 700
    assert partition(flight)["isr"] == [1, 2, 3]


def test_what_retention_takes_from_a_slow_reader_is_skipped_by_it() -> None:
    topic: dict[str, Value] = {"retention.ms": 5_000, "internal.segment.bytes": 20_000}
    flight = flown(cluster((8, "stall g-1 for 60s"), until_s=100, topic=topic))
    delivery = flight.document["delivery"]
    assert delivery["skipped"] > 0
    assert delivery["lost"] == 0
    assert not flight.all(e.RecordsLost)  # deleted on purpose


def test_retention_can_be_set_in_flight() -> None:
    topic: dict[str, Value] = {"internal.segment.bytes": 20_000}
    checks: dict[str, Value] = {"log.retention.check.interval.ms": 10_000}
    flight = flown(cluster((45, "set orders retention.ms 5000"), until_s=62, topic=topic, brokers=checks))
    assert [event.at_us // SECOND_US for event in flight.all(e.LogStartAdvanced)] == [50, 60]


def test_what_was_deleted_counts_for_a_leader_that_never_had_it() -> None:
    """broker-3 is away while retention takes what a stalled reader had not read; then it leads."""
    topic: dict[str, Value] = {"retention.ms": 5_000, "internal.segment.bytes": 20_000}
    checks: dict[str, Value] = {"log.retention.check.interval.ms": 5_000}
    steps = [(8, "stall g-1 for 60s"), (10, "kill broker-3"), (50, "start broker-3"), (60, "kill broker-2")]
    steps += [(75, "kill broker-1")]
    flight = flown(cluster(*steps, until_s=100, topic=topic, brokers=checks))
    assert partition(flight)["leader"] == 3
    assert flight.document["delivery"]["skipped"] > 500


def test_a_replica_that_lost_everything_begins_again_inside_a_batch_that_records_were_deleted_of() -> None:
    """Kafka's replica starts over at the first batch it gets (`Partition.appendRecordsToFollowerOrFutureReplica`)."""
    flight = flown(
        cluster(
            (8.0, "delete records orders-0 before 13"),
            (10.0, "crash broker-3 for 300ms"),
            until_s=30,
            producer={"linger.ms": 500},
        )
    )
    inside = [base for _, base, count in log_of(flight, 1) if base < 13 < base + count]
    assert inside, "the log start has to be inside a batch"
    assert log_of(flight, 3) == log_of(flight, 1)[1:]  # the leader keeps whole segments
    assert partition(flight)["isr"] == [1, 2, 3]
    assert partition(flight)["log_start"] == 13


class Emitter:
    """A following replica's broker, as far as cutting a log goes."""

    id = 2

    def __init__(self) -> None:
        self.emitted: list[e.Event] = []
        self.emit = self.emitted.append

    def emit_lost(self, *_: object) -> None:
        """No record is lost: the leader has them all."""


@pytest.mark.parametrize(("batches", "kept"), [((0, 40, 57), []), ((0, 52, 57), [0]), ((), [])])
def test_a_follower_that_ends_inside_the_leaders_first_batch_takes_the_whole_batch(
    batches: tuple[int, ...], kept: list[int]
) -> None:
    """The leader has deleted up to 57, in the middle of its batch from 52 on: `UnexpectedAppendOffsetException`."""
    log = PartitionLog("orders-0")
    if not batches:
        log.start_over(57)
    for base, end in itertools.pairwise(batches):
        log.append(RecordBatch("orders-0", "p-1", -1, -1, -1, base, end - base, 100, 0, (), base, 0))
    Replica(cast(Any, Emitter()), log, 1)._begin_inside(52)
    assert [batch.base_offset for batch in log.batches] == kept
    log.append(RecordBatch("orders-0", "p-1", -1, -1, -1, 52, 40, 100, 0, (), 52, 1))
