"""What a scenario says of the pods that a group's members run in: when they are ready, and what scales them."""

from typing import Literal

Readiness = Literal["started", "joined"]
"""When a readiness probe succeeds: when the application polls, or when it has its first assignment."""
