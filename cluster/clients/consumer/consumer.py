"""A consumer: its process and its poll loop.

The poll loop does what an application does: poll(), process the records, poll() again. The group protocol runs inside
poll() (`ConsumerCoordinator`), mostly without waiting: a cooperative member reads on while it rejoins. The heartbeat
thread only keeps the session alive and requests rejoins. The loop's task runs only where it waits for more than records
or the end of work on them; `_poll` does the rest in the task's place.
An idle stretch of polls is one wait here; its effects equal those of polls that return no records.
Source: `org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer`, `ConsumerCoordinator`.
"""

from collections.abc import Callable, Iterator
from typing import Final

import trio

from cluster import events as e
from cluster.clients.async_consumer.async_membership import AsyncMembership
from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer_coordinator import ConsumerCoordinator
from cluster.clients.consumer.consumer_host import MS, ConsumerHost
from cluster.clients.consumer.group_membership import GroupMembership
from cluster.clients.consumer.metadata_refresh import MetadataRefresh
from cluster.clients.process import Wait
from cluster.config import FORBIDDEN_WITH, ConsumerConfig, in_flight_keys
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import Slice
from cluster.spec import GroupSpec
from cluster.virtual_time import Continuation

FOREVER: Final = -1
NOT_SUBSCRIBED: Final = "IllegalStateException: Consumer is not subscribed to any topics or assigned any partitions"


