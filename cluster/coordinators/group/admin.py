"""The administrative requests for groups: describe, list, delete, delete offsets.

Source: Kafka's `GroupMetadataManager.describeGroups`, `listGroups`, `GroupCoordinatorShard.deleteGroups`.
"""

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.decision import Call, Decision, Draft, coordinator_error
from cluster.coordinators.group.context import GroupContext, serves
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.group.offset_retention import drop_consumer_group, write_tombstones
from cluster.coordinators.group.states import GroupState
from cluster.events import OffsetsDeleted
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupRequest,
    DescribeGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from cluster.protocol.names import TopicPartition


def describe(context: GroupContext, request: DescribeGroupRequest, call: Call, now_us: int) -> Decision:
    """DescribeGroups (API 15), one group.

    Answers NONE always; an unknown group is Dead. Protocol and assignments are in the answer only while it is Stable.
    Simplified: a group that does not exist is Dead in all versions (the newest Kafka: GROUP_ID_NOT_FOUND from v6 on).
    """
    del now_us
    group = context.groups.get(request.group)
    if group is None:
        return Decision((), [(call, DescribeGroupResponse(ErrorCode.NONE, GroupState.DEAD.value))])
    stable = group.state is GroupState.STABLE
    members = tuple(
        (member.member_id, member.instance_id, member.client_id, member.assignment if stable else ())
        for member in group.members.values()
    )
    protocol = group.protocol if stable else ""
    response = DescribeGroupResponse(ErrorCode.NONE, group.state.value, group.protocol_type, protocol, members)
    return Decision((), [(call, response)])


def list_groups(context: GroupContext, request: ListGroupsRequest, call: Call, now_us: int) -> Decision:
    """ListGroups (API 16): this partition's groups in the requested states (any case; without states: all groups).

    Answers NONE always.
    """
    del now_us
    wanted = [state.lower() for state in request.states]
    groups = tuple(
        (group.group_id, group.protocol_type, group.state.value)
        for group in context.groups.values()
        if not wanted or group.state.value.lower() in wanted
    )
    groups += tuple(
        (one.group_id, "consumer", one.state.value)
        for one in context.consumer_groups.values()
        if not wanted or one.state.value.lower() in wanted
    )
    return Decision((), [(call, ListGroupsResponse(ErrorCode.NONE, groups))])


def delete_groups(context: GroupContext, request: DeleteGroupsRequest, call: Call, now_us: int) -> Decision:
    """DeleteGroups (API 42).

    Answers for each group GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (any state but Empty), or NONE. After NONE the group and
    its offsets, also those of open transactions, are deleted when their tombstones are committed.
    """
    draft = Draft(now_us)
    errors = {}
    for group_id in request.groups:
        group = context.groups.get(group_id)
        if (consumer_group := context.consumer_groups.get(group_id)) is not None:
            empty = not consumer_group.members
            errors[group_id] = ErrorCode.NONE if empty else ErrorCode.NON_EMPTY_GROUP
            if empty:
                drop_consumer_group(context, consumer_group, _all_offsets(consumer_group), draft, group_too=True)
        elif group is None or group.state is GroupState.DEAD:
            errors[group_id] = ErrorCode.GROUP_ID_NOT_FOUND
        elif group.state is not GroupState.EMPTY:
            errors[group_id] = ErrorCode.NON_EMPTY_GROUP
        else:
            errors[group_id] = ErrorCode.NONE
            offsets = _all_offsets(group)
            write_tombstones(context, group, offsets, draft, group_too=True, dropped_as=OffsetsDeleted)

    def answer(error: ErrorCode, later: Draft) -> None:
        failed = coordinator_error(error)
        fates = {group_id: failed if own is ErrorCode.NONE else own for group_id, own in errors.items()}
        later.reply(call, DeleteGroupsResponse(fates))

    if draft.records:
        draft.when_committed(answer)
    else:
        answer(ErrorCode.NONE, draft)
    return draft.decision()


def delete_offsets(context: GroupContext, request: OffsetDeleteRequest, call: Call, now_us: int) -> Decision:
    """OffsetDelete (API 47).

    Answers GROUP_ID_NOT_FOUND (also of a Dead group), NON_EMPTY_GROUP (its members are no consumers), or for each
    partition GROUP_SUBSCRIBED_TO_TOPIC or NONE. After NONE the offset, also one of an open transaction, is dropped when
    its tombstone is committed.
    Source: `OffsetMetadataManager.deleteOffsets`, `ClassicGroup.isSubscribedToTopic`.
    """
    group = context.consumer_groups.get(request.group) or context.groups.get(request.group)
    error = _not_deletable(group)
    if group is None or error is not ErrorCode.NONE:
        return Decision((), [(call, OffsetDeleteResponse(error, {}))])
    draft = Draft(now_us)
    errors = {}
    for name in request.partitions:
        subscribed = _is_subscribed(group, TopicPartition.parse(name).topic)
        errors[name] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
    held = _all_offsets(group)
    dropped = tuple(name for name, one in errors.items() if one is ErrorCode.NONE and name in held)
    write_tombstones(context, group, dropped, draft, group_too=False, dropped_as=OffsetsDeleted)

    def answer(error: ErrorCode, later: Draft) -> None:
        failed = coordinator_error(error)
        fates = {name: failed if name in dropped else own for name, own in errors.items()}
        later.reply(call, OffsetDeleteResponse(ErrorCode.NONE, fates))

    if draft.records:
        draft.when_committed(answer)
    else:
        answer(ErrorCode.NONE, draft)
    return draft.decision()


def _not_deletable(group: GroupOffsets | None) -> ErrorCode:
    if group is None or group.dead:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if isinstance(group, ClassicGroup) and group.state is not GroupState.EMPTY and group.protocol_type != "consumer":
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def _is_subscribed(group: GroupOffsets, topic: str) -> bool:
    """Whether a member subscribes to a topic; of a classic group before its first generation, to any.

    Simplified: a rejoin counts at once (Kafka: with the next generation).
    """
    if isinstance(group, ConsumerGroup):
        return topic in group.subscribed_topics(group.members.values())
    assert isinstance(group, ClassicGroup)
    if not group.members:
        return False
    chosen = [member.protocols.get(group.protocol) for member in group.members.values()]
    return not group.protocol or any(one is not None and topic in one.topics for one in chosen)


def _all_offsets(group: GroupOffsets) -> tuple[str, ...]:
    """The partitions with an offset of the group, also of open transactions."""
    partitions = dict.fromkeys(group.logged_offsets)
    for pending in group.transactional_offsets.values():
        partitions.update(dict.fromkeys(pending))
    return tuple(partitions)


ADMIN_HANDLERS = (
    serves(DescribeGroupRequest, describe),
    serves(ListGroupsRequest, list_groups),
    serves(DeleteGroupsRequest, delete_groups),
    serves(OffsetDeleteRequest, delete_offsets),
)
