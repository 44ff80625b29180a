"""Online migration (KIP-848): a classic group becomes a consumer group with its members, and a classic group again.

Rules and words: Kafka's `GroupMetadataManager` (validateOnlineUpgrade, convertToConsumerGroup, classicGroup…To…,
validateOnlineDowngrade…, convertToClassicGroup) and `GroupMetadataManagerTest`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from cluster import events as e
from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup
from cluster.coordinators.decision import Decision
from cluster.coordinators.group.group import JOIN_BARRIER
from cluster.coordinators.group.states import GroupState
from cluster.coordinators.records import (
    ConsumerGroupEpoch,
    ConsumerGroupMemberMetadata,
    ConsumerGroupTombstone,
    CurrentMemberAssignment,
    GroupMetadataValue,
    GroupTombstone,
    TargetAssignmentMember,
    TargetAssignmentMetadata,
)
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupResponse
from tests.support.consumer_group_client import Member, desk_with
from tests.support.coordinator_driver import Desk
from tests.support.group_client import GROUP, Client, assignment_of, error_of

POLICY = "group.consumer.migration.policy"
NAMES = ("orders-0", "orders-1", "orders-2", "orders-3")


def classic_group(desk: Desk, *names: str, **about: object) -> list[Client]:
    """A Stable classic group of these members, each with an equal share of the four partitions."""
    clients = [Client(desk, name, **about) for name in names]  # type: ignore[arg-type]
    for one in clients:
        one.join()
    desk.wait(3_000 * len(names))
    for one in clients:
        assert one.joined.error is ErrorCode.NONE
    share = len(NAMES) // len(clients)
    given = {one.member_id: NAMES[i * share : (i + 1) * share] for i, one in enumerate(clients)}
    calls = [one.sync(given if one is clients[0] else None) for one in clients]
    for one, call in zip(clients, calls, strict=True):
        one.owned = assignment_of(call)
    return clients


def start(policy: str = "bidirectional", *names: str, **about: object) -> tuple[Desk, list[Client]]:
    desk = desk_with({"orders": 4}, {POLICY: policy})
    return desk, classic_group(desk, *(names or ("one", "two")), **about)


def follow(client: Client) -> tuple[str, ...]:
    """What a cooperative classic consumer does until its heartbeat finds nothing to do."""
    for _ in range(6):
        if client.beat() is ErrorCode.NONE:
            return client.owned
        client.join()
        assert client.joined.error is ErrorCode.NONE
        client.owned = assignment_of(client.sync())
    raise AssertionError(f"{client.name} never settles")


def owned_by(clients: Sequence[Client], *members: Member) -> list[str]:
    return sorted([name for one in clients for name in one.owned] + [name for one in members for name in one.owned])


def converge(clients: list[Client], members: list[Member]) -> None:
    for _ in range(8):
        before = [one.owned for one in clients], [one.owned for one in members]
        for one in clients:
            follow(one)
        for new in members:
            new.obey()
        if before == ([one.owned for one in clients], [one.owned for one in members]):
            return
    raise AssertionError("the group does not converge")


def group(desk: Desk) -> ConsumerGroup:
    return desk.coordinator.consumer_groups[GROUP]


# --- upgrade ---------------------------------------------------------------------------------------------------------


def test_the_first_member_of_the_new_protocol_upgrades_the_group() -> None:
    desk, (one, two) = start()
    new = Member(desk, "new", "orders")
    answer = new.join()
    assert answer.error is ErrorCode.NONE
    assert GROUP not in desk.coordinator.groups
    kept = group(desk).members
    assert {name: tuple(member.assigned) for name, member in kept.items() if member.classic is not None} == {
        one.member_id: one.owned,
        two.member_id: two.owned,
    }
    assert answer.assignment == (), "what it is to have belongs to the classic members yet"
    (upgraded,) = desk.emitted(e.ClassicGroupUpgraded)
    assert (upgraded.epoch, set(upgraded.members.values())) == (1, {"one", "two"})


def test_an_upgrade_writes_a_tombstone_and_then_the_group_in_kafkas_order() -> None:
    desk, clients = start()
    before = len(desk.log)
    Member(desk, "new", "orders").join()
    kinds = [type(record) for record in desk.log[before:]]
    two = len(clients)
    assert kinds[: 3 * two + 3] == [
        GroupTombstone,
        *[ConsumerGroupMemberMetadata] * two,
        ConsumerGroupEpoch,
        *[TargetAssignmentMember] * two,
        TargetAssignmentMetadata,
        *[CurrentMemberAssignment] * two,
    ]
    epochs = [record.epoch for record in desk.log[before:] if isinstance(record, ConsumerGroupEpoch)]
    assert epochs == [1, 2], "the generation, and one more for the new member"


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_the_policy_may_forbid_an_upgrade(policy: str) -> None:
    desk, (one, _) = start(policy)
    answer = Member(desk, "new", "orders").join()
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.message == (
        f"Cannot upgrade classic group {GROUP} to consumer group because online upgrade is disabled."
    )
    assert desk.emitted(e.GroupConversionRefused)[0].reason == "online upgrade is disabled"
    assert one.beat() is ErrorCode.NONE, "the classic group goes on"


def test_a_group_of_another_protocol_type_is_not_upgraded() -> None:
    desk, _ = start()
    desk.coordinator.groups[GROUP].protocol_type = "connect"
    answer = Member(desk, "new", "orders").join()
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert "because the group does not use the consumer embedded protocol." in answer.message


def test_a_group_above_the_new_limit_is_not_upgraded() -> None:
    desk = desk_with({"orders": 4}, {"group.consumer.max.size": 1})
    classic_group(desk, "one", "two")
    answer = Member(desk, "new", "orders").join()
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert "because the group size exceeds the consumer group maximum size." in answer.message


def test_a_group_that_is_full_already_stays_classic() -> None:
    desk = desk_with({"orders": 4}, {"group.consumer.max.size": 2})
    classic_group(desk, "one", "two")
    assert Member(desk, "new", "orders").join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert GROUP in desk.coordinator.groups


def test_a_group_without_a_generation_yet_makes_kafka_throw() -> None:
    desk = desk_with({"orders": 4})
    Client(desk, "one").join()
    assert Member(desk, "new", "orders").join().error is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_heartbeat_that_does_not_join_upgrades_nothing() -> None:
    desk, _ = start()
    assert Member(desk, "new", "orders").send(3, None).response.error is ErrorCode.GROUP_ID_NOT_FOUND  # type: ignore[union-attr]


def test_an_upgrade_at_the_join_barrier_sends_the_members_back() -> None:
    desk, (one, two) = start()
    late = Client(desk, "late")
    late.join()
    assert desk.coordinator.groups[GROUP].state is GroupState.PREPARING_REBALANCE
    Member(desk, "new", "orders").join()
    assert late.call is not None
    assert error_of(late.call) is ErrorCode.REBALANCE_IN_PROGRESS
    assert set(group(desk).members) >= {one.member_id, two.member_id, late.member_id}
    assert not group(desk).members[late.member_id].assigned
    deadlines = desk.coordinator._context.deadlines
    assert deadlines.get((JOIN_BARRIER, GROUP, "")) is None, "the barrier is gone with the classic group"


def test_an_upgrade_before_the_assignment_sends_the_members_back() -> None:
    desk, (one, two) = start()
    late = Client(desk, "late")
    late.join()
    one.join()
    two.join()
    call = two.sync()
    assert late.joined.error is ErrorCode.NONE
    assert desk.coordinator.groups[GROUP].state is GroupState.COMPLETING_REBALANCE
    Member(desk, "new", "orders").join()
    assert error_of(call) is ErrorCode.REBALANCE_IN_PROGRESS
    assert tuple(group(desk).members[one.member_id].assigned) == NAMES[:2], "the last stored assignment"


def test_an_assignment_that_was_broken_off_is_void() -> None:
    desk, (one, two) = start()
    late = Client(desk, "late")
    late.join()
    one.join()
    two.join()
    assert late.joined.error is ErrorCode.NONE
    later = Client(desk, "later")
    later.join()
    assert desk.coordinator.groups[GROUP].state is GroupState.PREPARING_REBALANCE
    Member(desk, "new", "orders").join()
    assert not any(member.assigned for member in group(desk).members.values() if member.classic is not None)


def test_an_upgrade_that_the_log_refuses_leaves_the_classic_group() -> None:
    desk, (one, two) = start()
    late = Client(desk, "late")
    late.join()
    new = Member(desk, "new", "orders")
    decision = desk.coordinator.handle(new.request(0, (), full=True), late.call, desk.now_us)
    assert [type(response) for _, response in decision.replies] == [JoinGroupResponse]
    decision.then = None if decision.then is None else _silent(decision.then)
    desk.run(decision, append_error=ErrorCode.NOT_ENOUGH_REPLICAS)
    assert GROUP in desk.coordinator.groups
    assert GROUP not in desk.coordinator.consumer_groups
    one.join()
    two.join()
    assert one.joined.error is ErrorCode.NONE


def _silent(then: Callable[[ErrorCode, int], Decision]) -> Callable[[ErrorCode, int], Decision]:
    def after(error: ErrorCode, now_us: int) -> Decision:
        decision = then(error, now_us)
        decision.replies = []
        return decision

    return after


def test_sessions_of_classic_members_keep_their_length() -> None:
    desk, (one, _) = start(session_ms=20_000)
    new = Member(desk, "new", "orders")
    new.join()
    for _ in range(3):
        desk.wait(6_000)
        one.beat()
        new.beat()
    gone = [event.member for event in desk.emitted(e.MemberRemoved)]
    assert gone == []
    desk.wait(3_000)
    assert [event.member for event in desk.emitted(e.MemberRemoved)] == ["two"]


# --- classic members of a consumer group -----------------------------------------------------------------------------


def test_a_mixed_group_converges_to_the_target() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    converge(clients, [new])
    assert owned_by(clients, new) == list(NAMES)
    assert new.owned, "the new member has its share"
    assert group(desk).state.value == "Stable"


def test_a_classic_member_rejoins_only_when_it_can_move() -> None:
    desk, (one, two) = start()
    new = Member(desk, "new", "orders")
    new.join()
    assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    one.join()
    assert one.joined.generation in (1, 2)
    given = assignment_of(one.sync())
    if set(given) < set(one.owned):
        assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS, "it has partitions to give up"
        one.owned = given
        one.join()
        assert one.joined.generation == 2
        one.sync()
    assert one.beat() is ErrorCode.NONE
    del two


def test_a_joined_member_must_sync_in_time() -> None:
    desk, (one, two) = start(rebalance_ms=10_000)
    new = Member(desk, "new", "orders")
    new.join()
    one.beat()
    one.join()
    assert one.joined.error is ErrorCode.NONE
    for _ in range(3):
        desk.wait(3_000)
        two.join()
        two.joined  # noqa: B018 - takes the generation
        two.sync()
        new.beat()
    assert not desk.emitted(e.MemberRemoved)
    desk.wait(1_500)
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("one", "sync timed out")


def test_a_member_that_is_told_to_rejoin_must_join_in_time() -> None:
    desk, (one, two) = start(rebalance_ms=10_000)
    new = Member(desk, "new", "orders")
    new.join()
    for _ in range(3):
        assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
        desk.wait(3_000)
        two.join()
        two.joined  # noqa: B018 - takes the generation
        two.sync()
        new.beat()
    desk.wait(1_500)
    (removed,) = desk.emitted(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("one", "poll interval exceeded")
    waits = [event.until_us for event in desk.emitted(e.ClassicMemberAwaited) if event.member == "one"]
    assert len(waits) == 1, "each further heartbeat leaves the limit as it is"


def test_requests_of_a_member_of_the_new_protocol_or_another_epoch_are_refused() -> None:
    desk, (one, _) = start()
    new = Member(desk, "new", "orders")
    new.join()
    stranger = Client(desk, "new")
    stranger.member_id, stranger.generation = new.member_id, new.epoch
    assert stranger.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert error_of(stranger.sync()) is ErrorCode.UNKNOWN_MEMBER_ID
    one.generation = 9
    assert one.beat() is ErrorCode.ILLEGAL_GENERATION
    assert error_of(one.sync()) is ErrorCode.ILLEGAL_GENERATION
    assert error_of(one.commit()) is ErrorCode.ILLEGAL_GENERATION


def test_a_late_sync_must_join_again() -> None:
    desk, (one, _) = start()
    new = Member(desk, "new", "orders")
    new.join()
    assert error_of(one.sync()) is ErrorCode.REBALANCE_IN_PROGRESS
    assert [event.request for event in desk.emitted(e.ClassicMemberAwaited)] == ["JoinGroup"]


def test_a_new_classic_member_gets_an_id_first_and_then_its_share() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    converge(clients, [new])
    late = Client(desk, "late")
    answer = late.ask()
    assert answer is not None
    assert answer.error is ErrorCode.MEMBER_ID_REQUIRED
    assert re.fullmatch(r"[\w-]{22}", answer.member_id)  # `Uuid.toString()`, without the client id
    assert late.member_id not in group(desk).members
    late.join()
    assert late.joined.error is ErrorCode.NONE
    late.owned = assignment_of(late.sync())
    converge([*clients, late], [new])
    assert owned_by([*clients, late], new) == list(NAMES)


def test_a_classic_member_needs_a_protocol_that_all_support() -> None:
    desk, _ = start()
    Member(desk, "new", "orders").join()
    other = Client(desk, "other", protocols=("sticky",))
    assert error_of(other.join()) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_disabled_policy_keeps_classic_members_out() -> None:
    desk = desk_with({"orders": 4}, {POLICY: "disabled"})
    Member(desk, "new", "orders").join()
    late = Client(desk, "late")
    assert error_of(late.join()) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert desk.emitted(e.GroupConversionRefused)[0].reason == "the group migration is disabled"


def test_a_classic_member_leaves_a_mixed_group() -> None:
    desk, (one, two) = start()
    new = Member(desk, "new", "orders")
    new.join()
    assert one.leave() is ErrorCode.NONE
    assert one.leave() is ErrorCode.UNKNOWN_MEMBER_ID
    assert set(group(desk).members) == {two.member_id, new.member_id}
    converge([two], [new])
    assert sorted((*two.owned, *new.owned)) == list(NAMES)


def test_a_static_classic_member_comes_back_with_the_new_protocol() -> None:
    desk = desk_with({"orders": 4})
    (one,) = classic_group(desk, "one", instance_id="pod-1")
    new = Member(desk, "one", "orders", instance_id="pod-1")
    answer = new.join()
    assert answer.error is ErrorCode.NONE
    assert answer.assignment == NAMES, "it takes the place of its classic self at once"
    assert set(group(desk).members) == {new.member_id}
    assert one.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert not group(desk).classic_members()


# --- downgrade -------------------------------------------------------------------------------------------------------


def test_the_last_member_of_the_new_protocol_downgrades_the_group_as_it_leaves() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    converge(clients, [new])
    before = len(desk.log)
    new.leave()
    assert GROUP not in desk.coordinator.consumer_groups
    classic = desk.coordinator.groups[GROUP]
    assert classic.state is GroupState.PREPARING_REBALANCE
    assert classic.generation == 2
    assert all(one.beat() is ErrorCode.REBALANCE_IN_PROGRESS for one in clients)
    kinds = [type(record) for record in desk.log[before:]]
    assert kinds == [ConsumerGroupTombstone] * 11 + [GroupMetadataValue]
    started = desk.emitted(e.RebalanceStarted)[-1]
    assert started.detail == f"Downgrade group {GROUP} from consumer to classic for member leaving."
    for one in clients:
        one.join()
    assert all(one.joined.generation == 3 for one in clients)


def test_an_expired_session_downgrades_too() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    converge(clients, [new])
    for _ in range(5):
        desk.wait(10_000)
        for one in clients:
            one.beat()
    assert GROUP in desk.coordinator.groups
    assert desk.emitted(e.RebalanceStarted)[-1].cause == "session expired"


def test_without_a_downgrade_no_heartbeat_gives_the_partitions_away() -> None:
    desk, clients = start("upgrade")
    new = Member(desk, "new", "orders")
    new.join()
    converge(clients, [new])
    new.leave()
    assert GROUP in desk.coordinator.consumer_groups
    assert desk.emitted(e.GroupConversionRefused)[-1].reason == "the online downgrade is disabled"
    converge(clients, [])
    assert len([name for one in clients for name in one.owned]) < len(NAMES), "Kafka computes targets for joins only"
    clients[0].join()
    assert clients[0].joined.error is ErrorCode.NONE
    clients[0].sync()
    converge(clients, [])
    assert sorted(name for one in clients for name in one.owned) == list(NAMES)


def test_a_group_above_the_classic_limit_is_not_downgraded() -> None:
    desk = desk_with({"orders": 4}, {"group.max.size": 2})
    clients = classic_group(desk, "one", "two")
    new = Member(desk, "new", "orders")
    new.join()
    late = Client(desk, "late")
    late.join()
    assert late.joined.error is ErrorCode.NONE
    new.leave()
    assert GROUP in desk.coordinator.consumer_groups
    assert desk.emitted(e.GroupConversionRefused)[-1].reason == "its group size is greater than classic group max size"
    del clients


def test_an_empty_group_is_not_downgraded() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    for one in clients:
        one.leave()
    new.leave()
    assert group(desk).state.value == "Empty"


def test_a_static_member_that_comes_back_classic_downgrades_without_a_rebalance() -> None:
    desk = desk_with({"orders": 4})
    (one,) = classic_group(desk, "one", instance_id="pod-1")
    new = Member(desk, "one", "orders", instance_id="pod-1")
    new.join()
    new.leave(-2)
    back = Client(desk, "one", instance_id="pod-1")
    back.join()
    assert back.joined.error is ErrorCode.NONE
    classic = desk.coordinator.groups[GROUP]
    assert classic.state is GroupState.STABLE
    assert assignment_of(back.sync()) == NAMES
    assert back.beat() is ErrorCode.NONE
    del one


def test_a_replaced_static_member_with_other_topics_rebalances_the_downgraded_group() -> None:
    desk = desk_with({"orders": 4, "payments": 1})
    classic_group(desk, "one", instance_id="pod-1")
    new = Member(desk, "one", "orders", instance_id="pod-1")
    new.join()
    back = Client(desk, "one", instance_id="pod-1", topics=("orders", "payments"))
    back.join()
    assert desk.coordinator.groups[GROUP].state is GroupState.PREPARING_REBALANCE
    assert desk.emitted(e.RebalanceStarted)[-1].detail == (
        f"Downgrade group {GROUP} from consumer to classic with stale assignment."
    )


# --- failover --------------------------------------------------------------------------------------------------------


def test_a_new_coordinator_serves_the_mixed_group() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    desk.fail_over()
    assert {member.client_id for member in group(desk).classic_members()} == {"one", "two"}
    converge(clients, [new])
    assert owned_by(clients, new) == list(NAMES)


def test_a_new_coordinator_has_the_downgraded_group() -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    new.join()
    converge(clients, [new])
    clients[0].commit(7)
    targets = dict(group(desk).targets)
    new.leave()
    desk.fail_over()
    classic = desk.coordinator.groups[GROUP]
    assert (classic.state, classic.generation) == (GroupState.STABLE, 2)
    assert {name: member.assignment for name, member in classic.members.items()} == {
        one.member_id: targets[one.member_id] for one in clients
    }
    assert classic.offsets["orders-0"].offset == 7
    assert all(one.beat() is ErrorCode.NONE for one in clients), "Kafka loses the rebalance with the coordinator"


@pytest.mark.parametrize("what", ["upgrade", "downgrade"])
def test_a_conversion_that_was_not_committed_is_as_if_it_had_not_been(what: str) -> None:
    desk, clients = start()
    new = Member(desk, "new", "orders")
    if what == "downgrade":
        new.join()
        converge(clients, [new])
    desk.commits = False
    call = new.send(0, (), full=True) if what == "upgrade" else new.send(-1)
    assert call.pending
    desk.fail_over(loses=True)
    assert (GROUP in desk.coordinator.groups) == (what == "upgrade")
    assert all(one.beat() is ErrorCode.NONE for one in clients)


def test_commits_under_way_survive_both_conversions() -> None:
    desk, clients = start()
    desk.commits = False
    call = clients[0].commit(5)
    new = Member(desk, "new", "orders")
    joining = new.send(0, (), full=True)
    desk.settle()
    assert error_of(call) is ErrorCode.NONE
    desk.settle()
    new.take(joining)
    call = clients[0].commit(6)
    leaving = new.send(-1)
    while desk.waiting:
        desk.settle()
    assert not leaving.pending
    assert error_of(call) is ErrorCode.NONE
    assert desk.coordinator.groups[GROUP].offsets["orders-0"].offset == 6
