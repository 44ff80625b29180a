from __future__ import annotations

import pytest

from cluster import events as e
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from tests.support.coordinator_driver import MS, Desk
from tests.support.group_client import GROUP, Client, complete, error_of, group_of, member_ids, stable


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- heartbeats ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (("", 1, "x", None), ErrorCode.INVALID_GROUP_ID),
        (("other", 1, "x", None), ErrorCode.UNKNOWN_MEMBER_ID),
        ((GROUP, 1, "x", None), ErrorCode.UNKNOWN_MEMBER_ID),
        ((GROUP, 2, "x", "i"), ErrorCode.FENCED_INSTANCE_ID),
        ((GROUP, 1, "x", "j"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_is_not_known(desk: Desk, request_: tuple[str, int, str, str | None], error: ErrorCode) -> None:
    stable(desk, Client(desk, "a", instance_id="i"))
    answer = desk.send(HeartbeatRequest(*request_)).response
    assert isinstance(answer, HeartbeatResponse)
    assert answer.error is error
    emitted = desk.emitted(e.HeartbeatAnswered)[-1]
    assert (emitted.error, emitted.session_deadline_us, emitted.member) == (error.name, -1, "")


def test_a_heartbeat_renews_the_session(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.wait(44_000)
    assert a.beat() is ErrorCode.NONE
    assert desk.emitted(e.HeartbeatAnswered)[-1].session_deadline_us == desk.now_us + 45_000 * MS
    desk.wait(44_999)
    assert group_of(desk).state.value == "Stable"
    desk.wait(1)
    assert group_of(desk).state.value == "Empty"


def test_completing_is_as_good_as_stable(desk: Desk) -> None:
    a = Client(desk, "a")
    complete(desk, a)
    desk.wait(1_000)
    assert a.beat() is ErrorCode.NONE
    assert group_of(desk).members[a.member_id].session_deadline_us == desk.now_us + 45_000 * MS


def test_an_old_generation_is_illegal_and_renews_nothing(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    before = group_of(desk).members[a.member_id].session_deadline_us
    desk.wait(1_000)
    a.generation = 0
    assert a.beat() is ErrorCode.ILLEGAL_GENERATION
    assert group_of(desk).members[a.member_id].session_deadline_us == before


def test_preparing_says_so_and_renews_all_the_same(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    a.join()
    desk.wait(44_000)
    assert b.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    desk.wait(44_000)
    assert b.member_id in group_of(desk).members


def test_an_unknown_members_name_is_read_from_its_id(desk: Desk) -> None:
    a = Client(desk, "billing-1")
    stable(desk, a)
    a.leave()
    a.beat()
    assert desk.emitted(e.HeartbeatAnswered)[-1].member == "billing-1"


# --- sessions ------------------------------------------------------------------------------------------------------


def test_a_session_that_ends_rebalances_a_stable_group(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b", session_ms=10_000)
    stable(desk, a, b)
    desk.wait(10_000)
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("b", "session expired")
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert (started.cause, started.trigger, started.generation) == ("session expired", "b", 1)


def test_a_static_members_session_ends_as_well(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b", session_ms=10_000, instance_id="i")
    stable(desk, a, b)
    desk.wait(10_000)
    assert not group_of(desk).static_members
    assert group_of(desk).state.value == "PreparingRebalance"


def test_a_leaders_session_that_ends_before_its_sync_answers_the_followers(desk: Desk) -> None:
    a, b = Client(desk, "a", session_ms=10_000), Client(desk, "b")
    complete(desk, a, b)
    of_b = b.sync()
    desk.wait(10_000)
    assert error_of(of_b) is ErrorCode.REBALANCE_IN_PROGRESS
    assert group_of(desk).leader == b.member_id


def test_a_session_that_ends_at_the_barrier_may_close_it(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b", session_ms=10_000)
    stable(desk, a, b)
    a.join()
    desk.wait(10_000)
    assert a.joined.generation == 2
    completed = desk.emitted(e.JoinBarrierCompleted)[-1]
    assert (completed.last_joined, completed.waited_us) == ("b", 10_000 * MS)


def test_a_parked_join_is_not_expired(desk: Desk) -> None:
    a, b = Client(desk, "a", session_ms=6_000), Client(desk, "b", session_ms=100_000)
    stable(desk, a, b)
    parked = a.join()
    assert desk.emitted(e.JoinReceived)[-1].session_deadline_us == -1
    desk.wait(60_000)
    assert parked.pending
    assert a.member_id in group_of(desk).members
    assert a.beat() is ErrorCode.REBALANCE_IN_PROGRESS


# --- leaving -------------------------------------------------------------------------------------------------------


def leave(desk: Desk, *members: LeavingMember, group: str = GROUP) -> LeaveGroupResponse:
    answer = desk.send(LeaveGroupRequest(group, members)).response
    assert isinstance(answer, LeaveGroupResponse)
    return answer


def test_leaving_rebalances_at_once(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    assert b.leave() is ErrorCode.NONE
    assert desk.emitted(e.MemberRemoved)[-1].reason == "member left"
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert (started.cause, started.trigger) == ("member left", "b")


def test_a_leaving_client_says_why(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    stable(desk, a, b, c)
    b.leave("consumer poll timeout has expired.")
    assert desk.emitted(e.MemberRemoved)[-1].client_reason == "consumer poll timeout has expired."
    assert desk.emitted(e.RebalanceStarted)[-1].cause == "poll interval exceeded"
    c.leave("the consumer is being closed")
    assert desk.emitted(e.MemberRemoved)[-1].reason == "member left"


def test_leaving_completing_answers_the_syncs(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a, b)
    of_b = b.sync()
    a.leave()
    assert error_of(of_b) is ErrorCode.REBALANCE_IN_PROGRESS


def test_leaving_the_barrier_may_close_it_and_answers_the_parked_join(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    stable(desk, a, b, c)
    parked = a.join()
    b.join()
    a.leave()
    assert error_of(parked) is ErrorCode.UNKNOWN_MEMBER_ID
    c.leave()
    assert b.joined.generation == 2
    assert desk.emitted(e.JoinBarrierCompleted)[-1].last_joined == "c"


def test_a_batch_has_an_error_for_each_and_one_rebalance_for_all(desk: Desk) -> None:
    a, b, c = Client(desk, "a", instance_id="ia"), Client(desk, "b", instance_id="ib"), Client(desk, "c")
    p = Client(desk, "p")
    stable(desk, a, b, c)
    p.ask()
    answer = leave(
        desk,
        LeavingMember("", "ia"),
        LeavingMember("", "nobody"),
        LeavingMember(""),
        LeavingMember("wrong", "ib"),
        LeavingMember("unknown"),
        LeavingMember(p.member_id),
        LeavingMember(c.member_id),
    )
    assert answer.error is ErrorCode.NONE
    assert [error for _, _, error in answer.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert answer.members[0][:2] == ("", "ia")
    assert member_ids(desk) == [b.member_id]
    assert len([event for event in desk.emitted(e.RebalanceStarted) if not event.initial]) == 1


def test_an_unknown_group_has_unknown_members_and_an_empty_id_no_group(desk: Desk) -> None:
    answer = leave(desk, LeavingMember("a"), group="other")
    assert (answer.error, answer.members) == (ErrorCode.NONE, (("a", None, ErrorCode.UNKNOWN_MEMBER_ID),))
    assert leave(desk, LeavingMember("a"), group="").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT])
def test_the_last_one_to_leave_is_answered_when_the_empty_group_is_safe(desk: Desk, error: ErrorCode) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.commits = False
    call = desk.send(LeaveGroupRequest(GROUP, (LeavingMember(a.member_id),)))
    assert group_of(desk).state.value == "Empty"
    assert call.pending
    desk.settle(error)
    expected = ErrorCode.NONE if error is ErrorCode.NONE else ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert error_of(call) is expected
