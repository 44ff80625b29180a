"""Rows compared seed by seed: what differs, is dominated or, recommended, and the intervals behind it."""

import random
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from recordings.comparison.bill import Bill, ClusterBill, GroupBill, ProducerBill
from recordings.planning.flying import RowFlight
from recordings.planning.order_statistics import enough_for, median, median_interval
from recordings.planning.ranking import Judgement, judge, totals

SEEDS = range(1, 21)


def judged(*rows: Sequence[Mapping[str, Any]]) -> Judgement:
    """Rows by the bills of one group for each seed."""
    flights = [
        RowFlight(
            row=row,
            seed=seed,
            bill=Bill(at_us=1, groups={"g": GroupBill(**costs)}, producers={}, cluster=ClusterBill()),
        )
        for row, by_seed in enumerate(rows)
        for seed, costs in enumerate(by_seed, 1)
    ]
    return judge([[f"k={row}"] for row in range(len(rows))], flights, range(1, len(rows[0]) + 1))


def around(unread: int, *, noise: int = 0, shared: int = 1_000, **others: int) -> list[dict[str, int]]:
    """Costs that a draw of the seed moves for all rows alike, and another draw for this row alone."""
    draws = [(random.Random(seed), random.Random(f"{seed} {unread} {noise}")) for seed in SEEDS]
    return [
        {"unread_partition_us": unread + common.randint(0, shared) + own.randint(-noise, noise)} | others
        for common, own in draws
    ]


def test_an_interval_holds_the_median_as_often_as_it_says() -> None:
    """Compared with every outcome of n tosses: the count of values below the median is binomial."""
    for count, confidence in product(range(1, 13), (0.5, 0.9, 0.95, 0.99)):
        values = list(range(count))
        low, high = median_interval(values, confidence)
        outside = int(low)
        assert (low, high) == (outside, count - 1 - outside)

        def coverage(outside: int, count: int = count) -> float:
            tosses = list(product((0, 1), repeat=count))
            return sum(outside < sum(toss) < count - outside for toss in tosses) / len(tosses)

        if coverage(0) >= confidence:
            assert coverage(outside) >= confidence > coverage(outside + 1)
        else:
            assert outside == 0
    assert (median([3, 1, 2]), median([4, 1, 2, 3])) == (2, 2.5)
    assert (enough_for(0.95), enough_for(0.99)) == (6, 8)


def test_luck_that_rows_share_does_not_hide_a_difference() -> None:
    found = judged(around(10_000, shared=50_000), around(10_800, shared=50_000))
    assert found.differing == ["unread_partition_us"]
    assert found.rows[1].dominated_by == [1]
    assert found.recommendation is not None
    assert (found.recommendation.row, found.recommendation.instead_of) == (1, 2)
    gain = found.recommendation.gain
    assert gain is not None
    assert (gain.difference.median, gain.agreeing, gain.seeds) == (-800, 20, 20)
    unpaired = judged(around(10_000, shared=50_000), list(reversed(around(10_800, shared=50_000))))
    assert unpaired.rows[1].not_distinct_from == [1]


def test_rows_that_differ_by_luck_or_by_little_are_not_distinct() -> None:
    for other in (around(10_000, noise=900, shared=0), around(10_050, shared=0)):
        found = judged(around(10_000, shared=0), other)
        assert found.differing == []
        assert [row.not_distinct_from for row in found.rows] == [[2], [1]]
        assert found.recommendation is not None
        assert (found.recommendation.equals, found.recommendation.gain) == ([2], None)


def test_a_row_that_pays_in_another_cost_is_not_dominated_and_a_count_of_rebalances_is_no_cost() -> None:
    found = judged(
        around(90_000, duplicated=3),
        around(20_000, duplicated=80, rebalances=43),
        around(20_000, duplicated=900, rebalances=2),
    )
    assert [row.dominated_by for row in found.rows] == [[], [], [2]]
    assert found.recommendation is not None
    assert (found.recommendation.row, found.recommendation.instead_of) == (2, 3)
    assert [trade.measure for trade in found.recommendation.price] == ["rebalances"]


def test_a_lost_record_is_worse_than_any_delay() -> None:
    found = judged(around(0, shared=0, lost=1), around(900_000, shared=0))
    assert found.recommendation is not None
    assert found.recommendation.row == 2
    assert [trade.measure for trade in found.recommendation.price] == ["unread_partition_us"]


def test_a_row_with_a_failed_flight_is_neither_judged_nor_recommended() -> None:
    flights = [
        RowFlight(
            row=row,
            seed=seed,
            failed="a bug" if (row, seed) == (0, 3) else None,
            bill=None
            if (row, seed) == (0, 3)
            else Bill(at_us=1, groups={"g": GroupBill(lost=row)}, producers={}, cluster=ClusterBill()),
        )
        for row in (0, 1, 2)
        for seed in (1, 2, 3)
    ]
    found = judge([["a"], ["b"], ["c"]], flights, [1, 2, 3])
    assert [(row.judged, row.flights) for row in found.rows] == [(False, 2), (True, 3), (True, 3)]
    assert [(each.seed, each.reason) for each in found.rows[0].failed] == [(3, "a bug")]
    assert [row.recommended for row in found.rows] == [False, True, False]


@pytest.mark.parametrize("seeds", [[], [1]])
def test_without_a_flight_nothing_is_recommended(seeds: list[int]) -> None:
    found = judge([["a"], ["b"]], [], seeds)
    assert found.recommendation is None
    assert not any(row.judged for row in found.rows)


def test_several_groups_pay_together_and_the_longest_lag_counts() -> None:
    groups = {"a": GroupBill(lost=2, peak_time_lag_us=5), "b": GroupBill(lost=3, peak_time_lag_us=4)}
    bill = Bill(
        at_us=1, groups=groups, producers={"p": ProducerBill(late=1), "q": ProducerBill(late=2)}, cluster=ClusterBill()
    )
    found = totals(bill)
    assert (found["lost"], found["peak_time_lag_us"], found["late"]) == (5, 5, 3)


def test_a_row_whose_group_reads_nothing_is_not_recommended() -> None:
    costs = around(90_000_000)
    reading = [each | {"delivered": 10} for each in costs]
    found = judged([{"delivered": 0}] * len(SEEDS), reading, [each | {"lost": 3} for each in reading])
    assert [row.read_nothing for row in found.rows] == [["g"], [], []]
    assert all(row.judged for row in found.rows)
    assert found.recommendation is not None
    assert found.recommendation.row == 2
    assert found.rows[1].dominated_by == []
    assert found.rows[2].dominated_by == [2]
