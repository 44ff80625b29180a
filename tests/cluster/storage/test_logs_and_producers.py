"""A partition's log and its memory of producers: reading, cutting, the window of five, gaps and epochs."""

import pytest

from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import RecordBatch
from cluster.storage.partition_log import PartitionLog
from cluster.storage.producer_state import ProducerStates

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def batch(sequence: int, count: int = 1, *, epoch: int = 0, offset: int = 0, leader_epoch: int = 0) -> RecordBatch:
    return RecordBatch("t-0", "p-1", 7, epoch, sequence, sequence, count, 100 * count, 0, (), offset, leader_epoch, 0)


def filled(*counts: int) -> PartitionLog:
    log = PartitionLog("t-0")
    for place, count in enumerate(counts):
        log.append_as_leader(batch(log.log_end, count, offset=log.log_end, leader_epoch=place // 2))
    return log


def bases(found: list[RecordBatch]) -> list[int]:
    return [one.base_offset for one in found]


def test_a_log_is_read_in_whole_batches_from_the_one_that_holds_the_offset() -> None:
    log = filled(3, 2, 5)
    assert bases(log.read(0, log.log_end, 10_000)) == [0, 3, 5]
    assert bases(log.read(4, log.log_end, 10_000)) == [3, 5]
    assert bases(log.read(4, 5, 10_000)) == [3]
    assert log.read(10, log.log_end, 10_000) == []


def test_the_first_batch_is_read_even_when_it_is_larger_than_asked() -> None:
    log = filled(3, 2, 5)
    assert bases(log.read(0, log.log_end, 1)) == [0]
    assert bases(log.read(0, log.log_end, 500)) == [0, 3]


def test_a_log_is_cut_at_a_batch_and_forgets_the_epochs_and_producers_behind_it() -> None:
    log = filled(3, 2, 5)
    assert log.epochs.latest_epoch == 1
    assert log.truncate_to(4) == 7
    assert (log.log_end, log.bytes, log.epochs.latest_epoch) == (3, 300, 0)
    log.recall_producers()
    assert log.producers.check(batch(3)) == (ErrorCode.NONE, -1)
    assert log.producers.check(batch(5)) == (OUT_OF_ORDER, -1)
    assert log.truncate_to(3) == 0


def test_an_epoch_in_which_nothing_was_written_goes_with_a_cut_that_drops_nothing() -> None:
    log = filled(3, 2)
    written = log.epochs.latest_epoch
    log.epochs.assign(7, log.log_end)
    assert log.truncate_to(5) == 0
    assert log.epochs.latest_epoch == written


def test_a_log_that_is_cut_below_its_start_begins_there() -> None:
    """Its leader lost more than this follower deleted (`UnifiedLog.truncateTo`)."""
    log = filled(3, 2, 5)
    log.advance_start(4)
    assert log.truncate_to(2) == 8
    assert (log.log_start, log.log_end, list(log.batches), log.bytes, log.flushed) == (2, 2, [], 0, 2)
    emptied = filled(3)
    emptied.drop_before(3)
    assert emptied.truncate_to(1) == 2
    assert (emptied.log_start, emptied.log_end) == (1, 1)
    within = filled(3, 2)
    within.drop_before(3)
    within.advance_start(5)
    assert within.truncate_to(3) == 2
    assert (within.log_start, within.log_end) == (3, 3)


def test_a_batch_has_to_follow_the_logs_end() -> None:
    with pytest.raises(AssertionError, match="5 after 3"):
        filled(3).append(batch(0, offset=5))


def remembering(*batches: RecordBatch) -> ProducerStates:
    states = ProducerStates()
    for one in batches:
        states.update(one)
    return states


def test_one_of_the_last_five_batches_is_known_again_an_older_one_is_out_of_order() -> None:
    states = remembering(*(batch(number, offset=100 + number) for number in range(6)))
    assert [states.check(batch(number)) for number in range(7)] == [
        (OUT_OF_ORDER, -1),
        *((ErrorCode.NONE, 100 + number) for number in range(1, 6)),
        (ErrorCode.NONE, -1),
    ]


def test_gaps_and_other_cuts_of_known_sequences_are_refused() -> None:
    states = remembering(batch(0, 3), batch(3, 2))
    assert states.check(batch(6)) == (OUT_OF_ORDER, -1)
    assert states.check(batch(0, 2)) == (OUT_OF_ORDER, -1)
    assert states.check(batch(3, 2))[0] is ErrorCode.NONE


def test_a_lower_epoch_is_refused_and_a_higher_one_begins_at_zero() -> None:
    states = remembering(batch(0, 3, epoch=4))
    assert states.check(batch(3, epoch=3)) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert states.check(batch(3, epoch=5)) == (OUT_OF_ORDER, -1)
    assert states.check(batch(0, epoch=5)) == (ErrorCode.NONE, -1)
    states.update(batch(0, epoch=5))
    assert states.check(batch(1, epoch=5)) == (ErrorCode.NONE, -1)


def test_an_unknown_producer_may_begin_anywhere_and_sequences_wrap() -> None:
    assert ProducerStates().check(batch(41)) == (ErrorCode.NONE, -1)
    states = remembering(batch(0x7FFFFFFE, 2))
    assert states.check(batch(0)) == (ErrorCode.NONE, -1)
    assert states.check(batch(1)) == (OUT_OF_ORDER, -1)
