"""A producer's last resort: `delivery.timeout.ms`, what an abort waits for, and what a refused sequence means."""

import msgspec
import pytest

from cluster import events as e
from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.sequences import Sequences
from cluster.config import Value
from cluster.spec import TransactionsSpec
from tests.support.broker_flights import SECOND_US, cluster, flown, log_of

SLOWLY: dict[str, Value] = {
    "request.timeout.ms": 8_000,
    "delivery.timeout.ms": 10_000,
    "max.in.flight.requests.per.connection": 1,
    "batch.size": 0,
}
"""One batch after the other, each of one record."""


def test_a_batch_in_flight_fails_when_its_delivery_timeout_is_over() -> None:
    """Each append takes 5 s, so that some batches are sent when they are 8 s old: they are told at 10, not at 13 s."""
    steps = [(5.0, "slow disk of broker-1 to 5s for 40s"), (46.0, "stop p-1")]
    flight = flown(cluster(*steps, until_s=90, rate=1.0, producer=SLOWLY, reads=False))
    created = {place: event.at_us for place, event in enumerate(flight.all(e.BatchOpened, producer="p-1"))}
    failed = flight.all(e.BatchFailed, producer="p-1")
    assert len([one for one in failed if one.sent]) >= 3
    assert {one.error for one in failed} == {"TimeoutException"}
    settled = {one.at_us for one in failed}
    assert settled <= {at_us + 10 * SECOND_US for at_us in created.values()}
    acked = flight.all(e.BatchAcknowledged, producer="p-1")
    assert all(event.latency_us <= 10 * SECOND_US for event in acked)
    assert len(acked) + len(failed) == len(created)  # the answer that comes too late counts for nothing
    assert flight.document["delivery"]["lost"] == 0
    assert flight.document["producers"]["p-1"]["buffered_bytes"] == 0


