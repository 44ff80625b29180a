"""A flight as the lines of Kafka's own logs: those that its brokers, controllers and clients would write.

Each event becomes the lines that Kafka writes at that fact, with its context in brackets and its logger at the end, or
no line where Kafka writes none (a kill -9, a heartbeat). The wording is that of Kafka 4.x with the new group
coordinator (GroupMetadataManager, AbstractCoordinator, ConsumerCoordinator, Partition, ReplicationControlManager and
their like, of 4.3.1, compared with real logs of it and of 4.1.0). Numbers that are not modelled, such as correlation
ids and topic ids, are left out. A client's line about a response bears the instant of that response's event. The time
is virtual. Faults, which Kafka cannot know, are marked `[Flightdeck]`.
"""

from collections.abc import Callable

from cluster.events import Event
from recordings.kafka_log import (
    assignments,
    brokers,
    consumer_group_coordinators,
    consumer_memberships,
    consumers,
    coordinator_lookups,
    followers,
    group_coordinators,
    heartbeats,
    offsets,
    producers,
    reassignments,
    transaction_coordinators,
)
from recordings.kafka_log.handlers import Renderer
from recordings.kafka_log.state import KafkaLogState

WRITERS = (
    consumer_memberships.WRITER,
    consumers.WRITER,
    coordinator_lookups.WRITER,
    assignments.WRITER,
    heartbeats.WRITER,
    offsets.WRITER,
    producers.WRITER,
    group_coordinators.WRITER,
    consumer_group_coordinators.WRITER,
    brokers.WRITER,
    reassignments.WRITER,
    followers.WRITER,
    transaction_coordinators.WRITER,
)
"""Clients first: where several write lines of one event, a client caused it."""

RENDERERS: dict[type[Event], tuple[Renderer, ...]] = {
    kind: tuple(writer.renderers[kind] for writer in WRITERS if kind in writer.renderers)
    for writer in WRITERS
    for kind in writer.renderers
}
"""Class of events → the functions that make its lines, in the order of `WRITERS`."""


class KafkaLog:
    """A sink of events that hands each line to `write`: `[00:00:03,012] INFO [GroupCoordinator id=1 …] Stabilized…`."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._state = KafkaLogState()

    def __call__(self, event: Event) -> None:
        """Render one event."""
        for renderer in RENDERERS.get(type(event), ()):
            for line in renderer(self._state, event):
                self._write(f"[{timestamp(event.at_us)}] {line.level} {line.context}{line.message} ({line.logger})")


def timestamp(at_us: int) -> str:
    """Virtual time in the form of Kafka's logs, milliseconds after a comma: `00:01:02,345`."""
    seconds, us = divmod(at_us, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{us // 1000:03}"
