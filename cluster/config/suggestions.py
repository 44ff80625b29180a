"""The nearest right word: what a person most likely meant when they wrote something unknown."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice
from typing import Final

LONGEST_SENTENCE: Final = 400
LONGEST_WORD: Final = 100
MOST_CANDIDATES: Final = 1_000
"""No word is longer, and a comparison takes the product of both lengths."""
_LINE_ENDS: Final = {
    ord("\r"): "\\r",
    ord("\n"): "\\n",
    **{code: f"\\u{code:04x}" for code in (0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029)},
}
"""What ends a line (`str.splitlines`), spelled out."""


def brief(sentence: str) -> str:
    """A sentence that quotes a file or a command, on one line; of a long one its beginning."""
    sentence = sentence if len(sentence) <= LONGEST_SENTENCE else f"{sentence[:LONGEST_SENTENCE]}…"
    return sentence.translate(_LINE_ENDS)


def _ratio(word: str, other: str, least: float) -> float:
    """Difflib's ratio, or 0 where its bounds say that it is below `least`: they cost a tenth of it."""
    if 2 * min(len(word), len(other)) < least * (len(word) + len(other)):
        return 0.0
    matcher = SequenceMatcher(None, word, other)
    return matcher.ratio() if matcher.quick_ratio() >= least else 0.0


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
        if len(candidate) > LONGEST_WORD:
            continue
        other = candidate.lower()
        score = _ratio(lower, other, best_score)
        if len(lower) >= 3 and (other.startswith(lower) or lower.startswith(other)):
            score = max(score, 0.65)
        if score > best_score or (best is None and score >= best_score):
            best, best_score = candidate, score
    return best
