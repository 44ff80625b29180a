"""The batches of a producer without an outcome: in its buffer, in a request in flight, or to be sent again."""

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Final

from cluster.view.lives.batches import RETRIES, UNSENT, OpenBatch
from cluster.view.state import ProducerView
from console.presenters.formatting import UNKNOWN, duration, memory
from console.presenters.list_view import Listing, RowValue
from console.presenters.styled_text import FAINT, MUTED, PLAIN, STRONG, WARN, Line, Span, line, middle
from console.presenters.table import TableColumn, for_names, layout

SHOWN: Final = 200  # oldest batches
PART: Final = "/"
COLUMNS = (
    TableColumn("partition", 14, grow=1, most=28),
    TableColumn("batch", 24, grow=1, most=40),
    TableColumn("records", 7, right=True),
    TableColumn("memory", 8, right=True, rank=2),
    TableColumn("age", 7, right=True),
    TableColumn("in flight for", 13, right=True, rank=1),
)


class BatchesListing(Listing):
    """Open batches, oldest first. A key is a partition and the batch's place among its batches."""

    title = "batches"
    vacant = line(("none: every batch has its outcome", MUTED))

    def __init__(self, producer: ProducerView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.producer, self.now_us = producer, now_us
        every = (
            (one.opened_us, f"{name}{PART}{place}", one)
            for name, batches in producer.open_batches.items()
            for place, one in enumerate(batches)
        )
        oldest = nsmallest(SHOWN, every, key=lambda each: each[:2])
        self.batches: dict[str, OpenBatch] = {key: one for _, key, one in oldest}
        self.layout = layout(for_names(COLUMNS, producer.open_batches), width)

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.batches else ()

    def row_keys(self) -> Sequence[str]:
        """Oldest first."""
        return list(self.batches)

    def rows(self, key: str) -> tuple[Line]:
        """One batch."""
        one, name = self.batches[key], key.rpartition(PART)[0]
        request = self.producer.in_flight.get(one.request)
        cells: list[Line | Span | str] = [
            (middle(name, self.layout.width_of(0)), STRONG),
            self._stage(one),
            str(one.records) if one.records else ((UNKNOWN, FAINT),),
            memory(one.bytes) if one.bytes else ((UNKNOWN, FAINT),),
            duration(self.now_us - one.opened_us),
            duration(self.now_us - request.sent_us) if request is not None else ((UNKNOWN, FAINT),),
        ]
        return (self.layout.row(cells),)

    def _stage(self, one: OpenBatch) -> Span:
        request = self.producer.in_flight.get(one.request)
        if request is not None:
            return f"in flight to broker-{request.broker}", PLAIN
        return {UNSENT: ("in the buffer", MUTED), RETRIES: ("to be sent again", WARN)}.get(
            one.request, ("unanswered", WARN)
        )

    def sortable(self) -> Mapping[str, RowValue]:
        """By partition, records and age."""
        batches = self.batches
        return {
            "partition": lambda key: key.rpartition(PART)[0],
            "records": lambda key: batches[key].records,
            "age": lambda key: self.now_us - batches[key].opened_us,
        }
