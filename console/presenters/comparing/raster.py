"""One flight's raster in a comparison, with the time lag of its group below the cost."""

from bisect import bisect_right
from collections.abc import Sequence

from console.presenters.comparing.verdict import PARTING
from console.presenters.formatting import LEVELS, duration
from console.presenters.list_view import CONTINUED
from console.presenters.raster.axis import TimeAxis
from console.presenters.raster.grid import RasterGrid
from console.presenters.raster.listing import CURSOR, RasterListing
from console.presenters.raster.picture import RasterSubject
from console.presenters.styled_text import MUTED, PLAIN, WARN, Line, Span, linked, merged
from recordings.comparison.samples import BillSample

LAG = f"{CONTINUED}lag"


def most_lag_us(samples: Sequence[BillSample], group: str) -> int:
    """The largest sampled time lag of a group."""
    return max((sample.lags.get(group, 0) for sample in samples), default=0)


def lag_row(axis: TimeAxis, samples: Sequence[BillSample], group: str, most_us: int) -> Line:
    """The largest time lag of each cell's samples, as a share of `most_us`; between samples, the one before."""
    ends = [sample.bill.at_us for sample in samples]
    spans: list[Span] = []
    for column in range(axis.known):
        low = bisect_right(ends, axis.start_of(column) - 1)
        high = bisect_right(ends, axis.start_of(column + 1) - 1)
        seen = samples[low:high] or samples[max(0, low - 1) : low]
        lag_us = max((sample.lags.get(group, 0) for sample in seen), default=0)
        level = -(-lag_us * 8 // most_us) if most_us else 0
        spans.append((LEVELS[level - 1], MUTED) if level else (" ", PLAIN))
    return merged(spans)


def _marked(of: Line, cell: int) -> Line:
    """A line with the mark of the first divergence in a cell that has no cursor; a time below it would be another."""
    mark: Span = (linked(PARTING, "action", "comparison.divergence"), WARN)
    spans: list[Span] = []
    first = 0
    for text, tone in of:
        place = cell - first
        inside = 0 <= place < len(text) and text[place] != CURSOR
        if inside:
            before, after = text[:place], text[place + 1 :]
            if text[place] != " ":
                before, after = _without_last_word(before), _without_last_word(after[::-1])[::-1]
            spans += [(before, tone), mark, (after, tone)]
        else:
            spans.append((text, tone))
        first += len(text)
    return tuple(span for span in spans if span[0])


def _without_last_word(text: str) -> str:
    """A text whose last word, up to its end, is blanked out."""
    return text[: text.rfind(" ") + 1].ljust(len(text))


class ComparedRasterListing(RasterListing):
    """A raster of one of two flights.

    `samples`: of its time lag; `most_lag_us`: the lag that is drawn full, 0 for no row of it. `parting_us`: where the
    flights begin to differ, which the axis marks; None if they do not.
    """

    def __init__(
        self,
        subject: RasterSubject,
        axis: TimeAxis,
        width: int,
        *,
        room: int,
        grid: RasterGrid | None,
        most_us: int,
        samples: Sequence[BillSample],
        most_lag_us: int,
    ) -> None:
        super().__init__(subject.view, subject.group, axis, width, room=room, grid=grid, most_us=most_us)
        self.title = subject.name
        self.samples, self.most_lag_us = samples, most_lag_us
        self.parting_us: int | None = None

    def header(self) -> Line:
        """The times, with a mark at the first divergence that leads to it."""
        drawn = super().header()
        column = self.axis.column(self.parting_us) if self.parting_us is not None else -1
        return _marked(drawn, 2 + self.label + column) if 0 <= column < self.axis.width else drawn

    def note(self) -> Line:
        """The cost, and the largest lag."""
        return (*super().note(), (f"  time lag up to {duration(most_lag_us(self.samples, self.group.group))}", MUTED))

    def row_keys(self) -> list[str]:
        """The lag below the cost."""
        keys = super().row_keys()
        return [*keys, LAG] if keys and self.most_lag_us else keys

    def rows(self, key: str) -> tuple[Line]:
        """One line of cells after its label."""
        if key == LAG:
            row = lag_row(self.axis, self.samples, self.group.group, self.most_lag_us)
            return (self._labelled("time lag", MUTED, row),)
        return super().rows(key)
