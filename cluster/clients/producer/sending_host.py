"""What the application of a producer may ask of the process it runs in."""

from collections.abc import Callable
from typing import Protocol

from cluster import events as e
from cluster.clients.producer.accumulator import ProducerBatch
from cluster.virtual_time import Timeline


class ProducerHost(Protocol):
    """The producer whose application this is."""

    name: str
    running: bool
    timeline: Timeline
    emit: Callable[[e.Event], None]
    topic_partitions: dict[str, tuple[str, ...]]
    metadata_version: int

    def leader_of(self, partition: str) -> int:
        """The leader as far as this client knows; -1 when it knows none."""

    def batch_ready(self, at_us: int) -> None:
        """A batch may be sent from this instant on."""

    def exceeds_availability_timeout(self, broker: int) -> bool:
        """Whether a broker has taken nothing for longer than `partitioner.availability.timeout.ms`."""

    def send_refused(self, topic: str, waited_for: str, error: str) -> None:
        """send() of a record for this topic failed: after `max.block.ms`, or because the record is too large."""

    def key_sent(self, partition: str, serial: int) -> None:
        """A record with a key that did not decide its partition goes there next."""

    def keys_moved(self, serials: dict[str, int]) -> None:
        """From now on keys go to other partitions; `serials`: partition → its next serial number."""

    def transaction_progressed(self) -> None:
        """The open transaction has taken records."""

    def transaction_opened(self, batch: ProducerBatch) -> None:
        """A batch belongs to the open transaction."""
