from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.records import GroupMetadataValue
from cluster.protocol.errors import ErrorCode
from tests.support.coordinator_driver import MS, Desk
from tests.support.group_client import Client, assignment_of, complete, error_of, group_of, stable


@pytest.fixture
def desk() -> Desk:
    return Desk()


def pair(desk: Desk, session_ms: int = 45_000) -> tuple[Client, Client]:
    """A leader and a follower, both static."""
    return (
        Client(desk, "a", instance_id="ia", protocols=("range", "sticky"), session_ms=session_ms),
        Client(desk, "b", instance_id="ib", protocols=("range", "sticky"), session_ms=session_ms),
    )


def restarted(client: Client, version: int = 9) -> Client:
    """The same instance in a new process, which has no member id."""
    return Client(
        client.desk,
        client.name,
        instance_id=client.instance_id,
        session_ms=client.session_ms,
        rebalance_ms=client.rebalance_ms,
        protocols=client.protocols,
        version=version,
    )


def test_a_restarted_follower_goes_on_without_a_rebalance(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    desk.wait(20_000)
    new = restarted(b)
    answer = new.ask()
    assert answer is not None
    assert (answer.error, answer.generation, answer.members) == (ErrorCode.NONE, 1, ())
    assert (answer.leader, answer.skip_assignment) == (a.member_id, False)
    assert group_of(desk).state.value == "Stable"
    assert len(desk.emitted(e.RebalanceStarted)) == 1
    assert assignment_of(new.sync()) == ("orders-1",)
    (replaced,) = desk.emitted(e.StaticMemberReplaced)
    assert (replaced.old_member_id, replaced.member_id, replaced.member) == (b.member_id, new.member_id, "b")
    assert replaced.session_deadline_us == desk.now_us + 45_000 * MS
    assert b.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert error_of(b.sync()) is ErrorCode.FENCED_INSTANCE_ID
    b.instance_id = None
    assert error_of(b.sync()) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [8, 9])
def test_a_restarted_leader_skips_the_assignment_or_acts_as_a_follower(desk: Desk, version: int) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    new = restarted(a, version)
    answer = new.ask()
    assert answer is not None
    assert group_of(desk).leader == new.member_id
    if version == 9:
        assert (answer.leader, answer.skip_assignment, len(answer.members)) == (new.member_id, True, 2)
    else:
        assert (answer.leader, answer.skip_assignment, len(answer.members)) == (a.member_id, False, 0)
    assert group_of(desk).state.value == "Stable"


