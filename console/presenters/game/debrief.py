"""The debrief of a game: the verdict with the truth on the flight's strip, the faults, the score, the symptoms."""

from typing import TYPE_CHECKING

from console.presenters.formatting import clock, duration
from console.presenters.list_view import Listing
from console.presenters.styled_text import (
    ACCENT,
    EMPTY,
    ERROR,
    FAINT,
    MUTED,
    OK,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    line,
    merged,
)
from console.presenters.table import TableColumn, layout

if TYPE_CHECKING:
    from console.game.symptoms import Symptom
    from recordings.game.score import PlayedGame

FAULT_COLUMNS = (
    TableColumn("hidden fault", 30, grow=2),
    TableColumn("given", 12, right=True),
    TableColumn("first seen", 12, right=True, rank=1),
    TableColumn("diagnosed", 12, right=True),
    TableColumn("took", 8, right=True),
)
SCORE_COLUMNS = (
    TableColumn("term", 18),
    TableColumn("what", 30, grow=1),
    TableColumn("points", 8, right=True),
)
NEVER = "–"
FOUND = "✓"


class DebriefListing(Listing):
    """The score in one line, and the flight's strip with the truth: `✖` fault, `✓` found, `!` wrong accusation."""

    title = "debrief"

    def __init__(self, played: "PlayedGame", width: int) -> None:
        super().__init__(width)
        self.played = played
        self.lines = [self._verdict(), self._strip(), self._legend()]

    def note(self) -> Line:
        """The game's name."""
        return line((f"{self.played.title} · seed {self.played.seed}", FAINT))

    def row_keys(self) -> list[str]:
        """Lines cannot be selected."""
        return [f"#{place}" for place in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(self.lines[int(key[1:])], self.width),)

    def _verdict(self) -> Line:
        played = self.played
        found = sum(fault.found_us is not None for fault in played.faults)
        sign, tone = ("●", OK) if played.solved else ("✖", ERROR)
        wrong = len(played.wrong)
        accusations = f"{wrong} wrong {'accusation' if wrong == 1 else 'accusations'}"
        ended = ", you gave up" if played.gave_up else ""
        noun = "fault" if len(played.faults) == 1 else "faults"
        words = f" · {found} of {len(played.faults)} {noun} found · {accusations}{ended}"
        return line((f"  {sign} ", tone), (f"score {played.score}", STRONG), (words, PLAIN))

    def _strip(self) -> Line:
        inner = max(1, self.width - 4)
        played = self.played
        over = self._cell(played.over_us, inner)
        cells: list[Span] = [("─", MUTED) if place <= over else ("┈", FAINT) for place in range(inner)]
        for wrong in played.wrong:
            cells[self._cell(wrong.at_us, inner)] = ("!", WARN)
        for fault in played.faults:
            if fault.found_us is not None:
                cells[self._cell(fault.found_us, inner)] = (FOUND, OK)
            cells[self._cell(fault.at_us, inner)] = ("✖", ERROR)
        return line("  ", *merged(cells))

    def _cell(self, at_us: int, inner: int) -> int:
        return min(inner - 1, at_us * inner // max(1, self.played.length_us))

    def _legend(self) -> Line:
        ends = f"0:00 to {duration(self.played.length_us)}"
        return line(("  ✖", ERROR), (" fault given  ", MUTED), (FOUND, OK), (" diagnosed  ", MUTED), ("!", WARN),
                    (f" wrong accusation  ─ played, {ends}", MUTED))  # fmt: skip


class TruthListing(Listing):
    """Each hidden fault: when it was given, first seen and diagnosed. Enter goes to the instant of the fault."""

    title = "the truth"
    vacant = line(("the game ended before a fault was injected", MUTED))

    def __init__(self, played: "PlayedGame", symptoms: "list[Symptom]", width: int) -> None:
        super().__init__(width)
        self.played, self.symptoms = played, symptoms
        self.layout = layout(FAULT_COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The instants, with the faults' numbers."""
        return [f"{fault.at_us}/{number}" for number, fault in enumerate(self.played.faults)]

    def rows(self, key: str) -> tuple[Line]:
        """One fault."""
        number = int(key.partition("/")[2])
        fault = self.played.faults[number]
        seen = next((one.at_us for one in self.symptoms if one.fault == number), None)
        found = fault.found_us
        cells: list[Line | Span | str] = [
            line(("✖ ", ERROR), (fault.truth.text, STRONG)),
            line((clock(fault.at_us, 3), PLAIN)),
            line((clock(seen, 3) if seen is not None else NEVER, PLAIN)),
            line((clock(found, 3) if found is not None else NEVER, OK if found is not None else ERROR)),
            line((duration(found - fault.at_us) if found is not None else NEVER, PLAIN)),
        ]
        return (self.layout.row(cells),)


class ScoreListing(Listing):
    """The terms of the score with their sources, and the sum."""

    title = "score"

    def __init__(self, played: "PlayedGame", width: int) -> None:
        super().__init__(width)
        self.played = played
        self.layout = layout(SCORE_COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """The terms' places, and the sum."""
        return [*(f"#{place}" for place in range(len(self.played.terms))), "#sum"]

    def rows(self, key: str) -> tuple[Line]:
        """One term."""
        if key == "#sum":
            floor = "never below 0" if sum(term.points for term in self.played.terms) < 0 else ""
            cells: list[Line | Span | str] = [
                line(("score", STRONG)),
                line((floor, MUTED)),
                line((str(self.played.score), STRONG)),
            ]
            return (self.layout.row(cells),)
        term = self.played.terms[int(key[1:])]
        tone = OK if term.points > 0 else ERROR if term.points < 0 else FAINT
        return (self.layout.row([term.name, line((term.source, MUTED)), line((f"{term.points:+d}", tone))]),)


class SymptomsListing(Listing):
    """Which place showed which fault first, and in what words. Enter goes to the instant."""

    title = "what the screens said"
    vacant = line(("no headline and no answer named the fault before the game ended", MUTED))

    def __init__(self, played: "PlayedGame", symptoms: "list[Symptom]", width: int) -> None:
        super().__init__(width)
        self.played, self.symptoms = played, symptoms

    def note(self) -> Line:
        """The key of the rows."""
        return line(("enter: to the instant", FAINT)) if self.symptoms else EMPTY

    def row_keys(self) -> list[str]:
        """The instants, with the places in the list."""
        return [f"{one.at_us}/{place}" for place, one in enumerate(self.symptoms)]

    def rows(self, key: str) -> tuple[Line]:
        """One symptom."""
        one = self.symptoms[int(key.partition("/")[2])]
        fault = f"{self.played.faults[one.fault].truth.text}: " if len(self.played.faults) > 1 else ""
        where = (f"{one.place}: ", MUTED)
        return (fit(line((f"  {clock(one.at_us, 3)}  ", ACCENT), (fault, PLAIN), where, one.words), self.width),)
