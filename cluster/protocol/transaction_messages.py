"""Requests and responses of transactions, in the order of Kafka's API keys. Data only; see `messages.py`."""

from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import Request, Response


class AddPartitionsToTxnRequest(Request):
    """AddPartitionsToTxn (API 24), for one transactional id.

    `verify_only` is how a partition's leader asks whether the transaction is ongoing there (KIP-890); `from_broker`
    says that a leader asks, for a producer.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False
    from_broker: bool = False


class AddPartitionsToTxnResponse(Response):
    """AddPartitionsToTxn (API 24): partition → error."""

    errors: dict[str, ErrorCode]


class AddOffsetsToTxnRequest(Request):
    """AddOffsetsToTxn (API 25); its broker puts in which `partition` of `__consumer_offsets` is the group's."""

    transactional_id: str
    producer_id: int
    epoch: int
    group: str
    partition: str = ""


class AddOffsetsToTxnResponse(Response):
    """AddOffsetsToTxn (API 25)."""

    error: ErrorCode


class EndTxnRequest(Request):
    """EndTxn (API 26); `version` is the `transaction.version` that the producer speaks (1 or 2)."""

    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    version: int = 2


class EndTxnResponse(Response):
    """EndTxn (API 26): under version 2 with the producer id and epoch of the next transaction, else -1."""

    error: ErrorCode
    producer_id: int = -1
    epoch: int = -1


class WriteTxnMarkersRequest(Request):
    """WriteTxnMarkers (API 27): one end of a transaction for partitions that one broker leads.

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


class DescribeTransactionRequest(Request):
    """DescribeTransactions (API 65), one transactional id."""

    transactional_id: str


class DescribeTransactionResponse(Response):
    """DescribeTransactions (API 65): the state by Kafka's name; `start_us` is -1 without a transaction."""

    error: ErrorCode
    state: str = ""
    producer_id: int = -1
    epoch: int = -1
    timeout_ms: int = -1
    start_us: int = -1
    partitions: tuple[str, ...] = ()
