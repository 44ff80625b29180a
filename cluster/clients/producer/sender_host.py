"""What a producer's sender thread needs of its producer."""

from collections.abc import Callable
from typing import Any, Protocol

from cluster import events as e
from cluster.clients.producer.transaction_manager import TransactionManager
from cluster.network import Connection
from cluster.protocol.api import Request
from cluster.virtual_time import Timeline, Timer, Waiter


class ProducerHost(Protocol):
    """The producer whose thread this is."""

    name: str
    running: bool
    overdue: bool
    retry_backoff_us: int
    retry_backoff_max_us: int
    topics: tuple[str, ...]
    timeline: Timeline
    emit: Callable[[e.Event], None]
    transactions: TransactionManager | None

    def leader_of(self, partition: str) -> int:
        """The leader as far as this client knows; -1 when it knows none."""

    def connection(self, broker: int) -> Connection:
        """The connection to a broker."""

    def connection_ready_us(self, broker: int) -> int:
        """When there may be a ready connection to a broker: now; the end of a backoff; NEVER_US, when it will be told.

        Begins to connect when it may.
        """

    def poll_returned(self) -> None:
        """Something has woken the thread, which looks for requests that have timed out (`overdue`)."""

    def any_broker(self) -> int:
        """Whom to ask when nobody in particular is to be asked."""

    def try_another_broker(self) -> None:
        """That broker did not help."""

    async def ask(self, broker: int, request: Request) -> Any:  # noqa: ANN401 - the response that the request asks for
        """Send a request and wait for its response."""

    async def park(self, waiter: Waiter) -> Any:  # noqa: ANN401 - whatever the waiter is woken with
        """Wait until somebody wakes the waiter."""

    async def sleep(self, duration_us: int) -> None:
        """Let time pass."""

    def after(self, duration_us: int, action: Callable[[], object]) -> Timer:
        """Do something after a while: later when it is frozen by then, never when it is dead."""

    async def refresh_metadata(self, topics: tuple[str, ...]) -> None:
        """Learn who leads the topics' partitions."""

    def begin_sending(self) -> None:
        """Metadata and producer id are there: the application may send."""

    def pull(self) -> None:
        """Bring what has come by now into the accumulator."""

    def look_ahead(self) -> None:
        """Batches were drained: the next record opens one."""

    def memory_released(self) -> None:
        """A batch gave its memory back."""

    def closed(self) -> None:
        """Everything is sent, after close()."""

    def transaction_progressed(self) -> None:
        """Something of the open transaction was settled, or wants a partition added."""

    def transaction_failed(self, error: str = "") -> None:
        """A batch of the open transaction failed; without an error its sequence is in doubt."""
