"""sendOffsetsToTransaction: a producer commits its group's offsets as part of its transaction (KIP-98, KIP-447).

The producer sends TxnOffsetCommit to the group's coordinator over its own connection. The request has the group
metadata of its consumer's last join. So the coordinator refuses a consumer that is no longer a member, which makes the
transaction abortable.
Source: `TransactionManager.TxnOffsetCommitHandler`.
"""

from typing import NamedTuple

from cluster.clients.producer.producer_host import ProducerHost
from cluster.clients.producer.transaction_manager import CoordinatorClient, TransactionError, TransactionManager
from cluster.protocol import messages as m
from cluster.protocol import transaction_messages as t
from cluster.protocol.errors import ErrorCode

_FIND_AGAIN = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
)
_ASK_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
_OF_THE_PRODUCER = {ErrorCode.INVALID_PRODUCER_EPOCH: ErrorCode.PRODUCER_FENCED}


class ConsumerGroupMetadata(NamedTuple):
    """The group, generation, member id and instance id of a consumer's last join (Kafka's `ConsumerGroupMetadata`)."""

    group: str
    generation: int
    member_id: str
    instance_id: str | None


class TransactionOffsets:
    """The offsets that one process of a producer sends to its transactions."""

    def __init__(self, host: ProducerHost, transactions: TransactionManager) -> None:
        self._host, self._transactions = host, transactions
        self._coordinators: dict[str, CoordinatorClient] = {}  # of each group

    async def send(self, metadata: ConsumerGroupMetadata, offsets: dict[str, int]) -> None:
        """Wait until the offsets are pending in the group's log. Raises TransactionError."""
        host, transactions = self._host, self._transactions
        await transactions.add_offsets(metadata.group)
        coordinator = self._coordinators.setdefault(metadata.group, CoordinatorClient(host, metadata.group, "group"))
        while True:
            request = t.TxnOffsetCommitRequest(
                transactions.transactional_id,
                metadata.group,
                transactions.producer_id,
                transactions.epoch,
                metadata.generation,
                metadata.member_id,
                metadata.instance_id,
                {name: (offset, -1, "") for name, offset in offsets.items()},
            )
            error = _error_of(await coordinator.ask(request))
            if error is ErrorCode.NONE:
                return
            if error in _FIND_AGAIN:
                coordinator.lost()
            elif error not in _ASK_AGAIN:
                raise self._refused(error)
            await host.sleep(host.retry_backoff_us)

    def _refused(self, error: ErrorCode) -> TransactionError:
        return self._transactions.refused(_OF_THE_PRODUCER.get(error, error))


def _error_of(response: m.OffsetCommitResponse | None) -> ErrorCode:
    """The first error of a response; NETWORK_EXCEPTION for a broken connection."""
    if response is None:
        return ErrorCode.NETWORK_EXCEPTION
    return next((error for error in response.errors.values() if error is not ErrorCode.NONE), ErrorCode.NONE)
