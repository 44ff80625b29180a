"""Regular expressions without exponential time: Python's, without the constructs that backtrack exponentially.

RE2, which CEL names, does not backtrack; `re` does. A repetition of a part that can match in two ways, a lookaround and
a backreference are refused. The rest takes at most (length of the text) ** (repetitions + 1).
"""

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

LONGEST = 200
"""Characters of a pattern."""
DEEPEST = 20
"""Nesting depth of groups."""

_PLAIN = ("LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY", "AT")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class PatternError(ValueError):
    """A pattern that cannot be read or may take exponential time; the text says which."""


@lru_cache(maxsize=256)
def check_pattern(pattern: str) -> tuple[re.Pattern[str], int]:
    """A pattern, compiled, and how many repetitions it has. Raises PatternError."""
    if len(pattern) > LONGEST:
        raise PatternError(f"the pattern has {len(pattern):,} characters: at most {LONGEST}")
    if pattern.count("(") > DEEPEST:
        raise PatternError(f"the pattern has {pattern.count('(')} groups: at most {DEEPEST}")
    try:
        with warnings.catch_warnings():
            # refuses syntax that the next version of Python may read otherwise
            warnings.simplefilter("error", FutureWarning)
            tree = re._parser.parse(pattern, re.ASCII)  # type: ignore[attr-defined]
            compiled = re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, FutureWarning) as error:
        raise PatternError(f"{pattern!r} is not a regular expression: {error}") from None
    return compiled, _repetitions(tree, inside=False)


def _repetitions(tree: Iterable[tuple[Any, Any]], *, inside: bool) -> int:
    """The number of repetitions in a part of a pattern; `inside`: the part is itself repeated."""
    count = 0
    for operator, argument in tree:
        name = str(operator)
        if name in _PLAIN:
            continue
        if name in _REPEATS:
            _, most, body = argument
            if inside:
                raise PatternError("a repetition within a repetition could take forever")
            count += 1 + _repetitions(body, inside=most > 1)
        elif name == "SUBPATTERN":
            count += _repetitions(argument[3], inside=inside)
        elif name == "BRANCH" and not inside:
            count += 1 + sum(_repetitions(branch, inside=False) for branch in argument[1])
        elif name == "BRANCH":
            raise PatternError("alternatives within a repetition could take forever")
        else:
            raise PatternError("a pattern has no lookaround and no backreference")
    return count
