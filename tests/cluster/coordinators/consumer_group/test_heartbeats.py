"""Heartbeats of groups of the new protocol: joins, epochs, targets, revocation before assignment."""

from __future__ import annotations

import pytest

from cluster import events as e
from cluster.protocol.errors import ErrorCode
from tests.support.checks_member_epochs import another_epoch_is_fenced, partitions_are_revoked_before_they_are_assigned
from tests.support.consumer_group_client import GROUP, Member, add_topics, desk_with, settle
from tests.support.coordinator_driver import MS, Call

NONE = ErrorCode.NONE


def test_the_first_member_gets_everything_at_once_in_epoch_two() -> None:
    desk = desk_with({"orders": 3})
    one = Member(desk, "one", "orders")
    answer = one.join()
    assert (answer.error, answer.member_epoch, answer.heartbeat_interval_ms) == (NONE, 2, 5_000)
    assert answer.assignment == ("orders-0", "orders-1", "orders-2")
    group = desk.coordinator.consumer_groups[GROUP]
    assert (group.state, group.epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert [type(one).__name__ for one in desk.log] == [
        "ConsumerGroupMemberMetadata", "ConsumerGroupEpoch", "TargetAssignmentMember", "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
    ]  # fmt: skip


def test_partitions_are_revoked_before_they_are_assigned() -> None:
    partitions_are_revoked_before_they_are_assigned()


def test_a_member_that_stays_is_told_nothing() -> None:
    desk = desk_with({"orders": 2, "payments": 2})
    one, two = Member(desk, "one", "orders"), Member(desk, "two", "payments")
    one.join()
    one.obey()
    two.join()
    assert one.obey().assignment is None
    assert desk.coordinator.consumer_groups[GROUP].state == "Stable"


def test_a_newer_target_does_not_interrupt_a_revocation() -> None:
    desk = desk_with({"orders": 6})
    one, two, three = (Member(desk, name, "orders") for name in ("one", "two", "three"))
    one.join()
    one.obey()
    two.join()
    assert one.beat().member_epoch == 2
    three.join()
    pending = desk.coordinator.consumer_groups[GROUP].members["one-id"].pending_revocation
    assert set(pending) == {"orders-3", "orders-4", "orders-5"}
    assert one.beat().member_epoch == 2
    assert set(desk.coordinator.consumer_groups[GROUP].members["one-id"].pending_revocation) == set(pending)
    settle(one, two, three)
    assert sorted(one.owned + two.owned + three.owned) == [f"orders-{number}" for number in range(6)]
    assert {len(member.owned) for member in (one, two, three)} == {2}


def test_members_that_join_together_wait_for_one_target() -> None:
    """group.consumer.assignment.interval.ms: the second target is computed a second after the first."""
    desk = desk_with({"orders": 4}, {"group.consumer.assignment.interval.ms": 1_000})
    one, two = Member(desk, "one", "orders"), Member(desk, "two", "orders")
    one.join()
    desk.wait(500)
    answer = two.join()
    group = desk.coordinator.consumer_groups[GROUP]
    assert (answer.member_epoch, answer.assignment, group.state) == (2, (), "Assigning")
    desk.wait(499)
    assert one.obey().member_epoch == 2
    assert len(desk.emitted(e.TargetAssignmentComputed)) == 1
    desk.wait(1)
    assert one.obey().assignment == ("orders-0", "orders-1")
    assert group.assignment_epoch == 3


def test_new_partitions_raise_the_epoch_at_the_next_heartbeat() -> None:
    desk = desk_with({"orders": 2, "payments": 1})
    one = Member(desk, "one", "orders")
    one.join()
    one.obey()
    add_topics(desk, {"payments": 4})
    assert one.beat().member_epoch == 2
    add_topics(desk, {"orders": 3})
    answer = one.beat()
    assert (answer.member_epoch, answer.assignment) == (3, ("orders-0", "orders-1", "orders-2"))
    assert desk.emitted(e.ConsumerGroupEpochBumped)[-1].cause == "metadata changed"


def test_a_subscribed_topic_may_come_later() -> None:
    desk = desk_with({"orders": 1})
    one = Member(desk, "one", "orders", "refunds")
    assert one.join().assignment == ("orders-0",)
    add_topics(desk, {"refunds": 1})
    assert one.obey().assignment == ("orders-0", "refunds-0")


def test_another_subscription_takes_partitions_in_the_same_heartbeat() -> None:
    desk = desk_with({"orders": 2, "payments": 2})
    one = Member(desk, "one", "orders", "payments")
    one.join()
    one.obey()
    answer = one.resubscribe("payments")
    assert (answer.member_epoch, answer.assignment) == (2, ("payments-0", "payments-1"))
    assert one.obey().member_epoch == 3
    assert desk.emitted(e.ConsumerGroupEpochBumped)[-1].cause == "subscription changed"


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_assignor_that_most_members_name(assignor: str) -> None:
    desk = desk_with({"orders": 3, "payments": 3})
    members = [Member(desk, name, "orders", "payments", assignor=assignor) for name in ("one", "two")]
    for member in members:
        member.join()
    settle(*members)
    assert desk.emitted(e.TargetAssignmentComputed)[-1].assignor == assignor
    assert sorted(len(member.owned) for member in members) == ([3, 3] if assignor == "uniform" else [2, 4])


def test_the_answer_waits_for_its_records_and_an_empty_one_behind_them() -> None:
    desk = desk_with({"orders": 2}, commits=False)
    one = Member(desk, "one", "orders")
    call = one.send(0, (), full=True)
    assert call.pending
    beat = one.send(2)
    assert beat.pending, "it would tell an epoch that is not committed"
    desk.settle()
    assert one.take(call).member_epoch == 2
    assert beat.pending
    desk.settle()
    assert one.take(beat).error is NONE


def test_a_failed_append_changes_nothing() -> None:
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    two = Member(desk, "two", "orders")
    call = Call(two.request(0, (), full=True))
    decision = desk.coordinator.handle(call.request, call, desk.now_us)
    desk.run(decision, append_error=ErrorCode.NOT_ENOUGH_REPLICAS)
    assert two.take(call).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(desk.coordinator.consumer_groups[GROUP].members) == ["one-id"]
    assert two.join().error is NONE


def test_a_lost_answer_does_not_fence() -> None:
    """The member comes with its last epoch and owns no more than it was assigned."""
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    one.obey()
    add_topics(desk, {"orders": 3})
    one.send(2)  # its answer is lost
    answer = one.take(one.send(2, ("orders-0",), full=True))
    assert (answer.error, answer.member_epoch) == (NONE, 3)
    assert one.send(2, ("orders-9",)).response.error is ErrorCode.FENCED_MEMBER_EPOCH  # type: ignore[union-attr]


@pytest.mark.parametrize(("epoch", "word"), [(7, "greater"), (1, "smaller")])
def test_another_epoch_is_fenced(epoch: int, word: str) -> None:
    another_epoch_is_fenced(epoch, word)


def test_a_member_that_does_not_confirm_is_removed_at_its_rebalance_timeout() -> None:
    desk = desk_with({"orders": 2})
    one, two = Member(desk, "one", "orders", timeout_ms=20_000), Member(desk, "two", "orders")
    one.join()
    one.obey()
    two.join()
    for _ in range(3):
        one.beat()
        two.beat()
        desk.wait(5_000)
    assert two.told == ()
    desk.wait(5_000)
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason, desk.now_us) == ("one", "poll interval exceeded", 20_000 * MS)
    assert two.obey().assignment == ("orders-0", "orders-1")
    assert one.beat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_session_ends_after_group_consumer_session_timeout() -> None:
    desk = desk_with({"orders": 2})
    one, two = Member(desk, "one", "orders"), Member(desk, "two", "orders")
    one.join()
    two.join()
    for _ in range(9):
        desk.wait(5_000)
        one.obey()
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("two", "session expired")
    assert one.told == ("orders-0", "orders-1")


