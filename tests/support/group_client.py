"""A consumer's side of the classic protocol, just enough of it to bring a coordinator where a test wants it."""

from __future__ import annotations

from cluster.coordinators.group.group import ClassicGroup
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    MemberMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.support.coordinator_driver import Call, Desk

GROUP = "billing"


class Client:
    """One member: it knows its id and generation from the answers to its calls."""

    def __init__(
        self,
        desk: Desk,
        name: str,
        *,
        instance_id: str | None = None,
        session_ms: int = 45_000,
        rebalance_ms: int = 300_000,
        protocols: tuple[str, ...] = ("range",),
        topics: tuple[str, ...] = ("orders",),
        version: int = 9,
    ) -> None:
        self.desk = desk
        self.name = name
        self.instance_id = instance_id
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.protocols = protocols
        self.topics = topics
        self.owned: tuple[str, ...] = ()
        self.version = version
        self.member_id = ""
        self.generation = -1
        self.call: Call | None = None

    @property
    def joined(self) -> JoinGroupResponse:
        """The answer to the last JoinGroup, taken to heart."""
        assert self.call is not None, f"{self.name} never joined"
        answer = self.call.response
        assert isinstance(answer, JoinGroupResponse), f"{self.name} is still at the barrier"
        self.member_id = answer.member_id or self.member_id
        if answer.error is ErrorCode.NONE:
            self.generation = answer.generation
        return answer

    def request(self, reason: str = "") -> JoinGroupRequest:
        metadata = MemberMetadata(self.topics, self.owned, -1)
        return JoinGroupRequest(
            GROUP,
            self.member_id,
            self.name,
            self.session_ms,
            self.rebalance_ms,
            dict.fromkeys(self.protocols, metadata),
            instance_id=self.instance_id,
            reason=reason,
            version=self.version,
        )

    def ask(self, reason: str = "") -> JoinGroupResponse | None:
        """One JoinGroup; its answer, if there is one at once."""
        self.call = self.desk.send(self.request(reason))
        return None if self.call.pending else self.joined

    def join(self, reason: str = "") -> Call:
        """JoinGroup, with the round trip for a member id when one is needed; the call that may be parked."""
        answer = self.ask(reason)
        if answer is not None and answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.ask(reason)
        assert self.call is not None
        return self.call

    def sync(self, assignments: dict[str, tuple[str, ...]] | None = None) -> Call:
        return self.desk.send(
            SyncGroupRequest(
                GROUP,
                self.generation,
                self.member_id,
                self.instance_id,
                "consumer",
                None,
                assignments if assignments is not None else {},
            )
        )

    def beat(self) -> ErrorCode:
        answer = self.desk.send(HeartbeatRequest(GROUP, self.generation, self.member_id, self.instance_id)).response
        assert isinstance(answer, HeartbeatResponse)
        return answer.error

    def leave(self, reason: str = "") -> ErrorCode:
        request = LeaveGroupRequest(GROUP, (LeavingMember(self.member_id, self.instance_id, reason),))
        answer = self.desk.send(request).response
        assert isinstance(answer, LeaveGroupResponse)
        assert answer.error is ErrorCode.NONE
        return answer.members[0][2]

    def commit(self, offset: int = 1, partition: str = "orders-0", metadata: str = "") -> Call:
        offsets = {partition: (offset, 0, metadata)}
        return self.desk.send(OffsetCommitRequest(GROUP, self.generation, self.member_id, self.instance_id, offsets))


def group_of(desk: Desk) -> ClassicGroup:
    return desk.coordinator.groups[GROUP]


def member_ids(desk: Desk) -> list[str]:
    return list(group_of(desk).members)


def error_of(call: Call) -> ErrorCode:
    """The one error of an answer."""
    answer = call.response
    assert answer is not None, "not answered"
    errors: dict[str, ErrorCode] | None = getattr(answer, "errors", None)
    if errors is not None:
        (error,) = set(errors.values())
        return error
    error = getattr(answer, "error")  # noqa: B009 - every other answer has one
    assert isinstance(error, ErrorCode)
    return error


def assignment_of(call: Call) -> tuple[str, ...]:
    assert isinstance(call.response, SyncGroupResponse)
    assert call.response.error is ErrorCode.NONE
    return call.response.assignment


def committed(desk: Desk, partition: str = "orders-0", *, stable: bool = False) -> tuple[ErrorCode, int]:
    answer = desk.send(OffsetFetchRequest(GROUP, [partition], stable)).response
    assert isinstance(answer, OffsetFetchResponse)
    error, offset, _, _ = answer.offsets[partition]
    return error, offset


def complete(desk: Desk, *clients: Client) -> None:
    """A new group of these, the first of them leading, in CompletingRebalance."""
    for client in clients:
        client.join()
    while any(client.call is not None and client.call.pending for client in clients):
        due_us = desk.coordinator.next_deadline_us()
        assert due_us is not None
        desk.walk_to(due_us)
    for client in clients:
        assert client.joined.error is ErrorCode.NONE


def stabilize(desk: Desk, *clients: Client) -> None:
    """Syncs of these, the leader's last: every member is given a partition of its own."""
    group = group_of(desk)
    for client in sorted(clients, key=lambda client: client.member_id == group.leader):
        leads = client.member_id == group.leader
        client.sync({m: (f"orders-{index}",) for index, m in enumerate(group.members)} if leads else None)


def stable(desk: Desk, *clients: Client) -> None:
    """A new Stable group of these, the first of them leading."""
    complete(desk, *clients)
    stabilize(desk, *clients)
    assert group_of(desk).state.value == "Stable"
