"""Faults of links and connections in whole flights: what they do to clients, and that each ends by itself."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from cluster import events as e
from cluster.config import Value
from cluster.protocol.messages import FetchRequest
from cluster.spec import KeysSpec, ScenarioSpec
from tests.support.broker_flights import refusals
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import MS, SECOND_US, spec


def keyed(
    *steps: tuple[float, str], until_s: float = 30, rate: float = 100.0, config: dict[str, Value] | None = None
) -> ScenarioSpec:
    """Half of the producer's records are for orders-0, which broker-1 leads."""
    scenario = spec(*steps, until_s=until_s, members=2, initial_delay_ms=500, rate=rate)
    (sends,) = scenario.producers
    return replace(scenario, producers=(replace(sends, keys=KeysSpec("uniform"), config=config or {}),))


def fly(*steps: tuple[float, str], until_s: float = 30, rate: float = 100.0) -> Flown:
    return flown(keyed(*steps, until_s=until_s, rate=rate))


def blocked(flight: Flown, source: str, target: str) -> bool:
    return flight.simulation.network.link(source, target).cut_since_us is not None


def in_force(flight: Flown) -> list[str]:
    return [fault.text for fault in flight.simulation._executor.faults.values()]


# --- producers and brokers that do not answer -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_producer_sends_nothing_to_a_dead_broker_and_counts_only_what_it_sends_again() -> None:
    killed_us = 10_006 * MS
    flight = fly((killed_us / SECOND_US, "kill broker-1 for 20s"), (40, "stop p-1"), until_s=45, rate=1_000.0)
    (back,) = flight.all(e.BrokerUnfenced, after_us=killed_us)
    meanwhile = [one for one in flight.all(e.ProduceSent, killed_us + MS, broker=1) if one.at_us < back.at_us]
    assert not meanwhile
    (elected,) = [one for one in flight.all(e.LeaderElected, partition="orders-0") if one.leader == 2]
    assert elected.at_us > killed_us + 5 * SECOND_US  # long enough for hundreds of attempts
    again = flight.all(e.BatchRetried, killed_us)
    assert {one.error for one in again} == {"NETWORK_EXCEPTION"}
    counters = flight.simulation.producers["p-1"].sender.counters
    assert 1 <= counters["retries"] == len(again) <= 5  # max.in.flight.requests.per.connection
    assert (counters["failed"], counters["acked"]) == (0, counters["sent"])


@pytest.mark.parametrize("fault", ["kill broker-1", "cut p-1 broker-1", "pause broker-1"])
def test_batches_expire_in_the_accumulator_while_their_leader_cannot_be_reached(fault: str) -> None:
    impatient: dict[str, Value] = {"request.timeout.ms": 1_000, "delivery.timeout.ms": 1_500}
    scenario = keyed((10, fault), until_s=40, config=impatient)
    (topic,) = scenario.topics
    flight = flown(replace(scenario, topics=(replace(topic, replication=1),), brokers=scenario.brokers[:1]))
    expired = flight.all(e.BatchFailed, error="TimeoutException")
    assert expired
    unsent = [one for one in expired if not one.sent]
    assert len(unsent) >= len(expired) - 5
    for one in unsent:
        assert one.at_us >= 11_500 * MS
    gaps = [after.at_us - before.at_us for before, after in pairwise(unsent)]
    assert max(gaps) < SECOND_US  # each at its time, not when the next attempt to connect fails


