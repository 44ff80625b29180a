"""The cells of a raster: for each row and cell of time the worst state of its partitions.

A row is a string with one sign for each cell: comparing and merging strings is fast, and frames have little time.
"""

from bisect import bisect_right
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
    begin = max(0, 2 * (bisect_right(runs[::2], first_us) - 1)) if first_us else 0
    for place in range(begin, len(runs), 2):
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
    """A group's rows, worst first; they hold until the history changes or a cell begins.

    While the history does not change, a cell that begins needs no look at it, see `extend`.
    """

    def __init__(self, view: ClusterView, group: GroupView, axis: TimeAxis, room: int) -> None:
        self.axis = axis
        self.history: OwnershipHistory = group.history
        self.made_for = _state_of(view, group, axis, room)
        topics = {topic: view.partitions_by_topic.get(topic, []) for topic in group.topics}
        self.size = shared_by((len(names) for names in topics.values()), room)
        self.count = sum(len(names) for names in topics.values())
        known: dict[tuple[int, ...], str] = {}
        rows: list[RasterRow] = []
        for topic, names in topics.items():
            for first in range(0, len(names), self.size):
                shared = tuple(names[first : first + self.size])
                cells = merged_cells(self._cells(name, known) for name in shared)
                rows.append(RasterRow(_key(topic, first, len(shared)), shared, cells))
        self.rows = _worst_first(rows)

    def holds(self, view: ClusterView, group: GroupView, axis: TimeAxis, room: int) -> bool:
        """Whether this is the group, with the history, the partitions, the room and the length of a cell of before."""
        return self.history is group.history and self.made_for == _state_of(view, group, axis, room)

    def extend(self, axis: TimeAxis) -> bool:
        """Let the rows, which hold, reach to `axis`; False if more is needed than the cells that have begun since."""
        left = (axis.first_us - self.axis.first_us) // axis.cell_us
        begun = left + axis.known - self.axis.known
        if (left, begun) == (0, 0):
            return True
        if left < 0 or begun < 0 or left > self.axis.known or not (_has_now(self.axis) and _has_now(axis)):
            return False
        self.axis = axis
        now = self._signs_of_now
        self.rows = _worst_first(
            [row._replace(cells=row.cells[left:] + now[row.key] * begun) for row in self.rows.values()]
        )
        return True

    @cached_property
    def _signs_of_now(self) -> dict[str, str]:
        """Each row's sign of a cell in which nothing changes: as the history, these stand as long as the grid does."""
        runs = self.history.runs
        return {
            key: merged_cells(sign_of(each[-1]) if each else NO_OWNER_YET for each in map(runs.get, row.partitions))
            for key, row in self.rows.items()
        }

    def _cells(self, name: str, known: dict[tuple[int, ...], str]) -> str:
        """Partitions that an assignor treats alike have equal runs, and so equal cells."""
        runs = tuple(self.history.runs.get(name, ()))
        cells = known.get(runs)
        if cells is None:
            cells = known[runs] = cells_of(runs, self.axis)
        return cells


def raster_grid(
    view: ClusterView, group: GroupView, axis: TimeAxis, room: int, before: RasterGrid | None
) -> RasterGrid:
    """A group's grid on an axis: that of the frame `before`, if that can be continued."""
    if before is not None and before.holds(view, group, axis, room) and before.extend(axis):
        return before
    return RasterGrid(view, group, axis, room)


def _worst_first(rows: Iterable[RasterRow]) -> dict[str, RasterRow]:
    return {row.key: row for row in sorted(rows, key=lambda row: row.order)}


def _has_now(axis: TimeAxis) -> bool:
    """Whether the axis reaches to now: cells that begin continue what is now."""
    return 0 <= axis.column(axis.now_us) < axis.width


def _state_of(view: ClusterView, group: GroupView, axis: TimeAxis, room: int) -> tuple[int, ...]:
    partitions = sum(len(view.partitions_by_topic.get(topic, ())) for topic in group.topics)
    return group.history.changes, axis.cell_us, axis.width, partitions, room


def _key(topic: str, first: int, count: int) -> str:
    return f"{topic}-{first}" if count == 1 else f"{topic} {first}–{first + count - 1}"
