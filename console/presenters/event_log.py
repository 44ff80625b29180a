"""The event log, newest on top: rebalances, faults, elections, members that start and leave."""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, LogEntry
from console.presenters.formatting import clock
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import ERROR, FAINT, MOVING, MUTED, OK, WARN, Line, fit, length, line

SHOWN = 1_000
MERGE_WINDOW_US = 1_000_000
NAMED = 2  # subjects that a row of several names
MOST_ROWS = 3
PART = "/"
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


def entry_line(entry: LogEntry, indent: int = 0) -> Line:
    """An entry's instant, glyph and text."""
    glyph, tone, _ = MARKS.get(entry.kind, ("·", MUTED, 0))
    return line((f" {clock(entry.at_us, 3)} ", MUTED), (f" {' ' * indent}{glyph} ", tone), entry.text)


def concerns(entry: LogEntry, subjects: Container[str]) -> bool:
    """Whether an entry's subject or one of its targets is one of these names."""
    return entry.subject in subjects or any(name in subjects for name in entry.targets)


class MergedEntry(NamedTuple):
    """A row of the log: what it says, and the entries that it stands for."""

    entry: LogEntry
    parts: Sequence[LogEntry]

    @property
    def folds(self) -> bool:
        """Whether the row does not name all of its parts."""
        return len(self.parts) > NAMED


def last_entries(entries: Sequence[LogEntry], number: int) -> Sequence[LogEntry]:
    """At least so many of the last entries: what may be one row with others is not cut off them."""
    first = max(0, len(entries) - number)
    while first > 0 and entries[first].at_us - entries[first - 1].at_us <= MERGE_WINDOW_US:
        if entries[first].event != entries[first - 1].event:
            break
        first -= 1
    return entries[first:]


def merged_entries(entries: Sequence[LogEntry]) -> list[LogEntry]:
    """What the rows of `merged` say."""
    return [row.entry for row in merged(entries)]


def merged(entries: Sequence[LogEntry]) -> list[MergedEntry]:
    """The entries; neighbours within a second that differ only in their subject become one row.

    `orders-1 leader 2 → 3`, `orders-4 leader 2 → 3` and 37 more are one row. New leaders of one burst are neighbours,
    whatever their order: those of internal topics are one row with their number, and so are those of other topics that
    would need more than `MOST_ROWS`. A process that a command ended and the command are one entry, too.
    """
    result: list[MergedEntry] = []
    for run in _runs(with_commands(entries), _together):
        if run[0].elected_for:
            result += _elections(run)
        else:
            result += [MergedEntry(_merged(same), same) for same in _runs(run, _alike)]
    return result


def _runs(entries: Iterable[LogEntry], belong: Callable[[LogEntry, LogEntry], bool]) -> Iterator[list[LogEntry]]:
    """Neighbours of at most a second, each of which belongs to the first."""
    run: list[LogEntry] = []
    for entry in entries:
        if run and not (entry.at_us - run[0].at_us <= MERGE_WINDOW_US and belong(run[0], entry)):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def _together(first: LogEntry, entry: LogEntry) -> bool:
    return entry.elected_for == first.elected_for if first.elected_for else _alike(first, entry)


def _alike(first: LogEntry, entry: LogEntry) -> bool:
    return not entry.elected_for and _statement(first) == _statement(entry)


def _elections(burst: Sequence[LogEntry]) -> list[MergedEntry]:
    """The rows of new leaders for one reason: internal topics first, so that they stand below the others."""
    internal = [entry for entry in burst if entry.subject.startswith("__")]
    users = [entry for entry in burst if not entry.subject.startswith("__")]
    rows = [_counted(internal)] if len(internal) > NAMED else _by_leader(internal)
    theirs = _by_leader(users)
    rows += [_counted(users)] if len(theirs) > MOST_ROWS else theirs
    return sorted(rows, key=lambda row: row.entry.at_us)


def _by_leader(elected: Sequence[LogEntry]) -> list[MergedEntry]:
    """A row for each former and new leader."""
    same: dict[str, list[LogEntry]] = {}
    for entry in elected:
        same.setdefault(entry.predicate, []).append(entry)
    return [MergedEntry(_merged(entries), entries) for entries in same.values()]


