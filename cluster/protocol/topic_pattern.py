"""Regular expressions of subscriptions, matched in linear time: each character is looked at once.

The brokers use RE2/J, which does not backtrack, and so refuses backreferences, look-around, atomic groups and
possessive quantifiers. Python reads the expression; what it matches is followed as a set of states, as RE2/J does.
Source: `org.apache.kafka.coordinator.group.Utils.throwIfRegularExpressionIsInvalid`, RE2/J's `Parser`.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

MOST_REPEATS: Final = 1_000  # RE2/J's
MOST_STATES: Final = 2_000  # of an expression with its counted repetitions written out
DEEPEST: Final = 100

PERL: Final = "invalid or unsupported Perl syntax"
_FOREIGN: Final = {  # of Python's tree
    "ASSERT": PERL,
    "ASSERT_NOT": PERL,
    "ATOMIC_GROUP": PERL,
    "GROUPREF": "invalid escape sequence",
    "GROUPREF_EXISTS": PERL,
    "POSSESSIVE_REPEAT": "invalid nested repetition operator",
}
_WORDS: Final = (  # Python's message → RE2/J's
    ("missing ), unterminated subpattern", "missing closing )"),
    ("unbalanced parenthesis", "unexpected )"),
    ("nothing to repeat", "missing argument to repetition operator"),
    ("multiple repeat", "invalid nested repetition operator"),
    ("unterminated character set", "missing closing ]"),
    ("bad character range", "invalid character class range"),
    ("bad escape (end of pattern)", "trailing backslash at end of expression"),
    ("bad escape", "invalid escape sequence"),
    ("invalid group reference", "invalid escape sequence"),
    ("unknown extension", PERL),
    ("min repeat greater than max", "invalid repeat count"),
)
_ONLY_PYTHON: Final = re.compile(r"\\\\|\\[ZNuU]|(?<!\\)\(\?#|(?<!\\)\{,\d")
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class TopicPatternError(ValueError):
    """An expression that the brokers refuse; the text is RE2/J's description."""


@lru_cache(maxsize=64)
def topic_pattern(regex: str) -> "TopicPattern":
    """An expression, compiled. Raises TopicPatternError."""
    return TopicPattern(regex)


def valid_instead(regex: str, topics: Sequence[str]) -> str | None:
    """A valid expression that may be meant, where a refused one is a shell's pattern, unclosed, or not RE2/J's."""
    shell = "|".join(part.strip().replace(".", r"\.").replace("*", ".*") for part in regex.split(","))
    listed = "|".join(topic.replace(".", r"\.") for topic in topics[:2]) if "(?" in regex else regex
    for candidate in (listed, f"{regex})", f"{regex}]", regex.replace("++", "+").replace("**", "*"), shell):
        try:
            if candidate != regex:
                return topic_pattern(candidate).regex
        except TopicPatternError:
            continue
    return None


class PatternState(NamedTuple):
    """A state: it takes a character that `accepts` lists, or stands for `nexts` where `where` holds ("": everywhere).

    Without `accepts` and `nexts` it is the end.
    """

    accepts: tuple[Any, ...] | None
    ignore_case: bool
    nexts: tuple[int, ...]
    where: str = ""