class Consumer(ConsumerHost):
    """One member of a group: the process, with its poll loop.

    `declared`: the group's spec as `set` commands left it; `spec`: the one in force. `on_crashed` runs after a crash,
    `on_pod_changed` when the process gets ready or has ended, `on_resumed` with partitions that are not paused any
    longer: resumed, revoked or lost. `reports_readiness`: whether `member_ready` is emitted,
    as it is anyway where the scenario says something of start-up or readiness.
    """

    _polling: Continuation  # of this process's poll loop

    def __init__(
        self,
        environment: ClientEnvironment,
        spec: GroupSpec,
        name: str,
        number: int,
        application: Application,
    ) -> None:
        super().__init__(environment, spec, name, number)
        self.application, self.declared = application, spec
        self._choose_protocol()
        self._closing = False
        self.emitted_assignors = spec.assignors  # what events say that its next process offers
        self._failure: str | None = None
        self._stalled_until_us: int | None = None
        self._seeks: dict[str, int] = {}
        self._unsubscribes = False  # before the next poll()
        self._topics_before: tuple[str, ...] = ()  # unsubscribe(): what the next process subscribes to
        self._pauses: dict[str, bool] = {}  # to pause (True) or resume between two calls of poll()
        self._work: Iterator[int | Wait] | None = None  # on the records of the last poll()
        self.ready = self.reports_readiness = False
        self.on_crashed: Callable[[], object] | None = None
        self.on_pod_changed: Callable[[], object] | None = None
        self.on_resumed: Callable[[tuple[str, ...]], object] | None = None

    def _choose_protocol(self) -> None:
        """Take the membership of `group.protocol`; with assign() there is no group, and both would do the same."""
        new = self.config.group_protocol == "consumer" and not self.user_assigned
        kind: type[GroupMembership] = AsyncMembership if new else ConsumerCoordinator
        self.membership: GroupMembership = kind(self, self.application)
        self.heartbeats, self.states = self.membership.thread, self.membership.states
        self.state = self.states.initial
        self.metadata = MetadataRefresh(self, self.membership)

    # --- the process --------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process: its threads run in a nursery of their own.

        Real processes need different times until main() runs, and their heartbeat threads wake every
        `retry.backoff.ms`. So each process gets its own start delay, which keeps ties between members from always being
        decided the same way.
        """
        self.start_delay_us = int(self.random() * self.environment.start_jitter_us)
        if self.declared is not self.spec:
            self._reload_spec()
        self.begin()
        self.reset_state()
        self.membership.reset()
        self._closing, self._failure, self._stalled_until_us = False, None, None
        self._seeks, self._pauses, self._unsubscribes = {}, {}, False
        self._polling = self._waiter = self.timeline.continuation(self._poll, "records")
        self._work, self.ready = None, False
        if self.application.workers is not None:
            self.application.workers.begin(self)
        self.emit(e.MemberStarted(group=self.group, member=self.name))
        if self._topics_before:
            self._subscribe(self._topics_before)
        self.membership.process_started()
        self.timeline.start(nursery, self._run, name=self.name)
        if self.application.output_producer is not None:
            self.application.output_producer.launch(nursery)

    def declare(self) -> None:
        """Emit the member's configuration, before its process starts: invariants hold what it does against this."""
        config = self.config
        session_timeout_ms, heartbeat_interval_ms = self.configured_liveness_ms
        self.emit(
            e.MemberDeclared(
                group=self.group,
                member=self.name,
                instance_id=config.group_instance_id or "",
                topics=self.topics,
                session_timeout_ms=session_timeout_ms,
                heartbeat_interval_ms=heartbeat_interval_ms,
                max_poll_interval_ms=config.max_poll_interval_ms,
            )
        )
        self._declare_assignors(config.partition_assignment_strategy)

    def _declare_assignors(self, assignors: tuple[str, ...]) -> None:
        """Emit what the member's next process offers, if that is not what the last event said."""
        if assignors != self.emitted_assignors:
            self.emitted_assignors = assignors
            self.emit(e.MemberAssignorsDeclared(group=self.group, member=self.name, assignors=assignors))

    def configure(self, declared: GroupSpec) -> None:
        """Take a changed spec: keys that change in flight hold at once, all others when the process starts again."""
        declared = self.declared = declared.of(self.name)
        values = declared.consumer_config(self.name)
        self._values |= {key: values[key] for key in in_flight_keys("consumer") if self.takes_now(key)}
        self.read_config()
        self.application.configure(declared.application)
        self.heartbeats.wake()
        self._declare_assignors(ConsumerConfig.of(values).partition_assignment_strategy)

    def takes_now(self, key: str) -> bool:
        """Whether a changed key holds for this process: not the timeouts of classic members across a migration.

        A deploy of the other `group.protocol` brings or drops them, for the processes that it starts.
        """
        declared = self.declared.consumer_config(self.name)["group.protocol"]
        return declared == self._values["group.protocol"] or key not in FORBIDDEN_WITH["consumer"]

    def _reload_spec(self) -> None:
        """Read the declared spec and all of its configuration, as a new process does."""
        self.spec = self.declared
        self.application.spec = self.spec.application
        self._values = dict(self.spec.consumer_config(self.name))
        self.read_config()
        self._choose_protocol()
        self.environment.network.place(self.name, self.config.client_rack)
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
        """End the process by kill -9: records that the application has finished count, and nothing is sent."""
        self.application.interrupt(self)
        self._ended("kill")

    def crash(self, reason: str) -> None:
        """End the process by a crash: as after kill -9, nothing is sent."""
        self.application.interrupt(self)
        self._crashed(reason)

    def _crashed(self, reason: str) -> None:
        stop_requested = self._closing and self.on_stopped is None
        self._ended("crash", reason)
        if self.on_crashed is not None and not stop_requested:
            self.on_crashed()

    def _ended(self, how: str, reason: str = "") -> None:
        self.end()
        self._not_paused(self.owned)
        self.owned = ()
        self.stable = self.ready = False
        end_state = self.membership.left if how == "stop" else self.membership.dead
        if self.state is not end_state:  # else close() has reported it already
            self.change_state(end_state)
        self.emit(e.MemberStopped(group=self.group, member=self.name, how=how, reason=reason))
        writer = self.application.output_producer
        if writer is not None:
            if how == "stop":
                writer.closed()
            else:
                writer.kill()
        self.notify_stopped(cleanly=how == "stop")
        self._pod_changed()

    def freeze(self) -> None:
        """Freeze the whole process: poll loop and heartbeat thread."""
        super().freeze()
        self.emit(e.MemberPaused(group=self.group, member=self.name))
        if self.application.output_producer is not None:
            self.application.output_producer.freeze()

    def thaw(self) -> None:
        """Resume the process."""
        self.emit(e.MemberResumed(group=self.group, member=self.name))
        if self.application.output_producer is not None:
            self.application.output_producer.thaw()
        super().thaw()

    @property
    def closing(self) -> bool:
        """Whether the application was asked to stop, and has not stopped yet."""
        return self.alive and self._closing

    def close_soon(self) -> None:
        """Ask the application to stop: it finishes the records that it has, and calls close()."""
        self._closing = True
        self.request_attention()
        self.unstall()

    # --- the poll loop ------------------------------------------------------------------------------------------------

    async def _poll_loop(self) -> None:
        if self.start_delay_us:
            await self.sleep(self.start_delay_us)
        if self.spec.startup_us:
            await self._start_up(self.timeline.now_us + self.spec.startup_us)
        if not self._closing or not self.spec.startup_us:
            await self.application.begin(self)
        if not self.topics and not self.topic_regex and not self.user_assigned:
            self.fail(NOT_SUBSCRIBED)
        if self.spec.ready == "started":
            self._become_ready()
        self.membership.begin_polling()
        while self.alive:
            wait = self._poll()
            if wait is None:
                wait = await self.timeline.park(self._polling)
            await wait()

    async def _start_up(self, until_us: int) -> None:
        """Load the application, until it calls its first poll(); a clean stop ends the process at once."""
        self.emit(e.MemberStartingUp(group=self.group, member=self.name, until_us=until_us))
        while not self._closing and self.timeline.now_us < until_us:
            self._waiter = waiter = self.timeline.waiter("its application to start up")
            await self.park_until(waiter, until_us)
        self._waiter = self._polling

    def _become_ready(self) -> None:
        """Let the readiness probe succeed from now on."""
        if self.ready or self._closing:
            return
        self.ready = True
        if self.reports_readiness or self.spec.startup_us or self.spec.ready == "joined":
            self.emit(e.MemberReady(group=self.group, member=self.name))
        self._pod_changed()

    def _pod_changed(self) -> None:
        if self.on_pod_changed is not None:
            self.on_pod_changed()

    def _poll(self) -> Wait | None:
        """Poll, and process the records, until something must be waited for.

        Returns what the thread waits for. Returns None when it waits for records, or for the end of work on some.
        """
        if not self.running:
            return self.thawed
        timeline, fetcher, work = self.timeline, self.fetcher, self._work
        while True:
            if work is not None:
                step = next(work, None)
                if isinstance(step, int):
                    timeline.wait_until(self._polling, timeline.now_us + step)
                    return None
                if step is not None:
                    return step
                self._work = None
                self._poll_called()
            if self.needs_attention:
                if fetcher.untold:
                    self._emit_fetched()
                return self._do_pending_work
            if self.auto_commit and timeline.now_us >= self.next_auto_commit_us:
                self._auto_commit()
            if self.records_withheld or not (slices := fetcher.poll(self.max_poll_records)):
                if fetcher.untold:
                    self._emit_fetched()
                self._polling.wait()
                return None
            if fetcher.untold:
                self._emit_fetched()
            self._poll_returned(slices)
            self._work = work = self.application.work(self, slices)

    def _auto_commit(self) -> None:
        """Send the auto commit of a poll(); without a coordinator it is sent when one is found."""
        sent = self.membership.commits.send(self._auto_commit_ended, during="poll")
        if sent or self.coordinator >= 0 or not self.stable:
            self.schedule_auto_commit()
        elif self.user_assigned:  # only a commit, or a missing position, looks the coordinator up
            self.membership.lookup.begin()

    def _auto_commit_ended(self, error: ErrorCode) -> None:
        if error.retriable and self.membership.commits.retries:
            self.auto_commit_in(self.retry_backoff_us)

    def _poll_returned(self, slices: list[Slice]) -> None:
        fetcher = self.fetcher
        positions: dict[str, int] = {}
        records, position_of = 0, fetcher.positions
        for batch, first, end in slices:
            partition = batch.partition
            positions[partition] = position_of[partition]
            records += end - first
        self.in_poll = False
        self.last_poll_us = self.timeline.now_us
        if self.heartbeats.enabled and self.max_poll_interval_us < self.heartbeat_interval_us:
            self.heartbeats.wake()
        fetches, fetcher.answered_fetches = fetcher.answered_fetches, 0
        self.emit(
            e.PollReturned(group=self.group, member=self.name, records=records, positions=positions, fetches=fetches)
        )

    def _poll_called(self) -> None:
        self.in_poll = True
        self.emit(e.PollStarted(group=self.group, member=self.name))

    async def _do_pending_work(self) -> None:
        """Do one thing that poll() does besides returning records."""
        if self._stalled_until_us is not None:
            await self._run_stall()
        elif self._closing or self._failure is not None:
            await self._close()
        elif self._unsubscribes:
            await self._unsubscribe()
        elif self._seeks:
            self.seek_back(self._seeks)
            self._seeks = {}
        elif self._pauses:
            self._call_pause_and_resume()
        elif self.membership.positions.validation.outdated:
            self.membership.positions.validation.check_leader_epochs()
        elif self.metadata_refresh_due and not self.topic_partitions:
            await self.metadata.refresh()
        elif self.membership.has_work:
            await self.membership.work()
        elif self.application.commit_due:
            await self.application.commit_finished(self)
        else:
            self.needs_attention = False

    async def _close(self) -> None:
        """close(): flush the output, commit, onPartitionsRevoked, LeaveGroup; then the process ends."""
        writer = self.application.output_producer
        if writer is not None and writer.failure is None:
            await writer.flush(self)
        if self.application.workers is not None and self._failure is None:
            await self.application.workers.drain(self)
        await self.membership.close()
        if self._failure is None:
            self.membership.closed()
            self._ended("stop")
        else:
            self.membership.failed(self._failure)
            self._crashed(self._failure)

    def fail(self, reason: str) -> None:
        """Let poll() throw a fatal error: the application closes its consumer and ends."""
        self._failure = reason
        self.emit(e.ApplicationFailed(group=self.group, member=self.name, reason=reason))
        self.request_attention()

    @property
    def watched_topics(self) -> tuple[str, ...]:
        """The topics whose metadata the member needs."""
        return self.membership.watched_topics

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """subscribe(): the next poll() joins with these topics; a dead member uses them when it starts again."""
        self._subscribe(topics)
        self.membership.metadata_changed()
        self.mark_metadata_stale()
        self.wake()

    def _subscribe(self, topics: tuple[str, ...]) -> None:
        self.topics, self._topics_before = topics, ()
        self.emit(e.SubscriptionChanged(group=self.group, member=self.name, topics=topics))

    def unsubscribe_soon(self) -> None:
        """Let the application call unsubscribe() between two calls of poll(), when it has processed its records."""
        self._unsubscribes = True
        self.request_attention()

    async def _unsubscribe(self) -> None:
        """unsubscribe(); poll() would throw from now on, so it is not called until there is a subscription."""
        self._unsubscribes, before = False, self.topics
        await self.membership.unsubscribe()
        self._subscribe(())
        self._topics_before = before
        while not self.topics and not self._closing:
            self._waiter = waiter = self.timeline.waiter("a subscription")
            await self.park(waiter)
        self._waiter = self._polling
        self.schedule_auto_commit()

    # --- stalls -------------------------------------------------------------------------------------------------------

    def stall(self, until_us: int) -> None:
        """Keep the application from calling poll() until this instant (FOREVER: until `unstall`)."""
        self._stalled_until_us = until_us
        self.request_attention()

    def unstall(self) -> None:
        """End a stall: the application calls poll() again."""
        if self._stalled_until_us is not None:
            self._stalled_until_us = self.timeline.now_us
            self.wake()

    async def _run_stall(self) -> None:
        until_us = self._stalled_until_us
        assert until_us is not None
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
        self._waiter, self._stalled_until_us = self._polling, None
        self._poll_called()

    # --- pause() and resume() -----------------------------------------------------------------------------------------

    def pause(self, partitions: tuple[str, ...]) -> None:
        """pause(): poll() returns no records of these partitions, and fetches none."""
        fresh = tuple(name for name in partitions if name not in self.fetcher.paused)
        if fresh:
            self.fetcher.pause(fresh)
            self.emit(e.PartitionsPaused(group=self.group, member=self.name, partitions=fresh))

    def resume(self, partitions: tuple[str, ...]) -> None:
        """resume(): poll() returns records of these partitions again."""
        paused = tuple(name for name in partitions if name in self.fetcher.paused)
        if paused:
            self.emit(e.PartitionsResumed(group=self.group, member=self.name, partitions=paused))
            self.fetcher.unpause(paused)
            self._not_paused(paused)
            self.wake()

    def pause_soon(self, partitions: tuple[str, ...], *, paused: bool) -> None:
        """Let the application call pause() or resume() between two calls of poll(), when it has processed its records.

        A consumer belongs to one thread: another that calls it gets ConcurrentModificationException.
        """
        self._pauses |= dict.fromkeys(partitions, paused)
        self.request_attention()

    def _call_pause_and_resume(self) -> None:
        asked, self._pauses = self._pauses, {}
        self.resume(tuple(name for name, paused in asked.items() if not paused))
        self.pause(tuple(name for name, paused in asked.items() if paused and name in self.owned))

    @property
    def paused_or_soon(self) -> tuple[str, ...]:
        """The partitions that are paused when poll() is called next."""
        known = {**dict.fromkeys(self.fetcher.paused, True), **self._pauses}
        return tuple(name for name, paused in known.items() if paused)

    def _not_paused(self, partitions: tuple[str, ...]) -> None:
        if self.on_resumed is not None:
            self.on_resumed(partitions)

    def give_up(self, partitions: tuple[str, ...], *, lost: bool) -> None:
        """onPartitionsRevoked, or onPartitionsLost: stop reading these partitions."""
        gone = dict.fromkeys(partitions)
        self.owned = tuple(name for name in self.owned if name not in gone)
        self.read_replica.forget(partitions)
        self.fetcher.revoke(partitions, "lost" if lost else "revoked")
        self.membership.positions.revoked(partitions)
        self.partitions_gone(partitions)
        self.emit(e.PartitionsRevoked(group=self.group, member=self.name, partitions=partitions, lost=lost))

    def partitions_gone(self, partitions: tuple[str, ...]) -> None:
        """Tell the application that these were revoked or lost; one that comes back is not paused."""
        for name in partitions:
            self.fetcher.paused.pop(name, None)
            self._pauses.pop(name, None)
        self._not_paused(partitions)
        if self.application.workers is not None:
            self.application.workers.drop(self, partitions)

    # --- what the parts ask of each other -----------------------------------------------------------------------------

    def joined(self) -> None:
        """Count as ready: the member has an assignment."""
        if self.spec.ready == "joined":
            self._become_ready()

    def records_buffered(self) -> None:
        """Emit what a Fetch brought, unless poll() waits for records: it may return all of them at once."""
        if self._work is not None or self.needs_attention or self.records_withheld or not self.running:
            self._emit_fetched()

    def _emit_fetched(self) -> None:
        untold, self.fetcher.untold = self.fetcher.untold, {}
        for broker in dict.fromkeys([one.broker for one in untold.values()]):
            of_broker = {name: one for name, one in untold.items() if one.broker == broker}
            self.emit(
                e.RecordsFetched(
                    group=self.group,
                    member=self.name,
                    broker=broker,
                    next_offsets={name: one.next_offset for name, one in of_broker.items()},
                    records={name: one.records for name, one in of_broker.items()},
                    bytes={name: one.bytes for name, one in of_broker.items()},
                )
            )

    def fetched_records_dropped(self, partitions: tuple[str, ...], reason: str) -> None:
        """Emit that buffered records are dropped."""
        self.emit(e.FetchedRecordsDropped(group=self.group, member=self.name, partitions=partitions, reason=reason))

    def position_skipped(self, partition: str, position: int) -> None:
        """Emit that the position passed offsets that the application does not get."""
        self.emit(e.PositionsMovedOn(group=self.group, member=self.name, positions={partition: position}))

    def position_out_of_range(self, partition: str) -> None:
        """Reset a position that is not in the log, by `auto.offset.reset`."""
        self.membership.positions.out_of_range(partition)
        self.request_attention()

    async def commit_sync(self) -> bool:
        """CommitSync of the positions; returns true when they are stored."""
        return await self.membership.commit_sync(self.config.default_api_timeout_ms * MS)

    def commit_async(self) -> None:
        """CommitAsync of the positions."""
        if not self.membership.commits.send() and self.user_assigned:
            self.membership.lookup.begin()

    def seek_back(self, positions: dict[str, int]) -> None:
        """Let the application seek to these positions, of partitions that are still owned, before its next poll()."""
        for name, offset in positions.items():
            if name in self.owned:
                self.membership.positions.seek(name, offset)

    def reset_to_committed(self, otherwise: dict[str, int], reason: str) -> None:
        """Return to the committed offsets of partitions that are still owned."""
        self.membership.positions.reset_to_committed(otherwise, reason)
        self.request_attention()

    def seek(self, partition: str, offset: int) -> None:
        """Let the application seek between two calls of poll(), when it has processed its records."""
        self._seeks[partition] = offset
        self.request_attention()

    def coordinator_found(self, broker: int) -> None:
        """Take the coordinator, and wake the heartbeat thread, which waited for it.

        `ensureCoordinatorReady` is synchronized, so that thread waits for the lookup; an overdue heartbeat is sent
        after the requests of poll().
        """
        super().coordinator_found(broker)
        self.heartbeats.wake()

    def coordinator_unknown(self, cause: str = "null", *, disconnected: bool = False) -> None:
        """Drop the coordinator, and wake the heartbeat thread, which finds it even if the poll loop is busy."""
        super().coordinator_unknown(cause, disconnected=disconnected)
        self.heartbeats.wake()
