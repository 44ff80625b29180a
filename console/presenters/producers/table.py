"""The overview's table of producers: acknowledged rate, errors, transaction."""

from collections.abc import Sequence
from itertools import pairwise

from cluster.view.state import NEVER, ClusterView, ProducerView
from console.presenters import states
from console.presenters.formatting import SECOND_US, UNKNOWN, count, duration, rate, resampled, spark
from console.presenters.list_view import BUILDING, WorstFirstListing, counted_states
from console.presenters.styled_text import ACCENT, ERROR, FAINT, MUTED, STRONG, WARN, Line, Span, line, middle
from console.presenters.table import TableColumn, layout

TREND_SECONDS = 60

PRODUCER_COLUMNS = (
    TableColumn("producer", 11, grow=1, most=20),
    TableColumn("state", 9),
    TableColumn("acked/s", 7, right=True),
    TableColumn("last minute", 11, rank=5, grow=1, most=20),
    TableColumn("acked", 6, right=True, rank=4),
    TableColumn("failed", 6, right=True),
    TableColumn("retries", 7, right=True, rank=2),
    TableColumn("last error", 12, rank=3, grow=3),
)

TRANSACTIONAL_COLUMNS = (*PRODUCER_COLUMNS, TableColumn("transaction", 16, rank=1, grow=2, most=22))


class ProducersListing(WorstFirstListing):
    """Every producer instance: its acknowledged rate and its errors."""

    title = "producers"
    vacant = line(("this scenario declares no producer", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view = view
        if not view.brokers:
            self.vacant = BUILDING
        self.transactions = {one.producer_id: one for one in view.transactions.values() if one.producer_id >= 0}
        self.now_us = now_us
        self.layout = layout(TRANSACTIONAL_COLUMNS if self.transactions else PRODUCER_COLUMNS, width)
        self.order(list(view.producers))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`3 ● Running`."""
        names = [self.view.producers[key].state for key in keys]
        return line((counted_states([f"{states.producer(name).glyph} {name}" for name in names]), MUTED))

    def rank(self, key: str) -> int | None:
        """Producers that cannot send: fenced, dead, frozen."""
        return {"Fenced": 0, "Dead": 1, "Paused": 2}.get(self.view.producers[key].state)

    def rows(self, key: str) -> tuple[Line]:
        """One producer."""
        producer = self.view.producers[key]
        state = states.producer(producer.state)
        rates, room = acked_rates(producer, self.now_us), self.layout.width_of(3)
        second = self.now_us // SECOND_US - len(rates) + 1
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((f"{state.glyph} {producer.state}", state.tone)),
            rate(rates[-1]) if rates else ((UNKNOWN, FAINT),),
            line((spark(resampled(second, rates, room), room), ACCENT)),
            count(producer.acked),
            line((count(producer.failed), ERROR if producer.failed else FAINT)),
            line((count(producer.retries), WARN if producer.retries else FAINT)),
            line((producer.last_error, WARN)),
            self._transaction(producer),
        ]
        return (self.layout.row(cells[: len(self.layout.columns)]),)

    def _transaction(self, producer: ProducerView) -> Line:
        """The state of the producer's transactional id and the age of its open transaction; a dash without one."""
        one = self.transactions.get(producer.producer_id)
        if one is None or not one.state:
            return line((UNKNOWN, FAINT))
        state = states.transaction(one.state)
        open_for = f" {duration(self.now_us - one.start_us)}" if one.start_us != NEVER else ""
        return line((f"{state.glyph} {one.state}{open_for}", state.tone))


def acked_rates(producer: ProducerView, now_us: int) -> list[int]:
    """Records acknowledged in each of the last virtual seconds, oldest first.

    Seconds that began after the last event have no sample yet: they count 0 records.
    """
    series = producer.acked_series
    values = series.values
    quiet = min(now_us // SECOND_US - (series.first_second + len(values) - 1), TREND_SECONDS) if values else 0
    return [after - before for before, after in pairwise([*values, *[producer.acked] * quiet])]
