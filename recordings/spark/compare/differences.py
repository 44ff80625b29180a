"""Two sets of bills judged: each measure's mean in both, the mean difference of the pairs, and whether they differ.

A measure differs if the interval of its mean difference excludes 0, and the difference is at least a hundredth of the
larger mean, and of a duration a tenth of a second. With fewer than eight pairs there is no interval: a measure differs
then if it does so in every pair, in one direction.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from recordings.comparison.bill import MEASURES, Bill, Measure, Scope, payers
from recordings.comparison.pairing import paired, read_nothing, total
from recordings.comparison.verdict import WEIGHED
from recordings.planning.ranking import MATERIAL
from recordings.spark.compare.bootstrap import FEWEST, mean_intervals

SMALLEST_US = 100_000
"""A smaller mean difference of a duration decides nothing: a tenth of a second is what `diff` shows."""

Payer = tuple[Scope, str, str]
Amounts = list[tuple[int, int, int]]
"""(number of the pair, the amount in the first flight, in the second)."""


class MeasureDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A measure of one payer, or of all payers of a scope (`name` ""), over `pairs` pairs of flights.

    `a`, `b`: the means; `difference`: of b − a; `low`, `high`: its interval, null with too few pairs. `agreeing`: pairs
    that differ in the direction of the mean. `nearest`: the number of the pair whose difference is nearest to the mean.
    Amounts are those of the bill: a field that ends in `_us` is in microseconds.
    """

    scope: Scope
    name: str
    name_b: str
    measure: str
    field: str
    unit: str
    pairs: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    agreeing: int
    differs: bool
    nearest: int

    @property
    def b_is_better(self) -> bool:
        """Whether the second set has less of it: of every measure less is better."""
        return self.difference < 0


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """All measures: `totals` over all payers of a scope, by weight; `rows` by payer, where a scope has several.

    `same`: measures that are equal in every pair, by name. `idle_a`, `idle_b`: groups that read nothing in that set,
    though they do in the other one; they are left out.
    """

    totals: list[MeasureDifference]
    rows: list[MeasureDifference]
    same: list[str]
    idle_a: list[str]
    idle_b: list[str]


def judge(bills: Mapping[int, tuple[Bill, Bill]]) -> Differences:
    """Judge pairs of bills, by number. Raises NotComparableError if a pair has nothing in common."""
    idle_a = sorted({name for a, b in bills.values() for name in read_nothing(a, [b])})
    idle_b = sorted({name for a, b in bills.values() for name in read_nothing(b, [a])})
    sums: dict[Measure, Amounts] = {measure: [] for measure in WEIGHED}
    amounts: dict[tuple[Payer, Measure], Amounts] = defaultdict(list)
    for number, (a, b) in bills.items():
        pairs = {
            scope: [(one, other) for one, other in both if not (one in idle_a or one in idle_b or other in idle_b)]
            for scope, both in paired(a, b).pairs.items()
        }
        for measure in MEASURES:
            both = pairs[measure.scope]
            first, second = ([pair[side] for pair in both] for side in (0, 1))
            sums[measure].append((number, total(a, measure, first), total(b, measure, second)))
            for one, other in both:
                left, right = payers(a, measure.scope)[one], payers(b, measure.scope)[other]
                key = (measure.scope, one, other), measure
                amounts[key].append((number, measure.of(left), measure.of(right)))
    several = {scope for scope in Scope if len({payer for payer, _ in amounts if payer[0] is scope}) > 1}
    rows = {key: found for key, found in amounts.items() if key[0][0] in several}
    return Differences(
        totals=_judged({((measure.scope, "", ""), measure): found for measure, found in sums.items()}),
        rows=_judged(rows),
        same=[measure.name for measure in MEASURES if all(a == b for _, a, b in sums[measure])],
        idle_a=idle_a,
        idle_b=idle_b,
    )


def _judged(amounts: Mapping[tuple[Payer, Measure], Amounts]) -> list[MeasureDifference]:
    """Every measure that is not equal in every pair; those with the same number of pairs are resampled alike."""
    unequal = {key: found for key, found in amounts.items() if any(a != b for _, a, b in found)}
    intervals: dict[tuple[Payer, Measure], tuple[float, float]] = {}
    for count in {len(found) for found in unequal.values()} - set(range(FEWEST)):
        alike = [key for key, found in unequal.items() if len(found) == count]
        columns = [[b - a for _, a, b in unequal[key]] for key in alike]
        intervals |= zip(alike, mean_intervals(list(zip(*columns, strict=True))), strict=True)
    return [_difference(*key, found, intervals.get(key)) for key, found in unequal.items()]


def _difference(
    payer: Payer, measure: Measure, amounts: Sequence[tuple[int, int, int]], interval: tuple[float, float] | None
) -> MeasureDifference:
    scope, name, name_b = payer
    count = len(amounts)
    mean_a, mean_b = (sum(each[place] for each in amounts) / count for place in (1, 2))
    difference = sum(b - a for _, a, b in amounts) / count
    agreeing = sum((b - a) * difference > 0 for _, a, b in amounts)
    least = SMALLEST_US if measure.field.endswith("_us") else 0
    sure = agreeing == count if interval is None else interval[0] > 0 or interval[1] < 0
    return MeasureDifference(
        scope=scope,
        name=name,
        name_b=name_b,
        measure=measure.name,
        field=measure.field,
        unit=measure.unit,
        pairs=count,
        a=mean_a,
        b=mean_b,
        difference=difference,
        low=None if interval is None else interval[0],
        high=None if interval is None else interval[1],
        agreeing=agreeing,
        differs=sure and abs(difference) >= max(MATERIAL * max(mean_a, mean_b), least),
        nearest=min(amounts, key=lambda each: (abs(each[2] - each[1] - difference), each[0]))[0],
    )
