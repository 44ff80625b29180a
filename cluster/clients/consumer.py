"""A consumer: its process, its poll loop, and what the two threads share.

The poll loop does what an application does: poll(), work on the records, poll() again. Everything about the group
happens inside poll() (`GroupMembership`); the heartbeat thread only keeps the session alive and asks for a rejoin.
An idle stretch of polls is one wait here: nobody can tell it from poll() returning nothing and being called again.
Source: `org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer`, `ConsumerCoordinator`.
"""

from typing import Any, cast

import trio

from cluster import events as e
from cluster.clients.applications import Application
from cluster.clients.heartbeat import HeartbeatThread
from cluster.clients.member import MS, Member
from cluster.clients.membership import GroupMembership
from cluster.clients.process import Surroundings
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import LeaveGroupRequest, LeavingMember
from cluster.spec import GroupSpec

FOREVER = -1


class Consumer(Member):
    """One member of a group: the process, with its poll loop."""

    def __init__(
        self,
        around: Surroundings,
        spec: GroupSpec,
        name: str,
        number: int,
        config: dict[str, Any],
        application: Application,
    ) -> None:
        super().__init__(around, spec, name, number, config)
        self.application = application
        self.max_poll_records: int = config["max.poll.records"]
        self.heartbeats = HeartbeatThread(self)
        self.membership = GroupMembership(self)
        self._closing = False
        self._stalled_until_us: int | None = None

    # --- the process --------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process: its threads run in a nursery of their own."""
        self.begin()
        self.forget_everything()
        self.membership.reset()
        self.heartbeats.reset()
        self._closing, self._stalled_until_us = False, None
        self.state = "Joining"
        self.tell(e.MemberStarted(group=self.group, member=self.name))
        self.timeline.start(nursery, self._run, name=self.name)

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            if not self.alive:
                return
            self.scope = nursery.cancel_scope
            self.timeline.start(nursery, self._poll_loop, name=f"{self.name}/poll")
            self.timeline.start(nursery, self.heartbeats.run, name=f"{self.name}/heartbeat")

    def kill(self) -> None:
        """Kill -9: what the application had finished by now counts, nothing else is said to anybody."""
        self.application.interrupt(self)
        self._gone("kill")

    def _gone(self, how: str) -> None:
        self.end()
        self.owned = ()
        self.state = "Left" if how == "stop" else "Dead"
        self.tell(e.MemberStopped(group=self.group, member=self.name, how=how))
        self.gone()

    def freeze(self) -> None:
        """Freeze the whole process: poll loop and heartbeat thread."""
        super().freeze()
        self.tell(e.MemberPaused(group=self.group, member=self.name))

    def thaw(self) -> None:
        """Go on."""
        self.tell(e.MemberResumed(group=self.group, member=self.name))
        super().thaw()

    def close_soon(self) -> None:
        """Ask the application to stop: it finishes the records it has and calls close()."""
        self._closing = True
        self.want_attention()
        self.unstall()

    # --- the poll loop ------------------------------------------------------------------------------------------------

    async def _poll_loop(self) -> None:
        timeline, fetcher, application = self.timeline, self.fetcher, self.application
        while True:
            if self.attention:
                if not await self._attend():
                    return
                continue
            if self.auto_commit and timeline.now_us >= self.next_auto_commit_us:
                self.schedule_auto_commit()
                self.membership.commit_async()
            slices = fetcher.collect(self.max_poll_records)
            fetcher.send()
            if slices:
                self._poll_returned(slices)
                await application.work(self, slices)
                self._poll_called()
                continue
            self._waiter = waiter = timeline.waiter("records")
            await self.park(waiter)
            self._waiter = None

    def _poll_returned(self, slices: list[Any]) -> None:
        positions: dict[str, int] = {}
        records = 0
        for batch, first, end in slices:
            positions[batch.partition] = end
            records += end - first
        self.in_poll = False
        self.last_poll_us = self.timeline.now_us
        if self.heartbeats.enabled and self.max_poll_interval_us < self.heartbeat_interval_us:
            self.heartbeats.wake()
        fetches, self.fetcher.answered_fetches = self.fetcher.answered_fetches, 0
        self.tell(
            e.PollReturned(group=self.group, member=self.name, records=records, positions=positions, fetches=fetches)
        )

    def _poll_called(self) -> None:
        self.in_poll = True
        self.tell(e.PollStarted(group=self.group, member=self.name))

    async def _attend(self) -> bool:
        """Everything that poll() does besides returning records, one thing at a time; false once closed."""
        if self._stalled_until_us is not None:
            await self._stand_still()
        elif self._closing:
            await self._close()
            return False
        elif self._stale:
            self._stale = False
            await self.refresh_metadata(self.topics)
            self.fetcher.route()
            if any(self.leader_of(name) < 0 for name in self.owned) or not self._knows_its_topics():
                self._stale = True
                await self.sleep(self.retry_backoff_us)
            elif self.state == "Stable":
                await self.sleep(self.retry_backoff_us)
        elif self.membership.wants_work:
            await self.membership.work()
        else:
            self.attention = False
        return self.alive

    def _knows_its_topics(self) -> bool:
        """Whether every topic of the subscription is known."""
        return all(self.topic_partitions.get(topic) for topic in self.topics)

    async def _close(self) -> None:
        """close(): commit, onPartitionsRevoked, LeaveGroup; then the process ends."""
        await self.membership.leave_cleanly()
        self.set_state("Left", "closed")
        self._gone("stop")

    # --- what holds a member up ---------------------------------------------------------------------------------------

    def stall(self, until_us: int) -> None:
        """From its next call on the application does not call poll() until then (FOREVER: until `unstall`)."""
        self._stalled_until_us = until_us
        self.want_attention()

    def unstall(self) -> None:
        """The application calls poll() again."""
        if self._stalled_until_us is not None:
            self._stalled_until_us = self.timeline.now_us
            self.wake()

    async def _stand_still(self) -> None:
        until_us = cast(int, self._stalled_until_us)
        self.in_poll, self.last_poll_us = False, self.timeline.now_us
        self.tell(e.ApplicationStalled(group=self.group, member=self.name, until_us=until_us))
        self.heartbeats.wake()
        while self._stalled_until_us is not None:
            now_us = self.timeline.now_us
            if self._stalled_until_us != FOREVER and self._stalled_until_us <= now_us:
                break
            self._waiter = waiter = self.timeline.waiter("its stall to end")
            if self._stalled_until_us == FOREVER:
                await self.park(waiter)
            else:
                await self.park_until(waiter, self._stalled_until_us)
            self._waiter = None
        self._stalled_until_us = None
        self._poll_called()

    # --- what its parts tell each other ----------------------------------------------------------------

    def position_out_of_range(self, partition: str) -> None:
        """The log does not reach the position (any more): `auto.offset.reset` decides."""
        self.membership.lose_position(partition)
        self.want_attention()

    def heartbeats_on(self) -> None:
        """A JoinGroup succeeded: beat from now on."""
        self.heartbeats.enable()

    def heartbeats_off(self) -> None:
        """There is no member id or generation to beat for."""
        self.heartbeats.disable()

    async def commit_sync(self) -> bool:
        """CommitSync of the positions: true when they are stored."""
        return await self.membership.commit_sync(self.config["default.api.timeout.ms"] * MS)

    def commit_async(self) -> None:
        """CommitAsync of the positions."""
        self.membership.commit_async()

    def heartbeat_refused(self, error: ErrorCode) -> None:
        """A heartbeat was answered with an error."""
        self.membership.refused(error)

    def leave_for_slow_poll(self) -> None:
        """max.poll.interval.ms passed without poll(): leave the group so that others get the partitions."""
        if self.coordinator >= 0 and self.member_id:
            leaving = LeavingMember(self.member_id, self.instance_id, "poll interval exceeded")
            request = LeaveGroupRequest(self.group, (leaving,))
            self.connection(self.coordinator).send(request, _ignore)
        self.membership.forget(member_id=True, state="Left", reason="max.poll.interval.ms passed without poll()")


def _ignore(_: object) -> None:
    """A member that leaves does not wait to hear that it may."""
