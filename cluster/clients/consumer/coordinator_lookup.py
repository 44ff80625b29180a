"""Finding the group's coordinator: FindCoordinator to one broker after another, until one knows.

The poll loop looks when it needs the coordinator, the heartbeat thread when it wants to beat: whoever comes first.
Meanwhile poll() goes on with the partitions that the member holds. What is found is connected to at once, by a
connection of its own; while that may not be made again yet, the coordinator counts as unknown and is looked for.
Source: `AbstractCoordinator.lookupCoordinator`, `ensureCoordinatorReady`, `HeartbeatThread.run`.
"""

from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.process import coordinator_node
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse


class CoordinatorLookup:
    """The search of one member; `under_way` until a coordinator is found.

    Whoever named one that did not do is not asked first again: Kafka's client asks any of its least loaded brokers.
    """

    def __init__(self, consumer: ConsumerHost) -> None:
        self._consumer = consumer
        self.under_way = self._found = False

    def reset(self) -> None:
        """A new process."""
        self.under_way = self._found = False

    def begin(self) -> None:
        """Look for the coordinator, unless it is known or looked for already."""
        if not self.under_way and self._consumer.coordinator < 0:
            self.under_way = True
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
        if connection.broken:  # just now: somebody else may be it by the time it may be asked
            consumer.coordinator_unavailable(response.broker)
            consumer.after(consumer.retry_backoff_us, self._ask)
            return
        self.under_way, self._found = False, True
        consumer.coordinator_found(response.broker)
