"""The handler tables of Kafka's log writers: which function makes an event's lines."""

from collections.abc import Callable
from typing import Any, TypeVar

from cluster.events import Event
from recordings.kafka_log.state import KafkaLogState, Line

E = TypeVar("E", bound=Event)

Renderer = Callable[[KafkaLogState, Any], list[Line]]


class LogWriter:
    """One writer of log lines: event class → the function that makes the writer's lines of it."""

    def __init__(self) -> None:
        self.renderers: dict[type[Event], Renderer] = {}

    def handles(
        self, kind: type[E]
    ) -> Callable[[Callable[[KafkaLogState, E], list[Line]]], Callable[[KafkaLogState, E], list[Line]]]:
        """Register the decorated function for a class of events. Raises ValueError if the writer has one already."""

        def register(renderer: Callable[[KafkaLogState, E], list[Line]]) -> Callable[[KafkaLogState, E], list[Line]]:
            if kind in self.renderers:
                raise ValueError(f"two handlers of {kind.__name__} in {renderer.__module__}")
            self.renderers[kind] = renderer
            return renderer

        return register
