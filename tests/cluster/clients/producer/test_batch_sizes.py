"""Compression as a size, batches that are too large for their topic, records that are too large for any request."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster import events as e
from cluster.clients.producer.accumulator import UNSENT, Accumulator
from cluster.clients.producer.compression import RATIOS, Compression, capacity
from cluster.config import Value
from cluster.protocol.record_batch import LAST_SEQUENCE, Origin
from cluster.spec import TransactionsSpec
from tests.support.broker_flights import SECOND_US, cluster, flown, log_of
from tests.support.completed_flight import Flown
from tests.support.slow_cases import mostly_slow, partly_campaign

HEADER, RECORD = 61, 1_032


def settled(flight: Flown) -> dict[str, int]:
    """What became of a producer's records, once it was stopped."""
    producer = flight.document["producers"]["p-1"]
    assert producer["buffered_bytes"] == 0
    assert producer["acked"] + producer["failed"] == flight.document["delivery"]["produced"]
    return {name: producer[name] for name in ("acked", "failed", "batches", "retries", "epoch")}


# --- compression ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", RATIOS)
def test_a_producer_learns_what_its_codec_does_batch_by_batch(codec: str) -> None:
    """`CompressionRatioEstimator`: 0.005 down with each batch, and to 1 when a batch was too large."""
    compression = Compression(codec)
    assert compression.estimate("orders") == (1.0 if codec == "none" else 1.05)
    for _ in range(10):
        compression.learn("orders")
    if codec != "none":
        assert compression.estimate("orders") == pytest.approx(0.95 * 1.05)
        assert compression.estimate("payments") == 1.05
    for _ in range(1_000):
        compression.learn("orders")
    assert compression.estimate("orders") == pytest.approx(RATIOS[codec] * (1.0 if codec == "none" else 1.05))
    compression.doubt("orders")
    assert compression.estimate("orders") == (1.0 if codec == "none" else 1.05)


@given(st.integers(0, 40_000), st.integers(1, 20_000), st.sampled_from([1.0, *(1.05 * one for one in RATIOS.values())]))
def test_a_batch_takes_records_as_long_as_kafka_sees_room(size: int, record: int, estimate: float) -> None:
    """`MemoryRecordsBuilder.hasRoomFor`, record by record."""
    limit = max(size, HEADER + record)
    count = 0
    while count == 0 or limit >= HEADER + int(count * record * estimate) + record:
        count += 1
    assert capacity(limit, record, estimate) == count


def test_compressed_batches_hold_more_records_and_fewer_bytes() -> None:
    def sent(codec: str) -> tuple[float, float]:
        config: dict[str, Value] = {"linger.ms": 1_000, "compression.type": codec}
        flight = flown(cluster((39.0, "stop p-1"), until_s=41, rate=200.0, producer=config, reads=False))
        kept = settled(flight)
        topic = flight.document["topics"]["orders"]
        assert topic["records"] == kept["acked"] == 7_801  # what had come when it was stopped was sent
        wire = sum(event.bytes for event in flight.all(e.ProduceSent, producer="p-1"))
        assert topic["bytes"] == wire  # what is sent is what lies on disk
        return kept["acked"] / kept["batches"], topic["bytes"] / topic["records"]

    plain, (many, small) = sent("none"), sent("gzip")
    assert plain[0] == pytest.approx(15, abs=0.5)
    assert plain[1] == pytest.approx(RECORD + HEADER / 15, abs=3)
    assert many > 1.4 * plain[0]
    assert small == pytest.approx(0.365 * RECORD, abs=10)


# --- splitting --------------------------------------------------------------------------------------------------------


