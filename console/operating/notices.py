"""Notices: short messages in the place of the footer, one after the other.

A notice never lies over a panel, the ticker, the flight strip or the command line. Its time runs only while it can be
read: while the command line covers the footer, notices wait.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from console.presenters.styled_text import ACCENT, ERROR, FAINT, PLAIN, STRONG, WARN, Line, line, wrapped

KEPT = 20
HURRIED_SECONDS = 2.0
"""The time of a notice while others wait."""
MOST_LINES = 3
MARKS = {
    "information": (("● ", ACCENT), PLAIN),
    "warning": (("▲ ", WARN), STRONG),
    "error": (("✖ ", ERROR), STRONG),
}


class Notice(NamedTuple):
    """A message, its severity in Textual's words, and how long it is shown."""

    message: str
    severity: str
    seconds: float


class Notices:
    """A queue of notices. `said` has the last ones, oldest first; `wall` returns seconds of wall time."""

    def __init__(self, wall: Callable[[], float] = time.monotonic) -> None:
        self.said: deque[str] = deque(maxlen=KEPT)
        self._wall = wall
        self._waiting: deque[Notice] = deque(maxlen=KEPT)
        self._shown_for = 0.0
        self._drawn_at: float | None = None

    def add(self, notice: Notice) -> None:
        """Queue a notice; one that is shown or waits already is shown anew instead of twice."""
        self.said.append(notice.message)
        if self._waiting and self._waiting[0].message == notice.message:
            self._shown_for = 0.0
        elif all(waiting.message != notice.message for waiting in self._waiting):
            self._waiting.append(notice)

    def clear(self) -> None:
        """Drop all notices."""
        self._waiting.clear()
        self.said.clear()
        self._shown_for = 0.0

    def hold(self) -> None:
        """Stop the time of the notice that is shown: it is covered now."""
        self._drawn_at = None

    def lines(self, width: int) -> list[Line]:
        """The notice of now, in lines of a width in cells; none without a notice."""
        now = self._wall()
        if self._drawn_at is not None:
            self._shown_for += now - self._drawn_at
        self._drawn_at = now
        while self._waiting and self._shown_for >= self._seconds():
            self._waiting.popleft()
            self._shown_for = 0.0
        if not self._waiting:
            self._shown_for = 0.0
            return []
        notice, more = self._waiting[0], len(self._waiting) - 1
        mark, tone = MARKS[notice.severity]
        message = " ".join(notice.message.split())
        said = line(" ", mark, (message, tone), *((f"   {more} more", FAINT),) if more else ())
        return wrapped(said, width - 1, indent=3)[:MOST_LINES]

    def _seconds(self) -> float:
        seconds = self._waiting[0].seconds
        return min(seconds, HURRIED_SECONDS) if len(self._waiting) > 1 else seconds
