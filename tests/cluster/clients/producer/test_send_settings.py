"""What decides where a record goes (partitioner.class, ignore.keys, adaptive), and how long send() waits."""

from collections import Counter
from itertools import pairwise
from zlib import crc32

import pytest

from cluster import events as e
from cluster.clients.producer.partitioners import StickyPartitioner
from cluster.config import Value
from cluster.protocol.names import murmur2_place
from tests.support.broker_flights import MS, SECOND_US, cluster, flown
from tests.support.completed_flight import Flown

SMALL: dict[str, Value] = {"batch.size": 2_000, "buffer.memory": 4_000}


def written(flight: Flown) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in flight.all(e.RecordsAppended, producer="p-1"):
        found[event.partition] += event.count
    return found


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("name", ["roundrobin", "org.apache.kafka.clients.producer.RoundRobinPartitioner"])
def test_round_robin_gives_each_partition_the_next_record_keys_or_not(name: str, keyed: bool) -> None:
    flight = flown(cluster(until_s=10, partitions=3, producer={"partitioner.class": name}, keyed=keyed))
    counts = written(flight)
    assert len(counts) == 3
    assert max(counts.values()) - min(counts.values()) <= 1


def test_round_robin_passes_over_partitions_without_a_leader() -> None:
    made = cluster(
        (5, "kill broker-2"), until_s=40, partitions=3, replication=1, producer={"partitioner.class": "roundrobin"}
    )
    flight = flown(made)
    assert flight.document["topics"]["orders"]["leaderless"] == 1
    late: Counter[str] = Counter()
    for event in flight.all(e.RecordsAppended, 25 * SECOND_US, producer="p-1"):
        late[event.partition] += event.count
    assert len(late) == 2
    assert max(late.values()) - min(late.values()) <= 1


def test_ignored_keys_go_where_records_without_keys_go() -> None:
    config: dict[str, Value] = {"linger.ms": 500}
    by_key = flown(cluster(until_s=10, partitions=3, keyed=True, producer=config))
    ignoring = flown(
        cluster(until_s=10, partitions=3, keyed=True, producer={**config, "partitioner.ignore.keys": True})
    )

    batches, fewer = (flight.document["producers"]["p-1"]["batches"] for flight in (by_key, ignoring))
    assert fewer < 0.6 * batches


def test_keys_that_take_turns_lose_their_order_and_the_truth_sees_it() -> None:
    config: dict[str, Value] = {"linger.ms": 500}
    by_key = flown(cluster(until_s=10, partitions=3, keyed=True, producer=config))
    assert by_key.document["delivery"]["out_of_order_keys"] == 0
    in_turn = flown(
        cluster(until_s=10, partitions=3, keyed=True, producer={**config, "partitioner.class": "roundrobin"})
    )
    assert in_turn.document["delivery"]["out_of_order_keys"] > 0


def test_a_producer_that_starts_again_with_another_hash_moves_its_keys() -> None:
    steps = [(5.0, "set p partitioner consistent_random"), (10.0, "restart p-1")]
    flight = flown(cluster(*steps, until_s=20, partitions=3, keyed=True, reads=False))
    eras = set()
    for place in range(3):
        for batch in flight.simulation.brokers[1].replicas[f"orders-{place}"].log.batches:
            new = batch.created_us > 10 * SECOND_US
            eras.add(new)
            keys = [str(key).encode() for key in batch.keys]
            assert {crc32(key) % 3 if new else murmur2_place(key, 3) for key in keys} == {place}
    assert eras == {False, True}


def test_adaptive_partitioning_prefers_partitions_whose_batches_go() -> None:
    def share(adaptive: bool) -> float:
        config: dict[str, Value] = {
            "batch.size": 1_300,
            "partitioner.adaptive.partitioning.enable": adaptive,
            "max.in.flight.requests.per.connection": 1,
        }
        steps = [(10.0, "slow p-1 broker-1 to 900ms")]
        made = cluster(*steps, until_s=40, partitions=3, rate=60.0, producer=config, reads=False)
        counts: Counter[str] = Counter()
        for event in flown(made).all(e.BatchOpened, 12 * SECOND_US, producer="p-1"):
            counts[event.partition] += 1
        return counts["orders-0"] / sum(counts.values())

    assert share(adaptive=False) > 0.28
    assert share(adaptive=True) < 0.7 * share(adaptive=False)


def test_a_draw_follows_the_load_only_while_there_is_one() -> None:
    loads: list[object] = [None]
    sticky = StickyPartitioner(10, lambda: 0.0, lambda: ("a", "b"), lambda: loads[0])  # type: ignore[arg-type, return-value]
    assert sticky.current == "a"

    class Heavy:
        def draw(self, point: float) -> str:
            assert point == 0.0
            return "b"

    loads[0] = Heavy()
    sticky.produced(20)
    assert sticky.current == "b"


def test_a_send_without_memory_fails_after_max_block_ms_and_the_next_one_waits_as_long() -> None:
    config: dict[str, Value] = {**SMALL, "max.block.ms": 3_000, "delivery.timeout.ms": 60_000}
    steps = [(10.0, "cut p-1 broker-1 for 15s")]
    flight = flown(cluster(*steps, until_s=40, rate=10.0, producer=config))
    refused = flight.all(e.SendRefused, producer="p-1")
    assert {(one.topic, one.waited_for, one.error) for one in refused} == {("orders", "memory", "TimeoutException")}
    assert len(refused) >= 3
    assert all(after.at_us - before.at_us == 3_000 * MS for before, after in pairwise(refused))
    producer = flight.document["producers"]["p-1"]
    assert producer["failed"] == len(refused)
    assert flight.simulation.view.producers["p-1"].last_error == "TimeoutException"
    assert flight.document["delivery"]["lost"] == 0
    late = flight.all(e.BatchAcknowledged, 30 * SECOND_US)
    assert late
    assert not [one for one in refused if one.at_us > 30 * SECOND_US]


def test_a_send_that_finds_memory_in_time_does_not_fail() -> None:
    config: dict[str, Value] = {**SMALL, "max.block.ms": 30_000, "delivery.timeout.ms": 60_000}
    flight = flown(cluster((10.0, "cut p-1 broker-1 for 15s"), until_s=40, rate=10.0, producer=config))
    assert not flight.all(e.SendRefused)
    assert flight.document["producers"]["p-1"]["failed"] == 0


def test_a_send_without_metadata_fails_after_max_block_ms() -> None:
    steps = [(0.0, f"cut p-1 broker-{broker} for 20s") for broker in (1, 2, 3)]
    flight = flown(cluster(*steps, until_s=40, rate=10.0, producer={"max.block.ms": 4_000}))
    refused = flight.all(e.SendRefused, producer="p-1")
    assert [one.waited_for for one in refused] == ["metadata"] * len(refused)
    assert len(refused) in {4, 5, 6}
    assert flight.document["producers"]["p-1"]["acked"] > 100
