"""Records of a transaction coordinator that are committed after their write had timed out: what they still decide."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cluster.coordinators.decision import Decision
from cluster.coordinators.records import TransactionMetadata
from cluster.coordinators.transaction.context import RETRY_COMPLETION_US
from cluster.events import TransactionStateChanged
from cluster.protocol.errors import ErrorCode
from cluster.protocol.transaction_messages import AddPartitionsToTxnRequest
from tests.support.transaction_coordinator_driver import EPOCH, ID, PRODUCER_ID, SECOND_US, Desk, S

NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS


def _timed_out(desk: Desk, act: Callable[[Desk], object]) -> Decision:
    """Do something whose records stand in the log, and whose fate the coordinator does not know for thirty seconds."""
    desk.held = []
    act(desk)
    (decision,), desk.held = desk.held, None
    assert decision.then is not None
    desk.now_us += 60_000_000
    desk.run(decision.then(ErrorCode.COORDINATOR_NOT_AVAILABLE, desk.now_us))
    return decision


@pytest.mark.parametrize("version", [1, 2])
def test_an_end_that_timed_out_and_is_committed_after_all_is_made_then(version: int) -> None:
    desk = Desk(version)
    desk.given(S.ONGOING)
    decision = _timed_out(desk, lambda desk: desk.end(commit=True))
    assert (desk.state(), desk.markers) == (S.ONGOING, [])
    assert decision.late is not None
    late = decision.late()
    assert [event.state for event in late.events] == ["PrepareCommit"]  # type: ignore[attr-defined]
    desk.run(late)
    assert desk.metadata == desk.log[-1]  # memory follows the log
    assert [(sent.committed, sent.partitions) for sent in desk.markers] == [(True, ("orders-0", "orders-1"))]
    desk.mark()
    assert desk.state() is S.COMPLETE_COMMIT


def test_of_two_ends_that_timed_out_the_later_in_the_log_is_made() -> None:
    """The producer's commit timed out, and so did the abort that its own timeout led to."""
    desk = Desk()
    desk.given(S.ONGOING)
    commit = _timed_out(desk, lambda desk: desk.end(commit=True))
    abort = _timed_out(desk, lambda desk: desk.end(commit=False))
    assert commit.late is not None
    assert abort.late is not None
    desk.run(commit.late())
    assert (desk.state(), desk.markers) == (S.ONGOING, [])
    desk.run(abort.late())
    assert [sent.committed for sent in desk.markers] == [False]
    desk.mark()
    assert desk.state() is S.COMPLETE_ABORT


def test_a_late_end_is_not_told_when_the_opposite_end_is_in_the_log_behind_it() -> None:
    """Seed 1656: both ends have one epoch, and the second was committed when another broker coordinated already."""
    desk = Desk()
    desk.given(S.ONGOING)
    commit = _timed_out(desk, lambda desk: desk.end(commit=True))
    desk.held = []
    desk.now_us += 60 * SECOND_US
    desk.run(desk.coordinator.scan_timeouts(desk.now_us))
    (abort,), desk.held = desk.held, None
    assert commit.late is not None
    assert abort.then is not None
    ends = [(written.state, written.epoch) for written in desk.log[-2:] if isinstance(written, TransactionMetadata)]
    assert ends == [(S.PREPARE_COMMIT, EPOCH + 1), (S.PREPARE_ABORT, EPOCH + 1)]
    late = commit.late()
    assert (late.events, late.markers) == ([], [])
    desk.run(late)
    assert desk.state() is S.ONGOING
    assert desk.end(commit=True).error is CONCURRENT  # the abort is under way
    desk.run(abort.then(NONE, desk.now_us))
    assert [sent.committed for sent in desk.markers] == [False]
    desk.mark()
    assert desk.state() is S.COMPLETE_ABORT


def test_an_end_that_timed_out_is_made_although_a_later_one_was_refused() -> None:
    desk = Desk()
    desk.given(S.ONGOING)
    commit = _timed_out(desk, lambda desk: desk.end(commit=True))
    desk.held = []
    desk.end(commit=False)
    (refused,), desk.held = desk.held, None
    assert refused.then is not None
    assert commit.late is not None
    desk.run(refused.then(ErrorCode.COORDINATOR_NOT_AVAILABLE, desk.now_us))  # at once: it is in no log
    desk.run(commit.late())
    assert [sent.committed for sent in desk.markers] == [True]


