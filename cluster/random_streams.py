"""Seeded random streams, one per name: one more consumer does not change the draws of other actors or links."""

import random
from typing import Final


def random_stream(seed: int | str, name: str) -> random.Random:
    """The random stream `name` of a flight with `seed`: equal seeds and names give equal numbers.

    A string seeds `random.Random` through SHA-512, not through `hash()`: PYTHONHASHSEED does not matter.
    """
    return random.Random(f"{seed}/{name}")


_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_STEP: Final = 0x9E37_79B9_7F4A_7C15


class NumberedDraws:
    """A draw for each number of a named sequence, however often and in whatever order it is asked for.

    Source: SplitMix64 (Steele, Lea and Flood 2014); each sequence begins at a draw of its own random stream.
    """

    def __init__(self, seed: int, name: str) -> None:
        self._seed, self._name = seed, name
        self._begins: dict[tuple[str, str], int] = {}

    def draw(self, sequence: tuple[str, str], number: int) -> float:
        """A number from 0 up to 1, without 1."""
        begin = self._begins.get(sequence)
        if begin is None:
            first, second = sequence
            begin = random_stream(self._seed, f"{self._name}/{first}/{second}").getrandbits(64)
            self._begins[sequence] = begin
        mixed = (begin + number * _STEP) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58_476D_1CE4_E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / 9_007_199_254_740_992  # 2 ** 53
