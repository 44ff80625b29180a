"""Placements against a plain list: whose record stands at each offset of a log that grows, is cut, and is deleted."""

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.view import placements as module
from cluster.view.placements import LEAST_LOOSE_RUNS, PACKED_RUNS, Placements

STEP = st.one_of(
    st.tuples(st.just("append"), st.sampled_from(("a", "b", "")), st.integers(1, 4)),
    st.tuples(st.just("cut"), st.just(""), st.integers(0, 40)),
    st.tuples(st.just("drop"), st.just(""), st.integers(0, 40)),
)


@given(st.lists(STEP, max_size=30), st.integers(0, 40), st.integers(0, 40), st.sampled_from((1, 2, 64)))
def test_it_names_what_stands_at_each_offset(
    steps: list[tuple[str, str, int]], first: int, end: int, packed_runs: int
) -> None:
    with patch.multiple(module, PACKED_RUNS=packed_runs, LEAST_LOOSE_RUNS=packed_runs):
        names_what_stands_there(steps, first, end)


def names_what_stands_there(steps: list[tuple[str, str, int]], first: int, end: int) -> None:
    placements, plain = Placements(), list[tuple[str, int]]()
    serials = {"a": 0, "b": 100, "": 0}
    for word, producer, number in steps:
        if word == "append":
            at, serial = len(plain), serials[producer]
            placements.append(at, at + number, producer, serial)
            plain += [(producer, serial + place) for place in range(number)]
            serials[producer] += number
        elif word == "cut" and number < len(plain) and number >= placements.first:
            placements.cut(number)
            del plain[number:]
        elif word == "drop":
            placements.drop_before(number)
    found = {
        offset: (producer, serial + offset - at)
        for at, until, producer, serial in placements.between(first, end)
        for offset in range(at, until)
    }
    wanted = {place: named for place, named in enumerate(plain) if named[0] and first <= place < end}
    assert found == {place: named for place, named in wanted.items() if place >= placements.first}
    assert placements.end == len(plain)


def test_successive_records_of_one_producer_are_one_run() -> None:
    placements = Placements()
    for at in range(0, 50, 5):
        placements.append(at, at + 5, "a", at)
    assert (placements.ends, placements.producers) == ([50], ["a"])


def many_runs(count: int) -> Placements:
    """Two producers in turns, each run a little longer than the last but three; the serial numbers have gaps."""
    placements = Placements()
    at, serials = 0, {"a": 0, "b": 7}
    for number in range(count):
        producer = "ab"[number % 2]
        length = 1 + number % 3
        serials[producer] += number % 5 == 0
        placements.append(at, at + length, producer, serials[producer])
        at += length
        serials[producer] += length
    return placements


def test_older_runs_are_packed_to_a_twentieth() -> None:
    placements = many_runs(10_000)
    assert len(placements.ends) <= LEAST_LOOSE_RUNS + PACKED_RUNS
    assert sum(map(len, placements.packed)) <= 5 * 10_000
    assert len(list(placements.between(0, placements.end))) == 10_000


@pytest.mark.parametrize("seed", range(20))
def test_packed_runs_say_what_loose_ones_say(seed: int) -> None:
    draws = Random(seed)
    packed = many_runs(1_000)
    with patch.object(module, "LEAST_LOOSE_RUNS", 10_000):
        loose = many_runs(1_000)
    for _ in range(20):
        if draws.random() < 0.4:
            first = draws.randrange(packed.first + 1, packed.end)
            packed.drop_before(first)
            loose.drop_before(first)
        else:
            end = draws.randrange(max(packed.first + 1, packed.end - 200), packed.end + 1)
            assert packed.cut(end) == loose.cut(end)
        assert (packed.first, packed.end) == (loose.first, loose.end)
        for _ in range(5):
            first, end = sorted((draws.randrange(packed.end + 3), draws.randrange(packed.end + 3)))
            assert list(packed.between(first, end)) == list(loose.between(first, end))
        for placements in (packed, loose):
            placements.append(placements.end, placements.end + 9, "ab"[placements.end % 2], 10**6 + placements.end)
