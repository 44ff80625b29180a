"""Fetching from followers, at the broker: which replica a leader prefers, what a follower serves and what it knows."""

from typing import Any

import msgspec
import pytest

from cluster import events as e
from cluster.broker.read_replicas import LEADER, ReadReplicas
from cluster.config import Value
from cluster.protocol.messages import PartitionMetadata
from cluster.spec import BrokerSpec, KeysSpec, ScenarioSpec
from tests.support.broker_flights import cluster, flown
from tests.support.scenario_builders import transactional

MS, SECOND_US = 1_000, 1_000_000
SELECTOR: dict[str, Value] = {"replica.selector.class": "RackAwareReplicaSelector"}
RACKS = tuple(BrokerSpec(number, rack) for number, rack in ((1, "a"), (2, "b"), (3, "b")))
APART = tuple(BrokerSpec(number, rack) for number, rack in ((1, "a"), (2, "c"), (3, "b")))


def in_racks(
    *steps: tuple[float, str],
    rack: str = "b",
    racks: tuple[BrokerSpec, ...] = RACKS,
    **more: Any,  # noqa: ANN401 - of `cluster`
) -> ScenarioSpec:
    consumer = {"client.rack": rack, **more.pop("consumer", {})}
    made = cluster(*steps, brokers={**SELECTOR, **more.pop("brokers", {})}, consumer=consumer, **more)
    return msgspec.structs.replace(made, brokers=racks)


class Stub:
    """What a rule reads, as attributes."""

    def __init__(self, **known: Any) -> None:  # noqa: ANN401
        self.__dict__.update(known)


def follower(broker: int, log_end: int, *, rack: str = "b", caught_up_us: int = 0, log_start: int = 0) -> Stub:
    replica = Stub(host=Stub(rack=rack), log=Stub(log_start=log_start))
    return Stub(broker=broker, log_end=log_end, replica=replica, last_caught_up_us=lambda _: caught_up_us)


def preferred(*followers: Stub, rack: str = "b", offset: int = 5, isr: tuple[int, ...] = (1, 2, 3, 4)) -> int:
    host = Stub(rack="a", now_us=0, is_live=lambda broker: broker != 4)
    leader = Stub(followers=followers, metadata=PartitionMetadata(1, 0, isr, isr))
    return ReadReplicas(host).preferred(leader, rack, offset)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chosen", "followers", "asked"),
    [
        (2, (follower(2, 9), follower(3, 8)), {}),
        (3, (follower(2, 9, caught_up_us=1), follower(3, 9, caught_up_us=2)), {}),
        (3, (follower(2, 9), follower(3, 9)), {}),
        (2, (follower(2, 9), follower(3, 99, rack="c")), {}),
        (LEADER, (follower(2, 9),), {"rack": "a"}),
        (LEADER, (follower(2, 9),), {"rack": "d"}),
        (LEADER, (follower(2, 9),), {"rack": ""}),
        (LEADER, (follower(2, 9),), {"isr": (1, 3)}),
        (LEADER, (follower(2, 9),), {"offset": 10}),
        (LEADER, (follower(2, 9, log_start=6),), {}),
        (LEADER, (follower(4, 9),), {}),
        (2, (follower(2, 9),), {"offset": 9}),
    ],
)
def test_the_leader_prefers_the_replica_in_the_rack_that_has_most(
    chosen: int, followers: tuple[Stub, ...], asked: dict[str, Any]
) -> None:
    assert preferred(*followers, **asked) == chosen


def test_a_consumer_reads_everything_from_the_follower_in_its_rack() -> None:
    flight = flown(in_racks(until_s=10))
    (told,) = flight.all(e.PreferredReadReplicaChanged)
    assert (told.partition, told.broker, told.reason) == ("orders-0", 3, "selected")
    member = flight.document["members"]["g-1"]
    assert (member["read_from"], member["lag"] <= 12, member["processed"] > 150) == ({"orders-0": 3}, True, True)


def test_without_a_selector_or_without_a_rack_nothing_changes() -> None:
    plain = flown(cluster(until_s=5))
    for scenario in (in_racks(until_s=5, brokers={"replica.selector.class": None}), in_racks(until_s=5, rack="")):
        flight = flown(scenario)
        assert not flight.all(e.PreferredReadReplicaChanged)
        assert flight.document["members"]["g-1"]["processed"] == plain.document["members"]["g-1"]["processed"]


