"""Which events an invariant looks at."""

from collections.abc import Callable, Mapping
from typing import Any

from cluster import events as e

Handlers = Mapping[type[e.Event], Callable[[Any], None]]
"""By the kind of event: what looks at it."""
