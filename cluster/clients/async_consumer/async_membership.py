"""The membership of a consumer of the new protocol, as its application's thread and its background thread share it.

Theory of operation. The background thread changes the state by the coordinator's answers (`MembershipManager`). What
touches the application waits for its next poll(): it begins a reconciliation, runs onPartitionsRevoked, and takes the
new partitions. Partitions that the member must give up are not read from the reconciliation's begin; all others are
read on, also while the commit before it is in flight. Nothing waits for other members. Without a rebalance listener
lost partitions are dropped by the background thread at once.
Source: `AsyncKafkaConsumer`, `AbstractMembershipManager.maybeReconcile`, `ApplicationEventProcessor`.
"""

from base64 import urlsafe_b64encode
from typing import Final

from cluster import events as e
from cluster.clients.async_consumer.heartbeat_request_manager import HeartbeatRequestManager
from cluster.clients.async_consumer.membership_manager import MembershipManager, PendingReconciliation
from cluster.clients.async_consumer.network_thread import NetworkThread
from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer_host import MS, ConsumerHost, MemberIdentity
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.clients.consumer.group_membership import GroupMembership
from cluster.clients.consumer.offset_commits import OffsetCommits
from cluster.clients.consumer.positions import Positions
from cluster.clients.consumer.rebalance_listener import RebalanceListener
from cluster.clients.producer.transaction_offsets import ConsumerGroupMetadata
from cluster.protocol.client_states import CONSUMER_MEMBER_STATES, ConsumerMemberState
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import topic_of

CLOSE_TIMEOUT_US: Final = 30_000_000  # KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS
_FIND_AGAIN: Final = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT)

_S = ConsumerMemberState


