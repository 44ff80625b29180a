"""The background thread of the asynchronous consumer: it finds the coordinator and sends heartbeats.

It runs beside the application's thread, so a slow application keeps its membership until max.poll.interval.ms has
passed. The responses change the membership in this thread; what an application must do about it waits for poll().
Fetches and commits are sent when poll() asks for them, as by the classic consumer.
Source: `ConsumerNetworkThread`, `CoordinatorRequestManager`.
"""

from collections.abc import Callable
from functools import partial

from cluster.clients.async_consumer.heartbeat_request_manager import HeartbeatRequestManager
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.clients.consumer.group_membership import BackgroundThread
from cluster.protocol.consumer_group_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from cluster.virtual_time import Waiter
from cluster.virtual_time.waiting import NEVER_US


class NetworkThread(BackgroundThread):
    """The thread of one member. It sends nothing before the application's first poll().

    `failed` gets what poll() must throw.
    """

    def __init__(self, consumer: ConsumerHost, lookup: CoordinatorLookup, failed: Callable[[str], None]) -> None:
        self._consumer, self._lookup, self._failed = consumer, lookup, failed
        self._waiter: Waiter | None = None
        self._heartbeats: HeartbeatRequestManager | None = None
        self._paused = False

    def reset(self) -> None:
        """Begin a new process."""
        self._heartbeats, self._paused = None, False

    def begin(self, heartbeats: HeartbeatRequestManager) -> None:
        """Find the coordinator, and send these heartbeats."""
        self._heartbeats = heartbeats
        self.wake()

    def pause(self, *, paused: bool) -> None:
        """Send no heartbeats, or send them again."""
        self._paused = paused
        self.wake()

    def wake(self) -> None:
        """Let the thread compute anew when its next action is due."""
        if self._waiter is not None:
            self._waiter.wake()

    async def run(self) -> None:
        """Run the thread until its process ends."""
        consumer = self._consumer
        while True:
            self.run_once()
            waiter = self._waiter = consumer.timeline.waiter("its next request")
            due_us = NEVER_US if self._heartbeats is None or self._paused else self._heartbeats.next_us
            if due_us >= NEVER_US:
                await consumer.park(waiter)
            else:
                await consumer.park_until(waiter, max(consumer.timeline.now_us, due_us))

    def run_once(self) -> None:
        """Look up an unknown coordinator, and send the heartbeat that is due."""
        consumer, heartbeats = self._consumer, self._heartbeats
        if heartbeats is None or self._paused:
            return
        if consumer.coordinator < 0:
            self._lookup.begin()
        request = heartbeats.poll()
        if request is not None:
            consumer.send_to_coordinator(request, partial(self._answered, request))

    def _answered(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse | None
    ) -> None:
        assert self._heartbeats is not None
        failure = self._heartbeats.answered(request, response)
        if failure is not None:
            self._failed(failure)
        self.wake()
