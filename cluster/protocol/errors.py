"""Kafka's error codes as values.

A response carries an `ErrorCode`; an exception is a bug of the simulator. Each code has two properties for the caller:
`retriable` (a retry can succeed) and `definite` (the request had no effect). Source: Kafka's `Errors`.
"""

from enum import Enum


class ErrorCode(Enum):
    """One error of the Kafka protocol: (code, retriable, definite)."""

    UNKNOWN_SERVER_ERROR = -1, False, False
    NONE = 0, False, True
    OFFSET_OUT_OF_RANGE = 1, False, True
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, True
    LEADER_NOT_AVAILABLE = 5, True, True
    NOT_LEADER_OR_FOLLOWER = 6, True, True
    REQUEST_TIMED_OUT = 7, True, False
    MESSAGE_TOO_LARGE = 10, False, True
    OFFSET_METADATA_TOO_LARGE = 12, False, True
    NETWORK_EXCEPTION = 13, True, False
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, True
    COORDINATOR_NOT_AVAILABLE = 15, True, True
    NOT_COORDINATOR = 16, True, True
    NOT_ENOUGH_REPLICAS = 19, True, True
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, True, False
    ILLEGAL_GENERATION = 22, False, True
    INCONSISTENT_GROUP_PROTOCOL = 23, False, True
    INVALID_GROUP_ID = 24, False, True
    UNKNOWN_MEMBER_ID = 25, False, True
    INVALID_SESSION_TIMEOUT = 26, False, True
    REBALANCE_IN_PROGRESS = 27, False, True
    INVALID_COMMIT_OFFSET_SIZE = 28, False, True
    NOT_CONTROLLER = 41, True, True
    INVALID_REQUEST = 42, False, True
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, True
    DUPLICATE_SEQUENCE_NUMBER = 46, False, True
    INVALID_PRODUCER_EPOCH = 47, False, True
    INVALID_TXN_STATE = 48, False, True
    INVALID_PRODUCER_ID_MAPPING = 49, False, True
    INVALID_TRANSACTION_TIMEOUT = 50, False, True
    CONCURRENT_TRANSACTIONS = 51, True, True
    TRANSACTION_COORDINATOR_FENCED = 52, False, True
    UNKNOWN_PRODUCER_ID = 59, False, True
    NON_EMPTY_GROUP = 68, False, True
    GROUP_ID_NOT_FOUND = 69, False, True
    FENCED_LEADER_EPOCH = 74, True, True
    UNKNOWN_LEADER_EPOCH = 75, True, True
    STALE_BROKER_EPOCH = 77, False, True
    OFFSET_NOT_AVAILABLE = 78, True, True
    MEMBER_ID_REQUIRED = 79, False, True
    GROUP_MAX_SIZE_REACHED = 81, False, True
    FENCED_INSTANCE_ID = 82, False, True
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, True
    INVALID_RECORD = 87, False, True
    UNSTABLE_OFFSET_COMMIT = 88, True, True
    PRODUCER_FENCED = 90, False, True
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, True
    FENCED_MEMBER_EPOCH = 110, False, True
    UNRELEASED_INSTANCE_ID = 111, False, True
    UNSUPPORTED_ASSIGNOR = 112, False, True
    STALE_MEMBER_EPOCH = 113, False, True
    TRANSACTION_ABORTABLE = 120, False, True
    INVALID_REGULAR_EXPRESSION = 128, False, True

    def __init__(self, code: int, retriable: bool, definite: bool) -> None:
        self.code = code
        self.retriable = retriable
        self.definite = definite
