"""What the independent recorder notes of groups of the new protocol: epochs, targets, and who took which partitions."""

from collections import defaultdict
from typing import Any

import pytest

from cluster.clients.async_consumer.async_membership import AsyncMembership
from cluster.clients.async_consumer.membership_manager import PendingReconciliation
from cluster.coordinators.consumer_group import classic_members, heartbeat, migration, target, writing
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, preferred_assignor
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.target import MemberTarget
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.decision import Decision, Draft
from cluster.coordinators.group import coordinator, join_barrier
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.rebalance_causes import Trigger
from cluster.coordinators.records import TargetAssignmentMetadata
from cluster.events import Event
from cluster.protocol.client_states import ConsumerMemberState
from cluster.protocol.rebalance_causes import RebalanceCause
from tests.support.group_recorder import CLOSED, CoordinatorNotes


class _Operations:
    """What the last operation on each group is about to write; it counts when its records are appended."""

    def __init__(self) -> None:
        self.now_us: defaultdict[str, int] = defaultdict(int)
        self.bumped: dict[str, tuple[str, str]] = {}
        self.computed: dict[str, str] = {}

    def begin(self, write: GroupWrite) -> None:
        name = write.group.group_id
        self.now_us[name] = write.now_us
        self.bumped.pop(name, None)
        self.computed.pop(name, None)


def watch_consumer_groups(patch: pytest.MonkeyPatch, notes: CoordinatorNotes) -> None:
    """Let the notes have what coordinators and members of the new protocol do."""
    operations = _Operations()
    init, bump, update, tell = GroupWrite.__init__, GroupWrite.bump, target.update_target, writing.events_of

    def begins(write: GroupWrite, *about: object) -> None:
        init(write, *about)  # type: ignore[arg-type]
        operations.begin(write)

    def bumps(write: GroupWrite, cause: RebalanceCause, members: list[ConsumerGroupMember], metadata: int) -> None:
        bump(write, cause, members, metadata)
        trigger = members[0].client_id if members else ""
        operations.bumped.setdefault(write.group.group_id, (cause.value, trigger))

    def updates(write: GroupWrite, member: ConsumerGroupMember) -> MemberTarget:
        before = len(write.records)
        found = update(write, member)
        if any(isinstance(record, TargetAssignmentMetadata) for record in write.records[before:]):
            named = preferred_assignor(write.group.with_member(member), write.context.settings.consumer_assignors[0])
            operations.computed[write.group.group_id] = named
        return found

    def appended(context: GroupContext, group_id: str, facts: list[Event]) -> list[Event]:
        group, now_us = context.consumer_groups.get(group_id), operations.now_us[group_id]
        if group is not None and group_id in operations.bumped:
            notes.begins(group, *operations.bumped.pop(group_id), now_us)
        if group is not None and group_id in operations.computed:
            notes.computed(group, operations.computed.pop(group_id))
        if group is not None:
            notes.matched(group)
        told = tell(context, group_id, facts)
        if group is not None and group.state in CLOSED:  # a lone member may have its next target at once
            notes.over(group, now_us)
        return told

    patch.setattr(GroupWrite, "__init__", begins)
    patch.setattr(GroupWrite, "bump", bumps)
    patch.setattr(heartbeat, "update_target", updates)
    patch.setattr(classic_members, "update_target", updates)
    patch.setattr(writing, "events_of", appended)
    _watch_members(patch, notes)
    _watch_conversions(patch, notes)


def _watch_members(patch: pytest.MonkeyPatch, notes: CoordinatorNotes) -> None:
    assign = AsyncMembership._revoke_and_assign

    async def assigns(membership: AsyncMembership, reconciliation: PendingReconciliation) -> None:
        await assign(membership, reconciliation)
        consumer = membership._consumer
        if consumer.state is ConsumerMemberState.ACKNOWLEDGING:
            added, now_us = list(reconciliation.added), consumer.timeline.now_us
            notes.target_taken(consumer.group, consumer.name, consumer.generation, added, now_us)

    patch.setattr(AsyncMembership, "_revoke_and_assign", assigns)


def _watch_conversions(patch: pytest.MonkeyPatch, notes: CoordinatorNotes) -> None:
    replace, begin = migration._replace_classic, migration._begin_classic
    prepare, convert = join_barrier.prepare_rebalance, coordinator.convert_to_classic

    def upgrades(context: GroupContext, group: ClassicGroup, sessions_us: dict[str, int]) -> list[Event]:
        notes.converted(group.group_id, "consumer")
        notes.assignors[group.group_id] = group.protocol
        return replace(context, group, sessions_us)

    def downgrades(write: GroupWrite, group: ClassicGroup, trigger: Trigger | None) -> list[Event]:
        notes.converted(group.group_id, "classic")
        return begin(write, group, trigger)

    def prepares(context: GroupContext, group: ClassicGroup, trigger: Trigger, draft: Draft) -> None:
        notes.begins(group, trigger.cause, trigger.member, draft.now_us)
        prepare(context, group, trigger, draft)

    def converts(context: GroupContext, group: ConsumerGroup, *about: Any) -> Decision:  # noqa: ANN401 - as it gets them
        notes.converted(group.group_id, "classic")
        return convert(context, group, *about)

    patch.setattr(migration, "_replace_classic", upgrades)
    patch.setattr(migration, "_begin_classic", downgrades)
    patch.setattr(migration, "prepare_rebalance", prepares)
    patch.setattr(coordinator, "convert_to_classic", converts)
