"""add partitions: where they go, who learns of them when, and that keys move."""

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.protocol.names import murmur2
from tests.support.broker_flights import SECOND_US, cluster, flown, refusals


def test_new_partitions_are_placed_as_the_first_ones_were() -> None:
    flight = flown(cluster((10.5, "add partitions orders to 4"), until_s=15))
    (added,) = flight.all(e.PartitionsAdded)
    assert (added.topic, added.partitions) == ("orders", 4)
    assert flight.document["topics"]["orders"]["partitions"] == 4
    replicas = [flight.document["partitions"][f"orders-{number}"]["replicas"] for number in range(4)]
    assert replicas == [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3]]
    taken = flight.all(e.LeadershipTaken, 10 * SECOND_US)
    assert sorted((event.partition, event.broker) for event in taken) == [
        ("orders-1", 2),
        ("orders-2", 3),
        ("orders-3", 1),
    ]


def test_producers_learn_of_them_when_their_metadata_is_too_old_and_their_keys_move() -> None:
    scenario = cluster(
        (10.5, "add partitions orders to 4"),
        until_s=40,
        keyed=True,
        producer={"metadata.max.age.ms": 20_000},
        reads=False,
    )
    flight = flown(scenario)
    first = flight.all(e.RecordsAppended, partition="orders-3")[0]
    assert 20 * SECOND_US <= first.at_us <= 21 * SECOND_US
    for number in range(4):
        late = [
            batch
            for batch in flight.simulation.brokers[1].replicas[f"orders-{number}"].log.batches
            if batch.created_us > 21 * SECOND_US
        ]
        assert late
        assert {(murmur2(str(key).encode()) & 0x7FFFFFFF) % 4 for batch in late for key in batch.keys} == {number}


@pytest.mark.slow
def test_records_without_keys_go_there_too() -> None:
    scenario = cluster(
        (10.5, "add partitions orders to 3"),
        until_s=60,
        rate=200,
        producer={"metadata.max.age.ms": 5_000, "batch.size": 2_000},
        reads=False,
    )
    appended = flown(scenario).all(e.RecordsAppended, 20 * SECOND_US)
    assert {event.partition for event in appended} == {"orders-0", "orders-1", "orders-2"}


def test_a_groups_leader_notices_them_and_has_them_assigned() -> None:
    young: dict[str, Value] = {"metadata.max.age.ms": 20_000}
    flight = flown(cluster((10.5, "add partitions orders to 3"), until_s=60, producer=young, consumer=young))
    second = flight.all(e.RebalanceStarted)[1]
    assert second.cause == "metadata changed"
    assert 20 * SECOND_US <= second.at_us < 21 * SECOND_US
    assert flight.document["groups"]["g"]["assignment"]["g-1"] == ["orders-0", "orders-1", "orders-2"]
    assert flight.document["delivery"]["lost"] == 0


def test_a_down_broker_gets_its_new_replicas_when_it_is_back() -> None:
    flight = flown(
        cluster((5, "kill broker-2"), (20, "add partitions orders to 3"), (30, "start broker-2"), until_s=60)
    )
    (created, *_) = flight.all(e.LeaderElected, partition="orders-1")
    assert (created.leader, created.isr, created.replicas) == (3, (3, 1), (2, 3, 1))
    assert flight.document["partitions"]["orders-1"]["isr"] == [1, 2, 3]


def test_a_partition_whose_brokers_are_all_fenced_is_refused() -> None:
    one_copy = cluster((5, "kill broker-2"), (20, "add partitions orders to 3"), until_s=22)
    one_copy = msgspec.structs.replace(
        one_copy, topics=tuple(msgspec.structs.replace(topic, replication=1) for topic in one_copy.topics)
    )
    flight = flown(one_copy)
    assert refusals(flight) == ["INVALID_REPLICATION_FACTOR: every broker of orders-1 is fenced"]
    assert not flight.all(e.PartitionsAdded)


@pytest.mark.parametrize("to", [1, 60_000])
def test_only_more_partitions_can_be_had(to: int) -> None:
    flight = flown(cluster((10, f"add partitions orders to {to}"), until_s=12))
    assert len(refusals(flight)) == 1
    assert not flight.all(e.PartitionsAdded)
