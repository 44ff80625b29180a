"""Requests and responses of consumer groups of the new protocol (KIP-848). Data only; see `messages.py`.

One request replaces JoinGroup, SyncGroup, Heartbeat and LeaveGroup. A field that is None says: as it was before.
"""

from typing import Final

import msgspec

from cluster.protocol.api import Api, GroupRequest, Response, SentBy, ServedBy, api
from cluster.protocol.errors import ErrorCode

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""The member epochs with which a member joins, leaves, and leaves to come back with its instance id."""


class ConsumerGroupHeartbeatRequest(GroupRequest):
    """ConsumerGroupHeartbeat (API 68). The client makes `member_id`; it owns `owned`, None: as it said last.

    `rebalance_timeout_ms` is `max.poll.interval.ms`, -1: as before. A full request (joining, or after an error) has
    this, the topics or the regular expression, and `owned`.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] | None = None
    topic_regex: str | None = None
    assignor: str | None = None
    owned: tuple[str, ...] | None = None
    client_id: str = ""


class ConsumerGroupHeartbeatResponse(Response):
    """ConsumerGroupHeartbeat (API 68): `assignment` is None unless it has changed, or the request was full.

    `message`: Kafka's words of the error.
    """

    error: ErrorCode
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: tuple[str, ...] | None = None
    message: str = ""


class ConsumerGroupDescribeRequest(GroupRequest):
    """ConsumerGroupDescribe (API 69), one group."""


class DescribedConsumerGroupMember(msgspec.Struct, frozen=True):
    """One member as ConsumerGroupDescribe shows it; `classic`: it speaks the classic protocol."""

    member_id: str
    instance_id: str | None
    client_id: str
    member_epoch: int
    topics: tuple[str, ...]
    topic_regex: str
    assignment: tuple[str, ...]
    target: tuple[str, ...]
    classic: bool = False


class ConsumerGroupDescribeResponse(Response):
    """ConsumerGroupDescribe (API 69): the state by Kafka's name, epochs, assignor and members."""

    error: ErrorCode
    state: str = ""
    group_epoch: int = -1
    assignment_epoch: int = -1
    assignor: str = ""
    members: tuple[DescribedConsumerGroupMember, ...] = ()


_GROUP = ServedBy.GROUP_COORDINATOR

APIS: tuple[Api, ...] = (
    api(68, "ConsumerGroupHeartbeat", ConsumerGroupHeartbeatRequest, _GROUP, SentBy.CLIENT,
        lambda _, error: ConsumerGroupHeartbeatResponse(error)),
    api(69, "ConsumerGroupDescribe", ConsumerGroupDescribeRequest, _GROUP, SentBy.ADMIN,
        lambda _, error: ConsumerGroupDescribeResponse(error)),
)  # fmt: skip
"""One row for each API above."""
