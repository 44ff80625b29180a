"""What passes and is not kept by the view: commands of this console that were refused, to be said once."""

from collections import deque

from cluster.events import CommandRefused, Event


class Traces:
    """Refused commands with their reasons, until somebody has told them.

    Only those that were `given` here: what the scenario or a nemesis tried in vain is in the log of events, and would
    cover a screen with notices that nobody asked for.
    """

    def __init__(self) -> None:
        self._given: deque[str] = deque(maxlen=32)
        self._refused: deque[str] = deque(maxlen=8)

    def given(self, text: str) -> None:
        """A command, as it is journaled, was given here: if it is refused, that is to be told."""
        self._given.append(text)

    def refusals(self) -> list[str]:
        """Commands that were refused since this was last asked, with their reasons."""
        return [self._refused.popleft() for _ in range(len(self._refused))]

    def observe(self, event: Event) -> None:
        """Take one more event; nearly all are passed over."""
        if event.__class__ is CommandRefused:
            assert isinstance(event, CommandRefused)
            if event.text in self._given:
                self._given.remove(event.text)
                self._refused.append(f"{event.text}: {event.reason}")
