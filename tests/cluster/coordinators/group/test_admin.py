from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.coordinators.records import GroupTombstone, OffsetTombstone
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupRequest,
    DescribeGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    OffsetCommitRequest,
)
from tests.support.coordinator_driver import MS, Call, Desk
from tests.support.group_client import GROUP, Client, committed, complete, group_of, stabilize, stable

HOUR_MS = 3_600_000


@pytest.fixture
def desk() -> Desk:
    return Desk()


def describe(desk: Desk, group: str = GROUP) -> DescribeGroupResponse:
    answer = desk.send(DescribeGroupRequest(group)).response
    assert isinstance(answer, DescribeGroupResponse)
    return answer


def delete(desk: Desk, *groups: str) -> dict[str, ErrorCode]:
    answer = desk.send(DeleteGroupsRequest(groups or (GROUP,))).response
    assert isinstance(answer, DeleteGroupsResponse)
    return answer.errors


def commit(desk: Desk, partition: str = "orders-0", group: str = GROUP) -> None:
    desk.send(OffsetCommitRequest(group, -1, "", None, {partition: (1, 0, "")}))


def test_an_unknown_group_is_dead_without_an_error(desk: Desk) -> None:
    assert describe(desk) == DescribeGroupResponse(ErrorCode.NONE, "Dead")


def test_assignments_are_told_while_it_is_stable(desk: Desk) -> None:
    a, b = Client(desk, "a", instance_id="i"), Client(desk, "b")
    complete(desk, a, b)
    described = describe(desk)
    assert (described.state, described.protocol_type, described.protocol) == ("CompletingRebalance", "consumer", "")
    assert described.members == ((a.member_id, "i", "a", ()), (b.member_id, None, "b", ()))
    stabilize(desk, a, b)
    described = describe(desk)
    assert (described.state, described.protocol) == ("Stable", "range")
    assert described.members == ((a.member_id, "i", "a", ("orders-0",)), (b.member_id, None, "b", ("orders-1",)))


def test_groups_are_listed_by_state_in_any_case(desk: Desk) -> None:
    stable(desk, Client(desk, "a"))
    commit(desk, group="tool")
    consumers, tool = (GROUP, "consumer", "Stable"), ("tool", "", "Empty")
    for states, groups in (((), (consumers, tool)), (("stable",), (consumers,)), (("EMPTY", "Dead"), (tool,))):
        answer = desk.send(ListGroupsRequest(states)).response
        assert answer == ListGroupsResponse(ErrorCode.NONE, groups)


def test_only_an_empty_group_can_be_deleted(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.commit()
    assert delete(desk, GROUP, "other") == {
        GROUP: ErrorCode.NON_EMPTY_GROUP,
        "other": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    a.leave()
    assert delete(desk) == {GROUP: ErrorCode.NONE}
    assert desk.log[-2:] == [OffsetTombstone(GROUP, "orders-0"), GroupTombstone(GROUP)]
    assert describe(desk).state == "Dead"
    assert committed(desk) == (ErrorCode.NONE, -1)
    assert desk.emitted(e.GroupDeleted)


def test_a_deleted_group_forgets_what_transactions_and_newcomers_wait_for(desk: Desk) -> None:
    p = Client(desk, "p")
    p.ask()
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-1": (1, 0, "")})
    desk.run(desk.coordinator.commit_in_transaction(request, TransactionProducer(7, 0), Call(request), 0))
    assert delete(desk) == {GROUP: ErrorCode.NONE}
    answer = p.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    desk.wait(50_000)
    assert not desk.emitted(e.MemberRemoved)


def test_a_group_is_there_until_its_tombstone_is_safe_and_lives_on_when_somebody_joins(desk: Desk) -> None:
    commit(desk)
    desk.commits = False
    call = desk.send(DeleteGroupsRequest((GROUP,)))
    assert committed(desk) == (ErrorCode.NONE, 1)
    Client(desk, "a", version=3).join()
    desk.settle()
    assert isinstance(call.response, DeleteGroupsResponse)
    assert call.response.errors == {GROUP: ErrorCode.NONE}
    assert committed(desk) == (ErrorCode.NONE, -1)
    assert group_of(desk).state.value == "PreparingRebalance"


def test_a_group_that_could_not_be_deleted_is_still_there(desk: Desk) -> None:
    commit(desk)
    request = DeleteGroupsRequest((GROUP,))
    call = Call(request)
    decision = desk.coordinator.handle(request, call, desk.now_us)
    assert decision.then is not None
    desk.run(decision.then(ErrorCode.NOT_ENOUGH_REPLICAS, desk.now_us))  # the driver could not append
    assert call.response == DeleteGroupsResponse({GROUP: ErrorCode.COORDINATOR_NOT_AVAILABLE})
    assert committed(desk) == (ErrorCode.NONE, 1)


def test_other_requests_are_a_bug(desk: Desk) -> None:
    with pytest.raises(TypeError, match="MetadataRequest"):
        desk.coordinator.handle(MetadataRequest(()), Call(MetadataRequest(())), 0)


# --- retention: a check every 10 minutes ---------------------------------------------------------------------------


@pytest.fixture
def short() -> Desk:
    return Desk({"offsets.retention.minutes": 60})


def test_offsets_of_an_empty_group_count_from_when_it_became_empty(short: Desk) -> None:
    a = Client(short, "a", session_ms=1_800_000)
    stable(short, a)
    a.commit()
    short.walk_to(25 * 60_000 * MS)
    a.leave()
    short.walk_to(80 * 60_000 * MS)  # 55 minutes without members
    assert committed(short) == (ErrorCode.NONE, 1)
    short.walk_to(90 * 60_000 * MS)
    assert committed(short) == (ErrorCode.NONE, -1)
    assert [event.partitions for event in short.emitted(e.OffsetsExpired)] == [("orders-0",)]
    assert short.emitted(e.GroupDeleted)
    assert not short.coordinator.groups


def test_a_stable_group_keeps_offsets_of_topics_it_subscribes_to(short: Desk) -> None:
    a = Client(short, "a", session_ms=1_800_000)
    stable(short, a)
    a.commit(partition="orders-0")
    a.commit(partition="orders-eu-0")
    for _ in range(7):
        short.wait(600_000)
        a.beat()
    assert list(group_of(short).offsets) == ["orders-0"]
    assert group_of(short).state.value == "Stable"


def test_a_group_that_only_stores_offsets_counts_from_each_commit(short: Desk) -> None:
    commit(short, "orders-0")
    short.wait(1_800_000)
    commit(short, "orders-1")
    short.wait(1_800_000)
    assert list(group_of(short).offsets) == ["orders-1"]
    short.wait(1_800_000)
    assert not short.coordinator.groups


def test_an_open_transaction_keeps_the_offset(short: Desk) -> None:
    commit(short)
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (9, 0, "")})
    short.run(short.coordinator.commit_in_transaction(request, TransactionProducer(7, 0), Call(request), 0))
    short.wait(2 * HOUR_MS)
    assert committed(short) == (ErrorCode.NONE, 1)


def test_an_empty_group_without_offsets_goes_at_the_next_check(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.leave()
    desk.walk_to(599_999 * MS)
    assert desk.coordinator.groups
    desk.walk_to(600_000 * MS)
    assert not desk.coordinator.groups
    assert desk.log[-1] == GroupTombstone(GROUP)
