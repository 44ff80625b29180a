"""A consumer's heartbeat thread: keeps the session alive, and leaves the group when the application stops polling.

It beats from a successful JoinGroup on, also while SyncGroup waits, but not while a JoinGroup waits at the barrier
(`MemberState.hasNotJoinedGroup`). It never reads records and never rejoins: it only asks poll() to.
Source: `AbstractCoordinator.HeartbeatThread`, `Heartbeat`.
"""

from functools import partial

from cluster.clients.member import Identity, Member
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, HeartbeatResponse
from cluster.timeline import Waiter


class HeartbeatThread:
    """The thread and its clocks: when the next heartbeat is due, when the last answer came."""

    def __init__(self, consumer: Member) -> None:
        self._consumer = consumer
        self._waiter: Waiter | None = None
        self.enabled = False
        self.paused = False
        self._in_flight = False
        self._beat: HeartbeatRequest | None = None
        self._next_us = 0
        self._last_answer_us = 0

    def reset(self) -> None:
        """A new process."""
        self.enabled = self.paused = self._in_flight = False

    def enable(self) -> None:
        """A JoinGroup succeeded: beat from now on."""
        self.enabled, self._in_flight = True, False
        now_us = self._consumer.timeline.now_us
        self._next_us = now_us + self._consumer.heartbeat_interval_us
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

    def _next_look_us(self) -> int:
        consumer = self._consumer
        if consumer.in_poll:
            return self._next_us
        return min(self._next_us, consumer.last_poll_us + consumer.max_poll_interval_us)

    async def run(self) -> None:
        """The thread, until its process dies."""
        consumer = self._consumer
        while True:
            waiter = self._waiter = consumer.timeline.waiter("its next heartbeat")
            if self.enabled and not self.paused:
                await consumer.park_until(waiter, self._next_look_us())
            else:
                await consumer.park(waiter)
            if self.enabled and not self.paused:
                self._look()

    def _look(self) -> None:
        consumer = self._consumer
        now_us = consumer.timeline.now_us
        if not consumer.in_poll and now_us - consumer.last_poll_us >= consumer.max_poll_interval_us:
            consumer.leave_for_slow_poll()
            return
        heard_us = max(self._last_answer_us, consumer.coordinator_since_us)  # finding it starts the clock again
        if consumer.coordinator >= 0 and now_us - heard_us >= consumer.session_timeout_us:
            consumer.coordinator_unknown("session timed out without receiving a heartbeat response")
        if now_us < self._next_us:
            return
        if consumer.coordinator < 0 or self._in_flight:
            consumer.look_up_coordinator()
            self._next_us = now_us + consumer.retry_backoff_us
            return
        self._next_us = now_us + consumer.heartbeat_interval_us
        self._in_flight = True
        beat = HeartbeatRequest(
            consumer.group, consumer.generation, consumer.member_id, consumer.instance_id, consumer.name
        )
        self._beat = beat
        consumer.send_to_coordinator(beat, partial(self._answered, beat))

    def _answered(self, beat: HeartbeatRequest, response: HeartbeatResponse | None) -> None:
        if beat is self._beat:
            self._in_flight = False
        if response is None:
            return
        self._last_answer_us = self._consumer.timeline.now_us
        if response.error is not ErrorCode.NONE:
            self._consumer.heartbeat_refused(response.error, Identity(beat.generation, beat.member_id))
