"""The event log, newest on top: rebalances, faults, elections, members that start and leave."""

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence

from cluster.view.state import NEVER, ClusterView, LogEntry
from console.presenters.formatting import clock
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import ERROR, MOVING, MUTED, OK, WARN, Line, fit, line

SHOWN = 1_000
MERGE_WINDOW_US = 1_000_000
VERB = re.compile(r"^ (is|was) ")
"""What agrees with one subject only: several stand before a colon, and the verb goes."""
ENDS = {"member_stopped", "broker_stopped"}
"""The kinds of events that end a process."""

# kind of entry → glyph, tone, weight when several share a cell of the strip
MARKS: dict[str, tuple[str, str, int]] = {
    "fault": ("✖", ERROR, 5),
    "election": ("▲", WARN, 4),
    "rebalance": ("↻", MOVING, 3),
    "recovery": ("▪", OK, 2),
    "offset": ("◂", WARN, 2),
    "stable": ("●", OK, 1),
    "member": ("╌", MUTED, 0),
}


def entry_line(entry: LogEntry) -> Line:
    """An entry's instant, glyph and text."""
    glyph, tone, _ = MARKS.get(entry.kind, ("·", MUTED, 0))
    return line((f" {clock(entry.at_us, 3)} ", MUTED), (f" {glyph} ", tone), entry.text)


def concerns(entry: LogEntry, subjects: Container[str]) -> bool:
    """Whether an entry's subject or one of its targets is one of these names."""
    return entry.subject in subjects or any(name in subjects for name in entry.targets)


def merged_entries(entries: Sequence[LogEntry]) -> list[LogEntry]:
    """The entries; neighbours within a second that differ only in their subject become one entry.

    `orders-1 leader 2 → 3`, `orders-4 leader 2 → 3` and 37 more are one line that names internal topics last. A process
    that a command ended and the command are one entry, too.
    """
    result: list[LogEntry] = []
    run: list[LogEntry] = []
    for entry in _with_commands(entries):
        if run and not (entry.at_us - run[0].at_us <= MERGE_WINDOW_US and _statement(entry) == _statement(run[0])):
            result.append(_merged(run))
            run = []
        run.append(entry)
    if run:
        result.append(_merged(run))
    return result


def _with_commands(entries: Sequence[LogEntry]) -> Iterator[LogEntry]:
    """The entries; the end of a process and the command that ended it in the same instant become one."""
    ended: LogEntry | None = None
    for entry in entries:
        if ended is not None and _ended_by(ended, entry):
            yield _with_command(ended, entry)
            ended = None
            continue
        if ended is not None:
            yield ended
        ended = entry if entry.event in ENDS else None
        if ended is None:
            yield entry
    if ended is not None:
        yield ended


def _ended_by(ended: LogEntry, command: LogEntry) -> bool:
    same = command.event == "fault_started" and command.at_us == ended.at_us
    return same and command.targets == (ended.subject,)


def _with_command(ended: LogEntry, command: LogEntry) -> LogEntry:
    """`billing-2 was killed (kill billing-2 for 20s)`."""
    text = f"{ended.text} ({command.text})"
    return LogEntry(ended.at_us, ended.kind, ended.subject, text, ended.event, "", command.targets)


def _statement(entry: LogEntry) -> tuple[str, str]:
    """What entries of one line have in common: their kind, and the predicate, or the whole text without one."""
    return entry.kind, entry.predicate or entry.text


def _merged(run: list[LogEntry]) -> LogEntry:
    first = run[0]
    names = sorted(dict.fromkeys(entry.subject for entry in run), key=lambda name: name.startswith("__"))
    if len(names) == 1 or not first.predicate:
        return first
    shown = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    said = first.predicate if first.predicate.startswith(":") else f": {VERB.sub('', first.predicate).lstrip()}"
    return LogEntry(first.at_us, first.kind, names[0], f"{shown}{said}", first.event, first.predicate)


class EventLogListing(Listing):
    """The last entries of the view, or the entries of some subjects. A key is an instant, and the place in it."""

    title = "events"
    newest_first = True
    vacant = line(("no event yet", MUTED))

    def __init__(self, view: ClusterView, width: int, subjects: Container[str] | None = None) -> None:
        super().__init__(width)
        entries = view.log_entries
        if subjects is not None:  # before the cut: others' entries must not hide the only one of a subject
            entries = [one for one in entries if concerns(one, subjects)]
        self.entries = merged_entries(entries[-SHOWN:])
        self._by_key: dict[str, LogEntry] = {}
        last_us, place = NEVER, 0
        for entry in self.entries:
            place = place + 1 if entry.at_us == last_us else 0
            last_us = entry.at_us
            self._by_key[f"{last_us}.{place}"] = entry

    def row_keys(self) -> list[str]:
        """One key for each entry, newest first."""
        return list(reversed(self._by_key))

    def rows(self, key: str) -> tuple[Line]:
        """The line of one entry."""
        return (fit(entry_line(self._by_key[key]), self.width),)

    def instant_of(self, key: str) -> int:
        """The instant of the entry's event."""
        return self._by_key[key].at_us

    def key_at(self, at_us: int) -> str:
        """The newest entry at or before an instant."""
        place = bisect_right(self.entries, at_us, key=lambda entry: entry.at_us) - 1
        return list(self._by_key)[place] if place >= 0 else ""

    def matches(self, key: str, pattern: str) -> bool:
        """Whether the entry's text holds the pattern; `!` in front negates it."""
        return holds(self._by_key[key].text, pattern)
