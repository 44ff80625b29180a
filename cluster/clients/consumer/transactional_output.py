"""The producer inside a member that consumes, transforms and produces in transactions (`commit = "transaction"`).

Theory of operation. The application's thread calls initTransactions before the first poll(). For each poll() with
records it calls beginTransaction, send, sendOffsetsToTransaction and commitTransaction. After a failed batch, or when
the group no longer knows the member, only abortTransaction is left; the application returns to its committed offsets.
A fatal error of the producer (fenced, …) ends the application. Under `transaction.version` 1 a second thread adds
partitions to the transaction; the producer has one request to the coordinator in flight at a time.
Source: `KafkaProducer`'s class documentation, `TransactionManager`, `ExactlyOnceMessageProcessor` of Kafka's examples.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.consumer.output_producer import OutputProducer
from cluster.clients.process import Process, Wait
from cluster.clients.producer.transaction_manager import TransactionError, TransactionManager
from cluster.clients.producer.transaction_offsets import ConsumerGroupMetadata, TransactionOffsets
from cluster.protocol.client_states import ProducerTransactionState
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import Slice
from cluster.spec import ApplicationSpec
from cluster.virtual_time import Waiter

_S = ProducerTransactionState


class TransactionalOutputProducer(OutputProducer):
    """An output producer whose transactional id is its member's name. Without a topic it only sends offsets."""

    def __init__(self, environment: ClientEnvironment, application: ApplicationSpec, name: str, number: int) -> None:
        super().__init__(environment, application, name, number)
        self._offsets = TransactionOffsets(self, self.transaction_manager)
        self._forget()

    def _make_transactions(self) -> TransactionManager:
        timeout_ms = self.config.transaction_timeout_ms
        return TransactionManager(self, self.name, timeout_ms, self.environment.transaction_version)

    @property
    def transaction_manager(self) -> TransactionManager:
        """The transaction manager, which this kind of producer always has."""
        assert self.transactions is not None
        return self.transactions

    def _forget(self) -> None:
        self._adding = self._committing = False  # a request of the thread, or of the application, is in flight
        self._adder: Waiter | None = None
        self._refused: TransactionError | None = None

    def begin(self) -> None:
        """Start the process, without a transaction."""
        super().begin()
        self._offsets = TransactionOffsets(self, self.transaction_manager)
        self._forget()

    def _transactions_thread(self) -> Callable[[], Awaitable[None]] | None:
        return self._add_partitions

    async def _add_partitions(self) -> None:
        """Run the thread that adds partitions when batches wait for them."""
        transactions = self.transaction_manager
        while True:
            running = transactions.state in (_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION)
            if not transactions.to_add or not running or self._committing:
                self._adder = waiter = self.timeline.waiter("a partition to add to its transaction")
                await self.park(waiter)
                self._adder = None
                continue
            self._adding = True
            try:
                await transactions.add_partitions()
            except TransactionError as refused:
                self._refused = refused
            self._adding = False
            self.sender.wake()
            self._wake()

    def memory_released(self) -> None:
        """Let the application look at the transaction: a batch was acknowledged, or has failed."""
        self._wake()

    def transaction_progressed(self) -> None:
        """Wake both threads: a batch was settled, or its partition must be added."""
        if self._adder is not None:
            self._adder.wake()
        self._wake()

    def transaction_failed(self, error: str = "") -> None:
        """Make the transaction abortable: a batch failed, or its sequence is in doubt."""
        self.transaction_manager.batch_failed(error)
        self._wake()

    def _wait_for(self, member: Process, why: str) -> Wait:
        """Wait like any output producer. Raises TransactionError once the transaction has failed."""
        self._check()
        return super()._wait_for(member, why)

    def _check(self) -> None:
        refused, self._refused = self._refused, None
        if refused is not None and (refused.fatal or self.transaction_manager.state is not _S.ABORTING_TRANSACTION):
            raise refused
        self.transaction_manager.still_usable()
        if self.transaction_manager.state is _S.ABORTABLE_ERROR:
            raise TransactionError(ErrorCode.TRANSACTION_ABORTABLE)

    def write(self, member: Process, slices: Sequence[Slice]) -> Iterator[Wait]:
        """send() one output record for each of these input records. Raises TransactionError once it has failed."""
        self._check()
        return super().write(member, slices)

    def write_dead_letter(self, member: Process, topic: str, piece: Slice) -> Iterator[Wait]:
        """send() one record to the dead-letter topic. Raises TransactionError once the transaction has failed."""
        self._check()
        return super().write_dead_letter(member, topic, piece)

    async def commit(self, member: Process, metadata: ConsumerGroupMetadata, offsets: dict[str, int]) -> None:
        """sendOffsetsToTransaction, commitTransaction. Raises TransactionError."""
        transactions = self.transaction_manager
        while self._adding:
            await self._wait_for(member, "a partition to be added to its transaction")()
        self._check()
        self._committing = True
        try:
            await self._offsets.send(metadata, offsets)
        finally:
            self._committing = False
        self.transaction_progressed()
        self._still(_S.IN_TRANSACTION)
        transactions.move(_S.COMMITTING_TRANSACTION)
        await self.flush(member)
        self._check()
        self._still(_S.COMMITTING_TRANSACTION)
        await transactions.end(commit=True)

    def _still(self, state: ProducerTransactionState) -> None:
        self.transaction_manager.still_usable()
        if self.transaction_manager.state is not state:
            raise TransactionError(ErrorCode.TRANSACTION_ABORTABLE)

    async def abort(self, member: Process) -> None:
        """abortTransaction: batches that were not sent are dropped. Raises TransactionError."""
        self.transaction_manager.move(_S.ABORTING_TRANSACTION)
        self.accumulator.flushing = False
        self.sender.abandon("TransactionAbortedException", also_sent=False)
        while self._adding or not self.sender.idle:
            await self._wait_for(member, "its outputs to be settled")()
        self._check()  # AddPartitionsToTxn may have failed fatally meanwhile: then there is nothing to abort
        await self.transaction_manager.end(commit=False)
