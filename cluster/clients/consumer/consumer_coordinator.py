"""The consumer's side of group membership.

The poll loop runs all of it, except the handling of heartbeat responses. `Rejoin` joins the group, `Positions` finds
where to read, `OffsetCommits` commits. This module decides what an error in a response means for the member. An error
counts only for the identity that its request was sent with: after generation or member id have changed it is stale.
Source: `AbstractCoordinator`, `ConsumerCoordinator`.
"""

from typing import Final

from cluster import events as e
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer_host import ConsumerHost, MemberIdentity
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.clients.consumer.group_membership import GroupMembership
from cluster.clients.consumer.heartbeat_thread import HeartbeatThread
from cluster.clients.consumer.offset_commits import IN_NO_GROUP, REBALANCING, OffsetCommits
from cluster.clients.consumer.positions import Positions
from cluster.clients.consumer.rebalance_listener import RebalanceListener
from cluster.clients.consumer.rejoin import Rejoin
from cluster.protocol import messages as m
from cluster.protocol import reasons
from cluster.protocol.client_states import MEMBER_STATES, MemberState
from cluster.protocol.errors import ErrorCode

CLOSE_TIMEOUT_US: Final = 30_000_000  # KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS
_COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FATAL_TO_JOIN = (
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
)


class ConsumerCoordinator(GroupMembership):
    """The classic group protocol of one member, as poll() runs it."""

    def __init__(self, consumer: ConsumerHost, application: Application) -> None:
        super().__init__(consumer, application)
        self.states, self.left, self.dead = MEMBER_STATES, MemberState.LEFT, MemberState.DEAD
        self.lookup = CoordinatorLookup(consumer)
        self.thread = self._heartbeats = HeartbeatThread(
            consumer, self.lookup, self.heartbeat_failed, self.leave_for_slow_poll
        )
        self._listener = RebalanceListener(consumer, application, self._heartbeats)
        self.positions = Positions(consumer)
        self.commits = OffsetCommits(consumer, self._commit_failed)
        self.reset()

    def reset(self) -> None:
        """Begin a new process, which is in no group."""
        self.fenced = False
        self.lookup.reset()
        self.positions.reset()
        self.commits.reset()
        self._heartbeats.reset()
        parts = self.commits, self.positions, self._listener, self._heartbeats
        self.rejoin = Rejoin(self._consumer, *parts, self._rejoin_failed)

    def process_started(self) -> None:
        """Be Joining, as the start of a process implies."""
        self._consumer.change_state(MemberState.JOINING)

    def begin_polling(self) -> None:
        """Do nothing: each poll() looks at what has to be done."""

    @property
    def has_work(self) -> bool:
        """Whether poll() has anything to do for the group now."""
        if self.fenced:
            return False
        if self._consumer.user_assigned:
            return not self._consumer.owned or self._may_find_assigned
        if self._consumer.coordinator < 0:
            return self.rejoin.has_answer or not self.lookup.running
        return self.rejoin.has_work or self._may_find_positions

    @property
    def _may_find_positions(self) -> bool:
        """Whether partitions need positions, or their validation, while no rejoin is needed or in flight.

        So partitions that a cooperative round adds are read only after the next round, if a revocation requires one.
        Source: `KafkaConsumer.updateAssignmentMetadataIfNeeded`, `ConsumerCoordinator.poll`.
        """
        return not self.rejoin.needed and (self.positions.validation.due or self.positions.missing)

    @property
    def _may_find_assigned(self) -> bool:
        """Whether partitions of assign() need positions, or their validation; the former need a coordinator.

        Source: `ConsumerCoordinator.poll`, which does not look up the coordinator for manually assigned partitions.
        """
        known = self._consumer.coordinator >= 0 or not self.lookup.running
        return self.positions.validation.due or (self.positions.missing and known)

    async def work(self) -> None:
        """Do the next thing that poll() has to do for the group."""
        if self._consumer.user_assigned:
            await self._work_assigned()
            return
        rejoin = self.rejoin
        if self._consumer.coordinator < 0 and not rejoin.has_answer:
            self.lookup.begin()
        elif rejoin.has_work:
            await rejoin.step()
        elif self._may_find_positions:
            if self.positions.validation.due:
                self.positions.validation.ask()
            else:
                await self.positions.find()

    async def _work_assigned(self) -> None:
        """Do the next thing that poll() has to do after assign()."""
        consumer = self._consumer
        if not consumer.owned:
            self._assign()
        elif self.positions.validation.due:
            self.positions.validation.ask()
        elif consumer.coordinator < 0:
            self.lookup.begin()
        else:
            await self.positions.find()

    def _assign(self) -> None:
        """assign(): take the partitions, in no group; offsets are committed without member id and generation.

        Source: `KafkaConsumer.assign`, `SubscriptionState.assignFromUser`.
        """
        consumer = self._consumer
        consumer.stable, consumer.owned = True, consumer.user_assigned
        consumer.set_state(MemberState.ASSIGNED, reasons.ASSIGNED)
        consumer.schedule_auto_commit()
        consumer.emit(
            e.PartitionsAssigned(
                group=consumer.group, member=consumer.name, generation=-1, partitions=consumer.user_assigned
            )
        )
        consumer.joined()
        self.positions.assigned(consumer.user_assigned)

    @property
    def watched_topics(self) -> tuple[str, ...]:
        """The topics that the member subscribes to, or has named in assign(); for a leader those of the whole group."""
        if self._consumer.user_assigned:
            return self._consumer.spec.topics_of(self._consumer.name)
        return self.rejoin.watched_topics

    @property
    def settled(self) -> bool:
        """Whether the member is Stable and needs no rejoin, or has the partitions of assign()."""
        state = self._consumer.state
        return state is MemberState.ASSIGNED or (state is MemberState.STABLE and not self.rejoin.needed)

    def metadata_changed(self) -> None:
        """Rejoin if the subscription changed, or for a leader partitions or their racks."""
        self.rejoin.check_metadata_changed()

    # --- errors in responses ------------------------------------------------------------------------------------------

    def reset_generation(
        self, because: str, *, member_id: bool, state: MemberState = MemberState.JOINING, reason: str = ""
    ) -> None:
        """Lose the generation (and the member id), and with it the owned partitions; a rejoin is needed.

        `because`: the reason of the next JoinGroup, and of the new state if `reason` is empty.
        """
        consumer = self._consumer
        consumer.generation = -1
        if member_id:
            consumer.member_id = ""
        self._heartbeats.disable()
        consumer.set_state(state, reason or because)
        self.rejoin.reset_generation(because)

    def on_error(self, error: ErrorCode, sent_as: MemberIdentity, api: str, *, joining: bool = False) -> None:
        """Handle an error of the coordinator. `api`: by Kafka's name; `joining`: it answered JoinGroup or SyncGroup."""
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
                self._fence(error)
        elif error in _COORDINATOR_MOVED:
            consumer.coordinator_unknown(f"error response {error.name}")
        elif joining and error in _FATAL_TO_JOIN:
            consumer.fail(error.name)

    def heartbeat_failed(self, error: ErrorCode, sent_as: MemberIdentity) -> None:
        """Handle the error of a heartbeat that was sent with this identity."""
        self.on_error(error, sent_as, "HEARTBEAT")

    def _rejoin_failed(self, error: ErrorCode, sent_as: MemberIdentity, api: str) -> None:
        self.on_error(error, sent_as, api, joining=True)

    def _commit_failed(self, error: ErrorCode, sent_as: MemberIdentity) -> None:
        """Handle an error like `on_error`; but on REBALANCE_IN_PROGRESS rejoin even if the member is not Stable."""
        if self._consumer.user_assigned:  # UNKNOWN_MEMBER_ID: the group has members, and poll() goes on
            if error in _COORDINATOR_MOVED:
                self._consumer.coordinator_unknown(f"error response {error.name}")
        elif error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.rejoin.request_rejoin(reasons.COMMIT_FAILED)
        else:
            self.on_error(error, sent_as, "OFFSET_COMMIT")

    def _fence(self, error: ErrorCode) -> None:
        """FencedInstanceIdException: another process has this member's group.instance.id; poll() throws from now on.

        No partition is given up: close() calls onPartitionsLost, however late that is.
        """
        consumer = self._consumer
        if self.fenced:
            return
        self.fenced = consumer.records_withheld = True
        consumer.stable, consumer.generation = False, -1
        self._heartbeats.disable()
        consumer.set_state(MemberState.FENCED, error.name)
        consumer.emit(
            e.ConsumerFenced(
                group=consumer.group,
                member=consumer.name,
                member_id=consumer.member_id,
                instance_id=consumer.instance_id or "",
                reason=error.name,
            )
        )

    # --- leaving ------------------------------------------------------------------------------------------------------

    async def unsubscribe(self) -> None:
        """unsubscribe(): onPartitionsRevoked, or onPartitionsLost in a rebalance; then LeaveGroup, if not static.

        Source: `ClassicKafkaConsumer.unsubscribe`, `ConsumerCoordinator.onLeavePrepare`.
        """
        consumer = self._consumer
        if consumer.owned:
            lost = not consumer.stable
            if not lost:
                await self._listener.partitions_revoked(consumer.owned)
            consumer.give_up(consumer.owned, lost=lost)
        self._send_leave(reasons.UNSUBSCRIBED)
        self.reset_generation(reasons.LEAVING, member_id=True, state=MemberState.LEFT, reason=reasons.UNSUBSCRIBED)

    def _send_leave(self, reason: str) -> None:
        """Send LeaveGroup, unless the member is static, in no group, or knows no coordinator."""
        consumer = self._consumer
        if consumer.coordinator >= 0 and consumer.member_id and consumer.instance_id is None:
            leaving = m.LeavingMember(consumer.member_id, None, reason)
            consumer.send_to_coordinator(m.LeaveGroupRequest(consumer.group, (leaving,)), _ignore)

    async def close(self) -> None:
        """close(): commit, give up the partitions, send LeaveGroup, wait for all responses.

        The heartbeat thread ends first: during a long onPartitionsRevoked the session may expire.
        A static member sends no LeaveGroup. The coordinator answers its parked requests first, such as a JoinGroup.
        """
        consumer = self._consumer
        until_us = consumer.timeline.now_us + CLOSE_TIMEOUT_US
        if consumer.owned:
            if consumer.auto_commit:
                await self._commit_at_close()
            self._heartbeats.disable()
            if consumer.owned and not consumer.user_assigned:
                lost = not consumer.stable
                if not lost:
                    await self._listener.partitions_revoked(consumer.owned)
                consumer.give_up(consumer.owned, lost=lost)
        self._heartbeats.disable()
        if consumer.coordinator >= 0 and consumer.member_id and consumer.instance_id is None:
            leaving = m.LeavingMember(consumer.member_id, None, reasons.CLOSED)
            consumer.set_state(MemberState.LEFT, reasons.CLOSED)
            consumer.send_to_coordinator(m.LeaveGroupRequest(consumer.group, (leaving,)), _ignore)
        await consumer.await_pending_requests(until_us)

    def closed(self) -> None:
        """Report that the application has closed its consumer, unless LeaveGroup has done so."""
        if self._consumer.state is not MemberState.LEFT:
            self._consumer.set_state(MemberState.LEFT, reasons.CLOSED)

    def failed(self, reason: str) -> None:
        """Report the end of a process whose application did not survive what poll() threw."""
        self._consumer.set_state(MemberState.DEAD, reason)

    def leave_for_slow_poll(self) -> None:
        """Leave the group: max.poll.interval.ms passed without poll(), and others must get the partitions."""
        self._send_leave(reasons.POLL_TIMEOUT)
        why = "max.poll.interval.ms passed without poll()"
        self.reset_generation(reasons.LEAVING, member_id=True, state=MemberState.LEFT, reason=why)

    async def _commit_at_close(self) -> None:
        """Send the last auto commit; it fails without a request if the consumer is in no group, or is joining."""
        if self._consumer.stable:
            await self.commit_sync(CLOSE_TIMEOUT_US, during="close")
        elif self._consumer.coordinator >= 0:
            self.commits.auto_commit_unsent("close", REBALANCING if self.rejoin.in_flight else IN_NO_GROUP)


def _ignore(_: object) -> None:
    """Ignore the response to LeaveGroup."""
