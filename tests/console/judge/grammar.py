"""A strict grammar: a sentence of a judged place is known, and then true or false; one that is not known is a fault."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

Holds = Callable[["re.Match[str]"], bool]
Sentences = Sequence[tuple[str, Holds]]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern)


class Verdict:
    """What was claimed at one instant: how many claims there were, and those that are false or not known."""

    def __init__(self, at_us: int) -> None:
        self.at_us = at_us
        self.claims = 0
        self.false: list[str] = []

    def claim(self, holds: bool, place: str, words: str) -> None:
        """One claim; `words` as the screen has them, and what is true beside it."""
        self.claims += 1
        if not holds:
            self.false.append(f"{self.at_us / 1e6:.3f} s, {place}: {words}")

    def read(self, place: str, text: str, sentences: Sentences) -> None:
        """The first sentence that matches decides."""
        for pattern, holds in sentences:
            match = _compiled(pattern).fullmatch(text)
            if match is not None:
                self.claim(holds(match), place, f"false claim: {text!r}")
                return
        self.claim(False, place, f"unknown claim: {text!r}")
