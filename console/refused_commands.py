"""Commands of this console that the cluster refused, each shown once. The view does not keep them."""

from collections import deque

from cluster.events import CommandRefused, Event


class RefusedCommands:
    """Matches CommandRefused events with commands given on this console.

    Refused commands of the scenario or of a nemesis are in the event log only: as notices they would cover the screen.
    """

    def __init__(self) -> None:
        self._given: deque[str] = deque(maxlen=32)
        self._refused: deque[str] = deque(maxlen=8)

    def given(self, text: str) -> None:
        """Remember a command that this console submitted, in its journaled text."""
        self._given.append(text)

    def take_all(self) -> list[str]:
        """Remove and return the refused commands, each with its reason."""
        return [self._refused.popleft() for _ in range(len(self._refused))]

    def observe(self, event: Event) -> None:
        """Take one event; all but CommandRefused are ignored."""
        if event.__class__ is CommandRefused:
            assert isinstance(event, CommandRefused)
            if event.text in self._given:
                self._given.remove(event.text)
                self._refused.append(f"{event.text}: {event.reason}")
