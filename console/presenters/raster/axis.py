"""The one axis of time of a raster, its lanes and its cost: cells of a round length."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from cluster.view.ownership.history import NEVER, Barrier
from console.presenters.formatting import SECOND_US
from console.presenters.styled_text import FAINT, MUTED, PLAIN, Line, Span, merged, runs_of_signs

_ROUND = (1, 2, 3, 4, 5, 6, 8)
_ROUND_S = (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 90, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200)
CELLS_US: Final = (
    *(number * 10**power for power in (3, 4, 5) for number in _ROUND),
    *(int(seconds * SECOND_US) for seconds in _ROUND_S),
)
"""The lengths of a cell."""
STEPS_US: Final = (
    *(number * 10**power for power in (4, 5) for number in (1, 2, 5)),
    *(seconds * SECOND_US for seconds in (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200)),
)
"""The distances of labels."""
ZOOMS: Final = (0, 600 * SECOND_US, 120 * SECOND_US, 30 * SECOND_US, 5 * SECOND_US)
"""The spans of time that a raster can show; 0 is the whole flight."""
LABEL: Final = 10


class TimeAxis(NamedTuple):
    """`width` cells of `cell_us` from `first_us`, a multiple of it; the flight has come to `now_us`."""

    first_us: int
    cell_us: int
    width: int
    now_us: int

    @property
    def end_us(self) -> int:
        """The end of the last cell."""
        return self.first_us + self.cell_us * self.width

    @property
    def known(self) -> int:
        """The number of cells that have begun."""
        return max(0, min(self.width, (self.now_us - self.first_us) // self.cell_us + 1))

    def column(self, at_us: int) -> int:
        """The column of an instant; it may lie outside the axis."""
        return (at_us - self.first_us) // self.cell_us

    def start_of(self, column: int) -> int:
        """The first instant of a column."""
        return self.first_us + column * self.cell_us


def _cell_for(span_us: int, width: int) -> int:
    for cell_us in CELLS_US:
        if cell_us * width > span_us:
            return cell_us
    cell_us = CELLS_US[-1]
    while cell_us * width <= span_us:
        cell_us *= 2
    return cell_us


def axis_for(now_us: int, width: int, span_us: int = 0, last_us: int | None = None) -> TimeAxis:
    """The axis of the whole flight, or of `span_us` that end with the cell of `last_us` (by default of now)."""
    width = max(1, width)
    if not span_us or span_us >= now_us:
        return TimeAxis(0, _cell_for(now_us, width), width, now_us)
    cell_us = _cell_for(span_us - 1, width)
    last = (now_us if last_us is None else last_us) // cell_us
    return TimeAxis(max(0, last + 1 - width) * cell_us, cell_us, width, now_us)


def short_clock(us: int, decimals: int = 1) -> str:
    """An instant without leading zeros: `1:12.3`, `2:00:05`; cut, never rounded."""
    seconds, rest = divmod(us, SECOND_US)
    hours, minutes = divmod(seconds // 60, 60)
    text = f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"
    return f"{text}.{rest:06}"[: len(text) + 1 + decimals] if decimals else text


def scale(axis: TimeAxis) -> str:
    """Times at round distances, each beginning at its own cell."""
    step_us = next((us for us in STEPS_US if us >= axis.cell_us * LABEL), STEPS_US[-1])
    while step_us < axis.cell_us * LABEL:
        step_us *= 2
    decimals = 0 if step_us >= SECOND_US else 1 if step_us >= SECOND_US // 10 else 2
    text = [" "] * axis.width
    for at_us in range(-(-axis.first_us // step_us) * step_us, axis.end_us, step_us):
        label, start = short_clock(at_us, decimals), axis.column(at_us)
        if start + len(label) <= axis.width:
            text[start : start + len(label)] = label
    return "".join(text)


def edges(axis: TimeAxis, barriers: Iterable[Barrier]) -> set[int]:
    """The columns in which a barrier opens or closes: they are ruled through all rows.

    None are ruled if that would be more than every fourth column.
    """
    found = {axis.column(at_us) for one in barriers for at_us in (one.from_us, one.to_us) if at_us != NEVER}
    found = {column for column in found if 0 <= column < axis.known}
    return found if 4 * len(found) <= axis.width else set()


def ruled_runs(cells: Sequence[str], rules: Collection[int]) -> Iterator[tuple[int, int, str, bool]]:
    """Runs of signs, cut at the columns of `rules`, each of which is a run of its own: whether it is one comes last."""
    columns = sorted(rules)
    for start, end, sign in runs_of_signs(cells):
        shown = start
        for column in columns[bisect_left(columns, start) : bisect_left(columns, end)]:
            if shown < column:
                yield shown, column, sign, False
            yield column, column + 1, sign, True
            shown = column + 1
        if shown < end:
            yield shown, end, sign, False


def bracket_row(axis: TimeAxis, barriers: Iterable[Barrier]) -> Line:
    """Each barrier as a bracket, `╭──╮4`, with the generation after its end; `┃` if it opens and closes in one cell.

    If several end in one cell, the generation is that of the last one.
    """
    cells: list[Span] = [(" ", PLAIN)] * axis.width
    numbers: dict[int, str] = {}
    for one in barriers:
        low = axis.column(one.from_us)
        high = axis.column(one.to_us) if one.to_us != NEVER else axis.known
        if high < 0 or low >= axis.width:
            continue
        for column in range(max(0, low + 1), min(high, axis.known)):
            cells[column] = ("─", MUTED)
        for column, sign in ((low, "╭"), (high, "╮")):
            if 0 <= column < axis.known:
                cells[column] = ("┃" if low == high or cells[column][0] in "╭╮┃" else sign, MUTED)
        if one.to_us != NEVER:
            numbers[high + 1] = str(one.generation)
    for start, number in numbers.items():
        room = cells[max(0, start) : start + len(number)]
        if start > 0 and len(room) == len(number) and all(text == " " for text, _ in room):
            cells[start : start + len(number)] = [(digit, FAINT) for digit in number]
    return merged(cells)
