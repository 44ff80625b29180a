"""The application of a transactional producer: begin, send so many records, commit or abort, and again.

Theory of operation. One thread. While a transaction is open the application may send (`RecordFeed.allow`); when it has
sent its records it flushes (every batch is ready at once), waits until all are acknowledged, and ends it. A batch that
fails makes the transaction abortable: what was not sent is dropped, what is on its way is waited for, and
the transaction is aborted. The next send() throws then, and the application aborts at once; but of an old epoch only
the future of send() tells, so it goes on until commitTransaction() throws. Whoever is fenced stops.
Source: the loop in `KafkaProducer`'s class documentation, `KafkaProducer.doSend`,
`TransactionManager.maybeFailWithError`.
"""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from cluster.clients.producer.accumulator import Accumulator, ProducerBatch
from cluster.clients.producer.record_feed import RecordFeed
from cluster.clients.producer.sender import Sender
from cluster.clients.producer.transaction_manager import ProducerTransactionState, TransactionError, TransactionManager
from cluster.spec import TransactionsSpec
from cluster.virtual_time import Timeline, Waiter

_S = ProducerTransactionState


class ProducerHost(Protocol):
    """The producer whose application this is."""

    timeline: Timeline
    accumulator: Accumulator
    feed: RecordFeed
    sender: Sender

    async def park(self, waiter: Waiter) -> Any:  # noqa: ANN401 - whatever the waiter is woken with
        """Wait until somebody wakes the waiter."""

    def fenced(self, reason: str) -> None:
        """The application cannot go on."""


class TransactionLoop:
    """One transaction after the other. `random` decides which are aborted; `abandoned`: neither end nor begin one."""

    def __init__(
        self, host: ProducerHost, spec: TransactionsSpec, transactions: TransactionManager, random: Random
    ) -> None:
        self._host, self._spec, self._transactions, self._random = host, spec, transactions, random
        self.reset()

    def reset(self) -> None:
        """A new process."""
        self.closing = self.abandoned = False
        self.over = True
        self._waiter: Waiter | None = None
        self._sent: list[ProducerBatch] = []
        self._again: deque[ProducerBatch] = deque()
        self._transactions.reset()

    def wake(self) -> None:
        """Something changed that the application may wait for."""
        if self._waiter is not None:
            self._waiter.wake()

    async def run(self) -> None:
        """The thread, until the producer is closed or fenced."""
        self.over = False
        host = self._host
        try:
            await self._transactions.initialise()
            while not self.closing and not (host.feed.exhausted and not self._again):
                await self._run_transaction()
        except TransactionError as refused:
            self.over = True
            host.fenced(refused.error.name)
            if not self.closing:
                return  # whoever closes it then need not wait for it
        self.over = True
        await self._until(lambda: self.closing)
        host.sender.closing = True
        host.sender.wake()

    async def _run_transaction(self) -> None:
        host, transactions = self._host, self._transactions
        transactions.begin()
        self._sent = []
        self._send_again()
        host.feed.allow(self._spec.records)
        await self._until(self._sent_enough)
        if transactions.epoch_is_old:
            await self._send_in_vain()
        await self._until(lambda: not self.abandoned or self.closing)
        host.feed.allow(0)
        aborts = self.abandoned  # close() aborts what is open
        aborts = aborts or (self._spec.abort > 0 and self._random.random() < self._spec.abort)
        if not aborts and transactions.state is _S.IN_TRANSACTION:
            await self._commit()
        transactions.still_usable()
        if transactions.state in (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR):
            await self._abort()

    def _sent_enough(self) -> bool:
        return self._sent_all() or self._transactions.state is not _S.IN_TRANSACTION

    def _sent_all(self) -> bool:
        sending = self._host.feed
        return sending.allowance == 0 or sending.exhausted or self.closing

    async def _send_in_vain(self) -> None:
        """Each send() gives a future that has failed, which the application does not look at before it commits."""
        sender, sending = self._host.sender, self._host.feed
        sender.abandon("INVALID_PRODUCER_EPOCH", also_sent=False)
        sending.fails_with = "InvalidProducerEpochException"
        try:
            sending.pull()
            await self._until(self._sent_all)
        finally:
            sending.fails_with = ""

    async def _commit(self) -> None:
        sender, transactions = self._host.sender, self._transactions
        transactions.move(_S.COMMITTING_TRANSACTION)
        self._host.accumulator.flushing = True
        sender.wake()
        await self._until(lambda: sender.idle or transactions.state is not _S.COMMITTING_TRANSACTION)
        self._host.accumulator.flushing = False
        if transactions.state is not _S.COMMITTING_TRANSACTION:
            return
        try:
            await transactions.end(commit=True)
        except TransactionError as refused:
            if refused.fatal:
                raise

    async def _abort(self) -> None:
        sender, transactions = self._host.sender, self._transactions
        transactions.move(_S.ABORTING_TRANSACTION)
        sender.abandon("TransactionAbortedException", also_sent=False)
        await self._until(lambda: sender.idle)
        if self._spec.on_abort == "retry":
            self._again.extend(self._sent)
        await transactions.end(commit=False)

    def opened(self, batch: ProducerBatch) -> None:
        """A batch of the open transaction: it is sent again with the next one if this one is aborted."""
        if self._spec.on_abort == "retry":
            self._sent.append(batch)

    def _send_again(self) -> None:
        """What an aborted transaction had sent, once more, as far as the buffer has room."""
        accumulator, now_us = self._host.accumulator, self._host.timeline.now_us
        while self._again:
            batch = accumulator.renew(self._again[0], now_us)
            if batch is None:
                break
            self._again.popleft()
            self._sent.append(batch)
            self._host.feed.opened(batch)

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait for something; partitions that must be added to the transaction first are added meanwhile."""
        transactions = self._transactions
        while not reached():
            if transactions.to_add and transactions.state in (_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION):
                try:
                    await transactions.add_partitions()
                except TransactionError as refused:
                    if refused.fatal:
                        raise
                self._host.sender.wake()
                continue
            self._waiter = waiter = self._host.timeline.waiter("its transaction to go on")
            await self._host.park(waiter)
            self._waiter = None

    def batch_failed(self, error: str) -> None:
        """A batch of the transaction failed, or its sequence is in doubt: only an abort is left."""
        self._transactions.batch_failed(error)
        self.wake()
