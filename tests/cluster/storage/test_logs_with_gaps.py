"""A compacted log, packed or not, is read, cut, deleted and copied like a plain list of what it still has."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.protocol.record_batch import NO_PRODUCER_ID, RecordBatch
from cluster.storage import batch_list
from cluster.storage.batch_list import BatchList
from cluster.storage.log_config import Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.segment_list import SegmentList
from tests.support.compacted_logs import COMPACTION, DAY_US, LARGE_US, CompactedLog

ALL_BYTES = 1 << 40
SMALL = Retention(-1, -1, 400, 1 << 60)


@pytest.fixture(autouse=True)
def _tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack as early as can be."""
    monkeypatch.setattr(batch_list, "PACK_AT", 8)
    monkeypatch.setattr(batch_list, "PACKED_TOGETHER", 4)


@st.composite
def compacted(draw: st.DrawFn) -> CompactedLog:
    """A log that was written to and cleaned in turns, by producers with and without idempotence."""
    made = CompactedLog(SMALL)
    for _ in range(draw(st.integers(1, 4))):
        for _ in range(draw(st.integers(0, 12))):
            keys = draw(st.lists(st.integers(-6, 5), min_size=1, max_size=4))
            made.append(draw(st.sampled_from([NO_PRODUCER_ID, 1, 2])), *keys)
        made.segments.read_on(made.log.batches, made.log.log_end, SMALL)
        if draw(st.booleans()):
            made.clean(made.segments.first_dirty, draw(st.integers(0, LARGE_US)))
    return made


def copied(made: CompactedLog) -> PartitionLog:
    """A follower that fetched this log, one batch at a time."""
    log = PartitionLog("t-0")
    log.segments = SegmentList(COMPACTION)
    while batches := made.log.read(log.log_end, made.log.log_end, 1):
        for batch in batches:
            log.append(batch)
    return log


def ending_after(batches: Sequence[RecordBatch], offset: int) -> list[RecordBatch]:
    return [batch for batch in batches if batch.next_offset > offset]


@settings(max_examples=60, deadline=None)
@given(compacted())
def test_the_last_record_of_each_key_stays(made: CompactedLog) -> None:
    """A reader of the whole log ends with the same value for each key, or without one behind a tombstone."""
    latest: dict[int, tuple[int, bool]] = {}
    for offset, (key, has_value) in sorted(made.values.items()):
        latest[key] = offset, has_value
    read: dict[int, tuple[int, bool]] = {}
    for batch in made.log.batches:
        for place in batch.places:
            read[batch.keys[place]] = batch.base_offset + place, place not in batch.tombstones
    for key, (offset, has_value) in latest.items():
        assert read.get(key, (offset, False)) == (offset, has_value)
        assert not has_value or key in read


@settings(max_examples=60, deadline=None)
@given(compacted())
def test_a_log_with_gaps_is_read_from_any_offset(made: CompactedLog) -> None:
    """A read begins with the first batch that ends after the offset, in a gap too."""
    log, batches = made.log, list(made.log.batches)
    assert len(log.batches) == len(batches)
    assert log.bytes == sum(batch.bytes for batch in batches)
    for offset in range(log.log_end + 1):
        assert log.read(offset, log.log_end, ALL_BYTES) == ending_after(batches, offset)
        assert ending_after(list(log.batches.since(offset)), offset) == ending_after(batches, offset)


@settings(max_examples=60, deadline=None)
@given(compacted(), st.data())
def test_a_follower_copies_the_gaps(made: CompactedLog, data: st.DataObject) -> None:
    """A fetch that ends at a log's end brings the next batch, behind a gap or not."""
    log = copied(made)
    assert log.log_end == made.log.log_end
    assert list(log.batches) == list(made.log.batches)
    cut = data.draw(st.integers(0, log.log_end))
    log.truncate_to(cut)
    assert log.log_end <= cut
    assert log.log_end == cut or any(
        one.base_offset == log.log_end and one.next_offset > cut for one in made.log.batches
    )
    assert log.segments is not None
    log.segments.read_on(log.batches, log.log_end, SMALL)
    assert [*log.batches] == [batch for batch in made.log.batches if batch.next_offset <= cut]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.booleans()), max_size=12), st.data())
