"""The cells of a raster: for each row and cell of time the worst state of its partitions.

A row is a string with one sign for each cell: comparing and merging strings is fast, and frames have little time.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from cluster.view.ownership import history as kept
from cluster.view.ownership.history import OwnershipHistory
from cluster.view.state import ClusterView, GroupView
from console.presenters.raster.axis import TimeAxis

NO_OWNER_YET = chr(0)
_FIRST = 1
SEVERAL, MOVING, UNOWNED = chr(0xF001), chr(0xF002), chr(0xF003)
"""Signs in the order of how bad they are; an owner is `owner_sign` of its place in the history."""
_SHARED = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
_STATES = {kept.SEVERAL: SEVERAL, kept.MOVING: MOVING, kept.UNOWNED: UNOWNED}


def owner_sign(place: int) -> str:
    """The sign of a single owner."""
    return chr(_FIRST + place)


def owner_place(sign: str) -> int:
    """The place of a single owner in the history; -1 for another sign."""
    return ord(sign) - _FIRST if NO_OWNER_YET < sign < SEVERAL else -1


def sign_of(code: int) -> str:
    """The sign of a code of the history."""
    return _STATES.get(code & 3) or owner_sign(code >> 2)


def _worse(one: str, other: str) -> str:
    if one == other or NO_OWNER_YET in {one, other} or max(one, other) >= SEVERAL:
        return max(one, other)
    return SEVERAL


class RasterRow(NamedTuple):
    """Neighbouring partitions of a topic that share a row, and its cells up to now."""

    key: str
    partitions: tuple[str, ...]
    cells: str

    @property
    def order(self) -> tuple[bool, int, int]:
        """What needs attention has the smallest order: unowned now, then the most unowned and moving cells."""
        return (
            self.cells[-1:] != UNOWNED,
            -self.cells.count(UNOWNED),
            -self.cells.count(MOVING),
        )


def cells_of(runs: Sequence[int], axis: TimeAxis) -> str:
    """The cells of one partition."""
    known = axis.known
    cells = [NO_OWNER_YET] * known
    first_us, cell_us = axis.first_us, axis.cell_us
    end_us = min(axis.now_us + 1, axis.end_us)
    for place in range(_first_run(runs, first_us), len(runs), 2):
        start_us = runs[place]
        if start_us >= end_us:
            break
        until_us = min(runs[place + 2], end_us) if place + 2 < len(runs) else end_us
        if until_us <= first_us:
            continue
        sign = sign_of(runs[place + 1])
        low, high = max(0, (start_us - first_us) // cell_us), (until_us - 1 - first_us) // cell_us
        cells[low] = _worse(cells[low], sign)
        if high > low:
            cells[low + 1 : high + 1] = [sign] * (high - low)
    return "".join(cells)


def _first_run(runs: Sequence[int], at_us: int) -> int:
    """Where the run begins that an instant lies in; sought from the end, because what is drawn is mostly recent."""
    place = len(runs) - 2
    while place > 0 and runs[place] > at_us:
        place -= 2
    return max(0, place)


@lru_cache(maxsize=4_096)
def _merged(one: str, other: str) -> str:
    return "".join(map(_worse, one, other))


def merged_cells(rows: Iterable[str]) -> str:
    """The worst of each cell."""
    result = ""
    for cells in dict.fromkeys(rows):
        result = _merged(result, cells) if result else cells
    return result


def shared_by(counts: Iterable[int], room: int) -> int:
    """How many neighbouring partitions share a row, so that all topics fit into `room` rows."""
    counts = list(counts)
    for size in _SHARED:
        if sum(-(-count // size) for count in counts) <= max(room, len(counts)):
            return size
    return max(counts, default=1)


class RasterGrid:
    """A group's rows, worst first; what has been drawn holds while flight and axis go on, see `extend`."""

    def __init__(self, view: ClusterView, group: GroupView, axis: TimeAxis, room: int) -> None:
        self.axis = axis
        self.history: OwnershipHistory = group.history
        self.made_for = _state_of(view, group, axis, room)
        self._changes, self._runs = self.history.changes, self.history.runs
        topics = {topic: view.partitions_by_topic.get(topic, []) for topic in group.topics}
        self.size = shared_by((len(names) for names in topics.values()), room)
        self.count = sum(len(names) for names in topics.values())
        rows: list[RasterRow] = []
        for topic, names in topics.items():
            for first in range(0, len(names), self.size):
                shared = tuple(names[first : first + self.size])
                rows.append(RasterRow(_key(topic, first, len(shared)), shared, ""))
        self._draw(rows, axis, 0)

    def holds(self, view: ClusterView, group: GroupView, axis: TimeAxis, room: int) -> bool:
        """Whether this is the group, with the partitions, the room, the length of a cell and the past of before."""
        history = group.history
        if self.history is not history or self.made_for != _state_of(view, group, axis, room):
            return False
        return self._runs is history.runs  # other runs: the history has divided older time into longer cells

    def extend(self, axis: TimeAxis) -> bool:
        """Let the rows, which hold, reach to `axis`; False if more is needed than the cells since the frame before.

        The history is only added to: what has changed lies in the cell in which that frame was, or after it.
        """
        left = (axis.first_us - self.axis.first_us) // axis.cell_us
        begun = left + axis.known - self.axis.known
        changed = self._changes != self.history.changes
        if (left, begun, changed) == (0, 0, False):
            return True
        if left < 0 or begun < 0 or left > self.axis.known or not (_has_now(self.axis) and _has_now(axis)):
            return False
        if not changed:
            now = self._signs_of_now
            self._keep(axis, [row._replace(cells=row.cells[left:] + now[row.key] * begun) for row in self._in_order])
            return True
        column = self.axis.known - 1 - left
        if column < 0:
            return False
        rows = [row._replace(cells=row.cells[left : left + column]) for row in self._in_order]
        self._changes = self.history.changes
        self.__dict__.pop("_signs_of_now", None)
        self._draw(rows, axis, column)
        return True

    def _draw(self, rows: Iterable[RasterRow], axis: TimeAxis, column: int) -> None:
        """Add the cells from a column on to rows that have those before it."""
        drawn = axis._replace(first_us=axis.start_of(column), width=axis.width - column)
        known: dict[tuple[int, ...], str] = {}
        result = []
        for row in rows:
            cells = merged_cells(self._cells(name, drawn, known) for name in row.partitions)
            result.append(row._replace(cells=row.cells + cells))
        self._keep(axis, result)

    def _keep(self, axis: TimeAxis, rows: list[RasterRow]) -> None:
        """Put rows in the order of what needs attention; equal ones stay in that of their partitions."""
        self.axis, self._in_order = axis, rows
        self.rows = {row.key: row for row in sorted(rows, key=lambda row: row.order)}

    @cached_property
    def _signs_of_now(self) -> dict[str, str]:
        """Each row's sign of a cell in which nothing changes: as the history, these stand until that changes."""
        runs = self.history.runs
        return {
            key: merged_cells(sign_of(each[-1]) if each else NO_OWNER_YET for each in map(runs.get, row.partitions))
            for key, row in self.rows.items()
        }

    def _cells(self, name: str, axis: TimeAxis, known: dict[tuple[int, ...], str]) -> str:
        """Partitions that an assignor treats alike have equal runs, and so equal cells."""
        runs = self.history.runs.get(name, [])
        drawn = tuple(runs[_first_run(runs, axis.first_us) :] if axis.first_us else runs)
        cells = known.get(drawn)
        if cells is None:
            cells = known[drawn] = cells_of(drawn, axis)
        return cells


def raster_grid(
    view: ClusterView, group: GroupView, axis: TimeAxis, room: int, before: RasterGrid | None
) -> RasterGrid:
    """A group's grid on an axis: that of the frame `before`, if that can be continued."""
    if before is not None and before.holds(view, group, axis, room) and before.extend(axis):
        return before
    return RasterGrid(view, group, axis, room)


def _has_now(axis: TimeAxis) -> bool:
    """Whether the axis reaches to now: cells that begin continue what is now."""
    return 0 <= axis.column(axis.now_us) < axis.width


def _state_of(view: ClusterView, group: GroupView, axis: TimeAxis, room: int) -> tuple[int, ...]:
    partitions = sum(len(view.partitions_by_topic.get(topic, ())) for topic in group.topics)
    return axis.cell_us, axis.width, partitions, room


def _key(topic: str, first: int, count: int) -> str:
    return f"{topic}-{first}" if count == 1 else f"{topic} {first}–{first + count - 1}"
