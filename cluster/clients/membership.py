"""A consumer's part in its group: finding the coordinator, joining, syncing, callbacks, positions, commits, leaving.

Theory of operation. All of it runs inside poll(), on the poll loop's thread. A rejoin first commits and gives up what
the member owns (eager: everything, which is what stops the world), then JoinGroup waits at the coordinator's barrier,
the leader's assignor deals, SyncGroup brings the share, and positions come from the committed offsets or, without one,
from `auto.offset.reset`. A member that was thrown out has lost its partitions instead of giving them up.
Source: `AbstractCoordinator`, `ConsumerCoordinator`, `OffsetsRequestManager`.
"""

from cluster import events as e
from cluster.assignors import ASSIGNORS, Subscription
from cluster.clients.member import Member
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode

CLOSE_TIMEOUT_US = 30_000_000  # KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS
_COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FATAL_TO_JOIN = (
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.FENCED_INSTANCE_ID,
)


class GroupMembership:
    """The poll loop's half of the group protocol."""

    def __init__(self, consumer: Member) -> None:
        self._consumer = consumer
        self.reset()

    def reset(self) -> None:
        """A new process: not a member of anything."""
        self._rejoin = True
        self._reason = ""
        self._prepared = False
        self._lost = False
        self._unknown: dict[str, None] = {}  # owned partitions without a position
        self._reset_only: dict[str, None] = {}  # … whose committed offset must not be asked for again
        self._dead = False
        self._commit_error = ErrorCode.NONE  # the last commit's

    @property
    def wants_work(self) -> bool:
        """Whether poll() has anything to do for the group."""
        return not self._dead and (self._rejoin or self._consumer.coordinator < 0 or bool(self._unknown))

    async def work(self) -> None:
        """The next thing that poll() has to do for the group."""
        if self._consumer.coordinator < 0:
            await self._find_coordinator()
        elif self._rejoin:
            await self._join()
        elif self._unknown:
            await self._find_positions()

    # --- what others say ----------------------------------------------------------------------------------------------

    def request_rejoin(self, reason: str) -> None:
        """Rejoin at the next poll(); `reason` goes along with the JoinGroup."""
        self._rejoin, self._reason = True, reason
        self._consumer.want_attention()

    def forget(self, *, member_id: bool, state: str = "Joining", reason: str = "unknown to its coordinator") -> None:
        """The coordinator does not know this generation (or this member) any more: what is owned is lost."""
        consumer = self._consumer
        consumer.generation = -1
        if member_id:
            consumer.member_id = ""
        consumer.heartbeats_off()
        self._lost = True
        consumer.set_state(state, reason)
        self.request_rejoin("")

    def refused(self, error: ErrorCode) -> None:
        """An answer of the coordinator other than NONE, to a heartbeat or a commit."""
        consumer = self._consumer
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            if consumer.state == "Stable":
                self.request_rejoin("group is already rebalancing")
        elif error is ErrorCode.ILLEGAL_GENERATION:
            self.forget(member_id=False)
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.forget(member_id=True)
        elif error in _COORDINATOR_MOVED:
            consumer.coordinator_unknown()
        elif error in _FATAL_TO_JOIN:
            self._give_up(error)

    def _give_up(self, error: ErrorCode) -> None:
        """An error that the application cannot recover from: it stops consuming."""
        consumer = self._consumer
        self._dead = True
        consumer.heartbeats_off()
        if consumer.owned:
            self._drop(lost=True)
        consumer.set_state("Fenced", error.name)

    def lose_position(self, partition: str) -> None:
        """A position is out of the log's range."""
        if partition in self._consumer.owned:
            self._unknown[partition] = None
            self._reset_only[partition] = None
            self._consumer.fetcher.revoke((partition,))

    # --- coordinator --------------------------------------------------------------------------------------------------

    async def _find_coordinator(self) -> None:
        consumer = self._consumer
        response: m.FindCoordinatorResponse | None = await consumer.ask(
            consumer.any_broker(), m.FindCoordinatorRequest(consumer.group)
        )
        if response is None or response.error is not ErrorCode.NONE:
            consumer.try_another_broker()
            await consumer.sleep(consumer.retry_backoff_us)
            return
        consumer.coordinator, consumer.coordinator_since_us = response.broker, consumer.timeline.now_us
        consumer.tell(e.CoordinatorFound(group=consumer.group, member=consumer.name, broker=response.broker))

    # --- join and sync ------------------------------------------------------------------------------------------------

    async def _join(self) -> None:
        consumer = self._consumer
        if not self._prepared:
            self._prepared = True
            await self._prepare()
            if consumer.coordinator < 0:
                return
        consumer.set_state("Joining", self._reason)
        metadata = m.MemberMetadata(tuple(consumer.topics))
        config = consumer.config
        request = m.JoinGroupRequest(
            group=consumer.group,
            member_id=consumer.member_id,
            client_id=consumer.name,
            session_timeout_ms=config["session.timeout.ms"],
            rebalance_timeout_ms=config["max.poll.interval.ms"],
            protocols=dict.fromkeys(consumer.spec.assignors, metadata),
            instance_id=consumer.instance_id,
            reason=self._reason,
        )
        response: m.JoinGroupResponse | None = await consumer.ask(consumer.coordinator, request, long_poll=True)
        if response is None:
            consumer.coordinator_unknown()
            await consumer.sleep(consumer.retry_backoff_us)
        elif response.error is ErrorCode.NONE:
            await self._sync(response)
        else:
            await self._join_refused(response)

    async def _join_refused(self, response: m.JoinGroupResponse) -> None:
        consumer = self._consumer
        error = response.error
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            consumer.member_id = response.member_id
            return
        if error in _FATAL_TO_JOIN:
            self._give_up(error)
            return
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.forget(member_id=True)
        elif error is ErrorCode.ILLEGAL_GENERATION:
            self.forget(member_id=False)
        elif error in _COORDINATOR_MOVED:
            consumer.coordinator_unknown()
        await consumer.sleep(consumer.retry_backoff_us)

    async def _prepare(self) -> None:
        """onJoinPrepare: commit, then give up what is owned – or lose it, when the generation is gone."""
        consumer = self._consumer
        if not consumer.owned:
            self._lost = False
            return
        if self._lost:
            self._drop(lost=True)
            self._lost = False
            return
        if consumer.auto_commit:
            deadline_us = consumer.timeline.now_us + consumer.max_poll_interval_us
            while not await self._commit_once() and consumer.timeline.now_us < deadline_us:
                if consumer.generation < 0 or consumer.coordinator < 0:
                    break
                await consumer.sleep(consumer.retry_backoff_us)
        consumer.set_state("Revoking", self._reason)
        self._drop(lost=consumer.generation < 0)
        self._lost = False

    def _drop(self, *, lost: bool) -> None:
        consumer = self._consumer
        partitions, consumer.owned = consumer.owned, ()
        consumer.fetcher.revoke(partitions)
        self._unknown, self._reset_only = {}, {}
        consumer.tell(e.PartitionsRevoked(group=consumer.group, member=consumer.name, partitions=partitions, lost=lost))

    async def _sync(self, joined: m.JoinGroupResponse) -> None:
        consumer = self._consumer
        consumer.member_id, consumer.generation = joined.member_id, joined.generation
        self._rejoin = False
        consumer.set_state("Syncing")
        consumer.heartbeats_on()
        assignments: dict[str, tuple[str, ...]] = {}
        if joined.leader == joined.member_id:
            assignments = await self._assign(joined)
            if consumer.coordinator < 0:  # the heartbeat thread lost it meanwhile
                self._rejoin = True
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
        response: m.SyncGroupResponse | None = await consumer.ask(consumer.coordinator, request, long_poll=True)
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if response is None else response.error
        if response is not None and error is ErrorCode.NONE and consumer.generation == joined.generation:
            self._assigned(response.assignment)
            return
        self._rejoin = True
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._reason = "group is already rebalancing"
            return
        self.refused(error)
        if error in _COORDINATOR_MOVED:
            await consumer.sleep(consumer.retry_backoff_us)

    async def _assign(self, joined: m.JoinGroupResponse) -> dict[str, tuple[str, ...]]:
        """The leader's work: deal the partitions of everybody's topics."""
        consumer = self._consumer
        topics = tuple(sorted({topic: None for member in joined.members for topic in member.metadata.topics}))
        await consumer.refresh_metadata(topics)
        counts = {
            topic: len(consumer.topic_partitions[topic]) for topic in topics if topic in consumer.topic_partitions
        }
        subscriptions = {
            member.member_id: Subscription(member.metadata.topics, group_instance_id=member.instance_id)
            for member in joined.members
        }
        dealt = ASSIGNORS[joined.protocol].assign(counts, subscriptions)
        return {member_id: tuple(str(partition) for partition in partitions) for member_id, partitions in dealt.items()}

    def _assigned(self, partitions: tuple[str, ...]) -> None:
        consumer = self._consumer
        self._prepared = self._lost = False
        self._reason = ""
        consumer.owned = partitions
        consumer.schedule_auto_commit()
        consumer.set_state("Stable")
        consumer.tell(
            e.PartitionsAssigned(
                group=consumer.group, member=consumer.name, generation=consumer.generation, partitions=partitions
            )
        )
        self._unknown = dict.fromkeys(partitions)
        self._reset_only = {}

    # --- positions ----------------------------------------------------------------------------------------------------

    async def _find_positions(self) -> None:
        """Committed offsets first, then `auto.offset.reset` for partitions that have none."""
        consumer = self._consumer
        ask = [name for name in self._unknown if name not in self._reset_only]
        if ask:
            request = m.OffsetFetchRequest(consumer.group, ask)
            response: m.OffsetFetchResponse | None = await consumer.ask(consumer.coordinator, request)
            if response is None or response.error is not ErrorCode.NONE:
                if response is None or response.error in _COORDINATOR_MOVED:
                    consumer.coordinator_unknown()
                await consumer.sleep(consumer.retry_backoff_us)
                return
            found = {name: offset for name, (_, offset, _, _) in response.offsets.items() if offset >= 0}
            self._position(found, "committed")
            self._reset_only |= dict.fromkeys(name for name in ask if name not in found)
            return
        await self._reset_positions()

    async def _reset_positions(self) -> None:
        consumer = self._consumer
        policy = consumer.config["auto.offset.reset"]
        by_leader: dict[int, list[str]] = {}
        for name in self._unknown:
            by_leader.setdefault(consumer.leader_of(name), []).append(name)
        for leader, names in by_leader.items():
            response: m.ListOffsetsResponse | None = None
            if leader >= 0:
                response = await consumer.ask(leader, m.ListOffsetsRequest(names, latest=policy == "latest"))
            if response is None:
                consumer.metadata_is_stale()
                return
            found = {name: offset for name, (error, offset) in response.offsets.items() if error is ErrorCode.NONE}
            self._position(found, policy)
            if len(found) < len(names):
                consumer.metadata_is_stale()

    def _position(self, found: dict[str, int], reason: str) -> None:
        """Positions for those of the partitions that are still owned and still without one."""
        consumer = self._consumer
        positions = {name: offset for name, offset in found.items() if name in self._unknown}
        if not positions:
            return
        for name in positions:
            del self._unknown[name]
            self._reset_only.pop(name, None)
        consumer.fetcher.assign(positions)
        consumer.tell(e.PositionsReset(group=consumer.group, member=consumer.name, positions=positions, reason=reason))

    # --- commits ------------------------------------------------------------------------------------------------------

    def _commit_request(self) -> m.OffsetCommitRequest | None:
        consumer = self._consumer
        offsets = {name: (offset, -1, "") for name, offset in consumer.fetcher.positions.items()}
        if not offsets or consumer.coordinator < 0 or consumer.generation < 0:
            return None
        return m.OffsetCommitRequest(
            consumer.group, consumer.generation, consumer.member_id, consumer.instance_id, offsets
        )

    def commit_async(self) -> None:
        """commitAsync, or the auto commit of a poll(): positions already returned, answer handled when it comes."""
        request = self._commit_request()
        if request is not None:
            self._consumer.connection(self._consumer.coordinator).send(request, self._committed)

    async def commit_sync(self, timeout_us: int) -> bool:
        """commitSync: true when the offsets are stored, or when there is nothing to store.

        Whatever trying again can help is tried again until time is up, with another coordinator if need be.
        """
        consumer = self._consumer
        deadline_us = consumer.timeline.now_us + timeout_us
        while not await self._commit_once():
            if consumer.generation < 0 or consumer.timeline.now_us >= deadline_us:
                return False
            if consumer.coordinator < 0:
                await self._find_coordinator()
            elif not self._commit_error.retriable:
                return False
            else:
                await consumer.sleep(consumer.retry_backoff_us)
        return True

    async def _commit_once(self) -> bool:
        request = self._commit_request()
        if request is None:
            return not self._consumer.fetcher.positions
        return self._committed(await self._consumer.ask(self._consumer.coordinator, request))

    def _committed(self, response: m.OffsetCommitResponse | None) -> bool:
        if response is None:
            self._consumer.coordinator_unknown()
            return False
        error = next((error for error in response.errors.values() if error is not ErrorCode.NONE), ErrorCode.NONE)
        self._commit_error = error
        if error is not ErrorCode.NONE:
            self.refused(error)
        return error is ErrorCode.NONE

    # --- leaving ------------------------------------------------------------------------------------------------------

    async def leave_cleanly(self) -> None:
        """close(): commit, give up the partitions, LeaveGroup (a static member sends none)."""
        consumer = self._consumer
        if consumer.owned:
            if consumer.auto_commit and not self._lost:
                await self.commit_sync(CLOSE_TIMEOUT_US)
            self._drop(lost=self._lost)
        consumer.heartbeats_off()
        if consumer.coordinator >= 0 and consumer.member_id and consumer.instance_id is None:
            leaving = m.LeavingMember(consumer.member_id, None, "the consumer is being closed")
            await consumer.ask(consumer.coordinator, m.LeaveGroupRequest(consumer.group, (leaving,)))
