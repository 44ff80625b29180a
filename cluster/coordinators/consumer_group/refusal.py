"""Why a request is refused."""

from typing import NamedTuple

from cluster.events import Event
from cluster.protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """An error and Kafka's words for it; `noted`: what else the refusal tells."""

    error: ErrorCode
    message: str
    noted: Event | None = None
