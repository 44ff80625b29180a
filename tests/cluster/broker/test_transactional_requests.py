"""What a partition's leader makes of its transaction coordinator's word, and of markers that come while it waits."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.request_handlers import ALL_IN_SYNC, BrokerRequests
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.config import resolve
from cluster.events import ProducerEpochRefused
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch
from tests.support.fake_replica import FakeReplica

PRODUCER, EPOCH = 7, 3
NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS


def batch(sequence: int = 0, partition: str = "orders-0") -> RecordBatch:
    return RecordBatch(partition, "pay-1", PRODUCER, EPOCH, sequence, sequence, 1, 100, 0, transactional=True)


class FakeConnection:
    """A connection that no test looks at."""

    def __init__(self) -> None:
        self.broken = self.skipped = False


class FakeCall:
    """A request on a connection of its own."""

    def __init__(self, request: object) -> None:
        self.request, self.done = request, False
        self.connection = FakeConnection()
        self.response: Any = None

    def reply(self, response: object) -> None:
        self.response, self.done = response, True


class Leader:
    """A broker that leads orders-0 and __consumer_offsets-0; `asked` are its questions to the coordinator."""

    def __init__(self, version: int = 2, coordinator: int = 2, **config: int) -> None:
        self.asked: list[tuple[t.AddPartitionsToTxnRequest, Callable[[Any], object]]] = []
        self.emitted: list[Any] = []
        self.committed: list[Any] = []
        self.timeline = SimpleNamespace(now_us=0)
        self.alarms: list[tuple[int, Callable[[Any], object], Any]] = []
        names = ("orders-0", "__consumer_offsets-0")
        self.replicas: dict[str, Any] = {name: FakeReplica(name) for name in names}
        hosted = SimpleNamespace(replica=self.replicas["__consumer_offsets-0"])
        groups = SimpleNamespace(
            partition_of=lambda _: "__consumer_offsets-0",
            hosted={"__consumer_offsets-0": hosted},
            commit_in_transaction=self.committed.append,
            on_transaction_ended=lambda *_, **__: None,
        )
        image = {"__transaction_state-0": m.PartitionMetadata(coordinator, 0, (1, 2), (1, 2))}
        server: Any = SimpleNamespace(
            id=1,
            emit=self.emitted.append,
            timeline=self.timeline,
            after=lambda delay_us, action, argument: self.alarms.append((delay_us, action, argument)),
            timeouts=SimpleNamespace(expire_at=lambda *_: None),
            replicas=self.replicas,
            metadata=SimpleNamespace(image=image),
        )
        transactions: Any = SimpleNamespace(partition_of=lambda _: "__transaction_state-0")
        settings = resolve("broker", {"transaction.version": version, **config})
        fixed, coordinators = BrokerConfig.of(settings), (cast(Any, groups), transactions)
        self.transactional = TransactionalRequests(server, fixed, cast(Any, self), *coordinators)
        self.requests = BrokerRequests(server, *coordinators, self.transactional)

    def ask(self, broker: int, request: t.AddPartitionsToTxnRequest, answered: Callable[[Any], object]) -> None:
        assert broker == 2
        self.asked.append((request, answered))

    def coordinator_says(self, error: ErrorCode | None) -> None:
        """The oldest question is answered; None: the connection broke."""
        request, answered = self.asked.pop(0)
        answered(None if error is None else t.AddPartitionsToTxnResponse(dict.fromkeys(request.partitions, error)))

    def time_passes(self, ms: int) -> None:
        """Whatever is to be done by then is done."""
        self.timeline.now_us += ms * 1_000
        alarms, self.alarms = self.alarms, []
        for delay_us, action, argument in alarms:
            assert delay_us <= ms * 1_000
            action(argument)

    def produce(self, *batches: RecordBatch) -> FakeCall:
        call = FakeCall(m.ProduceRequest(ALL_IN_SYNC, 30_000, list(batches), "pay"))
        self.requests.produce(cast(Any, call))
        return call

    def commit_offsets(self) -> FakeCall:
        request = t.TxnOffsetCommitRequest("pay", "g", PRODUCER, EPOCH, 1, "g-1", None, {"orders-0": (5, -1, "")})
        call = FakeCall(request)
        self.transactional.commit_offsets(cast(Any, call))
        return call

    def mark(
        self, partition: str = "orders-0", epoch: int = EPOCH, coordinator_epoch: int = 0, version: int = 1
    ) -> ErrorCode:
        request = t.WriteTxnMarkersRequest(PRODUCER, epoch, coordinator_epoch, False, (partition,), version)
        call = FakeCall(request)
        self.transactional.write_markers(cast(Any, call))
        error: ErrorCode = call.response.errors[partition]
        return error


def fate(call: FakeCall) -> ErrorCode:
    error: ErrorCode = call.response.results[0].error
    return error


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (NONE, NONE),
        (None, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_a_producer_hears_of_a_verification_as_kafka_tells_it(said: ErrorCode | None, told: ErrorCode) -> None:
    leader = Leader()
    call = leader.produce(batch())
    assert not call.done
    leader.coordinator_says(said)
    assert fate(call) is told
    assert leader.replicas["orders-0"].log.log_end == (2 if told is NONE else 1)
    assert [type(event) for event in leader.emitted] == (
        [ProducerEpochRefused] if told is ErrorCode.INVALID_PRODUCER_EPOCH else []
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_offsets_in_a_transaction_are_refused_with_the_coordinators_own_error(
    said: ErrorCode | None, told: ErrorCode
) -> None:
    leader = Leader()
    call = leader.commit_offsets()
    leader.coordinator_says(said)
    assert call.response.errors == {"orders-0": told}
    assert leader.committed == []


def test_without_a_transaction_coordinator_nothing_is_asked() -> None:
    leader = Leader(coordinator=-1)
    assert fate(leader.produce(batch())) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert leader.commit_offsets().response.errors == {"orders-0": ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert leader.asked == []


def test_only_the_first_batch_of_a_transaction_is_verified() -> None:
    leader = Leader()
    first = leader.produce(batch())
    leader.coordinator_says(NONE)
    assert fate(leader.produce(batch(1))) is fate(first) is NONE
    assert leader.asked == []


def test_only_the_first_offsets_of_a_transaction_are_verified() -> None:
    leader = Leader()
    leader.commit_offsets()
    leader.coordinator_says(NONE)
    leader.replicas["__consumer_offsets-0"].append(batch(-1, "__consumer_offsets-0"), 0)
    leader.commit_offsets()
    assert leader.asked == []
    assert len(leader.committed) == 2


@pytest.mark.parametrize(
    ("version", "epoch", "error"),
    [(1, EPOCH, ErrorCode.INVALID_TXN_STATE), (2, EPOCH + 1, ErrorCode.INVALID_PRODUCER_EPOCH)],
)
def test_what_was_verified_before_the_marker_is_not_appended_behind_it(
    version: int, epoch: int, error: ErrorCode
) -> None:
    """Whether the epoch is old is looked at first."""
    leader = Leader(version)
    late, offsets = leader.produce(batch()), leader.commit_offsets()
    for partition in ("orders-0", "__consumer_offsets-0"):
        assert leader.mark(partition, epoch, version=version) is NONE
    leader.coordinator_says(NONE)
    leader.coordinator_says(NONE)
    assert fate(late) is error
    assert offsets.response.errors == {"orders-0": error}
    assert leader.replicas["orders-0"].log.transactions.open == {}
    assert leader.committed == []


def test_the_marker_of_the_transaction_before_spares_the_verification_of_the_next() -> None:
    """Under version 2 it has the next one's epoch: it is this one's only if that is newer."""
    leader = Leader(2)
    first = leader.produce(batch())
    assert leader.mark(epoch=EPOCH, version=2) is NONE
    leader.coordinator_says(NONE)
    assert fate(first) is NONE


def test_a_marker_of_version_2_that_comes_again_does_not_end_the_next_transaction() -> None:
    leader = Leader(2)
    assert leader.mark(epoch=EPOCH, version=2) is NONE
    assert leader.mark(epoch=EPOCH, version=2) is NONE  # a repetition: nothing is open
    begun = leader.produce(batch())
    leader.coordinator_says(NONE)
    assert fate(begun) is NONE
    assert leader.mark(epoch=EPOCH, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert leader.replicas["orders-0"].log.transactions.open == {PRODUCER: 3}
    assert leader.mark(epoch=EPOCH, version=1) is NONE
    assert leader.replicas["orders-0"].log.transactions.open == {}


def test_a_producer_of_an_old_epoch_is_refused_without_asking_its_coordinator() -> None:
    leader = Leader(2)
    leader.mark(epoch=EPOCH + 1, version=2)
    assert fate(leader.produce(batch())) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert leader.asked == []
    assert leader.replicas["orders-0"].log.producers.verifying == {}


@pytest.mark.parametrize(("version", "error"), [(1, NONE), (2, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)])
def test_an_unknown_producer_of_version_2_begins_at_sequence_0(version: int, error: ErrorCode) -> None:
    leader = Leader(version)
    begun = leader.produce(batch(sequence=41))
    leader.coordinator_says(NONE)
    assert fate(begun) is error


def test_a_verification_of_the_former_transaction_does_not_count_for_the_next() -> None:
    leader = Leader(version=1)
    late = leader.produce(batch())
    leader.mark()
    leader.coordinator_says(NONE)
    again = leader.produce(batch())
    assert fate(late) is ErrorCode.INVALID_TXN_STATE
    leader.coordinator_says(ErrorCode.TRANSACTION_ABORTABLE)
    assert fate(again) is ErrorCode.TRANSACTION_ABORTABLE


def test_two_copies_of_a_first_batch_wait_for_the_same_transaction() -> None:
    leader = Leader()
    first = leader.produce(batch())
    copy = leader.produce(batch())
    leader.coordinator_says(NONE)
    leader.coordinator_says(NONE)
    assert fate(first) is fate(copy) is NONE
    assert copy.response.results[0].duplicate
    assert copy.response.results[0].base_offset == first.response.results[0].base_offset


def test_the_in_sync_replicas_count_when_the_batch_is_appended() -> None:
    leader = Leader()
    call = leader.produce(batch())
    leader.replicas["orders-0"].metadata = m.PartitionMetadata(1, 5, (1, 2), (1,))
    leader.coordinator_says(NONE)
    assert fate(call) is ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_marker_is_refused_for_want_of_replicas_before_anybody_looks_at_its_epoch() -> None:
    leader = Leader()
    leader.produce(batch())
    leader.coordinator_says(NONE)
    assert leader.mark(epoch=EPOCH - 1) is ErrorCode.INVALID_PRODUCER_EPOCH
    leader.replicas["orders-0"].metadata = m.PartitionMetadata(1, 5, (1, 2), (1,))
    assert leader.mark(epoch=EPOCH - 1) is ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(("version", "asks"), [(1, 0), (2, 1)])
def test_verification_can_be_turned_off_but_version_2_has_to_add_the_partition(version: int, asks: int) -> None:
    leader = Leader(version, **{"transaction.partition.verification.enable": False})
    call = leader.produce(batch())
    assert len(leader.asked) == asks
    assert call.done == (asks == 0)


def test_version_1_verifies_and_version_2_adds() -> None:
    for version in (1, 2):
        leader = Leader(version)
        leader.produce(batch())
        assert leader.asked[0][0].verify_only == (version == 1)
        assert leader.asked[0][0].from_broker


@pytest.mark.parametrize(("at_last", "told"), [(NONE, NONE), (CONCURRENT, CONCURRENT)])
def test_version_2_adds_a_partition_again_while_markers_travel(at_last: ErrorCode, told: ErrorCode) -> None:
    """Every 20 ms for 100 ms, so that a producer hears nothing of it; what it hears then is the coordinator's word."""
    leader = Leader(2)
    call = leader.produce(batch())
    for asked in range(5):
        leader.coordinator_says(CONCURRENT)
        assert leader.asked == []
        assert not call.done
        leader.time_passes(20)
        assert len(leader.asked) == 1, asked
    leader.coordinator_says(at_last)
    assert fate(call) is told
    assert leader.alarms == []


