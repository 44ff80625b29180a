"""The nearest right word: what a person most likely meant when they wrote something unknown."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice

LONGEST_WORD = 100
MOST_CANDIDATES = 1_000
"""Nobody means more, and comparing takes the product of their letters."""


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `word`, or None when none is near; between equals the first one given.

    Near: at least 60 % of the letters in the same order (difflib's ratio), upper and lower case alike, or one of the
    two begins with the other.
    """
    best, best_score = None, 0.6
    lower = word.lower()
    if len(lower) > LONGEST_WORD:
        return None
    for candidate in islice(candidates, MOST_CANDIDATES):
        other = candidate.lower()
        score = SequenceMatcher(None, lower, other).ratio()
        if len(lower) >= 3 and (other.startswith(lower) or lower.startswith(other)):
            score = max(score, 0.65)
        if score > best_score or (best is None and score >= best_score):
            best, best_score = candidate, score
    return best
