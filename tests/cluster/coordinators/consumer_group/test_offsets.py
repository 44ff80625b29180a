"""Offsets of groups of the new protocol, their retention, and the administrative requests."""

from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.protocol.consumer_group_messages import ConsumerGroupDescribeRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DeleteGroupsRequest,
    DescribeGroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    MemberMetadata,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from tests.support.checks_member_epochs import a_commit_needs_the_member_epoch
from tests.support.consumer_group_client import GROUP, Member, add_topics, commit, committed, desk_with, joined
from tests.support.coordinator_driver import Call, Desk

E = ErrorCode


def test_a_commit_needs_the_member_epoch() -> None:
    a_commit_needs_the_member_epoch()


def test_an_older_epoch_will_do_for_partitions_that_the_member_had_then() -> None:
    desk, one = joined()
    add_topics(desk, {"orders": 3})
    assert one.beat().member_epoch == 3
    assert commit(desk, 2, name="orders-1") is E.NONE
    assert commit(desk, 2, name="orders-2") is E.STALE_MEMBER_EPOCH
    assert commit(desk, 2, name="orders-9") is E.STALE_MEMBER_EPOCH


def test_a_commit_does_not_renew_the_session() -> None:
    desk, _ = joined()
    desk.wait(44_999)
    commit(desk, 2)
    desk.wait(1)
    assert desk.coordinator.consumer_groups[GROUP].members == {}
    assert commit(desk, -1, 9, member_id="") is E.NONE, "the group has no members"
    assert committed(desk) == 9


def test_a_transaction_commits_with_the_member_epoch_too() -> None:
    desk, _ = joined()
    producer = TransactionProducer(9, 0, "tx")

    def offer(epoch: int, member_id: str) -> ErrorCode:
        request = OffsetCommitRequest(GROUP, epoch, member_id, None, {"orders-0": (5, 0, "")})
        call = Call(request)
        desk.run(desk.coordinator.commit_in_transaction(request, producer, call, desk.now_us))
        errors: dict[str, ErrorCode] = call.response.errors  # type: ignore[union-attr]
        return errors["orders-0"]

    assert offer(1, "one-id") is E.ILLEGAL_GENERATION
    assert offer(2, "who") is E.UNKNOWN_MEMBER_ID
    assert offer(2, "one-id") is E.NONE
    assert offer(-1, "") is E.NONE
    assert committed(desk) == -1
    desk.run(desk.coordinator.end_transaction(9, True, desk.now_us))
    assert committed(desk) == 5


def test_a_fetch_may_name_the_member_and_then_needs_its_epoch() -> None:
    desk, _ = joined()
    commit(desk, 2)

    def fetch(member_id: str | None, epoch: int) -> ErrorCode:
        answer = desk.send(OffsetFetchRequest(GROUP, ["orders-0"], False, member_id, epoch)).response
        error: ErrorCode = answer.error  # type: ignore[union-attr]
        return error

    assert fetch(None, -1) is E.NONE
    assert fetch("one-id", 2) is E.NONE
    assert fetch("one-id", 1) is E.STALE_MEMBER_EPOCH
    assert fetch("who", 2) is E.UNKNOWN_MEMBER_ID


def test_offsets_survive_a_failover() -> None:
    desk, _ = joined()
    commit(desk, 2)
    desk.fail_over()
    assert committed(desk) == 7
    assert desk.emitted(e.ConsumerGroupLoaded)[-1].offsets == {"orders-0": 7}


def test_retention_counts_from_the_commit_and_ends_the_group() -> None:
    desk = desk_with({"orders": 2}, {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 10_000})
    one = Member(desk, "one", "orders")
    one.join()
    commit(desk, 2)
    for _ in range(20):
        one.beat()
        desk.wait(5_000)
    assert committed(desk) == 7, "its topic is subscribed to"
    one.leave()
    desk.wait(10_000)
    assert desk.coordinator.consumer_groups == {}
    assert len(desk.emitted(e.GroupDeleted)) == 1
    desk.fail_over()
    assert desk.coordinator.consumer_groups == {}