class AsyncMembership(GroupMembership):
    """The new group protocol of one member."""

    def __init__(self, consumer: ConsumerHost, application: Application) -> None:
        super().__init__(consumer, application)
        self.states, self.left, self.dead = CONSUMER_MEMBER_STATES, _S.LEFT, _S.DEAD
        self.lookup = CoordinatorLookup(consumer)
        self.thread = self._network = NetworkThread(consumer, self.lookup, self._fail)
        self._listener = RebalanceListener(consumer, application, self._network)
        self.positions = Positions(consumer, with_epoch=True)
        self.commits = OffsetCommits(consumer, self._commit_failed, retries=False)
        self.reset()

    def reset(self) -> None:
        """Begin a new process, which is in no group."""
        self.lookup.reset()
        self.positions.reset()
        self.commits.reset()
        self._network.reset()
        self.manager = MembershipManager(self._consumer, self.epoch_changed, self.release_as_lost, self.act_soon)
        self.heartbeats = HeartbeatRequestManager(self._consumer, self.manager)
        self._consumer.stable = True  # commits need no membership: the coordinator refuses them
        self._lost, self._failure = False, ""
        self._committed: PendingReconciliation | None = None
        self._commit_until_us = 0

    def process_started(self) -> None:
        """Be UNSUBSCRIBED, and say so: that tells the new protocol from the classic one."""
        self._consumer.set_state(_S.UNSUBSCRIBED)

    def begin_polling(self) -> None:
        """Join: the application calls poll() for the first time."""
        bits = b"".join([int(self._consumer.random() * 2**32).to_bytes(4, "big") for _ in range(4)])
        self._consumer.member_id = urlsafe_b64encode(bits).decode().rstrip("=")  # `Uuid.randomUuid().toString()`
        self.manager.join_at_poll()
        self._network.begin(self.heartbeats)

    @property
    def watched_topics(self) -> tuple[str, ...]:
        """The topics that the member subscribes to, and those of its target."""
        return tuple(dict.fromkeys((*self._consumer.topics, *map(topic_of, self.manager.target.partitions))))

    @property
    def settled(self) -> bool:
        """Whether the member has its target and has acknowledged it."""
        return self._consumer.state is _S.STABLE

    def metadata_changed(self) -> None:
        """Look at the target again: its topics may be known now."""
        self._consumer.request_attention()

    # --- poll() -------------------------------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether poll() has anything to do for the group now."""
        manager = self.manager
        return (
            self._lost
            or self._committed is not None
            or manager.joins_at_poll
            or (manager.may_reconcile and self._target_known)
            or self._may_find_positions
        )

    @property
    def _may_find_positions(self) -> bool:
        """Whether partitions need positions, or their validation; the former need a coordinator."""
        positions = self.positions
        return positions.validation.due or (positions.missing and self._consumer.coordinator >= 0)

    @property
    def _target_known(self) -> bool:
        """Whether the metadata has each topic of the target; it is refreshed for one that it lacks."""
        known = self._consumer.topic_partitions
        if all(topic_of(name) in known for name in self.manager.target.partitions):
            return True
        if not self._consumer.metadata_stale:
            self._consumer.mark_metadata_stale()
        return False

    async def work(self) -> None:
        """Do the next thing that poll() has to do for the group."""
        if self._lost:
            self._lost = False
            self._commit_if_due()
            self._consumer.give_up(self._consumer.owned, lost=True)
            self.manager.released()
            if self._failure:
                self._consumer.fail(self._failure)
        elif self.manager.joins_at_poll:
            self.manager.join_at_poll()
        elif self._committed is not None:
            reconciliation, self._committed = self._committed, None
            await self._revoke_and_assign(reconciliation)
        elif self.manager.may_reconcile and self._target_known:
            await self._reconcile()
        elif self.positions.validation.due:
            self.positions.validation.ask()
        else:
            await self.positions.find()

    def _commit_if_due(self) -> None:
        """Send a due auto commit before onPartitionsLost: refused, unless the group is empty.

        Source: `ApplicationEventProcessor`, whose AsyncPollEvent commits before anything else.
        """
        consumer = self._consumer
        if consumer.auto_commit and consumer.timeline.now_us >= consumer.next_auto_commit_us:
            self.commits.send(during="poll")
            consumer.schedule_auto_commit()

    # --- reconciliation -----------------------------------------------------------------------------------------------

    async def _reconcile(self) -> None:
        """Commit, if commits are automatic; then give up and take partitions."""
        consumer = self._consumer
        reconciliation = self.manager.begin_reconciliation()
        consumer.fetcher.withhold(reconciliation.revoked)
        if consumer.auto_commit and consumer.fetcher.positions:
            self._commit_until_us = consumer.timeline.now_us + consumer.max_poll_interval_us
            self._commit(reconciliation)
        else:
            await self._revoke_and_assign(reconciliation)

    def _commit(self, reconciliation: PendingReconciliation) -> None:
        """Commit before the revocation; poll() returns records of other partitions meanwhile."""

        def ended(error: ErrorCode) -> None:
            self._commit_ended(reconciliation, error)

        if self._consumer.fetcher.positions and not self.commits.send(ended):
            ended(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif not self._consumer.fetcher.positions:
            ended(ErrorCode.NONE)

    def _commit_ended(self, reconciliation: PendingReconciliation, error: ErrorCode) -> None:
        consumer = self._consumer
        again = error.retriable or (error is ErrorCode.STALE_MEMBER_EPOCH and consumer.generation > 0)
        if again and consumer.timeline.now_us < self._commit_until_us:
            consumer.after(consumer.retry_backoff_us, lambda: self._commit(reconciliation))
            return
        if error is not ErrorCode.NONE:
            self.commits.emit_auto_commit_failed("rejoin", error.name, consumer.fetcher.positions)
        if not self.manager.aborted():
            self._committed = reconciliation
            consumer.request_attention()

    async def _revoke_and_assign(self, reconciliation: PendingReconciliation) -> None:
        """onPartitionsRevoked, onPartitionsAssigned; the next heartbeat acknowledges what the member owns then."""
        consumer = self._consumer
        if self.manager.aborted():
            return
        if reconciliation.revoked:
            await self._listener.partitions_revoked(reconciliation.revoked)
            if self.manager.aborted():
                return
            consumer.give_up(reconciliation.revoked, lost=False)
        consumer.owned = reconciliation.target.partitions
        consumer.emit(
            e.PartitionsAssigned(
                group=consumer.group,
                member=consumer.name,
                generation=consumer.generation,
                partitions=reconciliation.added,
            )
        )
        self.positions.assigned(reconciliation.added)
        consumer.schedule_auto_commit()
        consumer.joined()
        self.manager.complete_reconciliation()

    # --- what the state machine makes the consumer do -----------------------------------------------------------------

    def epoch_changed(self) -> None:
        """Use the new epoch in commits and transactions."""
        consumer = self._consumer
        if consumer.generation > 0:
            consumer.group_metadata = ConsumerGroupMetadata(
                consumer.group, consumer.generation, consumer.member_id, consumer.instance_id
            )
        consumer.emit(
            e.MemberEpochChanged(
                group=consumer.group, member=consumer.name, member_id=consumer.member_id, epoch=consumer.generation
            )
        )

    def release_as_lost(self) -> None:
        """onPartitionsLost: with a listener at the next poll(), else at once."""
        consumer = self._consumer
        if consumer.owned and consumer.spec.application.listens:
            consumer.fetcher.withhold(consumer.owned)
            self._lost = True
            consumer.request_attention()
            return
        if consumer.owned:
            consumer.give_up(consumer.owned, lost=True)
        self.manager.released()

    def _fail(self, reason: str) -> None:
        """Let poll() throw, behind onPartitionsLost."""
        if self._lost:
            self._failure = reason
        else:
            self._consumer.fail(reason)

    def act_soon(self) -> None:
        """Let poll() and the background thread look at the member again."""
        self._consumer.request_attention()
        self._network.wake()

    def _commit_failed(self, error: ErrorCode, _: MemberIdentity) -> None:
        """Find another coordinator if this one refuses; the heartbeats learn what else is wrong with the member."""
        if error in _FIND_AGAIN:
            self._consumer.coordinator_unknown(f"error response {error.name}")

    # --- leaving ------------------------------------------------------------------------------------------------------

    async def unsubscribe(self) -> None:
        """unsubscribe(): onPartitionsRevoked or onPartitionsLost; the last heartbeat says -1, or -2 if static.

        Source: `AsyncKafkaConsumer.unsubscribe`, `AbstractMembershipManager.leaveGroup`.
        """
        consumer, manager = self._consumer, self.manager
        until_us = consumer.timeline.now_us + consumer.config.default_api_timeout_ms * MS
        if consumer.owned and consumer.generation > 0:
            await self._listener.partitions_revoked(consumer.owned)
        if consumer.owned:
            consumer.give_up(consumer.owned, lost=consumer.generation <= 0)
        self._lost = False
        manager.leave()
        if self._committed is not None:
            self._committed = None
            manager.aborted()
        self._network.run_once()
        consumer.group_metadata = ConsumerGroupMetadata(consumer.group, -1, "", consumer.instance_id)
        await consumer.await_pending_requests(until_us)
        manager.subscription_updated = True  # by the subscribe() after which poll() is called again

    async def close(self) -> None:
        """close(): commit, onPartitionsRevoked or onPartitionsLost, leave with the last heartbeat."""
        consumer = self._consumer
        timeout_us = min(CLOSE_TIMEOUT_US, consumer.config.request_timeout_ms * MS)
        until_us = consumer.timeline.now_us + timeout_us
        if consumer.auto_commit and consumer.fetcher.positions:
            await self.commit_sync(timeout_us, during="close")
        if consumer.owned and consumer.generation > 0:
            await self._listener.partitions_revoked(consumer.owned)
        if consumer.owned:
            consumer.give_up(consumer.owned, lost=consumer.generation <= 0)
        self._lost = False
        self.manager.leave()
        self._network.run_once()
        await consumer.await_pending_requests(until_us)

    def closed(self) -> None:
        """Report nothing: the heartbeat that left has said so."""

    def failed(self, reason: str) -> None:
        """Report nothing: the member has left its group, or its state is FATAL."""