def test_the_new_id_is_in_the_log_with_the_assignment(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    new = restarted(a)
    new.ask()
    record = desk.log[-1]
    assert isinstance(record, GroupMetadataValue)
    assert [(m.member_id, m.assignment) for m in record.members] == [
        (new.member_id, ("orders-0",)),  # in its predecessor's place
        (b.member_id, ("orders-1",)),
    ]
    assert record.leader == new.member_id


def test_a_changed_subscription_of_a_restarted_member_is_not_noticed(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    new = restarted(b)
    new.topics = ("payments",)
    assert new.ask() is not None
    assert group_of(desk).state.value == "Stable"


def test_a_changed_vote_rebalances(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    new = restarted(b)
    new.protocols = ("sticky",)
    assert new.ask() is None
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert (started.cause, started.trigger) == ("static member replaced", "b")
    received = desk.emitted(e.JoinReceived)[-1]
    assert (received.member_id, received.newcomer, received.session_deadline_us) == (
        list(group_of(desk).members)[1],
        False,
        -1,
    )


def test_completing_always_rebalances_and_fences_what_is_parked(desk: Desk) -> None:
    a, b = pair(desk)
    complete(desk, a, b)
    of_b = b.sync()
    new = restarted(b)
    assert new.ask() is None
    assert error_of(of_b) is ErrorCode.FENCED_INSTANCE_ID
    assert group_of(desk).state.value == "PreparingRebalance"
    a.join()
    assert new.joined.generation == 2


def test_a_parked_join_of_the_old_process_is_fenced(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    Client(desk, "c").join()
    old = b.join()
    new = restarted(b)
    assert new.ask() is None
    assert error_of(old) is ErrorCode.FENCED_INSTANCE_ID
    assert len(group_of(desk).parked_joins) == 2
    a.join()
    assert new.joined.error is ErrorCode.NONE


def test_a_new_static_member_that_is_replaced_while_joining(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a)
    old = b.join()
    new = restarted(b)
    assert new.ask() is None
    assert error_of(old) is ErrorCode.FENCED_INSTANCE_ID
    a.join()
    assert new.joined.generation == 2


def test_rejoining_with_its_id_is_as_any_other_member(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    assert b.ask() is not None
    assert group_of(desk).state.value == "Stable"
    assert a.ask() is None
    assert group_of(desk).state.value == "PreparingRebalance"


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error"),
    [
        ("known", "nobody", ErrorCode.UNKNOWN_MEMBER_ID),
        ("other", "ia", ErrorCode.FENCED_INSTANCE_ID),
        ("unknown", "ia", ErrorCode.FENCED_INSTANCE_ID),
        ("unknown", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_an_id_and_an_instance_that_do_not_belong_together(
    desk: Desk, member_id: str, instance_id: str | None, error: ErrorCode
) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    client = Client(desk, "x", instance_id=instance_id)
    client.member_id = {"known": a.member_id, "other": b.member_id}.get(member_id, member_id)
    answer = client.ask()
    assert answer is not None
    assert answer.error is error
    assert error_of(client.commit()) is (error if instance_id != "nobody" else ErrorCode.UNKNOWN_MEMBER_ID)


def test_absent_for_less_than_the_session_is_silent_and_for_longer_is_not(desk: Desk) -> None:
    a, b = pair(desk, session_ms=30_000)
    stable(desk, a, b)
    desk.wait(29_000)
    a.beat()
    restarted(b).ask()
    desk.wait(29_999)
    a.beat()
    assert group_of(desk).state.value == "Stable"
    desk.wait(1)
    assert desk.emitted(e.RebalanceStarted)[-1].cause == "session expired"


def test_kafka_arms_the_new_member_with_the_old_session_timeout(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    new = restarted(b)
    new.session_ms = 10_000
    new.ask()
    assert group_of(desk).members[new.member_id].session_deadline_us == desk.now_us + 45_000 * MS
    desk.wait(1)
    new.beat()
    assert group_of(desk).members[new.member_id].session_deadline_us == desk.now_us + 10_000 * MS


def test_a_replacement_that_is_not_stored_is_taken_back(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    desk.commits = False
    new = restarted(a)
    new.session_ms = 10_000
    assert new.ask() is None
    desk.settle(ErrorCode.REQUEST_TIMED_OUT)
    answer = new.joined
    assert (answer.error, answer.member_id, answer.leader) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "",
        a.member_id,
    )
    assert list(group_of(desk).members) == [a.member_id, b.member_id]
    assert group_of(desk).leader == a.member_id
    assert group_of(desk).members[a.member_id].session_timeout_ms == 45_000
    assert group_of(desk).static_members == {"ia": a.member_id, "ib": b.member_id}
    assert a.beat() is ErrorCode.NONE


def test_a_replacement_that_is_itself_replaced_before_it_is_stored_is_fenced(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    desk.commits = False
    first, second = restarted(b), restarted(b)
    assert first.ask() is None
    assert second.ask() is None
    desk.settle()
    assert first.joined.error is ErrorCode.FENCED_INSTANCE_ID
    desk.settle()
    assert second.joined.error is ErrorCode.NONE


def test_a_replacement_that_is_being_stored_counts_as_joined(desk: Desk) -> None:
    """Its JoinGroup is parked meanwhile: a barrier that closes now answers it with the new generation."""
    a, b = pair(desk)
    stable(desk, a, b)
    desk.commits = False
    new = restarted(b)
    assert new.ask() is None
    call = a.ask()  # the leader joins again, and no member is missing
    assert call is not None
    assert (call.error, call.generation, group_of(desk).state.value) == (ErrorCode.NONE, 2, "CompletingRebalance")
    assert (new.joined.error, new.joined.generation) == (ErrorCode.NONE, 2)
    answered = new.joined
    desk.settle()
    assert new.joined is answered
    assert desk.emitted(e.JoinBarrierCompleted)[-1].waited_us == 0


def test_a_replacement_that_was_answered_at_a_barrier_is_taken_back_all_the_same(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    desk.commits = False
    new = restarted(b)
    new.ask()
    a.ask()
    new_id = new.joined.member_id
    desk.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert group_of(desk).static_members["ib"] == b.member_id != new_id
    assert new.beat() is ErrorCode.FENCED_INSTANCE_ID


def test_a_former_id_that_is_put_back_while_an_assignment_is_written_has_nothing_of_it(desk: Desk) -> None:
    """`GroupMetadataManager.setAndPropagateAssignment`: the leader assigned to an id that is no member any more."""
    a, b = pair(desk)
    stable(desk, a, b)
    desk.commits = False
    new = restarted(b)
    new.ask()
    a.ask()
    assert a.joined.generation == new.joined.generation == 2
    a.sync({a.member_id: ("orders-0",), new.member_id: ("orders-1",)})
    desk.settle(ErrorCode.NOT_ENOUGH_REPLICAS)  # of the replacement
    desk.settle()  # of the assignment
    assert {each: member.assignment for each, member in group_of(desk).members.items()} == {
        a.member_id: ("orders-0",),
        b.member_id: (),
    }


def test_a_replacement_that_is_evicted_before_it_is_stored_is_unknown(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    desk.commits = False
    new = restarted(b)
    assert new.ask() is None
    evicted = Client(desk, "admin", instance_id="ib")
    assert evicted.leave() is ErrorCode.NONE
    desk.settle()
    assert new.joined.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_every_restart_has_another_id(desk: Desk) -> None:
    a, b = pair(desk)
    stable(desk, a, b)
    ids = {b.member_id}
    for _ in range(5):
        new = restarted(b)
        new.ask()
        assert new.member_id.startswith("ib-")
        ids.add(new.member_id)
    assert len(ids) == 6
