"""The membership of the new protocol against a scripted coordinator: what is sent when, and what answers do."""

from collections.abc import Callable
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.clients.async_consumer.heartbeat_request_manager import HeartbeatRequestManager
from cluster.clients.async_consumer.membership_manager import MembershipManager, PendingReconciliation
from cluster.config import ConsumerConfig, Value, resolve
from cluster.protocol.client_states import CONSUMER_MEMBER_STATES, ConsumerMemberState
from cluster.protocol.consumer_group_messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from cluster.protocol.errors import ErrorCode
from cluster.protocol.state_machine import IllegalTransition
from cluster.virtual_time.waiting import NEVER_US

S = ConsumerMemberState
SECOND_US = 1_000_000
INTERVAL_US, POLL_INTERVAL_US = 5 * SECOND_US, 30 * SECOND_US

PREVIOUS_VALID_STATES = {
    S.STABLE: {S.JOINING, S.ACKNOWLEDGING, S.RECONCILING},
    S.RECONCILING: {S.STABLE, S.JOINING, S.ACKNOWLEDGING, S.RECONCILING},
    S.ACKNOWLEDGING: {S.RECONCILING},
    S.FATAL: {S.JOINING, S.STABLE, S.RECONCILING, S.ACKNOWLEDGING, S.PREPARE_LEAVING, S.LEAVING, S.UNSUBSCRIBED},
    S.FENCED: {S.JOINING, S.STABLE, S.RECONCILING, S.ACKNOWLEDGING, S.PREPARE_LEAVING, S.LEAVING},
    S.JOINING: {S.FENCED, S.UNSUBSCRIBED, S.STALE},
    S.PREPARE_LEAVING: {S.JOINING, S.STABLE, S.RECONCILING, S.ACKNOWLEDGING, S.UNSUBSCRIBED},
    S.LEAVING: {S.PREPARE_LEAVING},
    S.UNSUBSCRIBED: {S.PREPARE_LEAVING, S.LEAVING, S.FENCED},
    S.STALE: {S.LEAVING},
}
"""Kafka's `MemberState`, state by state."""


