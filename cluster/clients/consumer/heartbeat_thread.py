"""A consumer's heartbeat thread: keeps the session alive, and leaves the group when the application stops polling.

It sends heartbeats from a successful JoinGroup on, also while SyncGroup waits. It sends none while a JoinGroup waits at
the barrier (`MemberState.hasNotJoinedGroup`). It never reads records and never rejoins: poll() does both.
Source: `AbstractCoordinator.HeartbeatThread`, `Heartbeat`.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from cluster.clients.consumer.consumer_host import MS, ConsumerHost, MemberIdentity
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.clients.consumer.group_membership import BackgroundThread
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, HeartbeatResponse
from cluster.virtual_time import Waiter

ALIVE = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
MOST_DOUBLINGS: Final = 10


class HeartbeatThread(BackgroundThread):
    """The thread and its clocks: when the next heartbeat is due, and when the last response came.

    `failed` gets the error of a heartbeat and the identity that it was sent with. `leave`: max.poll.interval.ms passed.
    """

    def __init__(
        self,
        consumer: ConsumerHost,
        lookup: CoordinatorLookup,
        failed: Callable[[ErrorCode, MemberIdentity], None],
        leave: Callable[[], None],
    ) -> None:
        self._consumer, self._lookup, self._failed, self._leave = consumer, lookup, failed, leave
        self._waiter: Waiter | None = None
        self.enabled = False
        self.paused = False
        self._next_us = 0
        self._next_lookup_us = 0  # when an unknown coordinator is looked up again
        self._last_answer_us = 0
        self._failures = 0

    def reset(self) -> None:
        """Begin a new process."""
        self.enabled = self.paused = False

    def enable(self) -> None:
        """Start heartbeats after a successful JoinGroup."""
        self.enabled, self._failures = True, 0
        now_us = self._consumer.timeline.now_us
        interval_us = self._consumer.heartbeat_interval_us
        self._next_us = now_us + interval_us + min(self._consumer.start_delay_us, interval_us)
        self._last_answer_us = now_us
        self.wake()

    def disable(self) -> None:
        """Stop heartbeats: there is no member id or generation, or JoinGroup is in flight."""
        self.enabled = False

    def pause(self, *, paused: bool) -> None:
        """Freeze only this thread, or resume it."""
        self.paused = paused
        self.wake()

    def wake(self) -> None:
        """Let the thread compute anew when its next action is due."""
        if self._waiter is not None:
            self._waiter.wake()

    @property
    def _session_ends_us(self) -> int:
        """When the session times out without a response; a newly found coordinator restarts that clock."""
        consumer = self._consumer
        return max(self._last_answer_us, consumer.coordinator_since_us) + consumer.session_timeout_us

    def _next_action_us(self) -> int:
        consumer = self._consumer
        if consumer.coordinator < 0:
            return self._next_lookup_us
        action_us = min(self._next_us, self._session_ends_us)
        if consumer.in_poll:
            return action_us
        return min(action_us, consumer.last_poll_us + consumer.max_poll_interval_us)

    async def run(self) -> None:
        """Run the thread until its process ends."""
        consumer = self._consumer
        while True:
            waiter = self._waiter = consumer.timeline.waiter("its next heartbeat")
            if self.enabled and not self.paused:
                await consumer.park_until(waiter, max(consumer.timeline.now_us, self._next_action_us()))
            else:
                await consumer.park(waiter)
            if self.enabled and not self.paused:
                self._run_due_action()

    def _run_due_action(self) -> None:
        """Do the first action that is due. A heartbeat does not wait for the response to the last one."""
        consumer = self._consumer
        now_us = consumer.timeline.now_us
        if consumer.coordinator < 0:
            self._next_lookup_us = now_us + max(MS, consumer.retry_backoff_us)
            self._lookup.begin()
        elif now_us >= self._session_ends_us:
            self._next_lookup_us = now_us
            consumer.coordinator_unknown("session timed out without receiving a heartbeat response")
        elif not consumer.in_poll and now_us - consumer.last_poll_us >= consumer.max_poll_interval_us:
            self._leave()
        elif now_us >= self._next_us:
            self._next_us = now_us + consumer.heartbeat_interval_us
            beat = HeartbeatRequest(
                consumer.group, consumer.generation, consumer.member_id, consumer.instance_id, consumer.name
            )
            consumer.send_to_coordinator(beat, partial(self._answered, beat))

    def _answered(self, beat: HeartbeatRequest, response: HeartbeatResponse | None) -> None:
        """Handle a response, None for a broken connection; a failed heartbeat is sent again after a backoff."""
        consumer, sent_as = self._consumer, MemberIdentity(beat.generation, beat.member_id)
        now_us = consumer.timeline.now_us
        error = ErrorCode.NETWORK_EXCEPTION if response is None else response.error
        if error in ALIVE or (error not in COORDINATOR_MOVED and response is not None and sent_as != consumer.identity):
            self._last_answer_us, self._failures = now_us, 0
        else:
            backoff_us = consumer.retry_backoff_us << min(self._failures, MOST_DOUBLINGS)
            self._next_us = now_us + max(MS, min(backoff_us, consumer.retry_backoff_max_us))
            self._failures += 1
            self.wake()
        if response is not None and error is not ErrorCode.NONE:
            self._failed(error, sent_as)
