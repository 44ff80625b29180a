"""A consumer: its process, its poll loop, and what the two threads share.

The poll loop does what an application does: poll(), work on the records, poll() again. Everything about the group
happens inside poll() (`GroupMembership`), and mostly without waiting: what a cooperative member holds is read on while
it rejoins. The heartbeat thread only keeps the session alive and asks for a rejoin.
An idle stretch of polls is one wait here: nobody can tell it from poll() returning nothing and being called again.
Source: `org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer`, `ConsumerCoordinator`.
"""

from collections.abc import Callable
from typing import Any, cast

import trio

from cluster import events as e
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer_coordinator import ConsumerCoordinator
from cluster.clients.consumer.consumer_host import MS, ConsumerHost, MemberIdentity
from cluster.clients.consumer.heartbeat_thread import HeartbeatThread
from cluster.clients.consumer.metadata_refresh import MetadataRefresh
from cluster.clients.process import ClientEnvironment
from cluster.config import in_flight_keys
from cluster.protocol import reasons
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import LeaveGroupRequest, LeavingMember
from cluster.random_streams import random_stream
from cluster.spec import GroupSpec

FOREVER = -1


class Consumer(ConsumerHost):
    """One member of a group: the process, with its poll loop."""

    def __init__(
        self,
        environment: ClientEnvironment,
        spec: GroupSpec,
        name: str,
        number: int,
        config: dict[str, Any],
        application: Application,
    ) -> None:
        super().__init__(environment, spec, name, number, config)
        self.application, self.declared = application, spec
        self.heartbeats = HeartbeatThread(self)
        self.membership = ConsumerCoordinator(self)
        self.metadata = MetadataRefresh(self, self.membership.rejoin)
        self._closing = False
        self._failure: str | None = None
        self._stalled_until_us: int | None = None
        self._seeks: dict[str, int] = {}
        self.on_crashed: Callable[[], object] | None = None
        self._start_jitter = random_stream(environment.seed, f"start/{name}").random

    # --- the process --------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process: its threads run in a nursery of their own.

        No two take equally long until main() runs, and heartbeat threads look every `retry.backoff.ms`: each life is
        late by something of its own, so that ties between members are not always decided one way.
        """
        self.start_delay_us = int(self._start_jitter() * self.environment.start_jitter_us)
        if self.declared is not self.spec:
            self._reload_spec()
        self.begin()
        self.reset_state()
        self.membership.reset()
        self.heartbeats.reset()
        self._closing, self._failure, self._stalled_until_us = False, None, None
        self._seeks = {}
        self.state = "Joining"
        self.emit(e.MemberStarted(group=self.group, member=self.name))
        self.timeline.start(nursery, self._run, name=self.name)
        if self.application.output_producer is not None:
            self.application.output_producer.launch(nursery)

    def declare(self) -> None:
        """Tell what the world may know of this member before it runs."""
        config = self.config
        self.emit(
            e.MemberDeclared(
                group=self.group,
                member=self.name,
                instance_id=config["group.instance.id"] or "",
                topics=self.topics,
                session_timeout_ms=config["session.timeout.ms"],
                heartbeat_interval_ms=config["heartbeat.interval.ms"],
                max_poll_interval_ms=config["max.poll.interval.ms"],
            )
        )

    def configure(self, declared: GroupSpec) -> None:
        """Its group is declared otherwise: what can change in flight does, the rest when the process starts again."""
        self.declared = declared
        config = declared.consumer_config(self.name)
        self.config |= {key: config[key] for key in in_flight_keys("consumer")}
        self.read_config()
        self.application.take(declared.application.per_record_us)
        self.heartbeats.wake()

    def _reload_spec(self) -> None:
        """A new process reads all of its configuration."""
        self.spec = self.declared
        self.application.spec = self.spec.application
        self.config = dict(self.spec.consumer_config(self.name))
        self.read_config()
        self.declare()

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            if not self.alive:
                return
            self.scope = nursery.cancel_scope
            self.timeline.start(nursery, self._poll_loop, name=f"{self.name}/poll")
            self.timeline.start(nursery, self.heartbeats.run, name=f"{self.name}/heartbeat")
            self.timeline.start(nursery, self.metadata.run, name=f"{self.name}/metadata")

    def kill(self) -> None:
        """Kill -9: what the application had finished by now counts, nothing else is said to anybody."""
        self.application.interrupt(self)
        self._gone("kill")

    def crash(self, reason: str) -> None:
        """The process dies of itself: as after kill -9, nothing is said to anybody."""
        self.application.interrupt(self)
        self._crashed(reason)

    def _crashed(self, reason: str) -> None:
        was_to_end = self._closing and self.on_stopped is None
        self._gone("crash", reason)
        if self.on_crashed is not None and not was_to_end:
            self.on_crashed()

    def _gone(self, how: str, reason: str = "") -> None:
        self.end()
        self.owned = ()
        self.stable = False
        self.state = "Left" if how == "stop" else "Dead"
        self.emit(e.MemberStopped(group=self.group, member=self.name, how=how, reason=reason))
        writer = self.application.output_producer
        if writer is not None:
            if how == "stop":
                writer.closed()
            else:
                writer.kill()
        self.notify_stopped(cleanly=how == "stop")

    def freeze(self) -> None:
        """Freeze the whole process: poll loop and heartbeat thread."""
        super().freeze()
        self.emit(e.MemberPaused(group=self.group, member=self.name))
        if self.application.output_producer is not None:
            self.application.output_producer.freeze()

    def thaw(self) -> None:
        """Go on."""
        self.emit(e.MemberResumed(group=self.group, member=self.name))
        if self.application.output_producer is not None:
            self.application.output_producer.thaw()
        super().thaw()

    @property
    def closing(self) -> bool:
        """Whether its application was asked to stop, and has not."""
        return self.alive and self._closing

    def close_soon(self) -> None:
        """Ask the application to stop: it finishes the records it has and calls close()."""
        self._closing = True
        self.request_attention()
        self.unstall()

    # --- the poll loop ------------------------------------------------------------------------------------------------

    async def _poll_loop(self) -> None:
        timeline, fetcher, application = self.timeline, self.fetcher, self.application
        if self.start_delay_us:
            await self.sleep(self.start_delay_us)
        await application.begin(self)
        while True:
            if self.needs_attention:
                if not await self._do_pending_work():
                    return
                continue
            if self.auto_commit and timeline.now_us >= self.next_auto_commit_us:
                self._auto_commit()
            slices: list[Any] = []
            if not self.records_withheld:
                slices = fetcher.collect(self.max_poll_records)
                fetcher.send()
            if slices:
                self._poll_returned(slices)
                await application.work(self, slices)
                if not self.alive:
                    return
                self._poll_called()
                continue
            self._waiter = waiter = timeline.waiter("records")
            await timeline.park(waiter)
            if not self.running:
                await self._frozen()
            self._waiter = None

    def _auto_commit(self) -> None:
        """The auto commit of a poll(): without a coordinator it leaves when one is found."""
        sent = self.membership.commits.send(self._auto_commit_ended, during="poll")
        if sent or self.coordinator >= 0 or not self.stable:
            self.schedule_auto_commit()

    def _auto_commit_ended(self, error: ErrorCode) -> None:
        if error.retriable:
            self.auto_commit_in(self.retry_backoff_us)

    def _poll_returned(self, slices: list[Any]) -> None:
        positions: dict[str, int] = {}
        records, now_at = 0, self.fetcher.positions
        for batch, first, end in slices:
            positions[batch.partition] = now_at[batch.partition]
            records += end - first
        self.in_poll = False
        self.last_poll_us = self.timeline.now_us
        if self.heartbeats.enabled and self.max_poll_interval_us < self.heartbeat_interval_us:
            self.heartbeats.wake()
        fetches, self.fetcher.answered_fetches = self.fetcher.answered_fetches, 0
        self.emit(
            e.PollReturned(group=self.group, member=self.name, records=records, positions=positions, fetches=fetches)
        )

    def _poll_called(self) -> None:
        self.in_poll = True
        self.emit(e.PollStarted(group=self.group, member=self.name))

    async def _do_pending_work(self) -> bool:
        """Everything that poll() does besides returning records, one thing at a time; false once closed."""
        if self._stalled_until_us is not None:
            await self._run_stall()
        elif self._closing or self._failure is not None:
            await self._close()
            return False
        elif self._seeks:
            self.seek_back(self._seeks)
            self._seeks = {}
        elif self.membership.positions.validation.outdated:
            self.membership.positions.validation.look()
        elif self.metadata_refresh_due and not self.topic_partitions:
            await self.metadata.refresh()
        elif self.membership.has_work:
            await self.membership.work()
        else:
            self.needs_attention = False
        return self.alive

    async def _close(self) -> None:
        """close(): commit, onPartitionsRevoked, LeaveGroup; then the process ends. What it wrote is flushed before."""
        writer = self.application.output_producer
        if writer is not None and writer.failure is None:
            await writer.flush(self)
        await self.membership.close()
        if self._failure is None:
            if self.state != "Left":
                self.set_state("Left", reasons.CLOSED)
            self._gone("stop")
        else:
            self.set_state("Dead", self._failure)
            self._crashed(self._failure)

    def fail(self, reason: str) -> None:
        """poll() throws something that no application survives: it closes its consumer and ends."""
        self._failure = reason
        self.emit(e.ApplicationFailed(group=self.group, member=self.name, reason=reason))
        self.request_attention()

    @property
    def watched_topics(self) -> tuple[str, ...]:
        """What it subscribes to; as a leader, what the others do as well."""
        return self.membership.rejoin.watched_topics

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """subscribe(): from its next poll() on the member wants these topics; a dead one when it starts again."""
        self.topics = topics
        self.emit(e.SubscriptionChanged(group=self.group, member=self.name, topics=topics))
        self.membership.rejoin.check_metadata_changed()
        self.mark_metadata_stale()

    # --- what holds a member up ---------------------------------------------------------------------------------------

    def stall(self, until_us: int) -> None:
        """From its next call on the application does not call poll() until then (FOREVER: until `unstall`)."""
        self._stalled_until_us = until_us
        self.request_attention()

    def unstall(self) -> None:
        """The application calls poll() again."""
        if self._stalled_until_us is not None:
            self._stalled_until_us = self.timeline.now_us
            self.wake()

    async def _run_stall(self) -> None:
        until_us = cast(int, self._stalled_until_us)
        self.in_poll, self.last_poll_us = False, self.timeline.now_us
        self.emit(e.ApplicationStalled(group=self.group, member=self.name, until_us=until_us))
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

    def position_skipped(self, partition: str, position: int) -> None:
        """The position passed offsets that the application does not get."""
        self.emit(e.PositionsMovedOn(group=self.group, member=self.name, positions={partition: position}))

    def position_out_of_range(self, partition: str) -> None:
        """The log does not reach the position (any more): `auto.offset.reset` decides."""
        self.membership.positions.out_of_range(partition)
        self.request_attention()

    def enable_heartbeats(self) -> None:
        """A JoinGroup succeeded: beat from now on."""
        self.heartbeats.enable()

    def disable_heartbeats(self) -> None:
        """There is no member id or generation to beat for, or JoinGroup is under way."""
        self.heartbeats.disable()

    async def commit_sync(self) -> bool:
        """CommitSync of the positions: true when they are stored."""
        return await self.membership.commit_sync(self.config["default.api.timeout.ms"] * MS)

    def commit_async(self) -> None:
        """CommitAsync of the positions."""
        self.membership.commits.send()

    def seek_back(self, positions: dict[str, int]) -> None:
        """The application seeks to these positions, of what it still holds, before it polls again."""
        for name, offset in positions.items():
            if name in self.owned:
                self.membership.positions.seek(name, offset)

    def reset_to_committed(self, otherwise: dict[str, int], reason: str) -> None:
        """The application forgets what it has read since its last commit, of what it still holds."""
        self.membership.positions.reset_to_committed(otherwise, reason)
        self.request_attention()

    def seek(self, partition: str, offset: int) -> None:
        """The application is told to seek: it does between two calls of poll(), when it has worked on its records."""
        self._seeks[partition] = offset
        self.request_attention()

    def heartbeat_failed(self, error: ErrorCode, sent_as: MemberIdentity) -> None:
        """A heartbeat that was sent as this member was answered with an error."""
        self.membership.on_error(error, sent_as, "HEARTBEAT")

    def coordinator_found(self, broker: int) -> None:
        """As any member; the heartbeat thread looks as soon as poll() has found it.

        `ensureCoordinatorReady` is synchronized, so that thread waits for it; a heartbeat that is overdue goes out
        behind what poll() has to send.
        """
        super().coordinator_found(broker)
        self.heartbeats.wake()

    def coordinator_unknown(self, cause: str = "null", *, disconnected: bool = False) -> None:
        """As any member; the heartbeat thread looks for it as well, whatever the poll loop is busy with."""
        super().coordinator_unknown(cause, disconnected=disconnected)
        self.heartbeats.wake()

    def look_up_coordinator(self) -> None:
        """The heartbeat thread needs the coordinator, too."""
        self.membership.lookup.begin()

    def leave_for_slow_poll(self) -> None:
        """max.poll.interval.ms passed without poll(): leave the group so that others get the partitions."""
        if self.coordinator >= 0 and self.member_id and self.instance_id is None:
            leaving = LeavingMember(self.member_id, None, reasons.POLL_TIMEOUT)
            self.send_to_coordinator(LeaveGroupRequest(self.group, (leaving,)), _ignore)
        why = "max.poll.interval.ms passed without poll()"
        self.membership.reset_generation(reasons.LEAVING, member_id=True, state="Left", reason=why)


def _ignore(_: object) -> None:
    """A member that leaves does not wait to hear that it may."""
