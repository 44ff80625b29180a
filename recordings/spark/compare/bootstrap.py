"""The interval of a mean difference over paired seeds, by the bootstrap.

The differences are drawn again with replacement, as many as there are, and the mean of each resample is taken. The
quantiles of the percentile interval are widened for few seeds, to those of Student's t: the expanded percentile
interval of Hesterberg, "What Teachers Should Know About the Bootstrap" (The American Statistician 69, 2015, section
4.2). Without that, eight seeds of pure noise would differ five times as often as they may.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

CONFIDENCE: Final = 0.99
"""Of an interval, shown and deciding: a comparison looks at some twenty measures at once."""
FEWEST: Final = 8
"""Fewer differences have no interval: not even all of one sign are 99 % sure (2 / 2⁷ of all coins agree)."""
RESAMPLES: Final = 50_000
CHUNK: Final = 1_000
SEED: Final = 1


def mean_intervals(differences: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The interval of each column's mean; a row is a pair of flights, a column a measure.

    All columns are resampled alike, and the same differences give the same interval in any process. Raises ValueError
    for fewer than `FEWEST` rows.
    """
    if len(differences) < FEWEST:
        raise ValueError(f"{len(differences)} differences: an interval needs {FEWEST}")
    values = np.asarray(differences, dtype=np.float64)
    means = _resampled_means(values)
    tail = tail_of(len(values))
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _resampled_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each column in each resample, which is a count of how often each row was drawn."""
    count = len(values)
    draws = np.random.default_rng(SEED)
    chunks = (
        draws.multinomial(count, np.full(count, 1 / count), size=CHUNK) @ values / count
        for _ in range(RESAMPLES // CHUNK)
    )
    return np.concatenate(list(chunks))


@lru_cache(maxsize=1_000)
def tail_of(count: int) -> float:
    """The share of resamples on each side of the interval, for this many differences."""
    normal = NormalDist()
    return normal.cdf(-sqrt(count / (count - 1)) * student_quantile(1 - (1 - CONFIDENCE) / 2, count - 1))


def student_quantile(probability: float, degrees: int) -> float:
    """Student's t by its expansion in the normal quantile (Abramowitz and Stegun 26.7.5); good from 7 degrees on."""
    z = NormalDist().inv_cdf(probability)
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
