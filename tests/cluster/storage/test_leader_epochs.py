"""Leader epochs: Kafka's own cases are in the oracles; here are the follower's rule and what always holds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.storage.leader_epochs import EpochEnd, LeaderEpochs, Truncation, follower_truncation


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    made = LeaderEpochs()
    for epoch, start_offset in entries:
        made.assign(epoch, start_offset)
    return made


ENTRIES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 100)), max_size=12)


@given(ENTRIES)
def test_epochs_and_starts_always_grow_together(entries: list[tuple[int, int]]) -> None:
    kept = epochs(*entries).entries
    assert all(a.epoch < b.epoch and a.start_offset < b.start_offset for a, b in pairwise(kept))


@given(ENTRIES, st.integers(0, 20))
def test_the_end_of_an_epoch_is_the_start_of_the_next(entries: list[tuple[int, int]], asked: int) -> None:
    made = epochs(*entries)
    answer = made.end_offset_for(asked, 1000)
    above = [entry for entry in made.entries if entry.epoch > asked]
    upto = [entry for entry in made.entries if entry.epoch <= asked]
    if above:
        assert answer == EpochEnd(upto[-1].epoch if upto else asked, above[0].start_offset)
    else:
        assert answer == (EpochEnd(asked, 1000) if upto and upto[-1].epoch == asked else EpochEnd(-1, -1))


@given(ENTRIES, st.integers(0, 110))
def test_the_epoch_of_an_offset_is_the_last_that_started_by_then(entries: list[tuple[int, int]], offset: int) -> None:
    made = epochs(*entries)
    assert made.epoch_for(offset) == max((e.epoch for e in made.entries if e.start_offset <= offset), default=-1)


@given(ENTRIES, st.integers(0, 110), st.integers(0, 110))
def test_truncation_keeps_the_epochs_of_what_is_left(entries: list[tuple[int, int]], start: int, end: int) -> None:
    made, cut = epochs(*entries), epochs(*entries)
    cut.truncate_from_end(end)
    cut.truncate_from_start(start)
    for offset in range(start, end):
        assert cut.epoch_for(offset) == made.epoch_for(offset)
    assert all(entry.start_offset < max(end, start + 1) for entry in cut.entries)


def test_an_undefined_epoch_is_unknown_and_the_latest_is_told() -> None:
    assert epochs((0, 0)).end_offset_for(-1, 5) == EpochEnd(-1, -1)
    assert epochs().latest_epoch == -1
    assert epochs((3, 0), (5, 9)).latest_epoch == 5


def test_assigning_says_whether_it_was_news() -> None:
    made = epochs((2, 9))
    assert not made.assign(2, 10)
    assert made.assign(3, 10)
    with pytest.raises(ValueError, match="no leader epoch -1 can start at offset 0"):
        made.assign(-1, 0)


@pytest.mark.parametrize(
    ("own", "answer", "expected"),
    [
        pytest.param(
            epochs((0, 0), (1, 10)), EpochEnd(1, 15), Truncation(15, complete=True), id="the leader ends first"
        ),
        pytest.param(
            epochs((0, 0), (1, 10)), EpochEnd(1, 90), Truncation(20, complete=True), id="the follower is short"
        ),
        pytest.param(
            epochs((0, 0), (3, 10)), EpochEnd(0, 14), Truncation(10, complete=True), id="own epoch ends first"
        ),
        pytest.param(
            epochs((0, 0), (3, 10)), EpochEnd(2, 14), Truncation(10, complete=False), id="unknown epoch: again"
        ),
        pytest.param(epochs((0, 0)), EpochEnd(-1, -1), Truncation(7, complete=True), id="no epochs: high watermark"),
        pytest.param(epochs(), EpochEnd(4, 12), Truncation(12, complete=True), id="no epochs of its own"),
    ],
)
def test_a_follower_truncates_where_the_logs_part(own: LeaderEpochs, answer: EpochEnd, expected: Truncation) -> None:
    assert follower_truncation(own, answer, log_end_offset=20, high_watermark=7) == expected


def test_fast_leader_changes_lose_nothing_that_was_committed() -> None:
    """KIP-279: both replicas led in turn, each wrote under its own epoch; two questions find where they part."""
    leader, follower = epochs((0, 0), (2, 10)), epochs((0, 0), (1, 10), (3, 12))
    first = follower_truncation(follower, leader.end_offset_for(3, 30), log_end_offset=14, high_watermark=9)
    assert first == Truncation(9, complete=True), "the leader never heard of epoch 3: only its watermark is safe"

    leader.assign(4, 30)
    asked = follower_truncation(follower, leader.end_offset_for(3, 31), log_end_offset=14, high_watermark=9)
    assert asked == Truncation(12, complete=False), "the leader answers with epoch 2, which the follower never saw"
    follower.truncate_from_end(asked.offset)
    again = follower_truncation(follower, leader.end_offset_for(follower.latest_epoch, 31), 12, high_watermark=9)
    assert again == Truncation(10, complete=True)
