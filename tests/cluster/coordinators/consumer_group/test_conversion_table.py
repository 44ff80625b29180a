"""Every pair of a state and an event of online migration, by Kafka's `GroupMetadataManager` of 4.3.1.

An upgrade begins with a heartbeat that joins, a downgrade with the last member of the new protocol that goes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster import events as e
from cluster.coordinators.group.states import GroupState
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import DeleteGroupsRequest, LeaveGroupRequest, LeaveGroupResponse, LeavingMember
from tests.support.consumer_group_client import Member, desk_with, settle
from tests.support.coordinator_driver import Desk
from tests.support.group_client import GROUP, Client, assignment_of, complete, error_of, stable

POLICY = "group.consumer.migration.policy"
POLICIES = ("bidirectional", "upgrade", "downgrade", "disabled")
UPGRADES, DOWNGRADES = ("bidirectional", "upgrade"), ("bidirectional", "downgrade")
SHORT_MS = 20_000
"""The session of the member that expires: those of all others last 45 s."""

Peer = Client | Member
E = ErrorCode


def under(policy: str, **config: object) -> Desk:
    return desk_with({"orders": 4}, {POLICY: policy, **config})


def kind_of(desk: Desk) -> str:
    """What the coordinator holds: nothing, a classic group in a state, or a consumer group in a state."""
    if GROUP in desk.coordinator.groups:
        return desk.coordinator.groups[GROUP].state.value
    held = desk.coordinator.consumer_groups.get(GROUP)
    return "nothing" if held is None else f"consumer {held.state.value}"


# --- a classic group, and a heartbeat of the new protocol ------------------------------------------------------------


def nothing(desk: Desk) -> list[Client]:
    del desk
    return []


def empty(desk: Desk) -> list[Client]:
    one = Client(desk, "one")
    stable(desk, one)
    one.leave()
    return [one]


def dead(desk: Desk) -> list[Client]:
    """Deleted: Kafka holds no Dead group, and neither does this coordinator."""
    clients = empty(desk)
    desk.send(DeleteGroupsRequest((GROUP,)))
    return clients


def first_barrier(desk: Desk) -> list[Client]:
    one = Client(desk, "one")
    one.join()
    return [one]


def preparing(desk: Desk) -> list[Client]:
    one, two, late = Client(desk, "one", session_ms=SHORT_MS), Client(desk, "two"), Client(desk, "late")
    stable(desk, one, two)
    late.join()
    return [one, two, late]


def completing(desk: Desk) -> list[Client]:
    clients = [Client(desk, "one", session_ms=SHORT_MS), Client(desk, "two")]
    stable(desk, *clients)
    late = Client(desk, "late")
    complete(desk, late, *clients)
    return [*clients, late]


def all_stable(desk: Desk) -> list[Client]:
    clients = [Client(desk, "one", session_ms=SHORT_MS), Client(desk, "two")]
    stable(desk, *clients)
    return clients


State = Callable[[Desk], list[Client]]
STATES: dict[State, tuple[str, ErrorCode, str]] = {
    nothing: ("nothing", E.NONE, "begins"),
    dead: ("nothing", E.NONE, "begins"),
    empty: ("Empty", E.NONE, "replaces"),
    first_barrier: ("PreparingRebalance", E.UNKNOWN_SERVER_ERROR, "stays"),  # it has no generation yet
    preparing: ("PreparingRebalance", E.NONE, "upgrades"),
    completing: ("CompletingRebalance", E.NONE, "upgrades"),
    all_stable: ("Stable", E.NONE, "upgrades"),
}
"""How a classic group gets into a state: the state, and what a joining heartbeat does to it if the policy upgrades."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("state", STATES)
def test_a_member_of_the_new_protocol_joins_a_classic_group(state: State, policy: str) -> None:
    desk = under(policy)
    clients = state(desk)
    before, error, outcome = STATES[state]
    assert kind_of(desk) == before
    if outcome in ("upgrades", "stays") and policy not in UPGRADES:
        error, outcome = E.GROUP_ID_NOT_FOUND, "stays"
    answer = Member(desk, "new", "orders").join()
    assert answer.error is error
    assert (kind_of(desk) == before) is (outcome == "stays")
    assert len(desk.emitted(e.ClassicGroupUpgraded)) == (outcome == "upgrades")
    assert len(desk.emitted(e.GroupProtocolConverted)) == (outcome == "replaces")
    assert len(desk.emitted(e.GroupConversionRefused)) == (error is E.GROUP_ID_NOT_FOUND)
    parked = [one.call for one in clients if one.call is not None and one.call.pending]
    assert bool(parked) is (outcome == "stays" and before == "PreparingRebalance"), "an upgrade answers parked calls"


@pytest.mark.parametrize("epoch", [3, -1, -2])
@pytest.mark.parametrize("state", STATES)
def test_a_heartbeat_that_does_not_join_finds_no_consumer_group(state: State, epoch: int) -> None:
    desk = under("bidirectional")
    state(desk)
    new = Member(desk, "new", "orders", instance_id="pod-1" if epoch == -2 else None)
    assert new.take(new.send(epoch)).error is E.GROUP_ID_NOT_FOUND
    assert kind_of(desk) == STATES[state][0]


