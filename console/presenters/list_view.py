"""The interface of a presenter to a panel: rows by key, computed only when they are visible."""

from collections.abc import Callable, Sequence

from console.presenters.styled_text import EMPTY, MUTED, Line, plain

BUILDING: Line = (("the cluster is being built …", MUTED),)
CONTINUED = "#"
"""A key with this sign belongs to a row that continues another one; it cannot be selected."""


class Listing:
    """Rows of equal height; one listing for each frame. Rows that need attention come first, worst first.

    `title` names the panel; `note` is at the right end of the title; `vacant` replaces missing rows. `opens`: what
    enter opens where no row can be selected.
    """

    title = ""
    row_height = 1
    opens = ""
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

    def key_at(self, at_us: int) -> str:
        """The key of the newest row at or before an instant; empty without one, or where rows have no instant."""
        del at_us
        return ""

    def matches(self, key: str, pattern: str) -> bool:
        """Whether a filter shows a row: its key or what it shows holds the pattern."""
        return holds(" ".join([key, *(plain(row) for row in self.rows(key))]), pattern)


def holds(text: str, pattern: str) -> bool:
    """Whether a text holds a pattern, in capitals or not; `!` in front negates it."""
    return (pattern[1:].lower() not in text.lower()) if pattern[:1] == "!" else (pattern.lower() in text.lower())


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
