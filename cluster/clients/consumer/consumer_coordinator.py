"""What a consumer is to its group: looked up, joined, refused, thrown out, leaving.

Everything of it happens inside poll(), except what the heartbeat thread hears. `Joining` is the rejoin, `Positions`
where to read on, `Commits` the offsets; here is what an error in an answer means for the member. An answer counts only
for whom it was sent as: when generation or member id have changed since, it is about somebody who is no more.
Source: `AbstractCoordinator`, `ConsumerCoordinator`.
"""

from cluster import events as e
from cluster.clients.consumer.consumer_host import ConsumerHost, MemberIdentity
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.clients.consumer.offset_commits import IN_NO_GROUP, REBALANCING, OffsetCommits
from cluster.clients.consumer.positions import Positions
from cluster.clients.consumer.rejoin import Rejoin
from cluster.protocol import messages as m
from cluster.protocol import reasons
from cluster.protocol.errors import ErrorCode

CLOSE_TIMEOUT_US = 30_000_000  # KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS
_COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FATAL_TO_JOIN = (
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
)


class ConsumerCoordinator:
    """The poll loop's half of the group protocol."""

    def __init__(self, consumer: ConsumerHost) -> None:
        self._consumer = consumer
        self.lookup = CoordinatorLookup(consumer)
        self.positions = Positions(consumer)
        self.commits = OffsetCommits(consumer, self._commit_failed)
        self.rejoin = Rejoin(consumer, self.commits, self.positions, self.on_error)
        self.reset()

    def reset(self) -> None:
        """A new process: not a member of anything."""
        self._dead = False
        self.lookup.reset()
        self.positions.reset()
        self.commits.reset()
        self.rejoin.reset()

    @property
    def has_work(self) -> bool:
        """Whether poll() has anything to do for the group now."""
        if self._dead:
            return False
        if self._consumer.coordinator < 0:
            return self.rejoin.has_answer or not self.lookup.under_way
        return self.rejoin.has_work or self._may_find_positions

    @property
    def _may_find_positions(self) -> bool:
        """Whether partitions want positions (or theirs validated), and no rejoin is needed or under way.

        So what a cooperative round adds is read when the next round is over, which this one's revocation asked for.
        Source: `KafkaConsumer.updateAssignmentMetadataIfNeeded`, `ConsumerCoordinator.poll`.
        """
        return self.rejoin.over and (self.positions.validation.due or self.positions.missing)

    async def work(self) -> None:
        """The next thing that poll() has to do for the group."""
        joining = self.rejoin
        if self._consumer.coordinator < 0 and not joining.has_answer:
            self.lookup.begin()
        elif joining.has_work:
            await joining.step()
        elif self._may_find_positions:
            if self.positions.validation.due:
                self.positions.validation.ask()
            else:
                await self.positions.find()

    # --- what others say ----------------------------------------------------------------------------------------------

    def reset_generation(self, because: str, *, member_id: bool, state: str = "Joining", reason: str = "") -> None:
        """The coordinator does not know this generation (or this member) any more: what is owned is lost.

        `because`: what the next JoinGroup gives as its reason, and the state's unless that has one of its own.
        """
        consumer = self._consumer
        consumer.generation = -1
        if member_id:
            consumer.member_id = ""
        consumer.disable_heartbeats()
        consumer.set_state(state, reason or because)
        self.rejoin.reset_generation(because)

    def on_error(self, error: ErrorCode, sent_as: MemberIdentity, api: str, *, joining: bool = False) -> None:
        """An answer of the coordinator other than NONE; `api` as Kafka names it; `joining`: JoinGroup or SyncGroup."""
        consumer = self._consumer
        unchanged = sent_as == consumer.identity
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            if consumer.stable:
                self.rejoin.request_rejoin(reasons.ALREADY_REBALANCING)
        elif error is ErrorCode.ILLEGAL_GENERATION or error is ErrorCode.UNKNOWN_MEMBER_ID:
            if unchanged:
                because = reasons.encountered(error.name, api)
                self.reset_generation(because, member_id=error is ErrorCode.UNKNOWN_MEMBER_ID)
        elif error is ErrorCode.FENCED_INSTANCE_ID:
            if unchanged or joining:
                self._give_up(error)
        elif error in _COORDINATOR_MOVED:
            consumer.coordinator_unknown(f"error response {error.name}")
        elif joining and error in _FATAL_TO_JOIN:
            consumer.fail(error.name)

    def _commit_failed(self, error: ErrorCode, sent_as: MemberIdentity) -> None:
        """As `refused`; but the group told a committing member, so it need not be Stable to rejoin."""
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin.request_rejoin(reasons.COMMIT_FAILED)
        else:
            self.on_error(error, sent_as, "OFFSET_COMMIT")

    def _give_up(self, error: ErrorCode) -> None:
        """FencedInstanceIdException: another process has this member's group.instance.id; poll() throws from now on.

        Nothing is given up: onPartitionsLost comes from close(), however late.
        """
        consumer = self._consumer
        if self._dead:
            return
        self._dead = consumer.records_withheld = True
        consumer.stable, consumer.generation = False, -1
        consumer.disable_heartbeats()
        consumer.set_state("Fenced", error.name)
        consumer.emit(
            e.ConsumerFenced(
                group=consumer.group,
                member=consumer.name,
                member_id=consumer.member_id,
                instance_id=consumer.instance_id or "",
                reason=error.name,
            )
        )

    # --- commits ------------------------------------------------------------------------------------------------------

    async def commit_sync(self, timeout_us: int, *, during: str = "") -> bool:
        """commitSync: true when the offsets are stored, or when there is nothing to store.

        Whatever trying again can help is tried again until time is up, with another coordinator if need be.
        """
        consumer, commits = self._consumer, self.commits
        deadline_us = consumer.timeline.now_us + timeout_us
        while not await commits.once(during):
            if not consumer.stable or consumer.timeline.now_us >= deadline_us:
                return False
            if consumer.coordinator >= 0 and not commits.error.retriable:
                return False
            self.lookup.begin()
            await consumer.sleep(consumer.retry_backoff_us)
        return True

    # --- leaving ------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """close(): commit, give up the partitions, LeaveGroup (a static member sends none), wait for every answer.

        What the coordinator has parked for it, as its JoinGroup at the barrier, is answered first.
        """
        consumer = self._consumer
        until_us = consumer.timeline.now_us + CLOSE_TIMEOUT_US
        if consumer.owned:
            if consumer.auto_commit:
                await self._commit_at_close()
            if consumer.owned:
                self.rejoin.revoke(consumer.owned, lost=not consumer.stable)
        consumer.disable_heartbeats()
        if consumer.coordinator >= 0 and consumer.member_id and consumer.instance_id is None:
            leaving = m.LeavingMember(consumer.member_id, None, reasons.CLOSED)
            consumer.set_state("Left", reasons.CLOSED)
            consumer.send_to_coordinator(m.LeaveGroupRequest(consumer.group, (leaving,)), _ignore)
        await consumer.await_pending_requests(until_us)

    async def _commit_at_close(self) -> None:
        """The last auto commit: a consumer that is in no group, or in none yet, does not send it."""
        if self._consumer.stable:
            await self.commit_sync(CLOSE_TIMEOUT_US, during="close")
        elif self._consumer.coordinator >= 0:
            self.commits.auto_commit_unsent("close", REBALANCING if self.rejoin.under_way else IN_NO_GROUP)


def _ignore(_: object) -> None:
    """What the coordinator says to a member that leaves changes nothing any more."""