@given(
    records=st.integers(1, 200),
    record_bytes=st.integers(1, 3_000),
    batch_size=st.integers(0, 20_000),
    codec=st.sampled_from(tuple(RATIOS)),
    piece=st.booleans(),
    sequence=st.sampled_from([UNSENT, 0, 17, LAST_SEQUENCE - 20]),
    keyed=st.booleans(),
    runs=st.lists(st.integers(1, 9), max_size=40),
)
def test_pieces_have_every_record_once_in_order_with_its_sequence(
    *,
    records: int,
    record_bytes: int,
    batch_size: int,
    codec: str,
    piece: bool,
    sequence: int,
    keyed: bool,
    runs: list[int],
) -> None:
    kept = Accumulator(batch_size, 10_000_000, 5_000, record_bytes, codec)
    big = kept.new_batch("orders-0", 7)
    assert big is not None
    kept.add(big, records)
    big.first_serial, big.first_sent_us, big.base_sequence, big.epoch, big.piece = 100, 9, sequence, 3, piece
    big.keys = list(range(records)) if keyed else []
    origins: list[Origin] = []
    for count in runs:
        taken = min(count, records - sum(run[3] for run in origins))
        if taken:
            origins.append(("source-1", f"inputs-{len(origins) % 3}", 1_000 * len(origins), taken))
    big.origins = list(origins)
    kept.close(big)
    pieces = kept.split(big)

    assert [one.first_serial for one in pieces] == [
        100 + sum(before.count for before in pieces[:place]) for place in range(len(pieces))
    ]
    assert sum(one.count for one in pieces) == records
    assert [key for one in pieces for key in one.keys] == big.keys
    assert _single(run for one in pieces for run in one.origins) == _single(origins)
    assert {(one.partition, one.created_us, one.first_sent_us, one.epoch, one.reserved) for one in pieces} == {
        ("orders-0", 7, 9, 3, 0)
    }
    if sequence == UNSENT:
        assert {one.base_sequence for one in pieces} == {UNSENT}
    else:
        for one, following in pairwise(pieces):
            assert following.base_sequence == (one.base_sequence + one.count) % (LAST_SEQUENCE + 1)
        assert pieces[0].base_sequence == sequence
    limit = big.bytes // 2 if piece else batch_size
    assert all(one.count == 1 or one.bytes <= limit for one in pieces)
    if piece and records > 1:
        assert len(pieces) > 1  # so that it ends
    assert kept.next_serial("orders-0") == records  # no new ones


def _single(runs: object) -> list[tuple[str, str, int]]:
    return [
        (producer, partition, serial + place)
        for producer, partition, serial, count in runs  # type: ignore[attr-defined]
        for place in range(count)
    ]


def serials(flight: Flown) -> list[int]:
    """The serial numbers in the log of orders-0, record by record."""
    return [first + place for _, first, count in log_of(flight, broker=1) for place in range(count)]


IDEMPOTENT: dict[str, Value] = {}
CARELESS: dict[str, Value] = {"acks": "1"}
ONE_BY_ONE: dict[str, Value] = {"acks": "1", "max.in.flight.requests.per.connection": 1}
QUICK = [("zstd", IDEMPOTENT), ("none", CARELESS)]
OTHERS = [
    (codec, config)
    for codec in ("none", "zstd")
    for config in (IDEMPOTENT, CARELESS, ONE_BY_ONE)
    if (codec, config) not in QUICK
]


@pytest.mark.parametrize(("codec", "config"), [*QUICK, *partly_campaign(OTHERS, len(OTHERS))])
def test_a_batch_that_is_too_large_goes_in_pieces(codec: str, config: dict[str, Value]) -> None:
    """Batches of 15 records, of which the topic takes three: the first split helps only what was compressed."""
    producer: dict[str, Value] = {"linger.ms": 50, "compression.type": codec, **config}
    steps = [(10.0, "set orders max.message.bytes 4000"), (20.0, "stop p-1")]
    flight = flown(cluster(*steps, until_s=30, rate=400.0, producer=producer))
    kept = settled(flight)
    splits = flight.all(e.BatchSplit, producer="p-1")
    assert splits
    assert {one.error for one in splits} == {"MESSAGE_TOO_LARGE"}
    assert kept["failed"] == 0
    late = flight.all(e.RecordsAppended, 11 * SECOND_US, partition="orders-0")
    assert late
    assert max(event.bytes for event in late) <= 4_000
    delivery = flight.document["delivery"]
    assert (delivery["lost"], delivery["duplicated"], delivery["unread"]) == (0, 0, 0)
    if config.get("max.in.flight.requests.per.connection") == 1 or not config:
        assert serials(flight) == list(range(kept["acked"]))
    else:
        assert sorted(serials(flight)) == list(range(kept["acked"]))


