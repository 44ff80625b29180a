"""The log of what happened, newest on top: rebalances, faults, elections, members that come and go."""

from collections.abc import Container, Sequence

from cluster.view.state import ClusterView, Moment
from console.presenters.frame import moment_line
from console.presenters.listing import Listing
from console.presenters.text import MUTED, Line, fit, line


def concerns(noted: Moment, subjects: Container[str]) -> bool:
    """Whether a moment is about one of these: its subject is, or a fault's text names it."""
    if noted.subject in subjects:
        return True
    return noted.kind in {"fault", "mended"} and any(word in subjects for word in noted.text.split(" "))


class MomentsListing(Listing):
    """Every moment that the view keeps, or those of some subjects. Keys are places in the list, `#` in front."""

    title = "events"
    vacant = line(("nothing has happened yet", MUTED))

    def __init__(self, view: ClusterView, width: int, subjects: Container[str] | None = None) -> None:
        super().__init__(width)
        moments: Sequence[Moment] = view.moments
        self.moments = moments if subjects is None else [one for one in moments if concerns(one, subjects)]

    def row_keys(self) -> list[str]:
        """One for each moment; none can be selected."""
        return [f"#{place}" for place in range(len(self.moments) - 1, -1, -1)]

    def rows(self, key: str) -> tuple[Line]:
        """One moment."""
        return (fit(moment_line(self.moments[int(key[1:])]), self.width),)

    def matches(self, key: str, pattern: str) -> bool:
        """A filter looks at the words."""
        words = self.moments[int(key[1:])].text.lower()
        return (pattern[1:].lower() not in words) if pattern[:1] == "!" else (pattern.lower() in words)
