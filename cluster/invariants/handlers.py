"""The events that an invariant handles."""

from collections.abc import Callable, Mapping
from typing import Any

from cluster import events as e

Handlers = Mapping[type[e.Event], Callable[[Any], None]]
"""Event class → the function that judges it."""