def test_the_last_member_leaves_an_empty_group_whose_epoch_rose() -> None:
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    answer = one.leave()
    assert (answer.error, answer.member_epoch) == (NONE, -1)
    group = desk.coordinator.consumer_groups[GROUP]
    assert (group.state, group.epoch, group.members, group.targets) == ("Empty", 3, {}, {})


def test_a_full_group_refuses_new_members_only() -> None:
    desk = desk_with({"orders": 2}, {"group.consumer.max.size": 1})
    one, two = Member(desk, "one", "orders"), Member(desk, "two", "orders")
    one.join()
    assert two.join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert one.join().error is NONE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"owned": None}, "TopicPartitions must be empty when (re-)joining."),
        ({"owned": ("orders-0",)}, "TopicPartitions must be empty when (re-)joining."),
        ({"topics": None}, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
    ],
)
def test_requests_that_no_group_needs_to_see(change: dict[str, object], words: str) -> None:
    desk = desk_with({"orders": 2})
    request = Member(desk, "one", "orders").request(0, (), full=True)
    for field, value in change.items():
        setattr(request, field, value)
    answer = desk.send(request).response
    assert (answer.error, answer.message) == (ErrorCode.INVALID_REQUEST, words)  # type: ignore[union-attr]


def test_an_assignor_that_the_broker_has_not() -> None:
    desk = desk_with({"orders": 2}, {"group.consumer.assignors": ("range",)})
    answer = Member(desk, "one", "orders", assignor="uniform").join()
    assert answer.error is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.message == "ServerAssignor uniform is not supported. Supported assignors: range."
    assert Member(desk, "two", "orders").join().error is NONE
    assert desk.emitted(e.TargetAssignmentComputed)[-1].assignor == "range"


def test_a_heartbeat_for_no_group() -> None:
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    assert one.take(one.send(5)).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert one.leave().error is ErrorCode.GROUP_ID_NOT_FOUND
    Member(desk, "two", "orders").join()
    assert one.take(one.send(5)).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.leave().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leave_that_is_not_written_leaves_the_session() -> None:
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    call = Call(one.request(-1, None, full=False))
    decision = desk.coordinator.handle(call.request, call, desk.now_us)
    desk.run(decision, append_error=ErrorCode.NOT_ENOUGH_REPLICAS)
    assert one.take(call).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.wait(44_999)
    assert list(desk.coordinator.consumer_groups[GROUP].members) == ["one-id"]
    desk.wait(1)
    assert desk.coordinator.consumer_groups[GROUP].members == {}


def test_a_removal_that_is_not_written_is_tried_again() -> None:
    desk = desk_with({"orders": 2})
    Member(desk, "one", "orders").join()
    desk.now_us = 45_000 * MS
    desk.run(desk.coordinator.on_deadline(desk.now_us), append_error=ErrorCode.NOT_ENOUGH_REPLICAS)
    assert list(desk.coordinator.consumer_groups[GROUP].members) == ["one-id"]
    desk.wait(499)
    assert list(desk.coordinator.consumer_groups[GROUP].members) == ["one-id"]
    desk.wait(1)
    assert desk.coordinator.consumer_groups[GROUP].members == {}
