"""The books of a coordinator's log, kept from its lines alone, and what a screen says that they do not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cluster.view import ClusterView
from console.presenters.list_view import Listing
from console.presenters.logged.details import LoggedDetailsListing
from console.presenters.logged.group import LoggedMembersListing, LoggedRebalancesListing, LoggedStateListing
from console.presenters.logged.groups import LoggedGroupsListing
from console.presenters.styled_text import plain

WIDTH = 200
AT = re.compile(r"(\d{13}) (?:INFO|WARN|ERROR) .*?\[GroupCoordinator id=(\d+) [^\]]*\] (.*)")
JOINED = re.compile(r".* with id (\S+) joins group (\S+) in \w+ state\. Adding to the group now\.")
BEGAN = re.compile(r"Preparing to rebalance group (\S+) in state \S+ with old generation (\d+) \(reason: (.*)\)\.")
STABILIZED = re.compile(r"Stabilized group (\S+) generation (\d+) with (\d+) members\.")
ASSIGNED = re.compile(r"Assignment received from leader \S+ for group (\S+) for generation (\d+)\..*")
EMPTY = re.compile(r"Group (\S+) with generation (\d+) is now empty\.")
FINISHED = re.compile(r"(\d{13}) INFO .*groupId=(\S+)\] Finished assignment for group at generation (\d+): \{(.*)\}")
OF_MEMBER = re.compile(r"(\S+)=Assignment\(partitions=\[(.*?)\]\)")
GONE = re.compile(r"(?:\[Group (\S+)\] )?Member (\S+) (?:in group (\S+) has failed|has left group through).*")


@dataclass
class Round:
    """A rebalance: instants in ms from the first line."""

    began: int
    reason: str
    attempts: int = 1
    ended: int | None = None
    generation: int | None = None
    members: int | None = None
    moved: int | None = None


@dataclass
class Book:
    """A group."""

    broker: str = ""
    state: str = ""
    generation: int | None = None
    ids: set[str] = field(default_factory=set)
    number: int | None = None
    rounds: list[Round] = field(default_factory=list)
    open: bool = False
    owners: dict[str, str] | None = None

    def end(self, at: int, generation: int) -> None:
        if self.open:
            last = self.rounds[-1]
            last.ended, last.generation, last.members, self.open = at, generation, self.number, False


def books_of(lines: Sequence[str], began_ms: int, until_ms: int) -> dict[str, Book]:
    """The books after the lines up to an instant, counted from another one (ms since 1970)."""
    books: dict[str, Book] = {}
    for line in lines:
        at = int(line[:13]) - began_ms
        if at > until_ms:
            break
        if (found := AT.match(line)) is not None:
            _enter(books, at, found[2], found[3])
        elif FINISHED.match(line) is not None:
            _assign(books, line)
    return books


def _assign(books: dict[str, Book], line: str) -> None:
    """The leader's client says whose each partition is."""
    found = FINISHED.match(line)
    assert found is not None
    book = books.setdefault(found[2], Book())
    owners = {one: member for member, held in OF_MEMBER.findall(found[4]) for one in held.split(", ") if one}
    if book.owners is not None and book.generation == int(found[3]):
        book.rounds[-1].moved = sum(book.owners.get(one, member) != member for one, member in owners.items())
    book.owners = owners


def _enter(books: dict[str, Book], at: int, broker: str, words: str) -> None:
    if said := JOINED.fullmatch(words):
        books.setdefault(said[2], Book()).ids.add(said[1])
    elif said := BEGAN.fullmatch(words):
        book = books.setdefault(said[1], Book())
        book.broker, book.state, book.generation = broker, "PreparingRebalance", int(said[2])
        if book.open:
            book.rounds[-1].attempts += 1
        else:
            book.rounds.append(Round(at, said[3]))
            book.open = True
    elif said := STABILIZED.fullmatch(words):
        book = books.setdefault(said[1], Book())
        book.state, book.generation, book.number = "CompletingRebalance", int(said[2]), int(said[3])
    elif said := EMPTY.fullmatch(words):
        book = books.setdefault(said[1], Book())
        book.state, book.generation, book.number, book.ids = "Empty", int(said[2]), 0, set()
        book.end(at, int(said[2]))
    elif said := ASSIGNED.fullmatch(words):
        books[said[1]].state = "Stable"
        books[said[1]].end(at, int(said[2]))
    elif said := GONE.fullmatch(words):
        books.setdefault(said[1] or said[3], Book()).ids.discard(said[2])


def clock_words(ms: int) -> str:
    """`00:00:17.014`."""
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"


def took_words(ms: int) -> str:
    """A duration, cut: `40 ms`, `1.0 s`, `12 s`."""
    if ms < 100:
        return f"{ms} ms" if ms else "0 s"
    return f"{ms // 1000}.{ms % 1000 // 100} s" if ms < 10_000 else f"{ms // 1000} s"


def rows_of(listing: Listing) -> list[str]:
    """What a list shows."""
    return [" ".join(plain(row).split()) for key in listing.row_keys() for row in listing.rows(key)]


def false_claims(view: ClusterView, now_us: int, books: dict[str, Book]) -> Iterator[str]:
    """What the lists of a recording of logs say of groups that the books do not."""
    logs = view.logs
    assert logs is not None
    listing = LoggedGroupsListing(logs, now_us, WIDTH)
    known = {name for name, book in books.items() if book.state}
    for name in known:
        book, row = books[name], " ".join(plain(listing.rows(name)[0]).split())
        number = "unknown" if book.number is None or book.open else str(book.number)
        if f" {book.state} {book.generation} " not in row or "unknown broker-" + book.broker not in row:
            yield f"group {name}: {row}"
        if number != "unknown" and f" {book.state} {book.generation} {number} unknown broker-" not in row:
            yield f"members of {name}: {row}"
        yield from _false_rounds(view, name, book, now_us)
        shown = {one.split()[2] for one in rows_of(LoggedMembersListing(logs.groups[name], WIDTH)) if "-" in one}
        if book.ids - shown:
            yield f"members of {name} that are not shown: {book.ids - shown}"
        state = rows_of(LoggedStateListing(logs.groups[name], now_us, WIDTH))
        if book.state not in state[0] or f"generation {book.generation} " not in state[1]:
            yield f"state of {name}: {state}"


def _false_rounds(view: ClusterView, name: str, book: Book, now_us: int) -> Iterator[str]:
    assert view.logs is not None
    group = view.logs.groups[name]
    listing = LoggedRebalancesListing(group, now_us, WIDTH)
    rows = list(zip(listing.row_keys(), rows_of(listing), reversed(book.rounds), strict=True))
    for key, row, one in rows:
        wanted = [took_words(one.ended - one.began)] if one.ended is not None else []
        wanted += [str(one.generation), f"{one.attempts} {one.members}"] if one.ended is not None else ["so far"]
        moved = "unknown" if one.moved is None else str(one.moved)
        if not all(words in row for words in wanted) or not row.endswith(f" unknown {moved}"):
            yield f"rebalance of {name}: {row}, not {one}"
        details = rows_of(LoggedDetailsListing(view.logs, group, key, now_us, WIDTH))
        text = " ".join(details)
        wanted = [f"{clock_words(one.began)} ", f" {one.reason}"]
        wanted += [f"{clock_words(one.ended)} "] if one.ended is not None else []
        if not all(words in text for words in wanted):
            yield f"details of {name}: {details}, not {one}"
