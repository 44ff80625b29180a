"""Which part of which log is cleaned: the facts of Kafka's LogCleanerManagerTest, and of LogToClean."""

import pytest

from cluster.protocol.record_batch import NO_PRODUCER_ID
from cluster.storage.cleanable import LogToClean, filthiest, first_uncleanable, log_to_clean
from cluster.storage.log_config import CompactionConfig, Retention
from tests.support.compacted_logs import COMPACTION, CompactedLog

ONE_EACH = Retention(-1, -1, 90, 1 << 60)
HOUR_US = 3_600_000_000
LAGGING = CompactionConfig(0.5, HOUR_US, 1 << 62, 0)


def log_of(count: int, *, created_us: int = 0, config: CompactionConfig = COMPACTION) -> CompactedLog:
    """A log of so many segments with one record of 81 bytes each; the last one is active."""
    made = CompactedLog(ONE_EACH, config)
    append(made, count, created_us)
    return made


def append(made: CompactedLog, count: int, created_us: int) -> None:
    for number in range(count):
        made.append(NO_PRODUCER_ID, number % 3, created_us=created_us)
    made.segments.read_on(made.log.batches, made.log.log_end, ONE_EACH)


def to_clean(made: CompactedLog, now_us: int = 0, *, stable: int = -1) -> LogToClean | None:
    return log_to_clean(made.log, ONE_EACH, made.log.log_end if stable < 0 else stable, now_us)


@pytest.mark.parametrize(("stable", "expected"), [(5, 5), (8, 7), (0, 0)])
def test_the_last_stable_offset_and_the_active_segment_bound_the_cleaning(stable: int, expected: int) -> None:
    """testCleanableOffsetsForNone, testCleanableOffsetsActiveSegment."""
    made = log_of(8)
    assert first_uncleanable(made.segments, stable, 0) == expected


def test_young_segments_are_not_cleaned() -> None:
    """testCleanableOffsetsForTime, testCleanableOffsetsForShortTime."""
    made = log_of(4, config=LAGGING)
    append(made, 4, HOUR_US + 1)
    assert first_uncleanable(made.segments, 8, HOUR_US + 1) == 4
    assert first_uncleanable(made.segments, 8, 2 * HOUR_US + 2) == 7
    assert first_uncleanable(made.segments, 8, HOUR_US - 1) == 0


def test_undecided_records_are_not_cleaned() -> None:
    """testUndecidedTransactionalDataNotCleanable."""
    made = CompactedLog(config=LAGGING)
    made.in_transaction(15, 1, 2)
    made.in_transaction(15, 3)
    made.roll()
    log = made.log
    assert first_uncleanable(made.segments, log.transactions.last_stable_offset(3, 0), HOUR_US + 1) == 0
    made.abort(15)
    made.roll()
    log.transactions.high_watermark_at(4)
    stable = log.transactions.last_stable_offset(4, 0)
    marked_us = made.segments.closed[-1].newest_us
    assert stable == 4
    assert first_uncleanable(made.segments, stable, marked_us + HOUR_US + 1) == 4


def test_a_checkpoint_outside_the_log_is_reset() -> None:
    """testDirtyOffsetResetIfLargerThanEndOffset, …SmallerThanStartOffset, testCleanableOffsetsNeedsCheckpointReset."""
    made = log_of(8)
    for checkpoint, log_start, expected in ((5, 2, 5), (1, 2, 2), (9, 2, 2), (8, 2, 8)):
        made.log.log_start, made.segments.first_dirty = log_start, checkpoint
        to_clean(made)
        assert made.segments.first_dirty == expected


def test_an_active_segment_is_not_filthy() -> None:
    """testLogStartOffsetLargerThanActiveSegmentBaseOffset, testDirtyOffsetLargerThanActiveSegmentBaseOffset."""
    made = CompactedLog()
    for _ in range(6):
        made.append(NO_PRODUCER_ID, 1)
    for checkpoint in (0, 3):
        made.segments.first_dirty = checkpoint
        found = log_to_clean(made.log, made.retention, 6, 0)
        assert found is None or not found.wanted


def test_clean_and_cleanable_bytes() -> None:
    """testLogToClean, testLogToCleanWithUncleanableSection."""
    made = log_of(6)
    made.segments.first_dirty = 2
    found = to_clean(made, stable=4)
    assert found is not None
    assert (found.clean_bytes, found.cleanable_bytes, found.first_uncleanable) == (2 * 81, 2 * 81, 4)
    assert found.cleanable_ratio == 0.5
    assert not found.wanted, "the ratio has to be above the minimum"
    found = to_clean(made, stable=5)
    assert found is not None
    assert found.wanted
    made.segments.first_dirty = 5
    found = to_clean(made)
    assert found is not None
    assert (found.clean_bytes, found.cleanable_bytes) == (5 * 81, 0)


def test_a_segment_with_an_undecided_record_is_left_out() -> None:
    """calculateCleanableBytes: the segment that holds the first uncleanable offset is not cleaned."""
    made = CompactedLog(Retention(-1, -1, 170, 1 << 60))
    for _ in range(7):
        made.append(NO_PRODUCER_ID, 1)
    found = log_to_clean(made.log, made.retention, 5, 0)
    assert found is not None
    assert found.first_uncleanable == 4


def test_the_dirtiest_log_is_cleaned_first() -> None:
    """testGrabFilthiestCompactedLogReturnsLogWithDirtiestRatio."""
    found = []
    for extra in (1, 26, 51):
        made = log_of(20 + extra)
        made.segments.first_dirty = 20
        one = to_clean(made)
        assert one is not None
        found.append(one)
    assert [each.wanted for each in found] == [False, True, True]
    assert filthiest(found) is found[2]
    assert filthiest(found[:1]) is None


def test_a_record_that_waits_too_long_is_cleaned_at_any_ratio() -> None:
    """`max.compaction.lag.ms` counts from the first batch of the first dirty segment; an active one does not count."""
    config = COMPACTION._replace(max_compaction_lag_us=HOUR_US)
    made = log_of(10, created_us=7, config=config)
    made.segments.first_dirty = 8
    for now_us, wanted in ((HOUR_US + 7, False), (HOUR_US + 8, True)):
        found = to_clean(made, now_us)
        assert found is not None
        assert found.wanted is wanted
    made.segments.first_dirty = 9
    found = to_clean(made, 2 * HOUR_US)
    assert found is not None
    assert not found.wanted


def test_a_cut_log_is_dirty_from_its_end() -> None:
    """testMaybeTruncateCheckpointShouldTruncateData; a log may end in a gap, and is cut there too."""
    made = log_of(8)
    made.clean()
    assert made.segments.first_dirty == 7
    made.log.truncate_to(4)
    assert made.segments.first_dirty == 4
    assert [one.base_offset for one in made.segments.all][-1] <= 4
    assert (list(made.log.batches), made.log.log_end) == ([], 4), "later records had replaced all of these"
    assert made.log.truncate_to(2) == 2
    assert made.log.log_end == 2