class TopicPattern:
    """A regular expression that is matched with whole names. Raises TopicPatternError."""

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self._states: list[PatternState] = [PatternState(None, False, ())]
        tree = _parsed(regex)
        self._start = self._sequence(tree, 0, tree.state.flags, 0)
        self._known: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}

    def matches(self, name: str) -> bool:
        """Whether the expression matches the whole name."""
        at, before = frozenset((self._start,)), ""
        for character in name:
            key = at, before, character
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._after(at, before, character)
            if not found:
                return False
            at, before = found, character
        return 0 in self._reached(at, before, "")

    def _after(self, at: frozenset[int], before: str, character: str) -> frozenset[int]:
        states = self._states
        found = set()
        for place in sorted(self._reached(at, before, character)):
            state = states[place]
            if state.accepts is not None and _accepts(state, character):
                found.add(state.nexts[0])
        return frozenset(found)

    def _reached(self, at: Iterable[int], before: str, after: str) -> set[int]:
        """The states that these stand for, between two characters."""
        found: set[int] = set()
        left = list(at)
        while left:
            place = left.pop()
            if place in found:
                continue
            found.add(place)
            state = self._states[place]
            if state.accepts is None and _holds(state.where, before, after):
                left += state.nexts
        return found

    # --- states of a tree, from its end to its beginning ------------------------------------------------------------

    def _add(self, state: PatternState) -> int:
        if len(self._states) >= MOST_STATES:
            raise TopicPatternError("expression too large")
        self._states.append(state)
        return len(self._states) - 1

    def _sequence(self, tree: Sequence[tuple[Any, Any]], then: int, flags: int, depth: int) -> int:
        if depth > DEEPEST:
            raise TopicPatternError("expression nests too deeply")
        for operator, argument in reversed(tree):
            then = self._part(str(operator), argument, then, flags, depth + 1)
        return then

    def _part(self, name: str, argument: Any, then: int, flags: int, depth: int) -> int:  # noqa: ANN401 - Python's tree
        if name in _FOREIGN:
            raise TopicPatternError(_FOREIGN[name])
        if name == "SUBPATTERN":
            _, added, removed, tree = argument
            return self._sequence(tree, then, (flags | added) & ~removed, depth)
        if name == "BRANCH":
            return self._add(
                PatternState(None, False, tuple(self._sequence(one, then, flags, depth) for one in argument[1]))
            )
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            return self._repeat(argument, then, flags, depth)
        if name == "AT":
            return self._add(PatternState(None, False, (then,), str(argument)))
        accepts = tuple(argument) if name == "IN" else ((name, argument),)
        return self._add(PatternState(accepts, bool(flags & re.IGNORECASE), (then,)))

    def _repeat(self, argument: tuple[int, Any, Any], then: int, flags: int, depth: int) -> int:
        least, most, tree = argument
        endless = str(most) == "MAXREPEAT"
        if least > MOST_REPEATS or (not endless and most > MOST_REPEATS):
            raise TopicPatternError("invalid repeat count")
        if endless:
            again = self._add(PatternState(None, False, ()))
            self._states[again] = PatternState(None, False, (self._sequence(tree, again, flags, depth), then))
            then = again
        else:
            end = then
            for _ in range(most - least):
                then = self._add(PatternState(None, False, (self._sequence(tree, then, flags, depth), end)))
        for _ in range(least):
            then = self._sequence(tree, then, flags, depth)
        return then


_PARSER: Any = vars(re)["_parser"]  # has no public name and no types


def _parsed(regex: str) -> Any:  # noqa: ANN401 - Python's tree of an expression has no public type
    for found in _ONLY_PYTHON.finditer(regex):
        if found.group() != r"\\":
            raise TopicPatternError(PERL if found.group().startswith("(?") else "invalid escape sequence")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # syntax that another version of Python reads otherwise
            tree = _PARSER.parse(regex, re.ASCII)
    except RecursionError:
        raise TopicPatternError("expression nests too deeply") from None
    except FutureWarning:
        raise TopicPatternError("invalid character class range") from None
    except (re.error, OverflowError, ValueError) as error:
        said = getattr(error, "msg", str(error))
        raise TopicPatternError(next((ours for known, ours in _WORDS if said.startswith(known)), said)) from None
    if tree.state.flags & (re.VERBOSE | re.LOCALE):
        raise TopicPatternError(PERL)
    return tree


def _accepts(state: PatternState, character: str) -> bool:
    forms = {character, character.lower(), character.upper()} if state.ignore_case else {character}
    items = state.accepts or ()
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    hit = any(_is(str(operator), argument, form) for operator, argument in items[negated:] for form in forms)
    return hit is not negated


def _is(operator: str, argument: Any, character: str) -> bool:  # noqa: ANN401 - Python's tree
    if operator == "ANY":
        return character != "\n"
    if operator == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if operator == "CATEGORY":
        return _category(str(argument), character)
    return (ord(character) == argument) is (operator == "LITERAL")


def _category(name: str, character: str) -> bool:
    kind = name.removeprefix("CATEGORY_").removeprefix("NOT_")
    known = {"DIGIT": character in "0123456789", "SPACE": character in " \t\n\r\f", "WORD": character in _WORD}
    return known[kind] is not ("_NOT_" in name)


def _holds(where: str, before: str, after: str) -> bool:
    if not where:
        return True
    if where in {"AT_BEGINNING", "AT_BEGINNING_STRING"}:
        return not before
    if where in {"AT_END", "AT_END_STRING"}:
        return not after
    at_edge = (before in _WORD) is not (after in _WORD)
    return at_edge is (where == "AT_BOUNDARY")
