"""What the view does not keep yet: every answered heartbeat of the last two minutes, and refused commands.

The lanes of heartbeat threads are drawn from it. It is a fold of its own, over the same events and as deterministic.
"""

from collections import deque
from typing import NamedTuple

from cluster.events import CommandRefused, Event, HeartbeatAnswered

KEPT_US = 120_000_000


class Beat(NamedTuple):
    """A heartbeat that was answered, with the error code of the answer (`NONE`: all is well)."""

    at_us: int
    error: str


class Traces:
    """Answered heartbeats by member, oldest first."""

    def __init__(self) -> None:
        self.beats: dict[str, deque[Beat]] = {}
        self._refused: deque[str] = deque(maxlen=8)

    def refusals(self) -> list[str]:
        """Commands that were refused since this was last asked, with their reasons."""
        return [self._refused.popleft() for _ in range(len(self._refused))]

    def observe(self, event: Event) -> None:
        """Take one more event; most kinds are passed over."""
        if event.__class__ is CommandRefused:
            assert isinstance(event, CommandRefused)
            self._refused.append(f"{event.text}: {event.reason}")
        elif event.__class__ is HeartbeatAnswered:
            assert isinstance(event, HeartbeatAnswered)
            beats = self.beats.setdefault(event.member, deque())
            beats.append(Beat(event.at_us, event.error))
            while beats[0].at_us < event.at_us - KEPT_US:
                beats.popleft()
