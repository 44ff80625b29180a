"""The interface of a presenter to a panel: rows by key, computed only when they are visible."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from console.presenters.styled_text import EMPTY, MUTED, Line, line, plain

BUILDING: Line = (("the cluster is being built …", MUTED),)
CONTINUED = "#"
"""A key with this sign belongs to a row that continues another one; it cannot be selected."""


RowValue = Callable[[str], float | str | None]
"""What a row is ordered by, by its key; None stands last."""


class Listing:
    """Rows of equal height; one listing for each frame. Rows that need attention come first, worst first.

    `title` names the panel; `note` is at the right end of the title; `vacant` replaces missing rows. `opens`: what
    enter opens where no row can be selected. `newest_first`: a selected first row stays the first when others come.
    """

    title = ""
    row_height = 1
    opens = ""
    newest_first = False
    vacant: Line = (("nothing here", MUTED),)

    def __init__(self, width: int) -> None:
        self.width = width

    def note(self) -> Line:
        """The right end of the title."""
        return EMPTY

    def header(self) -> Line:
        """The line above the rows; empty when there is none."""
        return EMPTY

    def row_keys(self) -> Sequence[str]:
        """One key for each row, top to bottom."""
        return ()

    def exceptions(self) -> Sequence[str]:
        """The keys of the rows that need attention; they are the first of `row_keys`."""
        return ()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """What a title says of rows that need no attention and have no room; empty: their number only."""
        del keys
        return EMPTY

    def rows(self, key: str) -> Sequence[Line]:
        """The `row_height` lines of one row."""
        raise NotImplementedError

    def object_at(self, key: str, x: int) -> str:
        """What a click on a cell of a row opens, in place of the row; empty for the row itself."""
        del key, x
        return ""

    def sortable(self) -> Mapping[str, RowValue]:
        """What rows can be ordered by, by the column's title."""
        return {}

    def instant_of(self, key: str) -> int | None:
        """The instant that a row tells of, in µs; None where enter opens something else."""
        del key
        return None

    def unfolds(self, key: str) -> bool:
        """Whether enter shows the rows that a row stands for, or hides them again."""
        del key
        return False

    def key_at(self, at_us: int) -> str:
        """The key of the newest row at or before an instant; empty without one, or where rows have no instant."""
        del at_us
        return ""

    def matches(self, key: str, pattern: str) -> bool:
        """Whether a filter shows a row: its key or what it shows holds the pattern."""
        return holds(" ".join([key, *(plain(row) for row in self.rows(key))]), pattern)


class NotThere(Listing):
    """A panel about what does not exist: the cluster is being built, or the shown instant is before it."""

    def __init__(self, title: str, width: int, *, built: bool) -> None:
        super().__init__(width)
        self.title = title
        self.vacant = line(("it does not exist at this instant", MUTED)) if built else BUILDING


FILTER_USAGE = "text   !text: rows without it   ~text: its letters in this order   /regex/"


class FilterError(ValueError):
    """A filter that cannot be read: the reason, and the column of the mistake."""

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(reason)
        self.reason, self.column = reason, column


def holds(text: str, pattern: str) -> bool:
    """Whether a filter shows a text, in capitals or not. Raises FilterError."""
    wanted, found = _read_filter(pattern)
    return (found.search(text) is not None) is wanted


@lru_cache(maxsize=64)
def _read_filter(pattern: str) -> tuple[bool, re.Pattern[str]]:
    """Whether the rows that match are shown, and what matches.

    `!` negates; `~` finds the letters in this order within a word; a regular expression stands between slashes.
    """
    wanted = pattern[:1] != "!"
    rest = pattern if wanted else pattern[1:]
    if rest[:1] == "~":
        return wanted, re.compile(r"\S*?".join(map(re.escape, rest[1:])), re.IGNORECASE)
    if rest[:1] != "/":
        return wanted, re.compile(re.escape(rest), re.IGNORECASE)
    expression = rest[1:].removesuffix("/")
    try:
        return wanted, re.compile(expression, re.IGNORECASE)
    except re.error as error:
        column = len(pattern) - len(rest) + 1 + (error.pos or 0)
        raise FilterError(f"not a regular expression: {error.msg}", column) from None


def ordered(keys: Sequence[str], value: RowValue, *, largest_first: bool) -> list[str]:
    """The keys by their rows' values, in their former order among equals; rows without a value stand last.

    Rows that cannot be selected have none.
    """
    valued = [(found, key) for key in keys if CONTINUED not in key and (found := value(key)) is not None]
    valued.sort(key=lambda pair: pair[0], reverse=largest_first)
    known = {key for _, key in valued}
    return [*(key for _, key in valued), *(key for key in keys if key not in known)]


class WorstFirstListing(Listing):
    """A listing whose rows stand in the order of `rank`, those without a rank in their former order behind them.

    A subclass calls `order` in its constructor, as soon as it can rank its rows.
    """

    keys: Sequence[str] = ()
    sick = 0

    def order(self, keys: Sequence[str]) -> None:
        """Take the rows' keys, in the scenario's order."""
        self.keys, self.sick = worst_first(keys, self.rank)

    def rank(self, key: str) -> int | None:
        """How bad a row is, 0 worst; None if it needs no attention."""
        raise NotImplementedError

    def row_keys(self) -> Sequence[str]:
        """Those that need attention first, worst first."""
        return self.keys

    def exceptions(self) -> Sequence[str]:
        """The keys with a rank."""
        return self.keys[: self.sick]


def worst_first(keys: Sequence[str], rank: Callable[[str], int | None]) -> tuple[list[str], int]:
    """The keys by rank, 0 first, in their former order among equals; how many have a rank. None: no attention."""
    ranked = [(worst, place) for place, key in enumerate(keys) if (worst := rank(key)) is not None]
    first = [place for _, place in sorted(ranked)]
    chosen = set(first)
    return [*(keys[place] for place in first), *(k for place, k in enumerate(keys) if place not in chosen)], len(first)


def counted_states(states: Sequence[str]) -> str:
    """`3 ● Stable, 1 ○ Empty`, from glyphs with their states."""
    numbers: dict[str, int] = {}
    for state in states:
        numbers[state] = numbers.get(state, 0) + 1
    return ", ".join(f"{number} {state}" for state, number in numbers.items())
