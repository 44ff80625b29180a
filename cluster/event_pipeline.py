"""How the cluster speaks: one structlog logger, given to the simulation, whose processor stamps, folds and passes on.

An event is created once by whoever knows the fact, stamped once with its sequence and instant, folded into the
simulation's own view, and passed by reference to every sink (journal, console queue, log lines, expectations).
There is no global configuration: two simulations in one process know nothing of each other.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from msgspec.structs import force_setattr

from cluster.events import Event
from cluster.view import ClusterView, fold
from cluster.virtual_time import Timeline

Sink = Callable[[Event], object]
Emit = Callable[[Event], None]


class EventLogger(structlog.BoundLoggerBase):
    """A structlog logger for typed events: `emit(event)` runs its one processor, a Pipeline, over the event.

    Each event must not have been emitted before.
    """

    emit: Emit

    def __init__(self, logger: object, processors: list[Any], context: dict[str, Any]) -> None:
        super().__init__(logger, processors, context)
        (process,) = processors
        self.emit = partial(process, logger, "emit")  # no loop, no frame of its own: this runs for every event


class Pipeline:
    """The processor of one simulation: it stamps, folds, and passes on to the sinks."""

    def __init__(self, clock: Timeline, sinks: list[Sink]) -> None:
        self.clock = clock
        self.sequence = 0
        self.view = ClusterView()
        self.sinks = sinks

    def publish(self, _logger: object, _name: str, event: Event) -> Event:
        """Give the event its place, `seq` and `at_us`, fold it, and pass it to every sink, in their order.

        From here on it is frozen. One processor, not three: this runs for every event of a flight.
        """
        self.sequence = sequence = self.sequence + 1
        force_setattr(event, "seq", sequence)
        force_setattr(event, "at_us", self.clock.now_us)
        fold(self.view, event)
        for sink in self.sinks:
            sink(event)
        return event

    def logger(self) -> EventLogger:
        """The logger to give to the simulation."""
        processors: list[Any] = [self.publish]  # structlog's own type knows dictionaries only
        logger = structlog.wrap_logger(
            None, processors=processors, wrapper_class=EventLogger, context_class=dict
        ).bind()
        assert isinstance(logger, EventLogger)
        return logger
