"""The points of a sweep: grids of listed values, Latin hypercubes of ranges, and points between neighbours.

A Latin hypercube parts each range into as many strata as there are points, and has one point in each stratum of each
range (McKay, Beckman, Conover 1979). All is drawn from one seed: the same file has the same points in any process.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise, product
from random import Random

import msgspec

from recordings.planning.grid import RowSettings
from recordings.spark.sweep.sweep_file import RangedKey, Sweep

DIGITS = 6


class Point(msgspec.Struct, frozen=True):
    """A point of a sweep: the number of its scenario, and the settings in which it differs from others."""

    scenario: int
    settings: RowSettings


def first_points(sweep: Sweep) -> list[Point]:
    """The points of the first round: every scenario and combination of listed values has the same draws of ranges."""
    draws = list(_hypercube(sweep.ranges, sweep.samples, Random(sweep.sample_seed)))
    combinations = product(*([(one.scope, one.key, value) for value in one.values] for one in sweep.lists))
    settings = [(*listed, *drawn) for listed in combinations for drawn in draws]
    return list(dict.fromkeys(Point(number, one) for number in range(len(sweep.scenarios)) for one in settings))


def between(sweep: Sweep, frontier: Sequence[Point], known: Iterable[Point]) -> list[Point]:
    """New points between neighbours on the frontier: ranges half-way, listed values of either neighbour."""
    seen = set(known)
    found: dict[Point, None] = {}
    for one, other in pairwise(frontier):
        middle = _middle(sweep.ranges, one, other)
        for near in (one, other):
            listed = near.settings[: len(sweep.lists)]
            point = Point(near.scenario, (*listed, *middle))
            if point not in seen:
                found[point] = None
    return list(found)


def _hypercube(ranges: Sequence[RangedKey], points: int, random: Random) -> Iterable[RowSettings]:
    columns = []
    for _ in ranges:
        strata = list(range(points))
        random.shuffle(strata)
        columns.append([(stratum + random.random()) / points for stratum in strata])
    for number in range(points):
        yield tuple(_at(one, column[number]) for one, column in zip(ranges, columns, strict=True))


def _middle(ranges: Sequence[RangedKey], one: Point, other: Point) -> RowSettings:
    return tuple(
        _at(each, (_share(each, mine) + _share(each, others)) / 2)
        for each, mine, others in zip(ranges, one.settings[-len(ranges) :], other.settings[-len(ranges) :], strict=True)
    )


def _at(one: RangedKey, share: float) -> tuple[str | None, str, str]:
    """The setting of a key at a share (0 to 1) of its range."""
    if one.logarithmic:
        value = math.exp(math.log(one.low) + share * (math.log(one.high) - math.log(one.low)))
    else:
        value = one.low + share * (one.high - one.low)
    written = str(round(value)) if one.whole else f"{Decimal(f'{value:.{DIGITS}g}'):f}"  # no setting reads an exponent
    return one.scope, one.key, written + one.unit


def _share(one: RangedKey, setting: tuple[str | None, str, str]) -> float:
    """The share of its range at which a setting of a key is."""
    value = float(setting[2].removesuffix(one.unit) if one.unit else setting[2])
    if one.logarithmic:
        return (math.log(value) - math.log(one.low)) / (math.log(one.high) - math.log(one.low))
    return (value - one.low) / (one.high - one.low)