def test_a_follower_counts_what_was_appended_before_it_came(
    written: list[tuple[list[int], bool]], data: st.DataObject
) -> None:
    """Records that compaction has removed count on, markers never: at the end, and after a truncation."""
    made, appended = CompactedLog(SMALL), {0: 0}
    for keys, commits in written:
        made.in_transaction(1, *keys)
        appended[made.log.log_end] = made.log.appended_records
        (made.commit if commits else made.abort)(1)
        appended[made.log.log_end] = made.log.appended_records
    made.segments.read_on(made.log.batches, made.log.log_end, SMALL)
    made.roll()
    for times in range(4):  # records, then the horizon of a marker without records, then the marker
        made.clean(0, LARGE_US + times * 2 * DAY_US)
    logs = [made.log]
    for _ in range(2):  # a follower, and one that follows it when it leads
        log = PartitionLog("t-0")
        log.segments = SegmentList(COMPACTION)
        log.append_fetched(list(logs[-1].batches), logs[-1])
        logs.append(log)
    cut = data.draw(st.sampled_from(sorted(appended)))
    for log in logs:
        assert log.appended_records == appended[log.log_end] == max(appended.values())
        log.truncate_to(cut)
        if log.log_end == cut:  # else it had to drop a batch that begins before
            assert log.appended_records == appended[cut]


@settings(max_examples=60, deadline=None)
@given(compacted(), st.data())
def test_segments_cover_the_log(made: CompactedLog, data: st.DataObject) -> None:
    """After cuts and deletions every batch lies in one segment, and sizes are those of the batches."""
    log, segments = made.log, made.segments
    if data.draw(st.booleans()):
        log.truncate_to(data.draw(st.integers(0, log.log_end)))
    segments.read_on(log.batches, log.log_end, SMALL)
    if data.draw(st.booleans()):
        log.drop_before(data.draw(st.sampled_from(segments.all)).base_offset)
    borders = [segment.base_offset for segment in segments.all]
    assert borders == sorted(borders)
    for segment, following in zip(segments.all, borders[1:], strict=False):
        assert segment.next_offset == following
    for segment in segments.all:
        inside = [one for one in log.batches if segment.base_offset <= one.base_offset < segment.next_offset]
        assert segment.bytes == sum(batch.bytes for batch in inside)
        assert segment.newest_us == max((batch.created_us for batch in inside), default=segment.newest_us)
    assert sum(segment.bytes for segment in segments.all) == log.bytes
    assert segments.first_dirty <= log.log_end


@settings(max_examples=60, deadline=None)
@given(compacted(), st.data())
def test_batches_are_replaced_below_any_border(made: CompactedLog, data: st.DataObject) -> None:
    """Whatever is packed: what begins below the offset is replaced, the rest stays."""
    whole = list(made.log.batches)
    known = BatchList()
    for batch in whole:
        known.append(batch)
    at = data.draw(st.sampled_from([*[batch.base_offset for batch in whole], 1 << 30]))
    kept = [batch for batch in whole if batch.base_offset < at and data.draw(st.booleans())]
    known.replace_below(at, kept)
    expected = kept + [batch for batch in whole if batch.base_offset >= at]
    assert list(known) == expected
    assert len(known) == len(expected)
    assert list(known.after(1)) == expected[1:]
    later = RecordBatch("t-0", "p", -1, -1, -1, 0, 1, 81, 0, (1,), 1 << 30, 0, 0)
    known.append(later)
    while known:
        assert known.pop() == ([*expected, later])[len(known)]


def test_a_batch_before_a_gap_goes_with_its_segment() -> None:
    """It ends before the next one begins, and is deleted for its own end."""
    made = CompactedLog(SMALL)
    for key in (1, 2, 2, 3):
        made.append(NO_PRODUCER_ID, key)
    made.roll()
    made.clean()
    assert made.last_offsets() == [0, 2, 3]
    made.log.drop_before(1)
    assert made.last_offsets() == [2, 3]


def test_a_restart_forgets_no_aborted_transaction() -> None:
    """A follower reads its log when it must; a snapshot behind that has no index of aborted transactions."""
    made = CompactedLog(SMALL)
    made.in_transaction(1, 1, 2)
    made.abort(1)
    behind = made.log.log_end
    made.append(2, 3)
    copy = copied(made)
    copy.started((behind,))
    assert [entry.last_offset for entry in copy.transactions.aborted] == [2]
