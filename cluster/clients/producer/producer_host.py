"""The producer package's host interface: what the parts of a producer may ask of their process.

The sender, the record feed, the transaction manager and the transaction loop each see a `ProducerHost`. `Producer` is
the process that owns them. The interface cuts the circle of imports between a process and its parts.
"""

from abc import ABC, abstractmethod

from cluster.clients.process import Process
from cluster.clients.producer.accumulator import ProducerBatch
from cluster.clients.producer.tombstones import Tombstones


class ProducerHost(Process, ABC):
    """A producer's process. `overdue`: a request has timed out, which the sender thread has not noticed yet."""

    topics: tuple[str, ...]
    overdue: bool
    tombstones: Tombstones | None

    # --- for the sender -----------------------------------------------------------------------------------------------

    @abstractmethod
    def poll_returned(self) -> None:
        """Let the sender thread, which is awake, notice requests that have timed out (`overdue`)."""

    @abstractmethod
    def begin_sending(self) -> None:
        """Start the application: metadata and producer id are known."""

    @abstractmethod
    def pull(self) -> None:
        """Move the records that have arrived by now into the accumulator."""

    @abstractmethod
    def look_ahead(self) -> None:
        """Schedule the next pull: batches were drained, so the next record opens one."""

    @abstractmethod
    def memory_released(self) -> None:
        """Continue a send() that waits for `buffer.memory`: a batch released its memory."""

    @abstractmethod
    def closed(self) -> None:
        """End the process after close(): everything is sent."""

    @abstractmethod
    def transaction_progressed(self) -> None:
        """Wake the transaction's thread: a batch was settled, records were taken, or a partition must be added."""

    @abstractmethod
    def transaction_failed(self, error: str = "") -> None:
        """Make the open transaction abortable: a batch failed; without an error its sequence is in doubt."""

    @abstractmethod
    def knows_topics(self) -> bool:
        """Whether the application can begin: it sends to a topic that metadata has."""

    # --- for the record feed ------------------------------------------------------------------------------------------

    @abstractmethod
    def request_metadata(self) -> None:
        """Refresh metadata, again and again: a send() waits for its topic."""

    @abstractmethod
    def batch_ready(self, at_us: int) -> None:
        """Wake the sender at this instant, from which on a batch may be sent."""

    @abstractmethod
    def exceeds_availability_timeout(self, broker: int) -> bool:
        """Whether a broker has taken nothing for longer than `partitioner.availability.timeout.ms`."""

    @abstractmethod
    def send_refused(self, topic: str, waited_for: str, error: str) -> None:
        """Record that send() for this topic failed: after `max.block.ms`, or because the record is too large."""

    @abstractmethod
    def key_sent(self, partition: str, serial: int) -> None:
        """Note that a record whose key did not decide its partition is the next one of this partition."""

    @abstractmethod
    def keys_moved(self, serials: dict[str, int]) -> None:
        """Note that keys map to other partitions from now on; `serials`: partition → its next serial number."""

    @abstractmethod
    def transaction_opened(self, batch: ProducerBatch) -> None:
        """Note that a batch belongs to the open transaction."""

    # --- for the transaction manager ----------------------------------------------------------------------------------

    @abstractmethod
    def identified(self, producer_id: int, epoch: int) -> None:
        """Use this producer id and epoch from now on; sequences restart at 0."""

    @abstractmethod
    def fenced(self, reason: str) -> None:
        """Stop sending: another producer has the transactional id, or the coordinator does not know this one."""
