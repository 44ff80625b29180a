"""What a panel asks of a presenter: rows by key, worked out one by one, so that only the visible ones cost anything."""

from collections.abc import Sequence

from console.presenters.styled_text import EMPTY, MUTED, Line

BUILDING: Line = (("the cluster is being built …", MUTED),)
CONTINUED = "#"
"""A key with this sign belongs to a row that goes on; it cannot be selected."""


class Listing:
    """Rows of equal height, in an order that does not depend on their values. Made anew for each frame.

    `title` names the panel; `note` stands at the right end of its title; `vacant` is said when there are no rows.
    """

    title = ""
    row_height = 1
    vacant: Line = (("nothing here", MUTED),)

    def __init__(self, width: int) -> None:
        self.width = width

    def note(self) -> Line:
        """What stands at the right end of the title."""
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
        """Whether a row is shown under a filter: its key holds the text; `!` in front means that it does not."""
        return (pattern[1:].lower() not in key.lower()) if pattern[:1] == "!" else (pattern.lower() in key.lower())
