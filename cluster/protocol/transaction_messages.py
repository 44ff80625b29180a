"""Requests and responses of transactions, in the order of Kafka's API keys. Data only; see `messages.py`."""

from cluster.protocol.api import Api, Request, Response, SentBy, ServedBy, TransactionalIdRequest, api
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import OffsetCommitResponse


class AddPartitionsToTxnRequest(TransactionalIdRequest):
    """AddPartitionsToTxn (API 24), for one transactional id.

    With `verify_only` a partition's leader asks whether the transaction is ongoing there (KIP-890). `from_broker`: a
    partition's leader sends the request for a producer.
    """

    producer_id: int
    epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False
    from_broker: bool = False


class AddPartitionsToTxnResponse(Response):
    """AddPartitionsToTxn (API 24): partition → error."""

    errors: dict[str, ErrorCode]


class AddOffsetsToTxnRequest(TransactionalIdRequest):
    """AddOffsetsToTxn (API 25); the broker sets `partition`, the group's partition of `__consumer_offsets`."""

    producer_id: int
    epoch: int
    group: str
    partition: str = ""


class AddOffsetsToTxnResponse(Response):
    """AddOffsetsToTxn (API 25)."""

    error: ErrorCode


class EndTxnRequest(TransactionalIdRequest):
    """EndTxn (API 26); `version` is the producer's `transaction.version` (1 or 2)."""

    producer_id: int
    epoch: int
    committed: bool
    version: int = 2


class EndTxnResponse(Response):
    """EndTxn (API 26): under version 2 the producer id and epoch of the next transaction, else -1."""

    error: ErrorCode
    producer_id: int = -1
    epoch: int = -1


class WriteTxnMarkersRequest(Request):
    """WriteTxnMarkers (API 27): the end of one transaction, for partitions that one broker leads.

    `version`: the `transaction.version` of the client that ended it.
    """

    producer_id: int
    epoch: int
    coordinator_epoch: int
    committed: bool
    partitions: tuple[str, ...]
    version: int = 1


class WriteTxnMarkersResponse(Response):
    """WriteTxnMarkers (API 27): partition → error."""

    errors: dict[str, ErrorCode]


class TxnOffsetCommitRequest(Request):
    """TxnOffsetCommit (API 28): offsets of a group that count when the transaction commits (KIP-447)."""

    transactional_id: str
    group: str
    producer_id: int
    epoch: int
    generation: int
    member_id: str
    instance_id: str | None
    offsets: dict[str, tuple[int, int, str]]


class DescribeTransactionRequest(TransactionalIdRequest):
    """DescribeTransactions (API 65), one transactional id."""


class DescribeTransactionResponse(Response):
    """DescribeTransactions (API 65): Kafka's name of the state; `start_us` is -1 without a transaction."""

    error: ErrorCode
    state: str = ""
    producer_id: int = -1
    epoch: int = -1
    timeout_ms: int = -1
    start_us: int = -1
    partitions: tuple[str, ...] = ()


_TRANSACTION, _CLIENT = ServedBy.TRANSACTION_COORDINATOR, SentBy.CLIENT

APIS: tuple[Api, ...] = (
    api(24, "AddPartitionsToTxn", AddPartitionsToTxnRequest, _TRANSACTION, _CLIENT,
        lambda request, error: AddPartitionsToTxnResponse(dict.fromkeys(request.partitions, error))),
    api(25, "AddOffsetsToTxn", AddOffsetsToTxnRequest, _TRANSACTION, _CLIENT,
        lambda _, error: AddOffsetsToTxnResponse(error)),
    api(26, "EndTxn", EndTxnRequest, _TRANSACTION, _CLIENT, lambda _, error: EndTxnResponse(error)),
    api(27, "WriteTxnMarkers", WriteTxnMarkersRequest, ServedBy.BROKER, SentBy.BROKER),
    api(28, "TxnOffsetCommit", TxnOffsetCommitRequest, ServedBy.GROUP_COORDINATOR, _CLIENT,
        lambda request, error: OffsetCommitResponse(dict.fromkeys(request.offsets, error))),
    api(65, "DescribeTransactions", DescribeTransactionRequest, _TRANSACTION, SentBy.ADMIN,
        lambda _, error: DescribeTransactionResponse(error)),
)  # fmt: skip
"""One row for each API above."""
