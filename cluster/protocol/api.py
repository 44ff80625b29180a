"""One simulated API of Kafka: the base classes of its messages, and its row in the API table.

The rows stand below the messages (`messages.APIS`, `transaction_messages.APIS`); `api_table` joins and looks them up. A
new API is a request, a response and a row there, a handler, and the client that sends it.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import msgspec

from cluster.protocol.errors import ErrorCode


class Request(msgspec.Struct):
    """A request of a client or broker."""


class Response(msgspec.Struct):
    """The response to a request."""


class GroupRequest(Request):
    """A request that the coordinator of its group serves."""

    group: str


class TransactionalIdRequest(Request):
    """A request that the coordinator of its transactional id serves."""

    transactional_id: str


class ServedBy(StrEnum):
    """The part of a broker that serves an API."""

    BROKER = "broker"
    GROUP_COORDINATOR = "group coordinator"
    TRANSACTION_COORDINATOR = "transaction coordinator"


class SentBy(StrEnum):
    """The process that sends a request."""

    CLIENT = "client"
    ADMIN = "admin client"
    BROKER = "broker"


class Api(NamedTuple):
    """One row: Kafka's API key and name, the request, its sender and server.

    `error_response` builds the response that holds nothing but an error; None where an API has no such response.
    """

    key: int
    name: str
    request: type[Request]
    served_by: ServedBy
    sent_by: SentBy
    error_response: Callable[[Any, ErrorCode], Response] | None


RequestT = TypeVar("RequestT", bound=Request)


def api(
    key: int,
    name: str,
    request: type[RequestT],
    served_by: ServedBy,
    sent_by: SentBy,
    error_response: Callable[[RequestT, ErrorCode], Response] | None = None,
) -> Api:
    """A row of the API table; mypy checks that `error_response` takes such a request."""
    return Api(key, name, request, served_by, sent_by, error_response)
