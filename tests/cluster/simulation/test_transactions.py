"""Transactions in a whole cluster: what readers see, who is fenced, what a failover does; both protocol versions."""

from __future__ import annotations

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.clients.producer.transaction_manager import CoordinatorClient
from cluster.config import Value
from cluster.protocol import messages as m
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.spec import (
    ArrivalsSpec,
    TransactionsSpec,
)
from cluster.view.transactions import SETTLED_US, PartitionTransactions
from tests.support.broker_flights import cluster
from tests.support.broker_flights import flown as watched
from tests.support.completed_flight import flown
from tests.support.random_flights import fly, lies
from tests.support.scenario_builders import TRANSACTION_RECORDS, transactional
from tests.support.slow_cases import mostly_slow

SECOND_US = 1_000_000


@pytest.mark.parametrize("version", [1, 2])
def test_readers_of_committed_data_see_committed_transactions_and_nothing_else(version: int) -> None:
    flight = fly(transactional(version=version, abort=0.4), 1)
    flight.check()
    transaction = flight.document["transactions"]["pay-1"]
    by_group = flight.document["delivery"]["by_group"]
    assert transaction["committed"] > 0 < transaction["aborted"]
    assert transaction["begun"] == transaction["committed"] + transaction["aborted"]
    assert by_group["committed"]["delivered"] == TRANSACTION_RECORDS * transaction["committed"]
    assert by_group["everything"]["delivered"] == by_group["everything"]["appended"]
    assert by_group["everything"]["aborted"] > 0 == by_group["committed"]["unread"] == by_group["committed"]["lost"]
    epochs = transaction["begun"] if version == 2 else 0
    assert transaction["epoch"] == epochs


@pytest.mark.parametrize("version", [1, 2])
def test_the_last_stable_offset_stands_while_a_transaction_is_open_and_its_timeout_frees_it(version: int) -> None:
    stopped = transactional((5.5, "pause pay-1"), version=version, until_s=20)
    held = fly(stopped, 1).document["partitions"]
    assert any(one["last_stable_offset"] < one["high_watermark"] for one in held.values())
    freed = fly(transactional((5.5, "pause pay-1"), version=version, until_s=90), 1)
    freed.check()
    partitions = freed.document["partitions"].values()
    assert all(one["last_stable_offset"] == one["high_watermark"] for one in partitions)
    transaction = freed.document["transactions"]["pay-1"]
    assert (transaction["state"], transaction["aborted"]) == ("CompleteAbort", 1)


