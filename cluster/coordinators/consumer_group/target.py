"""The group epoch and the target assignment that follows it.

The target is computed in the heartbeat that finds it older than the group epoch, at most once in
`group.consumer.assignment.interval.ms`: members that join together are assigned together. Until then heartbeats go on
with the last target. Source: Kafka's `GroupMetadataManager` (updateSubscriptionMetadata, maybeUpdateTargetAssignment),
`TargetAssignmentBuilder`.
"""

from typing import NamedTuple

from cluster.coordinators.assignors import SERVER_ASSIGNORS, ConsumerGroupSpec, ConsumerMemberSpec
from cluster.coordinators.consumer_group.consumer_group import (
    NOT_COMPUTED,
    ConsumerGroup,
    preferred_assignor,
    subscription_type_of,
)
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.records import TargetAssignmentMetadata
from cluster.events import TargetAssignmentComputed
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.reach import reached


class MemberTarget(NamedTuple):
    """A member's target and the assignment epoch that it is of."""

    epoch: int
    partitions: tuple[str, ...]


def check_metadata(write: GroupWrite, member: ConsumerGroupMember, cause: RebalanceCause | None) -> None:
    """Raise the group epoch for `cause`, or because the subscribed topics are not what they were.

    Without a cause it looks only if the broker's topics have changed since the last look, or the coordinator is new.
    """
    context, group = write.context, write.group
    version, epoch = group.checked_metadata
    if cause is None and version == context.topics.version and group.epoch >= epoch:
        return
    metadata_hash = context.topics.hash_of(group.subscribed_topics(group.with_member(member)))
    if cause is not None:
        write.bump(cause, [member], metadata_hash)
    elif metadata_hash != group.metadata_hash:
        reached("consumer group: topics changed")
        write.bump(RebalanceCause.METADATA_CHANGED, [], metadata_hash)
    group.checked_metadata = context.topics.version, write.epoch


def update_target(write: GroupWrite, member: ConsumerGroupMember) -> MemberTarget:
    """Compute the group's target if it is out of date and the last one is old enough; returns this member's."""
    context, group = write.context, write.group
    if group.assignment_epoch >= write.epoch or not _may_compute(context, group, write.now_us):
        return MemberTarget(group.assignment_epoch, group.target_of(member.member_id, member.instance_id))
    members = group.with_member(member)
    name = preferred_assignor(members, context.settings.consumer_assignors[0])
    spec = ConsumerGroupSpec(
        {one.member_id: _spec_of(group, one) for one in members},
        context.topics.partitions,
        subscription_type_of(members),
    )
    targets = SERVER_ASSIGNORS[name].assign(spec)
    changed = {}
    for member_id, partitions in targets.items():
        if group.targets.get(member_id) != partitions:
            changed[member_id] = partitions
            write.target(member_id, partitions)
    write.records.append(TargetAssignmentMetadata(group.group_id, write.epoch, write.now_us))
    write.facts.append(TargetAssignmentComputed(group=group.group_id, epoch=write.epoch, assignor=name, target=changed))
    return MemberTarget(write.epoch, targets[member.member_id])


def _may_compute(context: GroupContext, group: ConsumerGroup, now_us: int) -> bool:
    if group.assigned_at_us == NOT_COMPUTED or not context.settings.assignment_interval_us:
        return True
    if now_us >= group.assigned_at_us + context.settings.assignment_interval_us:
        return True
    reached("consumer group: the next target has to wait")
    return False


def _spec_of(group: ConsumerGroup, member: ConsumerGroupMember) -> ConsumerMemberSpec:
    target = group.target_of(member.member_id, member.instance_id)
    return ConsumerMemberSpec(group.topics_of(member), member.instance_id, target)