def test_a_frozen_brokers_host_lets_clients_connect_and_they_wait_a_request_timeout() -> None:
    flight = fly((10, "pause broker-1"), (10.4, "kill p-1"), (10.5, "start p-1"), until_s=36)
    connection = flight.simulation.producers["p-1"].connection(1)
    assert not connection.ready
    assert not connection.broken  # socket.connection.setup.timeout.ms is over, request.timeout.ms not yet


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_fetch_behind_a_short_cut_is_a_long_poll_again() -> None:
    flight = fly((10, "stop p-1"), (12, "cut g-1 broker-1 for 5s"), (12, "cut g-2 broker-1 for 5s"), until_s=100)
    parked = [
        call
        for member in ("g-1", "g-2")
        for connection in flight.simulation.consumers[member]._connections.values()
        for call in connection._in_flight
        if isinstance(call.request, FetchRequest)
    ]
    assert parked
    assert all(call.sent_us < 20 * SECOND_US for call in parked)  # not given up and sent again 30 s after the cut


def test_what_a_killed_broker_said_behind_a_cut_never_arrives() -> None:
    def late(word: str) -> int:
        steps = [(12.0, f"{word} broker-1 p-1"), (12.5, "kill broker-1"), (13.0, "heal")]
        flight = fly(*steps, until_s=14, rate=10.0)
        return len(flight.all(e.BatchAcknowledged, after_us=12_500 * MS, partition="orders-0"))

    assert late("cut") == 0


def test_what_a_killed_producer_said_arrives_only_if_it_was_on_the_wire() -> None:
    def appended(word: str, undo: str) -> int:
        steps = [(12.0, f"{word} p-1 broker-1"), (12.5, "kill p-1"), (13.0, undo)]
        flight = fly(*steps, until_s=20, rate=10.0)
        return len(flight.all(e.RecordsAppended, after_us=12_500 * MS, partition="orders-0"))

    assert appended("cut", "heal") == 0
    assert appended("hold", "release p-1 broker-1") > 0


def test_what_was_held_for_a_former_life_of_a_broker_is_refused_by_the_next() -> None:
    steps = ((12.0, "hold p-1 broker-1"), (12.5, "kill broker-1"), (13.0, "start broker-1"), (23.0, "heal"))
    flight = fly(*steps, until_s=40, rate=10.0)
    counters = flight.simulation.producers["p-1"].sender.counters
    assert counters["acked"] > 0
    batches = [one for one in flight.all(e.RecordsAppended) if one.producer == "p-1"]
    serials = [(one.partition, one.first_serial) for one in batches]
    assert len(serials) == len(set(serials))


