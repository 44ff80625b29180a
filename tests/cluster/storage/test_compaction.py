"""What compaction leaves of a log: the facts of Kafka's LogCleanerTest, case by case."""

from msgspec.structs import replace

from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import NO_PRODUCER_ID, RecordBatch
from cluster.storage.compaction import BatchFilter, CleanedTransactions, OffsetMap, compact, offset_map
from cluster.storage.partition_log import PartitionLog
from cluster.storage.segment_list import LogSegment, SegmentList, grouped
from tests.support.compacted_logs import COMPACTION, DAY_US, LARGE_US, SEGMENTS, CompactedLog

PLAIN = NO_PRODUCER_ID


def reloaded(made: CompactedLog) -> PartitionLog:
    """A log whose process has just read these batches from disk, without a snapshot."""
    log = PartitionLog("t-0")
    log.segments = SegmentList(COMPACTION)
    for batch in made.log.batches:
        log.append(batch)
    log.recall_producers()
    return log


def again(log: PartitionLog, producer_id: int, count: int, sequence: int = 0) -> tuple[ErrorCode, int]:
    """What the leader says to a repeated batch: the offset of the first copy."""
    batch = RecordBatch("t-0", f"p-{producer_id}", producer_id, 0, sequence, 0, count, 100, 0, tuple(range(count)))
    return log.producers.check(batch)


def test_a_duplicate_is_known_after_cleaning() -> None:
    """testDuplicateCheckAfterCleaning."""
    made = CompactedLog()
    made.append(1, 1, 2, 3)
    made.append(2, 3, 1, 4)
    made.append(3, 1, 4)
    made.roll()
    made.clean()
    assert made.last_offsets() == [2, 5, 7]
    assert made.last_sequences() == {1: 2, 2: 2, 3: 1}
    assert made.keys() == [2, 3, 1, 4]
    assert made.offsets() == [1, 3, 6, 7]
    for log in (made.log, reloaded(made)):
        assert again(log, 1, 3) == (ErrorCode.NONE, 0)
        assert again(log, 3, 2) == (ErrorCode.NONE, 6)
        assert again(log, 2, 3) == (ErrorCode.NONE, 3)
    made.append(4, 2)
    made.roll()
    made.clean()
    assert made.last_sequences() == {1: 2, 2: 2, 3: 1, 4: 0}
    assert made.last_offsets() == [2, 5, 7, 8]
    assert made.keys() == [3, 1, 4, 2]
    assert made.offsets() == [3, 6, 7, 8]
    assert again(reloaded(made), 1, 3) == (ErrorCode.NONE, 0)


def test_aborted_transactions_over_several_passes() -> None:
    """testMultiPassSegmentCleaningWithAbortedTransactions: the map holds four keys, so each pass goes on."""
    made = CompactedLog()
    made.in_transaction(1, 1, 2)
    made.in_transaction(2, 2, 3)
    made.in_transaction(1, 3, 4)
    made.commit(1)
    made.commit(2)
    made.in_transaction(1, 2, 3)
    made.abort(1)
    made.in_transaction(2, 4, 5)
    made.in_transaction(1, 5, 6)
    made.commit(1)
    made.abort(2)
    made.in_transaction(2, 6, 7)
    made.commit(2)
    log, index = made.log, made.log.transactions
    assert log.log_end == 20
    assert made.aborted() == [(1, 8, 10, 11), (2, 11, 16, 17)]

    dirty = 0

    def clean(now_us: int) -> int:
        held = list(log.batches)
        aborted = index.collect(0, 20)[0]
        latest = offset_map([batch for batch in held if batch.next_offset > dirty], dirty, 20, aborted, 3)
        last = log.producers.last_records()
        result = compact(held, BatchFilter(latest, CleanedTransactions(aborted), last, 20, now_us, DAY_US))
        log.batches.replace_below(20, result.batches)
        index.compacted(20, result.aborted)
        return latest.end

    dirty = clean(0)
    assert dirty == 4
    assert [batch.base_offset for batch in log.batches] == [0, 2, 4, 6, 7, 10, 13, 15, 16, 17, 19]
    assert made.offsets() == [0, 2, 3, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]
    assert made.aborted() == [(1, 8, 10, 11), (2, 11, 16, 17)]

    dirty = clean(0)
    assert dirty == 14
    assert [batch.base_offset for batch in log.batches] == [0, 2, 4, 6, 7, 10, 13, 15, 16, 17, 19]
    assert made.offsets() == [0, 2, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]
    assert made.aborted() == []

    dirty = clean(DAY_US)
    assert dirty == 20
    assert [batch.base_offset for batch in log.batches] == [0, 2, 4, 6, 7, 13, 15, 17, 19]
    assert made.offsets() == [0, 2, 4, 5, 6, 7, 13, 15, 17, 18, 19]


