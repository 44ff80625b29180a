from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.records import GroupMetadataValue
from cluster.protocol.errors import ErrorCode
from tests.support.coordinator_driver import MS, Desk
from tests.support.group_client import Client, complete, error_of, group_of, stable


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- the initial barrier: D = 3 s ----------------------------------------------------------------------------------


def test_one_member_alone_waits_for_the_initial_delay(desk: Desk) -> None:
    client = Client(desk, "a")
    call = client.join()
    (started,) = desk.emitted(e.RebalanceStarted)
    assert (started.initial, started.closes_at_us, started.generation) == (True, 3_000 * MS, 0)
    assert (started.cause, started.trigger) == ("member joined", "a")
    desk.wait(2_999)
    assert call.pending
    desk.wait(1)
    assert (client.joined.generation, client.joined.leader) == (1, client.member_id)
    (completed,) = desk.emitted(e.JoinBarrierCompleted)
    assert (completed.last_joined, completed.waited_us, completed.leader) == ("a", 3_000 * MS, "a")


@pytest.mark.parametrize(
    ("arrivals_ms", "closes_ms"),
    [
        ([0], 3_000),
        ([0, 1], 6_000),
        ([0, 2_999], 6_000),
        ([0, 1, 2], 6_000),
        ([0, 1, 3_001], 9_000),
        ([0, 1, 4_000, 6_500], 12_000),
    ],
)
def test_every_window_with_a_newcomer_adds_one(desk: Desk, arrivals_ms: list[int], closes_ms: int) -> None:
    calls = []
    for index, at_ms in enumerate(arrivals_ms):
        desk.walk_to(at_ms * MS)
        calls.append(Client(desk, f"m{index}").join())
    desk.walk_to(closes_ms * MS - 1)
    assert all(call.pending for call in calls)
    desk.walk_to(closes_ms * MS)
    assert not any(call.pending for call in calls)
    assert {event.reason for event in desk.emitted(e.JoinBarrierExtended)} <= {"newcomers"}


@pytest.mark.parametrize(
    ("rebalance_ms", "closes_ms"), [(2_000, 3_000), (3_000, 3_000), (4_000, 4_000), (7_000, 7_000), (9_000, 9_000)]
)
def test_the_windows_together_last_as_long_as_the_rebalance_timeout(
    desk: Desk, rebalance_ms: int, closes_ms: int
) -> None:
    for at_ms in range(0, closes_ms, 500):
        desk.walk_to(at_ms * MS)
        Client(desk, f"m{at_ms}", rebalance_ms=rebalance_ms).join()
    desk.walk_to(closes_ms * MS - 1)
    assert group_of(desk).generation == 0
    desk.walk_to(closes_ms * MS)
    assert group_of(desk).generation == 1
    assert len(desk.emitted(e.JoinBarrierExtended)) == (closes_ms - 1) // 3_000  # none when nothing remains


def test_a_group_that_became_empty_begins_with_the_initial_delay_again(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a)
    a.leave()
    assert (group_of(desk).state.value, group_of(desk).generation) == ("Empty", 2)
    b.join()
    assert desk.emitted(e.RebalanceStarted)[-1].initial
    desk.wait(3_000)
    assert b.joined.generation == 3


def test_a_newcomer_of_a_last_window_extends_the_next_initial_barrier(desk: Desk) -> None:
    """`newMemberAdded` is cleared only when a window is extended (`tryCompleteInitialRebalanceElseSchedule`)."""
    first = [Client(desk, name, rebalance_ms=6_000) for name in "abc"]
    for member, pause_ms in zip(first, (1_000, 3_000, 2_000), strict=True):  # at 0, 1 and 4 s; it closes at 6 s
        member.join()
        desk.wait(pause_ms)
    assert {member.joined.generation for member in first} == {1}
    for member in first:
        member.leave()
    alone = Client(desk, "d", rebalance_ms=6_000)
    alone.join()
    desk.wait(5_999)
    assert alone.call is not None
    assert alone.call.pending
    desk.wait(1)
    assert alone.joined.error is ErrorCode.NONE


def test_an_initial_barrier_whose_members_all_left_closes_empty_by_time(desk: Desk) -> None:
    a = Client(desk, "a", version=3)
    call = a.join()
    (a.member_id,) = group_of(desk).members
    a.leave()
    assert error_of(call) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group_of(desk).state.value == "PreparingRebalance"
    desk.wait(3_000)
    assert (group_of(desk).state.value, group_of(desk).generation) == ("Empty", 1)


def test_a_pending_id_that_expires_does_not_shorten_the_initial_barrier() -> None:
    desk = Desk({"group.initial.rebalance.delay.ms": 20_000})
    a, p = Client(desk, "a"), Client(desk, "p", session_ms=6_000)
    call = a.join()
    p.ask()
    desk.wait(19_999)
    assert call.pending
    desk.wait(1)
    assert not call.pending


def test_without_an_initial_delay_the_barrier_closes_at_once() -> None:
    desk = Desk({"group.initial.rebalance.delay.ms": 0})
    a = Client(desk, "a")
    a.join()
    desk.walk_to(desk.now_us)
    assert a.joined.generation == 1


