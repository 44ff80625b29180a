"""The event pipeline: one structlog logger of a simulation, whose processor stamps, folds and publishes events.

The component that changes a state creates the event once. The pipeline stamps it with its sequence and instant, folds
it into the simulation's own view, and publishes it by reference to every sink: journal, console queue, log lines,
expectations. Nothing is configured for the whole process, so simulations in one process are independent.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import structlog
from msgspec.structs import force_setattr

from cluster.events import Event
from cluster.view import ClusterView, fold
from cluster.virtual_time import Timeline

Sink = Callable[[Event], object]
Emit = Callable[[Event], None]

_SET: Final = force_setattr  # a compiled module looks an imported name up for each use, a Final of its own once


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
    """The processor of one simulation: stamp, fold, publish to the sinks."""

    def __init__(self, clock: Timeline, sinks: list[Sink]) -> None:
        self.clock = clock
        self.sequence = 0
        self.view = ClusterView()
        self.sinks = sinks

    def publish(self, _logger: object, _name: str, event: Event) -> None:
        """Stamp the event with `seq` and `at_us`, fold it, and call every sink with it, in their order.

        The event never changes afterwards. One processor, not three: this runs for every event of a flight.
        """
        self.sequence = sequence = self.sequence + 1
        _SET(event, "seq", sequence)
        _SET(event, "at_us", self.clock.now_us)
        fold(self.view, event)
        for sink in self.sinks:
            sink(event)

    def logger(self) -> EventLogger:
        """The logger of the simulation."""
        processors: list[Any] = [self.publish]  # structlog's own type knows dictionaries only
        logger = structlog.wrap_logger(
            None, processors=processors, wrapper_class=EventLogger, context_class=dict
        ).bind()
        assert isinstance(logger, EventLogger)
        return logger
