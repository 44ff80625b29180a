"""A transactional producer: its application's transactions, and its bond to the transaction coordinator.

Theory of operation. One thread, as the application has it: initTransactions, then again and again begin, send, commit
or abort. While it waits in flush or in an answer nothing of it is sent, so records that come meanwhile wait in front of
send(). Under `transaction.version` 1 every partition is added to the transaction before its first record; under 2 the
partition's leader does that, and every end of a transaction gives the producer a new epoch. An error of a batch makes
the transaction abortable; PRODUCER_FENCED from the coordinator ends the producer.
Source: `TransactionManager` (KIP-98, KIP-360, KIP-890), `KafkaProducer`.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from cluster import events as e
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.virtual_time import Timeline

CONCURRENT_BACKOFF_US = 20_000  # TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS


class ProducerTransactionState(Enum):
    """Where a transactional producer stands; the value is Kafka's name (TransactionManager.State)."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


_S = ProducerTransactionState

VALID_SOURCES: dict[ProducerTransactionState, tuple[ProducerTransactionState, ...]] = {
    _S.UNINITIALIZED: (_S.READY, _S.ABORTABLE_ERROR),
    _S.INITIALIZING: (_S.UNINITIALIZED, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION),
    _S.READY: (_S.INITIALIZING, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION),
    _S.IN_TRANSACTION: (_S.READY,),
    _S.COMMITTING_TRANSACTION: (_S.IN_TRANSACTION,),
    _S.ABORTING_TRANSACTION: (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR),
    _S.ABORTABLE_ERROR: (_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION, _S.ABORTABLE_ERROR, _S.INITIALIZING),
    _S.FATAL_ERROR: tuple(ProducerTransactionState),
}
"""State → the states from which it may be entered (TransactionManager.State.isTransitionValid)."""

_FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FATAL = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_REQUEST,
)
_ABORTABLE = (
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.UNKNOWN_MEMBER_ID,  # these three are CommitFailedException and FencedInstanceIdException: KIP-447
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID,
)


class ProducerHost(Protocol):
    """The process that a transactional producer lives in."""

    name: str
    retry_backoff_us: int
    timeline: Timeline
    emit: Callable[[e.Event], None]

    def any_broker(self) -> int:
        """Whom to ask when nobody in particular is to be asked."""

    def try_another_broker(self) -> None:
        """That broker did not help."""

    async def ask(self, broker: int, request: Request) -> Any:  # noqa: ANN401 - the response that the request asks for
        """Send a request and wait for its response; None when the connection broke."""

    async def sleep(self, duration_us: int) -> None:
        """Let time pass."""

    def identified(self, producer_id: int, epoch: int) -> None:
        """The coordinator gave a producer id and epoch: sequences begin at 0."""


