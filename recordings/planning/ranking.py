"""The rows of a plan judged: which differ, which are dominated, which one is recommended and on what evidence.

Rows are compared seed by seed, so that the draws that both share cancel out. Two rows differ in a measure if the
interval of their paired differences excludes 0 and the median difference is at least a hundredth of the larger median.
A row is dominated by one that costs less in some measure and more in none. A row in which a group reads nothing, though
it reads in another row, is compared with none: what it saves is the work.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

import msgspec

from recordings.comparison.bill import MEASURES, Bill, payers
from recordings.comparison.pairing import total
from recordings.comparison.verdict import WEIGHED
from recordings.planning.flying import RowFlight
from recordings.planning.order_statistics import DECIDING, SHOWN, median, median_interval

MATERIAL: Final = 0.01
"""A difference below this share of the larger median decides nothing."""

COUNTS: Final = frozenset({"rebalances", "refused", "retries", "compacted"})
"""Measures that are no costs: what a rebalance, a refused batch or a retry costs is in the other measures.

A record that compaction replaced before a group came to it is what the topic's owner asked for.
"""

COSTS: Final = tuple(measure.field for measure in WEIGHED if measure.field not in COUNTS)
"""The costs by their weight."""


class Estimate(msgspec.Struct, frozen=True):
    """A measure of one row over its seeds: the median, and the interval of it."""

    median: float
    low: float
    high: float


class FailedFlight(msgspec.Struct, frozen=True):
    """The seed of a flight that failed, and the reason."""

    seed: int
    reason: str


class PlanRow(msgspec.Struct, frozen=True, kw_only=True):
    """One combination, numbered from 1: its measures, and what they say beside the other rows.

    `flights`: how many have ended well. `judged`: all did. `read_nothing`: groups that only other rows let read.
    """

    row: int
    settings: list[str]
    flights: int
    judged: bool
    failed: list[FailedFlight]
    measures: dict[str, Estimate]
    read_nothing: list[str] = []
    dominated_by: list[int] = []
    not_distinct_from: list[int] = []
    recommended: bool = False


class Trade(msgspec.Struct, frozen=True, kw_only=True):
    """A measure in which the recommended row and the next best differ: both medians, and the paired difference.

    `agreeing` of `seeds` differ in the direction of the median.
    """

    measure: str
    recommended: float
    other: float
    difference: Estimate
    agreeing: int
    seeds: int


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """The row that costs least by the first cost that distinguishes it, the next best, and the seed that shows it.

    `instead_of` and `seed` are None if no cost distinguishes any two rows. `equals`: rows that are as good.
    """

    row: int
    equals: list[int]
    instead_of: int | None
    gain: Trade | None
    price: list[Trade]
    seed: int | None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """All rows, the measures in which any two judged ones differ (in the order of the bill), and the recommendation."""

    rows: list[PlanRow]
    differing: list[str]
    recommendation: Recommendation | None


def totals(bill: Bill) -> dict[str, int]:
    """Every measure over all groups and all producers."""
    return {measure.field: total(bill, measure, payers(bill, measure.scope)) for measure in MEASURES}


def judge(settings: Sequence[list[str]], flights: Iterable[RowFlight], seeds: Sequence[int]) -> Judgement:
    """Judge the rows of a plan by the flights with these seeds. A row is judged if each of them has ended well."""
    values: dict[int, dict[int, dict[str, int]]] = {row: {} for row in range(len(settings))}
    failed: dict[int, list[FailedFlight]] = {row: [] for row in values}
    readers: dict[int, set[str]] = {row: set() for row in values}
    for flight in sorted(flights, key=lambda each: each.seed):
        if flight.failed is not None:
            failed[flight.row].append(FailedFlight(flight.seed, flight.failed))
        elif flight.bill is not None and flight.seed in seeds:
            values[flight.row][flight.seed] = totals(flight.bill)
            readers[flight.row] |= {name for name, group in flight.bill.groups.items() if group.delivered}
    judged = [row for row in values if seeds and len(values[row]) == len(seeds) and not failed[row]]
    idle = {row: sorted(set().union(*readers.values()) - readers[row]) for row in judged}
    compared = [row for row in judged if not idle[row]]
    pairs = _Pairs({row: values[row] for row in compared})
    recommendation = pairs.recommendation()
    sole = len(compared) == 1
    starred = recommendation.row if recommendation is not None and (sole or recommendation.gain is not None) else 0
    rows = []
    for row, by_seed in values.items():
        others = [other for other in compared if other != row] if row in compared else []
        rows.append(
            PlanRow(
                row=row + 1,
                settings=settings[row],
                flights=len(by_seed),
                judged=row in judged,
                failed=failed[row],
                measures=_estimates(list(by_seed.values())),
                read_nothing=idle.get(row, []),
                dominated_by=[other + 1 for other in others if pairs.dominates(other, row)],
                not_distinct_from=[other + 1 for other in others if pairs.alike(other, row)],
                recommended=starred == row + 1,
            )
        )
    return Judgement(rows=rows, differing=pairs.differing(), recommendation=recommendation)


def _estimates(bills: Sequence[Mapping[str, int]]) -> dict[str, Estimate]:
    found = {}
    for measure in MEASURES if bills else ():
        values = [each[measure.field] for each in bills]
        found[measure.field] = Estimate(median(values), *median_interval(values, SHOWN))
    return found


class _Pairs:
    """The judged rows, whose measures are known by seed, compared in pairs."""

    def __init__(self, values: Mapping[int, Mapping[int, Mapping[str, int]]]) -> None:
        self._values = values
        self._medians = {
            (row, each.field): median([by_field[each.field] for by_field in by_seed.values()])
            for row, by_seed in values.items()
            for each in MEASURES
        }
        self._compared: dict[tuple[int, int, str], int] = {}

    def compare(self, row: int, other: int, field: str) -> int:
        """-1 if the row costs less, 1 if it costs more, 0 if they cannot be distinguished."""
        if row > other:
            return -self.compare(other, row, field)
        key = (row, other, field)
        if key not in self._compared:
            self._compared[key] = self._sign(row, other, field)
        return self._compared[key]

    def _sign(self, row: int, other: int, field: str) -> int:
        differences = list(self._differences(row, other, field).values())
        low, high = median_interval(differences, DECIDING)
        larger = max(self._medians[row, field], self._medians[other, field])
        if low <= 0 <= high or abs(median(differences)) < MATERIAL * larger:
            return 0
        return -1 if high < 0 else 1

    def _differences(self, row: int, other: int, field: str) -> dict[int, int]:
        """By seed, what the row costs more than the other one."""
        mine, others = self._values[row], self._values[other]
        return {seed: mine[seed][field] - others[seed][field] for seed in mine}

    def dominates(self, row: int, other: int) -> bool:
        """Whether the row costs less in some measure and more in none."""
        signs = [self.compare(row, other, field) for field in COSTS]
        return -1 in signs and 1 not in signs

    def alike(self, row: int, other: int) -> bool:
        """Whether no measure distinguishes the two."""
        return not any(self.compare(row, other, measure.field) for measure in MEASURES)

    def differing(self) -> list[str]:
        """The measures that distinguish any two rows."""
        pairs = list(combinations(self._values, 2))
        return [each.field for each in MEASURES if any(self.compare(*pair, each.field) for pair in pairs)]

    def recommendation(self) -> Recommendation | None:
        """The row that is left when the costs by weight have put others behind it; None without rows."""
        left = list(self._values)
        if not left:
            return None
        gain, behind = "", left
        for field in COSTS:
            least = min(left, key=lambda row: (self._medians[row, field], row))
            out = [row for row in left if self.compare(row, least, field) > 0]
            if out:
                left, gain, behind = [row for row in left if row not in out], field, out
        best, equals = left[0], [row + 1 for row in left[1:]]
        if not gain:
            return Recommendation(row=best + 1, equals=equals, instead_of=None, gain=None, price=[], seed=None)
        other = min(behind, key=lambda row: (self._medians[row, gain], row))
        differences = self._differences(best, other, gain)
        middle = median(list(differences.values()))
        dearer = [each.field for each in MEASURES if self.compare(best, other, each.field) > 0]
        return Recommendation(
            row=best + 1,
            equals=equals,
            instead_of=other + 1,
            gain=self._trade(best, other, gain),
            price=[self._trade(best, other, field) for field in dearer],
            seed=min(differences, key=lambda seed: (abs(differences[seed] - middle), seed)),
        )

    def _trade(self, best: int, other: int, field: str) -> Trade:
        differences = list(self._differences(best, other, field).values())
        middle = median(differences)
        return Trade(
            measure=field,
            recommended=self._medians[best, field],
            other=self._medians[other, field],
            difference=Estimate(middle, *median_interval(differences, DECIDING)),
            agreeing=sum(1 for each in differences if each * middle > 0),
            seeds=len(differences),
        )
