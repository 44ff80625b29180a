"""What a replica knows of producers after deletion, a cut, a start of its process, and a change of leaders."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from cluster.config import Value
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import ABORT, RecordBatch
from cluster.spec import ProducerSpec, ScenarioSpec, TopicSpec
from cluster.storage.log_config import Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.retention import segment_starts
from tests.support.completed_flight import flown
from tests.support.scenario_builders import THREE_BROKERS, steps_at

SECOND_US = 1_000_000
NEW = (ErrorCode.NONE, -1)
SEGMENTS_OF_FOUR = Retention(-1, -1, 400, 1 << 60)


def batch(log_end: int, sequence: int, producer_id: int = 7, *, epoch: int = 0, marker: str = "") -> RecordBatch:
    """One record of a hundred bytes; with a marker the end of a transaction."""
    return RecordBatch(
        "t-0",
        "p",
        producer_id,
        epoch,
        sequence,
        0,
        1,
        100,
        0,
        (),
        log_end,
        0,
        0,
        marker=marker,
        transactional=bool(marker),
    )


def follower(*producer_ids: int) -> PartitionLog:
    """A follower's log: one record each of these producers, in this order."""
    log = PartitionLog("t-0")
    written: dict[int, int] = {}
    for producer_id in producer_ids:
        log.append(batch(log.log_end, written.get(producer_id, 0), producer_id))
        written[producer_id] = written.get(producer_id, 0) + 1
    return log


def again(log: PartitionLog, sequence: int, producer_id: int = 7) -> tuple[ErrorCode, int]:
    """What this log says to a batch, if it leads now."""
    log.recall_producers()
    return log.producers.check(batch(-1, sequence, producer_id))


@pytest.mark.parametrize("kept", [10, 6])
def test_a_follower_knows_what_was_deleted_before_it_led(kept: int) -> None:
    log = follower(*[7] * 10)
    log.drop_before(kept)
    assert [again(log, sequence) for sequence in (5, 9, 10)] == [(ErrorCode.NONE, 5), (ErrorCode.NONE, 9), NEW]
    assert again(log, 0)[0] is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_cut_forgets_what_was_deleted_and_keeps_what_a_segments_snapshot_has() -> None:
    """Segments begin at 0, 4 and 8: the snapshot at 8 lies behind the start, and knows one batch of each producer."""
    cut_behind_a_snapshot, cut_before_any = (follower(1, 1, 2, 2, 7, 7, 7, 7, 7, 7, 7) for _ in range(2))
    starts = segment_starts(cut_behind_a_snapshot, SEGMENTS_OF_FOUR)
    assert starts == [0, 4, 8]
    for log in (cut_behind_a_snapshot, cut_before_any):
        log.drop_before(4)
    cut_behind_a_snapshot.truncate_to(10, starts)
    assert again(cut_behind_a_snapshot, 1, 1) == (ErrorCode.NONE, 1)
    assert again(cut_behind_a_snapshot, 1, 2) == (ErrorCode.NONE, 3)
    assert again(cut_behind_a_snapshot, 0, 2)[0] is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert [one.base_offset for one in cut_behind_a_snapshot.producers.entries[7].batches] == [7, 8, 9]
    cut_before_any.truncate_to(7, starts)
    assert again(cut_before_any, 41, 1) == NEW  # unknown: any sequence will do
    assert [one.base_offset for one in cut_before_any.producers.entries[7].batches] == [4, 5, 6]


def test_what_a_cut_left_is_a_snapshot_of_its_own() -> None:
    log = follower(1, 1, 7, 7, 7, 7)
    log.truncate_to(5)
    log.append(batch(5, 3))
    log.append(batch(6, 4))
    log.drop_before(2)
    log.truncate_to(6)
    assert again(log, 1, 1) == (ErrorCode.NONE, 1)
    assert [one.base_offset for one in log.producers.entries[7].batches] == [4, 5]


@pytest.mark.parametrize(("stops", "remembered"), [("cleanly", [9]), ("killed", [5, 6, 7, 8, 9])])
def test_a_clean_stop_writes_a_snapshot_with_one_batch_of_each(stops: str, remembered: list[int]) -> None:
    log = follower(*[7] * 10)
    log.recall_producers()
    log.producers.verification_started(7, 0, 10)
    if stops == "cleanly":
        log.stopped_cleanly()
    log.started([0])
    assert [one.base_offset for one in log.producers.entries[7].batches] == remembered
    assert not log.producers.verifying


@pytest.mark.parametrize("stops", ["cleanly", "killed"])
def test_a_broker_that_starts_with_an_empty_log_knows_no_producer(stops: str) -> None:
    """Kafka deletes the snapshot at the log's start (`snapshot.offset <= logStartOffset`)."""
    log = follower(*[7] * 10)
    log.drop_before(10)
    if stops == "cleanly":
        log.stopped_cleanly()
    log.started([10])
    assert again(log, 41) == NEW


