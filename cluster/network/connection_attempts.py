"""When a client may connect to one broker again, and how long an attempt may take.

Source: `ClusterConnectionStates`, `ExponentialBackoff`.
"""

from collections.abc import Callable, Mapping
from typing import Any

MS = 1_000
JITTER = 0.2  # ClusterConnectionStates.RECONNECT_BACKOFF_JITTER and CONNECTION_SETUP_TIMEOUT_JITTER
MOST_DOUBLINGS = 30


class ConnectionAttempts:
    """When a client may connect to one broker again, and how long that may take; `random` draws from [0, 1)."""

    def __init__(self, config: Mapping[str, Any], random: Callable[[], float]) -> None:
        self._random = random
        self._backoff = config["reconnect.backoff.ms"] * MS, config["reconnect.backoff.max.ms"] * MS
        key = "socket.connection.setup.timeout"
        self._setup = config[f"{key}.ms"] * MS, config[f"{key}.max.ms"] * MS
        self._failures = self._setup_failures = 0
        self.not_before_us = 0

    def _exponential(self, bounds: tuple[int, int], failures: int) -> int:
        """Kafka's ExponentialBackoff: doubled for each failure up to a bound, 20 % more or less by chance."""
        first, most = bounds
        most = max(first, most)
        if most == first:
            return first
        term = min(first << min(failures, MOST_DOUBLINGS), most)
        return min(int(term * (1 - JITTER + 2 * JITTER * self._random())), most)

    def setup_timeout_us(self) -> int:
        """How long this attempt may go unanswered."""
        return self._exponential(self._setup, self._setup_failures)

    def succeeded(self) -> None:
        """A connection was made."""
        self._failures = self._setup_failures = 0

    def failed(self, now_us: int, *, connecting: bool) -> None:
        """A connection broke, or (`connecting`) was not made."""
        self.not_before_us = now_us + self._exponential(self._backoff, self._failures)
        self._failures += 1
        self._setup_failures = self._setup_failures + 1 if connecting else 0
