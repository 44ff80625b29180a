"""A transactional producer's calls to the transaction coordinator.

Theory of operation. The application has one thread: initTransactions, then again and again begin, send, commit or
abort. While that thread waits in flush() or for a response, records that arrive wait in front of send(). Under
`transaction.version` 1 every partition is added to the transaction before its first record. Under version 2 the
partition's leader adds it, and every end of a transaction gives the producer a new epoch. A batch that fails makes the
transaction abortable; PRODUCER_FENCED from the coordinator ends the producer.
Source: `TransactionManager` (KIP-98, KIP-360, KIP-890), `KafkaProducer`.
"""

from typing import Any, Final

from cluster import events as e
from cluster.clients.producer.producer_host import ProducerHost
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.api import Request
from cluster.protocol.client_states import PRODUCER_TRANSACTION_STATES, ProducerTransactionState
from cluster.protocol.errors import ErrorCode

CONCURRENT_BACKOFF_US: Final = 20_000  # TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS
_S = ProducerTransactionState
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


class TransactionError(Exception):
    """The coordinator refused a request. `fatal`: the producer has ended; else the transaction can only be aborted."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error, self.fatal = error, error not in _ABORTABLE


class CoordinatorClient:
    """A producer's way to one coordinator, of its transactions or of a group; finds it when it is unknown.

    A broker that named a coordinator which then refused is not asked first again. Kafka's client asks any of its least
    loaded brokers.
    """

    def __init__(self, host: ProducerHost, key: str, kind: str) -> None:
        self._host, self._key, self._kind = host, key, kind
        self._broker, self._found = -1, False

    async def ask(self, request: Request) -> Any:  # noqa: ANN401 - the request's response
        """Find the coordinator if needed, and send it a request; returns None when the connection broke."""
        if self._broker < 0:
            await self._find()
        return await self._host.ask(self._broker, request)

    def lost(self) -> None:
        """Forget the coordinator: the next request finds it again."""
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
    """The transactional producer of one process: its state, and its calls, each of which waits for the response.

    `version` is the cluster's `transaction.version`.
    """

    def __init__(self, host: ProducerHost, transactional_id: str, timeout_ms: int, version: int) -> None:
        self._host, self.transactional_id = host, transactional_id
        self._timeout_ms, self.version = timeout_ms, version
        self.state: ProducerTransactionState = PRODUCER_TRANSACTION_STATES.initial
        self._coordinator = CoordinatorClient(self._host, self.transactional_id, "transaction")
        self.producer_id = self.epoch = -1
        self.partitions: dict[str, None] = {}  # of the open transaction, group partitions included
        self.to_add: dict[str, None] = {}
        self.must_bump = False  # a sequence is in doubt: a new epoch follows the abort
        self.fatal = ErrorCode.NONE  # the error that led to FATAL_ERROR
        self.epoch_is_old = False  # a leader answered INVALID_PRODUCER_EPOCH: only an abort is left

    @property
    def initialising(self) -> bool:
        """Whether initTransactions has not returned yet: no transaction has begun."""
        return self.producer_id < 0

    def move(self, to: ProducerTransactionState) -> None:
        """Change the state. Raises IllegalTransition for a transition that Kafka's client does not know."""
        self.state = PRODUCER_TRANSACTION_STATES.next_state(self.state, to)

    # --- the transaction ----------------------------------------------------------------------------------------------

    async def initialise(self) -> None:
        """initTransactions: get a producer id, and an epoch that fences earlier producers of the transactional id."""
        self.move(_S.INITIALIZING)
        answer: m.InitProducerIdResponse = await self._ask(
            m.InitProducerIdRequest(self.transactional_id, self._timeout_ms, self.producer_id, self.epoch)
        )
        self._identify(answer.producer_id, answer.epoch)
        self.must_bump = False
        self.move(_S.READY)

    def begin(self) -> None:
        """beginTransaction: sends nothing. Raises TransactionError after a fatal error."""
        self.still_usable()
        self.move(_S.IN_TRANSACTION)
        self.epoch_is_old = False
        self.partitions, self.to_add = {}, {}

    def may_send_to(self, partition: str) -> bool:
        """Whether records for this partition may be sent; if not, the partition is noted in `to_add` (version 1)."""
        if partition in self.partitions:
            return True
        if self.version >= 2:
            self.partitions[partition] = None
            return True
        self.to_add[partition] = None
        return False

    async def add_partitions(self) -> None:
        """Add the partitions in `to_add` to the transaction (version 1). Raises TransactionError."""
        names = tuple(self.to_add)
        request = t.AddPartitionsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, names)
        await self._ask(request)
        for name in names:
            self.to_add.pop(name, None)
            self.partitions[name] = None

    async def add_offsets(self, group: str) -> None:
        """AddOffsetsToTxn: add the group's partition of `__consumer_offsets` (version 1; under 2 its leader does)."""
        offsets = f"offsets of {group}"
        if self.version < 2 and offsets not in self.partitions:
            request = t.AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group)
            await self._ask(request)
        self.partitions[offsets] = None

    def unknown_producer_id(self) -> None:
        """Fail fatally: the coordinator does not know the producer id, because the transactional id expired.

        Fatal since KAFKA-18019 (4.0): another producer id could break exactly-once.
        """
        self.refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)

    def still_usable(self) -> None:
        """Raise TransactionError after a fatal error."""
        if self.state is _S.FATAL_ERROR:
            raise TransactionError(self.fatal)

    def batch_failed(self, error: str = "") -> None:
        """Make the transaction abortable because a batch failed; a new epoch follows the abort."""
        if self.state in (_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION):
            self.must_bump = True
            self.epoch_is_old = error == ErrorCode.INVALID_PRODUCER_EPOCH.name
            self.failed()

    def failed(self) -> None:
        """Make the transaction abortable because a batch or an offset commit failed."""
        if PRODUCER_TRANSACTION_STATES.allows(self.state, _S.ABORTABLE_ERROR):
            self.move(_S.ABORTABLE_ERROR)

    def refused(self, error: ErrorCode) -> TransactionError:
        """Change the state after an error that no retry can help; returns the exception to raise."""
        refused = TransactionError(error)
        if refused.fatal:
            self.move(_S.FATAL_ERROR)
            self.fatal = error
        else:
            self.failed()
        return refused

    async def end(self, *, commit: bool) -> None:
        """Send EndTxn, unless the transaction has no partitions; every batch is settled. Raises TransactionError.

        Under version 2 the response has the next epoch.
        """
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

    # --- the coordinator ----------------------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> Any:  # noqa: ANN401 - the request's response
        """Ask the coordinator until it succeeds. Raises TransactionError after an error that no retry can help."""
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
    """The error of a response, the first of several; NETWORK_EXCEPTION for a broken connection."""
    if response is None:
        return ErrorCode.NETWORK_EXCEPTION
    if isinstance(response, t.AddPartitionsToTxnResponse):
        errors = [error for error in response.errors.values() if error is not ErrorCode.NONE]
        return errors[0] if errors else ErrorCode.NONE
    error: ErrorCode = response.error
    return error