def test_transactions_are_respected() -> None:
    """testBasicTransactionAwareCleaning."""
    made = CompactedLog()
    made.in_transaction(1, 1, 2)
    made.in_transaction(2, 2, 3)
    made.in_transaction(1, 3, 4)
    made.abort(1)
    made.commit(2)
    made.in_transaction(1, 2)
    made.commit(1)
    before = made.aborted()
    made.roll()
    made.clean()
    assert made.keys() == [3, 2]
    assert made.offsets() == [3, 6, 7, 8, 9]
    assert made.aborted() == before


def test_transactions_span_segments() -> None:
    """testCleanWithTransactionsSpanningSegments."""
    made = CompactedLog()
    made.in_transaction(1, 1, 2)
    made.in_transaction(3, 2, 3)
    made.in_transaction(2, 3, 4)
    made.roll()
    made.in_transaction(2, 5, 6)
    made.in_transaction(3, 6, 7)
    made.in_transaction(1, 7, 8)
    made.abort(2)
    made.in_transaction(3, 8, 9)
    made.commit(3)
    made.in_transaction(1, 9, 10)
    made.abort(1)
    made.clean()
    assert made.keys() == [2, 3, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]
    made.roll()
    made.in_transaction(2, 11)
    made.in_transaction(1, 12)
    made.clean(made.segments.first_dirty)
    assert made.keys() == [2, 3, 6, 7, 8, 9, 11, 12]


def test_a_commit_marker_goes_after_its_records() -> None:
    """testCommitMarkerRemoval."""
    made = CompactedLog()
    made.in_transaction(1, 1)
    made.in_transaction(1, 2, 3)
    made.commit(1)
    made.in_transaction(1, 2)
    made.commit(1)
    made.roll()
    made.clean()
    assert made.keys() == [1, 3, 2]
    assert made.offsets() == [0, 2, 3, 4, 5]
    made.in_transaction(1, 1, 3)
    made.commit(1)
    made.roll()
    for _ in range(2):  # its records have gone in the first; only in the second does it get its horizon
        made.clean(made.segments.first_dirty)
        assert made.keys() == [2, 1, 3]
        assert made.offsets() == [3, 4, 5, 6, 7, 8]
    made.clean(made.segments.first_dirty, LARGE_US + 2 * DAY_US)
    assert made.offsets() == [4, 5, 6, 7, 8]


def test_batches_without_records_left() -> None:
    """testDeletedBatchesWithNoMessagesRead."""
    made = CompactedLog()
    made.in_transaction(1, 1)
    made.abort(1)
    made.in_transaction(1, 2)
    made.in_transaction(1, 2)
    made.commit(1)
    made.roll()
    made.clean()
    assert made.offsets() == [1, 3, 4]
    made.clean_twice()
    assert made.keys() == [2]
    assert made.offsets() == [3, 4]


def test_an_empty_batch_keeps_the_commit_marker() -> None:
    """testCommitMarkerRetentionWithEmptyBatch."""
    made = CompactedLog()
    made.in_transaction(1, 2, 3)
    made.roll()
    made.in_transaction(2, 2, 3)
    made.commit(2)
    made.roll()
    made.append(PLAIN, 2)
    made.append(PLAIN, 3)
    made.commit(1)
    made.roll()
    for dirty in (0, 8):
        made.clean(dirty)
        assert made.keys() == [2, 3]
        assert made.offsets() == [4, 5, 6, 7]
        assert made.last_offsets() == [1, 3, 4, 5, 6, 7]
    made.in_transaction(2, 1)
    made.commit(2)
    made.roll()
    made.clean(8)
    assert made.offsets() == [4, 5, 6, 7, 8, 9]
    assert made.last_offsets() == [1, 4, 5, 6, 7, 8, 9]
    made.clean_twice(10)
    assert made.keys() == [2, 3, 1]
    assert made.offsets() == [5, 6, 7, 8, 9]
    assert made.last_offsets() == [1, 5, 6, 7, 8, 9]