def test_describe_list_and_delete() -> None:
    desk, one = joined()
    commit(desk, 2)
    described = desk.send(ConsumerGroupDescribeRequest(GROUP)).response
    assert (described.state, described.group_epoch, described.assignor) == ("Stable", 2, "uniform")  # type: ignore[union-attr]
    (member,) = described.members  # type: ignore[union-attr]
    assert (member.client_id, member.member_epoch, member.assignment) == ("one", 2, ("orders-0", "orders-1"))
    assert member.target == member.assignment
    assert desk.send(ConsumerGroupDescribeRequest("other")).response.error is E.GROUP_ID_NOT_FOUND  # type: ignore[union-attr]
    assert desk.send(DescribeGroupRequest(GROUP)).response.error is E.GROUP_ID_NOT_FOUND  # type: ignore[union-attr]
    assert desk.send(ListGroupsRequest(("stable",))).response.groups == ((GROUP, "consumer", "Stable"),)  # type: ignore[union-attr]
    assert desk.send(ListGroupsRequest(("Empty",))).response.groups == ()  # type: ignore[union-attr]
    delete = DeleteGroupsRequest((GROUP,))
    assert desk.send(delete).response.errors == {GROUP: E.NON_EMPTY_GROUP}  # type: ignore[union-attr]
    one.leave()
    assert desk.send(delete).response.errors == {GROUP: E.NONE}  # type: ignore[union-attr]
    assert desk.send(delete).response.errors == {GROUP: E.GROUP_ID_NOT_FOUND}  # type: ignore[union-attr]
    desk.fail_over()
    assert (desk.coordinator.consumer_groups, desk.coordinator.groups) == ({}, {})


def classic_join(desk: Desk) -> Call:
    protocols = {"range": MemberMetadata(("orders",))}
    return desk.send(JoinGroupRequest(GROUP, "", "classic", 45_000, 60_000, protocols, version=3))


def test_classic_requests_for_a_group_with_members_of_the_new_protocol() -> None:
    desk = desk_with({"orders": 2}, {"group.consumer.migration.policy": "disabled"})
    Member(desk, "one", "orders").join()
    assert classic_join(desk).response.error is E.INCONSISTENT_GROUP_PROTOCOL  # type: ignore[union-attr]
    assert desk.send(HeartbeatRequest(GROUP, 2, "one-id")).response.error is E.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]
    assert desk.send(SyncGroupRequest(GROUP, 2, "one-id")).response.error is E.UNKNOWN_MEMBER_ID  # type: ignore[union-attr]
    leaving = LeaveGroupRequest(GROUP, (LeavingMember("other"), LeavingMember("one-id")))
    left = desk.send(leaving).response
    assert left.members == (("other", None, E.UNKNOWN_MEMBER_ID), ("one-id", None, E.NONE))  # type: ignore[union-attr]


@pytest.mark.parametrize("fails_over", [False, True])
def test_an_empty_group_becomes_one_of_the_other_protocol_and_keeps_its_offsets(fails_over: bool) -> None:
    desk, one = joined()
    commit(desk, 2)
    one.leave()
    classic_join(desk)
    assert (list(desk.coordinator.groups), desk.coordinator.consumer_groups) == ([GROUP], {})
    assert committed(desk) == 7
    if fails_over:
        desk.fail_over()
        assert committed(desk) == 7
    else:
        desk.wait(400_000)
    for _ in range(3):
        desk.wait(120_000)
    assert desk.coordinator.groups[GROUP].state == "Empty"
    again = Member(desk, "one", "orders").join()
    assert (again.error, again.member_epoch) == (E.NONE, 2)
    assert committed(desk) == 7
    desk.fail_over()
    assert (desk.coordinator.groups, list(desk.coordinator.consumer_groups)) == ({}, [GROUP])
    assert committed(desk) == 7
    assert [one.protocol for one in desk.emitted(e.GroupProtocolConverted)] == ["classic", "consumer"]


def test_a_group_that_only_stored_offsets_becomes_one_of_the_new_protocol() -> None:
    desk = desk_with({"orders": 2})
    assert commit(desk, -1, 4, member_id="") is E.NONE
    Member(desk, "one", "orders").join()
    assert committed(desk) == 4
    desk.fail_over()
    assert committed(desk) == 4


def test_a_classic_group_with_members_keeps_its_id_without_migration() -> None:
    desk = desk_with({"orders": 2}, {"group.consumer.migration.policy": "disabled"})
    classic_join(desk)
    answer = Member(desk, "one", "orders").join()
    words = f"Cannot upgrade classic group {GROUP} to consumer group because online upgrade is disabled."
    assert (answer.error, answer.message) == (E.GROUP_ID_NOT_FOUND, words)
