"""Producers and transactional ids as logs tell of them."""

from typing import Final

from cluster.view.logged.state import LoggedProducer, LogsView
from console.presenters import states
from console.presenters.formatting import moment
from console.presenters.list_view import RowValue, WorstFirstListing
from console.presenters.logged.groups import NOT_LOGGED, number_words
from console.presenters.styled_text import ERROR, FAINT, MUTED, PLAIN, STRONG, WARN, Line, Span, line, middle
from console.presenters.table import TableColumn, for_names, layout

PRODUCER_COLUMNS = (
    TableColumn("producer", 10, grow=2, most=40),
    TableColumn("transactional id", 16, rank=3, grow=1, most=30),
    TableColumn("state", 16),
    TableColumn("pid", 7, right=True, rank=2),
    TableColumn("epoch", 7, right=True, rank=2),
    TableColumn("retried", 7, right=True),
    TableColumn("split", 5, right=True, rank=4),
    TableColumn("disconnected", 12, right=True, rank=3),
    TableColumn("sent", 7, right=True, rank=5),
    TableColumn("last error", 22, rank=1, grow=5),
)
ID_COLUMNS = (
    TableColumn("id", 12, grow=1, most=40),
    TableColumn("state", 8, rank=4),
    TableColumn("last line", 20),
    TableColumn("at", 9, right=True),
    TableColumn("pid", 7, right=True),
    TableColumn("epoch", 7, right=True),
    TableColumn("coordinator", 11, rank=3),
    TableColumn("initialized", 11, right=True, rank=2),
    TableColumn("timed out", 9, right=True),
    TableColumn("fenced", 6, right=True, rank=1),
)
TONES: Final = {"AbortableError": WARN, "FatalError": ERROR, "Fenced": ERROR}


def state_words(one: LoggedProducer) -> Line:
    """A producer's state with its glyph; `unknown` where no line tells it."""
    if one.state is None:
        return line(NOT_LOGGED)
    known = states.producer(one.state)
    glyph = known.glyph if known is not states.UNKNOWN else "✖"
    return line((f"{glyph} {one.state}", TONES.get(one.state, PLAIN)))


class LoggedProducersListing(WorstFirstListing):
    """Every producer that a line so far names; those in an error first."""

    title = "producers"
    vacant = line(("no line so far names a producer", MUTED))

    def __init__(self, logs: LogsView, width: int, *, transactional: bool = False) -> None:
        super().__init__(width)
        known = logs.producers
        self.producers = {name: one for name, one in known.items() if one.transactional_id or not transactional}
        self.connections = logs.connections
        self.layout = layout(for_names(PRODUCER_COLUMNS, self.producers), width)
        self.order(list(self.producers))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def note(self) -> Line:
        """What is in no line."""
        return line(("what is sent and acknowledged is in no line", FAINT)) if self.width >= 80 else ()

    def sortable(self) -> dict[str, RowValue]:
        """By what lines tell."""
        known = self.producers
        return {
            "retried": lambda key: known[key].retried,
            "split": lambda key: known[key].split,
            "epoch": lambda key: known[key].epoch,
            "producer": str,
        }

    def rank(self, key: str) -> int | None:
        """A producer that is in an error, and one whose batches are sent again."""
        one = self.producers[key]
        return 0 if one.state in TONES else 1 if one.retried or one.split else None

    def rows(self, key: str) -> tuple[Line]:
        """One producer."""
        one = self.producers[key]
        lost = self.connections[key].lost if key in self.connections else 0
        where = f" ({one.last_partition})" if one.last_partition else ""
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((one.transactional_id, PLAIN)) if one.transactional_id else line(("none", FAINT)),
            state_words(one),
            number_words(one.producer_id),
            number_words(one.epoch),
            line((f"{one.retried:,}", WARN if one.retried else FAINT)),
            line((f"{one.split:,}", WARN if one.split else FAINT)),
            line((f"{lost:,}", WARN if lost else FAINT)),
            line(NOT_LOGGED),
            line((f"{one.last_error}{where}", PLAIN)) if one.last_error else line(("none in the lines so far", FAINT)),
        ]
        return (self.layout.row(cells),)


class LoggedTransactionalIdsListing(WorstFirstListing):
    """Every transactional id that its coordinator's lines name; those that timed out or were fenced first."""

    title = "transactional ids"
    vacant = line(("no line so far names a transactional id", MUTED))

    def __init__(self, logs: LogsView, width: int) -> None:
        super().__init__(width)
        self.known = logs.transactional_ids
        self.layout = layout(for_names(ID_COLUMNS, self.known), width)
        self.order(list(self.known))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def note(self) -> Line:
        """What is in no line."""
        words = "when a transaction begins and commits is in no line, and so the state is unknown"
        return line((words, FAINT)) if self.width >= 100 else ()

    def sortable(self) -> dict[str, RowValue]:
        """By what lines tell."""
        known = self.known
        return {
            "timed out": lambda key: known[key].timed_out,
            "fenced": lambda key: known[key].fenced,
            "initialized": lambda key: known[key].initialized,
            "at": lambda key: known[key].said_us,
            "id": str,
        }

    def rank(self, key: str) -> int | None:
        """An id whose transaction timed out, or of which a producer is fenced."""
        one = self.known[key]
        return 0 if one.timed_out or one.fenced else None

    def rows(self, key: str) -> tuple[Line]:
        """One transactional id."""
        one = self.known[key]
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line(NOT_LOGGED),
            line((one.said, PLAIN)),
            moment(one.said_us),
            number_words(one.producer_id),
            number_words(one.epoch),
            line(NOT_LOGGED) if one.coordinator is None else f"broker-{one.coordinator}",
            line((f"{one.initialized:,}", PLAIN)),
            line((f"{one.timed_out:,}", ERROR if one.timed_out else FAINT)),
            line((f"{one.fenced:,}", ERROR if one.fenced else FAINT)),
        ]
        return (self.layout.row(cells),)
