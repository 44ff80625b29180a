"""The stop that explains a series of lag: a group that polls nothing for a while, and then catches up.

While no member polls, lag grows by the arrival rate; afterwards it falls by what the group processes beyond that.
So the lag is a level with one tent on it. `fit` finds the tent with the least squares.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import msgspec
import numpy as np

from recordings.importing.draft import LagSample

_KNOTS: Final = 40
_BEYOND: Final = (1.25, 1.5, 2.0, 3.0, 5.0)
"""Ends of catching up that lie behind the series, in lengths of the series."""
_ROUNDS: Final = 12
_MOVES: Final = 4 * _KNOTS  # of one length: the end of a lag that hardly falls would move out for ever
_EXPLAINED: Final = 0.5
"""A tent that leaves more than this of the variance is no explanation."""
_Samples = np.ndarray[tuple[int], np.dtype[np.float64]]


class LagFit(msgspec.Struct, frozen=True):
    """A fitted stop. Seconds count from the first sample; rates are records per second.

    `processed_per_s`: what the group processes after the stop; None when the series ends before the group resumes.
    `error_records`: the root mean square of what the fit leaves; `peak_records`: the fitted lag at the end of the stop.
    """

    stops_at_s: float
    resumes_at_s: float
    level_records: float
    arriving_per_s: float
    processed_per_s: float | None
    caught_up_at_s: float | None
    peak_records: float
    error_records: float


class _Tent(msgspec.Struct, frozen=True):
    """A level, and the height of a tent on it from `start` over `top` to `end`; `left`: the squares that remain."""

    start: float
    top: float
    end: float
    level: float
    height: float
    left: float


def fit(samples: Sequence[LagSample]) -> LagFit | None:
    """The stop that explains the samples; None when there is none in them: the lag is level, or only falls."""
    at = np.array([one.at_s for one in samples], dtype=np.float64)
    lag = np.array([one.records for one in samples], dtype=np.float64)
    knots = np.unique(np.linspace(0, len(at) - 1, min(_KNOTS, len(at))).round().astype(int))
    best = min((_on(at[knots], lag[knots], corners) for corners in _corners(at[knots])), key=lambda tent: tent.left)
    best = _refined(at, lag, _on(at, lag, (best.start, best.top, best.end)))
    variance = float(((lag - lag.mean()) ** 2).sum())
    if best.height <= 0 or best.left > _EXPLAINED * variance:
        return None
    arriving = best.height / (best.top - best.start)
    resumes = best.top < at[-1]
    return LagFit(
        stops_at_s=best.start,
        resumes_at_s=best.top,
        level_records=best.level,
        arriving_per_s=arriving,
        processed_per_s=arriving + best.height / (best.end - best.top) if resumes else None,
        caught_up_at_s=best.end if resumes else None,
        peak_records=best.level + best.height,
        error_records=float(np.sqrt(best.left / len(at))),
    )


def _corners(at: _Samples) -> Iterator[tuple[float, float, float]]:
    """Where a tent may begin, have its top and end: at knots, or end behind the last one."""
    places = [float(one) for one in at]
    yield from combinations(places, 3)
    last, length = places[-1], places[-1] - places[0]
    for start, top in combinations(places, 2):
        for times in _BEYOND:
            yield start, top, last + (times - 1) * length


def _on(at: _Samples, lag: _Samples, corners: tuple[float, float, float]) -> _Tent:
    """The level and the height with the least squares for these corners; neither is below zero."""
    start, top, end = corners
    with np.errstate(over="ignore"):  # of samples that lie next to each other: infinitely steep
        shape = np.minimum((at - start) / (top - start), (end - at) / (end - top)).clip(0.0, 1.0)
    shape_mean, lag_mean = float(shape.mean()), float(lag.mean())
    spread = float(((shape - shape_mean) ** 2).sum())
    height = float(((shape - shape_mean) * lag).sum()) / spread if spread else 0.0
    level = lag_mean - height * shape_mean
    if level < 0:
        level, squares = 0.0, float((shape**2).sum())
        height = float((shape * lag).sum()) / squares if squares else 0.0
    left = float(((lag - level - height * shape) ** 2).sum())
    return _Tent(start, top, end, level, height, left)


def _refined(at: _Samples, lag: _Samples, tent: _Tent) -> _Tent:
    """The tent with its corners moved, by ever smaller steps, while that leaves less."""
    step = float(at[-1] - at[0]) / _KNOTS
    for _ in range(_ROUNDS):
        for _ in range(_MOVES):
            near = [_on(at, lag, corners) for corners in _moved(tent, step, float(at[0]), float(at[-1]))]
            better = min(near, key=lambda one: one.left, default=tent)
            if better.left >= tent.left * (1 - 1e-9):
                break
            tent = better
        step /= 2
    return tent


def _moved(tent: _Tent, step: float, first: float, last: float) -> Iterator[tuple[float, float, float]]:
    corners = (tent.start, tent.top, tent.end)
    for place in range(3):
        for by in (-step, step):
            start, top, end = (one + by if number == place else one for number, one in enumerate(corners))
            if first <= start < top < end and top <= last:
                yield start, top, end
