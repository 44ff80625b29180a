"""Static members, regular expressions, and the group on a new coordinator."""

from __future__ import annotations

import pytest

from cluster import events as e
from cluster.protocol.errors import ErrorCode
from tests.support.consumer_group_client import GROUP, Member, add_topics, desk_with, settle
from tests.support.coordinator_driver import MS, Desk


def again(member: Member, new_id: str) -> Member:
    """The member's next process, with the same instance id."""
    process = Member(member.desk, member.name, *(member.topics or ()), instance_id=member.instance_id)
    process.member_id = new_id
    return process


def two_static() -> tuple[Desk, Member, Member]:
    desk = desk_with({"orders": 4})
    one = Member(desk, "one", "orders", instance_id="i-1")
    two = Member(desk, "two", "orders", instance_id="i-2")
    one.join()
    two.join()
    settle(one, two)
    return desk, one, two


def test_a_static_member_comes_back_to_its_partitions_without_an_epoch() -> None:
    desk, one, two = two_static()
    epoch = desk.coordinator.consumer_groups[GROUP].epoch
    assert one.leave(-2).member_epoch == -2
    assert desk.coordinator.consumer_groups[GROUP].state == "Reconciling"
    assert two.obey().assignment is None
    back = again(one, "one-again")
    answer = back.join()
    assert (answer.error, answer.member_epoch, answer.assignment) == (ErrorCode.NONE, epoch, one.told)
    group = desk.coordinator.consumer_groups[GROUP]
    assert (group.epoch, group.state) == (epoch, "Stable")
    (replaced,) = desk.emitted(e.StaticMemberReplaced)
    assert (replaced.old_member_id, replaced.member_id) == ("one-id", "one-again")
    assert one.take(one.send(epoch)).error is ErrorCode.FENCED_INSTANCE_ID


def test_an_instance_id_in_use_is_not_released() -> None:
    _, one, _ = two_static()
    answer = again(one, "twin").join()
    assert answer.error is ErrorCode.UNRELEASED_INSTANCE_ID
    assert "owned by one-id member" in answer.message
    twin = again(one, "twin")
    assert twin.take(twin.send(2)).error is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_stays_away_loses_its_place_at_the_end_of_its_session() -> None:
    desk, one, two = two_static()
    one.leave(-2)
    for _ in range(9):
        desk.wait(5_000)
        two.obey()
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("one", "session expired")
    settle(two)
    assert len(two.owned) == 4


def test_a_static_member_may_leave_for_good() -> None:
    desk, one, two = two_static()
    one.leave(-1)
    assert "i-1" not in desk.coordinator.consumer_groups[GROUP].static_members
    settle(two)
    assert len(two.owned) == 4


def test_a_failover_goes_on_where_the_group_was() -> None:
    desk = desk_with({"orders": 4}, {"group.consumer.heartbeat.interval.ms": 6_000})
    one, two = Member(desk, "one", "orders"), Member(desk, "two", "orders")
    one.join()
    one.obey()
    two.join()
    one.beat()  # it has to give up two partitions
    before = desk.coordinator.consumer_groups[GROUP]
    members, targets, owners = dict(before.members), dict(before.targets), dict(before.owners)
    desk.wait(7_000)
    desk.fail_over()
    after = desk.coordinator.consumer_groups[GROUP]
    assert (after.members, after.targets, after.owners) == (members, targets, owners)
    (loaded,) = desk.emitted(e.ConsumerGroupLoaded)
    assert loaded.fenced_at_us == {"one-id": desk.now_us + 30_000 * MS}
    settle(one, two)
    assert sorted((*one.owned, *two.owned)) == [f"orders-{number}" for number in range(4)]
    assert len(desk.emitted(e.ConsumerGroupEpochBumped)) == 2, "a failover starts no rebalance"


def test_uncommitted_heartbeats_are_told_not_coordinator() -> None:
    desk = desk_with({"orders": 2}, commits=False)
    one = Member(desk, "one", "orders")
    join, beat = one.send(0, (), full=True), one.send(2)
    desk.fail_over()
    assert one.take(join).error is ErrorCode.NOT_COORDINATOR
    assert one.take(beat).error is ErrorCode.NOT_COORDINATOR


def test_a_loading_coordinator_and_one_that_resigned() -> None:
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    old = desk.coordinator
    desk.fail_over()
    call = one.send(2)
    assert one.take(call).error is ErrorCode.NONE
    (reply,) = old.handle(call.request, call, 0).replies
    assert reply[1].error is ErrorCode.NOT_COORDINATOR  # type: ignore[attr-defined]
    fresh = desk._new()
    (reply,) = fresh.handle(call.request, call, 0).replies
    assert reply[1].error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # type: ignore[attr-defined]


def test_a_regular_expression_is_resolved_a_little_later() -> None:
    desk = desk_with({"orders-eu": 1, "orders-us": 1, "payments": 1, "__consumer_offsets": 3})
    one = Member(desk, "one", regex="orders-.*")
    answer = one.join()
    assert (answer.member_epoch, answer.assignment) == (1, ())
    desk.wait(1)
    (resolved,) = desk.emitted(e.TopicRegexResolved)
    assert (resolved.topics, resolved.scanned) == (("orders-eu", "orders-us"), 3)
    answer = one.obey()
    assert (answer.member_epoch, answer.assignment) == (2, ("orders-eu-0", "orders-us-0"))


def test_a_new_topic_is_found_ten_seconds_after_the_last_look() -> None:
    desk = desk_with({"orders-eu": 1})
    one = Member(desk, "one", regex="orders-.*")
    one.join()
    desk.wait(1)
    one.obey()
    add_topics(desk, {"orders-us": 1})
    desk.wait(9_999)
    one.obey()
    desk.wait(1)
    one.obey()
    assert len(one.told) == 1
    desk.wait(1)
    one.obey()
    desk.wait(1)
    one.obey()
    assert len(one.told) == 2


def test_a_second_member_with_the_same_expression_needs_no_look() -> None:
    desk = desk_with({"orders-eu": 2})
    one, two = Member(desk, "one", regex="orders-.*"), Member(desk, "two", regex="orders-.*")
    one.join()
    desk.wait(1)
    one.obey()
    assert two.join().member_epoch == 3
    settle(one, two)
    one.leave()
    two.leave()
    assert desk.coordinator.consumer_groups[GROUP].regexes == {}


@pytest.mark.parametrize("regex", ["(", "orders(?=-eu)", r"(a)\1", "a++", "(?<!x)y"])
def test_an_expression_that_re2_refuses(regex: str) -> None:
    desk = desk_with({"orders": 1})
    answer = Member(desk, "one", regex=regex).join()
    assert answer.error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert answer.message.startswith(f"SubscribedTopicRegex `{regex}` is not a valid regular expression: ")
    assert GROUP not in desk.coordinator.consumer_groups
