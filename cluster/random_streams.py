"""Chance, in named streams: each actor, link and kind of fault has its own; one more consumer changes nobody's luck."""

import random


def random_stream(seed: int | str, name: str) -> random.Random:
    """Make the stream of random numbers called `name` in the flight of `seed`: the same numbers for the same two.

    A string seeds `random.Random` through SHA-512, not through `hash()`: PYTHONHASHSEED does not matter.
    """
    return random.Random(f"{seed}/{name}")
