"""Requests and responses in the order of Kafka's API keys, and their rows in the API table. Data only.

Offsets are the next position to read or to write; durations and instants are named with their unit.
A partition is named as Kafka prints it: `orders-0`. Produce and Fetch are modelled per batch and partition, not per
byte. Only those fields of Kafka's schemas are here on which a modelled rule depends.
"""

from typing import Final

import msgspec

from cluster.protocol.api import Api, GroupRequest, Request, Response, SentBy, ServedBy, api
from cluster.protocol.errors import ErrorCode
from cluster.protocol.placement.partition_metadata import PartitionMetadata as PartitionMetadata  # noqa: PLC0414
from cluster.protocol.record_batch import RecordBatch

NO_MEMBER: Final = ""
NO_GENERATION: Final = -1


class ProduceRequest(Request):
    """Produce (API 0): at most one batch for each partition."""

    acks: int
    timeout_ms: int
    batches: list[RecordBatch]
    transactional_id: str | None = None


class ProduceResult(msgspec.Struct):
    """The result of one batch of a Produce request; `base_offset` is -1 when it was not appended."""

    partition: str
    error: ErrorCode
    base_offset: int = -1
    duplicate: bool = False


class ProduceResponse(Response):
    """Produce (API 0): one result for each batch, in the order of the request."""

    results: list[ProduceResult]


class FetchRequest(Request):
    """Fetch (API 1): positions in the wanted partitions; parked until records can be read, for `max_wait_us`.

    `positions` maps a partition to (offset, leader epoch known to the client). `rack`: the consumer's `client.rack`.
    """

    client: str
    positions: dict[str, tuple[int, int]]
    max_bytes: int
    max_partition_bytes: int
    read_committed: bool = False
    max_wait_us: int = 500_000
    rack: str = ""


class FetchedPartition(msgspec.Struct):
    """The result of one partition: whole batches, the first of which may begin before the wanted offset.

    `aborted`, for read_committed: (producer id, first offset, marker's offset) of aborted transactions.
    `preferred_read_replica`: the broker to fetch from instead, -1 for this one.
    """

    partition: str
    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start: int = -1
    batches: list[RecordBatch] = []
    aborted: tuple[tuple[int, int, int], ...] = ()
    preferred_read_replica: int = -1


class FetchResponse(Response):
    """Fetch (API 1): only partitions with records or an error."""

    partitions: list[FetchedPartition]


class ListOffsetsRequest(Request):
    """ListOffsets (API 2): the earliest or `latest` offset of each partition, for either isolation level.

    With `since_us` (-1: without): the offset of the first record whose timestamp is not before that instant.
    """

    partitions: list[str]
    latest: bool
    read_committed: bool = False
    since_us: int = -1


class ListOffsetsResponse(Response):
    """ListOffsets (API 2): partition → (error, offset); -1 when no record is since that instant."""

    offsets: dict[str, tuple[ErrorCode, int]]


class MetadataRequest(Request):
    """Metadata (API 3) for the named topics."""

    topics: tuple[str, ...]


class MetadataResponse(Response):
    """Metadata (API 3): live brokers, topic → its partitions in order, and the racks of live brokers that have one."""

    brokers: tuple[int, ...]
    topics: dict[str, tuple[PartitionMetadata, ...]]
    racks: tuple[tuple[int, str], ...] = ()


class OffsetCommitRequest(GroupRequest):
    """OffsetCommit (API 8): partition → (next offset to read, leader epoch, metadata text)."""

    generation: int
    member_id: str
    instance_id: str | None
    offsets: dict[str, tuple[int, int, str]]
    client_id: str = ""


class OffsetCommitResponse(Response):
    """OffsetCommit (API 8): partition → error."""

    errors: dict[str, ErrorCode]


class OffsetFetchRequest(GroupRequest):
    """OffsetFetch (API 9). A member of a group of the new protocol names itself and its epoch."""

    partitions: list[str]
    require_stable: bool = False
    member_id: str | None = None
    member_epoch: int = -1


