from __future__ import annotations

import pytest

from cluster import events as e
from cluster.coordinators.group.states import GroupEvent
from cluster.coordinators.records import GroupMetadataValue
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupRequest, JoinGroupResponse
from tests.support.coordinator_driver import MS, Desk
from tests.support.group_client import GROUP, Client, complete, group_of, member_ids, stabilize, stable


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.parametrize(
    ("session_ms", "accepted"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)]
)
def test_the_session_timeout_has_bounds(desk: Desk, session_ms: int, accepted: bool) -> None:
    answer = Client(desk, "a", session_ms=session_ms).ask()
    assert answer is not None
    assert (answer.error is not ErrorCode.INVALID_SESSION_TIMEOUT) == accepted


def test_an_empty_group_id_is_refused_first(desk: Desk) -> None:
    answer = desk.send(JoinGroupRequest("", "", "a", 1, 1, {})).response
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error is ErrorCode.INVALID_GROUP_ID


def test_an_id_for_an_unknown_group_is_unknown_and_makes_no_group(desk: Desk) -> None:
    client = Client(desk, "a")
    client.member_id = "a-1"
    answer = client.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert not desk.coordinator.groups


def test_a_first_join_makes_the_group_and_writes_it_empty(desk: Desk) -> None:
    Client(desk, "a").ask()
    assert desk.log == [GroupMetadataValue(group=GROUP, since_us=0)]
    assert group_of(desk).state.value == "Empty"


def test_a_dynamic_member_is_given_an_id_and_is_pending(desk: Desk) -> None:
    client = Client(desk, "billing-1")
    answer = client.ask()
    assert answer is not None
    assert answer.error is ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id == "billing-1-00000000-0000-0000-0000-000000000000"
    assert group_of(desk).pending == {answer.member_id: "billing-1"}
    assert not group_of(desk).members
    (emitted,) = desk.emitted(e.MemberIdAssigned)
    assert (emitted.member, emitted.member_id, emitted.expires_at_us) == ("billing-1", answer.member_id, 45_000 * MS)
    client.ask()
    assert not group_of(desk).pending
    assert member_ids(desk) == [answer.member_id]
    assert group_of(desk).state.value == "PreparingRebalance"


def test_before_version_4_there_is_no_round_trip(desk: Desk) -> None:
    client = Client(desk, "a", version=3)
    assert client.ask() is None
    assert len(member_ids(desk)) == 1


def test_a_static_member_has_no_round_trip_and_an_id_of_its_instance(desk: Desk) -> None:
    client = Client(desk, "a", instance_id="i")
    assert client.ask() is None
    assert member_ids(desk)[0].startswith("i-0000")


def test_a_pending_id_expires_with_the_session_timeout(desk: Desk) -> None:
    client = Client(desk, "a")
    client.ask()
    desk.wait(44_999)
    assert group_of(desk).pending
    desk.wait(1)
    assert not group_of(desk).pending
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member_id, removed.reason) == (client.member_id, "session expired")
    answer = client.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_disturbs_no_stable_group_until_it_leaves(desk: Desk) -> None:
    """Its expiry does not either, but a LeaveGroup of any valid id makes the group rebalance."""
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a)
    b.ask()
    assert group_of(desk).state.value == "Stable"
    assert b.leave() is ErrorCode.NONE
    assert group_of(desk).state.value == "PreparingRebalance"
    assert not group_of(desk).pending