# --- any other barrier ---------------------------------------------------------------------------------------------


def test_it_closes_at_once_when_all_have_joined(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    stable(desk, a, b)
    desk.wait(10_000)
    c.join()
    assert desk.emitted(e.RebalanceStarted)[-1].trigger == "c"
    desk.wait(700)
    a.join()
    desk.wait(300)
    b.join()
    assert {client.joined.generation for client in (a, b, c)} == {2}
    assert {client.joined.leader for client in (a, b, c)} == {a.member_id}
    assert [len(client.joined.members) for client in (a, b, c)] == [3, 0, 0]
    completed = desk.emitted(e.JoinBarrierCompleted)[-1]
    assert (completed.last_joined, completed.waited_us) == ("b", 1_000 * MS)
    assert completed.session_deadlines_us == dict.fromkeys(completed.members, desk.now_us + 45_000 * MS)


def test_at_the_longest_rebalance_timeout_absent_dynamic_members_are_dropped(desk: Desk) -> None:
    a = Client(desk, "a", rebalance_ms=10_000, session_ms=60_000)
    b = Client(desk, "b", rebalance_ms=20_000, session_ms=60_000)
    stable(desk, a, b)
    a.join()
    assert desk.emitted(e.RebalanceStarted)[-1].closes_at_us == desk.now_us + 20_000 * MS
    desk.wait(19_999)
    assert b.beat() is ErrorCode.REBALANCE_IN_PROGRESS  # it heartbeats, and does not poll
    desk.wait(1)
    assert a.joined.generation == 2
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("b", "poll interval exceeded")
    assert desk.emitted(e.JoinBarrierCompleted)[-1].last_joined == "b"
    assert b.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_absent_static_members_are_kept_and_the_leader_hears_of_them(desk: Desk) -> None:
    a = Client(desk, "a", instance_id="i-a", rebalance_ms=10_000)
    b = Client(desk, "b", instance_id="i-b", rebalance_ms=10_000)
    stable(desk, a, b)
    a.join()
    desk.wait(10_000)
    assert [member.instance_id for member in a.joined.members] == ["i-a", "i-b"]
    assert group_of(desk).members[b.member_id].session_deadline_us == desk.now_us + 45_000 * MS  # renewed too


def test_when_the_leader_does_not_come_the_earliest_that_did_leads(desk: Desk) -> None:
    a, b, c = (Client(desk, n, instance_id=n, rebalance_ms=10_000) for n in ("a", "b", "c"))
    stable(desk, a, b, c)
    c.topics = ("payments",)
    c.join()
    b.join()
    desk.wait(10_000)
    assert b.joined.leader == c.joined.leader == b.member_id
    assert len(b.joined.members) == 3
    assert desk.emitted(e.JoinBarrierCompleted)[-1].leader == "b"


def test_when_nobody_comes_it_waits_for_another_rebalance_timeout(desk: Desk) -> None:
    a = Client(desk, "a", instance_id="a", rebalance_ms=10_000)
    b = Client(desk, "b", rebalance_ms=10_000)
    stable(desk, a, b)
    b.leave()
    assert group_of(desk).state.value == "PreparingRebalance"
    desk.wait(10_000)
    extended = desk.emitted(e.JoinBarrierExtended)[-1]
    assert (extended.reason, extended.closes_at_us) == ("nobody rejoined", desk.now_us + 10_000 * MS)
    assert group_of(desk).generation == 1
    a.join()
    assert a.joined.generation == 2


def test_a_removed_leader_is_followed_by_the_earliest_member(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    stable(desk, a, b, c)
    a.leave()
    assert group_of(desk).leader == b.member_id
    c.join()
    b.join()
    assert c.joined.leader == b.member_id


def test_a_new_member_that_is_never_answered_is_given_up_after_five_minutes(desk: Desk) -> None:
    a = Client(desk, "a", session_ms=400_000, rebalance_ms=600_000)
    b = Client(desk, "b", session_ms=400_000, rebalance_ms=600_000)
    stable(desk, a)
    call = b.join()
    received = desk.emitted(e.JoinReceived)[-1]
    assert (received.newcomer, received.session_deadline_us) == (True, desk.now_us + 300_000 * MS)
    desk.wait(299_999)
    assert call.pending
    desk.wait(1)
    assert error_of(call) is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(group_of(desk).members) == [a.member_id]


def test_the_empty_generation_is_written(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.wait(1_000)
    a.leave()
    record = desk.log[-1]
    assert isinstance(record, GroupMetadataValue)
    assert (record.generation, record.members, record.leader, record.protocol) == (2, (), "", "")
    assert (record.protocol_type, record.since_us) == ("consumer", desk.now_us)
    completed = desk.emitted(e.JoinBarrierCompleted)[-1]
    assert (completed.generation, completed.members, completed.protocol, completed.leader) == (2, {}, "", "")


def test_generations_count_from_one_and_every_completion(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a)
    assert a.generation == 1
    b.join()
    a.join()
    assert a.joined.generation == 2
    desk.emitted(e.JoinBarrierCompleted)
    assert [event.generation for event in desk.emitted(e.JoinBarrierCompleted)] == [1, 2]
