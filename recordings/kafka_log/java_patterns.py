"""Java's regular expressions of topics, by RE2/J's, which brokers use: what the two read differently is told apart.

Source: `org.apache.kafka.server.util.TopicFilter`, `java.util.regex.Pattern` of Java 17.
"""

import re
from typing import Final, NamedTuple

from cluster.protocol.re2_syntax import (
    INTERNAL,
    INVALID_CLASS,
    MISSING_ARGUMENT,
    MISSING_BRACKET,
    MISSING_PARENTHESIS,
    TRAILING_BACKSLASH,
    TopicPatternError,
)
from cluster.protocol.topic_pattern import TopicPattern, topic_pattern

_ESCAPED: Final = re.compile(r"\\(?:Q.*?(?:\\E|$)|[pPx]\{[^}]{0,40}\}|.)")
_CLASS: Final = re.compile(r"\[\^?\]?([^\]]*)\]")
_COUNT: Final = r"\{[0-9]+(?:,[0-9]*)?\}"
_NOT_JAVA: Final = re.compile(
    rf"\(\?P|\(\?[a-zA-Z-]*$|\(\?<(?:[0-9]|[A-Za-z0-9]*_)|(?!{_COUNT})\{{|(?:[*+?]|{_COUNT})\*|\(\?[a-zA-Z-]+\)[*+?]"
)
"""A group of Python's or without an end, a group's name, a bare brace, a star after a repetition or after flags."""
_COUNTED_NOTHING: Final = re.compile(r"(?:^|[(|]|\(\?[^()]*[:>)])\{")
"""A count without what it repeats, which Java reads."""
_NAMES: Final = re.compile(r"[A-Za-z0-9._|-]*")
_JAVA_TOO: Final = (INTERNAL, MISSING_ARGUMENT, MISSING_BRACKET, MISSING_PARENTHESIS,
                    TRAILING_BACKSLASH)  # fmt: skip
"""What Java's `Pattern` refuses as RE2/J does."""


class TopicFilter(NamedTuple):
    """The topics whose whole name one of the patterns matches."""

    patterns: tuple[TopicPattern, ...]

    def matches(self, topic: str) -> bool:
        """Whether a topic is one of them."""
        return any(pattern.matches(topic) for pattern in self.patterns)


class InvalidRegexError(ValueError):
    """An expression that Java does not read; the text is Kafka's."""

    def __init__(self, expression: str) -> None:
        super().__init__(f"{expression} is an invalid regex.")


def topic_filter(text: str) -> TopicFilter:
    """The topics of an expression, or of several after commas, read as RE2/J reads it.

    Java does alike but for rare escapes. Raises InvalidRegexError, and TopicPatternError for what only Java reads.
    Source: `TopicFilter.IncludeList`.
    """
    expression = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    plain = _ESCAPED.sub("x", expression)
    # no class ends behind the last bracket: from each one that opens, `re` would search there to the end of the text
    closed = plain.rfind("]") + 1
    classes = _CLASS.findall(plain[:closed])
    plain = _CLASS.sub("x", plain[:closed]) + plain[closed:]
    if any("&&" in each or "[" in each for each in classes):
        raise _unread(expression, "a class within a class, or &&")
    if _NOT_JAVA.search(plain):
        raise InvalidRegexError(expression)
    if any(each[1:2].isdigit() for each in _ESCAPED.findall(expression)):
        raise _unread(expression, "a number after \\")
    parts = expression.split("|") if _NAMES.fullmatch(expression) else [expression]  # a list may be long
    try:
        return TopicFilter(tuple(map(topic_pattern, parts)))
    except TopicPatternError as error:
        reason = str(error)
        by_java = reason.startswith(_JAVA_TOO) and not _COUNTED_NOTHING.search(plain)
        if by_java or (reason.startswith(INVALID_CLASS) and "\\" not in expression):
            raise InvalidRegexError(expression) from None
        raise _unread(expression, reason) from None


def _unread(expression: str, reason: str) -> TopicPatternError:
    return TopicPatternError(f"`{expression[:80]}`: Flightdeck does not read this expression: {reason}")
