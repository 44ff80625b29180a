"""A strict grammar: a known sentence is true or false, and an unknown sentence is a fault."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

Holds = Callable[["re.Match[str]"], bool]
Sentences = Sequence[tuple[str, Holds]]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


class Verdict:
    """The claims at one instant: their number, and the false and unknown ones."""

    def __init__(self, at_us: int) -> None:
        self.at_us = at_us
        self.claims = 0
        self.false: list[str] = []

    def claim(self, holds: bool, place: str, words: str) -> None:
        """Judge one claim; `words` are those of the screen, with the truth beside them."""
        self.claims += 1
        if not holds:
            self.false.append(f"{self.at_us / 1e6:.3f} s, {place}: {words}")

    def read(self, place: str, text: str, sentences: Sentences) -> None:
        """Judge a text by the first sentence that matches it."""
        for pattern, holds in sentences:
            match = _compiled(pattern).fullmatch(text)
            if match is not None:
                self.claim(holds(match), place, f"false claim: {text!r}")
                return
        self.claim(False, place, f"unknown claim: {text!r}")
