"""One operation on one group: its records, and the events that are true once they are appended.

Replay changes the group as soon as the records are appended, so their events are emitted then. The answer waits until
they are committed. A heartbeat without records waits behind earlier ones: it must not tell what may be lost yet.
Source: Kafka's `CoordinatorResult`, `CoordinatorRuntime`.
"""

from collections.abc import Callable
from typing import Final

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.decision import Call, Decision, Record
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import CLASSIC_JOIN, CLASSIC_SYNC, REVOCATION, SESSION
from cluster.coordinators.records import (
    ConsumerGroupEpoch,
    ConsumerGroupMemberMetadata,
    ConsumerGroupTombstone,
    CurrentMemberAssignment,
    TargetAssignmentMember,
)
from cluster.events import ConsumerGroupEpochBumped, ConsumerGroupStateChanged, Event, MemberRemoved
from cluster.protocol.api import Response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.rebalance_causes import RebalanceCause

MEMBER_TIMERS: Final = (SESSION, REVOCATION, CLASSIC_JOIN, CLASSIC_SYNC)


class GroupWrite:
    """The records of an operation in their order, and the facts that they make.

    A conversion of the group adds `replies` to calls that the group had parked, what else it does `when_appended`
    (returning further facts), and what it does `when_refused` by the log.
    """

    def __init__(self, context: GroupContext, group: ConsumerGroup, now_us: int) -> None:
        self.context, self.group, self.now_us = context, group, now_us
        self.records: list[Record] = []
        self.facts: list[Event] = []
        self.epoch = group.epoch
        self.replies: list[tuple[Call, Response]] = []
        self.when_appended: list[Callable[[], list[Event]]] = []
        self.when_refused: Callable[[int], list[Event]] | None = None

    def metadata(self, member: ConsumerGroupMember) -> None:
        """Write what a member subscribes to."""
        self.records.append(
            ConsumerGroupMemberMetadata(
                group=self.group.group_id,
                member_id=member.member_id,
                instance_id=member.instance_id,
                rack_id=member.rack_id,
                client_id=member.client_id,
                topics=member.topics,
                topic_regex=member.topic_regex,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                assignor=member.assignor,
                classic=member.classic,
            )
        )

    def target(self, member_id: str, partitions: tuple[str, ...]) -> None:
        """Write a member's target."""
        self.records.append(TargetAssignmentMember(self.group.group_id, member_id, partitions))

    def current(self, member: ConsumerGroupMember) -> None:
        """Write a member's epoch, state and partitions."""
        self.records.append(
            CurrentMemberAssignment(
                group=self.group.group_id,
                member_id=member.member_id,
                epoch=member.epoch,
                previous_epoch=member.previous_epoch,
                state=member.state,
                assigned=member.assigned,
                pending_revocation=member.pending_revocation,
            )
        )

    def removal(self, member_id: str) -> None:
        """Write the tombstones of a member, in Kafka's order."""
        for kind in (CurrentMemberAssignment, TargetAssignmentMember, ConsumerGroupMemberMetadata):
            self.records.append(ConsumerGroupTombstone.of(kind, self.group.group_id, member_id))

    def bump(self, cause: RebalanceCause, members: list[ConsumerGroupMember], metadata_hash: int) -> None:
        """Raise the group epoch."""
        self.epoch += 1
        self.records.append(ConsumerGroupEpoch(self.group.group_id, self.epoch, metadata_hash))
        self.facts.append(
            ConsumerGroupEpochBumped(
                group=self.group.group_id,
                epoch=self.epoch,
                cause=cause.value,
                broker=self.context.broker,
                metadata_hash=metadata_hash,
                members=tuple(member.client_id for member in members),
                member_ids=tuple(member.member_id for member in members),
            )
        )

    def decision(self, then: Callable[[ErrorCode, int], Decision], waiting: list[Event] | None = None) -> Decision:
        """Append, tell, and go on with `then`. `waiting`: what to tell if an answer without records has to wait."""
        if not self.records:
            return Decision(then=then, after_log=True, waiting=waiting or [])
        if self.when_refused is not None:
            then = _or_refused(then, self.when_refused)
        return Decision(
            tuple(self.records), self.replies, then=then, appended=self._emitted
        )  # facts tell of sessions, too

    def _emitted(self) -> list[Event]:
        """The facts, once the records are appended and replayed."""
        further = [event for action in self.when_appended for event in action()]
        return [*events_of(self.context, self.group.group_id, self.facts), *further]


def _or_refused(
    then: Callable[[ErrorCode, int], Decision], refused: Callable[[int], list[Event]]
) -> Callable[[ErrorCode, int], Decision]:
    def after(error: ErrorCode, now_us: int) -> Decision:
        decision = then(error, now_us)
        if error is not ErrorCode.NONE and error.definite:
            decision.events.extend(refused(now_us))
        return decision

    return after


def events_of(context: GroupContext, group_id: str, facts: list[Event]) -> list[Event]:
    """The facts of an appended operation, and the state that the group has now, if it is another one."""
    for fact in facts:
        if isinstance(fact, MemberRemoved):  # not before: if the append fails, its timers still remove it
            for kind in MEMBER_TIMERS:
                name = kind, group_id, fact.member_id
                context.deadlines.cancel(name)
                context.revoking_epochs.pop(name, None)
    group = context.consumer_groups.get(group_id)
    if group is None or not group.settle_state():
        return facts
    changed = ConsumerGroupStateChanged(group=group_id, state=group.state.value, broker=context.broker)
    return [*facts, changed]
