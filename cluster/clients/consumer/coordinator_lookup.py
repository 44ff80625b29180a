"""Finding the group's coordinator: FindCoordinator to one broker after another, until one returns it.

The poll loop starts the lookup when it needs the coordinator, the heartbeat thread when a heartbeat is due. Meanwhile
poll() returns records of the partitions that the member owns. The client connects to the coordinator at once, over a
separate connection. While the backoff of that connection lasts, the coordinator counts as unknown, and the lookup
continues.
Source: `AbstractCoordinator.lookupCoordinator`, `ensureCoordinatorReady`, `HeartbeatThread.run`.
"""

from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.process import coordinator_node
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse


class CoordinatorLookup:
    """The lookup of one member. `running`: until a coordinator is found.

    A broker that named a coordinator which then refused is not asked first again. Kafka's client asks any of its least
    loaded brokers.
    """

    def __init__(self, consumer: ConsumerHost) -> None:
        self._consumer = consumer
        self.running = self._found = False

    def reset(self) -> None:
        """Begin a new process."""
        self.running = self._found = False

    def begin(self) -> None:
        """Start the lookup, unless the coordinator is known or the lookup runs already."""
        if not self.running and self._consumer.coordinator < 0:
            self.running = True
            if self._found:
                self._consumer.try_another_broker()
            self._ask()

    def _ask(self) -> None:
        consumer = self._consumer
        consumer.connection(consumer.any_broker()).send(FindCoordinatorRequest(consumer.group), self._answered)

    def _answered(self, response: FindCoordinatorResponse | None) -> None:
        consumer = self._consumer
        if response is None or response.error is not ErrorCode.NONE:
            consumer.try_another_broker()
            consumer.after(consumer.retry_backoff_us, self._ask)
            return
        connection = consumer.connection(coordinator_node(response.broker))
        if connection.broken:  # in backoff: another broker may be the coordinator when that ends
            consumer.coordinator_unavailable(response.broker)
            consumer.after(consumer.retry_backoff_us, self._ask)
            return
        self.running, self._found = False, True
        consumer.coordinator_found(response.broker)
