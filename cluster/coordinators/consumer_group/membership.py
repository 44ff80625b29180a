"""Who may send a heartbeat: the checks of a request, of its group, and of its member, in Kafka's order.

Each check returns a `Refusal`, or what the heartbeat goes on with. Messages are Kafka's words.
Source: `GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`, `GroupMetadataManager`
(getOrMaybeCreateConsumerGroup, getOrMaybeSubscribeDynamicConsumerGroupMember and …StaticConsumerGroupMember).
"""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from cluster.coordinators.consumer_group.consumer_group import LEFT_FOR_A_WHILE, ConsumerGroup
from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.migration import upgrade
from cluster.coordinators.consumer_group.refusal import Refusal
from cluster.coordinators.consumer_group.writing import GroupWrite
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.records import GroupTombstone
from cluster.events import GroupProtocolConverted, MemberProtocolChanged, StaticMemberReplaced
from cluster.protocol.consumer_group_messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroupHeartbeatRequest,
)
from cluster.protocol.errors import ErrorCode
from cluster.reach import reached

_E = ErrorCode


def invalid(request: ConsumerGroupHeartbeatRequest, assignors: Collection[str]) -> Refusal | None:
    """The error of a request that no group needs to see; None for a valid one."""
    ids = {
        "MemberId": request.member_id,
        "GroupId": request.group,
        "InstanceId": request.instance_id,
        "RackId": request.rack_id,
    }
    for name, value in ids.items():
        if value == "":
            return Refusal(_E.INVALID_REQUEST, f"{name} can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        if request.rebalance_timeout_ms == -1:
            return Refusal(_E.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request.")
        if request.owned is None or request.owned:
            return Refusal(_E.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining.")
        if request.topics is None and request.topic_regex is None:
            words = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            return Refusal(_E.INVALID_REQUEST, words)
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        if request.instance_id is None:
            return Refusal(_E.INVALID_REQUEST, "InstanceId can't be null.")
    elif request.member_epoch < LEAVE_EPOCH:
        return Refusal(_E.INVALID_REQUEST, "MemberEpoch is invalid.")
    if request.assignor is not None and request.assignor not in assignors:
        words = f"ServerAssignor {request.assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        return Refusal(_E.UNSUPPORTED_ASSIGNOR, words)
    return None


def existing_group(context: GroupContext, group_id: str) -> ConsumerGroup | Refusal:
    """The group, if it is one of the new protocol."""
    group = context.consumer_groups.get(group_id)
    if group is not None:
        return group
    if group_id in context.groups:
        return Refusal(_E.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return Refusal(_E.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")


def open_group(context: GroupContext, request: ConsumerGroupHeartbeatRequest, now_us: int) -> GroupWrite | Refusal:
    """Begin to write to the group; a join creates it, also in the place of a classic group of that id."""
    group_id, joins = request.group, request.member_epoch == JOIN_EPOCH
    group = context.consumer_groups.get(group_id)
    if group is not None:
        write = GroupWrite(context, group, now_us)
    elif not joins:
        refusal = existing_group(context, group_id)
        assert isinstance(refusal, Refusal)
        return refusal
    else:
        opened = _open_in_place_of(context, context.groups.get(group_id), request, now_us)
        if isinstance(opened, Refusal):
            return opened
        write = opened
    limit = context.settings.consumer_max_size
    if len(write.group.members) >= limit and request.member_id not in write.group.members:
        reached("consumer group: full")
        words = f"The consumer group has reached its maximum capacity of {limit} members."
        return Refusal(_E.GROUP_MAX_SIZE_REACHED, words)
    return write


def _open_in_place_of(
    context: GroupContext, classic: ClassicGroup | None, request: ConsumerGroupHeartbeatRequest, now_us: int
) -> GroupWrite | Refusal:
    """Begin a group that does not exist, or that a classic group of the id becomes."""
    group_id = request.group
    if classic is not None and classic.state is not GroupState.EMPTY:
        return upgrade(context, classic, request.client_id, now_us)
    write = GroupWrite(context, ConsumerGroup(group_id), now_us)
    if classic is not None:
        reached("consumer group: takes the place of an empty classic group")
        write.records.append(GroupTombstone(group_id))
        write.facts.append(GroupProtocolConverted(group=group_id, protocol="consumer", broker=context.broker))
    return write


def member_of(write: GroupWrite, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember | Refusal:
    """The member that sends the heartbeat; a join makes it, or gives it the place of a static member that is away."""
    group, joins = write.group, request.member_epoch == JOIN_EPOCH
    if request.instance_id is not None:
        return _static_member(write, request, request.instance_id)
    member = group.members.get(request.member_id)
    if member is None and not joins:
        return unknown_member(group, request.member_id)
    if member is None:
        return ConsumerGroupMember(request.member_id)
    return _epoch_refusal(member, request) or member


def _static_member(
    write: GroupWrite, request: ConsumerGroupHeartbeatRequest, instance_id: str
) -> ConsumerGroupMember | Refusal:
    group, member_id = write.group, request.member_id
    if request.member_epoch != JOIN_EPOCH:
        known = static_member(group, instance_id, member_id)
        if isinstance(known, Refusal):
            return known
        return _epoch_refusal(known, request) or known
    if instance_id not in group.static_members:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    former = group.members[group.static_members[instance_id]]
    if former.classic is None and former.epoch != LEFT_FOR_A_WHILE:
        reached("consumer group: instance id not released")
        words = (
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is"
            f" owned by {former.member_id} member."
        )
        return Refusal(_E.UNRELEASED_INSTANCE_ID, words)
    reached("consumer group: static member is back")
    deadline_us = write.now_us + write.context.settings.consumer_session_timeout_us
    return replace_static(write, former, member_id, deadline_us, classic=False)


def replace_static(
    write: GroupWrite, former: ConsumerGroupMember, member_id: str, session_deadline_us: int, *, classic: bool
) -> ConsumerGroupMember:
    """Give a static member's place, target and partitions to its new member id, with epoch 0.

    `classic`: the new member speaks the classic protocol.
    """
    if classic != (former.classic is not None):
        write.facts.append(protocol_changed(write, former, "classic" if classic else "consumer"))
    member = replace(former, member_id=member_id, epoch=0, previous_epoch=0)
    write.removal(former.member_id)
    write.metadata(member)
    write.target(member_id, write.group.targets.get(former.member_id, ()))
    write.current(member)
    write.facts.append(
        StaticMemberReplaced(
            group=write.group.group_id,
            member=former.client_id,
            old_member_id=former.member_id,
            member_id=member_id,
            session_deadline_us=session_deadline_us,
            goes_on=True,
        )
    )
    return member


def protocol_changed(write: GroupWrite, member: ConsumerGroupMember, protocol: str) -> MemberProtocolChanged:
    """The event of a member that speaks another protocol from now on."""
    reached("migration: a member speaks the other protocol")
    return MemberProtocolChanged(
        group=write.group.group_id, member=member.client_id, member_id=member.member_id, protocol=protocol
    )


def static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> ConsumerGroupMember | Refusal:
    """The member with this instance id, if it is the sender."""
    current = group.static_members.get(instance_id)
    if current is None:
        return Refusal(_E.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if current != member_id:
        reached("consumer group: instance id fenced")
        words = f"Static member {member_id} with instance id {instance_id} was fenced by member {current}."
        return Refusal(_E.FENCED_INSTANCE_ID, words)
    return group.members[current]


def unknown_member(group: ConsumerGroup, member_id: str) -> Refusal:
    """The refusal of a member that the group does not have."""
    reached("consumer group: unknown member")
    return Refusal(_E.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def _epoch_refusal(member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest) -> Refusal | None:
    """FENCED_MEMBER_EPOCH, unless the epoch is the member's; its last one will do if the answer may have been lost."""
    epoch = request.member_epoch
    if epoch in (JOIN_EPOCH, member.epoch):
        return None
    word = "greater" if epoch > member.epoch else "smaller"
    if word == "smaller" and epoch == member.previous_epoch and _is_subset(request.owned, member.assigned):
        reached("consumer group: the answer was lost")
        return None
    reached("consumer group: member epoch fenced")
    words = (
        f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group coordinator"
        f" ({member.epoch}). The member must abandon all its partitions and rejoin."
    )
    return Refusal(_E.FENCED_MEMBER_EPOCH, words)


def _is_subset(owned: Collection[str] | None, assigned: Mapping[str, int]) -> bool:
    return owned is not None and all(name in assigned for name in owned)
