"""A flight in the words of Kafka's own logs: what its brokers, controllers and clients would have written.

Each event becomes the lines that Kafka writes at that fact, with its context in brackets and its logger at the end, or
nothing where Kafka is silent (a kill -9, a heartbeat). The wording is that of Kafka 4.x with the new group coordinator
(GroupMetadataManager, AbstractCoordinator, ConsumerCoordinator, Partition, ReplicationControlManager and their like,
of 4.3.1, compared with real logs of it and of 4.1.0); numbers that are not modelled, such as correlation ids and
topic ids, are left out. A client's line about an answer bears the instant of the event that tells it. The time is
virtual. Injuries, of which Kafka knows nothing, are marked `[Flightdeck]`.
"""

from collections.abc import Callable
from typing import Any

from cluster.events import EVENT_KINDS, Event
from recordings.kafka_log import assignments as kafka_log_assignments
from recordings.kafka_log import brokers as kafka_log_servers
from recordings.kafka_log import consumers as kafka_log_consumers
from recordings.kafka_log import followers as kafka_log_followers
from recordings.kafka_log import group_coordinators as kafka_log_groups
from recordings.kafka_log import heartbeats as kafka_log_heartbeats
from recordings.kafka_log import offsets as kafka_log_offsets
from recordings.kafka_log import producers as kafka_log_producers
from recordings.kafka_log.state import Line, Notes

Renderer = Callable[[Notes, Any], list[Line]]

WRITERS = (
    kafka_log_consumers,
    kafka_log_assignments,
    kafka_log_heartbeats,
    kafka_log_offsets,
    kafka_log_producers,
    kafka_log_groups,
    kafka_log_servers,
    kafka_log_followers,
)
"""Whoever writes a log, clients first: what several write of one event was caused by a client."""

RENDERERS: dict[type[Event], tuple[Renderer, ...]] = {
    cls: tuple(getattr(writer, kind) for writer in WRITERS if hasattr(writer, kind))
    for kind, cls in EVENT_KINDS.items()
    if any(hasattr(writer, kind) for writer in WRITERS)
}


class KafkaLog:
    """A sink of events that hands each line to `write`: `[00:00:03,012] INFO [GroupCoordinator id=1 …] Stabilized…`."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._notes = Notes()

    def __call__(self, event: Event) -> None:
        """Render one event."""
        for renderer in RENDERERS.get(type(event), ()):
            for line in renderer(self._notes, event):
                self._write(f"[{timestamp(event.at_us)}] {line.level} {line.context}{line.message} ({line.logger})")


def timestamp(at_us: int) -> str:
    """Virtual time in the form of Kafka's logs, milliseconds after a comma: `00:01:02,345`."""
    seconds, us = divmod(at_us, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{us // 1000:03}"