def test_an_empty_marker_stays_for_its_producer() -> None:
    """testCleanEmptyControlBatch."""
    made = CompactedLog()
    made.commit(1)
    made.append(PLAIN, 2)
    made.append(PLAIN, 3)
    made.roll()
    made.clean_twice()
    for _ in range(2):
        assert made.offsets() == [1, 2]
        assert made.last_offsets() == [0, 1, 2]
        made.clean(now_us=1 << 62)
    assert 1 not in reloaded(made).producers.entries


def test_a_transaction_over_two_segments() -> None:
    """testCommittedTransactionSpanningSegments, testAbortedTransactionSpanningSegments."""
    made = CompactedLog()
    made.in_transaction(1, 1)
    made.roll()
    made.commit(1)
    made.roll()
    made.clean_twice()
    assert made.offsets() == made.last_offsets() == [0, 1]

    made = CompactedLog()
    made.in_transaction(1, 1)
    made.roll()
    made.abort(1)
    made.roll()
    for now_us in (LARGE_US, 1 << 62):
        made.clean(now_us=now_us)
        assert made.offsets() == [1]
        assert made.last_offsets() == [0, 1]


def test_an_abort_marker_goes_after_its_horizon() -> None:
    """testAbortMarkerRemoval."""
    made = CompactedLog()
    made.in_transaction(1, 1)
    made.in_transaction(1, 2, 3)
    made.abort(1)
    made.in_transaction(1, 3)
    made.commit(1)
    made.roll()
    made.clean()
    assert made.keys() == [3]
    assert made.offsets() == [3, 4, 5]
    made.clean_twice(6)
    assert made.offsets() == [4, 5]


def test_an_empty_batch_keeps_the_abort_marker() -> None:
    """testAbortMarkerRetentionWithEmptyBatch."""
    made = CompactedLog()
    made.in_transaction(1, 2, 3)
    made.abort(1)
    made.roll()
    made.clean()
    made.clean_twice(3)
    assert [entry[:3] for entry in made.aborted()] == [(1, 0, 2)]
    assert made.keys() == []
    assert made.offsets() == [2]
    assert made.last_offsets() == [1, 2]
    made.in_transaction(1, 1)
    made.roll()
    made.clean(3)
    assert [entry[:3] for entry in made.aborted()] == [(1, 0, 2)]
    assert made.offsets() == made.last_offsets() == [2, 3]
    made.clean_twice(4)
    assert made.offsets() == made.last_offsets() == [3]
    assert made.aborted() == []


def test_a_tombstone_removes_its_key_and_goes_after_its_horizon() -> None:
    """testCleaningWithDeletes, testCleanTombstone: the horizon counts from the cleaning, not from its timestamp."""
    made = CompactedLog()
    made.append(PLAIN, 0)
    made.roll()
    made.clean(now_us=0)
    made.append(PLAIN, -1)
    made.roll()
    made.clean(1, now_us=0)
    assert made.last_offsets() == [1]
    assert made.offsets() == []
    made.append(PLAIN, 1)
    made.roll()
    made.clean(2, now_us=DAY_US - 1)
    assert made.last_offsets() == [1, 2]
    made.clean(3, now_us=DAY_US)
    assert made.last_offsets() == [2]


def test_the_last_record_of_each_producer_stays() -> None:
    """testLogCleanerRetainsProducerLastSequence."""
    made = CompactedLog()
    made.append(PLAIN, 0)
    made.append(1, 0)
    made.append(2, 0)
    made.append(3, 0)
    made.append(2, 1)
    made.roll()
    made.clean()
    assert made.last_offsets() == [1, 3, 4]
    assert made.last_sequences() == {1: 0, 2: 1, 3: 0}
    assert made.keys() == [0, 1]
    assert made.offsets() == [3, 4]


