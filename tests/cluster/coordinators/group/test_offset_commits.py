from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.coordinators.records import CommittedOffset
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse
from tests.support.coordinator_driver import MS, Call, Desk
from tests.support.group_client import GROUP, Client, committed, complete, error_of, group_of, stable

NONE = ErrorCode.NONE


@pytest.fixture
def desk() -> Desk:
    return Desk()


def commit(desk: Desk, generation: int, member_id: str = "", instance_id: str | None = None) -> ErrorCode:
    return error_of(desk.send(OffsetCommitRequest(GROUP, generation, member_id, instance_id, {"orders-0": (5, 0, "")})))


def commit_in_transaction(
    desk: Desk,
    offset: int,
    producer_id: int = 7,
    generation: int = -1,
    member_id: str = "",
    partition: str = "orders-0",
) -> ErrorCode:
    request = OffsetCommitRequest(GROUP, generation, member_id, None, {partition: (offset, 0, "")})
    call = Call(request)
    desk.run(
        desk.coordinator.commit_in_transaction(request, TransactionProducer(producer_id, 0, "tx"), call, desk.now_us)
    )
    return error_of(call)


def end(desk: Desk, producer_id: int = 7, *, committed: bool = True) -> None:
    desk.run(desk.coordinator.end_transaction(producer_id, committed, desk.now_us))


# --- who may commit ------------------------------------------------------------------------------------------------


def test_an_unknown_group_takes_offsets_without_a_generation_only(desk: Desk) -> None:
    assert commit(desk, 3, "a") is ErrorCode.ILLEGAL_GENERATION
    assert not desk.coordinator.groups
    assert commit(desk, -1) is NONE
    assert committed(desk) == (NONE, 5)
    assert (group_of(desk).state.value, group_of(desk).protocol_type) == ("Empty", "")


