"""Every cause of a rebalance: when a coordinator gives it, which member it names, and the reason in Kafka's log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster import events as e
from cluster.protocol import reasons
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import LeaveGroupRequest, LeavingMember
from cluster.protocol.rebalance_causes import RebalanceCause as Cause
from tests.support.coordinator_driver import MS, Desk
from tests.support.group_client import GROUP, Client, complete, group_of, stable


@pytest.fixture
def desk() -> Desk:
    return Desk()


def three(desk: Desk, **options: object) -> tuple[Client, Client, Client]:
    """A Stable group of a (leads), b and c."""
    a, b, c = (Client(desk, name, **options) for name in ("a", "b", "c"))  # type: ignore[arg-type]
    stable(desk, a, b, c)
    return a, b, c


def last(desk: Desk) -> e.RebalanceStarted:
    return desk.emitted(e.RebalanceStarted)[-1]


def newcomer(desk: Desk) -> Client:
    three(desk)
    new = Client(desk, "d")
    new.ask()
    new.ask(reasons.given_member_id(new.member_id))
    return new


def static_newcomer(desk: Desk) -> Client:
    three(desk)
    new = Client(desk, "d", instance_id="four")
    assert new.ask() is None
    new.member_id = next(reversed(group_of(desk).members))
    return new


def leaves(desk: Desk) -> Client:
    _, b, _ = three(desk)
    b.leave(reasons.CLOSED)
    return b


def polls_too_slowly(desk: Desk) -> Client:
    _, b, _ = three(desk)
    b.leave(reasons.POLL_TIMEOUT)
    return b


def falls_silent(desk: Desk) -> Client:
    a, b, c = three(desk)
    for _ in range(46):
        desk.wait(1_000)
        a.beat()
        c.beat()
    return b


def sends_no_sync(desk: Desk) -> Client:
    a, b, c = (Client(desk, name, rebalance_ms=20_000) for name in ("a", "b", "c"))
    complete(desk, a, b, c)
    a.sync({})
    c.sync()
    desk.wait(20_000)
    return b


def says(reason: str, *, leads: bool = False) -> Callable[[Desk], Client]:
    """A member comes back with this reason; a follower with other metadata, as it would have."""

    def act(desk: Desk) -> Client:
        a, b, _ = three(desk)
        who = a if leads else b
        if not leads:
            who.owned = ("orders-7",)
        assert who.ask(reason) is None
        return who

    return act


def subscribes_to_more(desk: Desk) -> Client:
    _, b, _ = three(desk)
    b.topics = ("orders", "payments")
    assert b.ask() is None
    return b


def gives_partitions_up(desk: Desk) -> Client:
    a, b, c = (Client(desk, name) for name in ("a", "b", "c"))
    b.owned = ("orders-0", "orders-1")
    stable(desk, a, b, c)
    b.owned = ("orders-1",)
    assert b.ask() is None
    return b


def static_back_with_another_vote(desk: Desk) -> Client:
    a, b, c = (Client(desk, name, instance_id=f"i-{name}", protocols=("range", "sticky")) for name in ("a", "b", "c"))
    stable(desk, a, b, c)
    new = Client(desk, "b", instance_id="i-b", protocols=("sticky",))
    assert new.ask() is None
    new.member_id = group_of(desk).static_members["i-b"]
    return new


def static_back_during_sync(desk: Desk) -> Client:
    a, b = (Client(desk, name, instance_id=f"i-{name}") for name in ("a", "b"))
    complete(desk, a, b)
    new = Client(desk, "b", instance_id="i-b")
    assert new.ask() is None
    new.member_id = group_of(desk).static_members["i-b"]
    return new


def coordinator_dies_at_the_barrier(desk: Desk) -> Client:
    a, b, c = three(desk)
    c.leave(reasons.CLOSED)
    a.ask(reasons.ALREADY_REBALANCING)
    desk.fail_over()
    assert a.ask(f"{reasons.REBALANCE_FAILED}NotCoordinatorException") is None
    assert b.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    return a


def coordinator_dies_before_the_first_generation(desk: Desk) -> Client:
    a = Client(desk, "a")
    a.join()
    desk.fail_over()
    refused = a.ask(f"{reasons.REBALANCE_FAILED}DisconnectException")
    assert refused is not None
    assert refused.error is ErrorCode.UNKNOWN_MEMBER_ID
    a.member_id = ""
    a.ask(f"{reasons.REBALANCE_FAILED}UnknownMemberIdException")
    assert a.ask(reasons.given_member_id(a.member_id)) is None
    return a


LEADER = "Leader {id} re-joining group during Stable; client reason: "
UPDATE = "Updating metadata for member {id} during Stable; client reason: "
ADD = "Adding new member {id} with group instance id "
AFTER_ID = "; client reason: need to re-join with the given member-id: {id}"
STATIC = "static member {id} with instance id i-b"
NOTHING_SAID = "client reason: not provided"
FAILED = "rebalance failed due to "
CASES = [
    (newcomer, Cause.MEMBER_JOINED, ADD + "null" + AFTER_ID),
    (static_newcomer, Cause.MEMBER_JOINED, ADD + "four; client reason: not provided"),
    (leaves, Cause.MEMBER_LEFT, "explicit `LeaveGroup` request for ({id}) members."),
    (polls_too_slowly, Cause.POLL_INTERVAL_EXCEEDED, "explicit `LeaveGroup` request for ({id}) members."),
    (falls_silent, Cause.SESSION_EXPIRED, "removing member {id} on heartbeat expiration."),
    (sends_no_sync, Cause.SYNC_TIMED_OUT, "Removing [{id}] on pending sync request expiration"),
    (
        says(reasons.METADATA_CHANGED, leads=True),
        Cause.METADATA_CHANGED,
        LEADER + "cached metadata has changed",
    ),
    (says("", leads=True), Cause.LEADER_REJOINED, LEADER + "not provided"),
    (
        says("rebalance enforced by user", leads=True),
        Cause.LEADER_REJOINED,
        LEADER + "rebalance enforced by user",
    ),
    (
        says(reasons.REVOKED, leads=True),
        Cause.PARTITIONS_REVOKED,
        LEADER + "need to revoke partitions and re-join",
    ),
    (
        says(reasons.SUBSCRIPTION_CHANGED, leads=True),
        Cause.SUBSCRIPTION_CHANGED,
        LEADER + "subscription has changed",
    ),
    (says(reasons.SUBSCRIPTION_CHANGED), Cause.SUBSCRIPTION_CHANGED, UPDATE + "subscription has changed"),
    (
        says(reasons.ASSIGNMENT_DOES_NOT_MATCH),
        Cause.SUBSCRIPTION_CHANGED,
        UPDATE + reasons.ASSIGNMENT_DOES_NOT_MATCH,
    ),
    (subscribes_to_more, Cause.SUBSCRIPTION_CHANGED, UPDATE + "not provided"),
    (says(reasons.REVOKED), Cause.PARTITIONS_REVOKED, UPDATE + "need to revoke partitions and re-join"),
    (gives_partitions_up, Cause.PARTITIONS_REVOKED, UPDATE + "not provided"),
    (says(FAILED + "DisconnectException"), Cause.MEMBER_JOINED, UPDATE + FAILED + "DisconnectException"),
    (
        static_back_with_another_vote,
        Cause.STATIC_MEMBER_REPLACED,
        f"Group's selectedProtocol will change because {STATIC} joined with change of protocol; {NOTHING_SAID}",
    ),
    (
        static_back_during_sync,
        Cause.STATIC_MEMBER_REPLACED,
        f"Updating metadata for {STATIC}; {NOTHING_SAID}",
    ),
    (coordinator_dies_at_the_barrier, Cause.COORDINATOR_MOVED, LEADER + FAILED + "NotCoordinatorException"),
    (coordinator_dies_before_the_first_generation, Cause.COORDINATOR_MOVED, ADD + "null" + AFTER_ID),
]


@pytest.mark.parametrize(("act", "cause", "detail"), CASES, ids=[f"{case[1]}: {case[2][:40]}" for case in CASES])
def test_what_happens_is_what_is_said(desk: Desk, act: Callable[[Desk], Client], cause: str, detail: str) -> None:
    who = act(desk)
    emitted = last(desk)
    assert (emitted.cause, emitted.trigger, emitted.member_id) == (cause, who.name, who.member_id)
    assert emitted.detail == detail.replace("{id}", who.member_id)


def test_a_group_that_is_loaded_over_its_size_names_nobody(desk: Desk) -> None:
    three(desk)
    desk.config["group.max.size"] = 2
    desk.fail_over()
    emitted = last(desk)
    assert (emitted.cause, emitted.trigger, emitted.member_id) == (Cause.COORDINATOR_MOVED, "", "")
    assert emitted.detail.startswith(
        f"Freshly-loaded group {GROUP} (size 3) is over capacity 2. Rebalancing in order to"
    )


def test_every_cause_of_the_scenario_format_can_be_reached() -> None:
    assert {case[1] for case in CASES} == set(Cause)


def test_a_move_that_interrupted_nobody_is_no_cause(desk: Desk) -> None:
    """Failing over a Stable group is invisible; what happens afterwards has its own reasons."""
    a, b, _ = three(desk)
    before = len(desk.emitted(e.RebalanceStarted))
    desk.fail_over()
    desk.wait(1_000)
    assert b.beat() is ErrorCode.NONE
    assert len(desk.emitted(e.RebalanceStarted)) == before
    assert a.ask(reasons.METADATA_CHANGED) is None
    assert last(desk).cause == Cause.METADATA_CHANGED


def test_a_move_is_the_cause_of_one_generation_only(desk: Desk) -> None:
    a = coordinator_dies_at_the_barrier(desk)
    desk.wait(45_000)  # b and c, which was loaded again, do not come before their sessions end
    assert a.joined.generation == 2
    a.sync({a.member_id: ("orders-0",)})
    a.ask(f"{reasons.REBALANCE_FAILED}NotCoordinatorException")
    assert last(desk).cause == Cause.LEADER_REJOINED


def test_after_a_move_a_list_of_protocols_is_news_to_the_coordinator_and_not_the_members_doing(desk: Desk) -> None:
    _, b, _ = three(desk, protocols=("range", "sticky"))
    desk.fail_over()
    assert b.ask() is None
    assert last(desk).cause == Cause.COORDINATOR_MOVED


def test_leaving_together_is_one_rebalance_and_the_first_is_named(desk: Desk) -> None:
    a, b, c = three(desk)
    leaving = (LeavingMember(c.member_id, None, reasons.POLL_TIMEOUT), LeavingMember(b.member_id, None, ""))
    desk.send(LeaveGroupRequest(GROUP, leaving))
    emitted = last(desk)
    assert (emitted.cause, emitted.trigger) == (Cause.POLL_INTERVAL_EXCEEDED, "c")
    assert emitted.detail == f"explicit `LeaveGroup` request for ({c.member_id}, {b.member_id}) members."
    assert [event.client_reason for event in desk.emitted(e.MemberRemoved)] == [reasons.POLL_TIMEOUT, ""]
    assert a.beat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_an_assignment_that_cannot_be_stored(desk: Desk) -> None:
    a, b = Client(desk, "a"), Client(desk, "b")
    complete(desk, a, b)
    desk.commits = False
    a.sync({})
    desk.settle(ErrorCode.NOT_ENOUGH_REPLICAS)
    emitted = last(desk)
    assert (emitted.cause, emitted.trigger) == (Cause.SYNC_TIMED_OUT, "a")
    assert emitted.detail == (
        f"Error COORDINATOR_NOT_AVAILABLE when storing group assignmentduring SyncGroup (member: {a.member_id})."
    )
    assert emitted.closes_at_us == desk.now_us + 300_000 * MS