def test_a_killed_broker_reads_what_it_still_has() -> None:
    log = follower(1, 7, 7, 7)
    log.advance_start(2)
    log.started([0])
    assert again(log, 41, 1) == NEW
    assert [one.base_offset for one in log.producers.entries[7].batches] == [2, 3]


def test_after_a_crash_the_cut_is_found_when_the_process_starts() -> None:
    log = follower(*[7] * 10)
    log.recall_producers()
    log.truncate_to(8, None)
    log.started([0])
    assert [one.base_offset for one in log.producers.entries[7].batches] == [3, 4, 5, 6, 7]
    assert again(log, 8) == NEW


def test_a_log_that_starts_over_knows_nobody() -> None:
    log = follower(*[7] * 10)
    log.recall_producers()
    log.start_over(50)
    log.append(batch(50, 3, 1))
    assert again(log, 41) == NEW
    assert again(log, 3, 1) == (ErrorCode.NONE, 50)


def test_an_open_transaction_and_the_epoch_outlive_the_deletion_of_their_records() -> None:
    log = PartitionLog("t-0")
    for sequence in range(4):
        opened = batch(log.log_end, sequence, 7, epoch=3)
        log.append(replace(opened, transactional=True))
    log.drop_before(4)
    log.recall_producers()
    assert log.transactions.open == {7: 0}
    assert log.transactions.last_stable_offset(4, log.log_start) == 4
    log.append(batch(4, 0, 1))
    log.recall_producers()
    assert log.transactions.last_stable_offset(5, log.log_start) == 4
    assert log.producers.check(batch(-1, 4, epoch=2))[0] is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_cut_keeps_the_index_of_aborted_transactions_that_is_read_again() -> None:
    log = follower(1, 7)
    opened = batch(2, 1)
    log.append(replace(opened, transactional=True))
    log.append(batch(3, -1, marker=ABORT))
    log.append(batch(4, 1, 1))
    log.recall_producers()
    index = list(log.transactions.aborted)
    assert [entry[:3] for entry in index] == [(7, 2, 3)]
    log.truncate_to(4)
    assert (log.transactions.aborted, log.transactions.undecided) == (index, {3: 2})
    log.truncate_to(3)
    assert (log.transactions.aborted, log.transactions.open) == ([], {7: 2})


def retried_by_the_next_leader(topic: dict[str, Value], *more: tuple[float, str], dies_s: float = 46) -> ScenarioSpec:
    """Acknowledgements are lost from 40 s on; then the leader dies, and what it had written is sent again."""
    steps = [(40.05, "cut broker-1 -> writer-1 for 30s"), *more, (dies_s, "kill broker-1")]
    return ScenarioSpec(
        title="deleted, then retried",
        seed=25,
        until_us=90 * SECOND_US,
        brokers=THREE_BROKERS,
        config={"log.retention.check.interval.ms": 1_000},
        topics=(TopicSpec("orders", partitions=1, replication=3, config=topic),),
        producers=(
            ProducerSpec(
                "writer",
                ("orders",),
                rate_per_second=10.0,
                limit=500,
                config={"linger.ms": 0, "request.timeout.ms": 20_000},
            ),
        ),
        steps=steps_at(*steps),
    )


@pytest.mark.parametrize(
    ("topic", "steps"),
    [
        ({"retention.ms": 2_000}, []),
        ({}, [(42.0, "delete records orders-0 before 406")]),
        ({"retention.ms": 600_000}, []),
        ({"retention.ms": 2_000}, [(70.0, "start broker-1"), (80.0, "kill broker-2")]),
    ],
    ids=["retention", "delete records", "nothing deleted", "and back"],
)
def test_idempotence_outlives_deletion_and_the_leaders_death(
    topic: dict[str, Value], steps: list[tuple[float, str]]
) -> None:
    flight = flown(retried_by_the_next_leader(topic, *steps))
    assert flight.document["partitions"]["orders-0"]["log_end"] == 500
    assert (flight.document["delivery"]["duplicated"], flight.document["delivery"]["lost"]) == (0, 0)
    assert flight.document["producers"]["writer-1"]["acked"] == 500


@pytest.mark.parametrize("deletes", [[], [(42.0, "delete records orders-0 before 406")]], ids=["kept", "deleted"])
def test_a_restarted_follower_knows_one_batch_of_each_producer_and_duplicates_what_is_older(
    deletes: list[tuple[float, str]],
) -> None:
    """Its snapshot has the last batch: an older one that comes again is out of order, and comes in the next epoch."""
    steps = [*deletes, (43.0, "stop broker-2"), (55.0, "start broker-2")]  # its session is over then
    flight = flown(retried_by_the_next_leader({}, *steps, dies_s=57))
    assert flight.document["partitions"]["orders-0"]["log_end"] > 500
    assert flight.document["producers"]["writer-1"]["acked"] == 500
