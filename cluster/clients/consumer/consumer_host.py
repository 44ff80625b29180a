"""The consumer package's host interface, and the state that a consumer's threads share.

The poll loop, the heartbeat thread, the group protocol and the application each see a `ConsumerHost`. `Consumer` is the
process that owns them. The interface cuts the circle of imports between a process and its parts. It also keeps what
every part needs: identity, configuration, metadata, and the requests to the coordinator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from cluster import events as e
from cluster.assignors import Assignor, assignor_named, protocols_of
from cluster.clients.client_environment import ClientEnvironment
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.read_replica import ReadReplica
from cluster.clients.process import Process, coordinator_node
from cluster.clients.producer.transaction_offsets import ConsumerGroupMetadata
from cluster.config import ConsumerConfig
from cluster.network import Connection, InFlightRequest
from cluster.protocol.api import Request
from cluster.protocol.client_states import MEMBER_STATES
from cluster.protocol.state_machine import StateTable
from cluster.spec import GroupSpec
from cluster.virtual_time import Timer, Waiter

MS: Final = 1_000
UNAVAILABLE: Final = "coordinator unavailable"  # the cause of CoordinatorLost when no connection can be made


class MemberIdentity(NamedTuple):
    """The (generation, member id) that a request was sent with; stale answers are ignored."""

    generation: int
    member_id: str


class ConsumerHost(Process, ABC):
    """One member of a group, as its own process knows it.

    `in_poll`: poll() runs, or an idle stretch of polls. `last_poll_us`: when it last ran. `needs_attention`: the poll
    loop has work other than records. `stable`: the member considers itself Stable (Kafka's `MemberState.STABLE`), which
    a commit requires. `user_assigned`: the partitions of assign(), with which a consumer joins no group.
    `finished`: what a commit has instead of the positions, with leader epochs; worker threads are behind these.
    `records_withheld`: poll() returns no records, because partitions are about to be revoked.
    """

    def __init__(self, environment: ClientEnvironment, spec: GroupSpec, name: str, number: int) -> None:
        self._values = dict(spec.consumer_config(name))
        self.config = config = ConsumerConfig.of(self._values)
        super().__init__(environment, name, number, config)
        self.spec, self.group = spec, spec.name
        self.user_assigned = spec.assign.get(name, ())
        self.topics = () if self.user_assigned else spec.topics_of(name)
        self.topic_regex = "" if self.user_assigned else spec.topic_regex
        self.assignors: tuple[Assignor, ...] = ()
        self.cooperative = False
        self.read_replica = ReadReplica(self, self.group, self._read_replicas_changed)
        self.fetcher = Fetcher(self, 0, 0, 1)
        self.read_config()
        self.processed = self.start_delay_us = 0  # the latter is this process's share of the start jitter
        self.states: StateTable[Any, Any] = MEMBER_STATES
        self.state: StrEnum = MEMBER_STATES.initial
        self.reset_state()

    def read_config(self) -> None:
        """Make the typed configuration, and read the keys that are used most; those change in flight."""
        self.config = config = ConsumerConfig.of(self._values)
        self.read_timeouts(config)
        session_timeout_ms, heartbeat_interval_ms = self.configured_liveness_ms
        self.session_timeout_us, self.heartbeat_interval_us = session_timeout_ms * MS, heartbeat_interval_ms * MS
        self.max_poll_interval_us = config.max_poll_interval_ms * MS
        self.max_poll_records = config.max_poll_records
        self.auto_commit_interval_us = max(1, config.auto_commit_interval_ms) * MS  # 0: with every poll()
        max_wait_us = max(1, config.fetch_max_wait_ms * MS)
        self.fetcher.limit(config.fetch_max_bytes, config.max_partition_fetch_bytes, max_wait_us)
        self.fetcher.stand_in(config.client_rack, self._metadata_age_us)

    @property
    def configured_liveness_ms(self) -> tuple[int, int]:
        """Session timeout and heartbeat interval: the broker's for a member of the new protocol, else its own."""
        config, environment = self.config, self.environment
        if config.group_protocol == "consumer":
            return environment.group_session_timeout_ms, environment.group_heartbeat_interval_ms
        return config.session_timeout_ms, config.heartbeat_interval_ms

    def _read_replicas_changed(self) -> None:
        self.fetcher.route()
        self.wake()

    def reset_state(self) -> None:
        """Begin a new process: nothing known, nothing owned."""
        config = self.config
        self.auto_commit = self.spec.application.commit == "auto" and config.enable_auto_commit
        self.instance_id = config.group_instance_id
        self.assignors = tuple(assignor_named(name) for name in config.partition_assignment_strategy)
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
        self.finished: dict[str, tuple[int, int]] | None = None
        self.fetcher.reset(read_committed=config.read_committed)
        self.in_poll = True
        self.last_poll_us = self.timeline.now_us
        self.next_auto_commit_us = 0
        self._commit_timer: Timer | None = None
        self.needs_attention = True
        self.metadata_stale = True
        self._backing_off: Timer | None = None
        self._waiter: Waiter | None = None

    def change_state(self, to: StrEnum) -> None:
        """Change the member's state. Raises IllegalTransition."""
        self.state = self.states.next_state(self.state, to)

    def set_state(self, to: StrEnum, reason: str = "") -> None:
        """Change the member's state, and emit it. Raises IllegalTransition."""
        self.change_state(to)
        self.emit(
            e.MemberStateChanged(
                group=self.group,
                member=self.name,
                member_id=self.member_id,
                generation=self.generation,
                state=to.value,
                reason=reason,
            )
        )

    # --- the poll loop ------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Wake a waiting poll()."""
        waiter = self._waiter
        if waiter is not None:
            waiter.wake()

    def schedule_auto_commit(self) -> None:
        """Schedule the next auto commit for the first poll() after one interval; an idle poll() wakes for it."""
        self._next_auto_commit(self.timeline.now_us + self.auto_commit_interval_us)

    def _next_auto_commit(self, at_us: int) -> None:
        self.next_auto_commit_us = at_us
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        if self.auto_commit:
            self._commit_timer = self.timeline.call_at(self.next_auto_commit_us, self.wake)

    def end(self) -> None:
        """End the process."""
        super().end()
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None

    def auto_commit_in(self, delay_us: int) -> None:
        """Schedule the next auto commit after this time instead of its interval."""
        self._next_auto_commit(self.timeline.now_us + delay_us)

    def request_attention(self) -> None:
        """Let the poll loop do all pending work before it returns records."""
        self.needs_attention = True
        self.wake()

    def mark_metadata_stale(self) -> None:
        """Refresh metadata before the next fetch: a broker does not lead a partition, or does not answer."""
        self.metadata_stale = True
        if self._backing_off is None:
            self._refresh_soon()

    async def wait_for_stale_metadata(self) -> None:
        """Wait until the metadata is marked stale."""
        self._metadata_waiter = waiter = self.timeline.waiter("stale metadata")
        await self.park(waiter)

    def _refresh_soon(self) -> None:
        if self._metadata_waiter is not None:
            self._metadata_waiter.wake()
        self.request_attention()

    @property
    def metadata_refresh_due(self) -> bool:
        """Whether to refresh metadata now: not within `retry.backoff.ms` after leaders were missing."""
        return self.metadata_stale and self._backing_off is None

    def retry_refresh_later(self) -> None:
        """Refresh metadata again after `retry.backoff.ms`: a partition has no leader."""
        self.metadata_stale = True
        self._backing_off = self.after(self.retry_backoff_us, self._ask_again)

    def _ask_again(self) -> None:
        self._backing_off = None
        self._refresh_soon()

    def metadata_refreshed(self) -> None:
        """Schedule the expiry of metadata, once the first refresh has succeeded."""
        if self._metadata_timer is None:
            self._schedule_metadata_expiry()

    def _schedule_metadata_expiry(self) -> None:
        age_us = self._metadata_age_us
        self._metadata_timer = self.after(
            age_us - (self.timeline.now_us - self.refreshed_us) % age_us, self._metadata_expired
        )

    @property
    def _metadata_age_us(self) -> int:
        return max(self.config.metadata_max_age_ms * MS, self.retry_backoff_us)

    def _metadata_expired(self) -> None:
        """Refresh metadata `metadata.max.age.ms` after the last refresh, unless it would change nothing.

        It may change racks, which matter to a member in a rack. Kafka asks the least loaded broker, which need not be
        the one that was asked last.
        """
        old = self.timeline.now_us - self.refreshed_us >= self._metadata_age_us
        if old and (self.config.client_rack or any(self._changed(topic) for topic in self.watched_topics)):
            self.try_another_broker()
            self.mark_metadata_stale()
        self._schedule_metadata_expiry()

    @property
    @abstractmethod
    def watched_topics(self) -> tuple[str, ...]:
        """The topics whose metadata the member needs."""

    def _changed(self, topic: str) -> bool:
        """Whether a topic has other partitions or leaders than this client's metadata."""
        known, leaders = self.topic_partitions.get(topic, ()), self.environment.leaders
        return f"{topic}-{len(known)}" in leaders or any(
            self.partitions[name].leader_epoch != leaders[name].leader_epoch for name in known
        )

    # --- requests to the coordinator ----------------------------------------------------------------------------------

    @property
    def identity(self) -> MemberIdentity:
        """The identity that a request is sent with now."""
        return MemberIdentity(self.generation, self.member_id)

    def send_to_coordinator(
        self, request: Request, answered: Callable[[Any], object], *, timeout_us: int | None = None
    ) -> None:
        """Send a request over the coordinator's connection; when that is dropped, `answered` gets None.

        `timeout_us`: how long the coordinator may park the request, instead of `request.timeout.ms`.
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
        """Send a request to the coordinator and wait for its response; None when its connection is dropped."""
        waiter = self.timeline.waiter(request)
        self.send_to_coordinator(request, waiter.wake)
        return await self.park(waiter)

    def coordinator_found(self, broker: int) -> None:
        """Take the coordinator that a lookup has found."""
        self.coordinator, self.coordinator_since_us = broker, self.timeline.now_us
        self.emit(e.CoordinatorFound(group=self.group, member=self.name, broker=broker))
        self.request_attention()

    def coordinator_unavailable(self, broker: int) -> None:
        """Report a coordinator that was found while its connection is in backoff; a member disconnects then.

        Source: `ensureCoordinatorReady`, and with assign() `checkAndGetCoordinator`.
        """
        by_hand = bool(self.user_assigned)
        lost = e.CoordinatorLost(
            group=self.group, member=self.name, broker=broker, cause=UNAVAILABLE, disconnected=by_hand
        )
        self.emit(e.CoordinatorFound(group=self.group, member=self.name, broker=broker))
        self.emit(lost)

    def coordinator_unknown(self, cause: str = "null", *, disconnected: bool = False) -> None:
        """Drop the coordinator's connection and find it again: it does not answer, or is not the coordinator.

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
            call.cancel()
            ended(None)
        self.request_attention()

    @property
    def _coordinator_connection(self) -> Connection | None:
        """The connection to the coordinator, broken or not."""
        return self._connections.get(coordinator_node(self.coordinator)) if self.coordinator >= 0 else None

    def disconnected(self, connection: Connection) -> None:
        """Find the coordinator again after its connection broke; with assign() the next commit does.

        A request in flight has done so before. The consumer of the new protocol does so when its next request fails.
        Source: `AbstractCoordinator.checkAndGetCoordinator`, `CoordinatorRequestManager.handleCoordinatorDisconnect`.
        """
        if self.user_assigned or self.config.group_protocol == "consumer":
            return
        if connection is self._coordinator_connection:
            self.coordinator_unknown(UNAVAILABLE, disconnected=True)

    async def await_pending_requests(self, until_us: int) -> None:
        """Wait until the coordinator has answered all requests, or its connection is dropped, or until an instant.

        Source: `ConsumerNetworkClient.awaitPendingRequests`.
        """
        while self._coordinator_requests and self.timeline.now_us < until_us:
            self._all_answered = waiter = self.timeline.waiter("the coordinator's last responses")
            await self.park_until(waiter, until_us)
            self._all_answered = None

    # --- what the parts ask of each other -----------------------------------------------------------------------------

    @abstractmethod
    def joined(self) -> None:
        """React to an assignment, the first one of this process or a later one."""

    @abstractmethod
    def records_buffered(self) -> None:
        """Emit what a Fetch brought, unless poll() waits for records: it may return all of them at once."""

    @abstractmethod
    def fetched_records_dropped(self, partitions: tuple[str, ...], reason: str) -> None:
        """Emit that buffered records are dropped."""

    @abstractmethod
    def position_skipped(self, partition: str, position: int) -> None:
        """Emit that the position passed offsets that the application does not get."""

    @abstractmethod
    def position_out_of_range(self, partition: str) -> None:
        """Reset a position that is not in the log, by `auto.offset.reset`."""

    @abstractmethod
    def pause(self, partitions: tuple[str, ...]) -> None:
        """pause(): poll() returns no records of these partitions."""

    @abstractmethod
    def resume(self, partitions: tuple[str, ...]) -> None:
        """resume(): poll() returns records of these partitions again."""

    @abstractmethod
    def give_up(self, partitions: tuple[str, ...], *, lost: bool) -> None:
        """onPartitionsRevoked, or onPartitionsLost: stop reading these partitions."""

    @abstractmethod
    def crash(self, reason: str) -> None:
        """End the process by an exception that the application did not catch; `reason`: its text."""

    @abstractmethod
    def seek_back(self, positions: dict[str, int]) -> None:
        """Let the application seek to these positions, of partitions that are still owned, before its next poll()."""

    @abstractmethod
    def reset_to_committed(self, otherwise: dict[str, int], reason: str) -> None:
        """Return to the committed offsets; `otherwise`: the positions of partitions without one."""

    @abstractmethod
    def fail(self, reason: str) -> None:
        """Let poll() throw a fatal error: the application closes its consumer and ends."""

    @abstractmethod
    async def commit_sync(self) -> bool:
        """CommitSync of the positions; returns true when they are stored."""

    @abstractmethod
    def commit_async(self) -> None:
        """CommitAsync of the positions."""