def delays_us(wait_ms: int) -> list[int]:
    """From the append of each record to the end of its processing, of a record a second."""
    flight = flown(
        in_racks(
            until_s=20, rate=1.0, consumer={"enable.auto.commit": False}, brokers={"replica.fetch.wait.max.ms": wait_ms}
        )
    )
    appended = {one.base_offset: one.at_us for one in flight.all(e.RecordsAppended, partition="orders-0")}
    return [one.at_us - appended[one.first_offset] for one in flight.all(e.RecordsProcessed, after_us=5 * SECOND_US)]


@pytest.mark.parametrize("wait_ms", [500, 200])
def test_a_follower_learns_the_high_watermark_when_its_idle_fetch_ends(wait_ms: int) -> None:
    assert all(wait_ms * MS < delay_us < (wait_ms + 20) * MS for delay_us in delays_us(wait_ms))


def test_other_records_of_the_same_leader_bring_the_high_watermark_at_once() -> None:
    scenario = in_racks(until_s=20, rate=1.0, consumer={"enable.auto.commit": False})
    more = msgspec.structs.replace(scenario.topics[0], name="more", partitions=3)  # broker-1 leads one of them
    keys = KeysSpec("uniform", distinct=50)
    (producer,) = scenario.producers
    writer = msgspec.structs.replace(producer, name="q", topics=("more",), rate_per_second=100.0, keys=keys)
    flight = flown(msgspec.structs.replace(scenario, topics=(*scenario.topics, more), producers=(producer, writer)))
    appended = {one.base_offset: one.at_us for one in flight.all(e.RecordsAppended, partition="orders-0")}
    done = flight.all(e.RecordsProcessed, after_us=5 * SECOND_US, partition="orders-0")
    assert max(one.at_us - appended[one.first_offset] for one in done) < 200 * MS


def test_a_reader_goes_back_to_the_leader_while_its_follower_is_down() -> None:
    flight = flown(in_racks((5, "kill broker-3"), (20, "start broker-3"), until_s=40))
    told = [(one.at_us // SECOND_US, one.broker, one.reason) for one in flight.all(e.PreferredReadReplicaChanged)]
    assert (5, -1, "disconnected") in told
    assert told[-1][1] == 2  # the other replica of the rack, when the controller has fenced broker-3
    assert flight.document["delivery"]["lost"] == 0
    assert flight.document["members"]["g-1"]["lag"] < 12


def test_a_new_leader_is_asked_anew() -> None:
    flight = flown(in_racks((5, "stop broker-1"), until_s=15, racks=APART))
    told = [(one.broker, one.reason) for one in flight.all(e.PreferredReadReplicaChanged)]
    assert told == [(3, "selected"), (-1, "FENCED_LEADER_EPOCH"), (3, "selected")]


def test_the_leader_is_asked_again_after_metadata_max_age() -> None:
    flight = flown(in_racks(until_s=9, consumer={"metadata.max.age.ms": 3_000}))
    told = flight.all(e.PreferredReadReplicaChanged)
    assert [one.reason for one in told] == ["selected", "expired", "selected", "expired", "selected"]
    assert told[1].at_us - told[0].at_us == 3_001 * MS


def test_a_reader_of_committed_data_gets_no_open_transaction_from_a_follower() -> None:
    made = transactional(abort=0.3, until_s=40)
    groups = tuple(msgspec.structs.replace(group, config={**group.config, "client.rack": "b"}) for group in made.groups)
    scenario = msgspec.structs.replace(made, brokers=RACKS, config={**made.config, **SELECTOR}, groups=groups)
    flight = flown(scenario)
    assert flight.all(e.PreferredReadReplicaChanged, group="committed")
    counts = flight.document["delivery"]["by_group"]["committed"]
    assert (counts["unread"], counts["lost"], counts["duplicated"]) == (0, 0, 0)
    assert counts["aborted"] > 0


def test_a_member_that_moves_to_another_rack_fetches_there_and_is_near_it_when_it_starts_again() -> None:
    steps = ((5.0, "set g client.rack c"), (6.0, "restart g-1"))
    made = in_racks(*steps, until_s=25, racks=APART)
    flight = flown(
        msgspec.structs.replace(made, network=msgspec.structs.replace(made.network, between_racks_us=9 * MS))
    )
    assert flight.document["members"]["g-1"]["read_from"] == {"orders-0": 2}
    far, near = (flight.simulation.network.link("g-1", f"broker-{number}").latency_us for number in (3, 2))
    assert (far, near) == (9 * MS, MS)
