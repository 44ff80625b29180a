"""Active faults and operations under way: the start of each, its end, and the command that ends it earlier."""

from collections.abc import Sequence

from cluster.commands import label_of, undo_of
from cluster.view.state import NEVER, ClusterView, FaultView
from console.presenters.exceptions.operations import Operation, operations
from console.presenters.formatting import UNKNOWN, countdown, duration
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import ACCENT, ERROR, FAINT, MOVING, MUTED, PLAIN, WARN, Line, Span, line
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


def fault_labels(view: ClusterView, name: str) -> list[str]:
    """The labels of all faults that name a process, oldest first, each once: `slow disk`, `link cut`."""
    return list(dict.fromkeys(label for fault in faults_on(view, name) if (label := label_of(fault.kind))))


def fault_words(view: ClusterView, names: Sequence[str], now_us: int) -> list[Line]:
    """Every active fault that names one of these: its command, when it began, and when it ends by itself."""
    found = {fault.fault: fault for name in names for fault in faults_on(view, name)}
    words = []
    for number in sorted(found):
        fault = found[number]
        ends = f", ends in {countdown(fault.ends_at_us - now_us)}" if fault.ends_at_us != NEVER else ""
        words.append(line((f"▲ {fault.text}", WARN), (f" ({duration(now_us - fault.since_us)} ago{ends})", MUTED)))
    return words


class ActiveFaultsListing(Listing):
    """One line for each active fault, then one for each operation under way, oldest first.

    Keys are the faults' numbers, and those of the operations.
    """

    title = "faults"
    vacant = line(("no fault is active", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.faults = {str(fault.fault): fault for fault in view.faults.values()}
        self.operations = {one.key: one for one in operations(view, now_us)}
        if self.operations:
            self.title = "faults and operations" if self.faults else "operations"
        self.now_us = now_us
        self.layout = layout(COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The faults' numbers, in the order in which they started, and the operations."""
        return [*self.faults, *self.operations]

    def exceptions(self) -> list[str]:
        """Every fault needs attention, and an operation that moves members, too."""
        return self.row_keys()

    def rows(self, key: str) -> tuple[Line]:
        """The line of one fault, or of one operation."""
        operation = self.operations.get(key)
        if operation is not None:
            return (self._operation(operation),)
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

    def _operation(self, one: Operation) -> Line:
        lasts = one.ends_us != NEVER
        left = countdown(one.ends_us - self.now_us) if lasts else UNKNOWN
        cells: list[Line | Span | str] = [
            line(("↻", MOVING)),
            line((one.name, PLAIN), (f": {one.progress}", MOVING), (f", {one.next_in}" if one.next_in else "", MUTED)),
            duration(self.now_us - one.since_us),
            line((left, PLAIN if lasts else FAINT)),
            line((one.ending, ACCENT)) if one.ending else line(("its schedule", FAINT)),
        ]
        return self.layout.row(cells)

    def matches(self, key: str, pattern: str) -> bool:
        """Whether the text of the fault or operation holds the pattern; `!` in front negates it."""
        operation = self.operations.get(key)
        if operation is None and key not in self.faults:
            return super().matches(key, pattern)
        return holds(operation.name if operation is not None else self.faults[key].text, pattern)
