"""Regular expressions of subscriptions, matched in linear time: each character is looked at once.

The brokers use RE2/J, which does not backtrack: `Re2Parser` reads what RE2/J reads, and what it matches is followed as
a set of states. Source: `org.apache.kafka.coordinator.group.Utils.throwIfRegularExpressionIsInvalid` and RE2/J's
`Machine`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from cluster.protocol.re2_classes import WORD
from cluster.protocol.re2_syntax import ENDLESS, NodeKind, PatternNode, PlaceKind, Re2Parser, TopicPatternError

MOST_STATES: Final = 5_000  # of an expression with its counted repetitions written out
MOST_REMEMBERED: Final = 1_000_000  # states in the sets that an expression remembers, before it forgets them
DEEPEST: Final = 100


class TopicPatternLimitError(TopicPatternError):
    """An expression that RE2/J accepts and Flightdeck does not follow."""


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
    """A state: it takes a character of `mask`, or stands for `nexts` where `place` holds (None: everywhere).

    Without `mask` and `nexts` it is the end, or a class without characters.
    """

    mask: int
    nexts: tuple[int, ...]
    place: PlaceKind | None = None


class TopicPattern:
    """A regular expression that is matched with whole names. Raises TopicPatternError."""

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self._states: list[PatternState] = [PatternState(0, ())]
        self._start = self._node(Re2Parser(regex).parse(), 0, 0)
        self._known: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
        self._remembered = 0

    def matches(self, name: str) -> bool:
        """Whether the expression matches the whole name."""
        at, before = frozenset((self._start,)), ""
        for character in name:
            key = at, before, character
            found = self._known.get(key)
            if found is None:
                found = self._after(at, before, character)
                self._remember(key, found)
            if not found:
                return False
            at, before = found, character
        return 0 in self._reached(at, before, "")

    def _remember(self, key: tuple[frozenset[int], str, str], found: frozenset[int]) -> None:
        self._remembered += len(found)
        if self._remembered > MOST_REMEMBERED:
            self._known.clear()
            self._remembered = len(found)
        self._known[key] = found

    def _after(self, at: frozenset[int], before: str, character: str) -> frozenset[int]:
        bit = 1 << ord(character)
        states = [self._states[place] for place in sorted(self._reached(at, before, character))]
        return frozenset(state.nexts[0] for state in states if state.mask & bit)

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
            if not state.mask and _holds(state.place, before, after):
                left += state.nexts
        return found

    # --- states of a tree, from its end to its beginning ------------------------------------------------------------

    def _add(self, state: PatternState) -> int:
        if len(self._states) >= MOST_STATES:
            raise TopicPatternLimitError(f"it follows at most {MOST_STATES:,} states")
        self._states.append(state)
        return len(self._states) - 1

    def _node(self, node: PatternNode, then: int, depth: int) -> int:
        if depth > DEEPEST:
            raise TopicPatternLimitError(f"it follows at most {DEEPEST} levels of groups")
        if node.kind is NodeKind.SEQUENCE:
            for part in reversed(node.parts):
                then = self._node(part, then, depth + 1)
            return then
        if node.kind is NodeKind.CHOICE:
            return self._add(PatternState(0, tuple([self._node(part, then, depth + 1) for part in node.parts])))
        if node.kind is NodeKind.REPEAT:
            return self._repeat(node, then, depth + 1)
        if node.kind is NodeKind.PLACE:
            return self._add(PatternState(0, (then,), node.place))
        return self._add(PatternState(node.mask, (then,) if node.mask else ()))

    def _repeat(self, node: PatternNode, then: int, depth: int) -> int:
        part = node.parts[0]
        if node.most == ENDLESS:
            again = self._add(PatternState(0, ()))
            self._states[again] = PatternState(0, (self._node(part, again, depth), then))
            then = again
        else:
            end = then
            for _ in range(node.most - node.least):
                then = self._add(PatternState(0, (self._node(part, then, depth), end)))
        for _ in range(node.least):
            before = self._node(part, then, depth)
            if before == then:  # an empty part, which may be repeated 1,000 times at each level
                break
            then = before
        return then


def _holds(place: PlaceKind | None, before: str, after: str) -> bool:
    if place is None:
        return True
    if place is PlaceKind.BEGINNING:
        return not before
    if place is PlaceKind.END:
        return not after
    at_edge = _is_word(before) is not _is_word(after)
    return at_edge is (place is PlaceKind.BOUNDARY)


def _is_word(character: str) -> bool:
    return bool(character) and bool(WORD >> ord(character) & 1)
