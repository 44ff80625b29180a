"""The producer inside a member obeys the application's `producer` keys, at its start and in flight."""

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.spec import CommitPolicy, ScenarioSpec
from tests.support.completed_flight import flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import MS, moving, writing
from tests.support.unpacked_logs import batches_of


def configured(made: ScenarioSpec, config: dict[str, Value]) -> ScenarioSpec:
    """The same scenario, with these keys for the producer of its first group's application."""
    first, *others = made.groups
    first = msgspec.structs.replace(first, application=msgspec.structs.replace(first.application, producer=config))
    return msgspec.structs.replace(made, groups=(first, *others))


def test_linger_collects_outputs_in_fewer_requests() -> None:
    quick, slow = (flown(configured(writing(commit="auto"), {"linger.ms": linger})) for linger in (0, 500))
    quick_requests, slow_requests = (len(flight.all(e.ProduceSent, producer="g-1")) for flight in (quick, slow))
    assert slow_requests * 3 < quick_requests
    assert slow.document["delivery"]["by_group"]["audit"]["delivered"] == 200


@pytest.mark.parametrize(("acks", "lost"), [("1", True), ("all", False)])
def test_outputs_are_as_safe_as_their_acks(acks: str, lost: bool) -> None:
    """broker-3 leads invoices-1 and loses its followers, then its life."""
    cuts = ((5.0, "cut broker-3 broker-1"), (5.0, "cut broker-3 broker-2"), (8.0, "kill broker-3"), (9.0, "heal"))
    made = writing(*cuts, commit="never", until_s=60, keyed=False)
    orders, invoices = made.topics
    made = msgspec.structs.replace(made, topics=(msgspec.structs.replace(orders, replication=2), invoices))
    flight = flown(configured(made, {"acks": acks}))
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert (audit["delivered"] + audit["delivered_unacknowledged"] < 200) is lost
    assert flight.document["delivery"]["by_group"]["g"]["delivered"] == 200


@pytest.mark.parametrize(("timeout_ms", "aborted"), [(3_000, True), (60_000, False)])
def test_a_transaction_is_aborted_at_the_timeout_of_its_producer(timeout_ms: int, aborted: bool) -> None:
    made = moving(per_record_us=300 * MS, consumer={"max.poll.records": 20}, until_s=40)
    made = msgspec.structs.replace(
        made, config=made.config | {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 500}
    )
    flight = flown(configured(made, {"transaction.timeout.ms": timeout_ms}))
    assert bool([one for one in flight.all(e.ApplicationFailed) if one.member == "g-1"]) is aborted


@pytest.mark.parametrize("keyed", [True, False])
def test_a_round_robin_partitioner_deals_outputs_out_in_turn(keyed: bool) -> None:
    config: dict[str, Value] = {
        "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
        "buffer.memory": 2_100,  # one batch, so that each send() waits for the one before
        "batch.size": 1_100,
    }
    flight = flown(configured(writing(keyed=keyed, until_s=60), config))
    ends = [flight.document["partitions"][name]["log_end"] for name in ("invoices-0", "invoices-1")]
    assert ends == [100, 100]
    assert flight.document["delivery"]["by_group"]["audit"]["duplicated"] == 0


def test_partitioner_ignore_keys_lets_the_sticky_partitioner_decide() -> None:
    flight = flown(configured(writing(), {"partitioner.ignore.keys": True, "batch.size": 16_384}))
    names = ("invoices-0", "invoices-1")
    logs = [broker.replicas[name].log for broker in flight.simulation.brokers.values() for name in names]
    keys = [{key for batch in batches_of(log) for key in batch.keys} for log in logs if log.log_end]
    assert set.union(*keys) == set(range(10))
    assert sum(len(each) for each in keys) > 3 * 10  # three replicas: each key would be in one partition of each


@pytest.mark.parametrize("commit", ["after-each-poll", "auto", "transaction"])
def test_a_record_that_is_too_large_fails_in_send(commit: CommitPolicy) -> None:
    made = moving() if commit == "transaction" else writing(commit=commit)
    flight = flown(configured(made, {"max.request.size": 500}))
    refused = flight.all(e.SendRefused, producer="g-1")
    assert {one.error for one in refused} == {"RecordTooLargeException"}
    assert flight.document["topics"]["invoices"]["records"] == 0
    if commit != "transaction":
        (end, *_) = flight.all(e.MemberStopped, member="g-1")
        assert end.reason == "a record could not be written to invoices: RecordTooLargeException"


def test_keys_change_in_flight_and_at_the_next_start() -> None:
    steps = ((4, "set g linger.ms 400"), (8, "set g linger.ms 0"), (9, "set g acks 1 for 3s"), (10, "restart g-1"))
    flight = flown(writing(*steps, commit="auto"))
    changes = flight.all(e.SettingChanged, scope="g")
    assert [(one.key, one.before, one.value, one.effect) for one in changes] == [
        ("linger.ms", "5", "400", "now"),
        ("linger.ms", "400", "0", "now"),
        ("acks", "all", "1", "at the next start"),
        ("acks", "1", "all", "at the next start"),
    ]
    assert flight.simulation.producers["g-1"].config.acks == "1"


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_the_truth_agrees_whatever_the_outputs_acks(acks: str) -> None:
    steps = ((5, "kill g-1 for 2s"), (7, "kill broker-2 for 5s"), (12, "restart g-1"))
    config: dict[str, Value] = {"acks": acks, "linger.ms": 50, "partitioner.ignore.keys": True}
    assert lies(configured(writing(*steps, members=2), config)) == []
