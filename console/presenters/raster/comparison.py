"""Two rasters on one axis: where their costs begin to differ."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.view.ownership.history import OwnershipHistory
from cluster.view.state import GroupView
from console.presenters.formatting import partition_seconds
from console.presenters.raster.axis import short_clock
from console.presenters.styled_text import MUTED, STRONG, Line, line


class Difference(NamedTuple):
    """The first instant at which two groups have not equally many partitions without an owner, and both numbers."""

    at_us: int
    one: int
    other: int


def _numbers(history: OwnershipHistory) -> dict[int, int]:
    return dict(zip(history.unowned[::3], history.unowned[1::3], strict=True))


def first_difference(one: OwnershipHistory, other: OwnershipHistory) -> Difference | None:
    """Where two histories part; None where they never do."""
    ours, theirs = _numbers(one), _numbers(other)
    mine = its = 0
    for at_us in sorted({**ours, **theirs}):
        mine, its = ours.get(at_us, mine), theirs.get(at_us, its)
        if mine != its:
            return Difference(at_us, mine, its)
    return None


def most_unowned_us(groups: Sequence[GroupView], now_us: int) -> int:
    """The largest sum of the groups: the one scale of their costs."""
    return max((group.history.unowned_us(now_us) for group in groups), default=0)


def difference_words(names: tuple[str, str], one: OwnershipHistory, other: OwnershipHistory, now_us: int) -> Line:
    """`first difference 0:18.0: eager 3 unowned, cooperative 0 · so far 151 and 13 partition-seconds`."""
    found = first_difference(one, other)
    if found is None:
        return line(("no difference: the same number of partitions is unowned at every instant", MUTED))
    costs = [partition_seconds(history.unowned_us(now_us)) for history in (one, other)]
    return line(
        (f"first difference {short_clock(found.at_us)}: ", STRONG),
        f"{names[0]} {found.one} unowned, {names[1]} {found.other}",
        (f" · so far {costs[0]} and {costs[1]} partition-seconds", MUTED),
    )