@pytest.mark.parametrize("how", ["expires", "leaves", "joins"])
def test_a_pending_id_holds_the_barrier_until_it(desk: Desk, how: str) -> None:
    a, b, p = Client(desk, "a"), Client(desk, "b"), Client(desk, "p", session_ms=6_000)
    stable(desk, a, b)
    p.ask()
    a.join()
    b.join()
    assert group_of(desk).state.value == "PreparingRebalance"
    if how == "expires":
        desk.wait(6_000)
    elif how == "leaves":
        p.leave()
    else:
        p.ask()
    assert group_of(desk).state.value == "CompletingRebalance"
    completed = desk.emitted(e.JoinBarrierCompleted)[-1]
    assert completed.last_joined == "p"  # the barrier waited for p


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("connect", ("range",)), ("", ("range",)), ("consumer", ("sticky",)), ("consumer", ())],
)
def test_nothing_in_common_is_inconsistent(desk: Desk, protocol_type: str, protocols: tuple[str, ...]) -> None:
    stable(desk, Client(desk, "a"))
    request = Client(desk, "b", protocols=protocols).request()
    request.protocol_type = protocol_type
    answer = desk.send(request).response
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_that_turns_away_from_the_common_protocol_is_inconsistent(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    b.protocols = ("sticky",)
    answer = b.ask()
    assert answer is not None
    assert answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group_of(desk).state.value == "Stable"


@pytest.mark.parametrize(
    ("ballots", "winner"),
    [
        ([("range", "sticky")], "range"),
        ([("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "sticky"),
        ([("range", "sticky"), ("sticky", "other")], "sticky"),
        ([("range", "sticky"), ("sticky", "range")], "range"),  # a tie: Kafka leaves it to a hash map
    ],
)
def test_the_vote(desk: Desk, ballots: list[tuple[str, ...]], winner: str) -> None:
    clients = [Client(desk, f"m{index}", protocols=ballot) for index, ballot in enumerate(ballots)]
    complete(desk, *clients)
    assert {client.joined.protocol for client in clients} == {winner}


# --- a known member joins again ------------------------------------------------------------------------------------


def test_stable_and_a_follower_unchanged_is_told_the_generation(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    session_us = group_of(desk).members[b.member_id].session_deadline_us
    desk.wait(1_000)
    answer = b.ask()
    assert answer is not None
    assert (answer.error, answer.generation, answer.members, answer.leader) == (ErrorCode.NONE, 1, (), a.member_id)
    assert group_of(desk).state.value == "Stable"
    assert group_of(desk).members[b.member_id].session_deadline_us == session_us  # not renewed by it


@pytest.mark.parametrize(
    ("reason", "cause"),
    [("", "leader rejoined"), ("cached metadata has changed", "metadata changed"), ("whatever", "leader rejoined")],
)
def test_stable_and_the_leader_unchanged_rebalances(desk: Desk, reason: str, cause: str) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    assert a.ask(reason) is None
    assert group_of(desk).state.value == "PreparingRebalance"
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert (started.cause, started.trigger, started.initial) == (cause, "a", False)
    assert started.closes_at_us == desk.now_us + 300_000 * MS


@pytest.mark.parametrize(
    ("topics", "owned", "protocols", "reason", "cause"),
    [
        (("orders", "payments"), ("orders-0",), ("range",), "", "subscription changed"),
        (("orders",), (), ("range",), "", "partitions revoked"),
        (("orders",), ("orders-0",), ("range", "sticky"), "", "subscription changed"),
        (("orders",), ("orders-1",), ("range",), "", "member joined"),
        (("orders",), (), ("range",), "coordinator moved", "partitions revoked"),
    ],
)
def test_stable_and_a_follower_changed_rebalances(
    desk: Desk, topics: tuple[str, ...], owned: tuple[str, ...], protocols: tuple[str, ...], reason: str, cause: str
) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    b.owned = ("orders-0",)
    stable(desk, a, b)
    b.topics, b.owned, b.protocols = topics, owned, protocols
    assert b.ask(reason) is None
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert (started.cause, started.trigger) == (cause, "b")


def test_completing_and_unchanged_says_it_again_the_list_to_the_leader_only(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a, b)
    for client, count in ((a, 2), (b, 0)):
        answer = client.ask()
        assert answer is not None
        assert (answer.error, answer.generation, len(answer.members)) == (ErrorCode.NONE, 1, count)
    assert group_of(desk).state.value == "CompletingRebalance"


def test_completing_and_changed_rebalances_and_answers_the_syncs(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c")
    complete(desk, a, b, c)
    sync = c.sync()
    assert sync.pending
    b.topics = ("orders", "payments")
    desk.wait(500)
    assert b.ask() is None
    assert group_of(desk).state.value == "PreparingRebalance"
    assert getattr(sync.response, "error", None) is ErrorCode.REBALANCE_IN_PROGRESS
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert started.session_deadlines_us == {c.member_id: desk.now_us + 45_000 * MS}
    assert started.cause == "subscription changed"


def test_who_joins_again_while_its_sync_is_parked_cannot_expire(desk: Desk) -> None:
    a, b, c = Client(desk, "a"), Client(desk, "b", session_ms=6_000), Client(desk, "c")
    complete(desk, a, b, c)
    b.sync()
    b.topics = ("orders", "payments")
    parked = b.join()  # its connection broke, and took the answer to the sync with it
    assert desk.emitted(e.RebalanceStarted)[-1].session_deadlines_us == {}
    desk.wait(30_000)
    assert parked.pending
    assert b.member_id in group_of(desk).members


def test_preparing_parks_and_updates(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    a.join()
    b.topics = ("payments",)
    b.session_ms = 10_000
    b.join()
    assert group_of(desk).members[b.member_id].session_timeout_ms == 10_000
    assert [member.metadata.topics for member in a.joined.members] == [("orders",), ("payments",)]


def test_a_second_join_of_a_parked_member_takes_the_place_of_the_first(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    stable(desk, a, b)
    first, second = a.join(), a.join()
    b.join()
    assert first.pending  # it gets no answer: as in Kafka, the client gives the connection up
    assert getattr(second.response, "generation", None) == 2


def test_a_member_of_an_empty_group_is_unknown(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    a.leave()
    answer = a.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_dead_group_is_not_available(desk: Desk) -> None:
    a = Client(desk, "a")
    stable(desk, a)
    desk.shadow = None
    group_of(desk).transition(GroupEvent.UNLOADED, desk.now_us)
    for client in (a, Client(desk, "b")):
        answer = client.ask()
        assert answer is not None
        assert answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert a.beat() is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_an_instance_id_beside_a_pending_id_is_unknown(desk: Desk) -> None:
    client = Client(desk, "a")
    client.ask()
    client.instance_id = "i"
    answer = client.ask()
    assert answer is not None
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID


# --- group.max.size ------------------------------------------------------------------------------------------------


def test_a_full_group_turns_newcomers_away(desk: Desk) -> None:
    desk = Desk({"group.max.size": 2})
    a, b, c = Client(desk, "a"), Client(desk, "b"), Client(desk, "c", version=3)
    stable(desk, a, b)
    answer = c.ask()
    assert answer is not None
    assert (answer.error, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert group_of(desk).state.value == "Stable"
    assert b.ask() is not None  # a member is still welcome
    a.join()
    answer = c.ask()  # while joining, those at the barrier count
    assert answer is None
    answer = b.ask()
    assert answer is not None
    assert answer.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [event.reason for event in desk.emitted(e.MemberRemoved)] == ["group full"]
    assert group_of(desk).state.value == "CompletingRebalance"
    assert [member.client_id for member in group_of(desk).members.values()] == ["a", "c"]


# --- a failed append -----------------------------------------------------------------------------------------------


def test_a_group_that_could_not_be_written_answers_its_first_join_with_an_error() -> None:
    desk = Desk(commits=False)
    client = Client(desk, "a", version=3)
    client.ask()
    desk.settle(ErrorCode.REQUEST_TIMED_OUT)
    assert client.joined.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.wait(3_000)  # its barrier closes all the same, and answers nothing twice
    assert group_of(desk).generation == 1


def test_the_answer_to_a_newcomer_does_not_wait_for_the_group_to_be_written() -> None:
    desk = Desk(commits=False)
    answer = Client(desk, "a").ask()
    assert answer is not None
    assert answer.error is ErrorCode.MEMBER_ID_REQUIRED
    desk.settle()


def test_stabilizing_needs_everyone(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a, b)
    stabilize(desk, b)
    assert group_of(desk).state.value == "CompletingRebalance"
    stabilize(desk, a)
    assert group_of(desk).state.value == "Stable"
