"""Medians, and intervals of them that need no assumption about the distribution.

Of n independent values the k-th smallest and the k-th largest enclose the median of their distribution with a
probability that follows from coin tosses alone (the interval of the sign test). Nothing is drawn.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import comb

SHOWN = 0.95
"""The confidence of an interval in a table."""

DECIDING = 0.99
"""The confidence with which two rows differ: a plan compares many pairs in many measures."""


def median(values: Sequence[float]) -> float:
    """The median; of an even number of values the middle between the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """The narrowest interval of order statistics with at least this confidence; with too few values, all of them."""
    ordered = sorted(values)
    outside = _outside(len(ordered), confidence)
    return ordered[outside], ordered[-1 - outside]


@lru_cache(maxsize=1_000)
def _outside(count: int, confidence: float) -> int:
    """How many values on each side are outside of the interval."""
    missed = 0
    for outside in range(count):
        missed += comb(count, outside)
        if 1 - 2 * missed / 2**count < confidence:
            return max(0, outside - 1)
    return 0


def enough_for(confidence: float) -> int:
    """The smallest number of values with an interval of this confidence."""
    count = 1
    while 1 - 2 / 2**count < confidence:
        count += 1
    return count
