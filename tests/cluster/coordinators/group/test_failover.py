from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.group.coordinator import GroupCoordinator, answer_while_loading
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.protocol.api import Request
from cluster.protocol.api_table import error_response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    DeleteGroupsRequest,
    DescribeGroupRequest,
    HeartbeatRequest,
    LeaveGroupRequest,
    LeavingMember,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from tests.support.coordinator_driver import MS, Call, Desk
from tests.support.group_client import (
    GROUP,
    Client,
    assignment_of,
    committed,
    complete,
    error_of,
    group_of,
    stable,
)

REQUESTS: list[Request] = [
    Client(Desk(), "a").request(),
    SyncGroupRequest(GROUP, 1, "a"),
    HeartbeatRequest(GROUP, 1, "a"),
    LeaveGroupRequest(GROUP, (LeavingMember("a"),)),
    OffsetCommitRequest(GROUP, 1, "a", None, {"orders-0": (1, 0, "")}),
    OffsetFetchRequest(GROUP, ["orders-0"]),
    DescribeGroupRequest(GROUP),
    ListGroupsRequest(),
    DeleteGroupsRequest((GROUP,)),
]


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_while_loading_heartbeats_are_fine_syncs_join_again_and_the_rest_waits(request_: Request) -> None:
    expected = {
        HeartbeatRequest: ErrorCode.NONE,
        SyncGroupRequest: ErrorCode.REBALANCE_IN_PROGRESS,
    }.get(type(request_), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    coordinator, call = GroupCoordinator(1, {}, str), Call(request_)
    ((_, answer),) = coordinator.handle(request_, call, 0).replies
    call.answer(answer)
    assert error_of(call) is expected
    assert answer == answer_while_loading(request_)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_after_the_resignation_everything_is_elsewhere(desk: Desk, request_: Request) -> None:
    old = desk.fail_over()
    call = Call(request_)
    ((_, answer),) = old.handle(request_, call, 0).replies
    call.answer(answer)
    assert error_of(call) is ErrorCode.NOT_COORDINATOR
    assert answer == error_response(request_, ErrorCode.NOT_COORDINATOR)
    assert old.next_deadline_us() is None


def test_a_heartbeat_is_told_also_while_loading() -> None:
    decision = GroupCoordinator(1, {}, str).handle(HeartbeatRequest(GROUP, 1, "a"), object(), 0)
    (emitted,) = decision.events
    assert isinstance(emitted, e.HeartbeatAnswered)
    assert (emitted.error, emitted.session_deadline_us) == ("NONE", -1)


def test_a_request_of_another_kind_has_no_refusal() -> None:
    with pytest.raises(TypeError, match="MetadataRequest"):
        error_response(MetadataRequest(()), ErrorCode.NOT_COORDINATOR)


def test_nothing_is_told_of_a_coordinator_that_never_finished_loading() -> None:
    desk = Desk()
    stable(desk, Client(desk, "a"))
    new = GroupCoordinator(2, {}, str)
    for record in desk.log:
        new.replay(record)
    assert new.unload(0).events == []


def test_the_failover_of_a_stable_group_is_not_noticed(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b", instance_id="i")
    stable(desk, a, b)
    a.commit(7)
    desk.wait(10_000)
    rebalances = len(desk.emitted(e.RebalanceStarted))
    desk.fail_over()
    group = group_of(desk)
    assert (group.state.value, group.generation, group.leader) == ("Stable", 1, a.member_id)
    assert a.beat() is b.beat() is ErrorCode.NONE
    assert assignment_of(b.sync()) == ("orders-1",)
    assert committed(desk) == (ErrorCode.NONE, 7)
    assert len(desk.emitted(e.RebalanceStarted)) == rebalances
    (loaded,) = desk.emitted(e.GroupLoaded)
    assert (loaded.state, loaded.generation, loaded.protocol, loaded.leader) == ("Stable", 1, "range", "a")
    assert loaded.session_deadlines_us == dict.fromkeys([a.member_id, b.member_id], desk.now_us + 45_000 * MS)
    assert loaded.offsets == {"orders-0": 7}
    assert [event.group for event in desk.emitted(e.GroupUnloaded)] == [GROUP]


def test_a_failover_at_the_barrier_answers_the_joins_and_forgets_them(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    stable(desk, a, b)
    of_c, of_a = c.join(), a.join()
    desk.fail_over()
    assert error_of(of_c) is error_of(of_a) is ErrorCode.NOT_COORDINATOR
    assert (group_of(desk).state.value, list(group_of(desk).members)) == ("Stable", [a.member_id, b.member_id])
    answer = c.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_failover_before_the_assignment_is_in_the_log_goes_back_a_generation(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a)
    b.join()
    a.join()
    assert (a.joined.generation, b.joined.generation) == (2, 2)
    of_b = b.sync()
    desk.fail_over()
    assert error_of(of_b) is ErrorCode.NOT_COORDINATOR
    assert group_of(desk).generation == 1
    assert a.beat() is ErrorCode.ILLEGAL_GENERATION


def test_an_assignment_that_was_in_the_log_but_not_safe_counts_if_the_next_leader_has_it(desk: Desk) -> None:
    a = Client(desk, "a")
    complete(desk, a)
    desk.commits = False
    call = a.sync({a.member_id: ("orders-0",)})
    desk.fail_over()
    assert error_of(call) is ErrorCode.NOT_COORDINATOR
    assert group_of(desk).state.value == "Stable"
    assert assignment_of(a.sync()) == ("orders-0",)


def test_a_commit_under_way_is_answered_by_its_own_fate(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.commits = False
    call = a.commit(5)
    parked = desk.send(OffsetFetchRequest(GROUP, ["orders-0"], require_stable=True))
    desk.fail_over()
    assert error_of(call) is ErrorCode.NOT_COORDINATOR
    assert error_of(parked) is ErrorCode.NOT_COORDINATOR
    assert committed(desk) == (ErrorCode.NONE, 5)


def test_what_becomes_safe_after_the_resignation_is_told_by_the_next_coordinator_only(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.commits = False
    call = a.commit(5)
    desk.run(desk.coordinator.unload(desk.now_us))
    desk.settle()
    assert error_of(call) is ErrorCode.NONE
    assert not desk.emitted(e.OffsetsCommitted)


def test_handed_out_ids_are_lost(desk: Desk) -> None:
    p = Client(desk, "p")
    p.ask()
    desk.fail_over()
    answer = p.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_after_a_failover_only_the_selected_protocol_is_known(desk: Desk) -> None:
    a, b = Client(desk, "a", protocols=("range", "sticky")), Client(desk, "b", protocols=("range", "sticky"))
    stable(desk, a, b)
    desk.fail_over()
    assert b.ask() is None  # its list of protocols differs from the one that was stored: Kafka sees a change
    assert group_of(desk).state.value == "PreparingRebalance"


def test_a_group_over_its_size_rebalances_when_it_is_loaded(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    stable(desk, a, b, c)
    desk.config["group.max.size"] = 2
    desk.fail_over()
    assert group_of(desk).state.value == "PreparingRebalance"
    assert desk.emitted(e.RebalanceStarted)[-1].cause == "coordinator moved"
    c.join()
    a.join()
    answer = b.ask()
    assert answer is not None
    assert answer.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert {member.client_id for member in group_of(desk).members.values()} == {"a", "c"}


def test_open_transactions_survive(desk: Desk) -> None:
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (5, 0, "")})
    desk.run(desk.coordinator.commit_in_transaction(request, TransactionProducer(7, 0), Call(request), 0))
    desk.fail_over()
    assert committed(desk, stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    desk.run(desk.coordinator.end_transaction(7, True, 0))
    assert committed(desk, stable=True) == (ErrorCode.NONE, 5)


def test_a_marker_that_is_replayed_is_not_told(desk: Desk) -> None:
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (5, 0, "")})
    desk.run(desk.coordinator.commit_in_transaction(request, TransactionProducer(7, 0), Call(request), 0))
    new = GroupCoordinator(1, {}, str)
    for record in desk.log:
        new.replay(record)
    assert new.end_transaction(7, True, 0).events == []
    (loaded,) = new.loaded(0).events
    assert isinstance(loaded, e.GroupLoaded)
    assert loaded.offsets == {"orders-0": 5}


def test_a_deleted_group_stays_deleted(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.commit()
    a.leave()
    desk.send(DeleteGroupsRequest((GROUP,)))
    desk.fail_over()
    assert not desk.coordinator.groups
