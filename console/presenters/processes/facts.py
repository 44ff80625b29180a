"""A place's facts as labelled lines: a line that names another place opens it."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.view.state import NEVER
from console.presenters.formatting import duration
from console.presenters.list_view import CONTINUED, Listing
from console.presenters.styled_text import FAINT, MUTED, Line, PlaceLink, Span, joined, line
from console.presenters.table import TableColumn, layout

DOT: Span = (" · ", FAINT)
COLUMNS = (TableColumn("", 11), TableColumn("", 40, grow=1))


class LabelledFact(NamedTuple):
    """A labelled line; `opens`: the object that it names, None for none."""

    label: str
    parts: Sequence[Line]
    opens: PlaceLink | None = None


class FactsListing(Listing):
    """Facts in a fixed order. Only those that open a place can be selected."""

    def __init__(self, facts: Sequence[LabelledFact], width: int, title: str) -> None:
        super().__init__(width)
        self.title = title
        self.facts = {fact.label if fact.opens else f"{CONTINUED}{fact.label}": fact for fact in facts}
        self.layout = layout(COLUMNS, width)

    def row_keys(self) -> Sequence[str]:
        """Labels; a sign in front of those that open nothing."""
        return list(self.facts)

    def rows(self, key: str) -> tuple[Line]:
        """One fact."""
        fact = self.facts[key]
        return (self.layout.row([line((fact.label, MUTED)), joined(fact.parts, DOT)]),)


def ago(at_us: int, now_us: int) -> str:
    """`1.2 s ago`."""
    return f"{duration(now_us - at_us)} ago"


def for_so_long(since_us: int, now_us: int) -> str:
    """` for 12 s`; nothing without an instant."""
    return f" for {duration(now_us - since_us)}" if since_us != NEVER else ""
