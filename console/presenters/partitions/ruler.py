"""A partition's log as a ruler: one scale of offsets for the log, its readers and its transactions."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.view.state import PartitionView
from console.presenters.styled_text import ACCENT, FAINT, MUTED, WARN, Line, Span, merged

NAME = 14  # the column before every ruler
SHORTEST, BESIDE = 12, 71  # the columns around a ruler take at most so many cells
STABLE, HELD, UNREPLICATED = "█", "▞", "┄"
COMMITTED, POSITION, SPAN = "◇", "▷", "╍"


class Ruler(NamedTuple):
    """The scale from the log start to the log end, in `cells` cells."""

    first: int
    end: int
    cells: int

    def place_of(self, offset: int) -> int:
        """The cell of an offset; one outside the log is at its edge."""
        span = max(1, self.end - self.first)
        return min(self.cells - 1, max(0, (offset - self.first) * (self.cells - 1) // span))


def ruler_of(partition: PartitionView, width: int) -> Ruler:
    """The ruler that all tables of a partition's place share."""
    return Ruler(partition.log_start, partition.log_end, max(SHORTEST, width - BESIDE))


def log_bar(ruler: Ruler, partition: PartitionView) -> Line:
    """The log up to the last stable offset, up to the high watermark, up to its end."""
    stable, high = ruler.place_of(partition.last_stable_offset), ruler.place_of(partition.high_watermark)
    if partition.log_end == partition.log_start:
        return ((" " * ruler.cells, FAINT),)
    if partition.last_stable_offset == partition.log_end:
        stable = ruler.cells
    if partition.high_watermark == partition.log_end:
        high = ruler.cells
    parts = (STABLE * stable, ACCENT), (HELD * (high - stable), WARN), (UNREPLICATED * (ruler.cells - high), MUTED)
    return tuple(part for part in parts if part[0])


def pointers(ruler: Ruler, marks: Sequence[tuple[int, str, str]], unread: tuple[int, int]) -> Line:
    """A line with a mark at each offset, the first one on top; a stronger line between two offsets."""
    low, high = ruler.place_of(unread[0]), ruler.place_of(unread[1])
    drawn = unread[1] > unread[0]
    cells: list[Span] = [
        (SPAN, ACCENT) if drawn and low <= cell <= high else ("·", FAINT) for cell in range(ruler.cells)
    ]
    for offset, sign, tone in reversed(marks):
        cells[ruler.place_of(offset)] = sign, tone
    return merged(cells)
