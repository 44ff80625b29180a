"""Worker threads behind poll(): a queue with a bound, pause() and resume(), and commits of what is finished.

Theory of operation. The poll loop hands the records of each poll() over and polls on, so that no processing time counts
against max.poll.interval.ms. A free worker takes the partition that has waited longest and in which no other worker is
busy: records of one partition are finished in order. When `queue` records or more are in hand, the application pauses
its partitions; it resumes them when half of the queue is done. A commit has what is finished, never the positions:
those are ahead by the queue. Records of a revoked partition leave the queue; those in work are finished in vain.
Auto commits do not know the workers: they commit the positions, and a crash loses what was in the queue.
Source: `KafkaConsumer.pause`, `SubscriptionState.TopicPartitionState`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.process import Wait
from cluster.protocol.record_batch import Slice
from cluster.spec import ApplicationSpec
from cluster.virtual_time import Waiter

LONGEST_RUN_US: Final = 1_000_000

Finish = Callable[[ConsumerHost, list[Slice], int], None]
"""Counts the first records of some slices as processed."""


class Run:
    """The records that one worker is busy with: some of one partition, in order."""

    __slots__ = ("cost_us", "dropped", "partition", "piece", "since_us")

    def __init__(self, piece: Slice, cost_us: float, since_us: int) -> None:
        self.piece, self.cost_us, self.since_us = piece, cost_us, since_us
        self.partition = piece.batch.partition
        self.dropped = False  # its partition was revoked


class WorkerThreads:
    """The workers of one member, and their queue. `finish` counts records as processed."""

    def __init__(self, spec: ApplicationSpec, cost_us: Callable[[], float], finish: Finish) -> None:
        self._threads, self._bound = spec.worker_threads, spec.queue
        self._commits_finished = spec.commit != "auto"
        self._waits_for_commits = spec.commit == "after-each-poll"
        self._cost_us, self._finish = cost_us, finish
        self._waiting: dict[str, deque[Slice]] = {}
        self._busy: list[Run] = []
        self._paused = False
        self._idle: Waiter | None = None
        self.in_hand = 0
        self.commit_due = False

    def begin(self, consumer: ConsumerHost) -> None:
        """Begin a new process: nothing is in hand."""
        self._waiting, self._busy, self._paused, self.in_hand, self.commit_due = {}, [], False, 0, False
        consumer.finished = {} if self._commits_finished else None

    def take(self, consumer: ConsumerHost, slices: list[Slice]) -> Iterator[int | Wait]:
        """Put the records of a poll() into the queue; pause the partitions when it is full."""
        for piece in slices:
            self._waiting.setdefault(piece.batch.partition, deque()).append(piece)
            self.in_hand += piece.next_offset - piece.first_offset
        self._start(consumer)
        if self.in_hand >= self._bound:
            self._paused = True
            consumer.pause(consumer.owned)
        return iter(())

    def _start(self, consumer: ConsumerHost) -> None:
        """Give records to free workers."""
        taken = [run.partition for run in self._busy if not run.dropped]
        while len(self._busy) < self._threads:
            name = next((each for each in self._waiting if each not in taken), None)
            if name is None:
                return
            pieces, cost_us = self._waiting.pop(name), self._cost_us()
            batch, first, end = pieces.popleft()
            room = max(1, int(LONGEST_RUN_US / cost_us)) if cost_us else end - first
            if first + room < end:
                pieces.appendleft(Slice(batch, first + room, end))
                end = first + room
            if pieces:
                self._waiting[name] = pieces  # behind the partitions that wait
            run = Run(Slice(batch, first, end), cost_us, consumer.timeline.now_us)
            self._busy.append(run)
            taken.append(name)
            consumer.after(round(cost_us * (end - first)), partial(self._done, consumer, run))

    def _done(self, consumer: ConsumerHost, run: Run) -> None:
        """A worker is finished with its records, and takes others."""
        self._busy.remove(run)
        batch, first, end = run.piece
        self._finish(consumer, [run.piece], end - first)
        self.in_hand -= end - first
        if consumer.finished is not None and not run.dropped:
            consumer.finished[run.partition] = end, batch.leader_epoch
            self.commit_due = True
            consumer.request_attention()
        self._start(consumer)
        if self._paused and self.in_hand <= self._bound // 2:
            self._paused = False
            consumer.resume(tuple(consumer.fetcher.paused))
        if self._idle is not None and not self._busy:
            self._idle.wake()

    async def commit(self, consumer: ConsumerHost) -> None:
        """Commit what is finished, in the thread that polls."""
        self.commit_due = False
        if self._waits_for_commits:
            await consumer.commit_sync()
        else:
            consumer.commit_async()

    def drop(self, consumer: ConsumerHost, partitions: tuple[str, ...]) -> None:
        """Forget the records of revoked partitions that no worker has begun."""
        for name in partitions:
            for _, first, end in self._waiting.pop(name, ()):
                self.in_hand -= end - first
            if consumer.finished is not None:
                consumer.finished.pop(name, None)
        for run in self._busy:
            run.dropped = run.dropped or run.partition in partitions

    async def drain(self, consumer: ConsumerHost) -> None:
        """Before close(): let the workers finish what they have begun, and commit it."""
        self._waiting = {}
        while self._busy:
            self._idle = consumer.timeline.waiter("its workers")
            await consumer.park(self._idle)
        self._idle = None
        if consumer.finished:
            await consumer.commit_sync()

    def interrupt(self, consumer: ConsumerHost) -> None:
        """Count the records that are finished when the process is killed now."""
        for run in self._busy:
            if run.cost_us > 0:
                self._finish(consumer, [run.piece], int((consumer.timeline.now_us - run.since_us) / run.cost_us))
        self._waiting, self._busy = {}, []