# --- what the members of an upgraded group do next -------------------------------------------------------------------


def joins(desk: Desk, one: Client) -> ErrorCode:
    del desk
    return error_of(one.join())


def newcomer_joins(desk: Desk, one: Client) -> ErrorCode:
    del one
    return error_of(Client(desk, "newcomer").join())


def syncs(desk: Desk, one: Client) -> ErrorCode:
    del desk
    return error_of(one.sync())


def beats(desk: Desk, one: Client) -> ErrorCode:
    del desk
    return one.beat()


def commits(desk: Desk, one: Client) -> ErrorCode:
    del desk
    return error_of(one.commit())


def leaves(desk: Desk, one: Client) -> ErrorCode:
    before = len(desk.emitted(e.MemberRemoved))
    error = one.leave()
    assert [event.member for event in desk.emitted(e.MemberRemoved)[before:]] == [one.name]
    return error


def session_expires(desk: Desk, one: Client) -> ErrorCode:
    desk.wait(SHORT_MS + 1_000)
    removed = {event.member: event.reason for event in desk.emitted(e.MemberRemoved)}
    assert removed[one.name] == "session expired"
    return one.beat()


Event = Callable[[Desk, Client], ErrorCode]
AFTER_UPGRADE: dict[Event, ErrorCode] = {
    joins: E.NONE,
    newcomer_joins: E.NONE,
    syncs: E.REBALANCE_IN_PROGRESS,  # the generation that it would end is over
    beats: E.REBALANCE_IN_PROGRESS,
    commits: E.NONE,
    leaves: E.NONE,
    session_expires: E.UNKNOWN_MEMBER_ID,
}


@pytest.mark.parametrize("event", AFTER_UPGRADE)
@pytest.mark.parametrize("state", [preparing, completing, all_stable])
def test_a_classic_member_goes_on_in_the_upgraded_group(state: State, event: Event) -> None:
    """Its last generation is its member epoch, in whichever state the classic group was."""
    desk = under("bidirectional")
    one = state(desk)[0]
    Member(desk, "new", "orders").join()
    assert event(desk, one) is AFTER_UPGRADE[event]
    assert kind_of(desk).startswith("consumer ")


# --- a consumer group, and requests of the classic protocol ----------------------------------------------------------


def abandoned(desk: Desk) -> None:
    only = Member(desk, "only", "orders")
    only.join()
    only.leave()


def assigning(desk: Desk) -> None:
    """A leave raises the group epoch; the target comes with the next heartbeat."""
    first, second = Member(desk, "first", "orders"), Member(desk, "second", "orders")
    first.join()
    second.join()
    settle(first, second)
    second.leave()


def reconciling(desk: Desk) -> None:
    first, second = Member(desk, "first", "orders"), Member(desk, "second", "orders")
    first.join()
    settle(first)
    second.join()


def settled(desk: Desk) -> None:
    first = Member(desk, "first", "orders")
    first.join()
    settle(first)