def test_faults_of_one_link_end_each_at_its_time() -> None:
    steps = (
        (10, "slow broker-1 broker-2 to 80ms for 9s"),
        (11, "cut broker-1 -> broker-2 for 2s"),
        (12, "hold broker-1 broker-2 for 4s"),
        (12, "isolate broker-2 for 2500ms"),
    )
    states = []
    for at_s in (12.5, 13.5, 15, 17, 20):
        flight = fly(*steps, until_s=at_s)
        link = flight.simulation.network.link("broker-1", "broker-2")
        states.append((link.latency_us // MS, blocked(flight, "broker-1", "broker-2"), len(in_force(flight))))
    assert states == [(80, True, 4), (80, True, 3), (80, True, 2), (80, False, 1), (1, False, 0)]


@pytest.mark.slow
def test_release_ends_a_hold_and_nothing_else_and_heal_ends_everything_between_two() -> None:
    flight = fly((10, "cut broker-1 broker-2"), (10, "hold broker-1 broker-2"), (11, "release broker-1 broker-2"))
    assert in_force(flight) == ["cut broker-1 broker-2"]
    assert blocked(flight, "broker-2", "broker-1")
    healed = fly(
        (10, "cut broker-1 -> broker-2"),
        (10, "slow broker-2 broker-1 to 50ms"),
        (10, "hold broker-1 broker-3"),
        (11, "heal broker-2 broker-1"),
    )
    assert in_force(healed) == ["hold broker-1 broker-3"]
    assert refusals(fly((10, "release g-1 broker-1"), until_s=11)) == ["nothing is held between g-1 and broker-1"]
    assert refusals(fly((10, "cut g-1 g-1"), until_s=11)) == ["a process has no link to itself"]


def test_one_link_of_an_isolation_does_not_heal_alone() -> None:
    flight = fly((10, "isolate broker-2"), (10, "cut broker-2 broker-3"), (11, "heal broker-1 broker-2"), until_s=12)
    (reason,) = refusals(flight)
    assert reason == "'isolate broker-2' is not of this link alone; 'heal' ends it, with every link fault"
    assert blocked(flight, "broker-1", "broker-2")
    cut_healed = fly(
        (10, "isolate broker-2"), (10, "cut broker-2 broker-3"), (11, "heal broker-3 broker-2"), until_s=12
    )
    assert in_force(cut_healed) == ["isolate broker-2"]
    assert blocked(cut_healed, "broker-2", "broker-3")  # what the events say is in force is in force
    assert not in_force(fly((10, "isolate broker-2"), (11, "heal"), until_s=12))


@pytest.mark.slow
def test_an_isolated_broker_is_cut_from_those_that_start_later_too() -> None:
    steps = ((10, "isolate broker-3 for 15s"), (12, "scale g to 3"))
    flight = fly(*steps, until_s=20)
    for other in ("broker-1", "p-1", "g-1", "g-3"):
        assert blocked(flight, "broker-3", other)
        assert blocked(flight, other, "broker-3")
    assert not blocked(flight, "g-3", "broker-1")
    (fenced,) = flight.all(e.BrokerFenced)
    assert fenced.broker == 3
    over = fly(*steps, until_s=60)
    assert not blocked(over, "broker-3", "g-3")
    assert [one.broker for one in over.all(e.BrokerUnfenced, after_us=25 * SECOND_US)] == [3]
    assert not in_force(over)


# --- lost responses ---------------------------------------------------------------------------------------------------


def test_a_lost_answer_to_produce_is_sent_again_and_is_a_duplicate() -> None:
    flight = fly((10, "lose next 2 responses of Produce from broker-1"), until_s=20, rate=10.0)
    again = flight.all(e.BatchRetried)
    assert [one.error for one in again] == ["NETWORK_EXCEPTION"] * 3
    assert [one.attempt for one in again] == [1, 2, 1]  # the second answer is lost with what was in flight behind it
    assert len(flight.all(e.BatchAcknowledged, duplicate=True)) == 2
    (ended,) = flight.all(e.FaultEnded)
    assert ended.at_us < 12 * SECOND_US
    assert flight.simulation.producers["p-1"].sender.counters["failed"] == 0


@pytest.mark.slow
def test_only_the_named_client_loses_only_the_named_answers() -> None:
    flight = fly((10, "lose next 1 responses of Heartbeat from broker-2 to g-2"), until_s=20)
    found = flight.all(e.CoordinatorFound, after_us=10 * SECOND_US)
    assert [one.member for one in found] == ["g-2", "g-2"]  # at once, when it may not be connected to yet, and then
    assert not flight.all(e.BatchRetried)
    assert not in_force(flight)
    waiting = fly((10, "lose next 1 responses of JoinGroup from broker-2"), until_s=20)
    assert in_force(waiting) == ["lose next 1 responses of JoinGroup from broker-2"]
    assert not in_force(fly((10, "lose next 1 responses of JoinGroup from broker-2"), (11, "heal"), until_s=20))


# --- disks ----------------------------------------------------------------------------------------------------------


def slowest_ms(flight: Flown, partition: str, after_s: float, before_s: float) -> int:
    times = [
        one.latency_us
        for one in flight.all(e.BatchAcknowledged, int(after_s * SECOND_US), partition=partition)
        if one.at_us < before_s * SECOND_US
    ]
    return max(times) // MS


def test_a_slow_disk_delays_what_its_broker_leads_and_what_it_follows_until_its_time_is_up() -> None:
    flight = fly((10, "slow disk of broker-1 to 60ms for 5s"), until_s=30, rate=8.0)
    assert slowest_ms(flight, "orders-0", 5, 10) < 20
    assert slowest_ms(flight, "orders-0", 11, 15) >= 60  # it leads
    assert slowest_ms(flight, "orders-1", 11, 15) >= 60  # it follows, in sync
    assert slowest_ms(flight, "orders-0", 20, 30) < 20
    assert slowest_ms(flight, "orders-1", 20, 30) < 20
    assert not in_force(flight)


def test_a_slow_disk_without_an_end_is_mended_by_no_time_at_all() -> None:
    steps = ((10.0, "slow disk of broker-1 to 60ms"), (12.0, "slow disk of broker-1 to 0ms"))
    flight = fly(*steps, until_s=20, rate=8.0)
    assert not in_force(flight)
    assert slowest_ms(flight, "orders-0", 13, 20) < 20
    assert refusals(fly((10, "slow disk of broker-1 to 0ms"), until_s=11)) == ["the disk of broker-1 is not slow"]


def test_a_disk_takes_one_append_after_the_other() -> None:
    flight = fly((10, "slow disk of broker-1 to 200ms"), until_s=25, rate=20.0)
    assert slowest_ms(flight, "orders-0", 12, 25) >= 1_000  # more comes than it can take: there is a queue


def test_what_waits_for_a_slow_disk_waits_no_longer_when_it_is_mended() -> None:
    flight = fly((10, "slow disk of broker-1 to 2s"), (14, "slow disk of broker-1 to 0ms"), until_s=20, rate=20.0)
    assert slowest_ms(flight, "orders-0", 14, 14.1) >= 1_500
    assert slowest_ms(flight, "orders-0", 14.1, 20) < 20


@pytest.mark.slow
def test_a_broker_with_a_full_disk_halts_at_its_first_append_and_returns_when_there_is_room() -> None:
    flight = fly((10, "fill disk of broker-1 for 20s"), until_s=80)
    (stopped,) = flight.all(e.BrokerStopped)
    assert (stopped.broker, stopped.how) == (1, "disk")
    assert 0 <= stopped.at_us - 10 * SECOND_US < SECOND_US
    (elected,) = [one for one in flight.all(e.LeaderElected, partition="orders-0") if one.leader == 2]
    assert elected.at_us > stopped.at_us + 5 * SECOND_US  # its session has to end: it said nothing to the controller
    started = [one.at_us for one in flight.all(e.BrokerStarted, 10 * SECOND_US)]
    assert started == [30 * SECOND_US]
    assert not in_force(flight)
    assert flight.simulation.producers["p-1"].sender.counters["failed"] == 0
    assert sorted(flight.simulation.controller.partitions["orders-0"].isr) == [1, 2, 3]


def test_whoever_starts_a_broker_with_a_full_disk_has_made_room() -> None:
    flight = fly((10, "fill disk of broker-1"), (15, "start broker-1"), until_s=40)
    assert not in_force(flight)
    assert flight.simulation.brokers[1].alive
    refused = fly((10, "fill disk of broker-1"), (10, "fill disk of broker-1"), until_s=11)
    assert refusals(refused) == ["the disk of broker-1 is full already"]


def test_who_waits_for_a_frozen_process_hears_that_it_has_ended() -> None:
    """Seed 19094: the connection of a transaction's marker; its coordinator waited for request.timeout.ms, 30 s."""
    scenario = spec((1, "pause broker-1"), (5, "kill broker-1"), (6, "start broker-1"), until_s=28)
    producer = replace(scenario.producers[0], start_us=2 * SECOND_US)
    topic = replace(scenario.topics[0], replication=1)
    flight = flown(replace(scenario, brokers=scenario.brokers[:1], topics=(topic,), producers=(producer,)))
    acknowledged = [event.at_us for event in flight.all(e.BatchAcknowledged)]
    assert acknowledged, "the producer waits for the connection that the killed process never accepted"
    assert acknowledged[0] > 6 * SECOND_US
