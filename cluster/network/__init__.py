"""The simulated network: links with latency and faults, and the connections over them."""

from cluster.network.connection import NEVER_FROZEN, Connection, Endpoint, InFlightRequest
from cluster.network.connection_attempts import ConnectionAttempts
from cluster.network.network import (
    FROM_HOST,
    Action,
    Link,
    LinkCut,
    LinkDelay,
    LinkFault,
    LinkHold,
    LinkSelector,
    Network,
)

__all__ = [
    "FROM_HOST",
    "NEVER_FROZEN",
    "Action",
    "Connection",
    "ConnectionAttempts",
    "Endpoint",
    "InFlightRequest",
    "Link",
    "LinkCut",
    "LinkDelay",
    "LinkFault",
    "LinkHold",
    "LinkSelector",
    "Network",
]
