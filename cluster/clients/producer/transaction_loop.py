"""The application of a transactional producer: begin, send `records` records, commit or abort, and again.

Theory of operation. One thread. While a transaction is open the application may send (`RecordFeed.allow`). When it has
sent its records it flushes, so that every batch is ready at once; it waits until all are acknowledged, and commits. A
batch that fails makes the transaction abortable: unsent batches are dropped, batches in flight are waited for, and the
transaction is aborted. The next send() throws then, and the application aborts at once. After INVALID_PRODUCER_EPOCH
only the future of send() fails, so the application sends on until commitTransaction() throws. A fenced producer stops.
Source: the loop in `KafkaProducer`'s class documentation, `KafkaProducer.doSend`,
`TransactionManager.maybeFailWithError`.
"""

from collections import deque
from collections.abc import Callable
from random import Random

from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.producer_host import ProducerHost
from cluster.clients.producer.record_feed import RecordFeed
from cluster.clients.producer.sender import Sender
from cluster.clients.producer.transaction_manager import TransactionError, TransactionManager
from cluster.protocol.client_states import ProducerTransactionState
from cluster.spec import TransactionsSpec
from cluster.virtual_time import Waiter

_S = ProducerTransactionState


class TransactionLoop:
    """One transaction after the other.

    `random` decides which are aborted. `abandoned`: the open transaction is not ended, and no other begins.
    `finished`: no transaction is open, and none will begin.
    """

    def __init__(
        self,
        host: ProducerHost,
        spec: TransactionsSpec,
        transactions: TransactionManager,
        random: Random,
        *,
        accumulator: Accumulator,
        feed: RecordFeed,
        sender: Sender,
    ) -> None:
        self._host, self._spec, self._random = host, spec, random
        self._accumulator, self._feed, self._sender = accumulator, feed, sender
        self.reset(transactions)

    def reset(self, transactions: TransactionManager) -> None:
        """Begin a new process, with a transaction manager of its own."""
        self._transactions = transactions
        self.closing = self.abandoned = False
        self.finished = True
        self._waiter: Waiter | None = None
        self._sent: list[ProducerBatch] = []
        self._again: deque[ProducerBatch] = deque()

    def wake(self) -> None:
        """Let the application look again at the condition that it waits for."""
        if self._waiter is not None:
            self._waiter.wake()

    async def run(self) -> None:
        """Run the thread until the producer is closed or fenced."""
        self.finished = False
        host = self._host
        try:
            await self._transactions.initialise()
            while not self.closing and not (self._feed.exhausted and not self._again):
                await self._run_transaction()
        except TransactionError as refused:
            self.finished = True
            host.fenced(refused.error.name)
            if not self.closing:
                return  # close() does not wait for a fenced producer
        self.finished = True
        await self._until(lambda: self.closing)
        self._sender.closing = True
        self._sender.wake()

    async def _run_transaction(self) -> None:
        transactions = self._transactions
        transactions.begin()
        self._sent = []
        self._send_again()
        self._feed.allow(self._spec.records)
        await self._until(self._sent_enough)
        if transactions.epoch_is_old:
            await self._send_to_failed_futures()
        await self._until(lambda: not self.abandoned or self.closing)
        self._feed.allow(0)
        aborts = self.abandoned  # close() aborts the open transaction
        aborts = aborts or (self._spec.abort > 0 and self._random.random() < self._spec.abort)
        if not aborts and transactions.state is _S.IN_TRANSACTION:
            await self._commit()
        transactions.still_usable()
        if transactions.state in (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR):
            await self._abort()

    def _sent_enough(self) -> bool:
        return self._sent_all() or self._transactions.state is not _S.IN_TRANSACTION

    def _sent_all(self) -> bool:
        return self._feed.allowance == 0 or self._feed.exhausted or self.closing

    async def _send_to_failed_futures(self) -> None:
        """Fail the future of each send(): the application reads the futures only when it commits."""
        sender, feed = self._sender, self._feed
        sender.abandon("INVALID_PRODUCER_EPOCH", also_sent=False)
        feed.fails_with = "InvalidProducerEpochException"
        try:
            feed.pull()
            await self._until(self._sent_all)
        finally:
            feed.fails_with = ""

    async def _commit(self) -> None:
        sender, transactions = self._sender, self._transactions
        transactions.move(_S.COMMITTING_TRANSACTION)
        self._accumulator.flushing = True
        sender.wake()
        await self._until(lambda: sender.idle or transactions.state is not _S.COMMITTING_TRANSACTION)
        self._accumulator.flushing = False
        if transactions.state is not _S.COMMITTING_TRANSACTION:
            return
        try:
            await transactions.end(commit=True)
        except TransactionError as refused:
            if refused.fatal:
                raise

    async def _abort(self) -> None:
        sender, transactions = self._sender, self._transactions
        transactions.move(_S.ABORTING_TRANSACTION)
        sender.abandon("TransactionAbortedException", also_sent=False)
        await self._until(lambda: sender.idle)
        if self._spec.on_abort == "retry":
            self._again.extend(self._sent)
        await transactions.end(commit=False)

    def opened(self, batch: ProducerBatch) -> None:
        """Note a batch of the open transaction: if that is aborted, the next one sends its records again."""
        if self._spec.on_abort == "retry":
            self._sent.append(batch)

    def _send_again(self) -> None:
        """Send the records of the aborted transaction again, as far as `buffer.memory` allows."""
        accumulator, now_us = self._accumulator, self._host.timeline.now_us
        while self._again:
            batch = accumulator.renew(self._again[0], now_us)
            if batch is None:
                break
            self._again.popleft()
            self._sent.append(batch)
            self._feed.opened(batch)

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait until `reached()`, and add partitions that batches wait for. Raises fatal TransactionErrors."""
        transactions = self._transactions
        while not reached():
            if transactions.to_add and transactions.state in (_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION):
                try:
                    await transactions.add_partitions()
                except TransactionError as refused:
                    if refused.fatal:
                        raise
                self._sender.wake()
                continue
            self._waiter = waiter = self._host.timeline.waiter("its transaction to progress")
            await self._host.park(waiter)
            self._waiter = None

    def batch_failed(self, error: str) -> None:
        """Make the transaction abortable: a batch failed, or its sequence is in doubt."""
        self._transactions.batch_failed(error)
        self.wake()
