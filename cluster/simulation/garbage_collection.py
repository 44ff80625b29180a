"""Garbage collection during flights: rare, and never of what was there before."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

COLLECT_AFTER_ALLOCATIONS: Final = 1_000_000
_RARELY = (COLLECT_AFTER_ALLOCATIONS, 50, 100)


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect garbage rarely: a flight makes few garbage cycles and hundreds of thousands of long-lived objects.

    With Python's usual thresholds the collector walks all of them again and again: a third of a large flight's time.
    Around several flights it freezes the modules once. Each flight then collects only what the one before has left.
    """
    before = gc.get_threshold()
    gc.collect()
    if before == _RARELY:
        yield
        return
    gc.freeze()
    gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.freeze()  # and with `unfreeze` into the oldest generation: else the next allocation walks a whole flight
        gc.set_threshold(*before)
        gc.unfreeze()