def test_a_batch_that_backs_off_fails_when_its_delivery_timeout_is_over() -> None:
    """Not when its backoff is. Source: `RecordAccumulator.nextExpiryTimeMs`."""
    config: dict[str, Value] = {"request.timeout.ms": 4_000, "delivery.timeout.ms": 6_000}
    config |= {"retry.backoff.ms": 5_000, "retry.backoff.max.ms": 5_000}
    flight = flown(cluster((6.0, "pause broker-1 for 5s"), until_s=20, rate=5.0, producer=config, reads=False))
    retried = flight.all(e.BatchRetried, error="REQUEST_TIMED_OUT")
    assert [one.at_us // SECOND_US for one in retried] == [10] * 5
    opened = flight.all(e.BatchOpened, 6 * SECOND_US)
    assert [one.at_us for one in flight.all(e.BatchFailed)] == [one.at_us + 6 * SECOND_US for one in opened[:5]]


def test_a_batch_behind_too_many_in_flight_fails_when_its_delivery_timeout_is_over() -> None:
    config: dict[str, Value] = {"request.timeout.ms": 4_000, "delivery.timeout.ms": 6_100, "batch.size": 0}
    config |= {"acks": "1", "max.in.flight.requests.per.connection": 1}
    flight = flown(
        cluster((6.0, "slow disk of broker-1 to 3900ms for 9s"), until_s=30, rate=5.0, producer=config, reads=False)
    )
    waited = [one.at_us for one in flight.all(e.BatchFailed) if not one.sent]
    opened = [one.at_us + 6_100_000 for one in flight.all(e.BatchOpened, 6 * SECOND_US)]
    assert len(waited) > 5
    assert set(waited) <= set(opened)


def numbered(sequences: Sequences, counts: list[int]) -> list[ProducerBatch]:
    kept = Accumulator(1_000, 100_000, 5_000, 100)
    batches = []
    for count in counts:
        batch = kept.new_batch("orders-0", 0)
        assert batch is not None
        kept.add(batch, count)
        batch.full = True
        sequences.number(batch)
        batches.append(batch)
    return batches


@pytest.mark.parametrize(("refused", "bumps"), [(1, True), (2, False)])
def test_only_the_batch_behind_one_in_doubt_asks_for_a_new_epoch(refused: int, bumps: bool) -> None:
    """Source: `TransactionManager.isNextSequenceForUnresolvedPartition`."""
    sequences = Sequences()
    sequences.epoch = 0
    batches = numbered(sequences, [3, 2, 4])
    sequences.mark_unresolved(batches[0])
    assert sequences.out_of_order(batches[refused])  # nothing but a new epoch, or knowing more, helps
    assert ("orders-0" in sequences.to_rewrite) == bumps


def test_a_batch_that_came_before_its_predecessor_is_only_sent_again() -> None:
    sequences = Sequences()
    sequences.epoch = 0
    batches = numbered(sequences, [3, 2])
    assert not sequences.out_of_order(batches[1])
    assert not sequences.to_rewrite
    assert sequences.out_of_order(batches[0])
    assert "orders-0" in sequences.to_rewrite


def test_one_request_at_a_time_keeps_the_order_without_idempotence_when_the_leader_changes() -> None:
    """Source: `Sender.guaranteeMessageOrder`: a partition with a batch in flight is muted, wherever its leader is."""
    config: dict[str, Value] = {
        "acks": "1",  # so without idempotence
        "max.in.flight.requests.per.connection": 1,
        "metadata.max.age.ms": 900,
        "request.timeout.ms": 20_000,
    }
    steps = [
        (3.0, "restart broker-1"),  # so that broker-2 leads
        (20.0, "slow disk of broker-2 to 5s for 15s"),
        (20.5, "elect preferred orders-0"),
    ]
    flight = flown(cluster(*steps, until_s=60, rate=50.0, producer=config, keyed=True))
    assert flight.all(e.BatchRetried, 20 * SECOND_US)
    serials = [first for _, first, _ in log_of(flight, broker=1)]
    assert len(serials) > 1_000
    assert serials == sorted(serials)


def test_an_abort_waits_for_what_was_sent_and_drops_only_the_rest() -> None:
    """A batch with a sequence is sent again until it is settled (`RecordAccumulator.abortUndrainedBatches`)."""
    config: dict[str, Value] = {"linger.ms": 0, "request.timeout.ms": 2_000, "delivery.timeout.ms": 8_000}
    config["max.in.flight.requests.per.connection"] = 3
    spec = msgspec.structs.replace(
        (made := cluster((6.0, "pause broker-1 for 20s"), until_s=60, rate=40.0)),
        producers=(
            msgspec.structs.replace(
                made.producers[0], config=config, transactions=TransactionsSpec(id="t-{n}", records=400)
            ),
        ),
    )
    flight = flown(spec)
    failed = flight.all(e.BatchFailed, producer="p-1")
    dropped = [event for event in failed if event.error == "TransactionAbortedException"]
    assert dropped
    assert not any(event.sent for event in dropped)
    assert [event for event in failed if event.sent and event.error == "TimeoutException"]
    assert flight.document["transactions"]["t-1"]["aborted"] >= 1
    assert flight.document["transactions"]["t-1"]["committed"] >= 3


def test_a_batch_does_not_back_off_from_a_new_leader() -> None:
    """Source: `ProducerBatch.hasLeaderChangedForTheOngoingRetry` (KAFKA-15415)."""
    steps = [(3.0, "restart broker-1"), (20.0, "elect preferred orders-0")]  # from broker-2 back to broker-1
    config: dict[str, Value] = {"retry.backoff.ms": 700, "retry.backoff.max.ms": 700}
    flight = flown(cluster(*steps, until_s=30, rate=200.0, producer=config, reads=False))
    refused = flight.all(e.BatchRetried, 20 * SECOND_US, error="NOT_LEADER_OR_FOLLOWER")
    again = flight.all(e.BatchAcknowledged, 20 * SECOND_US)
    assert refused
    assert max(event.latency_us for event in again) < 100_000
