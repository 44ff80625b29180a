"""IntervalSet against plain sets of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.storage.offset_ranges import IntervalSet

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=12)


def filled(ranges: list[tuple[int, int]]) -> tuple[IntervalSet, set[int]]:
    intervals = IntervalSet()
    plain: set[int] = set()
    for first, length in ranges:
        new = set(range(first, first + length)) - plain
        assert intervals.add(first, first + length) == len(new)
        plain |= new
    return intervals, plain


@given(RANGES, st.integers(0, 70), st.integers(0, 70))
def test_it_counts_and_names_gaps_as_a_set_does(ranges: list[tuple[int, int]], first: int, end: int) -> None:
    intervals, plain = filled(ranges)
    wanted = set(range(first, end))
    assert intervals.covered(first, end) == len(plain & wanted)
    assert {number for low, high in intervals.gaps(first, end) for number in range(low, high)} == wanted - plain
    assert sorted(zip(intervals.starts, intervals.ends, strict=True)) == list(
        zip(intervals.starts, intervals.ends, strict=True)
    )


@given(RANGES, st.integers(0, 70))
def test_truncate_drops_what_lies_behind(ranges: list[tuple[int, int]], end: int) -> None:
    intervals, plain = filled(ranges)
    assert intervals.truncate(end) == len({number for number in plain if number >= end})
    assert intervals.covered(0, 100) == len({number for number in plain if number < end})


def test_what_two_sets_share_is_counted_within_a_range() -> None:
    one, other = IntervalSet(), IntervalSet()
    for first, end in ((0, 4), (10, 20)):
        one.add(first, end)
    other.add(2, 15)
    assert list(one.ranges()) == [(0, 4), (10, 20)]
    assert one.shared(other, 0, 100) == other.shared(one, 0, 100) == 7
    assert one.shared(other, 3, 12) == 3
    assert one.shared(other, 4, 10) == 0


@given(RANGES, RANGES)
def test_two_sets_are_cut_with_one_another_as_sets_are(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    (first, plain), (second, other) = filled(one), filled(two)
    for found, wanted in ((first.within(second), plain & other), (first.without(second), plain - other)):
        assert {number for low, high in found.ranges() for number in range(low, high)} == wanted
        assert all(low < high for low, high in found.ranges())
        assert found.size == len(wanted)
