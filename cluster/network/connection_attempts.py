"""When a client may connect to one broker again, and how long an attempt may take.

Source: `ClusterConnectionStates`, `ExponentialBackoff`.
"""

from collections.abc import Callable
from typing import Final

from cluster.config import ConnectionConfig

MS: Final = 1_000
JITTER: Final = 0.2  # ClusterConnectionStates.RECONNECT_BACKOFF_JITTER and CONNECTION_SETUP_TIMEOUT_JITTER
MOST_DOUBLINGS: Final = 30


class ConnectionAttempts:
    """The failed attempts of one client to connect to one broker. `random` draws from [0, 1).

    `not_before_us`: when the next attempt may begin.
    """

    __slots__ = ("_backoff", "_failures", "_random", "_setup", "_setup_failures", "not_before_us")

    def __init__(self, config: ConnectionConfig, random: Callable[[], float]) -> None:
        self._random = random
        self._backoff = config.reconnect_backoff_ms * MS, config.reconnect_backoff_max_ms * MS
        timeout_ms, most_ms = config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms
        self._setup = timeout_ms * MS, most_ms * MS
        self._failures = self._setup_failures = 0
        self.not_before_us = 0

    def _exponential(self, bounds: tuple[int, int], failures: int) -> int:
        """Kafka's ExponentialBackoff in microseconds: doubled for each failure up to a bound, then ±20 % at random."""
        first, most = bounds
        most = max(first, most)
        if most == first:
            return first
        term = min(first << min(failures, MOST_DOUBLINGS), most)
        return min(int(term * (1 - JITTER + 2 * JITTER * self._random())), most)

    def setup_timeout_us(self) -> int:
        """How long this attempt may take, in microseconds."""
        return self._exponential(self._setup, self._setup_failures)

    def succeeded(self) -> None:
        """Reset both backoffs: a connection was made."""
        self._failures = self._setup_failures = 0

    def failed(self, now_us: int, *, connecting: bool) -> None:
        """Begin the backoff after a connection broke, or (`connecting`) could not be made."""
        self.not_before_us = now_us + self._exponential(self._backoff, self._failures)
        self._failures += 1
        self._setup_failures = self._setup_failures + 1 if connecting else 0