@pytest.mark.parametrize(("version", "state"), [(1, "Fenced"), (2, "Running")])
def test_a_producer_that_wakes_after_its_timeout_is_fenced(version: int, state: str) -> None:
    """Under version 2 the abort has raised the epoch once: the producer's own abort repeats it, and it goes on."""
    flight = fly(transactional((5.5, "pause pay-1 for 80s"), version=version, until_s=120), 1)
    flight.check()
    assert flight.document["producers"]["pay-1"]["state"] == state
    assert flight.document["transactions"]["pay-1"]["fenced"] >= 1
    delivered = flight.document["delivery"]["by_group"]["committed"]["delivered"]
    assert delivered == TRANSACTION_RECORDS * flight.document["transactions"]["pay-1"]["committed"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_restarted_producer_fences_its_former_self(version: int) -> None:
    flight = fly(transactional((5.3, "kill pay-1 for 5s"), version=version), 1)
    flight.check()
    transaction = flight.document["transactions"]["pay-1"]
    assert transaction["aborted"] == 1
    delivered = flight.document["delivery"]["by_group"]["committed"]["delivered"]
    assert (
        TRANSACTION_RECORDS * (transaction["committed"] - 1)
        < delivered
        <= TRANSACTION_RECORDS * transaction["committed"]
    )  # the last is short


def test_an_application_meets_an_old_epoch_when_it_commits() -> None:
    """send() only gives a future that has failed: by the commit its successor has another epoch, and it is fenced.

    An application that aborted at once would take its abort for the successor's, and go on with the fencing epoch.
    """
    base = transactional(until_s=30)
    pay = msgspec.structs.replace(base.producers[0], transactions=TransactionsSpec("pay", 40, 0.0, "drop"))
    second = msgspec.structs.replace(pay, name="second", limit=80, start_us=9_300_000)
    flight = watched(msgspec.structs.replace(base, producers=(pay, second)))
    old = [event.at_us for event in flight.all(e.BatchFailed, producer="pay-1") if event.sent]
    (fenced,) = (event for event in flight.all(e.ProducerStateChanged, producer="pay-1") if event.state == "Fenced")
    vain = [event.at_us for event in flight.all(e.SendRefused, producer="pay-1")]
    assert [at_us // 100_000 for at_us in old] == [93]
    assert len(vain) > 8
    assert old[0] < vain[0] < vain[-1] <= fenced.at_us
    assert (fenced.reason, fenced.at_us // 100_000) == ("PRODUCER_FENCED", 99)
    assert [event.epoch for event in flight.all(e.ProducerIdAssigned, producer="second-1")] == [6, 7, 8]


@pytest.mark.parametrize("broker", mostly_slow((1, 2, 3), quick=[2]))
@pytest.mark.parametrize("version", [1, 2])
def test_transactions_survive_the_death_of_any_broker(version: int, broker: int) -> None:
    steps = ((4.7, f"kill broker-{broker} for 20s"),)
    scenario = transactional(*steps, version=version, abort=0.2, until_s=120, count=2)
    assert not lies(scenario)
    flight = fly(scenario, 1)
    flight.check()
    transactions = flight.document["transactions"].values()
    delivered = flight.document["delivery"]["by_group"]["committed"]["delivered"]
    assert delivered == TRANSACTION_RECORDS * sum(one["committed"] for one in transactions)
    assert {one["state"] for one in transactions} <= {"CompleteCommit", "CompleteAbort", "Empty"}


def test_aborted_records_are_sent_again_if_the_application_wants_it() -> None:
    flight = fly(transactional(abort=0.4, on_abort="retry", limit=200), 1)
    flight.check()
    counts = flight.document["delivery"]["by_group"]["committed"]
    assert counts["delivered"] == 200
    assert counts["aborted"] > 0


def test_an_abandoned_transaction_holds_readers_back_until_its_timeout() -> None:
    held = fly(transactional((4.5, "abandon transaction of pay-1"), until_s=30), 1).document
    assert [fault["text"] for fault in held["faults"]] == ["abandon transaction of pay-1"]
    assert held["transactions"]["pay-1"]["state"] == "Ongoing"
    flight = fly(transactional((4.5, "abandon transaction of pay-1"), (90, "restart pay-1"), until_s=120), 1)
    flight.check()
    assert flight.document["transactions"]["pay-1"]["aborted"] >= 1
    assert not flight.document["faults"]
    assert all(one["last_stable_offset"] == one["high_watermark"] for one in flight.document["partitions"].values())


def test_a_producer_that_closes_aborts_what_it_had_abandoned() -> None:
    flight = fly(transactional((4.5, "abandon transaction of pay-1"), (10, "stop pay-1"), until_s=20), 1)
    flight.check()
    transaction = flight.document["transactions"]["pay-1"]
    assert (transaction["state"], transaction["aborted"]) == ("CompleteAbort", 1)
    assert flight.document["producers"]["pay-1"]["state"] == "Stopped"


@pytest.mark.parametrize("version", [1, 2])
def test_a_hanging_transaction_is_ended_by_hand_in_its_partition(version: int) -> None:
    steps = [(4.5, "abandon transaction of pay-1"), (20, "abort hanging transaction orders-0")]
    flight = fly(transactional(*steps, version=version, until_s=30), 1)
    flight.check()
    partitions = flight.document["partitions"]
    assert partitions["orders-0"]["last_stable_offset"] == partitions["orders-0"]["high_watermark"]
    assert partitions["orders-1"]["last_stable_offset"] < partitions["orders-1"]["high_watermark"]
    assert flight.document["transactions"]["pay-1"]["state"] == "Ongoing"
    assert not lies(transactional(*steps, (25, "stop pay-1"), version=version, until_s=60))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("abandon transaction of committed-1", "committed-1 is not a producer with transactions"),
        ("abort hanging transaction orders-0", "no transaction is open in orders-0"),
    ],
)
def test_what_is_not_there_cannot_be_abandoned_or_ended(text: str, reason: str) -> None:
    flight = flown(transactional((25.5, text), until_s=26))
    assert [one.reason for one in flight.all(e.CommandRefused)] == [reason]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("api", ["InitProducerId", "AddPartitionsToTxn", "EndTxn"])
def test_a_lost_answer_of_a_transactions_request_is_asked_for_again(api: str, version: int) -> None:
    steps = [
        (0.0 if api == "InitProducerId" else 5.0, f"lose next 1 responses of {api} from broker-{n}") for n in (1, 2, 3)
    ]
    flight = flown(transactional(*steps, version=version, until_s=60))
    assert len(flight.all(e.FaultEnded)) == 1  # under version 2 the partition's leader adds it (KIP-890)
    assert not flight.all(e.CommandRefused)
    transaction = flight.document["transactions"]["pay-1"]
    assert (transaction["aborted"], transaction["fenced"]) == (0, 0)
    assert flight.document["delivery"]["by_group"]["committed"]["delivered"] == 400
    assert flight.document["delivery"]["by_group"]["committed"]["duplicated"] == 0


def test_the_search_for_a_coordinator_does_not_ask_the_same_broker_first_again() -> None:
    """`Sender.maybeSendAndPollTransactionalRequest` asks any of the least loaded; the last one was out of date."""
    asked: list[int] = []
    emitted: list[e.Event] = []

    class Host:
        name = "p-1"
        emit = emitted.append
        contacts = 1
        retry_backoff_us = 100_000

        def any_broker(self) -> int:
            return self.contacts

        def try_another_broker(self) -> None:
            self.contacts += 1

        async def ask(self, broker: int, request: Request) -> object:
            if isinstance(request, m.FindCoordinatorRequest):
                asked.append(broker)
                return m.FindCoordinatorResponse(ErrorCode.NONE, 2 if len(asked) == 1 else 3)
            return broker

    async def main() -> None:
        coordinator = CoordinatorClient(Host(), "t-1", "transaction")  # type: ignore[arg-type]
        request = m.InitProducerIdRequest("t-1")
        assert await coordinator.ask(request) == 2
        assert await coordinator.ask(request) == 2
        coordinator.lost()
        assert await coordinator.ask(request) == 3

    trio.run(main)
    assert asked == [1, 2]
    assert emitted == [e.ProducerCoordinatorFound(producer="p-1", of="transaction", broker=broker) for broker in (2, 3)]


# --- what the view knows of one partition's ---------------------------------------------------------------------------


def ended_twice() -> PartitionTransactions:
    """Producer 7 commits 0 and 1 (marker 2), aborts 3 and 4 (marker 5), each when everything before was committed."""
    known = PartitionTransactions()
    known.appended(7, 0, 2)
    known.marked(7, 2, committed=True)
    known.high_watermark_at(3, 0, all_in_sync=True)
    known.appended(7, 3, 5)
    known.marked(7, 5, committed=False)
    return known


def test_a_new_leader_that_has_not_heard_of_a_high_watermark_counts_the_marker_below_it_as_undecided() -> None:
    known = ended_twice()
    known.high_watermark_at(6, 0, all_in_sync=True)
    assert known.index.last_stable_offset(6, 0) == 6
    known.taken_over(6, 5)  # it has the marker, and was told of 5 when it got it
    assert known.index.last_stable_offset(5, 0) == 3
    known.high_watermark_at(6, 1, all_in_sync=True)
    assert known.index.last_stable_offset(6, 0) == 6


def test_a_marker_is_forgotten_a_minute_after_all_replicas_had_it() -> None:
    known = ended_twice()
    known.high_watermark_at(6, SETTLED_US - 1, all_in_sync=True)
    known.high_watermark_at(7, SETTLED_US, all_in_sync=True)
    assert sorted(known.ended) == [2, 5]
    known.high_watermark_at(8, 2 * SETTLED_US - 1, all_in_sync=True)
    assert sorted(known.ended) == [2, 5]
    known.high_watermark_at(9, 2 * SETTLED_US, all_in_sync=True)
    assert not known.ended


@pytest.mark.parametrize("state", ["a replica lags", "a replica lost its end"])
def test_a_marker_that_a_replica_may_lack_is_not_forgotten(state: str) -> None:
    known = ended_twice()
    known.high_watermark_at(6, SETTLED_US, all_in_sync=state != "a replica lags")
    if state == "a replica lost its end":
        known.endangered(SETTLED_US + 1)
    known.high_watermark_at(7, 2 * SETTLED_US, all_in_sync=True)
    known.high_watermark_at(8, 2 * SETTLED_US + 1, all_in_sync=True)
    assert sorted(known.ended) == [2, 5]


def test_a_cut_before_two_markers_of_a_producer_opens_its_first_transaction_again() -> None:
    known = ended_twice()
    known.taken_over(2, 1)
    assert (known.index.open, known.open[7].starts, known.open[7].ends) == ({7: 0}, [0], [2])
    assert known.index.last_stable_offset(1, 0) == 0
    assert not known.aborted.starts
    known.marked(7, 2, committed=False)
    assert (known.aborted.starts, known.aborted.ends) == ([0], [2])


@pytest.mark.parametrize("version", [1, 2])
def test_a_producer_whose_id_expired_cannot_go_on(version: int) -> None:
    """INVALID_PRODUCER_ID_MAPPING is fatal since KAFKA-18019: it must not write under another producer id."""
    config: dict[str, Value] = {
        "transaction.version": version,
        "transactional.id.expiration.ms": 5_000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 1_000,
    }
    made = cluster(until_s=60, brokers=config, consumer={"isolation.level": "read_committed"})
    idle = ArrivalsSpec("profile", ((0, 1.0), (10 * SECOND_US, 0.0), (40 * SECOND_US, 1.0)))
    transaction_loop = TransactionsSpec(id="t-{n}", records=1)
    producer = msgspec.structs.replace(made.producers[0], arrivals=idle, transactions=transaction_loop)
    flight = watched(msgspec.structs.replace(made, producers=(producer,)))
    (stopped,) = flight.all(e.ProducerStateChanged, producer="p-1", state="Fenced")
    assert stopped.reason == "INVALID_PRODUCER_ID_MAPPING"
    assert stopped.at_us > 40 * SECOND_US
    assert len({event.producer_id for event in flight.all(e.ProducerIdAssigned, producer="p-1")}) == 1
    failed = flight.all(e.BatchFailed, producer="p-1")
    assert [one.error for one in failed] == [
        "TransactionAbortedException" if version == 1 else "INVALID_PRODUCER_ID_MAPPING"
    ]
    delivery = flight.document["delivery"]
    assert (delivery["lost"], delivery["duplicated"]) == (0, 0)
