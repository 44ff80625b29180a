"""An abort during which the coordinator answers AddPartitionsToTxn: a fatal answer is the abort's answer as well."""

from collections.abc import Generator
from types import SimpleNamespace, coroutine
from typing import Any

import pytest

from cluster.clients.consumer.transactional_output import TransactionalOutputProducer
from cluster.clients.producer.transaction_manager import TransactionError, TransactionManager
from cluster.events import Event
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import Request
from cluster.protocol.client_states import ProducerTransactionState
from cluster.protocol.errors import ErrorCode

_S = ProducerTransactionState
PARTITION = "invoices-0"


@coroutine
def _suspended() -> Generator[None, Any, Any]:
    """Whatever the test sends in."""
    return (yield)


class StubbedOutput(TransactionalOutputProducer):
    """A writer that is its own host: initTransactions is answered at once, AddPartitionsToTxn when the test says so."""

    def __init__(self) -> None:
        self.name, self.retry_backoff_us = "g-1", 1
        self.timeline: Any = SimpleNamespace(now_us=0, waiter=lambda _: SimpleNamespace(wake=lambda: None))
        self.accumulator: Any = SimpleNamespace(flushing=False)
        self.sender: Any = SimpleNamespace(idle=True, wake=lambda: None, abandon=lambda *_, **__: None)
        self.transactions = TransactionManager(self, "g-1", 60_000, 1)
        self.asked: list[str] = []
        self.emitted: list[Event] = []
        self.emit = self.emitted.append
        self._application = None
        self._forget()

    async def ask(self, broker: int, request: Request, *, long_poll: bool = False) -> Any:  # noqa: ANN401
        self.asked.append(type(request).__name__)
        if isinstance(request, m.FindCoordinatorRequest):
            return m.FindCoordinatorResponse(ErrorCode.NONE, broker)
        if isinstance(request, m.InitProducerIdRequest):
            return m.InitProducerIdResponse(ErrorCode.NONE, 7, 0)
        if isinstance(request, t.EndTxnRequest):
            return t.EndTxnResponse(ErrorCode.NONE)
        return await _suspended()

    async def park(self, _waiter: object) -> Any:  # noqa: ANN401 - whatever the waiter is woken with
        return await _suspended()

    def any_broker(self) -> int:
        return 1

    def identified(self, producer_id: int, epoch: int) -> None:
        """No batches are sent here."""


def aborting(writer: StubbedOutput, *, in_doubt: bool) -> tuple[Any, Any]:
    """Its thread that waits for the answer to AddPartitionsToTxn, its application that waits in abortTransaction."""
    transactions = writer.transaction_manager
    with pytest.raises(StopIteration):
        transactions.initialise().send(None)
    transactions.begin()
    assert not transactions.may_send_to(PARTITION)
    thread: Any = writer._add_partitions()
    thread.send(None)
    if in_doubt:
        transactions.batch_failed()
    else:
        transactions.failed()
    application: Any = writer.abort(writer)
    application.send(None)
    assert transactions.state is _S.ABORTING_TRANSACTION
    return thread, application


@pytest.mark.parametrize("in_doubt", [True, False])
@pytest.mark.parametrize("error", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING])
def test_an_abort_whose_last_add_partitions_is_fatal_ends_with_that_error(error: ErrorCode, in_doubt: bool) -> None:
    """Kafka's transitionToFatalError fails the pending abortTransaction(): the application closes the producer."""
    writer = StubbedOutput()
    thread, application = aborting(writer, in_doubt=in_doubt)
    thread.send(t.AddPartitionsToTxnResponse({PARTITION: error}))
    with pytest.raises(TransactionError) as caught:
        application.send(None)
    assert (caught.value.error, caught.value.fatal) == (error, True)
    assert writer.transaction_manager.state is _S.FATAL_ERROR
    assert writer.asked[-1] == "AddPartitionsToTxnRequest"


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE])
def test_any_other_answer_leaves_the_abort_to_go_on(error: ErrorCode) -> None:
    writer = StubbedOutput()
    thread, application = aborting(writer, in_doubt=True)
    thread.send(t.AddPartitionsToTxnResponse({PARTITION: error}))
    with pytest.raises(StopIteration):
        application.send(None)
    assert writer.transaction_manager.state is _S.READY
    ended = ["EndTxnRequest"] if error is ErrorCode.NONE else []
    assert writer.asked[3:] == [*ended, "InitProducerIdRequest"]


@pytest.mark.parametrize("error", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING])
def test_a_producer_that_cannot_go_on_names_the_error_that_ended_it(error: ErrorCode) -> None:
    transactions = StubbedOutput().transaction_manager
    transactions.refused(error)
    with pytest.raises(TransactionError) as refused:
        transactions.still_usable()
    assert (refused.value.error, refused.value.fatal) == (error, True)
