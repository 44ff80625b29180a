"""An application: it processes the records that poll() returned, writes outputs, and commits.

Records are processed in order. RecordsProcessed is emitted when the records of a poll() are finished, and after each
second of work. It is also emitted when a kill interrupts the work, so that a crash counts exactly the finished records.
A poison record has a key that the application cannot process: the process crashes at it, or the application catches
the error and skips it, like other records that fail (`Failures`). A commit passes a skipped record like any other. An
application with outputs sends them for each record. Before it commits it waits until these are acknowledged; with auto
commits it does not wait. An application that commits before processing does not process records whose commit failed: it
seeks back to them. One that commits in transactions makes one for each poll(), with its outputs and offsets.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from cluster import events as e
from cluster.clients.application.failures import FailedAttempt, Failures
from cluster.clients.application.processing_time import ProcessingTimes
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.output_producer import OutputProducer
from cluster.clients.consumer.transactional_output import TransactionalOutputProducer
from cluster.clients.consumer.worker_threads import WorkerThreads
from cluster.clients.delivery_ledger import DeliveryLedger
from cluster.clients.process import Wait
from cluster.clients.producer.transaction_manager import TransactionError
from cluster.protocol.record_batch import Slice
from cluster.spec import ApplicationSpec

CHUNK_US: Final = 1_000_000
WRITING_CHUNK_US: Final = 10_000  # outputs are sent soon after their inputs are processed


class Application:
    """The application of one member. `random` draws the processing time of a run of records, if it varies."""

    def __init__(
        self,
        spec: ApplicationSpec,
        random: Callable[[], float],
        ledger: DeliveryLedger,
        times: ProcessingTimes,
        failures: Failures,
    ) -> None:
        self.spec, self._random, self._ledger, self._times, self._failures = spec, random, ledger, times, failures
        self.per_record_us = spec.per_record_us
        self.output_producer: OutputProducer | None = None
        self._work: list[Slice] = []
        self._since_us = 0
        self._cost_us = 0.0
        self._ends_us: list[float] = []  # when each record of the work is finished, if their times differ
        self._committed_first = self._slowed = False
        self.workers = WorkerThreads(spec, self._worker_cost_us, self._finished) if spec.worker_threads else None

    @property
    def commit_due(self) -> bool:
        """Whether poll() must commit what worker threads have finished."""
        return self.workers is not None and self.workers.commit_due

    async def commit_finished(self, consumer: ConsumerHost) -> None:
        """Commit what worker threads have finished."""
        if self.workers is not None:
            await self.workers.commit(consumer)

    def _record_cost_us(self) -> float:
        """Draw the processing time of the next records, for each."""
        cost_us = float(self.per_record_us)
        return cost_us * (1 + self.spec.jitter * (2 * self._random() - 1)) if self.spec.jitter else cost_us

    def _worker_cost_us(self) -> float:
        """Draw the processing time of the next records of a worker, for each, with what the dependency adds."""
        return self._record_cost_us() + self._times.delay_us

    def reset_speed(self) -> None:
        """Process records at the scenario's speed again."""
        self.per_record_us = self.spec.per_record_us

    def configure(self, declared: ApplicationSpec) -> None:
        """Process records at the declared speed from now on; a slowed member does so when its fault ends.

        The producer takes its changed keys.
        """
        if self.per_record_us == self.spec.per_record_us:
            self.per_record_us = declared.per_record_us
        self.spec = msgspec.structs.replace(self.spec, per_record_us=declared.per_record_us)
        writer = self.output_producer
        if writer is not None and declared.producer != writer.declared.config:
            writer.configure(msgspec.structs.replace(writer.declared, config=declared.producer))

    def work(self, consumer: ConsumerHost, slices: list[Slice]) -> Iterator[int | Wait]:
        """Process the records of one poll(), and commit as the scenario says.

        Yields how long the next records take in us, or what the thread waits for; it is resumed when that is over.
        """
        if self.workers is not None:
            return self.workers.take(consumer, slices)
        writer = self.output_producer
        if isinstance(writer, TransactionalOutputProducer):
            return self._in_transaction(consumer, writer, slices)
        if writer is None and self.spec.commit in ("auto", "never"):
            return self._process(consumer, slices)
        return self._process_and_commit(consumer, writer, slices)

    def _process_and_commit(
        self, consumer: ConsumerHost, writer: OutputProducer | None, slices: list[Slice]
    ) -> Iterator[int | Wait]:
        commit = self.spec.commit
        if commit == "before-processing":
            yield partial(self._commit_first, consumer)
            if not self._committed_first:
                consumer.seek_back({piece.batch.partition: piece.first_offset for piece in reversed(slices)})
                return
        yield from self._process(consumer, slices)
        if writer is not None:
            if commit in ("after-each-poll", "async"):
                yield partial(writer.flush, consumer)
            if writer.failure is not None:
                consumer.fail(writer.failure)
                return
        if commit == "after-each-poll":
            yield consumer.commit_sync
        elif commit == "async":
            consumer.commit_async()

    async def _commit_first(self, consumer: ConsumerHost) -> None:
        self._committed_first = await consumer.commit_sync()

    async def begin(self, consumer: ConsumerHost) -> None:
        """Before the first poll(): initTransactions, which fences earlier producers with this transactional id."""
        if isinstance(self.output_producer, TransactionalOutputProducer):
            try:
                await self.output_producer.transaction_manager.initialise()
            except TransactionError as refused:
                self._fatal(consumer, self.output_producer, refused)

    def _in_transaction(
        self, consumer: ConsumerHost, writer: TransactionalOutputProducer, slices: list[Slice]
    ) -> Iterator[int | Wait]:
        """Process the records of one poll() in a transaction; after an abort return to the committed positions."""
        back = dict(consumer.fetcher.positions)
        back |= {piece.batch.partition: piece.first_offset for piece in reversed(slices)}
        try:
            writer.transaction_manager.begin()
            yield from self._process(consumer, slices)
        except TransactionError as refused:
            yield partial(self._abort, consumer, writer, refused, back)
        else:
            yield partial(self._commit_transaction, consumer, writer, back)

    async def _commit_transaction(
        self, consumer: ConsumerHost, writer: TransactionalOutputProducer, back: dict[str, int]
    ) -> None:
        try:
            await writer.commit(consumer, consumer.group_metadata, dict(consumer.fetcher.positions))
        except TransactionError as refused:
            await self._abort(consumer, writer, refused, back)

    async def _abort(
        self,
        consumer: ConsumerHost,
        writer: TransactionalOutputProducer,
        refused: TransactionError,
        back: dict[str, int],
    ) -> None:
        if refused.fatal:
            self._fatal(consumer, writer, refused)
            return
        try:
            await writer.abort(consumer)
        except TransactionError as fatal:
            self._fatal(consumer, writer, fatal)
            return
        consumer.reset_to_committed(back, refused.error.name)

    @staticmethod
    def _fatal(consumer: ConsumerHost, writer: TransactionalOutputProducer, refused: TransactionError) -> None:
        """End the application after a fatal error of its transactional producer."""
        writer.failure = f"its transactional producer ended with {refused.error.name}"
        writer.fenced(refused.error.name)
        consumer.fail(writer.failure)

    def _process(self, consumer: ConsumerHost, slices: list[Slice]) -> Iterator[int | Wait]:
        self._slowed = self.per_record_us != self.spec.per_record_us
        cost_us = self._record_cost_us()
        if not self._failures.possible:
            return self._process_slices(consumer, slices, cost_us)
        return self._process_with_failures(consumer, slices, cost_us)

    def _process_with_failures(
        self, consumer: ConsumerHost, slices: list[Slice], cost_us: float
    ) -> Iterator[int | Wait]:
        """Process the records up to each failing one; try that one again and again."""
        failures = self._failures
        for healthy, failing in failures.split(slices):
            yield from self._process_slices(consumer, healthy, cost_us)
            if failing is None:
                return
            yield from self._try_again(consumer, failing, cost_us)

    def _try_again(self, consumer: ConsumerHost, failing: Slice, cost_us: float) -> Iterator[int | Wait]:
        """Try a record until it succeeds, or was tried often enough."""
        failures, attempt = self._failures, 1
        while (failure := failures.failure(failing.batch, failing.first_offset, attempt)) is not None:
            if failures.attempted:
                yield from self._fail(consumer, failing, attempt, cost_us, failure.reason)
            if attempt == failures.most_attempts:
                yield from self._give_up(consumer, failing, failure)
                return
            attempt += 1
        yield from self._process_slices(consumer, [failing], cost_us)

    def _fail(
        self, consumer: ConsumerHost, failing: Slice, attempt: int, cost_us: float, reason: str
    ) -> Iterator[int | Wait]:
        """Work on a record that fails, and wait before the next attempt."""
        batch, offset = failing.batch, failing.first_offset
        if self._times.differ:
            cost_us = self._times.chunk([failing], cost_us, CHUNK_US, slowed=self._slowed)[1][0]
        if round(cost_us):
            yield round(cost_us)
        again = attempt < self._failures.most_attempts
        backoff_us = self._failures.backoff_us(attempt) if again else -1
        consumer.emit(
            e.RecordFailed(
                group=consumer.group,
                member=consumer.name,
                partition=batch.partition,
                offset=offset,
                attempt=attempt,
                retry_us=backoff_us,
                reason=reason,
            )
        )
        if backoff_us > 0:
            yield backoff_us

    def _give_up(self, consumer: ConsumerHost, failing: Slice, failure: FailedAttempt) -> Iterator[int | Wait]:
        """Send a record that failed for good to the dead-letter topic; or crash at it, or skip it."""
        batch, offset, topic = failing.batch, failing.first_offset, self.spec.dead_letter
        reason, writer = failure.reason, self.output_producer
        if topic is not None and writer is not None:
            yield from writer.write_dead_letter(consumer, topic, failing)
            consumer.emit(
                e.RecordDeadLettered(
                    group=consumer.group, member=consumer.name, partition=batch.partition, offset=offset, topic=topic
                )
            )
            self._finished(consumer, [failing], 1)
            return
        if failure.crashes:
            yield partial(_crash, consumer, reason)
        consumer.emit(
            e.RecordSkipped(
                group=consumer.group, member=consumer.name, partition=batch.partition, offset=offset, reason=reason
            )
        )

    def _process_slices(self, consumer: ConsumerHost, slices: list[Slice], cost_us: float) -> Iterator[int | Wait]:
        writer, timeline = self.output_producer, consumer.timeline
        longest_us = CHUNK_US if writer is None else WRITING_CHUNK_US
        chunks = _chunks(slices, cost_us, longest_us)
        for place, (chunk, records) in enumerate(chunks):
            if self._times.differ or self._failures.every:
                others = [piece for rest, _ in chunks[place:] for piece in rest]
                yield from self._process_each(consumer, others, cost_us)
                return
            self._work, self._cost_us, self._since_us = chunk, cost_us, timeline.now_us
            duration_us = round(cost_us * records)
            if duration_us:
                yield duration_us
            self._work = []
            if writer is not None and self.spec.written:
                yield from writer.write(consumer, chunk)
            self._finished(consumer, chunk, records)

    def _process_each(self, consumer: ConsumerHost, slices: list[Slice], cost_us: float) -> Iterator[int | Wait]:
        """Process records that each take a time of their own."""
        writer, timeline = self.output_producer, consumer.timeline
        longest_us = CHUNK_US if writer is None else WRITING_CHUNK_US
        while slices:
            if self._failures.every:
                yield from self._process_with_failures(consumer, slices, cost_us)
                return
            chunk, ends_us, slices = self._times.chunk(slices, cost_us, longest_us, slowed=self._slowed)
            self._work, self._ends_us, self._since_us = chunk, ends_us, timeline.now_us
            duration_us = round(ends_us[-1])
            if duration_us:
                yield duration_us
            self._work, self._ends_us = [], []
            if writer is not None and self.spec.written:
                yield from writer.write(consumer, chunk)
            self._finished(consumer, chunk, len(ends_us))

    def interrupt(self, consumer: ConsumerHost) -> None:
        """Count the records that are finished when the process is killed now."""
        if self.workers is not None:
            self.workers.interrupt(consumer)
        worked_us = consumer.timeline.now_us - self._since_us
        work, ends_us = self._work, self._ends_us
        self._work, self._ends_us = [], []  # before the event: the process may be killed a second time right after it
        if work and ends_us:
            self._finished(consumer, work, bisect_right(ends_us, worked_us))
        elif work and self._cost_us > 0:
            self._finished(consumer, work, int(worked_us / self._cost_us))

    def _finished(self, consumer: ConsumerHost, slices: list[Slice], records: int) -> None:
        """Emit the first `records` of these as processed, contiguous ones in one event."""
        runs: list[tuple[str, int, int, int]] = []  # partition, first offset, next offset, how many repeated
        copies: bool | None = None  # of the last run, if its records have origins
        ledger = self._ledger
        for batch, first, stop in slices:
            if records <= 0:
                break
            partition, at, end = batch.partition, first, min(stop, first + records)
            records -= end - first
            if ledger.truncated(batch):
                _emit_truncated(consumer, Slice(batch, first, end))
            for count, repeated in ledger.finished(batch, first, end):
                last, copies = copies, repeated > 0 if batch.origins else None
                if runs and runs[-1][0] == partition and runs[-1][2] == at and last is copies:
                    _, start, _, before = runs.pop()
                    runs.append((partition, start, at + count, before + repeated))
                else:
                    runs.append((partition, at, at + count, repeated))
                at += count
        for partition, first, end, repeated in runs:
            consumer.processed += end - first
            consumer.emit(
                e.RecordsProcessed(
                    group=consumer.group,
                    member=consumer.name,
                    partition=partition,
                    first_offset=first,
                    next_offset=end,
                    repeated=repeated,
                )
            )


async def _crash(consumer: ConsumerHost, reason: str) -> None:
    """End the process in its own thread, which then never goes on with the work."""
    consumer.crash(reason)


def _emit_truncated(consumer: ConsumerHost, piece: Slice) -> None:
    """Emit records that were buffered before their log was truncated: their offsets may belong to other records."""
    batch, first, end = piece
    consumer.emit(
        e.TruncatedRecordsProcessed(
            group=consumer.group,
            member=consumer.name,
            partition=batch.partition,
            first_offset=first,
            records=end - first,
            leader_epoch=batch.leader_epoch,
            producer=batch.producer,
            first_serial=batch.first_serial + first - batch.base_offset,
        )
    )


def _chunks(slices: list[Slice], cost_us: float, longest_us: int) -> list[tuple[list[Slice], int]]:
    """Cut the work into chunks of about this duration: the slices of each, and their number of records."""
    records = 0
    for _, first, end in slices:
        records += end - first
    if cost_us * records <= longest_us:
        return [(slices, records)]
    room = max(1, int(longest_us / cost_us))
    return [
        ([Slice(batch, at, min(at + room, end))], min(room, end - at))
        for batch, first, end in slices
        for at in range(first, end, room)
    ]
