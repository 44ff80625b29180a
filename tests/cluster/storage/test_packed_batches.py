"""Packed logs: the same batches as ever, in a fraction of the memory, of internal topics what a replay needs."""

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.config import resolve
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.records import (
    CommittedOffset,
    GroupMetadataValue,
    GroupRecord,
    GroupTombstone,
    OffsetTombstone,
)
from cluster.protocol.record_batch import ABORT, COMMIT, RecordBatch
from cluster.storage import batch_list
from cluster.storage.batch_list import BatchList
from cluster.storage.log_config import Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.retention import Segment, segments
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.library import GOLDEN
from tests.support.slow_cases import mostly_slow

ALL_BATCHES = 1 << 40
INSTANTS = st.integers(0, 1 << 50)


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack as early as can be."""
    monkeypatch.setattr(batch_list, "PACK_AT", 8)
    monkeypatch.setattr(batch_list, "PACKED_TOGETHER", 4)


@st.composite
def batches(draw: st.DrawFn) -> list[RecordBatch]:
    """Successive batches of one log: steady ones, or such of any producer, size and kind."""
    found: list[RecordBatch] = []
    offset = draw(st.integers(0, 1000))
    steady = draw(st.booleans())
    for number in range(draw(st.integers(0, 40))):
        count = 1 if steady else draw(st.integers(1, 5))
        found.append(
            RecordBatch(
                "t-0",
                "p" if steady else draw(st.sampled_from(["p", "q", ""])),
                7 if steady else draw(st.integers(-1, 9)),
                draw(st.integers(-1, 3)),
                number if steady else draw(st.integers(-1, 0x7FFFFFFF)),
                offset if steady else draw(st.integers(-1, 1 << 40)),
                count,
                draw(st.integers(61, 1 << 20)),
                created_us := draw(INSTANTS),
                () if steady else tuple(draw(st.lists(st.integers(-1, 9), min_size=count, max_size=count))),
                offset,
                draw(st.integers(-1, 3)),
                created_us + draw(st.integers(-1_000, 1_000)),
                origins=() if steady else draw(st.sampled_from([(), (("p", "s-1", 4, count),)])),
                transactional=draw(st.booleans()),
                marker="" if steady else draw(st.sampled_from(["", COMMIT, ABORT])),
                coordinator_epoch=draw(st.integers(-1, 3)),
            )
        )
        offset += count
    return found


def listed(found: list[RecordBatch]) -> BatchList:
    known = BatchList()
    for one in found:
        known.append(one)
    return known


packed_tightly = pytest.mark.usefixtures("tight")


@pytest.mark.slow
@packed_tightly
@settings(max_examples=60, deadline=None)
@given(batches(), st.integers(0, 1200))
def test_a_list_of_batches_is_what_was_put_into_it(found: list[RecordBatch], offset: int) -> None:
    known = listed(found)
    assert len(known.tail) < max(8, len(found))
    assert (list(known), len(known), known == found) == (found, len(found), True)
    assert [known[place] for place in range(-len(found), len(found))] == [*found, *found]
    assert known[1:-1] == found[1:-1]
    assert list(known.after(5)) == found[5:]
    holding = [place for place, one in enumerate(found) if one.base_offset <= offset]
    assert list(known.since(offset)) == found[max([0, *holding[-1:]]) :]
    assert list(known.younger(1 << 49)) == [one.base_offset for one in found if one.created_us >= 1 << 49]
    with pytest.raises(IndexError):
        known[len(found)]


@packed_tightly
@settings(max_examples=60, deadline=None)
@given(batches(), st.lists(st.tuples(st.sampled_from(["pop", "shed", "append"]), st.integers(1, 12))))
def test_a_list_of_batches_is_cut_at_either_end(found: list[RecordBatch], cuts: list[tuple[str, int]]) -> None:
    known, popped = listed(found), []
    for what, count in cuts:
        for _ in range(min(count, len(found))):
            if what == "pop":
                popped.append(found.pop())
                assert known.pop() == popped[-1]
        if what == "shed" and found:
            gone, found = found[:count], found[count:]
            popped.clear()
            assert list(known.shed(gone[-1].next_offset)) == gone
        if what == "append" and popped:
            found.append(popped[-1])
            known.append(popped.pop())
        assert (list(known), len(known)) == (found, len(found))
        assert known.oldest == ((found[0].base_offset, found[0].next_offset, found[0].created_us) if found else None)


@packed_tightly
@settings(max_examples=60, deadline=None)
@given(batches(), st.integers(61, 4 << 20), st.sampled_from([1, 1 << 48, 1 << 50]))
def test_segments_are_the_same_however_batches_are_kept(
    found: list[RecordBatch], segment_bytes: int, segment_us: int
) -> None:
    log = PartitionLog("t-0")
    log.batches = listed(found)
    expected: list[list[RecordBatch]] = []
    for one in found:
        last = expected[-1] if expected else []
        size = sum(each.bytes for each in last)
        if not last or size + one.bytes > segment_bytes or one.created_us - last[0].created_us > segment_us:
            expected.append([])
        expected[-1].append(one)
    assert list(segments(log, Retention(-1, -1, segment_bytes, segment_us))) == [
        Segment(each[-1].next_offset, sum(one.bytes for one in each), max(one.created_us for one in each))
        for each in expected
    ]


def plain_batch(place: int, payload: tuple[object, ...] = ()) -> RecordBatch:
    created_us = place * 240_000 + (place * 7919) % 100_000
    append_us = created_us + 5_000 + place % 900
    return RecordBatch("t-0", "p", 7, 0, place, place, 1, 161, created_us, (), place, 0, append_us, payload)


def marker_batch(place: int, producer_id: int, marker: str) -> RecordBatch:
    numbers = producer_id, 0, -1, -1, 1, 78, 0
    return RecordBatch("t-0", "", *numbers, (), place, 0, 0, marker=marker, transactional=True)


def test_a_packed_batch_costs_less_than_ten_bytes_and_replicas_share_it() -> None:
    found = [plain_batch(place) for place in range(20_000)]
    replicas = [listed(found) for _ in range(3)]
    chunks = {id(chunk): chunk for known in replicas for chunk in known._chunks}
    packed = sum(chunk.count for chunk in replicas[0]._chunks)
    assert len(replicas[0].tail) < batch_list.PACK_AT
    assert sum(len(chunk._data) for chunk in chunks.values()) < 10 * packed


# --- internal topics --------------------------------------------------------------------------------------------------

RECORDS: st.SearchStrategy[GroupRecord] = st.one_of(
    st.builds(
        CommittedOffset,
        st.sampled_from(["g", "h"]),
        st.sampled_from(["t-0", "t-1", "t-2"]),
        st.integers(0, 99),
        st.just(0),
        st.just(""),
        st.integers(0, 99),
        st.sampled_from([-1, -1, 5, 6]),
    ),
    st.builds(GroupMetadataValue, st.sampled_from(["g", "h"]), st.integers(0, 9), st.just("consumer")),
    st.builds(GroupTombstone, st.sampled_from(["g", "h"])),
    st.builds(OffsetTombstone, st.sampled_from(["g", "h"]), st.sampled_from(["t-0", "t-1"])),
)


ENDINGS = st.tuples(st.sampled_from([5, 6]), st.sampled_from([COMMIT, ABORT]))


def replayed(found: list[RecordBatch]) -> list[Any]:
    """What a coordinator knows that loads these batches."""
    coordinator = GroupCoordinator(1, resolve("broker", {}), lambda: "")
    for one in found:
        for record in one.payload:
            coordinator.replay(record)  # type: ignore[arg-type]
        if one.marker:
            coordinator.end_transaction(one.producer_id, one.marker == COMMIT, 0)
    return [
        (
            name,
            group.stored,
            [msgspec.structs.replace(one, producer_id=-1) for one in group.logged_offsets.values()],
            {number: [one for _, one in pending.values()] for number, pending in group.transactional_offsets.items()},
        )
        for name, group in coordinator.groups.items()
    ]


@packed_tightly
@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(RECORDS, ENDINGS), max_size=60), st.integers(0, 60))
def test_a_cleaned_log_is_replayed_to_the_same_groups(records: list[Any], end: int) -> None:
    cleaned_log_is_replayed_the_same(records, end)


def cleaned_log_is_replayed_the_same(records: list[Any], end: int) -> None:
    """Clean a log of these records and markers on the way and at its end, and replay it."""
    known, found = BatchList(), []
    for place, record in enumerate(records):
        one = marker_batch(place, *record) if isinstance(record, tuple) else plain_batch(place, (record,))
        found.append(one)
        known.append(one)
        if place == end:
            known.clean(place)
    known.clean(ALL_BATCHES)
    assert replayed(list(known)) == replayed(found)


def entangled(random: Random) -> list[Any]:
    """Offsets of few keys, alone and in two producers' transactions; seldom something else."""
    records: list[Any] = []
    for offset in range(random.randint(10, 60)):
        group, kind = random.choice("gh"), random.random()
        if kind < 0.25:
            records.append((random.choice((5, 6)), random.choice((COMMIT, COMMIT, ABORT))))
        elif kind < 0.27:
            records.append(GroupTombstone(group))
        elif kind < 0.30:
            records.append(OffsetTombstone(group, "t-0"))
        elif kind < 0.33:
            records.append(GroupMetadataValue(group, offset, "consumer"))
        else:
            producer_id = random.choice((-1, 5, 6))
            records.append(CommittedOffset(group, f"t-{random.randrange(2)}", offset, 0, "", offset, producer_id))
    return records


