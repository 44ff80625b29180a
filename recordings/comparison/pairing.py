"""The bills of two flights side by side: what is compared with what, and every amount that differs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from recordings.bounded_files import RecordingError
from recordings.comparison.amounts import amount
from recordings.comparison.bill import MEASURES, Bill, Measure, Scope, payers

LARGEST = frozenset({"peak_time_lag_us"})
"""Measures whose total over several groups is their maximum, and not their sum."""


class NotComparableError(RecordingError):
    """Two flights have nothing in common that could be compared."""


class DifferingAmount(msgspec.Struct, frozen=True, kw_only=True):
    """A measure of which two flights have different amounts. `scope`, `name`: who pays; `name_b` in the second flight.

    `by_cause`: for rebalances, cause → the difference of their counts; for unread partitions, of their times (µs).
    """

    scope: Scope
    name: str
    name_b: str
    measure: str
    field: str
    unit: str
    a: int
    b: int
    by_cause: dict[str, int] = {}

    @property
    def b_is_better(self) -> bool:
        """Whether the second flight has less of it: of every measure less is better."""
        return self.b < self.a


class PairedBills(msgspec.Struct, frozen=True, kw_only=True):
    """Two bills side by side: `differing` amounts, `equal` measures, and payers of one flight only (scope and name)."""

    differing: list[DifferingAmount]
    equal: list[str]
    only_a: list[tuple[Scope, str]]
    only_b: list[tuple[Scope, str]]
    pairs: dict[Scope, list[tuple[str, str]]]


def paired(a: Bill, b: Bill) -> PairedBills:
    """Pair groups, producers and clusters by their names, and the only one of a kind with the only one.

    Raises NotComparableError if there are groups or producers, and none has a counterpart.
    """
    pairs: dict[Scope, list[tuple[str, str]]] = {}
    only_a: list[tuple[Scope, str]] = []
    only_b: list[tuple[Scope, str]] = []
    for scope in Scope:
        left, right = payers(a, scope), payers(b, scope)
        pairs[scope] = both = _pairs(left, right)
        only_a += [(scope, name) for name in left if name not in {one for one, _ in both}]
        only_b += [(scope, name) for name in right if name not in {other for _, other in both}]
    if (only_a or only_b) and not pairs[Scope.GROUP] and not pairs[Scope.PRODUCER]:
        raise NotComparableError(
            f"the flights cannot be compared: no group or producer of {_names(only_a)} has a counterpart in"
            f" {_names(only_b)}"
        )
    compared = list(_compared(a, b, pairs))
    return PairedBills(
        differing=[row for row in compared if row.a != row.b],
        equal=list(dict.fromkeys(row.measure for row in compared if not _differs(compared, row.field))),
        only_a=only_a,
        only_b=only_b,
        pairs=pairs,
    )


def _differs(rows: Iterable[DifferingAmount], field: str) -> bool:
    return any(row.a != row.b for row in rows if row.field == field)


def _pairs(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[tuple[str, str]]:
    both = [(name, name) for name in left if name in right]
    alone = [name for name in left if name not in right], [name for name in right if name not in left]
    if len(alone[0]) == len(alone[1]) == 1:
        both.append((alone[0][0], alone[1][0]))
    return both


def _names(payers_of_one: list[tuple[Scope, str]]) -> str:
    return ", ".join(name for _, name in payers_of_one) or "a flight without groups and producers"


def _compared(a: Bill, b: Bill, pairs: Mapping[Scope, list[tuple[str, str]]]) -> Iterator[DifferingAmount]:
    for scope, both in pairs.items():
        for name, name_b in both:
            first, second = payers(a, scope)[name], payers(b, scope)[name_b]
            for measure in MEASURES:
                if measure.scope is scope:
                    causes = _causes(*(_by_cause(each, measure.field) for each in (first, second)))
                    yield DifferingAmount(
                        scope=scope, name=name, name_b=name_b, measure=measure.name, field=measure.field,
                        unit=measure.unit, a=measure.of(first), b=measure.of(second), by_cause=causes,
                    )  # fmt: skip


def _by_cause(bill: Any, field: str) -> Mapping[str, int]:  # noqa: ANN401 - a payer's bill
    """Rebalances by cause, unread partitions by whether they have an owner."""
    if field == "unread_partition_us":
        stalled_us = bill.stalled_partition_us
        return {"without an owner": bill.unread_partition_us - stalled_us, "stalled": stalled_us}
    return bill.by_cause if field == "rebalances" else {}


def _causes(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    causes = dict.fromkeys((*first, *second))
    found = {cause: second.get(cause, 0) - first.get(cause, 0) for cause in causes}
    return {cause: more for cause, more in found.items() if more}


def read_nothing(bill: Bill, others: Iterable[Bill]) -> list[str]:
    """The groups that finish no record here, though a group of that name does in one of the others."""
    reading = {name for other in others for name, group in other.groups.items() if group.delivered}
    return sorted(name for name, group in bill.groups.items() if name in reading and not group.delivered)


def total(bill: Bill, measure: Measure, names: Iterable[str]) -> int:
    """The amount of a measure over these groups or producers: their sum, or the largest of peaks."""
    each = payers(bill, measure.scope)
    values = [measure.of(each[name]) for name in names]
    return max(values, default=0) if measure.field in LARGEST else sum(values)


def shows(row: DifferingAmount) -> bool:
    """Whether the two amounts differ as they are shown."""
    measure = next(each for each in MEASURES if each.scope is row.scope and each.field == row.field)
    return amount(measure, row.a) != amount(measure, row.b)
