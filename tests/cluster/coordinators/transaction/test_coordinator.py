"""The transaction coordinator: every request in every state, what ends follow, fences, failovers, both versions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.coordinators.decision import Markers
from cluster.coordinators.records import FENCING_EPOCH, LAST_EPOCH
from cluster.coordinators.transaction.coordinator import TransactionCoordinator
from cluster.events import TransactionFenced, TransactionStateChanged
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode
from cluster.protocol.state_machine import IllegalTransition
from cluster.protocol.transaction_states import (
    ABORTED_WITHOUT_PARTITIONS,
    TRANSACTION_STATES,
    TransactionState,
    check_transition,
)
from tests.support.transaction_coordinator_driver import EPOCH, ID, PRODUCER_ID, SECOND_US, Desk, S

NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
INVALID, FENCED = ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED
ABORTABLE = ErrorCode.TRANSACTION_ABORTABLE

# state: (init, add a partition, verify one that is not in it, commit v1, abort v1, commit v2, abort v2)
ANSWERS = {
    S.EMPTY: (NONE, NONE, ABORTABLE, INVALID, INVALID, INVALID, NONE),
    S.ONGOING: (CONCURRENT, NONE, ABORTABLE, NONE, NONE, NONE, NONE),
    S.PREPARE_COMMIT: (CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
    S.PREPARE_ABORT: (CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
    S.COMPLETE_COMMIT: (NONE, NONE, ABORTABLE, NONE, INVALID, INVALID, NONE),
    S.COMPLETE_ABORT: (NONE, NONE, ABORTABLE, INVALID, NONE, INVALID, NONE),
}


@pytest.mark.parametrize("state", ANSWERS)
def test_every_request_in_every_state(state: TransactionState) -> None:
    def answers(version: int) -> list[ErrorCode]:
        found = []
        asks: tuple[Callable[[Desk], ErrorCode], ...] = (
            lambda desk: desk.init().error,
            lambda desk: desk.add("orders-2"),
            lambda desk: desk.add("orders-2", verify_only=True),
            lambda desk: desk.end(commit=True).error,
            lambda desk: desk.end(commit=False).error,
        )
        for ask in asks:
            desk = Desk(version)
            desk.given(state)
            found.append(ask(desk))
        return found

    init, add, verify, commit_1, abort_1, commit_2, abort_2 = ANSWERS[state]
    assert answers(1) == [init, add, verify, commit_1, abort_1]
    assert answers(2) == [init, add, verify, commit_2, abort_2]


@pytest.mark.parametrize("to", TransactionState)
@pytest.mark.parametrize("state", TransactionState)
def test_every_transition_that_is_not_in_the_table_raises(state: TransactionState, to: TransactionState) -> None:
    if TRANSACTION_STATES.allows(state, to):
        check_transition(state, to, 1)
    else:
        with pytest.raises(IllegalTransition, match=f"transaction: no transition from {state.value} by '{to.value}'"):
            check_transition(state, to, 1)


@pytest.mark.parametrize("to", TransactionState)
@pytest.mark.parametrize("state", TransactionState)
def test_version_2_only_adds_aborts_without_partitions(state: TransactionState, to: TransactionState) -> None:
    if TRANSACTION_STATES.allows(state, to) or (to is S.PREPARE_ABORT and state in ABORTED_WITHOUT_PARTITIONS):
        check_transition(state, to, 2)
    else:
        with pytest.raises(IllegalTransition):
            check_transition(state, to, 2)


@pytest.mark.parametrize(("version", "epoch_after"), [(1, EPOCH), (2, EPOCH + 1)])
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_is_answered_before_its_markers_and_complete_after_the_last(
    version: int, epoch_after: int, commit: bool
) -> None:
    desk = Desk(version)
    desk.given(S.ONGOING)
    answer = desk.end(commit=commit)
    assert answer.error is NONE
    assert (answer.producer_id, answer.epoch) == ((PRODUCER_ID, epoch_after) if version == 2 else (-1, -1))
    assert desk.state() is (S.PREPARE_COMMIT if commit else S.PREPARE_ABORT)
    assert desk.markers == [Markers(ID, PRODUCER_ID, epoch_after, commit, ("orders-0", "orders-1"), version)]
    desk.run(desk.coordinator.marked(ID, PRODUCER_ID, epoch_after, "orders-0", desk.now_us))
    assert desk.state() is (S.PREPARE_COMMIT if commit else S.PREPARE_ABORT)
    desk.run(desk.coordinator.marked(ID, PRODUCER_ID, epoch_after, "orders-1", desk.now_us))
    assert desk.state() is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert desk.metadata.epoch == epoch_after


def test_a_marker_of_another_epoch_completes_nothing() -> None:
    desk = Desk()
    desk.given(S.ONGOING, partitions=("orders-0",))
    desk.end(commit=True)
    desk.run(desk.coordinator.marked(ID, PRODUCER_ID, EPOCH, "orders-0", desk.now_us))
    assert desk.state() is S.PREPARE_COMMIT


def test_a_move_under_way_holds_everybody_off_and_a_failed_one_is_forgotten() -> None:
    desk = Desk()
    desk.given(S.EMPTY)
    desk.held = []
    assert desk.ask(t.AddPartitionsToTxnRequest(ID, PRODUCER_ID, EPOCH, ("orders-0",))) is None
    assert desk.init().error is CONCURRENT
    assert desk.add("orders-1") is CONCURRENT
    assert desk.end(commit=False).error is CONCURRENT
    held, desk.held = desk.held, None
    assert held[0].then is not None
    desk.run(held[0].then(ErrorCode.NOT_ENOUGH_REPLICAS, desk.now_us))
    assert desk.state() is S.EMPTY
    assert desk.add("orders-1") is NONE


def test_a_transaction_beyond_its_timeout_is_fenced_and_aborted_at_a_scan() -> None:
    for version in (1, 2):
        desk = Desk(version)
        desk.given(S.ONGOING, timeout_ms=60_000)
        began_us = desk.now_us
        while desk.state() is S.ONGOING:
            desk.deadline()
        assert 60 * SECOND_US < desk.now_us - began_us <= 70 * SECOND_US
        assert desk.metadata.epoch == EPOCH + 1
        (fenced,) = [event for event in desk.emitted if isinstance(event, TransactionFenced)]
        assert (fenced.epoch, fenced.reason) == (EPOCH + 1, "timeout")
        assert desk.end(commit=True).error is (FENCED if version == 1 else CONCURRENT)
        desk.mark()
        assert desk.state() is S.COMPLETE_ABORT
        assert desk.end(commit=True).error is (FENCED if version == 1 else INVALID)


def test_nobody_else_begins_while_the_markers_travel() -> None:
    """What follows them is pending (`prepareComplete` in `sendTxnMarkersCallback`), also after a failover."""
    for version in (1, 2):
        desk = Desk(version)
        desk.given(S.ONGOING)
        desk.end(commit=True)
        for _ in range(2):
            now = desk.metadata
            assert desk.init(77, 0).error is CONCURRENT  # not PRODUCER_FENCED
            assert desk.end(commit=False, epoch=now.epoch).error is CONCURRENT  # not INVALID_TXN_STATE
            assert desk.add("orders-0", epoch=now.epoch) is CONCURRENT
            desk.run(desk.coordinator.marked(ID, PRODUCER_ID, now.epoch, "orders-0", desk.now_us))
            desk.fail_over()
        desk.mark()
        assert desk.state() is S.COMPLETE_COMMIT
        assert desk.init(77, 0).error is FENCED


def test_an_end_that_cannot_be_completed_is_pending_until_it_is() -> None:
    desk = Desk()
    desk.given(S.ONGOING, partitions=("orders-0",))
    desk.end(commit=True)
    desk.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.mark()
    assert (desk.state(), desk.init().error) == (S.PREPARE_COMMIT, CONCURRENT)
    desk.append_error = NONE
    desk.deadline()
    assert (desk.state(), desk.init().error) == (S.COMPLETE_COMMIT, NONE)


def test_a_fence_that_cannot_be_written_is_told_once() -> None:
    desk = Desk()
    desk.given(S.ONGOING)
    desk.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    for _ in range(3):
        desk.init()
    assert [event.epoch for event in desk.emitted if isinstance(event, TransactionFenced)] == [EPOCH + 1]


@pytest.mark.parametrize("version", [1, 2])
def test_a_fence_to_the_last_epoch_is_tried_again_until_it_is_written(version: int) -> None:
    """Version 1 keeps the epoch that it could not write. Version 2 forgets it, and moves on from the producer id."""
    desk = Desk(version)
    desk.given(S.ONGOING, epoch=LAST_EPOCH)
    desk.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    for _ in range(3):
        assert desk.init().error is not NONE
        assert (desk.state(), desk.metadata.epoch) == (S.ONGOING, FENCING_EPOCH if version == 1 else LAST_EPOCH)
    assert desk.add("orders-0", epoch=LAST_EPOCH) is (FENCED if version == 1 else NONE)
    desk.append_error = NONE
    while desk.state() is S.ONGOING:  # until its timeout
        desk.deadline()
    assert desk.metadata.epoch == FENCING_EPOCH
    desk.mark()
    assert (desk.state(), desk.metadata.epoch) == (S.COMPLETE_ABORT, FENCING_EPOCH if version == 1 else 0)
    assert [event.epoch for event in desk.emitted if isinstance(event, TransactionFenced)] == [FENCING_EPOCH]
    answer = desk.init()
    assert (answer.error, answer.epoch) == (NONE, 0 if version == 1 else 1)
    assert answer.producer_id != PRODUCER_ID


def test_the_epoch_before_the_last_one_is_no_repetition_that_can_be_answered() -> None:
    """`prepareIncrementProducerEpoch` throws when the epochs are used up."""
    desk = Desk()
    desk.given(S.EMPTY, epoch=LAST_EPOCH, last_epoch=LAST_EPOCH - 1)
    assert desk.init(PRODUCER_ID, LAST_EPOCH - 1).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert desk.init(PRODUCER_ID, LAST_EPOCH).error is NONE


def test_the_next_transaction_of_another_producer_id_waits_for_the_markers() -> None:
    """KAFKA-18660: the producer has the id that is still pending at its coordinator."""
    desk = Desk()
    desk.given(S.ONGOING, epoch=LAST_EPOCH)
    given = desk.end(commit=True, epoch=LAST_EPOCH)
    request = t.AddPartitionsToTxnRequest(ID, given.producer_id, 0, ("orders-0",), False)
    assert desk.ask(request).errors == {"orders-0": CONCURRENT}
    ending = t.EndTxnRequest(ID, given.producer_id, 0, True, 2)
    assert desk.ask(ending).error is CONCURRENT
    desk.mark()
    assert desk.ask(request).errors == {"orders-0": NONE}


def test_a_successor_fences_the_open_transaction_then_gets_an_epoch_of_its_own() -> None:
    desk = Desk(1)
    desk.given(S.ONGOING)
    assert desk.init().error is CONCURRENT
    assert desk.init().error is CONCURRENT  # until the markers are written
    desk.mark()
    answer = desk.init()
    assert (answer.error, answer.epoch) == (NONE, EPOCH + 2)
    assert desk.add("orders-0") is FENCED


def test_a_coordinator_that_takes_over_ends_what_was_being_ended_and_leaves_open_what_is_open() -> None:
    desk = Desk()
    desk.given(S.ONGOING)
    desk.fail_over()
    assert desk.state() is S.ONGOING
    assert not desk.markers
    desk.end(commit=True)
    desk.fail_over()
    assert desk.state() is S.PREPARE_COMMIT
    assert [sent.committed for sent in desk.markers] == [True]
    desk.mark()
    assert desk.state() is S.COMPLETE_COMMIT
    retried = desk.end(commit=True)
    assert (retried.error, retried.epoch) == (NONE, EPOCH + 1)


def test_an_end_with_the_last_epoch_goes_over_to_another_producer_id() -> None:
    desk = Desk()
    desk.given(S.ONGOING, epoch=LAST_EPOCH)
    answer = desk.end(commit=True, epoch=LAST_EPOCH)
    assert (answer.error, answer.epoch) == (NONE, 0)
    assert answer.producer_id != PRODUCER_ID
    desk.mark()
    assert (desk.metadata.producer_id, desk.metadata.epoch) == (answer.producer_id, 0)
    again = desk.end(commit=True, epoch=LAST_EPOCH)
    assert (again.error, again.producer_id, again.epoch) == (NONE, answer.producer_id, 0)


def test_complete_is_written_again_when_it_could_not_be() -> None:
    desk = Desk()
    desk.given(S.ONGOING, partitions=("orders-0",))
    desk.end(commit=True)
    desk.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    desk.mark()
    assert desk.state() is S.PREPARE_COMMIT
    desk.append_error = NONE
    desk.deadline()
    assert desk.state() is S.COMPLETE_COMMIT


def test_an_unused_transactional_id_expires() -> None:
    desk = Desk(**{"transactional.id.expiration.ms": 7_200_000})
    desk.given(S.COMPLETE_COMMIT)
    while ID in desk.coordinator.transactions:
        desk.deadline()
    assert 2 * 3_600 * SECOND_US <= desk.now_us <= 3 * 3_600 * SECOND_US + 2 * SECOND_US
    assert isinstance(desk.emitted[-1], TransactionStateChanged)
    assert desk.emitted[-1].state == "Dead"
    assert desk.add("orders-0") is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_while_it_loads_and_after_it_resigned_it_says_so() -> None:
    coordinator = TransactionCoordinator(1, {}, lambda: 1)
    request = m.InitProducerIdRequest(ID)
    loading = coordinator.handle(request, None, 0).replies[0][1]
    assert loading == m.InitProducerIdResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    coordinator.loaded(0)
    coordinator.unload(0)
    assert coordinator.handle(request, None, 0).replies[0][1] == m.InitProducerIdResponse(ErrorCode.NOT_COORDINATOR)
    assert coordinator.next_deadline_us() is None


def test_timeouts_out_of_bounds_are_refused() -> None:
    desk = Desk(**{"transaction.max.timeout.ms": 900_000})
    for timeout_ms in (0, 900_001):
        answer = desk.ask(m.InitProducerIdRequest(ID, timeout_ms))
        assert answer.error is ErrorCode.INVALID_TRANSACTION_TIMEOUT


ACTIONS = ("init", "add", "commit", "abort", "mark", "deadline", "fail over", "fail append", "clear append")


@settings(max_examples=300, deadline=None)
@given(version=st.sampled_from([1, 2]), actions=st.lists(st.sampled_from(ACTIONS), max_size=40))
def test_whatever_happens_epochs_never_fall_and_the_log_is_the_truth(version: int, actions: list[str]) -> None:
    """Random legal clients: an epoch that was given out never comes back, and a failover loses nothing committed."""
    desk = Desk(version)
    current = desk.init()
    held = current.producer_id, current.epoch
    seen = [held]
    for action in actions:
        producer_id, epoch = held
        answer = None
        if action == "init":
            answer = desk.init()
        elif action == "add":
            desk.ask(t.AddPartitionsToTxnRequest(ID, producer_id, epoch, ("orders-0",)))
        elif action in ("commit", "abort"):
            answer = desk.ask(t.EndTxnRequest(ID, producer_id, epoch, action == "commit", version))
        elif action == "mark":
            desk.mark()
        elif action == "deadline":
            desk.deadline()
        elif action == "fail over" and desk.append_error is NONE:
            before = desk.metadata
            desk.fail_over()
            assert desk.metadata == before or before.state is S.ONGOING  # a fence that was not written is forgotten
        elif action.endswith("append"):
            desk.append_error = ErrorCode.NOT_ENOUGH_REPLICAS if action == "fail append" else NONE
        if answer is not None and answer.error is NONE and answer.producer_id >= 0:
            given_out = answer.producer_id, answer.epoch
            assert given_out >= held
            held = given_out
            seen.append(held)
        assert desk.metadata.state in (*ANSWERS,)
    assert seen == sorted(seen)


def test_a_producer_id_that_was_used_up_is_nobodys_after_the_next_move() -> None:
    desk = Desk()
    desk.given(S.ONGOING, epoch=LAST_EPOCH)
    given = desk.end(commit=True, epoch=LAST_EPOCH)
    desk.mark()
    assert desk.init(PRODUCER_ID, LAST_EPOCH).error is NONE  # as after an answer that was lost
    desk.ask(t.AddPartitionsToTxnRequest(ID, given.producer_id, desk.metadata.epoch, ("orders-0",)))
    assert desk.state() is S.ONGOING
    assert desk.end(commit=True, epoch=LAST_EPOCH).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert desk.init(PRODUCER_ID, LAST_EPOCH).error is FENCED