class OffsetFetchResponse(Response):
    """OffsetFetch (API 9): partition → (error, committed offset or -1, leader epoch, metadata text)."""

    error: ErrorCode
    offsets: dict[str, tuple[ErrorCode, int, int, str]]


class FindCoordinatorRequest(Request):
    """FindCoordinator (API 10); `kind` is "group" or "transaction"."""

    key: str
    kind: str = "group"


class FindCoordinatorResponse(Response):
    """FindCoordinator (API 10): the broker id, -1 with COORDINATOR_NOT_AVAILABLE."""

    error: ErrorCode
    broker: int


class JoinGroupRequest(GroupRequest):
    """JoinGroup (API 11). `protocols` maps an assignor's name to the member's metadata (see `MemberMetadata`)."""

    member_id: str
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: dict[str, "MemberMetadata"]
    protocol_type: str = "consumer"
    instance_id: str | None = None
    reason: str = ""
    version: int = 9


class MemberMetadata(msgspec.Struct, frozen=True):
    """A member's subscription, as its assignor sends it (Kafka: ConsumerProtocolSubscription v3).

    `owned_partitions`, `generation`: of the member, or, for an eager sticky assignor, of its last assignment (its user
    data). `sent_in`: the member's generation beside such user data, which makes a rejoin a change of metadata. `rack`:
    its `client.rack`, "" without one.
    """

    topics: tuple[str, ...]
    owned_partitions: tuple[str, ...] = ()
    generation: int = -1
    sent_in: int = -1
    rack: str = ""


class JoinGroupMember(msgspec.Struct, frozen=True):
    """One member in the list for the group's leader."""

    member_id: str
    instance_id: str | None
    metadata: MemberMetadata


class JoinGroupResponse(Response):
    """JoinGroup (API 11): `members` is empty for followers."""

    error: ErrorCode
    generation: int = NO_GENERATION
    protocol: str = ""
    leader: str = ""
    member_id: str = NO_MEMBER
    members: tuple[JoinGroupMember, ...] = ()
    skip_assignment: bool = False


class HeartbeatRequest(GroupRequest):
    """Heartbeat (API 12)."""

    generation: int
    member_id: str
    instance_id: str | None = None
    client_id: str = ""


class HeartbeatResponse(Response):
    """Heartbeat (API 12)."""

    error: ErrorCode


class LeavingMember(msgspec.Struct, frozen=True):
    """One member of a LeaveGroup request; an empty `member_id` with an instance id is an admin's eviction."""

    member_id: str
    instance_id: str | None = None
    reason: str = ""


class LeaveGroupRequest(GroupRequest):
    """LeaveGroup (API 13), in batches (v3+)."""

    members: tuple[LeavingMember, ...]


class LeaveGroupResponse(Response):
    """LeaveGroup (API 13): one error for each leaving member, in order."""

    error: ErrorCode
    members: tuple[tuple[str, str | None, ErrorCode], ...] = ()


class SyncGroupRequest(GroupRequest):
    """SyncGroup (API 14): the leader's request carries member id → partitions."""

    generation: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class SyncGroupResponse(Response):
    """SyncGroup (API 14)."""

    error: ErrorCode
    protocol: str = ""
    assignment: tuple[str, ...] = ()


class DescribeGroupRequest(GroupRequest):
    """DescribeGroups (API 15), one group."""


class DescribeGroupResponse(Response):
    """DescribeGroups (API 15): `members` = (member id, instance id, client id, assignment)."""

    error: ErrorCode
    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[tuple[str, str | None, str, tuple[str, ...]], ...] = ()


class ListGroupsRequest(Request):
    """ListGroups (API 16); an empty `states` means all."""

    states: tuple[str, ...] = ()


class ListGroupsResponse(Response):
    """ListGroups (API 16): (group id, protocol type, state)."""

    error: ErrorCode
    groups: tuple[tuple[str, str, str], ...] = ()


class InitProducerIdRequest(Request):
    """InitProducerId (API 22). Without a transactional id: a fresh producer id, epoch 0.

    `producer_id` and `epoch` are those of a producer that requests its next epoch itself (KIP-360), else -1.
    """

    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    producer_id: int = -1
    epoch: int = -1


