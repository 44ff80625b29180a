"""How a member joins its group, again and again: prepare, JoinGroup, SyncGroup, complete.

Theory of operation. `needed` says that poll() is to (re)join. First the positions are committed (auto commit) and
partitions are given up: eager members give up all, which is what stops the world; cooperative members only those of
topics they no longer want, and they go on reading the others while JoinGroup waits at the coordinator's barrier and
SyncGroup for the leader. That is why nothing here waits: a request leaves, poll() goes on, and its answer is looked at
when poll() is called next. A cooperative member that finds partitions missing in its new share revokes these and
rejoins, so that the next round can give them to somebody else. Heartbeats stop while JoinGroup is under way. Whoever
lost its generation meanwhile drops the answer and begins anew.

    idle --(auto commit)--> preparing --> idle --> joining --> syncing --> idle

Source: `AbstractCoordinator.joinGroupIfNeeded`, `ConsumerCoordinator.onJoinPrepare`, `onJoinComplete` (KIP-429).
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from functools import partial
from typing import Any, Protocol

from cluster import events as e
from cluster.clients.consumer.consumer_host import MS, ConsumerHost, MemberIdentity
from cluster.clients.consumer.leader_assignment import AssignorError, assign_partitions, metadata_of
from cluster.clients.consumer.offset_commits import IN_NO_GROUP, OffsetCommits
from cluster.clients.consumer.positions import Positions
from cluster.clients.producer.transaction_offsets import ConsumerGroupMetadata
from cluster.protocol import messages as m
from cluster.protocol import reasons
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import topic_of

JOIN_GROUP_TIMEOUT_LAPSE_US = 5_000_000


class Refused(Protocol):
    """Who is told of an error in an answer, and as whom the request had been sent."""

    def __call__(self, error: ErrorCode, sent_as: MemberIdentity, api: str, *, joining: bool = False) -> None:
        """`api`: what was answered, as Kafka names it; `joining`: it was a JoinGroup or SyncGroup."""


class Phase(Enum):
    """What is under way."""

    IDLE = "idle"
    PREPARING = "preparing"
    JOINING = "joining"
    SYNCING = "syncing"


class Rejoin:
    """The rejoin of one member. `refused` is told of errors in answers, and as whom the request had been sent."""

    def __init__(self, consumer: ConsumerHost, commits: OffsetCommits, positions: Positions, refused: Refused) -> None:
        self._consumer, self._commits, self._positions, self._refused = consumer, commits, positions, refused
        self.reset()

    def reset(self) -> None:
        """A new process: not a member of anything."""
        self.needed, self.reason = True, ""
        self.phase = Phase.IDLE
        self._prepared = self._committed = self._backing_off = False
        self._prepare_until_us: int | None = None
        self._attempt = 0  # an answer that belongs to an earlier one is dropped
        self._answer: tuple[int, Callable[[Any], Awaitable[None]], Any] | None = None
        self._joined_topics: tuple[str, ...] | None = None
        self._leads = False
        self._snapshot: dict[str, int] | None = None  # the leader's: partition counts that it assigned
        self._remembered = m.MemberMetadata(())  # what an assignor that keeps it in user data was last assigned

    @property
    def has_work(self) -> bool:
        """Whether there is something to do about it now."""
        return self._answer is not None or (self.needed and self.phase is Phase.IDLE and not self._backing_off)

    @property
    def over(self) -> bool:
        """Whether it is neither needed nor under way (`rejoinNeededOrPending`)."""
        return not self.needed and self.phase is Phase.IDLE and self._answer is None

    @property
    def under_way(self) -> bool:
        """Whether JoinGroup or SyncGroup is: the group rebalances, and no commit is sent."""
        return self.phase in (Phase.JOINING, Phase.SYNCING)

    @property
    def has_answer(self) -> bool:
        """Whether an answer lies in the socket."""
        return self._answer is not None

    def request_rejoin(self, reason: str) -> None:
        """Rejoin at the next poll(); `reason` goes along with the JoinGroup (KIP-800)."""
        self.needed, self.reason = True, reason
        self._consumer.request_attention()

    def reset_generation(self, because: str) -> None:
        """The generation is lost: whatever is under way is for nothing."""
        self._consumer.stable = False
        self._prepared = False
        self._attempt += 1
        self.request_rejoin(because)

    def check_metadata_changed(self) -> None:
        """Has the subscription changed since the last JoinGroup, or for a leader the number of partitions?"""
        consumer = self._consumer
        if self.needed or self.phase is not Phase.IDLE:
            return
        if self._snapshot is not None and self._snapshot != self._counts(self._snapshot):
            self.request_rejoin(reasons.METADATA_CHANGED)
        elif self._joined_topics is not None and sorted(self._joined_topics) != sorted(consumer.topics):
            self.request_rejoin(reasons.SUBSCRIPTION_CHANGED)

    @property
    def watched_topics(self) -> tuple[str, ...]:
        """The topics whose metadata matter: a leader's are those of the whole group."""
        return tuple(dict.fromkeys((*self._consumer.topics, *(self._snapshot or ()))))

    def _counts(self, topics: dict[str, int]) -> dict[str, int]:
        known = self._consumer.topic_partitions
        return {topic: len(known.get(topic, ())) for topic in topics}

    async def step(self) -> None:
        """The next thing to do."""
        if self._answer is not None:
            (attempt, handle, response), self._answer = self._answer, None
            self.phase = Phase.IDLE
            if attempt == self._attempt:
                await handle(response)
        elif self._prepared:
            self._join()
        else:
            self._prepare()

    def _arrived(self, attempt: int, handle: Callable[[Any], Awaitable[None]], response: object) -> None:
        """An answer lies in the socket until poll() looks at it."""
        self._answer = attempt, handle, response
        self._consumer.request_attention()

    def _back_off(self) -> None:
        """Try again after `retry.backoff.ms`."""
        self._backing_off = True
        self._consumer.after(self._consumer.retry_backoff_us, self._backoff_over)

    def _backoff_over(self) -> None:
        self._backing_off = False
        self._consumer.request_attention()

    # --- onJoinPrepare ------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Commit what was read, then give up partitions – or lose them, when the generation is gone."""
        consumer = self._consumer
        if self._prepare_until_us is None:
            self._prepare_until_us = consumer.timeline.now_us + consumer.max_poll_interval_us
        if consumer.auto_commit and not self._committed:
            if consumer.stable and self._commits.send(self._commit_ended, during="rejoin"):
                self.phase = Phase.PREPARING
                consumer.records_withheld = (
                    not consumer.cooperative
                )  # eager: pending revocation, poll() returns none of them
                return
            if consumer.generation < 0:
                self._commits.auto_commit_unsent("rejoin", IN_NO_GROUP)
        self._prepared, self._committed, self._prepare_until_us = True, False, None
        consumer.records_withheld = False
        lost = consumer.generation < 0 or not consumer.member_id
        going = consumer.owned
        if consumer.cooperative and not lost:
            going = tuple(name for name in going if topic_of(name) not in consumer.topics)
        if going:
            if not lost:
                consumer.set_state("Revoking", self.reason)
            self.revoke(going, lost=lost)

    def _commit_ended(self, error: ErrorCode) -> None:
        self.phase = Phase.IDLE
        if error.retriable and self._consumer.timeline.now_us < (self._prepare_until_us or 0):
            self._back_off()
        else:
            self._committed = True
            if error.retriable:
                self._commits.emit_auto_commit_failed("rejoin", error.name, {})
        self._consumer.request_attention()

    def revoke(self, partitions: tuple[str, ...], *, lost: bool) -> None:
        """onPartitionsRevoked, or onPartitionsLost: these are read no more."""
        consumer = self._consumer
        gone = dict.fromkeys(partitions)
        consumer.owned = tuple(name for name in consumer.owned if name not in gone)
        consumer.fetcher.revoke(partitions)
        self._positions.revoked(partitions)
        consumer.emit(e.PartitionsRevoked(group=consumer.group, member=consumer.name, partitions=partitions, lost=lost))

    # --- JoinGroup ----------------------------------------------------------------------------------------------------

    def _join(self) -> None:
        consumer, config = self._consumer, self._consumer.config
        consumer.disable_heartbeats()
        consumer.stable = False
        consumer.set_state("Joining", self.reason)
        self._joined_topics = consumer.topics
        request = m.JoinGroupRequest(
            group=consumer.group,
            member_id=consumer.member_id,
            client_id=consumer.name,
            session_timeout_ms=config["session.timeout.ms"],
            rebalance_timeout_ms=config["max.poll.interval.ms"],
            protocols={one.name: metadata_of(consumer, one, self._remembered) for one in consumer.assignors},
            instance_id=consumer.instance_id,
            reason=self.reason,
        )
        timeout_us = consumer.max_poll_interval_us + JOIN_GROUP_TIMEOUT_LAPSE_US
        self._send(Phase.JOINING, request, self._join_answered, max(timeout_us, config["request.timeout.ms"] * MS))

    def _send(
        self, phase: Phase, request: Request, handle: Callable[[Any], Awaitable[None]], timeout_us: int | None = None
    ) -> None:
        self.phase = phase
        self._attempt += 1
        arrived = partial(self._arrived, self._attempt, handle)
        self._consumer.send_to_coordinator(request, arrived, timeout_us=timeout_us)

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
        """A JoinGroup or SyncGroup came to nothing; None when its connection broke. Try again, perhaps after a rest."""
        if error is None:
            self.reason = reasons.rebalance_failed("DISCONNECT")
            self._back_off()
            return
        if error is not ErrorCode.REBALANCE_IN_PROGRESS:
            self._refused(error, self._consumer.identity, api, joining=True)
        self.reason = reasons.rebalance_failed(error.name)
        if error.retriable:
            self._back_off()

    def _emit_assignment(self, assignments: dict[str, tuple[str, ...]]) -> None:
        consumer = self._consumer
        consumer.emit(
            e.AssignmentMade(
                group=consumer.group, member=consumer.name, generation=consumer.generation, assignments=assignments
            )
        )

    async def _joined(self, joined: m.JoinGroupResponse) -> None:
        """A new generation, and heartbeats from now on; the leader deals the partitions."""
        consumer = self._consumer
        consumer.member_id, consumer.generation = joined.member_id, joined.generation
        consumer.set_state("Syncing")
        consumer.enable_heartbeats()
        attempt = self._attempt
        assignments: dict[str, tuple[str, ...]] = {}
        self._leads = joined.leader == joined.member_id
        if self._leads:
            await self._load_group_metadata(joined)
            if attempt != self._attempt:
                return  # the heartbeat thread heard meanwhile that all this is over
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
        self._send(Phase.SYNCING, request, self._sync_answered)

    async def _load_group_metadata(self, joined: m.JoinGroupResponse) -> None:
        """The leader looks up topics that it does not know, and remembers what it knows of everybody's."""
        consumer = self._consumer
        topics = tuple(sorted({topic: None for member in joined.members for topic in member.metadata.topics}))
        if any(topic not in consumer.topic_partitions for topic in topics):
            await consumer.refresh_metadata(tuple(dict.fromkeys((*consumer.topics, *topics))))
            consumer.fetcher.route()
        self._snapshot = self._counts(dict.fromkeys(topics, 0))

    # --- SyncGroup ----------------------------------------------------------------------------------------------------

    async def _sync_answered(self, response: m.SyncGroupResponse | None) -> None:
        if response is not None and response.error is ErrorCode.NONE:
            self._complete(response.assignment)
        else:
            self._failed("SYNC_GROUP", None if response is None else response.error)

    def _complete(self, assigned: tuple[str, ...]) -> None:
        """onJoinComplete: what is new comes; a cooperative member revokes what is gone, and rejoins for it."""
        consumer = self._consumer
        self.needed, self.reason, self._prepared = False, "", False
        consumer.stable = True
        consumer.group_metadata = ConsumerGroupMetadata(
            consumer.group, consumer.generation, consumer.member_id, consumer.instance_id
        )
        if not self._leads:
            self._snapshot = None
        consumer.set_state("Stable")
        if any(topic_of(name) not in consumer.topics for name in assigned):
            self.request_rejoin(reasons.ASSIGNMENT_DOES_NOT_MATCH)
            return
        owned, kept = dict.fromkeys(consumer.owned), dict.fromkeys(assigned)
        added = tuple(name for name in assigned if name not in owned)
        revoked = tuple(name for name in owned if name not in kept)
        if revoked:
            consumer.set_state("Revoking", reasons.REVOKED)
            self.revoke(revoked, lost=False)
            consumer.set_state("Stable")
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