@pytest.mark.parametrize("codec", mostly_slow(["none", "gzip"], quick=["gzip"]))
@pytest.mark.parametrize("seed", mostly_slow([1, 2], quick=[1]))
def test_pieces_survive_lost_answers_and_leaders_that_die(seed: int, codec: str) -> None:
    """Idempotence holds for pieces as for any batch: each record once, in the order of sending."""
    producer: dict[str, Value] = {"linger.ms": 50, "compression.type": codec}
    steps = [
        (8.0, "lose next 3 responses of Produce from broker-1"),
        (10.0, "set orders max.message.bytes 4000"),
        (12.0, "lose next 2 responses of Produce from broker-1"),
        (14.0 + seed / 7, "kill broker-1 for 4s"),
        (20.0, "set orders max.message.bytes 2500"),
        (22.0, "lose next 2 responses of Produce from broker-2"),
        (24.0 + seed / 7, "pause broker-2 for 4s"),
        (40.0, "stop p-1"),
    ]
    flight = flown(cluster(*steps, until_s=70, rate=300.0, producer=producer), seed=seed)
    kept = settled(flight)
    assert flight.all(e.BatchSplit, 20 * SECOND_US)
    assert flight.all(e.BatchAcknowledged, duplicate=True)
    assert kept["failed"] == 0
    assert serials(flight) == list(range(kept["acked"]))
    delivery = flight.document["delivery"]
    assert (delivery["lost"], delivery["duplicated"], delivery["unread"]) == (0, 0, 0)


def test_a_record_that_is_too_large_for_its_topic_fails_alone_and_the_next_ones_go_in_a_new_epoch() -> None:
    steps = [
        (10.0, "set orders max.message.bytes 1000 for 2s"),
        (20.0, "stop p-1"),
    ]
    flight = flown(cluster(*steps, until_s=30, rate=20.0, producer={"linger.ms": 200}))
    kept = settled(flight)
    failed = flight.all(e.BatchFailed, producer="p-1")
    assert {(one.error, one.records, one.sent) for one in failed} == {("MESSAGE_TOO_LARGE", 1, True)}
    assert 30 <= kept["failed"] <= 50
    assert kept["epoch"] > 0
    assert flight.all(e.BatchAcknowledged, 13 * SECOND_US)
    assert flight.document["delivery"]["lost"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_transactions_commit_what_went_in_pieces(version: int) -> None:
    made = cluster(
        (20.0, "stop p-1"),
        until_s=30,
        rate=400.0,
        topic={"max.message.bytes": 4_000},
        brokers={"transaction.version": version},
        producer={"linger.ms": 50},
        consumer={"isolation.level": "read_committed"},
    )
    producer = msgspec.structs.replace(made.producers[0], transactions=TransactionsSpec(id="t-{n}", records=100))
    flight = flown(msgspec.structs.replace(made, producers=(producer,)))
    assert flight.all(e.BatchSplit)
    assert flight.document["transactions"]["t-1"]["committed"] > 30
    delivery = flight.document["delivery"]
    assert (delivery["lost"], delivery["duplicated"], delivery["unread"]) == (0, 0, 0)


# --- send() -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["max.request.size", "buffer.memory"])
def test_send_refuses_a_record_that_no_request_or_no_buffer_can_hold(key: str) -> None:
    """`KafkaProducer.ensureValidRecordSize`: at once, whatever `max.block.ms` says."""
    flight = flown(cluster(until_s=10, rate=10.0, producer={key: HEADER + RECORD - 1, "batch.size": 0}))
    refused = flight.all(e.SendRefused, producer="p-1")
    assert len(refused) == 101
    assert {(one.error, one.waited_for) for one in refused} == {("RecordTooLargeException", "")}
    assert [after.at_us - before.at_us for before, after in pairwise(refused[5:])] == [100_000] * 95
    assert flight.document["topics"]["orders"]["records"] == 0
    fits = flown(cluster(until_s=10, rate=10.0, producer={key: HEADER + RECORD, "batch.size": 0}))
    assert not fits.all(e.SendRefused)


# --- partitioner.availability.timeout.ms ------------------------------------------------------------------------------


def test_a_broker_that_takes_nothing_gets_no_new_batches() -> None:
    """KIP-794: its partitions are left out of the draw while something has waited for it too long."""

    def share(timeout_ms: int) -> float:
        config: dict[str, Value] = {
            "batch.size": 1_300,
            "partitioner.availability.timeout.ms": timeout_ms,
            "max.in.flight.requests.per.connection": 1,
            "request.timeout.ms": 60_000,
            "delivery.timeout.ms": 120_000,
        }
        steps = [(10.0, "pause broker-1")]
        made = cluster(
            *steps, until_s=18, partitions=3, replication=1, rate=60.0, producer=config, reads=False,
            brokers={"broker.session.timeout.ms": 60_000},
        )  # fmt: skip
        opened = flown(made).all(e.BatchOpened, 12 * SECOND_US, producer="p-1")
        return sum(event.partition == "orders-0" for event in opened) / len(opened)

    assert share(0) > 0.01
    assert share(500) == 0.0