class Member:
    """A consumer without a cluster: its application polls when a test says so."""

    name, group, topic_regex = "g-1", "g", ""
    max_poll_interval_us, retry_backoff_us, retry_backoff_max_us = POLL_INTERVAL_US, 100_000, SECOND_US

    def __init__(self, instance_id: str | None = None, listens: bool = False, assignor: str | None = None) -> None:
        keys: dict[str, Value] = {"group.protocol": "consumer", "max.poll.interval.ms": POLL_INTERVAL_US // 1_000}
        keys |= {"group.remote.assignor": assignor, "client.rack": "a"}
        self.config = ConsumerConfig.of(resolve("consumer", keys))
        self.timeline = SimpleNamespace(now_us=0)
        self.topics: tuple[str, ...] = ("t",)
        self.owned: tuple[str, ...] = ()
        self.instance_id, self.member_id, self.generation, self.coordinator = instance_id, "m", -1, 1
        self.in_poll, self.last_poll_us = True, 0
        self.state: StrEnum = S.UNSUBSCRIBED
        self.states: list[str] = []
        self.epochs: list[int] = []
        self.lost: list[tuple[str, ...]] = []
        self.listens = listens
        self.manager = MembershipManager(cast(Any, self), self.epoch_changed, self.release_as_lost, self.act_soon)
        self.heartbeats = HeartbeatRequestManager(cast(Any, self), self.manager)

    # --- what its parts ask of it -------------------------------------------------------------------------------------

    def set_state(self, to: StrEnum, reason: str = "") -> None:
        del reason
        self.state = CONSUMER_MEMBER_STATES.next_state(cast(ConsumerMemberState, self.state), cast(Any, to))
        self.states.append(to.value)

    def epoch_changed(self) -> None:
        self.epochs.append(self.generation)

    def release_as_lost(self) -> None:
        if not self.listens:
            self.lose()

    def act_soon(self) -> None:
        """Look again: a test does."""

    def coordinator_unknown(self, cause: str) -> None:
        del cause
        self.coordinator = -1

    # --- what happens to it -------------------------------------------------------------------------------------------

    def lose(self) -> None:
        """OnPartitionsLost has run."""
        if self.owned:
            self.lost.append(self.owned)
        self.owned = ()
        self.manager.released()

    def after(self, duration_us: int) -> ConsumerGroupHeartbeatRequest | None:
        self.timeline.now_us += duration_us
        return self.heartbeats.poll()

    def sent(self, duration_us: int = 0) -> ConsumerGroupHeartbeatRequest:
        request = self.after(duration_us)
        assert request is not None
        return request

    def answer(
        self,
        request: ConsumerGroupHeartbeatRequest,
        epoch: int = 1,
        assignment: tuple[str, ...] | None = None,
        error: ErrorCode = ErrorCode.NONE,
    ) -> str | None:
        """The coordinator's answer comes."""
        answer = ConsumerGroupHeartbeatResponse(error, "m", epoch, INTERVAL_US // 1_000, assignment)
        return self.heartbeats.answered(request, answer)

    def begin(self) -> PendingReconciliation:
        assert self.manager.may_reconcile
        return self.manager.begin_reconciliation()

    def reconcile(self) -> PendingReconciliation:
        taken = self.begin()
        self.owned = taken.target.partitions
        self.manager.complete_reconciliation()
        return taken

    def stable(self, *partitions: str) -> "Member":
        """Let it join, own these partitions, and be Stable."""
        self.manager.join_at_poll()
        self.answer(self.sent(1_000), 1, partitions)
        self.reconcile()
        self.answer(self.sent(1_000), 1)
        assert self.state is S.STABLE
        return self


def test_the_table_is_kafkas() -> None:
    for state, before in PREVIOUS_VALID_STATES.items():
        found = set(CONSUMER_MEMBER_STATES.predecessors(state)) - {S.LEFT, S.DEAD}
        assert found == before, state


def test_a_member_joins_with_everything_acknowledges_at_once_and_then_says_nothing_new() -> None:
    member = Member(assignor="range")
    assert member.heartbeats.next_us == NEVER_US
    member.manager.join_at_poll()
    join = member.sent()
    assert (join.member_epoch, join.topics, join.owned, join.rebalance_timeout_ms) == (0, ("t",), (), 30_000)
    assert (join.assignor, join.rack_id, join.topic_regex) == ("range", "a", None)
    assert member.after(SECOND_US) is None  # one is in flight
    member.answer(join, 3, ("t-1", "t-0"))
    assert (member.state, member.generation) == (S.RECONCILING, 3)
    assert member.after(1_000) is None  # it takes the partitions first
    assert member.reconcile().added == ("t-0", "t-1")
    acknowledges = member.sent()
    assert (acknowledges.owned, acknowledges.topics, acknowledges.rebalance_timeout_ms) == (("t-0", "t-1"), None, -1)
    assert member.state is S.STABLE
    member.answer(acknowledges, 3)
    assert member.after(INTERVAL_US - 1) is None
    beat = member.sent(1)
    assert (beat.owned, beat.topics, beat.assignor, beat.rack_id, beat.member_epoch) == (None, None, None, None, 3)
    assert member.states == ["JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"]


def test_an_empty_assignment_is_reconciled_too() -> None:
    member = Member().stable()
    assert member.states == ["JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"]


def test_what_is_not_in_the_target_is_revoked_and_one_reconciliation_runs_at_a_time() -> None:
    member = Member().stable("t-0", "t-1")
    member.answer(member.sent(INTERVAL_US), 2, ("t-1",))
    first = member.begin()
    assert (first.revoked, first.added) == (("t-0",), ())
    member.answer(member.sent(INTERVAL_US), 3, ("t-1", "t-2"))  # it beats while it reconciles
    assert not member.manager.may_reconcile
    member.owned = first.target.partitions
    member.manager.complete_reconciliation()
    assert member.sent(1_000).owned == ("t-1",)
    assert member.state is S.RECONCILING  # the newer target waits
    assert member.reconcile().added == ("t-2",)


def test_a_changed_subscription_is_said_with_the_next_heartbeat() -> None:
    member = Member().stable("t-0")
    member.topics = ("t", "u")
    assert member.after(SECOND_US) is None
    assert member.sent(INTERVAL_US).topics == ("t", "u")


@pytest.mark.parametrize("error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None])
def test_after_an_error_a_heartbeat_waits_for_the_backoff_and_says_everything(error: ErrorCode | None) -> None:
    member = Member().stable("t-0")
    beat = member.sent(INTERVAL_US)
    if error is None:
        member.heartbeats.answered(beat, None)
    else:
        member.answer(beat, error=error)
    assert member.after(99_999) is None
    again = member.sent(1)
    assert (again.topics, again.owned, again.rebalance_timeout_ms) == (("t",), ("t-0",), 30_000)
    member.heartbeats.answered(again, None)
    assert member.after(199_999) is None
    assert member.sent(1).member_epoch == 1


def test_a_joining_member_knows_no_backoff() -> None:
    """`shouldHeartbeatNow` passes over it in Kafka."""
    member = Member()
    member.manager.join_at_poll()
    member.answer(member.sent(), error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert member.sent(1_000).member_epoch == 0


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_another_coordinator_gets_the_heartbeat_at_once(error: ErrorCode) -> None:
    member = Member().stable("t-0")
    member.answer(member.sent(INTERVAL_US), error=error)
    assert (member.coordinator, member.heartbeats.next_us) == (-1, NEVER_US)
    assert member.after(SECOND_US) is None
    member.coordinator = 2
    assert member.sent().owned == ("t-0",)


@pytest.mark.parametrize("error", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID])
@pytest.mark.parametrize("listens", [False, True])
def test_a_fenced_member_loses_everything_and_joins_again(error: ErrorCode, listens: bool) -> None:
    member = Member(listens=listens).stable("t-0")
    member.answer(member.sent(INTERVAL_US), 2, ("t-1",))
    member.begin()
    member.answer(member.sent(INTERVAL_US), error=error)
    if listens:
        assert (member.state, member.after(INTERVAL_US)) == (S.FENCED, None)  # onPartitionsLost waits for poll()
        member.lose()
    assert (member.state, member.generation, member.lost) == (S.JOINING, 0, [("t-0",)])
    join = member.sent(1_000)
    assert (join.member_id, join.member_epoch, join.owned, join.topics) == ("m", 0, (), ("t",))
    member.answer(join, 5, ("t-2",))
    assert member.manager.aborted()  # the old reconciliation belongs to the member that was fenced
    assert member.reconcile().added == ("t-2",)


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("one", -2)])
def test_a_member_whose_application_does_not_poll_leaves_and_comes_back(instance_id: str | None, epoch: int) -> None:
    member = Member(instance_id).stable("t-0")
    member.in_poll, member.last_poll_us = False, member.timeline.now_us
    while member.timeline.now_us < POLL_INTERVAL_US - INTERVAL_US:
        member.answer(member.sent(INTERVAL_US), 1)
    leaves = member.sent(INTERVAL_US + 2_000)
    assert (leaves.member_epoch, leaves.instance_id) == (epoch, instance_id)
    assert (member.state, member.lost) == (S.STALE, [("t-0",)])
    assert member.states[-3:] == ["PREPARE_LEAVING", "LEAVING", "STALE"]
    assert member.answer(leaves, epoch) is None
    assert member.after(SECOND_US) is None
    member.in_poll = True
    assert member.manager.joins_at_poll
    member.manager.join_at_poll()
    assert member.sent().member_epoch == 0


@pytest.mark.parametrize(
    "error",
    [ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNSUPPORTED_ASSIGNOR,
     ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.INVALID_REQUEST, ErrorCode.GROUP_ID_NOT_FOUND],
)  # fmt: skip
def test_a_fatal_error_ends_the_membership(error: ErrorCode) -> None:
    member = Member("one").stable("t-0")
    assert member.answer(member.sent(INTERVAL_US), error=error) == error.name
    assert (member.state, member.lost, member.after(INTERVAL_US)) == (S.FATAL, [("t-0",)], None)


@pytest.mark.parametrize("coordinator", [1, -1])
def test_a_member_leaves_though_a_heartbeat_is_in_flight_and_without_one_if_there_is_no_coordinator(
    coordinator: int,
) -> None:
    member = Member().stable("t-0")
    beat = member.sent(INTERVAL_US)
    member.owned, member.coordinator = (), coordinator
    member.manager.leave()
    leaves = member.after(0)
    assert (leaves.member_epoch if leaves else None) == (-1 if coordinator == 1 else None)
    assert member.state is S.UNSUBSCRIBED
    member.answer(beat, 4, ("t-1",))
    assert (member.state, member.manager.target.partitions) == (S.UNSUBSCRIBED, ("t-0",))
    assert member.after(INTERVAL_US) is None


def test_a_fence_that_comes_while_a_member_leaves_changes_nothing() -> None:
    member = Member().stable("t-0")
    member.manager.leave()
    member.manager.fenced("UNKNOWN_MEMBER_ID")
    assert (member.state, member.after(0)) == (S.UNSUBSCRIBED, None)


# --- every event in every state ---------------------------------------------------------------------------------------


def member_in(state: S) -> Member:
    """A member with a rebalance listener that has come into this state."""
    member = Member(listens=True)
    manager = member.manager
    if state is S.JOINING:
        manager.join_at_poll()
    elif state is not S.UNSUBSCRIBED:
        member.stable("t-0")
    if state in (S.RECONCILING, S.ACKNOWLEDGING):
        manager.heartbeat_succeeded(answer_of(2, ("t-1",)))
    if state is S.ACKNOWLEDGING:
        member.reconcile()
    elif state is S.FENCED:
        manager.fenced("FENCED_MEMBER_EPOCH")
    elif state is S.FATAL:
        manager.failed("INVALID_REQUEST")
    elif state is S.PREPARE_LEAVING:
        member.set_state(S.PREPARE_LEAVING)
    elif state is S.LEAVING:
        manager.leave()
    elif state is S.STALE:
        manager.poll_timer_expired()
        manager.heartbeat_generated()
    assert member.state is state
    return member


def answer_of(epoch: int, assignment: tuple[str, ...] | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(ErrorCode.NONE, "m", epoch, INTERVAL_US // 1_000, assignment)


HAPPENS: dict[str, Callable[[Member], object]] = {
    "an answer": lambda member: member.manager.heartbeat_succeeded(answer_of(7)),
    "a target": lambda member: member.manager.heartbeat_succeeded(answer_of(7, ("t-2",))),
    "fenced": lambda member: member.manager.fenced("UNKNOWN_MEMBER_ID"),
    "a fatal error": lambda member: member.manager.failed("FENCED_INSTANCE_ID"),
    "close()": lambda member: member.manager.leave(),
    "a heartbeat": lambda member: member.manager.heartbeat_generated(),
    "no coordinator": lambda member: member.manager.heartbeat_skipped(),
    "onPartitionsLost returns": lambda member: member.lose(),
}
_STAYS = dict.fromkeys(HAPPENS)
_IN_GROUP = _STAYS | {"fenced": S.FENCED, "a fatal error": S.FATAL, "close()": S.LEAVING, "a target": S.RECONCILING}
NEXT: dict[S, dict[str, S | None]] = {
    S.UNSUBSCRIBED: _STAYS | {"a fatal error": S.FATAL},
    S.JOINING: _IN_GROUP,
    S.RECONCILING: _IN_GROUP,
    S.ACKNOWLEDGING: _IN_GROUP | {"a heartbeat": S.STABLE},
    S.STABLE: _IN_GROUP,
    S.FENCED: _STAYS | {"close()": S.UNSUBSCRIBED, "onPartitionsLost returns": S.JOINING},
    S.PREPARE_LEAVING: _STAYS | {"fenced": S.UNSUBSCRIBED, "a fatal error": S.FATAL},
    S.LEAVING: _STAYS | {
        "fenced": S.UNSUBSCRIBED, "a fatal error": S.FATAL, "a heartbeat": S.UNSUBSCRIBED,
        "no coordinator": S.UNSUBSCRIBED,
    },
    S.STALE: _STAYS,
    S.FATAL: _STAYS,
}  # fmt: skip
"""State → what happens → the next state; None: it stays."""

IMPOSSIBLE = ((S.FENCED, "a fatal error"), (S.STALE, "a fatal error"))
"""Kafka's table has no such move, and a member that sends no heartbeat gets no error."""


@pytest.mark.parametrize("state", [state for state in S if state not in (S.LEFT, S.DEAD)])
@pytest.mark.parametrize("what", HAPPENS)
def test_every_event_in_every_state(state: S, what: str) -> None:
    member = member_in(state)
    epoch = member.generation
    if (state, what) in IMPOSSIBLE:
        with pytest.raises(IllegalTransition):
            HAPPENS[what](member)
        return
    HAPPENS[what](member)
    assert member.state is (NEXT[state][what] or state)
    if what in ("an answer", "a target"):
        takes = member_in(state).manager.in_group and state is not S.LEAVING
        assert member.generation == (7 if takes else epoch)