def test_a_patience_of_its_own_limits_how_often_a_partition_is_added_again() -> None:
    limit = {"add.partitions.to.txn.retry.backoff.max.ms": 30, "add.partitions.to.txn.retry.backoff.ms": 10}
    leader = Leader(2, **limit)
    call = leader.produce(batch())
    for _ in range(3):
        leader.coordinator_says(CONCURRENT)
        leader.time_passes(10)
    leader.coordinator_says(CONCURRENT)
    assert fate(call) is CONCURRENT


def test_version_1_tells_at_once_that_markers_travel_and_in_other_words() -> None:
    leader = Leader(1)
    call = leader.produce(batch())
    leader.coordinator_says(CONCURRENT)
    assert fate(call) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert leader.alarms == []


def test_a_broken_connection_serves_no_request_behind_one_that_it_has_dropped() -> None:
    """The first batch still waits for its transaction's coordinator; the second and third lie in the socket."""
    leader = Leader()
    connection = FakeConnection()

    def sent(sequence: int) -> FakeCall:
        call = FakeCall(m.ProduceRequest(ALL_IN_SYNC, 30_000, [batch(sequence)], "pay"))
        call.connection = connection
        leader.requests.produce(cast(Any, call))
        return call

    in_hand, waiting = sent(0), sent(1)
    connection.broken = in_hand.done = waiting.done = True
    sent(2)
    leader.coordinator_says(NONE)
    sent(3)
    appended = [each.base_sequence for each in leader.replicas["orders-0"].log.batches if not each.marker]
    assert appended[-1] == 0
