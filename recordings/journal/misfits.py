"""Events that can be read, and do not fit those before them: damage that only their reader notices."""

from collections.abc import Callable

from cluster.events import Event
from recordings.journal.reader import Recording

MISFITS = (LookupError, ValueError, ArithmeticError, TypeError, AttributeError, AssertionError)
"""The errors of the fold at an event that does not fit those before it: an unknown name, a number out of range."""


def taken(recording: Recording, event: Event, take: Callable[[Event], object]) -> bool:
    """Have a reader take the next event of a recording; False, with a warning, if a salvage ends before it.

    Raises DamagedError for an event that does not fit those before it, unless `recording.salvage`.
    """
    try:
        take(event)
    except MISFITS as error:
        damage = recording.misfit(event)
        if not recording.salvage:
            raise damage from error
        recording.warn(f"{damage.place}: {damage.reason}; read up to event {event.seq - 1}")
        return False
    return True
