"""acks 0, 1 and all, with and without idempotence: what a producer counts as safe, and what becomes of it."""

import pytest

from cluster import events as e
from cluster.clients.producer.sender import Sender
from cluster.config import ConfigError, Value, resolve
from tests.support.broker_flights import MS, SECOND_US, cluster, flown, log_of
from tests.support.completed_flight import Flown

ALONE = [(10.5, "cut broker-1 broker-2"), (10.5, "cut broker-1 broker-3")]  # broker-1 leads on, but no replica follows


@pytest.mark.parametrize(("acks", "latency_ms"), [("0", 0), ("1", 2), ("all", 4)])
def test_each_acks_waits_for_its_own_proof(acks: str, latency_ms: int) -> None:
    flight = flown(cluster(until_s=5, producer={"acks": acks}))
    latencies = [event.latency_us for event in flight.all(e.BatchAcknowledged, 2 * SECOND_US)]
    assert latencies
    assert {latency // MS for latency in latencies} == {latency_ms}


def test_acks_0_has_no_offset_and_no_answer() -> None:
    flight = flown(cluster(until_s=5, producer={"acks": "0"}))
    assert {event.base_offset for event in flight.all(e.BatchAcknowledged)} == {-1}
    assert flight.document["producers"]["p-1"]["acked"] == flight.document["producers"]["p-1"]["sent"]
    assert flight.document["producers"]["p-1"]["producer_id"] == -1
    assert not flight.all(e.ProducerIdAssigned)


def test_what_acks_1_confirmed_is_lost_with_a_leader_that_nobody_followed() -> None:
    steps = [*ALONE, (14, "kill broker-1"), (30, "heal"), (31, "start broker-1")]
    one = flown(cluster(*steps, until_s=50, producer={"acks": "1"}))
    lost = one.all(e.RecordsLost)
    assert sum(event.records for event in lost) == one.document["delivery"]["lost"] > 0
    (cut,) = [event for event in one.all(e.LogTruncated, partition="orders-0") if event.broker == 1]
    assert (lost[0].first_offset, lost[0].leader_epoch, lost[0].producer) == (cut.offset, 0, "p-1")
    assert sum(event.records for event in lost) == cut.log_end - cut.offset
    safe = flown(cluster(*steps, until_s=50, producer={"acks": "all"}))
    assert safe.document["delivery"]["lost"] == 0


def test_what_acks_0_sent_to_a_dead_leader_is_lost_and_told() -> None:
    flight = flown(cluster((10.5, "kill broker-1"), until_s=30, producer={"acks": "0"}))
    lost = flight.all(e.RecordsLost)
    assert lost
    assert {event.first_offset for event in lost} == {-1}
    assert flight.document["delivery"]["lost"] == sum(event.records for event in lost)
    assert flight.document["delivery"]["acked"] == flight.document["producers"]["p-1"]["sent"]


def test_acks_0_finds_the_new_leader_because_its_connection_is_closed() -> None:
    moved = flown(cluster((10.5, "stop broker-1"), until_s=30, producer={"acks": "0"}))
    late = moved.all(e.RecordsAppended, 15 * SECOND_US, partition="orders-0")
    assert late
    assert {event.leader_epoch for event in late} == {1}


def test_without_idempotence_a_batch_whose_answer_got_lost_is_in_the_log_twice() -> None:
    steps = [(10.5, "cut broker-1 -> p-1 for 3s")]
    config: dict[str, Value] = {"enable.idempotence": False, "batch.size": 500}
    careless = log_of(flown(cluster(*steps, until_s=30, producer=config, reads=False)), 1)
    assert len(careless) > len(set(careless))
    careful = log_of(flown(cluster(*steps, until_s=30, producer={"batch.size": 500}, reads=False)), 1)
    assert len(careful) == len(set(careful))


def test_without_idempotence_requests_in_flight_overtake_one_that_is_sent_again() -> None:
    """The connection breaks: each batch goes back to the head of the queue, the oldest first, so the newest leads."""
    steps = [(10.5, "cut broker-1 -> p-1 for 3s")]
    config: dict[str, Value] = {"enable.idempotence": False, "batch.size": 500}

    def serials(in_flight: int) -> list[int]:
        scenario = cluster(
            *steps,
            until_s=30,
            producer={**config, "max.in.flight.requests.per.connection": in_flight},
            reads=False,
        )
        return [first for _, first, _ in log_of(flown(scenario), 1)]

    assert serials(5) != sorted(serials(5))
    assert serials(1) == sorted(serials(1))


def test_retries_0_gives_up_at_the_first_error() -> None:
    steps = [(10.5, "cut broker-1 -> p-1 for 3s")]
    flight = flown(cluster(*steps, until_s=20, producer={"retries": 0}, reads=False))
    assert not flight.all(e.BatchRetried)
    assert {event.error for event in flight.all(e.BatchFailed)} == {"REQUEST_TIMED_OUT"}


def test_idempotence_goes_off_with_acks_1_and_contradicts_it_when_asked_for() -> None:
    assert resolve("producer", {"acks": "1"})["enable.idempotence"] is False
    with pytest.raises(ConfigError):
        resolve("producer", {"acks": "1", "enable.idempotence": True})


def test_under_min_isr_acks_1_goes_on_where_acks_all_is_refused() -> None:
    steps = [(10.5, "kill broker-2"), (10.5, "kill broker-3")]
    refused = flown(cluster(*steps, until_s=40, topic={"min.insync.replicas": 2}))
    assert flight_errors(refused) >= {"NOT_ENOUGH_REPLICAS"}
    assert not refused.all(e.RecordsAppended, 25 * SECOND_US, partition="orders-0")
    careless = flown(cluster(*steps, until_s=40, topic={"min.insync.replicas": 2}, producer={"acks": "1"}))
    appended = careless.all(e.RecordsAppended, 25 * SECOND_US, partition="orders-0")
    assert appended
    assert careless.all(e.BatchAcknowledged, 25 * SECOND_US)
    assert not careless.all(e.HighWatermarkAdvanced, 25 * SECOND_US, partition="orders-0")  # it stands still


def flight_errors(flight: Flown) -> set[str]:
    """Why batches were sent again."""
    return {event.error for event in flight.all(e.BatchRetried)}


def test_what_waits_while_the_isr_shrinks_below_min_isr_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The high watermark stands still under min ISR, so what is in purgatory ends with REQUEST_TIMED_OUT."""
    restart = Sender.restart

    def impatient(sender: Sender) -> None:
        restart(sender)
        sender._request_timeout_ms = 12_000  # what the request allows the broker; the client itself waits longer

    monkeypatch.setattr(Sender, "restart", impatient)
    flight = flown(
        cluster(
            (10.5, "kill broker-2"),
            (10.5, "kill broker-3"),
            until_s=40,
            topic={"min.insync.replicas": 2},
            producer={"request.timeout.ms": 30_000},
        )
    )
    shrunk_us = max(event.at_us for event in flight.all(e.IsrChanged, partition="orders-0"))
    timed_out = flight.all(e.BatchRetried, partition="orders-0", error="REQUEST_TIMED_OUT")
    assert timed_out
    assert timed_out[0].at_us > shrunk_us
    assert not flight.all(e.HighWatermarkAdvanced, shrunk_us, partition="orders-0")