def _counted(elected: Sequence[LogEntry]) -> MergedEntry:
    """`17 partitions of __consumer_offsets: new leaders (broker fenced)`, `33 internal partitions: …`."""
    first = min(elected, key=lambda entry: entry.at_us)
    topics = dict.fromkeys(entry.subject.rpartition("-")[0] for entry in elected)
    if len(topics) == 1:
        what = f"{len(elected)} partitions of {next(iter(topics))}"
    elif first.subject.startswith("__"):
        what = f"{len(elected)} internal partitions"
    else:
        what = f"{len(elected)} partitions of {len(topics)} topics"
    text = f"{what}: new leaders ({first.elected_for})"
    return MergedEntry(LogEntry(first.at_us, first.kind, first.subject, text, first.event), elected)


def with_commands(entries: Sequence[LogEntry]) -> Iterator[LogEntry]:
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
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    said = first.predicate if first.predicate.startswith(":") else f": {VERB.sub('', first.predicate).lstrip()}"
    return LogEntry(first.at_us, first.kind, names[0], f"{shown}{said}", first.event, first.predicate)


class EventLogListing(Listing):
    """The last entries of the view, or the entries of some subjects. A key is an instant, and the place in it.

    `unfolded`: the keys of rows that stand for several entries and show them below, each under `key/number`.
    """

    title = "events"
    newest_first = True
    vacant = line(("no event yet", MUTED))

    def __init__(
        self, view: ClusterView, width: int, subjects: Container[str] | None = None, unfolded: Container[str] = ()
    ) -> None:
        super().__init__(width)
        entries = view.log_entries
        if subjects is not None:  # before the cut: others' entries must not hide the only one of a subject
            entries = [one for one in entries if concerns(one, subjects)]
        self.entries = merged(last_entries(entries, SHOWN))
        self.unfolded = unfolded
        self._by_key: dict[str, MergedEntry] = {}
        last_us, place = NEVER, 0
        for row in self.entries:
            place = place + 1 if row.entry.at_us == last_us else 0
            last_us = row.entry.at_us
            self._by_key[f"{last_us}.{place}"] = row

    def row_keys(self) -> list[str]:
        """One key for each row, newest first; the entries of an unfolded one follow it."""
        keys: list[str] = []
        for key, row in reversed(self._by_key.items()):
            keys.append(key)
            if row.folds and key in self.unfolded:
                keys += [f"{key}{PART}{number}" for number in range(len(row.parts))]
        return keys

    def _entry(self, key: str) -> LogEntry:
        whole, _, number = key.partition(PART)
        row = self._by_key[whole]
        return row.parts[int(number)] if number else row.entry

    def rows(self, key: str) -> tuple[Line]:
        """The line of one entry, indented below its row."""
        entry = self._entry(key)
        if PART in key:
            return (fit(entry_line(entry, indent=2), self.width),)
        said, words = entry_line(entry), self._folding(key)
        words = words if length(said) + len(words) <= self.width else words[:2]
        return (line(*fit(said, self.width - len(words)), (words, FAINT)),)

    def _folding(self, key: str) -> str:
        """What enter does with a row that stands for several."""
        row = self._by_key[key]
        if not row.folds:
            return ""
        return " − enter folds" if key in self.unfolded else f" + enter: all {len(row.parts)}"

    def unfolds(self, key: str) -> bool:
        """Whether the row stands for several entries that it does not name."""
        return PART not in key and self._by_key[key].folds

    def instant_of(self, key: str) -> int | None:
        """The instant of the entry's event; None for a row that unfolds."""
        return None if self.unfolds(key) else self._entry(key).at_us

    def key_at(self, at_us: int) -> str:
        """The newest entry at or before an instant."""
        place = bisect_right(self.entries, at_us, key=lambda row: row.entry.at_us) - 1
        return list(self._by_key)[place] if place >= 0 else ""

    def matches(self, key: str, pattern: str) -> bool:
        """Whether the text of the entry, or of one that its row stands for, holds the pattern; `!` negates it."""
        entry = self._entry(key)
        parts = () if PART in key else self._by_key[key].parts
        return holds(" ".join([entry.text, *(part.text for part in parts)]), pattern)
