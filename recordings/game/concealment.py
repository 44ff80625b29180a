"""What a game hides of a flight's events: the lines of commands that the player did not give. Their effects are shown.

A fault that a scenario's step starts, its end and its refusal are events that name the command. They are left out of
the stream that the screens are made of, and the events after them are numbered anew, so that the stream has no gap.
The simulation and its recording are complete, and show everything afterwards.
"""

from collections.abc import Callable

import msgspec

from cluster.events import CommandRefused, Event, FaultEnded, FaultStarted
from cluster.spec import ScenarioSpec


class Concealment:
    """A sink that passes on the events that a player may see, in the same order."""

    def __init__(self, spec: ScenarioSpec, show: Callable[[Event], object]) -> None:
        self._steps = {(step.at_us, step.text) for step in spec.steps}
        self._show = show
        self._faults: set[int] = set()
        self._left_out = 0

    def __call__(self, event: Event) -> None:
        """Take the next event of the flight."""
        if self._hides(event):
            self._left_out += 1
        elif self._left_out:
            self._show(msgspec.structs.replace(event, seq=event.seq - self._left_out))
        else:
            self._show(event)

    def _hides(self, event: Event) -> bool:
        kind = event.__class__
        if kind is FaultStarted:
            assert isinstance(event, FaultStarted)
            if (event.at_us, event.text) in self._steps:
                self._faults.add(event.fault)
                return True
            return False
        if kind is FaultEnded:
            assert isinstance(event, FaultEnded)
            return event.fault in self._faults
        return isinstance(event, CommandRefused) and (event.at_us, event.text) in self._steps
