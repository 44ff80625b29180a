"""The points of a sweep judged: the median of every measure over the seeds, and the frontier of two of them.

A point is on the frontier (the Pareto set) if no other one costs at most as much in both measures and less in one.
"""

from collections.abc import Mapping, Sequence

import msgspec

from recordings.comparison.bill import MEASURES
from recordings.planning.order_statistics import SHOWN, median, median_interval
from recordings.planning.ranking import Estimate, FailedFlight
from recordings.spark.sweep.kept_flights import SweptFlight
from recordings.spark.sweep.sampling import Point


class SweptPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point and its estimates, by the field of the bill; without them if one of its flights failed.

    `seed`: its flight nearest to the median of the first measure of the frontier. `held`: no flight of it
    failed an expectation.
    """

    point: Point
    scenario: str
    settings: list[str]
    flights: int
    failed: list[FailedFlight]
    measures: dict[str, Estimate]
    seed: int | None
    held: bool
    on_frontier: bool = False


class Frontier(msgspec.Struct, frozen=True, kw_only=True):
    """All points in the order in which they were made; `missing` counts flights that have not ended."""

    axes: tuple[str, str]
    points: list[SweptPoint]
    missing: int

    @property
    def best(self) -> list[SweptPoint]:
        """The points on the frontier, by the first measure."""
        found = (each for each in self.points if each.on_frontier)
        return sorted(found, key=lambda each: tuple(each.measures[axis].median for axis in self.axes))

    @property
    def differing(self) -> list[str]:
        """The measures whose medians differ between points, the axes first."""
        judged = [each for each in self.points if each.measures]
        varied = (m.field for m in MEASURES if len({one.measures[m.field].median for one in judged}) > 1)
        return list(dict.fromkeys((*self.axes, *varied)))


def judge(
    points: Sequence[tuple[Point, str, list[str], Sequence[str]]],
    flights: Mapping[str, SweptFlight],
    axes: tuple[str, str],
) -> Frontier:
    """Judge points, each with its scenario, its settings as texts and the names of its flights; `axes`: two fields."""
    found, missing = [], 0
    for point, scenario, settings, keys in points:
        ended = [flights[key] for key in keys if key in flights]
        missing += len(keys) - len(ended)
        found.append(_judged(point, scenario, settings, ended, whole=len(ended) == len(keys), axis=axes[0]))
    costs = {each.point: _costs(each, axes) for each in found if each.measures}
    best = _undominated(costs)
    marked = [msgspec.structs.replace(each, on_frontier=each.point in best) for each in found]
    return Frontier(axes=axes, points=marked, missing=missing)


def _judged(
    point: Point, scenario: str, settings: list[str], ended: Sequence[SweptFlight], *, whole: bool, axis: str
) -> SweptPoint:
    failed = [FailedFlight(each.seed, each.failure) for each in ended if each.failure is not None]
    bills = {each.seed: each.measures for each in ended if each.measures is not None}
    measures: dict[str, Estimate] = {}
    seed = None
    if whole and bills and not failed:
        for measure in MEASURES:
            values = [bill[measure.field] for bill in bills.values()]
            measures[measure.field] = Estimate(median(values), *median_interval(values, SHOWN))
        middle = measures[axis].median
        seed = min(bills, key=lambda one: (abs(bills[one][axis] - middle), one))
    return SweptPoint(
        point=point,
        scenario=scenario,
        settings=settings,
        flights=len(ended),
        failed=failed,
        measures=measures,
        seed=seed,
        held=all(each.held for each in ended),
    )


def _costs(one: SweptPoint, axes: tuple[str, str]) -> tuple[float, float]:
    return one.measures[axes[0]].median, one.measures[axes[1]].median


def _undominated(costs: Mapping[Point, tuple[float, float]]) -> set[Point]:
    """The points that no other one dominates: one pass over them by the first cost, then the second."""
    best: set[Point] = set()
    least, at = float("inf"), (float("inf"), float("inf"))
    for point, cost in sorted(costs.items(), key=lambda each: each[1]):
        if cost[1] < least or cost == at:
            best.add(point)
            least, at = cost[1], cost
    return best
