"""A broker's transaction coordinators: how long they wait for what they write, and which markers they send again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.broker.broker_config import BrokerConfig
from cluster.broker.transaction_coordinator_service import MARKER_RETRY_US, TransactionCoordinatorService
from cluster.config import resolve
from cluster.coordinators.records import TransactionMetadata
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch
from cluster.protocol.transaction_states import TransactionState
from cluster.spec import Buggify
from tests.support.fake_replica import FakeReplica

ID, PRODUCER, EPOCH = "pay", 7, 3
TIMEOUT_MS = 12_000
PARTITION = "__transaction_state-0"


class Coordinating:
    """A broker that leads the one partition of __transaction_state, and holds one ongoing transaction."""

    def __init__(self) -> None:
        self.now_us, self.id = 1_000, 1
        self.sent: list[tuple[t.WriteTxnMarkersRequest, Any]] = []
        self.delayed: list[tuple[int, Any, Any]] = []
        self.given_up_at_us: list[int] = []
        self.metadata = SimpleNamespace(image={"orders-0": m.PartitionMetadata(2, 0, (1, 2), (1, 2))})
        self.timeouts = SimpleNamespace(expire_at=lambda at_us, _: self.given_up_at_us.append(at_us))
        timer = SimpleNamespace(pending=True, at_us=0, cancel=lambda: None)
        self.timeline = SimpleNamespace(call_at=lambda *_: timer)
        self.buggify = Buggify(1, on=False)
        self.replica = FakeReplica(PARTITION)
        record = TransactionMetadata(
            ID,
            PRODUCER,
            EPOCH,
            timeout_ms=TIMEOUT_MS,
            state=TransactionState.ONGOING,
            partitions=("orders-0",),
            start_us=0,
            version=2,
        )
        self.replica.append(RecordBatch(PARTITION, "", -1, -1, -1, -1, 1, 100, 0, payload=(record,)), 0)
        config = resolve("broker", {"transaction.state.log.num.partitions": 1})
        host = cast(Any, self)
        self.coordination = TransactionCoordinatorService(host, BrokerConfig.of(config), config, lambda: 100, host)
        self.coordination.on_elected(cast(Any, self.replica), at_creation=True)

    def after(self, delay_us: int, action: Any, argument: object) -> None:  # noqa: ANN401 - whatever is to be done
        self.delayed.append((delay_us, action, argument))

    def ask(self, _: int, request: t.WriteTxnMarkersRequest, answered: Any) -> None:  # noqa: ANN401 - a callback
        self.sent.append((request, answered))

    def emit(self, _: object) -> None:
        """No one of the producers listens."""

    @staticmethod
    def leader_since(_: str) -> int:
        return 5

    def ask_for(self, request: Request) -> Any:  # noqa: ANN401 - the call with its response
        call: Any = SimpleNamespace(request=request, response=None)
        call.reply = lambda response: setattr(call, "response", response)
        self.coordination.handle(call)
        return call

    def end(self) -> t.EndTxnResponse:
        answer: t.EndTxnResponse = self.ask_for(t.EndTxnRequest(ID, PRODUCER, EPOCH, True)).response
        return answer

    @property
    def state(self) -> str:
        answer: t.DescribeTransactionResponse = self.ask_for(t.DescribeTransactionRequest(ID)).response
        return answer.state


def test_a_move_waits_as_long_as_its_transaction_may_last() -> None:
    broker = Coordinating()
    broker.replica.slow = True
    assert broker.end() is None
    assert broker.given_up_at_us == [broker.now_us + TIMEOUT_MS * 1000]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_a_failed_append_is_told_as_kafka_tells_it(error: ErrorCode, told: ErrorCode) -> None:
    broker = Coordinating()
    broker.replica.slow = True
    call = broker.ask_for(t.EndTxnRequest(ID, PRODUCER, EPOCH, True))
    broker.replica.waiting.pop()[1](error)
    assert call.response.error is told


@pytest.mark.parametrize(
    "error",
    [
        None,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
)
def test_a_marker_that_did_not_arrive_is_sent_again_and_its_transaction_stays_prepared(error: ErrorCode | None) -> None:
    broker = Coordinating()
    assert broker.end().error is ErrorCode.NONE
    _, answered = broker.sent.pop()
    answered(None if error is None else t.WriteTxnMarkersResponse({"orders-0": error}))
    assert broker.state == "PrepareCommit"
    ((delay_us, retry, argument),) = broker.delayed
    assert delay_us == MARKER_RETRY_US
    retry(argument)
    request, answered = broker.sent.pop()
    assert (request.partitions, request.epoch, request.coordinator_epoch) == (("orders-0",), EPOCH + 1, 5)
    answered(t.WriteTxnMarkersResponse({"orders-0": ErrorCode.NONE}))
    assert broker.state == "CompleteCommit"


@pytest.mark.parametrize("error", [ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_coordinator_that_is_fenced_leaves_the_marker_to_its_successor(error: ErrorCode) -> None:
    broker = Coordinating()
    broker.end()
    broker.sent.pop()[1](t.WriteTxnMarkersResponse({"orders-0": error}))
    assert broker.state == "PrepareCommit"
    assert broker.delayed == []
