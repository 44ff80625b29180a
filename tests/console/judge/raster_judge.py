"""Judges a raster: each sign is the worst that its partitions were in its cell of time, each rule has its barrier."""

import re

from console.presenters.styled_text import Line, plain
from tests.console.judge.grammar import Verdict
from tests.console.judge.raster_books import RasterBook, Stretch
from tests.console.judge.spoken import instant, stopped_says

HEIGHTS = " ▁▂▃▄▅▆▇█"
STATES = {" ": "unowned", "┊": "unowned", "↻": "moving", "≡": "several", "·": ""}
CELL = re.compile(
    r"(?P<name>\S+) · (?:"
    r"(?P<from>[\d:.]+)–(?P<to>[\d:.]+|now) (?P<what>unowned, before it|moving away from|owned by) (?P<who>\S+?)"
    r"(?P<more> and others)? · (?P<word>generation|epoch) (?P<number>\d+)"
    r"|not owned yet at (?P<early>[\d:.]+))"
)


class RasterJudge:
    """One group's raster on an axis: `first_us`, `cell_us`, as the picture's times say them."""

    def __init__(self, book: RasterBook, group: str, axis: tuple[int, int], now_us: int, verdict: Verdict) -> None:
        self.book, self.place, self.now_us, self.verdict = book, f"raster of {group}", now_us, verdict
        self.first_us, self.cell_us = axis
        self.known = (now_us - self.first_us) // self.cell_us + 1
        self.edges = {self._column(at_us) for one in book.barriers for at_us in one[:2] if at_us >= 0}
        self.drawn: set[str] = set()

    def _column(self, at_us: int) -> int:
        return (at_us - self.first_us) // self.cell_us

    def _span(self, column: int) -> tuple[int, int]:
        from_us = self.first_us + column * self.cell_us
        return from_us, min(from_us + self.cell_us, self.now_us + 1)

    def times(self, text: str) -> None:
        """Each time stands at its own cell."""
        for match in re.finditer(r"[\d:.]+", text):
            from_us = self.first_us + match.start() * self.cell_us
            truth = from_us <= instant(match[0]) < from_us + self.cell_us
            self.verdict.claim(truth, self.place, f"{match[0]} at {from_us / 1e6:.3f} s")

    def row(self, names: list[str], cells: Line, signs: dict[str, tuple[str, str]]) -> None:
        """The signs of partitions that share a row; `signs`: member → letter and hue of the table of members."""
        self.drawn.update(names)
        spans = [(char, tone) for text, tone in cells for char in text]
        self.verdict.claim(len(spans) == min(self.known, len(spans)), self.place, f"{len(spans)} cells of {names[0]}")
        for column, sign in enumerate(spans):
            from_us, to_us = self._span(column)
            state, owners = self.book.worst(names, from_us, to_us)
            if sign[0] in "│┊" and column not in self.edges:
                self.verdict.claim(False, self.place, f"no barrier at {from_us / 1e6:.3f} s")
            if sign[0] in STATES:
                right = STATES[sign[0]] == state
            elif sign[0] == "│":
                right = state == "owned" and signs[next(iter(owners))][1] == sign[1]
            else:
                right = state == "owned" and signs[next(iter(owners))] == sign
            self.verdict.claim(right, self.place, f"{sign} at {from_us / 1e6:.3f} s of {names}: {state} {owners}")

    def barriers(self, text: str, width: int) -> None:
        """A bracket for each barrier, and the generation behind it."""
        text = text.ljust(width)
        shown = {column for column, char in enumerate(text) if char in "╭╮┃"}
        truth = {column for column in self.edges if 0 <= column < min(width, self.known)}
        self.verdict.claim(shown == truth, self.place, f"barriers at {sorted(shown)}, not {sorted(truth)}")
        ends = {self._column(one[1]): one[2] for one in self.book.barriers if one[1] >= 0}
        for match in re.finditer(r"\d+", text):
            said = ends.get(match.start() - 1)
            self.verdict.claim(said == int(match[0]), self.place, f"generation {match[0]}, not {said}")

    def cost(self, text: str) -> None:
        """The heights of the partition-seconds as they add up."""
        total = self.book.unowned_us(self.now_us)
        for column, char in enumerate(text[: self.known].ljust(min(self.known, len(text)))):
            so_far = self.book.unowned_us(min(self._span(column)[0] + self.cell_us, self.now_us))
            level = -(-so_far * 8 // total) if total else 0
            self.verdict.claim(HEIGHTS.index(char) == level, self.place, f"cost {char!r} in cell {column}, not {level}")

    def note(self, text: str) -> None:
        """Partitions and partition-seconds."""
        total = self.book.unowned_us(self.now_us)
        match = re.fullmatch(
            r"(?:(\d+) unowned now  )?(\S+) partition-seconds unowned  (\d+) partitions?(?:, (\d+) a row)?", text
        )
        if match is None:
            self.verdict.claim(False, self.place, f"unknown claim: {text!r}")
            return
        now = sum(1 for known in self.book.stretches.values() if known[-1].state == "unowned")
        self.verdict.claim(int(match[1] or 0) == now, self.place, f"{text!r}: {now} are unowned")
        self.verdict.claim(int(match[3]) == len(self.drawn), self.place, f"{text!r}: {len(self.drawn)} are drawn")
        self.verdict.claim(stopped_says(match[2], total), self.place, f"{text!r}: {total / 1e6:.3f}")

    def cell(self, names: list[str], column: int, text: str) -> None:
        """The words of a cell name its worst stretch: from, to, owner, generation."""
        match, (from_us, to_us) = CELL.fullmatch(text), self._span(column)
        if match is None:
            self.verdict.claim(False, self.place, f"unknown claim: {text!r}")
            return
        state, owners = self.book.worst(names, from_us, to_us)
        if match["early"]:
            self.verdict.claim(not state and match["name"] in names, self.place, f"false claim: {text!r}")
            return
        seen = self.book.seen(match["name"], from_us, to_us)
        right = match["name"] in names and any(self._told(match, one, from_us, state, owners) for one in seen)
        self.verdict.claim(right, self.place, f"false claim: {text!r}, {seen}, {state}")

    def _told(self, match: "re.Match[str]", one: Stretch, from_us: int, state: str, owners: set[str]) -> bool:
        """Whether a cell's words are those of this stretch; several may begin within the tenth of a second told."""
        what = {"unowned, before it": {"unowned"}, "moving away from": {"moving"}, "owned by": {"owned", "several"}}
        if _cut(one.at_us) != instant(match["from"]) or one.state not in what[match["what"]]:
            return False
        stretches = self.book.stretches[match["name"]]
        place = stretches.index(one) + 1
        last = place == len(stretches)
        end = last if match["to"] == "now" else not last and instant(match["to"]) == _cut(stretches[place].at_us)
        worst = one.state == state or (state == "several" and one.state == "owned")
        generation = self.book.generation_at(max(one.at_us, from_us)) == int(match["number"])
        return end and worst and generation and one.owner == match["who"] and one.owner in owners


DIFFERENCE = re.compile(
    r"first difference (\S+): (\S+) (\d+) unowned, (\S+) (\d+) · so far (\S+) and (\S+) partition-seconds"
)


def judge_difference(one: RasterBook, other: RasterBook, now_us: int, text: str, verdict: Verdict) -> None:
    """Up to the first difference equally many partitions are unowned at each instant, and there they are not."""
    times = sorted({each.at_us for book in (one, other) for known in book.stretches.values() for each in known})
    numbers = [(at_us, one.unowned_at(at_us), other.unowned_at(at_us)) for at_us in times]
    first = next(((at_us, a, b) for at_us, a, b in numbers if a != b), None)
    match = DIFFERENCE.fullmatch(text)
    if match is None:
        right = text == "no difference: the same number of partitions is unowned at every instant" and first is None
        verdict.claim(right, "two rasters", f"{text!r}, not {first}")
        return
    said = (instant(match[1]), int(match[3]), int(match[5]))
    verdict.claim(first is not None and said == (_cut(first[0]), *first[1:]), "two rasters", f"{text!r}, not {first}")
    for book, words in ((one, match[6]), (other, match[7])):
        verdict.claim(stopped_says(words, book.unowned_us(now_us)), "two rasters", f"cost {words} in {text!r}")


def names_of(key: str) -> list[str]:
    """The partitions of a row, by its label."""
    topic, _, numbers = key.rpartition(" ")
    if not topic:
        return [key]
    first, _, last = numbers.partition("–")
    return [f"{topic}-{number}" for number in range(int(first), int(last) + 1)]


def _cut(us: int) -> int:
    return us // 100_000 * 100_000


def cells_after(row: Line, label: int) -> Line:
    """A row's cells without its label."""
    return tuple((char, tone) for text, tone in row for char in text)[label:]


def text_after(row: Line, label: int) -> str:
    """A row's text without its label."""
    return plain(row)[label:]
