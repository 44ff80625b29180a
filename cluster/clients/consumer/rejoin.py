"""How a member joins its group, again and again: prepare, JoinGroup, SyncGroup, complete.

Theory of operation. A rejoin that is needed is advanced by poll(), one step at a time (`rejoin_states`). First the
positions are committed (auto commit) and partitions are given up. Eager members give up all of them, which stops the
world. Cooperative members give up only partitions of topics that they no longer want; they read the others while
JoinGroup waits at the coordinator's barrier and SyncGroup for the leader. So no step waits: a request is sent, poll()
continues, and a later poll() handles the response. The new assignment of a cooperative member may lack partitions that
it owns. It revokes these and rejoins, so that the next round can assign them to another member. Heartbeats stop while
JoinGroup is in flight. A member whose generation is lost meanwhile ignores the response and prepares again.
Source: `AbstractCoordinator.joinGroupIfNeeded`, `ConsumerCoordinator.onJoinPrepare`, `onJoinComplete` (KIP-429).
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final

from cluster import events as e
from cluster.clients.consumer.consumer_host import MS, ConsumerHost, MemberIdentity
from cluster.clients.consumer.heartbeat_thread import HeartbeatThread
from cluster.clients.consumer.leader_assignment import AssignorError, assign_partitions, metadata_of
from cluster.clients.consumer.offset_commits import IN_NO_GROUP, OffsetCommits
from cluster.clients.consumer.positions import Positions
from cluster.clients.consumer.rebalance_listener import RebalanceListener
from cluster.clients.consumer.rejoin_states import IN_FLIGHT, REJOIN_STATES, TO_STEP, RejoinEvent, RejoinState
from cluster.clients.producer.transaction_offsets import ConsumerGroupMetadata
from cluster.protocol import messages as m
from cluster.protocol import reasons
from cluster.protocol.api import Request
from cluster.protocol.client_states import MemberState
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import topic_of

JOIN_GROUP_TIMEOUT_LAPSE_US: Final = 5_000_000

MetadataSnapshot = dict[str, tuple[tuple[str, ...], ...]]
"""Topic → the racks of each partition's replicas; without racks where the member has no `client.rack`."""

OnError = Callable[[ErrorCode, MemberIdentity, str], None]
"""Called with the error of a response, the identity its request was sent with, and the API by Kafka's name."""

_S, _E = RejoinState, RejoinEvent