class TransactionError(Exception):
    """The coordinator said no: `fatal`, or the transaction can only be aborted."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error, self.fatal = error, error not in _ABORTABLE


class CoordinatorClient:
    """A coordinator that a producer asks, of its transactions or of a group: looked for when it is not known.

    Whoever named one that did not do is not asked first again: Kafka's client asks any of its least loaded brokers.
    """

    def __init__(self, host: ProducerHost, key: str, kind: str) -> None:
        self._host, self._key, self._kind = host, key, kind
        self._broker, self._found = -1, False

    async def ask(self, request: Request) -> Any:  # noqa: ANN401 - the response that the request asks for
        """Find it if need be, send it a request and wait for its response; None when the connection broke."""
        if self._broker < 0:
            await self._find()
        return await self._host.ask(self._broker, request)

    def lost(self) -> None:
        """It is not the coordinator, or cannot be asked: the next request looks for another one."""
        self._broker = -1

    async def _find(self) -> None:
        host = self._host
        if self._found:
            host.try_another_broker()
        while self._broker < 0:
            request = m.FindCoordinatorRequest(self._key, self._kind)
            response: m.FindCoordinatorResponse | None = await host.ask(host.any_broker(), request)
            if response is not None and response.error is ErrorCode.NONE:
                self._broker, self._found = response.broker, True
                host.emit(e.ProducerCoordinatorFound(producer=host.name, of=self._kind, broker=response.broker))
            else:
                host.try_another_broker()
                await host.sleep(host.retry_backoff_us)


class TransactionManager:
    """The calls of a transactional producer, each until it is answered. `version` is the `transaction.version`."""

    def __init__(self, host: ProducerHost, transactional_id: str, timeout_ms: int, version: int) -> None:
        self._host, self.transactional_id = host, transactional_id
        self._timeout_ms, self.version = timeout_ms, version
        self.reset()

    def reset(self) -> None:
        """A new process."""
        self.state = _S.UNINITIALIZED
        self._coordinator = CoordinatorClient(self._host, self.transactional_id, "transaction")
        self.producer_id = self.epoch = -1
        self.partitions: dict[str, None] = {}  # of the transaction under way, group partitions included
        self.to_add: dict[str, None] = {}
        self.must_bump = False  # a sequence is in doubt: go on in a new epoch after the abort
        self.fatal = ErrorCode.NONE  # what put it into FATAL_ERROR
        self.epoch_is_old = False  # so a leader said, and the transaction can only be aborted

    def move(self, to: ProducerTransactionState) -> None:
        """Change the state. Raises AssertionError for a move that Kafka's client does not know."""
        assert self.state in VALID_SOURCES[to], f"{self.transactional_id}: {self.state.value} to {to.value}"
        self.state = to

    # --- the transaction ---------------------------------------------------------------------------------------------

    async def initialise(self) -> None:
        """initTransactions: a producer id and an epoch that fence whoever used this transactional id before."""
        self.move(_S.INITIALIZING)
        answer: m.InitProducerIdResponse = await self._ask(
            m.InitProducerIdRequest(self.transactional_id, self._timeout_ms, self.producer_id, self.epoch)
        )
        self._identify(answer.producer_id, answer.epoch)
        self.must_bump = False
        self.move(_S.READY)

    def begin(self) -> None:
        """beginTransaction: nobody is told. Raises TransactionError after an error that is fatal."""
        self.still_usable()
        self.move(_S.IN_TRANSACTION)
        self.epoch_is_old = False
        self.partitions, self.to_add = {}, {}

    def may_send_to(self, partition: str) -> bool:
        """Whether records for this partition may go out; false notes that it must be added first (version 1)."""
        if partition in self.partitions:
            return True
        if self.version >= 2:
            self.partitions[partition] = None
            return True
        self.to_add[partition] = None
        return False

    async def add_partitions(self) -> None:
        """Add the partitions that wait for it to the transaction (version 1)."""
        names = tuple(self.to_add)
        request = t.AddPartitionsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, names)
        await self._ask(request)
        for name in names:
            self.to_add.pop(name, None)
            self.partitions[name] = None

    async def add_offsets(self, group: str) -> None:
        """AddOffsetsToTxn: the group's partition of `__consumer_offsets` (version 1; under 2 its leader does it)."""
        offsets = f"offsets of {group}"
        if self.version < 2 and offsets not in self.partitions:
            request = t.AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group)
            await self._ask(request)
        self.partitions[offsets] = None

    def unknown_producer_id(self) -> None:
        """A batch met a coordinator that does not know the producer id: the transactional id expired.

        Fatal since KAFKA-18019 (4.0): going on under another producer id could break exactly-once.
        """
        self.refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)

    def still_usable(self) -> None:
        """Raises TransactionError after an error that is fatal."""
        if self.state is _S.FATAL_ERROR:
            raise TransactionError(self.fatal)

    def batch_failed(self, error: str = "") -> None:
        """A batch of the transaction failed: only an abort is left, and a new epoch after it."""
        if self.state in (_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION):
            self.must_bump = True
            self.epoch_is_old = error == ErrorCode.INVALID_PRODUCER_EPOCH.name
            self.failed()

    def failed(self) -> None:
        """A batch or an offset commit failed: only an abort is left."""
        if self.state in VALID_SOURCES[_S.ABORTABLE_ERROR]:
            self.move(_S.ABORTABLE_ERROR)

    def refused(self, error: ErrorCode) -> TransactionError:
        """Take note of an answer that cannot be helped by asking again."""
        refused = TransactionError(error)
        if refused.fatal:
            self.move(_S.FATAL_ERROR)
            self.fatal = error
        else:
            self.failed()
        return refused

    async def end(self, *, commit: bool) -> None:
        """EndTxn, unless nothing was added; every batch is settled. Under version 2 with the next epoch."""
        self.still_usable()
        if self.partitions:
            request = t.EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, commit, self.version)
            answer: t.EndTxnResponse = await self._ask(request)
            if answer.producer_id >= 0:
                self._identify(answer.producer_id, answer.epoch)
                self.must_bump = False
        self.partitions, self.to_add = {}, {}
        if self.must_bump:
            await self.initialise()
        else:
            self.move(_S.READY)

    def _identify(self, producer_id: int, epoch: int) -> None:
        self.producer_id, self.epoch = producer_id, epoch
        self._host.identified(producer_id, epoch)

    # --- the coordinator ---------------------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> Any:  # noqa: ANN401 - the response that the request asks for
        """Ask the coordinator until it agrees. Raises TransactionError when it will not."""
        while True:
            response = await self._coordinator.ask(request)
            error = _error_of(response)
            if error is ErrorCode.NONE:
                return response
            if error in _FATAL or error is ErrorCode.TRANSACTION_ABORTABLE:
                raise self.refused(error)
            if error in _FIND_AGAIN or error is ErrorCode.NETWORK_EXCEPTION:
                self._coordinator.lost()
            quick = error is ErrorCode.CONCURRENT_TRANSACTIONS and isinstance(request, t.AddPartitionsToTxnRequest)
            await self._host.sleep(CONCURRENT_BACKOFF_US if quick else self._host.retry_backoff_us)


def _error_of(response: Any) -> ErrorCode:  # noqa: ANN401 - any response
    """The error of an answer, the first one of many; a broken connection is one as well."""
    if response is None:
        return ErrorCode.NETWORK_EXCEPTION
    if isinstance(response, t.AddPartitionsToTxnResponse):
        errors = [error for error in response.errors.values() if error is not ErrorCode.NONE]
        return errors[0] if errors else ErrorCode.NONE
    error: ErrorCode = response.error
    return error
