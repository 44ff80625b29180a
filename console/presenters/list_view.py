"""The interface of a presenter to a panel: rows by key, computed only when they are visible."""

from collections.abc import Sequence

from console.presenters.styled_text import EMPTY, MUTED, Line

BUILDING: Line = (("the cluster is being built …", MUTED),)
CONTINUED = "#"
"""A key with this sign belongs to a row that continues another one; it cannot be selected."""


class Listing:
    """Rows of equal height, in an order that does not depend on their values; one listing for each frame.

    `title` names the panel; `note` is at the right end of the title; `vacant` replaces missing rows.
    """

    title = ""
    row_height = 1
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

    def rows(self, key: str) -> Sequence[Line]:
        """The `row_height` lines of one row."""
        raise NotImplementedError

    def matches(self, key: str, pattern: str) -> bool:
        """Whether a filter shows a row: its key holds the pattern; `!` in front negates it."""
        return (pattern[1:].lower() not in key.lower()) if pattern[:1] == "!" else (pattern.lower() in key.lower())
