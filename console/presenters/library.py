"""The lists of the library screen: scenarios to start, recordings to play, and the description of the selected one."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.presenters.formatting import duration
from console.presenters.list_view import Listing
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    Line,
    Span,
    fit,
    line,
    middle,
    wrapped,
)
from console.presenters.table import TableColumn, layout

if TYPE_CHECKING:
    from recordings.journal.catalogue import RecordingInfo
    from recordings.scenarios.loader import ScenarioInfo

SCENARIO_COLUMNS = (
    TableColumn("scenario", 24, grow=1, most=34),
    TableColumn("module", 12, rank=1),
    TableColumn("until", 5, right=True),
    TableColumn("title", 16, grow=3, rank=2),
)
RECORDING_COLUMNS = (
    TableColumn("recording", 20, grow=3, most=44),
    TableColumn("scenario", 14, grow=1, most=24, rank=2),
    TableColumn("recorded (UTC)", 16),
    TableColumn("length", 7, right=True, rank=1),
    TableColumn("seed", 8, right=True, rank=4),
    TableColumn("events", 10, right=True, rank=3),
)
UNFINISHED = "no end"


class ScenariosListing(Listing):
    """The scenarios of the library. Keys are names."""

    title = "scenarios"

    def __init__(self, scenarios: Sequence["ScenarioInfo"], width: int) -> None:
        super().__init__(width)
        self.scenarios = {scenario["name"]: scenario for scenario in scenarios}
        self.layout = layout(SCENARIO_COLUMNS, width)

    def note(self) -> Line:
        """The key of the list."""
        return line(("enter starts", FAINT))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The scenarios' names."""
        return list(self.scenarios)

    def rows(self, key: str) -> tuple[Line]:
        """One scenario."""
        scenario = self.scenarios[key]
        name: Span = (middle(key, self.layout.width_of(0)), STRONG)
        return (self.layout.row([name, (scenario["module"], MUTED), scenario["until"], scenario["title"]]),)

    def matches(self, key: str, pattern: str) -> bool:
        """By name, module and title."""
        scenario = self.scenarios[key]
        return pattern.lower() in f"{key} {scenario['module']} {scenario['title']}".lower()


class RecordingsListing(Listing):
    """The recordings of the directory, newest first. Keys are positions in the list."""

    title = "recordings"

    def __init__(self, recordings: Sequence["RecordingInfo"], directory: Path, width: int) -> None:
        super().__init__(width)
        self.recordings = recordings
        self.vacant = line((f"none in {directory.resolve()}: `:record NAME.flight` records the current flight", MUTED))
        self.layout = layout(RECORDING_COLUMNS, width)

    def note(self) -> Line:
        """The key of the list."""
        return line(("enter plays", FAINT))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """Positions in the list."""
        return [str(index) for index in range(len(self.recordings))]

    def rows(self, key: str) -> tuple[Line]:
        """One recording, or the reason why it cannot be played."""
        one = self.recordings[int(key)]
        name: Span = (middle(one.path.name, self.layout.width_of(0)), STRONG)
        if one.failure:
            return (fit(line("  ", name, ("  ✖ ", ERROR), (one.failure, MUTED)), self.width),)
        length: Span = (duration(one.virtual_us), PLAIN) if one.virtual_us is not None else (UNFINISHED, MUTED)
        events = f"{one.events:,}" if one.events is not None else ""
        cells: list[Line | Span | str] = [name, one.scenario, (when(one.started), MUTED), length, str(one.seed), events]
        return (self.layout.row(cells),)

    def matches(self, key: str, pattern: str) -> bool:
        """By name and scenario."""
        one = self.recordings[int(key)]
        return pattern.lower() in f"{one.path.name} {one.scenario}".lower()


class AboutListing(Listing):
    """A title and paragraphs of text."""

    title = "lesson"
    vacant = line(("select a scenario or a recording", MUTED))

    def __init__(self, heading: str, paragraphs: Sequence[str], width: int) -> None:
        super().__init__(width)
        self.lines: list[Line] = [line((heading, ACCENT))] if heading else []
        for paragraph in paragraphs:
            if paragraph.strip():
                self.lines += [(), *wrapped(line(" ".join(paragraph.split())), width - 4)]

    def row_keys(self) -> list[str]:
        """One key for each line; lines cannot be selected."""
        return [f"#{index}" for index in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(line("  ", *self.lines[int(key[1:])]), self.width),)


def about_scenario(scenario: "ScenarioInfo", width: int) -> AboutListing:
    """A scenario's lesson."""
    return AboutListing(scenario["title"], scenario["lesson"].split("\n\n"), width)


def about_recording(one: "RecordingInfo", width: int) -> AboutListing:
    """A recording's path, scenario, seed and length."""
    if one.failure:
        return AboutListing(one.path.name, [f"The recording cannot be played: {one.failure}", str(one.path)], width)
    if one.virtual_us is None:
        end = "The recording has no end: its flight was killed, or continues. Playback stops at the last whole event."
    else:
        end = f"{duration(one.virtual_us)} of virtual time, {one.events:,} events."
    return AboutListing(one.path.name, [f"{one.scenario}, seed {one.seed}. {end}", str(one.path)], width)


def when(started: str) -> str:
    """An instant of wall time to the minute."""
    return started[:16].replace("T", " ")