def test_an_empty_group_takes_offsets_of_an_administrator(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    assert commit(desk, -1) is ErrorCode.UNKNOWN_MEMBER_ID
    a.leave()
    assert commit(desk, -1) is NONE
    assert commit(desk, 2, a.member_id) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_of_the_generation_may(desk: Desk) -> None:
    a = Client(desk, "a", instance_id="i")
    stable(desk, a)
    assert commit(desk, 1, a.member_id, "i") is NONE
    assert commit(desk, 1, "x", "i") is ErrorCode.FENCED_INSTANCE_ID
    assert commit(desk, 1, "x") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(desk, 0, a.member_id, "i") is ErrorCode.ILLEGAL_GENERATION
    assert commit(desk, -1, a.member_id, "i") is ErrorCode.ILLEGAL_GENERATION
    assert [event.error for event in desk.emitted(e.OffsetCommitRefused)] == [
        "FENCED_INSTANCE_ID",
        "UNKNOWN_MEMBER_ID",
        "ILLEGAL_GENERATION",
        "ILLEGAL_GENERATION",
    ]


def test_completing_refuses_and_preparing_accepts(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a)
    assert error_of(a.commit()) is ErrorCode.REBALANCE_IN_PROGRESS
    a.sync({})
    b.join()
    assert group_of(desk).state.value == "PreparingRebalance"
    desk.wait(1_000)
    assert error_of(a.commit(8)) is NONE
    assert committed(desk) == (NONE, 8)
    assert group_of(desk).members[a.member_id].session_deadline_us == desk.now_us + 45_000 * MS


def test_the_last_write_wins_also_backwards(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.commit(9)
    a.commit(4)
    assert committed(desk) == (NONE, 4)
    assert [event.offsets for event in desk.emitted(e.OffsetsCommitted)] == [{"orders-0": 9}, {"orders-0": 4}]


def test_a_commit_renews_the_session(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.wait(10_000)
    a.commit()
    emitted = desk.emitted(e.OffsetsCommitted)[-1]
    assert (emitted.member, emitted.member_id, emitted.generation) == ("a", a.member_id, 1)
    assert emitted.session_deadline_us == desk.now_us + 45_000 * MS


def test_a_commit_renews_as_of_its_arrival_but_never_backwards(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.commits = False
    a.commit()
    arrived_us = desk.now_us
    desk.wait(10)
    assert group_of(desk).members[a.member_id].session_deadline_us == arrived_us + 45_000 * MS  # while it is parked
    desk.settle()
    assert group_of(desk).members[a.member_id].session_deadline_us == arrived_us + 45_000 * MS
    a.commit()
    desk.wait(10)
    a.beat()
    desk.settle()
    assert group_of(desk).members[a.member_id].session_deadline_us == desk.now_us + 45_000 * MS


def test_too_much_metadata_is_refused_for_its_partition_alone(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    offsets = {"orders-0": (1, 0, "x" * 4_096), "orders-1": (2, 0, "x" * 4_097)}
    answer = desk.send(OffsetCommitRequest(GROUP, 1, a.member_id, None, offsets)).response
    assert isinstance(answer, OffsetCommitResponse)
    assert answer.errors == {"orders-0": NONE, "orders-1": ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert desk.emitted(e.OffsetsCommitted)[-1].offsets == {"orders-0": 1}
    desk.wait(1_000)
    assert error_of(a.commit(metadata="x" * 4_097)) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    emitted = desk.emitted(e.OffsetCommitRefused)[-1]
    assert (emitted.error, emitted.session_deadline_us) == ("OFFSET_METADATA_TOO_LARGE", desk.now_us + 45_000 * MS)


def test_a_commit_of_nothing_is_a_sign_of_life(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.wait(1_000)
    call = desk.send(OffsetCommitRequest(GROUP, 1, a.member_id, None, {}))
    assert call.response == OffsetCommitResponse({})
    assert desk.emitted(e.OffsetsCommitted)[-1].session_deadline_us == desk.now_us + 45_000 * MS


# --- what a fetch sees ---------------------------------------------------------------------------------------------


def test_no_offset_is_minus_one_and_no_error(desk: Desk) -> None:
    assert committed(desk) == (NONE, -1)
    stable(desk, Client(desk, "a"))
    answer = desk.send(OffsetFetchRequest(GROUP, ["orders-0"])).response
    assert answer == OffsetFetchResponse(NONE, {"orders-0": (NONE, -1, -1, "")})


def test_everything_that_was_committed_comes_back(desk: Desk) -> None:
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (5, 3, "text")})
    desk.send(request)
    answer = desk.send(OffsetFetchRequest(GROUP, ["orders-0"])).response
    assert answer == OffsetFetchResponse(NONE, {"orders-0": (NONE, 5, 3, "text")})
    assert desk.log == [CommittedOffset(GROUP, "orders-0", 5, 3, "text", 0)]


def test_nobody_reads_a_commit_before_it_is_safe(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.commit(3)
    desk.commits = False
    call = a.commit(8)
    assert call.pending
    assert committed(desk) == (NONE, 3)
    parked = desk.send(OffsetFetchRequest(GROUP, ["orders-0"], require_stable=True))
    assert parked.pending
    assert committed(desk, "orders-1", stable=True) == (NONE, -1)  # another partition has nothing to wait for
    desk.settle()
    assert error_of(call) is NONE
    assert parked.response == OffsetFetchResponse(NONE, {"orders-0": (NONE, 8, 0, "")})


def test_a_commit_that_timed_out_may_be_safe_later(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.commit(3)
    desk.commits = False
    call = a.commit(8)
    parked = desk.send(OffsetFetchRequest(GROUP, ["orders-0"], require_stable=True))
    desk.settle(ErrorCode.REQUEST_TIMED_OUT)
    assert error_of(call) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert parked.response == OffsetFetchResponse(NONE, {"orders-0": (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1, -1, "")})
    assert committed(desk) == (NONE, 3)
    assert [event.offsets for event in desk.emitted(e.OffsetsCommitted)] == [{"orders-0": 3}]
    a.commit(9, "orders-1")
    desk.settle()  # later in the log, and safe: so is what was before it
    assert committed(desk, stable=True) == (NONE, 8)
    assert [event.offsets for event in desk.emitted(e.OffsetsCommitted)][1:] == [{"orders-0": 8}, {"orders-1": 9}]


def test_a_commit_that_was_not_appended_leaves_no_trace(desk: Desk) -> None:
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (5, 0, "")})
    call = Call(request)
    decision = desk.coordinator.handle(request, call, desk.now_us)
    assert decision.then is not None
    desk.run(decision.then(ErrorCode.NOT_ENOUGH_REPLICAS, desk.now_us))  # the driver could not append
    assert error_of(call) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not desk.coordinator.groups
    assert committed(desk, stable=True) == (NONE, -1)
    assert not desk.emitted(e.OffsetsCommitted)
    assert desk.emitted(e.OffsetCommitRefused)[-1].error == "COORDINATOR_NOT_AVAILABLE"


# --- transactions --------------------------------------------------------------------------------------------------


def test_a_transactions_offsets_wait_for_its_marker(desk: Desk) -> None:
    assert commit_in_transaction(desk, 5) is NONE
    assert committed(desk) == (NONE, -1)
    assert committed(desk, stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    end(desk)
    assert committed(desk, stable=True) == (NONE, 5)
    (emitted,) = desk.emitted(e.OffsetsCommitted)
    assert (emitted.offsets, emitted.session_deadline_us, emitted.generation) == ({"orders-0": 5}, -1, -1)
    commit_in_transaction(desk, 9)
    end(desk, committed=False)
    assert committed(desk, stable=True) == (NONE, 5)
    end(desk)
    end(desk, producer_id=99)
    assert committed(desk, stable=True) == (NONE, 5)


def test_the_later_of_two_commits_stays_whichever_way_it_was_made(desk: Desk) -> None:
    commit_in_transaction(desk, 5)
    commit(desk, -1)
    assert commit_in_transaction(desk, 50, partition="orders-1") is NONE
    end(desk)
    assert group_of(desk).offsets["orders-0"].offset == 5
    assert group_of(desk).offsets["orders-0"].producer_id == -1
    assert group_of(desk).offsets["orders-1"].offset == 50
    commit_in_transaction(desk, 6, producer_id=1)
    commit_in_transaction(desk, 7, producer_id=2)
    end(desk, producer_id=2)
    end(desk, producer_id=1)
    assert committed(desk, stable=True) == (NONE, 7)


def test_a_marker_overtakes_a_commit_that_is_under_way(desk: Desk) -> None:
    desk.commits = False
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (1, 0, "")})
    desk.send(request)
    later = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (2, 0, "")})
    desk.run(desk.coordinator.commit_in_transaction(later, TransactionProducer(7, 0), Call(later), desk.now_us))
    end(desk)
    assert committed(desk) == (NONE, 2)
    desk.settle()
    desk.settle()
    assert committed(desk) == (NONE, 2)


def test_a_transaction_is_fenced_by_the_groups_metadata(desk: Desk) -> None:
    a = Client(desk, "a")
    complete(desk, a)
    assert commit_in_transaction(desk, 1, generation=1, member_id=a.member_id) is NONE  # also in CompletingRebalance
    assert commit_in_transaction(desk, 1, generation=2, member_id=a.member_id) is ErrorCode.ILLEGAL_GENERATION
    assert commit_in_transaction(desk, 1, generation=1, member_id="x") is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_in_transaction(desk, 1) is NONE  # a producer from before KIP-447
    emitted = desk.emitted(e.TransactionOffsetsRefused)
    assert [(one.transactional_id, one.group, one.generation, one.member_id) for one in emitted] == [
        ("tx", GROUP, 2, a.member_id),
        ("tx", GROUP, 1, "x"),
    ]
    assert [one.error for one in emitted] == ["ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"]


def test_a_transactional_commit_is_answered_when_it_is_safe(desk: Desk) -> None:
    desk.commits = False
    request = OffsetCommitRequest(GROUP, -1, "", None, {"orders-0": (1, 0, "")})
    call = Call(request)
    desk.run(desk.coordinator.commit_in_transaction(request, TransactionProducer(7, 0), call, desk.now_us))
    assert call.pending
    desk.settle(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert error_of(call) is ErrorCode.NOT_COORDINATOR