class InitProducerIdResponse(Response):
    """InitProducerId (API 22)."""

    error: ErrorCode
    producer_id: int = -1
    epoch: int = -1


class OffsetForLeaderEpochRequest(Request):
    """OffsetForLeaderEpoch (API 23): partition → (leader epoch known to the client, the epoch whose end is wanted)."""

    partitions: dict[str, tuple[int, int]]


class OffsetForLeaderEpochResponse(Response):
    """OffsetForLeaderEpoch (API 23): partition → (error, the largest epoch not above the wanted one, its end offset).

    -1 and -1 with an error, or when the leader does not know the end.
    """

    ends: dict[str, tuple[ErrorCode, int, int]]


class DeleteGroupsRequest(Request):
    """DeleteGroups (API 42)."""

    groups: tuple[str, ...]


class DeleteGroupsResponse(Response):
    """DeleteGroups (API 42): group → error."""

    errors: dict[str, ErrorCode]


class OffsetDeleteRequest(GroupRequest):
    """OffsetDelete (API 47)."""

    group: str
    partitions: tuple[str, ...]


class OffsetDeleteResponse(Response):
    """OffsetDelete (API 47): the group's error, and partition → error."""

    error: ErrorCode
    errors: dict[str, ErrorCode]


_BROKER, _GROUP, _CLIENT, _ADMIN = ServedBy.BROKER, ServedBy.GROUP_COORDINATOR, SentBy.CLIENT, SentBy.ADMIN

APIS: tuple[Api, ...] = (
    api(0, "Produce", ProduceRequest, _BROKER, _CLIENT),
    api(1, "Fetch", FetchRequest, _BROKER, _CLIENT),
    api(2, "ListOffsets", ListOffsetsRequest, _BROKER, _CLIENT),
    api(3, "Metadata", MetadataRequest, _BROKER, _CLIENT),
    api(8, "OffsetCommit", OffsetCommitRequest, _GROUP, _CLIENT,
        lambda request, error: OffsetCommitResponse(dict.fromkeys(request.offsets, error))),
    api(9, "OffsetFetch", OffsetFetchRequest, _GROUP, _CLIENT, lambda _, error: OffsetFetchResponse(error, {})),
    api(10, "FindCoordinator", FindCoordinatorRequest, _BROKER, _CLIENT),
    api(11, "JoinGroup", JoinGroupRequest, _GROUP, _CLIENT,
        lambda request, error: JoinGroupResponse(error, member_id=request.member_id)),
    api(12, "Heartbeat", HeartbeatRequest, _GROUP, _CLIENT, lambda _, error: HeartbeatResponse(error)),
    api(13, "LeaveGroup", LeaveGroupRequest, _GROUP, _CLIENT, lambda _, error: LeaveGroupResponse(error)),
    api(14, "SyncGroup", SyncGroupRequest, _GROUP, _CLIENT, lambda _, error: SyncGroupResponse(error)),
    api(15, "DescribeGroups", DescribeGroupRequest, _GROUP, _ADMIN, lambda _, error: DescribeGroupResponse(error, "")),
    api(16, "ListGroups", ListGroupsRequest, _GROUP, _ADMIN, lambda _, error: ListGroupsResponse(error)),
    api(22, "InitProducerId", InitProducerIdRequest, ServedBy.TRANSACTION_COORDINATOR, _CLIENT,
        lambda _, error: InitProducerIdResponse(error)),
    api(23, "OffsetForLeaderEpoch", OffsetForLeaderEpochRequest, _BROKER, _CLIENT),
    api(42, "DeleteGroups", DeleteGroupsRequest, _GROUP, _ADMIN,
        lambda request, error: DeleteGroupsResponse(dict.fromkeys(request.groups, error))),
    api(47, "OffsetDelete", OffsetDeleteRequest, _GROUP, _ADMIN, lambda _, error: OffsetDeleteResponse(error, {})),
)  # fmt: skip
"""One row for each API above."""