def test_the_last_sequence_stays_if_its_transaction_was_aborted() -> None:
    """testLogCleanerRetainsLastSequenceEvenIfTransactionAborted."""
    made = CompactedLog()
    made.in_transaction(1, 1)
    made.in_transaction(1, 2, 3)
    made.abort(1)
    made.roll()
    made.clean()
    assert made.last_offsets() == [2, 3]
    assert made.last_sequences() == {1: 2}
    assert made.offsets() == [3]
    made.in_transaction(1, 1, 5)
    made.roll()
    made.clean()
    assert made.last_offsets() == [3, 5]
    assert made.last_sequences() == {1: 4}
    assert made.offsets() == [3, 4, 5]


def test_a_full_map_cleans_a_part() -> None:
    """testPartialSegmentClean: records behind the last one that the map has stay."""
    made = CompactedLog()
    for key in (0, 1, 0, 1, 0):
        made.append(PLAIN, key)
    for dirty, left in ((2, [1, 2, 3, 4]), (3, [2, 3, 4]), (4, [3, 4])):
        held = list(made.log.batches)
        latest = offset_map([batch for batch in held if batch.next_offset > dirty], dirty, 5, (), 1)
        result = compact(held, BatchFilter(latest, CleanedTransactions(()), {}, 5, 0, DAY_US))
        made.log.batches.replace_below(5, result.batches)
        assert made.offsets() == left


def test_records_without_a_key_go() -> None:
    """testCleaningWithUnkeyedMessages."""
    made = CompactedLog()
    batch = RecordBatch("t-0", "p", -1, -1, -1, 0, 2, 100, 0)
    made.log.append_as_leader(batch.placed(0, 0, 0))
    made.append(PLAIN, 7)
    made.roll()
    assert made.clean().removed == [(0, 2)]
    assert made.offsets() == [2]


def test_the_last_batch_of_the_cleaned_part_stays_empty() -> None:
    """testCleanSegmentsRetainingLastEmptyBatch: so the end of the cleaned part is known."""
    made = CompactedLog()
    for key in range(6):
        made.append(PLAIN, key)
    latest = OffsetMap(dict.fromkeys(range(6), 1 << 50), 1 << 50)
    rules = BatchFilter(latest, CleanedTransactions(()), {}, 6, 0, DAY_US)
    (left,) = compact(list(made.log.batches), rules).batches
    assert (left.next_offset, left.places) == (6, ())


def test_segments_are_grouped_by_size() -> None:
    """testSegmentGrouping."""
    segments = [LogSegment(at, at + 1, 100, 0, 0) for at in range(10)]
    assert [len(group) for group in grouped(segments, 1 << 40)] == [10]
    assert [len(group) for group in grouped(segments, 1)] == [1] * 10
    assert [len(group) for group in grouped(segments, 301)] == [3, 3, 3, 1]


def test_a_cleaning_passes_gaps_in_the_offsets() -> None:
    """testCleaningBeyondMissingOffsets: a follower's log may lack offsets at a segment's end."""
    made = CompactedLog()
    for offset in range(10):
        made.append(PLAIN, offset)
    made.segments.read_on(made.log.batches, 10, SEGMENTS)
    made.segments.roll(15)
    (last,) = made.log.batches[9:]
    made.log.append(replace(last, base_offset=15, keys=(30,)))
    made.clean()
    assert made.segments.first_dirty == 15


def test_cleaning_changes_size_and_ground_truth() -> None:
    """Bytes are those of the batches that stay; what went is known as deleted, so that it is never called lost."""
    made = CompactedLog()
    made.append(1, 1, 2, 3)
    made.append(2, 1, 2, 4)
    made.roll()
    assert made.clean().removed == [(0, 2)]
    assert made.log.bytes == sum(batch.bytes for batch in made.log.batches) == 61 + 20 + 61 + 60
    assert made.log.deleted is not None
    assert list(made.log.deleted["p-1"].ranges()) == [(0, 2)]
    assert made.log.flushed == 6
