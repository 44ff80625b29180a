"""Judges the grid of owners: the letter of each cell is that of an owner, the height its lag."""

import re

from console.presenters.styled_text import Line, plain
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict
from tests.console.judge.group_books import GroupBook

HEIGHTS = "▁▂▃▄▅▆▇█"
FROM = (0, 1, 10, 50, 200, 1_000, 5_000, 20_000)
"""The legend's lag from which on a height is shown."""


class OwnershipJudge:
    """One group's grid; `signs`: member → the letter and hue that the table of members gives it."""

    def __init__(self, books: Books, group: GroupBook, signs: dict[str, tuple[str, str]], verdict: Verdict) -> None:
        self.books, self.group, self.signs, self.verdict = books, group, signs, verdict
        self.given = {
            name: group.members.get(member_id, "") for member_id, names in group.assignment.items() for name in names
        }
        self.drawn: set[str] = set()

    def row(self, topic: str, first: int, header: str, row: Line) -> None:
        """The cells from partition `first` on; the header says how wide a cell is."""
        numbers = re.findall(r"\d+", header)
        place = header.index("0") if numbers else 0
        wide = {1: 3, 2: 2}.get(int(numbers[1]) if len(numbers) > 1 else 1, 1)
        cells = [(char, tone) for text, tone in row for char in text][place:]
        count = len(plain(row)[place:].rstrip()) // wide + bool(len(plain(row)[place:].rstrip()) % wide)
        for index in range(count):
            name = f"{topic}-{first + index}"
            if name not in self.books.cluster.partitions:
                self.verdict.claim(False, f"owners of {self.group.name}", f"a cell for {name}, which does not exist")
                return
            self.drawn.add(name)
            self._owner(name, cells[index * wide])
            if wide > 1:
                lag = self.books.lag_in(self.group, name)
                level = max(at for at, low in enumerate(FROM) if lag >= low)
                shown = cells[index * wide + 1][0]
                self.verdict.claim(shown == HEIGHTS[level], f"lag of {name}", f"{shown} for {lag} records")

    def whole(self) -> None:
        """Every partition of the group's topics has its cell."""
        missing = set(self.books.partitions_of(self.group)) - self.drawn
        self.verdict.claim(not missing, f"owners of {self.group.name}", f"without {sorted(missing)}")

    def _owner(self, name: str, sign: tuple[str, str]) -> None:
        group, stable = self.group, self.group.state == "Stable"
        holders = self.books.member_books.holders(group.name, name)
        target = self.given.get(name)
        taker = self.books.members.get(target or "")
        comes = stable and taker is not None and taker.alive and not taker.frozen and target not in holders
        if sign[0] == "↻":
            right = comes
        elif sign[0] == "‖":
            right = not comes and name in group.unowned_since_us
        elif sign[0] == "·":
            given_away = stable and target is not None and target not in holders  # its holder was thrown out
            right = not comes and (given_away or not holders) and name not in group.unowned_since_us
        else:
            right = any(self.signs.get(holder) == sign for holder in holders)
            right = right and (not stable or target is None or self.signs.get(target) == sign)
        self.verdict.claim(right, f"owner of {name}", f"{sign} is shown, held by {holders}, given to {target!r}")
