"""Bootstrap intervals against every resample there is, against tables of Student's t, and on noise."""

from itertools import combinations, pairwise
from math import factorial, prod

import numpy as np
import pytest

from recordings.spark.compare.bootstrap import CONFIDENCE, FEWEST, mean_intervals, student_quantile, tail_of

DIFFERENCES = [3, -1, 4, 1, 5, 9, 2, 6]


def every_resample(values: list[int]) -> list[tuple[float, float]]:
    """The mean of each possible resample with its probability: all ways to draw n of n with replacement."""
    n = len(values)
    found = []
    for bars in combinations(range(2 * n - 1), n - 1):  # stars and bars: how often each value is drawn
        cuts = (-1, *bars, 2 * n - 1)
        counts = [after - before - 1 for before, after in pairwise(cuts)]
        ways = factorial(n) / prod(factorial(count) for count in counts)
        found.append((sum(c * v for c, v in zip(counts, values, strict=True)) / n, ways / n**n))
    return sorted(found)


def share_below(resamples: list[tuple[float, float]], mean: float) -> float:
    return sum(chance for value, chance in resamples if value < mean - 1e-9)


def test_an_interval_has_the_tails_that_all_resamples_have() -> None:
    resamples = every_resample(DIFFERENCES)
    assert sum(chance for _, chance in resamples) == pytest.approx(1)
    [(low, high)] = mean_intervals([[value] for value in DIFFERENCES])
    tail = tail_of(len(DIFFERENCES))
    one = 1 / len(DIFFERENCES)  # means are eighths: a quantile is one of them, drawn to within one
    assert share_below(resamples, low - one) <= tail <= share_below(resamples, low + 2 * one)
    assert 1 - share_below(resamples, high + 2 * one) <= tail <= 1 - share_below(resamples, high - one)


def test_the_tails_are_those_of_student() -> None:
    """Quantiles as tables have them: 3.499 with 7 degrees of freedom, 2.861 with 19, 2.576 without end."""
    assert student_quantile(0.995, 7) == pytest.approx(3.4995, abs=0.006)
    assert student_quantile(0.995, 19) == pytest.approx(2.8609, abs=0.001)
    assert student_quantile(0.995, 10**9) == pytest.approx(2.5758, abs=0.0001)
    assert tail_of(8) < tail_of(20) < tail_of(1000) < (1 - CONFIDENCE) / 2


def test_noise_differs_as_seldom_as_the_confidence_says() -> None:
    """200 sets of eight, whose true mean is 0. Without the wider tails three times as many differ."""
    draws = np.random.default_rng(20)
    columns = draws.normal(size=(FEWEST, 200))
    wrong = sum(low > 0 or high < 0 for low, high in mean_intervals(columns.tolist()))
    assert wrong <= 8, "1 % is promised; of 200 are 8 more than chance allows"
    means = columns[draws.integers(0, FEWEST, (5_000, FEWEST))].mean(axis=1)
    plain = np.quantile(means, [0.005, 0.995], axis=0)
    assert int(((plain[0] > 0) | (plain[1] < 0)).sum()) > wrong


def test_the_same_differences_have_the_same_interval_and_columns_do_not_touch() -> None:
    alone = mean_intervals([[value] for value in DIFFERENCES])
    beside = mean_intervals([[7, value] for value in DIFFERENCES])
    assert beside == [(7, 7), *alone]
    assert mean_intervals([[value] for value in DIFFERENCES]) == alone


def test_too_few_have_no_interval() -> None:
    with pytest.raises(ValueError, match="7 differences: an interval needs 8"):
        mean_intervals([[1.0]] * 7)
