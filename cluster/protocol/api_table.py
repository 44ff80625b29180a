"""The API table: every API of Kafka that is simulated, in the order of API keys.

The names in commands, the requests that coordinators serve, and error responses derive from it.
"""

from cluster.protocol import consumer_group_messages, messages, transaction_messages
from cluster.protocol.api import Api, Request, Response, SentBy, ServedBy
from cluster.protocol.errors import ErrorCode

API_TABLE: tuple[Api, ...] = tuple(sorted((*messages.APIS, *transaction_messages.APIS, *consumer_group_messages.APIS)))
API_OF_REQUEST: dict[type[Request], Api] = {row.request: row for row in API_TABLE}
API_BY_NAME: dict[str, Api] = {row.name: row for row in API_TABLE}


def error_response(request: Request, error: ErrorCode) -> Response:
    """The response that holds nothing but `error`, in the shape of the request: NOT_COORDINATOR, …

    Raises TypeError for a request whose API has no such response.
    """
    row = API_OF_REQUEST.get(type(request))
    if row is None or row.error_response is None:
        raise TypeError(f"{type(request).__name__} has no response that holds an error only")
    return row.error_response(request, error)


def served_by(server: ServedBy, kind: type[Request]) -> tuple[type[Request], ...]:
    """The requests of one kind that a server serves, in the order of API keys."""
    return tuple(row.request for row in API_TABLE if row.served_by is server and issubclass(row.request, kind))


def names_sent_by(sender: SentBy) -> tuple[str, ...]:
    """The names of the APIs that a sender uses, in the order of API keys."""
    return tuple(row.name for row in API_TABLE if row.sent_by is sender)
