"""The simulated network: links with latency and faults, and the connections over them."""

from cluster.network.connection import NEVER_FROZEN, Call, Connection, Endpoint
from cluster.network.connection_attempts import ConnectionAttempts
from cluster.network.network import FROM_HOST, Action, Cut, Hold, Injury, Link, Network, Place, Slow

__all__ = [
    "FROM_HOST",
    "NEVER_FROZEN",
    "Action",
    "Call",
    "Connection",
    "ConnectionAttempts",
    "Cut",
    "Endpoint",
    "Hold",
    "Injury",
    "Link",
    "Network",
    "Place",
    "Slow",
]
