"""Answers that a request for a group gets without any group being looked at."""

from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupRequest,
    DescribeGroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)


def refusal(request: Request, error: ErrorCode) -> Response:
    """The answer that says nothing but `error`, in the shape of the request: NOT_COORDINATOR on a wrong broker, …

    Raises TypeError for a request that is not a group coordinator's.
    """
    match request:
        case HeartbeatRequest():
            return HeartbeatResponse(error)
        case JoinGroupRequest():
            return JoinGroupResponse(error, member_id=request.member_id)
        case SyncGroupRequest():
            return SyncGroupResponse(error)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error)
        case OffsetCommitRequest():
            return OffsetCommitResponse(dict.fromkeys(request.offsets, error))
        case OffsetFetchRequest():
            return OffsetFetchResponse(error, {})
        case DescribeGroupRequest():
            return DescribeGroupResponse(error, "")
        case ListGroupsRequest():
            return ListGroupsResponse(error)
        case DeleteGroupsRequest():
            return DeleteGroupsResponse(dict.fromkeys(request.groups, error))
        case _:
            raise TypeError(f"{type(request).__name__} is not a request for a group coordinator")


def answer_while_loading(request: Request) -> Response:
    """The answer while the partition is being replayed.

    Heartbeat NONE (members survive a coordinator's move), SyncGroup REBALANCE_IN_PROGRESS (they join again), everything
    else COORDINATOR_LOAD_IN_PROGRESS. Source: Kafka's `GroupCoordinator` (validateGroupStatus and its callers).
    """
    match request:
        case HeartbeatRequest():
            return refusal(request, ErrorCode.NONE)
        case SyncGroupRequest():
            return refusal(request, ErrorCode.REBALANCE_IN_PROGRESS)
        case _:
            return refusal(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