class Rejoin:
    """The rejoin of one process of a member, which starts in no group.

    `on_error` is called for each error in a response to JoinGroup or SyncGroup. `reason`: the reason that the next
    JoinGroup carries (KIP-800).
    """

    def __init__(
        self,
        consumer: ConsumerHost,
        commits: OffsetCommits,
        positions: Positions,
        listener: RebalanceListener,
        heartbeats: HeartbeatThread,
        on_error: OnError,
    ) -> None:
        self._consumer, self._commits, self._positions, self._on_error = consumer, commits, positions, on_error
        self._listener, self._heartbeats = listener, heartbeats
        self.state: RejoinState = REJOIN_STATES.initial
        self.reason = ""
        self._prepare_until_us: int | None = None
        self._answer: tuple[Callable[[Any], Awaitable[None]], Any] | None = None
        self._joined_topics: tuple[str, ...] | None = None
        self._leads = False
        self._snapshot: MetadataSnapshot | None = None  # the leader's: the partitions that it assigned
        self._remembered = m.MemberMetadata(())  # the last assignment, for assignors that send it as user data

    def _change_state(self, event: RejoinEvent) -> None:
        self.state = REJOIN_STATES.next_state(self.state, event)

    @property
    def has_work(self) -> bool:
        """Whether poll() should advance the rejoin now."""
        return self._answer is not None or self.state in TO_STEP

    @property
    def needed(self) -> bool:
        """Whether the member must join, or is joining (`rejoinNeededOrPending`)."""
        return self.state is not _S.NOT_NEEDED

    @property
    def in_flight(self) -> bool:
        """Whether JoinGroup or SyncGroup is in flight: the group rebalances, and no commit is sent."""
        return self.state in IN_FLIGHT

    @property
    def has_answer(self) -> bool:
        """Whether a response is in the socket, and not yet handled."""
        return self._answer is not None

    def request_rejoin(self, reason: str) -> None:
        """Rejoin at the next poll(); `reason` is sent with the JoinGroup (KIP-800)."""
        self._change_state(_E.REQUESTED)
        self.reason = reason
        self._consumer.request_attention()

    def reset_generation(self, because: str) -> None:
        """Begin again after the generation was lost; the response of a request in flight will be ignored."""
        self._consumer.stable = False
        self._change_state(_E.GENERATION_LOST)
        self.reason = because
        self._consumer.request_attention()

    def check_metadata_changed(self) -> None:
        """Rejoin if the subscription changed since the last JoinGroup, or for a leader partitions or their racks."""
        consumer = self._consumer
        if self.needed:
            return
        if self._snapshot is not None and self._snapshot != self._known(self._snapshot):
            self.request_rejoin(reasons.METADATA_CHANGED)
        elif self._joined_topics is not None and sorted(self._joined_topics) != sorted(consumer.topics):
            self.request_rejoin(reasons.SUBSCRIPTION_CHANGED)

    @property
    def watched_topics(self) -> tuple[str, ...]:
        """The topics whose metadata the member needs: for a leader those of the whole group."""
        return tuple(dict.fromkeys((*self._consumer.topics, *(self._snapshot or ()))))

    def _known(self, topics: Iterable[str]) -> MetadataSnapshot:
        """What metadata says of these topics now; a broker that goes away or comes back changes racks."""
        consumer = self._consumer
        known = {topic: consumer.topic_partitions.get(topic, ()) for topic in topics}
        if not consumer.config.client_rack:
            return {topic: ((),) * len(names) for topic, names in known.items()}
        return {topic: tuple([consumer.racks_of(name) for name in names]) for topic, names in known.items()}

    async def step(self) -> None:
        """Take the next step, or handle the response that has arrived."""
        if self._answer is not None:
            (handle, response), self._answer = self._answer, None
            outdated = self.state is _S.OUTDATED
            self._change_state(_E.ANSWERED)
            if not outdated:
                await handle(response)
        elif self.state is _S.PREPARED:
            self._join()
        else:
            await self._prepare()

    def _arrived(self, handle: Callable[[Any], Awaitable[None]], response: object) -> None:
        """Keep a response until poll() handles it."""
        self._answer = handle, response
        self._consumer.request_attention()

    def _back_off(self, event: RejoinEvent) -> None:
        """Try again after `retry.backoff.ms`."""
        self._change_state(event)
        self._consumer.after(self._consumer.retry_backoff_us, self._backoff_over)

    def _backoff_over(self) -> None:
        self._change_state(_E.BACKOFF_ENDED)
        self._consumer.request_attention()

    # --- onJoinPrepare ------------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Commit the positions, then revoke partitions, or lose them if the generation was lost.

        An eager member calls onPartitionsRevoked without partitions, too; a listener that has none is done at once.
        A generation may be lost while the listener runs, too: what a cooperative member then still has is lost next.
        """
        consumer = self._consumer
        if self._prepare_until_us is None:
            self._prepare_until_us = consumer.timeline.now_us + consumer.max_poll_interval_us
        if consumer.auto_commit and self.state is not _S.COMMITTED:
            if consumer.stable and self._commits.send(self._commit_ended, during="rejoin"):
                self._change_state(_E.COMMIT_SENT)
                consumer.records_withheld = not consumer.cooperative  # eager: all its partitions are about to go
                return
            if consumer.generation < 0:
                self._commits.auto_commit_unsent("rejoin", IN_NO_GROUP)
        self._prepare_until_us = None
        consumer.records_withheld = False
        lost = self._generation_lost
        going = consumer.owned
        if consumer.cooperative and not lost:
            going = tuple(name for name in going if topic_of(name) not in consumer.topics)
        if going or not (lost or consumer.cooperative):
            if not lost:
                consumer.set_state(MemberState.REVOKING, self.reason)
            if going and not lost:
                await self._listener.partitions_revoked(going)
            consumer.give_up(going, lost=lost)
        if lost or not consumer.owned or not self._generation_lost:
            self._change_state(_E.PREPARED)

    @property
    def _generation_lost(self) -> bool:
        """Whether the partitions that the member still has belong to others."""
        return self._consumer.generation < 0 or not self._consumer.member_id

    def _commit_ended(self, error: ErrorCode) -> None:
        if error.retriable and self._consumer.timeline.now_us < (self._prepare_until_us or 0):
            self._back_off(_E.COMMIT_FAILED)
        else:
            self._change_state(_E.COMMIT_ENDED)
            if error.retriable:
                self._commits.emit_auto_commit_failed("rejoin", error.name, {})
        self._consumer.request_attention()

    # --- JoinGroup ----------------------------------------------------------------------------------------------------

    def _join(self) -> None:
        consumer, config = self._consumer, self._consumer.config
        self._heartbeats.disable()
        consumer.stable = False
        consumer.set_state(MemberState.JOINING, self.reason)
        self._joined_topics = consumer.topics
        request = m.JoinGroupRequest(
            group=consumer.group,
            member_id=consumer.member_id,
            client_id=consumer.name,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            protocols={one.name: metadata_of(consumer, one, self._remembered) for one in consumer.assignors},
            instance_id=consumer.instance_id,
            reason=self.reason,
        )
        timeout_us = consumer.max_poll_interval_us + JOIN_GROUP_TIMEOUT_LAPSE_US
        self._send(_E.JOIN_SENT, request, self._join_answered, max(timeout_us, config.request_timeout_ms * MS))

    def _send(
        self,
        event: RejoinEvent,
        request: Request,
        handle: Callable[[Any], Awaitable[None]],
        timeout_us: int | None = None,
    ) -> None:
        self._change_state(event)
        self._consumer.send_to_coordinator(request, partial(self._arrived, handle), timeout_us=timeout_us)

    async def _join_answered(self, response: m.JoinGroupResponse | None) -> None:
        consumer = self._consumer
        if response is not None and response.error is ErrorCode.NONE:
            await self._joined(response)
        elif response is not None and response.error is ErrorCode.MEMBER_ID_REQUIRED:
            consumer.member_id, consumer.generation = response.member_id, -1
            self.reason = reasons.given_member_id(response.member_id)
        else:
            self._failed("JOIN_GROUP", None if response is None else response.error)

    def _failed(self, api: str, error: ErrorCode | None) -> None:
        """Try JoinGroup again after an error (None: disconnected), with a backoff if the error is retriable."""
        if error is None:
            self.reason = reasons.rebalance_failed("DISCONNECT")
            self._back_off(_E.FAILED)
            return
        if error is not ErrorCode.REBALANCE_IN_PROGRESS:
            self._on_error(error, self._consumer.identity, api)
        self.reason = reasons.rebalance_failed(error.name)
        if error.retriable:
            self._back_off(_E.FAILED)

    def _emit_assignment(self, assignments: dict[str, tuple[str, ...]]) -> None:
        consumer = self._consumer
        consumer.emit(
            e.AssignmentMade(
                group=consumer.group, member=consumer.name, generation=consumer.generation, assignments=assignments
            )
        )

    async def _joined(self, joined: m.JoinGroupResponse) -> None:
        """Take the new generation, enable heartbeats, and send SyncGroup; the leader assigns the partitions first."""
        consumer = self._consumer
        consumer.member_id, consumer.generation = joined.member_id, joined.generation
        consumer.set_state(MemberState.SYNCING)
        self._heartbeats.enable()
        assignments: dict[str, tuple[str, ...]] = {}
        self._leads = joined.leader == joined.member_id
        if self._leads:
            await self._load_group_metadata(joined)
            if self.state is not _S.PREPARED:
                return  # the heartbeat thread lost the generation meanwhile
            if not joined.skip_assignment:
                try:
                    assignments = assign_partitions(consumer, joined)
                except AssignorError as failure:
                    consumer.fail(str(failure))
                    return
                self._emit_assignment(assignments)
        if consumer.coordinator < 0:
            self._failed("SYNC_GROUP", ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        request = m.SyncGroupRequest(
            group=consumer.group,
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=consumer.instance_id,
            protocol_type="consumer",
            protocol=joined.protocol,
            assignments=assignments,
        )
        self._send(_E.SYNC_SENT, request, self._sync_answered)

    async def _load_group_metadata(self, joined: m.JoinGroupResponse) -> None:
        """As leader, refresh the metadata of unknown topics and take a snapshot of all partitions."""
        consumer = self._consumer
        topics = tuple(sorted({topic: None for member in joined.members for topic in member.metadata.topics}))
        if any(topic not in consumer.topic_partitions for topic in topics):
            await consumer.refresh_metadata(tuple(dict.fromkeys((*consumer.topics, *topics))))
            consumer.fetcher.route()
        self._snapshot = self._known(topics)

    # --- SyncGroup ----------------------------------------------------------------------------------------------------

    async def _sync_answered(self, response: m.SyncGroupResponse | None) -> None:
        if response is not None and response.error is ErrorCode.NONE:
            await self._complete(response.assignment)
        else:
            self._failed("SYNC_GROUP", None if response is None else response.error)

    async def _complete(self, assigned: tuple[str, ...]) -> None:
        """onJoinComplete: take new partitions; a cooperative member revokes those that it lost, and rejoins.

        It takes none if its generation is lost while the listener runs: Kafka assigns them, and they are lost at once.
        """
        consumer = self._consumer
        self._change_state(_E.COMPLETED)
        self.reason = ""
        consumer.stable = True
        consumer.group_metadata = ConsumerGroupMetadata(
            consumer.group, consumer.generation, consumer.member_id, consumer.instance_id
        )
        if not self._leads:
            self._snapshot = None
        consumer.set_state(MemberState.STABLE)
        consumer.joined()
        if any(topic_of(name) not in consumer.topics for name in assigned):
            self.request_rejoin(reasons.ASSIGNMENT_DOES_NOT_MATCH)
            return
        owned, kept = dict.fromkeys(consumer.owned), dict.fromkeys(assigned)
        added = tuple(name for name in assigned if name not in owned)
        revoked = tuple(name for name in owned if name not in kept)
        if revoked:
            consumer.set_state(MemberState.REVOKING, reasons.REVOKED)
            await self._listener.partitions_revoked(revoked)
            consumer.give_up(revoked, lost=False)
            if not consumer.stable:
                return
            consumer.set_state(MemberState.STABLE)
        self._remembered = m.MemberMetadata((), assigned, consumer.generation)
        consumer.schedule_auto_commit()
        consumer.owned = assigned
        consumer.emit(
            e.PartitionsAssigned(
                group=consumer.group, member=consumer.name, generation=consumer.generation, partitions=added
            )
        )
        self._positions.assigned(added)
        if revoked:
            self.request_rejoin(reasons.REVOKED)
        self.check_metadata_changed()
