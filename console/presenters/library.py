"""The lists of the library screen: scenarios to start, recordings to play, and the description of the selected one."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from console.presenters.formatting import UNKNOWN, duration
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import (
    ACCENT,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    line,
    middle,
    wrapped,
)
from console.presenters.table import TableColumn, for_names, layout

if TYPE_CHECKING:
    from recordings.journal.catalogue import RecordingInfo
    from recordings.scenarios.course import Lesson

SCENARIO_COLUMNS = (
    TableColumn("", 1),
    TableColumn("module", 12, rank=2),  # the lesson beside the list names it too
    TableColumn("scenario", 24, grow=1, most=34),
    TableColumn("length", 6, right=True),
    TableColumn("title", 22, grow=3, rank=1),
)
RECORDING_COLUMNS = (
    TableColumn("", 1),
    TableColumn("recording", 14, grow=3, most=44),
    TableColumn("scenario", 12, grow=1, most=24, rank=5),
    TableColumn("state", 7),
    TableColumn("recorded (UTC)", 16, rank=1),
    TableColumn("length", 7, right=True),
    TableColumn("seed", 8, right=True, rank=3),
    TableColumn("events", 10, right=True, rank=2),
)
SHOWN: Span = ("▶", ACCENT)
WRITING = "writing"


class ScenariosListing(Listing):
    """The scenarios of the library in the order of the course. Keys are names."""

    title = "scenarios"

    def __init__(self, lessons: Sequence["Lesson"], flown: str, width: int) -> None:
        super().__init__(width)
        self.lessons, self.flown = {lesson.name: lesson for lesson in lessons}, flown
        self.layout = layout(SCENARIO_COLUMNS, width)

    def note(self) -> Line:
        """The keys of the list, and the sign of the scenario that is flown."""
        flown = line(SHOWN, (" is flown now  ", FAINT)) if self.flown in self.lessons else ()
        return line(*flown, ("enter flies", FAINT))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The scenarios' names."""
        return list(self.lessons)

    def rows(self, key: str) -> tuple[Line]:
        """One scenario."""
        lesson = self.lessons[key]
        name: Span = (middle(key, self.layout.width_of(2)), STRONG)
        mark: Span = SHOWN if key == self.flown else ("", PLAIN)
        return (self.layout.row([mark, (lesson.module, MUTED), name, duration(lesson.until_us), lesson.title]),)

    def matches(self, key: str, pattern: str) -> bool:
        """By name, module and title, also where the row has no room for them."""
        lesson = self.lessons[key]
        return holds(f"{key} {lesson.module} {lesson.title}", pattern)


class ShelfState(NamedTuple):
    """What the console does with recordings: the one it plays, the one it writes, those marked A and B."""

    playing: Path | None = None
    writing: Path | None = None
    marked: Sequence[Path] = ()


