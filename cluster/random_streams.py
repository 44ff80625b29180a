"""Seeded random streams, one per name: one more consumer does not change the draws of other actors or links."""

import random


def random_stream(seed: int | str, name: str) -> random.Random:
    """The random stream `name` of a flight with `seed`: equal seeds and names give equal numbers.

    A string seeds `random.Random` through SHA-512, not through `hash()`: PYTHONHASHSEED does not matter.
    """
    return random.Random(f"{seed}/{name}")
