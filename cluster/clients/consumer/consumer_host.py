"""What a consumer's threads share: identity, clocks, what it owns, and the ways in which one asks another to act.

The poll loop, the heartbeat thread, the group membership and the application each see a `Member`; `Consumer` is the
process that puts them together.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from cluster import events as e
from cluster.assignors import Assignor, assignor_named, protocols_of
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.process import ClientEnvironment, Process, coordinator_node
from cluster.clients.producer.transaction_offsets import ConsumerGroupMetadata
from cluster.network import Connection, InFlightRequest
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.spec import GroupSpec
from cluster.virtual_time import Timer, Waiter

MS = 1_000
UNAVAILABLE = "coordinator unavailable"  # why a coordinator is given up that no connection can be made to


class MemberIdentity(NamedTuple):
    """As whom a member speaks to its coordinator: an answer to somebody who is no more does not count."""

    generation: int
    member_id: str


class ConsumerHost(Process):
    """One member of a group, as its own process knows it. `config` has every consumer key of Kafka.

    `in_poll` while poll() runs (or an idle stretch of polls), `last_poll_us` when it last did. `attention`: something
    other than records wants the poll loop. `stable`: a member in its own eyes (Kafka's `MemberState.STABLE`), which is
    what it needs to commit. `records_withheld`: poll() returns no records, for what is owned is about to be revoked.
    """

    def __init__(
        self, environment: ClientEnvironment, spec: GroupSpec, name: str, number: int, config: dict[str, Any]
    ) -> None:
        super().__init__(environment, name, number, config)
        self.spec, self.group, self.config = spec, spec.name, config
        self.topics = spec.topics_of(name)
        self.assignors: tuple[Assignor, ...] = ()
        self.cooperative = False
        self.fetcher = Fetcher(self, 0, 0, 1, read_committed=config["isolation.level"] == "read_committed")
        self.read_config()
        self.processed = 0
        self.start_delay_us = 0  # this life's share of the start jitter
        self.reset_state()

    def read_config(self) -> None:
        """Read the keys that are looked at again and again, and so change in flight."""
        config = self.config
        self.read_timeouts(config)
        self.session_timeout_us: int = config["session.timeout.ms"] * MS
        self.heartbeat_interval_us: int = config["heartbeat.interval.ms"] * MS
        self.max_poll_interval_us: int = config["max.poll.interval.ms"] * MS
        self.max_poll_records: int = config["max.poll.records"]
        self.auto_commit_interval_us: int = max(1, config["auto.commit.interval.ms"]) * MS  # 0: with every poll()
        max_wait_us = max(1, config["fetch.max.wait.ms"] * MS)
        self.fetcher.limit(config["fetch.max.bytes"], config["max.partition.fetch.bytes"], max_wait_us)

    def reset_state(self) -> None:
        """A new process: nothing known, nothing owned."""
        self.state = "Left"
        self.auto_commit = self.spec.application.commit == "auto" and bool(self.config["enable.auto.commit"])
        self.instance_id: str | None = self.config["group.instance.id"]
        self.assignors = tuple(assignor_named(name) for name in self.config["partition.assignment.strategy"])
        self.cooperative = all("COOPERATIVE" in protocols_of(assignor) for assignor in self.assignors)
        self.coordinator, self.member_id, self.generation = -1, "", -1
        self._coordinator_requests: dict[InFlightRequest, Callable[[Any], object]] = {}
        self._all_answered: Waiter | None = None
        self.stable = self.records_withheld = False
        self.group_metadata = ConsumerGroupMetadata(self.group, -1, "", self.instance_id)
        self._metadata_timer: Timer | None = None
        self._metadata_waiter: Waiter | None = None
        self.coordinator_since_us = 0
        self.owned: tuple[str, ...] = ()
        self.fetcher.reset()
        self.in_poll = True
        self.last_poll_us = self.timeline.now_us
        self.next_auto_commit_us = 0
        self._commit_timer: Timer | None = None
        self.needs_attention = True
        self.metadata_stale = True
        self._backing_off: Timer | None = None
        self._waiter: Waiter | None = None

    def set_state(self, state: str, reason: str = "") -> None:
        """Tell the world where the client itself stands."""
        self.state = state
        self.emit(
            e.MemberStateChanged(
                group=self.group,
                member=self.name,
                member_id=self.member_id,
                generation=self.generation,
                state=state,
                reason=reason,
            )
        )

    # --- asking the poll loop ---------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Something happened that poll() waits for."""
        waiter = self._waiter
        if waiter is not None:
            waiter.wake()

    def schedule_auto_commit(self) -> None:
        """The next auto commit is one interval from now, at the first poll() after it; an idle poll() wakes for it."""
        self._next_auto_commit(self.timeline.now_us + self.auto_commit_interval_us)

    def _next_auto_commit(self, at_us: int) -> None:
        self.next_auto_commit_us = at_us
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        if self.auto_commit:
            self._commit_timer = self.timeline.call_at(self.next_auto_commit_us, self.wake)

    def end(self) -> None:
        """The process is gone."""
        super().end()
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None

    def auto_commit_in(self, delay_us: int) -> None:
        """The next auto commit is due after this time, sooner than its interval says."""
        self._next_auto_commit(self.timeline.now_us + delay_us)

    def request_attention(self) -> None:
        """Something other than records: the poll loop looks at all of it before it goes on."""
        self.needs_attention = True
        self.wake()

    def mark_metadata_stale(self) -> None:
        """A broker said that it does not lead, or does not answer: refresh before fetching again."""
        self.metadata_stale = True
        if self._backing_off is None:
            self._refresh_soon()

    async def wait_for_stale_metadata(self) -> None:
        """Wait until somebody finds it stale."""
        self._metadata_waiter = waiter = self.timeline.waiter("stale metadata")
        await self.park(waiter)

    def _refresh_soon(self) -> None:
        if self._metadata_waiter is not None:
            self._metadata_waiter.wake()
        self.request_attention()

    @property
    def metadata_refresh_due(self) -> bool:
        """Whether to refresh it now: not while it is `retry.backoff.ms` since leaders were missing."""
        return self.metadata_stale and self._backing_off is None

    def retry_refresh_later(self) -> None:
        """Some partition has no leader: ask again after `retry.backoff.ms`, and go on meanwhile."""
        self.metadata_stale = True
        self._backing_off = self.after(self.retry_backoff_us, self._ask_again)

    def _ask_again(self) -> None:
        self._backing_off = None
        self._refresh_soon()

    def refreshed(self) -> None:
        """Metadata came: from now on somebody looks when it gets too old."""
        if self._metadata_timer is None:
            self._schedule_metadata_expiry()

    def _schedule_metadata_expiry(self) -> None:
        age_us = self._metadata_age_us
        self._metadata_timer = self.after(
            age_us - (self.timeline.now_us - self.refreshed_us) % age_us, self._metadata_expired
        )

    @property
    def _metadata_age_us(self) -> int:
        age_us: int = self.config["metadata.max.age.ms"] * MS
        return max(age_us, self.retry_backoff_us)

    def _metadata_expired(self) -> None:
        """`metadata.max.age.ms` after a refresh comes the next one, if there is something to find out; of any broker.

        Kafka asks the least loaded broker, which need not be the one that was asked last.
        """
        old = self.timeline.now_us - self.refreshed_us >= self._metadata_age_us
        if old and any(self._changed(topic) for topic in self.watched_topics):
            self.try_another_broker()
            self.mark_metadata_stale()
        self._schedule_metadata_expiry()

    @property
    @abstractmethod
    def watched_topics(self) -> tuple[str, ...]:
        """The topics that its metadata is about."""

    def _changed(self, topic: str) -> bool:
        """Whether a topic has other partitions or leaders than this client knows."""
        known, leaders = self.topic_partitions.get(topic, ()), self.environment.leaders
        return f"{topic}-{len(known)}" in leaders or any(
            self.partitions[name].leader_epoch != leaders[name].leader_epoch for name in known
        )

    # --- talking to the coordinator -----------------------------------------------------------------------------------

    @property
    def identity(self) -> MemberIdentity:
        """As whom it speaks now."""
        return MemberIdentity(self.generation, self.member_id)

    def send_to_coordinator(
        self, request: Request, answered: Callable[[Any], object], *, timeout_us: int | None = None
    ) -> None:
        """Send a request on the coordinator's own connection: once that is given up, every request ends with None.

        `timeout_us`: how long it may be parked there instead of `request.timeout.ms`.
        """
        timer: Timer | None = None

        def ended(response: object) -> None:
            if timer is not None:
                timer.cancel()
            if self._coordinator_requests.pop(call, None) is not None and response is None:
                self.coordinator_unknown(disconnected=True)
            if self._all_answered is not None:
                self._all_answered.wake()
            answered(response)

        connection = self.connection(coordinator_node(self.coordinator))
        call = connection.send(request, ended, long_poll=timeout_us is not None, own_timeout=timeout_us is not None)
        self._coordinator_requests[call] = ended
        if timeout_us is not None:
            timer = self.after(timeout_us, partial(self.coordinator_unknown, disconnected=True))

    async def ask_coordinator(self, request: Request) -> Any:  # noqa: ANN401 - its response
        """Send a request to the coordinator and wait for its response; None when the coordinator is given up."""
        waiter = self.timeline.waiter(request)
        self.send_to_coordinator(request, waiter.wake)
        return await self.park(waiter)

    def coordinator_found(self, broker: int) -> None:
        """The coordinator can be asked from now on."""
        self.coordinator, self.coordinator_since_us = broker, self.timeline.now_us
        self.emit(e.CoordinatorFound(group=self.group, member=self.name, broker=broker))
        self.request_attention()

    def coordinator_unavailable(self, broker: int) -> None:
        """The coordinator is found again, and may not be connected to yet. Source: `ensureCoordinatorReady`."""
        lost = e.CoordinatorLost(
            group=self.group, member=self.name, broker=broker, cause=UNAVAILABLE, disconnected=False
        )
        self.emit(e.CoordinatorFound(group=self.group, member=self.name, broker=broker))
        self.emit(lost)

    def coordinator_unknown(self, cause: str = "null", *, disconnected: bool = False) -> None:
        """The coordinator does not answer, or says that it is not one: drop its connection, look it up again.

        Source: `AbstractCoordinator.markCoordinatorUnknown`.
        """
        if self.coordinator >= 0 and self.running:
            self.emit(
                e.CoordinatorLost(
                    group=self.group, member=self.name, broker=self.coordinator, cause=cause, disconnected=disconnected
                )
            )
        connection = self._coordinator_connection
        self.coordinator = -1
        if connection is not None:
            connection.disconnect()
        calls, self._coordinator_requests = self._coordinator_requests, {}
        for call, ended in calls.items():
            call.give_up()
            ended(None)
        self.request_attention()

    @property
    def _coordinator_connection(self) -> Connection | None:
        """The connection that the coordinator is asked over, broken or not."""
        return self._connections.get(coordinator_node(self.coordinator)) if self.coordinator >= 0 else None

    def disconnected(self, connection: Connection) -> None:
        """The coordinator cannot be asked while there is no connection to it: look it up again.

        A request in flight has said so before; without one it shows when the coordinator is to be asked.
        Source: `AbstractCoordinator.checkAndGetCoordinator`.
        """
        if connection is self._coordinator_connection:
            self.coordinator_unknown(UNAVAILABLE, disconnected=True)

    async def await_pending_requests(self, until_us: int) -> None:
        """Wait until the coordinator has answered everything, or is given up, or until an instant.

        Source: `ConsumerNetworkClient.awaitPendingRequests`.
        """
        while self._coordinator_requests and self.timeline.now_us < until_us:
            self._all_answered = waiter = self.timeline.waiter("the coordinator's last answers")
            await self.park_until(waiter, until_us)
            self._all_answered = None

    # --- asking each other ------------------------------------------------------------------------------------------

    @abstractmethod
    def position_skipped(self, partition: str, position: int) -> None:
        """The position passed offsets that the application does not get."""

    @abstractmethod
    def position_out_of_range(self, partition: str) -> None:
        """The log does not reach the position (any more): `auto.offset.reset` decides."""

    @abstractmethod
    def crash(self, reason: str) -> None:
        """The process dies of itself, as by an exception that nobody caught; `reason` in words."""

    @abstractmethod
    def seek_back(self, positions: dict[str, int]) -> None:
        """The application seeks to these positions, of what it still holds, before it polls again."""

    @abstractmethod
    def reset_to_committed(self, otherwise: dict[str, int], reason: str) -> None:
        """The application forgets what it has read since its last commit; `otherwise`: where nothing is committed."""

    @abstractmethod
    def enable_heartbeats(self) -> None:
        """A JoinGroup succeeded: beat from now on."""

    @abstractmethod
    def disable_heartbeats(self) -> None:
        """There is no member id or generation to beat for."""

    @abstractmethod
    def heartbeat_failed(self, error: ErrorCode, sent_as: MemberIdentity) -> None:
        """A heartbeat that was sent as this member was answered with an error."""

    @abstractmethod
    def look_up_coordinator(self) -> None:
        """The heartbeat thread needs the coordinator, too."""

    @abstractmethod
    def fail(self, reason: str) -> None:
        """poll() throws something that no application survives: it closes its consumer and ends."""

    @abstractmethod
    def leave_for_slow_poll(self) -> None:
        """max.poll.interval.ms passed without poll(): leave the group so that others get the partitions."""

    @abstractmethod
    async def commit_sync(self) -> bool:
        """CommitSync of the positions: true when they are stored."""

    @abstractmethod
    def commit_async(self) -> None:
        """CommitAsync of the positions."""