class RecordingsListing(Listing):
    """The recordings of the directory, newest first. Keys are `key_of` each."""

    title = "recordings"

    def __init__(
        self, recordings: Mapping[str, "RecordingInfo"], directory: Path, shelf: ShelfState, width: int
    ) -> None:
        super().__init__(width)
        self.recordings, self.shelf = recordings, shelf
        self.labels = labels_of([one.path for one in recordings.values()])
        self.vacant = line((f"none in {directory.resolve()}: `:record NAME.flight` records the current flight", MUTED))
        self.layout = layout(for_names(RECORDING_COLUMNS, self.labels.values(), 1), width)

    def note(self) -> Line:
        """The keys of the list."""
        return line(("enter plays · m marks · c compares · d deletes", FAINT))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """A key for each path."""
        return list(self.recordings)

    def rows(self, key: str) -> tuple[Line]:
        """One recording; of a damaged one, the reason in place of what is not known."""
        one = self.recordings[key]
        name: Span = (middle(self.labels[one.path], self.layout.width_of(1)), STRONG)
        mark = self._mark(one.path)
        if one.failure and not one.scenario:
            gap = self.layout.place_of(1) - self.layout.margin - len(mark[0])
            blank = self.layout.place_of(3) - self.layout.place_of(1) - len(name[0])
            words = line(("damaged", WARN), (f"  {one.failure}", MUTED))
            return (fit(line(" " * self.layout.margin, mark, " " * gap, name, " " * blank, *words), self.width),)
        length: Span = (duration(one.virtual_us), PLAIN) if one.virtual_us is not None else (UNKNOWN, MUTED)
        events = f"{one.events:,}" if one.events is not None else UNKNOWN
        state = self._state(one)
        cells: list[Line | Span | str] = [mark, name, one.scenario, state, (when(one.started), MUTED), length]
        return (self.layout.row([*cells, str(one.seed), events]),)

    def _mark(self, path: Path) -> Span:
        if path in self.shelf.marked:
            return ("AB"[list(self.shelf.marked).index(path)], ACCENT)
        return SHOWN if path == self.shelf.playing else ("", PLAIN)

    def _state(self, one: "RecordingInfo") -> Span:
        if one.failure:
            return ("damaged", WARN)
        if one.path == self.shelf.writing:
            return (WRITING, ACCENT)
        return ("closed", MUTED) if one.closed else ("no end", PLAIN)

    def matches(self, key: str, pattern: str) -> bool:
        """By path and scenario, also where the row has no room for them."""
        one = self.recordings[key]
        return holds(f"{one.path} {one.scenario} {self._state(one)[0]}", pattern)


class AboutListing(Listing):
    """A title and paragraphs of text."""

    title = "lesson"
    vacant = line(("select a scenario or a recording", MUTED))

    def __init__(self, heading: str, paragraphs: Sequence[str], width: int) -> None:
        super().__init__(width)
        self.lines: list[Line] = [*wrapped(line((heading, ACCENT)), width - 4)] if heading else []
        for paragraph in paragraphs:
            if paragraph.strip():
                self.lines += [(), *wrapped(line(" ".join(paragraph.split())), width - 4)]

    def row_keys(self) -> list[str]:
        """One key for each line; lines cannot be selected."""
        return [f"#{index}" for index in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(line("  ", *self.lines[int(key[1:])]), self.width),)


def about_scenario(lesson: "Lesson", width: int) -> AboutListing:
    """A scenario's lesson."""
    heading = f"{lesson.title} · {lesson.module} · {duration(lesson.until_us)}"
    return AboutListing(heading, lesson.lesson.split("\n\n"), width)


def about_recording(one: "RecordingInfo", shelf: ShelfState, width: int) -> AboutListing:
    """A recording's scenario, seed, length and state, and its path."""
    facts = [f"{one.scenario}, seed {one.seed}, recorded {when(one.started)} UTC."] if one.scenario else []
    if one.virtual_us is not None:
        facts.append(f"{duration(one.virtual_us)} of virtual time, {one.events:,} events.")
    if one.failure:
        way_out = "`flightdeck play --salvage` plays up to the damage" if one.scenario else "it cannot be played"
        facts.append(f"It is damaged: {one.failure}; {way_out}.")
    elif one.path == shelf.writing:
        facts.append("This console writes it.")
    elif not one.closed:
        facts.append("It has no end: its flight was killed, or continues. Playback stops at the last whole event.")
    elif not one.complete:
        facts.append("Its flight was stopped before its scheduled end.")
    path, room = str(one.path), max(1, width - 6)  # a path is one word, however long
    pieces = [path[start : start + room] for start in range(0, len(path), room)]
    return AboutListing(one.path.name, [" ".join(facts), " ".join(pieces)], width)


def key_of(path: Path) -> str:
    """The key of a recording's row: its path without the sign that rows which continue others have."""
    return quote(os.fsencode(path))


def labels_of(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each path: as few of its last parts as tell it from the others."""
    labels: dict[Path, str] = {}
    for path in paths:
        others = [other.parts for other in paths if other != path]
        parts = path.parts
        needed = next(
            (n for n in range(1, len(parts)) if all(other[-n:] != parts[-n:] for other in others)), len(parts)
        )
        labels[path] = "/".join(parts[-needed:])
    return labels


def when(started: str) -> str:
    """An instant of wall time to the minute."""
    return started[:16].replace("T", " ")
