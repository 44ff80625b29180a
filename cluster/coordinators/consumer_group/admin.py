"""Administrative requests for groups of the new protocol, and requests of the classic protocol that come to one.

Source: Kafka's `GroupMetadataManager` (consumerGroupDescribe, describeGroups, classicGroupJoin, …), `ConsumerGroup`.
"""

from collections.abc import Mapping

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, ordered, preferred_assignor
from cluster.coordinators.decision import Call, Decision
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.records import (
    ConsumerGroupEpoch,
    ConsumerGroupMemberMetadata,
    ConsumerGroupTombstone,
    CurrentMemberAssignment,
    RegularExpression,
    TargetAssignmentMember,
    TargetAssignmentMetadata,
)
from cluster.protocol.consumer_group_messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroupMember,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import DescribeGroupResponse


def describe_consumer_group(
    context: GroupContext, request: ConsumerGroupDescribeRequest, call: Call, now_us: int
) -> Decision:
    """ConsumerGroupDescribe (API 69): GROUP_ID_NOT_FOUND for a classic group and for none.

    A member's assignment has what it must still give up, too.
    """
    del now_us
    group = context.consumer_groups.get(request.group)
    if group is None:
        return Decision((), [(call, ConsumerGroupDescribeResponse(ErrorCode.GROUP_ID_NOT_FOUND))])
    members = tuple(
        DescribedConsumerGroupMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.epoch,
            member.topics,
            member.topic_regex,
            ordered((*member.assigned, *member.pending_revocation)),
            group.targets.get(member.member_id, ()),
        )
        for member in group.members.values()
    )
    assignor = preferred_assignor(group.members.values(), context.settings.consumer_assignors[0])
    response = ConsumerGroupDescribeResponse(
        ErrorCode.NONE, group.state.value, group.epoch, group.assignment_epoch, assignor, members
    )
    return Decision((), [(call, response)])


def describe_as_classic(call: Call) -> Decision:
    """DescribeGroups (API 15) for a group of the new protocol: it is no classic group."""
    return Decision((), [(call, DescribeGroupResponse(ErrorCode.GROUP_ID_NOT_FOUND, GroupState.DEAD.value))])


def group_tombstones(group: ConsumerGroup, replaced: Mapping[str, str] | None = None) -> list[ConsumerGroupTombstone]:
    """The tombstones of all records of a group, in Kafka's order. `replaced`: member id → the id in its place."""
    name, of = group.group_id, ConsumerGroupTombstone.of
    members = [(replaced or {}).get(member_id, member_id) for member_id in group.members]
    return [
        *[of(CurrentMemberAssignment, name, member_id) for member_id in members],
        *[of(TargetAssignmentMember, name, member_id) for member_id in members],
        of(TargetAssignmentMetadata, name),
        *[of(ConsumerGroupMemberMetadata, name, member_id) for member_id in members],
        *[of(RegularExpression, name, regex) for regex in group.regexes],
        of(ConsumerGroupEpoch, name),
    ]
