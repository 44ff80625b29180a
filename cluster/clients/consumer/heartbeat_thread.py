"""A consumer's heartbeat thread: keeps the session alive, and leaves the group when the application stops polling.

It beats from a successful JoinGroup on, also while SyncGroup waits, but not while a JoinGroup waits at the barrier
(`MemberState.hasNotJoinedGroup`). It never reads records and never rejoins: it only asks poll() to.
Source: `AbstractCoordinator.HeartbeatThread`, `Heartbeat`.
"""

from functools import partial

from cluster.clients.consumer.consumer_host import MS, ConsumerHost, MemberIdentity
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, HeartbeatResponse
from cluster.virtual_time import Waiter

HEARD = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
MOST_DOUBLINGS = 10


class HeartbeatThread:
    """The thread and its clocks: when the next heartbeat is due, when the last answer came."""

    def __init__(self, consumer: ConsumerHost) -> None:
        self._consumer = consumer
        self._waiter: Waiter | None = None
        self.enabled = False
        self.paused = False
        self._next_us = 0
        self._again_us = 0  # when to look again for a coordinator that is unknown
        self._last_answer_us = 0
        self._failures = 0

    def reset(self) -> None:
        """A new process."""
        self.enabled = self.paused = False

    def enable(self) -> None:
        """A JoinGroup succeeded: beat from now on."""
        self.enabled, self._failures = True, 0
        now_us = self._consumer.timeline.now_us
        interval_us = self._consumer.heartbeat_interval_us
        self._next_us = now_us + interval_us + min(self._consumer.start_delay_us, interval_us)
        self._last_answer_us = now_us
        self.wake()

    def disable(self) -> None:
        """No member id or generation to beat for, or JoinGroup is under way."""
        self.enabled = False

    def pause(self, *, paused: bool) -> None:
        """Freeze only this thread, or let it go on."""
        self.paused = paused
        self.wake()

    def wake(self) -> None:
        """Something changed: look again."""
        if self._waiter is not None:
            self._waiter.wake()

    @property
    def _session_ends_us(self) -> int:
        """When it has heard nothing for too long; finding the coordinator starts that clock again."""
        consumer = self._consumer
        return max(self._last_answer_us, consumer.coordinator_since_us) + consumer.session_timeout_us

    def _next_look_us(self) -> int:
        consumer = self._consumer
        if consumer.coordinator < 0:
            return self._again_us
        looks_us = min(self._next_us, self._session_ends_us)
        if consumer.in_poll:
            return looks_us
        return min(looks_us, consumer.last_poll_us + consumer.max_poll_interval_us)

    async def run(self) -> None:
        """The thread, until its process dies."""
        consumer = self._consumer
        while True:
            waiter = self._waiter = consumer.timeline.waiter("its next heartbeat")
            if self.enabled and not self.paused:
                await consumer.park_until(waiter, max(consumer.timeline.now_us, self._next_look_us()))
            else:
                await consumer.park(waiter)
            if self.enabled and not self.paused:
                self._look()

    def _look(self) -> None:
        """One thing at a time, the first that is due. A heartbeat does not wait for the answer to the last one."""
        consumer = self._consumer
        now_us = consumer.timeline.now_us
        if consumer.coordinator < 0:
            self._again_us = now_us + max(MS, consumer.retry_backoff_us)
            consumer.look_up_coordinator()
        elif now_us >= self._session_ends_us:
            self._again_us = now_us
            consumer.coordinator_unknown("session timed out without receiving a heartbeat response")
        elif not consumer.in_poll and now_us - consumer.last_poll_us >= consumer.max_poll_interval_us:
            consumer.leave_for_slow_poll()
        elif now_us >= self._next_us:
            self._next_us = now_us + consumer.heartbeat_interval_us
            beat = HeartbeatRequest(
                consumer.group, consumer.generation, consumer.member_id, consumer.instance_id, consumer.name
            )
            consumer.send_to_coordinator(beat, partial(self._answered, beat))

    def _answered(self, beat: HeartbeatRequest, response: HeartbeatResponse | None) -> None:
        """An answer, or None for a broken connection: one that failed is sent again after a backoff."""
        consumer, sent_as = self._consumer, MemberIdentity(beat.generation, beat.member_id)
        now_us = consumer.timeline.now_us
        error = ErrorCode.NETWORK_EXCEPTION if response is None else response.error
        if error in HEARD or (error not in MOVED and response is not None and sent_as != consumer.identity):
            self._last_answer_us, self._failures = now_us, 0
        else:
            backoff_us = consumer.retry_backoff_us << min(self._failures, MOST_DOUBLINGS)
            self._next_us = now_us + max(MS, min(backoff_us, consumer.retry_backoff_max_us))
            self._failures += 1
            self.wake()
        if response is not None and error is not ErrorCode.NONE:
            consumer.heartbeat_failed(error, sent_as)