ConsumerState = Callable[[Desk], None]
CONSUMER_STATES: dict[ConsumerState, str] = {
    abandoned: "Empty",
    assigning: "Assigning",
    reconciling: "Reconciling",
    settled: "Stable",
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("state", CONSUMER_STATES)
def test_a_classic_member_joins_a_consumer_group(state: ConsumerState, policy: str) -> None:
    desk = under(policy)
    state(desk)
    assert kind_of(desk) == f"consumer {CONSUMER_STATES[state]}"
    late = Client(desk, "late")
    call = late.join()
    if state is abandoned:
        assert call.pending, "the classic group that has replaced it waits at its first barrier"
        assert kind_of(desk) == "PreparingRebalance"
        assert [event.protocol for event in desk.emitted(e.GroupProtocolConverted)] == ["classic"]
        return
    assert error_of(call) is (E.INCONSISTENT_GROUP_PROTOCOL if policy == "disabled" else E.NONE)
    assert kind_of(desk).startswith("consumer ")
    assert len(desk.emitted(e.GroupConversionRefused)) == (policy == "disabled")


@pytest.mark.parametrize("event", [syncs, beats, commits, leaves])
@pytest.mark.parametrize("state", CONSUMER_STATES)
def test_a_classic_member_that_a_consumer_group_does_not_know_is_told_so(state: ConsumerState, event: Event) -> None:
    desk = under("bidirectional")
    state(desk)
    before = kind_of(desk)
    stranger = Client(desk, "stranger")
    stranger.member_id, stranger.generation = "stranger-id", 1
    error = stranger.leave() if event is leaves else event(desk, stranger)
    assert error is E.UNKNOWN_MEMBER_ID
    assert kind_of(desk) == before


# --- the last member of the new protocol goes ------------------------------------------------------------------------


def new_one_leaves(desk: Desk, new: Member, others: list[Peer]) -> None:
    del desk, others
    assert new.leave().error is E.NONE


def new_one_is_removed(desk: Desk, new: Member, others: list[Peer]) -> None:
    """LeaveGroup with its member id, as an administrator's tool sends it."""
    del others
    answer = desk.send(LeaveGroupRequest(GROUP, (LeavingMember(new.member_id, None, ""),))).response
    assert isinstance(answer, LeaveGroupResponse)
    assert answer.members[0][2] is E.NONE


def new_one_expires(desk: Desk, new: Member, others: list[Peer]) -> None:
    del new
    for _ in range(4):
        desk.wait(12_000)
        for one in others:
            one.beat()


def new_one_is_fenced(desk: Desk, new: Member, others: list[Peer]) -> None:
    """It does not give up what it must within its rebalance timeout of 30 s."""
    del new, others
    desk.wait(31_000)


Going = Callable[[Desk, Member, list[Peer]], None]
GOES: dict[Going, str] = {
    new_one_leaves: "member left",
    new_one_is_removed: "",
    new_one_expires: "session expired",
    new_one_is_fenced: "poll interval exceeded",
}
WAYS = [
    (goes, stay)
    for goes in GOES
    for stay in ("classic", "none", "another new")
    if not (goes is new_one_is_fenced and stay == "none")  # alone it has nothing to give up
]
"""How the member goes, and the members that stay."""


def mixed(desk: Desk, stay: str, *, revokes: bool) -> tuple[Member, list[Peer]]:
    """A member of the new protocol with those that stay; `revokes`: it has been told to give up partitions."""
    new = Member(desk, "new", "orders")
    if stay == "classic":
        one, *late = [Client(desk, name) for name in ("one", "two", "three")]
        stable(desk, one)
        new.join()
        one.join()
        assert error_of(one.sync()) is E.NONE
        settle(new)
        for each in late:
            assert error_of(each.join()) is E.NONE
            assert assignment_of(each.sync()) == ()
        others: list[Peer] = [one, *late]
    else:
        new.join()
        settle(new)
        others = [Member(desk, "other", "orders")] if stay == "another new" else []
        for other in others:
            other.join()
    if revokes:
        new.beat()
    return new, others


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("goes", "stay"), WAYS)
def test_the_last_member_of_the_new_protocol_goes(goes: Going, stay: str, policy: str) -> None:
    desk = under("bidirectional")
    new, others = mixed(desk, stay, revokes=goes is new_one_is_fenced)
    desk.config[POLICY] = policy  # brokers are restarted one by one: the next coordinator has another policy
    desk.fail_over()
    goes(desk, new, others)
    removed = {event.member: event.reason for event in desk.emitted(e.MemberRemoved)}
    assert removed["new"] == GOES[goes] or not GOES[goes]
    refused = [event.reason for event in desk.emitted(e.GroupConversionRefused)]
    if stay == "classic" and policy in DOWNGRADES:
        assert kind_of(desk) == GroupState.PREPARING_REBALANCE.value
        assert (len(desk.emitted(e.ConsumerGroupDowngraded)), refused) == (1, [])
        assert desk.emitted(e.RebalanceStarted)[-1].detail == (
            f"Downgrade group {GROUP} from consumer to classic for member leaving."
        )
        return
    assert kind_of(desk).startswith("consumer ")
    assert (stay == "none") is (kind_of(desk) == "consumer Empty")
    assert refused == (["the online downgrade is disabled"] if stay == "classic" else [])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_static_member_that_is_away_is_still_the_last_of_the_new_protocol(policy: str) -> None:
    """Epoch -2 converts nothing, and the end of the session does what the policy says."""
    desk = under("bidirectional")
    new = Member(desk, "new", "orders", instance_id="pod-1")
    new.join()
    settle(new)
    one = Client(desk, "one")
    assert error_of(one.join()) is E.NONE
    one.sync()
    desk.config[POLICY] = policy
    desk.fail_over()
    new.leave(-2)
    assert kind_of(desk).startswith("consumer ")
    assert not desk.emitted(e.GroupConversionRefused)
    new_one_expires(desk, new, [one])
    assert kind_of(desk).startswith("consumer ") is (policy not in DOWNGRADES)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_classic_member_takes_the_place_of_the_last_static_one(policy: str) -> None:
    """The policy `disabled` keeps it out before it could convert the group."""
    desk = under("bidirectional")
    new = Member(desk, "new", "orders", instance_id="pod-1")
    new.join()
    settle(new)
    new.leave(-2)
    desk.config[POLICY] = policy
    desk.fail_over()
    back = Client(desk, "new", instance_id="pod-1")
    error = error_of(back.join())
    assert error is (E.INCONSISTENT_GROUP_PROTOCOL if policy == "disabled" else E.NONE)
    assert (kind_of(desk) == GroupState.STABLE.value) is (policy in DOWNGRADES)
    reasons = {"disabled": ["the group migration is disabled"], "upgrade": ["the online downgrade is disabled"]}
    assert [event.reason for event in desk.emitted(e.GroupConversionRefused)] == reasons.get(policy, [])
