"""What passes and is not kept by the view: commands that were refused, to be said once."""

from collections import deque

from cluster.events import CommandRefused, Event


class Traces:
    """Refused commands with their reasons, until somebody has told them."""

    def __init__(self) -> None:
        self._refused: deque[str] = deque(maxlen=8)

    def refusals(self) -> list[str]:
        """Commands that were refused since this was last asked, with their reasons."""
        return [self._refused.popleft() for _ in range(len(self._refused))]

    def observe(self, event: Event) -> None:
        """Take one more event; nearly all are passed over."""
        if event.__class__ is CommandRefused:
            assert isinstance(event, CommandRefused)
            self._refused.append(f"{event.text}: {event.reason}")