def test_a_late_record_leaves_the_markers_to_the_one_that_follows_it_in_the_log() -> None:
    """The producer tried again: its second EndTxn is in the log behind the first, which is committed first."""
    desk = Desk()
    desk.given(S.ONGOING)
    first = _timed_out(desk, lambda desk: desk.end(commit=True))
    desk.held = []
    desk.end(commit=True)
    (second,), desk.held = desk.held, None
    assert first.late is not None
    assert second.then is not None
    desk.run(first.late())
    assert (desk.state(), desk.markers) == (S.ONGOING, [])
    desk.run(second.then(NONE, desk.now_us))
    assert len(desk.markers) == 1
    desk.mark()
    assert desk.state() is S.COMPLETE_COMMIT


def test_a_completion_that_is_committed_late_is_not_written_again() -> None:
    desk = Desk()
    desk.given(S.PREPARE_COMMIT)
    decision = _timed_out(desk, Desk.mark)
    written = len(desk.log)
    assert decision.late is not None
    desk.run(decision.late())
    assert desk.state() is S.COMPLETE_COMMIT
    desk.now_us += RETRY_COMPLETION_US
    desk.run(desk.coordinator.on_deadline(desk.now_us))
    assert len(desk.log) == written


@pytest.mark.parametrize("version", [1, 2])
def test_the_next_end_waits_for_its_own_markers_after_a_late_completion(version: int) -> None:
    """Seed 16525: the repetition that was due for the first end completed the second, whose marker was on its way."""
    desk = Desk(version)
    desk.given(S.PREPARE_ABORT)
    decision = _timed_out(desk, Desk.mark)
    assert decision.late is not None
    desk.run(decision.late())
    assert desk.state() is S.COMPLETE_ABORT
    assert desk.add("orders-0", epoch=desk.metadata.epoch) is NONE
    desk.end(commit=False, epoch=desk.metadata.epoch)
    assert desk.state() is S.PREPARE_ABORT
    desk.now_us += RETRY_COMPLETION_US
    desk.run(desk.coordinator.on_deadline(desk.now_us))  # when the first completion would have been tried again
    assert desk.state() is S.PREPARE_ABORT
    desk.mark()
    assert desk.state() is S.COMPLETE_ABORT


def test_a_completion_that_times_out_behind_a_late_one_is_not_written_again() -> None:
    desk = Desk()
    desk.given(S.PREPARE_ABORT)
    first = _timed_out(desk, Desk.mark)
    assert first.late is not None
    desk.held = []
    desk.now_us += RETRY_COMPLETION_US
    desk.run(desk.coordinator.on_deadline(desk.now_us))
    (second,), desk.held = desk.held, None
    assert second.then is not None
    desk.run(first.late())
    desk.now_us += 60 * SECOND_US
    desk.run(second.then(ErrorCode.COORDINATOR_NOT_AVAILABLE, desk.now_us))
    assert desk.add("orders-0", epoch=desk.metadata.epoch) is NONE
    desk.end(commit=False, epoch=desk.metadata.epoch)
    desk.now_us += RETRY_COMPLETION_US
    desk.run(desk.coordinator.on_deadline(desk.now_us))
    assert desk.state() is S.PREPARE_ABORT


def test_an_expiration_that_is_committed_late_takes_the_id_away() -> None:
    desk = Desk(**{"transactional.id.expiration.ms": 1_000})
    desk.given(S.EMPTY)
    desk.now_us += 2 * SECOND_US
    decision = _timed_out(desk, lambda desk: desk.run(desk.coordinator.scan_expired(desk.now_us)))
    assert ID in desk.coordinator.transactions
    assert decision.late is not None
    desk.run(decision.late())
    assert ID not in desk.coordinator.transactions
    assert isinstance(desk.emitted[-1], TransactionStateChanged)
    assert desk.emitted[-1].state == "Dead"


def test_a_late_start_leaves_the_epoch_that_a_failed_fence_has_raised() -> None:
    """Seed 143: the record of AddPartitionsToTxn was committed behind the fence, and took the raised epoch back."""
    desk = Desk(1)
    desk.given(S.ONGOING)
    adds = AddPartitionsToTxnRequest(ID, PRODUCER_ID, EPOCH, ("payments-0",))
    added = _timed_out(desk, lambda desk: desk.ask(adds))
    desk.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.now_us += SECOND_US
    desk.run(desk.coordinator.scan_timeouts(desk.now_us))
    assert desk.metadata.epoch == EPOCH + 1
    assert added.late is not None
    desk.append_error = NONE
    desk.run(added.late())
    assert (desk.metadata.epoch, desk.metadata.partitions[-1]) == (EPOCH + 1, "payments-0")
    assert isinstance(desk.emitted[-1], TransactionStateChanged)
    assert desk.emitted[-1].epoch == EPOCH + 1
    desk.run(desk.coordinator.scan_timeouts(desk.now_us))
    assert (desk.state(), desk.metadata.epoch) == (S.PREPARE_ABORT, EPOCH + 1)
