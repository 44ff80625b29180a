"""The log of events, newest on top: rebalances, faults, elections, members that start and leave."""

from collections.abc import Container, Sequence

from cluster.view.state import ClusterView, LogEntry
from console.presenters.formatting import clock
from console.presenters.list_view import Listing
from console.presenters.styled_text import ERROR, MOVING, MUTED, OK, WARN, Line, fit, line

SHOWN = 1_000
MERGE_WINDOW_US = 1_000_000

# kind of entry → glyph, tone, weight when several share a cell of the strip
MARKS: dict[str, tuple[str, str, int]] = {
    "fault": ("✖", ERROR, 5),
    "election": ("▲", WARN, 4),
    "rebalance": ("↻", MOVING, 3),
    "recovery": ("▪", OK, 2),
    "stable": ("━", OK, 1),
    "member": ("╌", MUTED, 0),
}


def entry_line(noted: LogEntry) -> Line:
    """An entry's instant, glyph and text."""
    glyph, tone, _ = MARKS.get(noted.kind, ("·", MUTED, 0))
    return line((f" {clock(noted.at_us, 3)} ", MUTED), (f" {glyph} ", tone), noted.text)


def concerns(noted: LogEntry, subjects: Container[str]) -> bool:
    """Whether a moment is about one of these: its subject is, or a fault's text names it."""
    if noted.subject in subjects:
        return True
    return noted.kind in {"fault", "recovery"} and any(word in subjects for word in noted.text.split(" "))


def merged_entries(moments: Sequence[LogEntry]) -> list[LogEntry]:
    """The entries; neighbours within a second that differ only in their subject become one entry.

    `orders-1 leader 2 → 3`, `orders-4 leader 2 → 3` and 37 more are one line that names internal topics last.
    """
    result: list[LogEntry] = []
    run: list[LogEntry] = []
    for noted in moments:
        if run and not (noted.at_us - run[0].at_us <= MERGE_WINDOW_US and _statement(noted) == _statement(run[0])):
            result.append(_merged(run))
            run = []
        run.append(noted)
    if run:
        result.append(_merged(run))
    return result


def _statement(noted: LogEntry) -> tuple[str, str]:
    """What a moment says of its subject; of one that does not begin with it, or says no more (a fault), the whole."""
    return noted.kind, noted.text.removeprefix(noted.subject) or noted.text


def _merged(run: list[LogEntry]) -> LogEntry:
    first = run[0]
    if len(run) == 1 or not first.text.startswith(first.subject):
        return first
    names = sorted(dict.fromkeys(noted.subject for noted in run), key=lambda name: name.startswith("__"))
    if len(names) == 1:
        return first
    shown = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    said = _statement(first)[1]
    return LogEntry(first.at_us, first.kind, names[0], f"{shown}{'' if said.startswith(':') else ':'}{said}")


class EventLogListing(Listing):
    """The last entries of the view, or the entries of some subjects. Keys are positions with `#` in front."""

    title = "events"
    vacant = line(("no event yet", MUTED))

    def __init__(self, view: ClusterView, width: int, subjects: Container[str] | None = None) -> None:
        super().__init__(width)
        moments = view.log_entries[-SHOWN:]
        self.moments = merged_entries(
            moments if subjects is None else [one for one in moments if concerns(one, subjects)]
        )

    def row_keys(self) -> list[str]:
        """One key for each entry; entries cannot be selected."""
        return [f"#{index}" for index in range(len(self.moments) - 1, -1, -1)]

    def rows(self, key: str) -> tuple[Line]:
        """The line of one entry."""
        return (fit(entry_line(self.moments[int(key[1:])]), self.width),)

    def matches(self, key: str, pattern: str) -> bool:
        """Whether the entry's text holds the pattern; `!` in front negates it."""
        words = self.moments[int(key[1:])].text.lower()
        return (pattern[1:].lower() not in words) if pattern[:1] == "!" else (pattern.lower() in words)
