"""Active faults: the command of each, its start, its end, and the command that ends it earlier."""

from cluster.commands import label_of, undo_of
from cluster.view.state import NEVER, ClusterView, FaultView
from console.presenters.formatting import UNKNOWN, countdown, duration
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import ACCENT, ERROR, FAINT, MUTED, PLAIN, Line, Span, line
from console.presenters.table import TableColumn, layout

COLUMNS = (
    TableColumn("", 1),
    TableColumn("fault", 16, grow=3),
    TableColumn("since", 7, right=True),
    TableColumn("ends in", 7, right=True),
    TableColumn("ended by", 14, rank=1, grow=2),
)


def faults_on(view: ClusterView, name: str) -> list[FaultView]:
    """The active faults that name a process."""
    return [fault for fault in view.faults.values() if name in fault.targets]


def fault_label(view: ClusterView, name: str) -> str:
    """The label of a fault of a running process, in one or two words; empty without a fault."""
    return next((label for fault in faults_on(view, name) if (label := label_of(fault.kind))), "")


class ActiveFaultsListing(Listing):
    """One line for each active fault, oldest first. Keys are the faults' numbers."""

    title = "faults"
    vacant = line(("no fault is active", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.faults = {str(fault.fault): fault for fault in view.faults.values()}
        self.now_us = now_us
        self.layout = layout(COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The faults' numbers, in the order in which they started."""
        return list(self.faults)

    def exceptions(self) -> list[str]:
        """Every fault needs attention."""
        return self.row_keys()

    def rows(self, key: str) -> tuple[Line]:
        """The line of one fault."""
        fault = self.faults[key]
        ending = undo_of(fault.kind, fault.targets)
        left = countdown(fault.ends_at_us - self.now_us) if fault.ends_at_us != NEVER else UNKNOWN
        cells: list[Line | Span | str] = [
            line(("✖", ERROR)),
            line((fault.text, PLAIN)),
            duration(self.now_us - fault.since_us),
            line((left, PLAIN if fault.ends_at_us != NEVER else FAINT)),
            line((ending, ACCENT)) if ending else line(("its duration", FAINT)),
        ]
        return (self.layout.row(cells),)

    def matches(self, key: str, pattern: str) -> bool:
        """Whether the fault's text holds the pattern; `!` in front negates it."""
        return holds(self.faults[key].text, pattern)
