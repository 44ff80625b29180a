from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.records import GroupMetadataValue
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import SyncGroupRequest, SyncGroupResponse
from tests.support.coordinator_driver import MS, Desk
from tests.support.group_client import (
    GROUP,
    Client,
    assignment_of,
    complete,
    error_of,
    group_of,
    stable,
)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "instance_id": None}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"instance_id": "j"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "instance_id": "i"}, ErrorCode.FENCED_INSTANCE_ID),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": "range", "protocol_type": "consumer"}, ErrorCode.NONE),
        ({"protocol": None, "protocol_type": None}, ErrorCode.NONE),
    ],
)
def test_what_a_sync_is_refused_for(desk: Desk, changes: dict[str, object], error: ErrorCode) -> None:
    a = Client(desk, "a", instance_id="i")
    stable(desk, a)
    request = SyncGroupRequest(GROUP, 1, a.member_id, "i")
    for field, value in changes.items():
        setattr(request, field, value)
    assert error_of(desk.send(request)) is error


def test_an_empty_group_knows_no_member(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.leave()
    assert error_of(a.sync()) is ErrorCode.UNKNOWN_MEMBER_ID


def test_preparing_says_so(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    a.join()
    assert error_of(b.sync()) is ErrorCode.REBALANCE_IN_PROGRESS


def test_followers_wait_for_the_leader_and_for_the_log(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    complete(desk, a, b, c)
    desk.commits = False
    of_b = b.sync()
    assert [(s.member, s.leader, s.session_deadline_us) for s in desk.emitted(e.SyncReceived)] == [("b", False, -1)]
    of_a = a.sync({a.member_id: ("orders-0",), b.member_id: ("orders-1", "orders-2"), "gone": ("orders-3",)})
    assert of_a.pending
    assert of_b.pending
    record = desk.log[-1]
    assert isinstance(record, GroupMetadataValue)
    assert [member.assignment for member in record.members] == [("orders-0",), ("orders-1", "orders-2"), ()]
    assert (record.generation, record.leader, record.protocol) == (1, a.member_id, "range")
    desk.wait(200)
    assert a.beat() is ErrorCode.NONE  # parked: not renewed, and not in danger
    assert desk.emitted(e.HeartbeatAnswered)[-1].session_deadline_us == -1
    desk.settle()
    assert assignment_of(of_a) == ("orders-0",)
    assert assignment_of(of_b) == ("orders-1", "orders-2")
    (stabilized,) = desk.emitted(e.GroupStabilized)
    assert stabilized.assignment[c.member_id] == ()
    assert stabilized.session_deadlines_us[b.member_id] == desk.now_us + 45_000 * MS
    assert stabilized.session_deadlines_us[c.member_id] == 6_000 * MS + 45_000 * MS  # it has not asked
    assert assignment_of(c.sync()) == ()


def test_stable_answers_at_once_and_renews_the_session(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.wait(1_000)
    assert assignment_of(a.sync()) == ("orders-0",)
    assert group_of(desk).members[a.member_id].session_deadline_us == desk.now_us + 45_000 * MS
    assert desk.emitted(e.SyncReceived)[-1].session_deadline_us == desk.now_us + 45_000 * MS


def test_a_parked_sync_is_not_expired(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b", session_ms=6_000)
    complete(desk, a, b)
    parked = b.sync()
    desk.wait(30_000)
    assert parked.pending
    assert b.member_id in group_of(desk).members


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_an_assignment_that_is_not_stored_starts_another_rebalance(
    desk: Desk, error: ErrorCode, told: ErrorCode
) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a, b)
    desk.commits = False
    calls = [b.sync(), a.sync({})]
    desk.settle(error)
    assert [error_of(call) for call in calls] == [told, told]
    assert group_of(desk).state.value == "PreparingRebalance"
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert started.session_deadlines_us == dict.fromkeys(group_of(desk).members, desk.now_us + 45_000 * MS)


def test_a_rebalance_that_comes_before_the_log_wins(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c", version=3)
    complete(desk, a, b)
    desk.commits = False
    of_a = a.sync({})
    c.join()
    assert error_of(of_a) is ErrorCode.REBALANCE_IN_PROGRESS
    desk.settle()
    assert group_of(desk).state.value == "PreparingRebalance"
    assert not desk.emitted(e.GroupStabilized)


def test_a_leader_that_syncs_twice_is_answered_once_and_stores_twice(desk: Desk) -> None:
    a = Client(desk, "a")
    complete(desk, a)
    desk.commits = False
    first, second = a.sync({a.member_id: ("orders-0",)}), a.sync({a.member_id: ("orders-1",)})
    desk.settle()
    assert first.pending
    assert assignment_of(second) == ("orders-0",)
    desk.settle()
    assert len(desk.emitted(e.GroupStabilized)) == 1


# --- the pending-sync timer: RT from the generation on -------------------------------------------------------------


def test_members_that_never_sync_are_removed_though_they_heartbeat(desk: Desk) -> None:
    a, b = Client(desk, "a", rebalance_ms=10_000), Client(desk, "b", rebalance_ms=20_000)
    complete(desk, a, b)
    of_b = b.sync()
    desk.wait(19_999)
    assert a.beat() is ErrorCode.NONE
    desk.wait(1)
    assert error_of(of_b) is ErrorCode.REBALANCE_IN_PROGRESS
    assert a.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason, removed.leader) == ("a", "sync timed out", "b")
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert (started.cause, started.trigger) == ("sync timed out", "a")
    assert isinstance(of_b.response, SyncGroupResponse)


def test_late_followers_are_removed_from_a_stable_group_too(desk: Desk) -> None:
    a, b = Client(desk, "a", rebalance_ms=10_000), Client(desk, "b", rebalance_ms=10_000)
    complete(desk, a, b)
    a.sync({})
    assert group_of(desk).state.value == "Stable"
    desk.wait(10_000)
    assert group_of(desk).state.value == "PreparingRebalance"
    assert list(group_of(desk).members) == [a.member_id]


def test_when_all_have_synced_the_timer_is_gone(desk: Desk) -> None:
    a, b = Client(desk, "a", rebalance_ms=10_000), Client(desk, "b", rebalance_ms=10_000)
    stable(desk, a, b)
    desk.wait(10_000)
    assert group_of(desk).state.value == "Stable"


def test_when_nobody_syncs_the_group_is_empty(desk: Desk) -> None:
    a, b = Client(desk, "a", rebalance_ms=10_000), Client(desk, "b", rebalance_ms=10_000)
    complete(desk, a, b)
    desk.wait(10_000)
    assert (group_of(desk).state.value, group_of(desk).generation) == ("Empty", 2)