@pytest.mark.slow
@pytest.mark.usefixtures("tight")
def test_a_cleaned_log_of_entangled_transactions_is_replayed_to_the_same_groups() -> None:
    random = Random("entangled")
    for _ in range(2_000):
        records = entangled(random)
        cleaned_log_is_replayed_the_same(records, random.randrange(len(records)))


@pytest.mark.usefixtures("tight")
def test_of_a_key_that_is_written_again_and_again_one_record_is_kept() -> None:
    log = PartitionLog("t-0")
    for place in range(1_000):
        committed = CommittedOffset("g", f"t-{place % 3}", place, 0, "", place)
        log.append(plain_batch(place, (committed,)))
    log.clean(1_000)
    assert sum(len(one.payload) for one in log.batches) == 1_000  # no disk has them yet
    log.flush()
    log.clean(900)
    offsets = {record.partition: record.offset for one in log.batches.after(0) for record in one.payload[:1]}  # type: ignore[attr-defined]
    assert offsets == {"t-0": 999, "t-1": 997, "t-2": 998}
    assert 100 < sum(len(one.payload) for one in log.batches) < 120
    assert (log.log_start, log.log_end, log.bytes) == (0, 1_000, 161_000)


@pytest.mark.usefixtures("tight")
def test_of_offsets_in_transactions_those_stay_that_no_marker_has_decided() -> None:
    log = PartitionLog("t-0")
    for place in range(0, 999, 3):
        for offset in (place, place + 1):
            record = CommittedOffset("g", f"t-{offset % 2}", offset, 0, "", offset, 5, 0)
            log.append(plain_batch(offset, (record,)))
        marker = ABORT if place % 2 else COMMIT
        log.append(
            RecordBatch("t-0", "", 5, 0, -1, -1, 1, 78, 0, (), place + 2, 0, 0, marker=marker, transactional=True)
        )
    log.flush()
    log.clean(990)
    assert sum(len(one.payload) for one in log.batches) < 30
    assert replayed(list(log.batches))[0][2] == [
        CommittedOffset("g", f"t-{offset % 2}", offset, 0, "", offset, -1, 0) for offset in (996, 997)
    ]


# --- flights ----------------------------------------------------------------------------------------------------------

FLIGHTS = ["coordinator-failover", "broker-down", "unclean-election", "read-process-write", "transaction-abort"]


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("name", mostly_slow(FLIGHTS, quick=list(FLIGHTS)[:1]))
def test_a_flight_is_the_same_however_its_logs_are_kept(name: str) -> None:
    golden = json.loads(GOLDEN.read_text())[f"{name} full"]
    assert fly(make_plan(load(name))).journal_sha256 == golden["sha256"]
