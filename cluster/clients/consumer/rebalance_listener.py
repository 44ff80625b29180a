"""The application's ConsumerRebalanceListener: it commits what is processed before partitions are given up.

Theory of operation. onPartitionsRevoked runs in the thread that polls, inside poll() or close(): an eager member is
asked for all partitions before its JoinGroup, a cooperative one after SyncGroup for those that it lost. Until it
returns the member neither joins nor reads, and its group waits at the barrier. The heartbeat thread goes on; only
close() has ended it before. What the listener does counts against max.poll.interval.ms: a member whose listener is too
slow leaves its group, and its commit fails. The application catches that exception, and the partitions are given up
all the same. The application does nothing in onPartitionsLost, for nothing can be committed then.
Source: `ConsumerRebalanceListenerInvoker`, `ConsumerCoordinator.onJoinPrepare`, `onJoinComplete`, `onLeavePrepare`.
"""

from cluster import events as e
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.group_membership import BackgroundThread


class RebalanceListener:
    """The listener of one member's application."""

    def __init__(self, consumer: ConsumerHost, application: Application, thread: BackgroundThread) -> None:
        self._consumer, self._application, self._background = consumer, application, thread

    async def partitions_revoked(self, partitions: tuple[str, ...]) -> None:
        """onPartitionsRevoked: do what the application wants done before it gives up these partitions."""
        consumer = self._consumer
        if not consumer.spec.application.listens:
            return
        consumer.in_poll, consumer.last_poll_us = False, consumer.timeline.now_us
        self._background.wake()
        consumer.emit(e.RebalanceListenerCalled(group=consumer.group, member=consumer.name, partitions=partitions))
        if consumer.spec.application.revoke_takes_us:
            await consumer.sleep(consumer.spec.application.revoke_takes_us)
        processed = self._processed(partitions)
        commit = await self._commit(consumer)
        consumer.in_poll = True
        consumer.emit(
            e.RebalanceListenerReturned(
                group=consumer.group,
                member=consumer.name,
                partitions=partitions,
                commit=commit,
                offsets=processed if commit == "stored" else {},
            )
        )

    def _processed(self, partitions: tuple[str, ...]) -> dict[str, int]:
        """The next offsets to process; a position may move while the commit is under way, past a marker."""
        processed = self._consumer.fetcher.positions
        if self._consumer.finished is not None:
            processed = {name: offset for name, (offset, _) in self._consumer.finished.items()}
        return {name: processed[name] for name in partitions if name in processed}

    async def _commit(self, consumer: ConsumerHost) -> str:
        """Write what is processed, and commit; returns what became of the commit."""
        if consumer.spec.application.on_revoked != "commit":
            return ""
        writer = self._application.output_producer
        if writer is not None:
            await writer.flush(consumer)
            if writer.failure is not None:
                consumer.fail(writer.failure)
                return "failed"
        return "stored" if await consumer.commit_sync() else "failed"
