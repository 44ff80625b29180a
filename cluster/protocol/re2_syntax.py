"""The syntax of RE2/J 1.8, the regular expressions of Kafka's brokers: an expression becomes a tree of nodes.

The parser goes through an expression once, in RE2/J's order, so that the first mistake is the one that RE2/J reports. A
topic's name is ASCII, so a class of characters is a set of ASCII characters: bit n of a mask stands for character n.
Source: RE2/J's `Parser` and `CharClass`.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from cluster.protocol.re2_classes import (
    ALL,
    PERL_CLASSES,
    POSIX_CLASSES,
    folded,
    mask_of,
    unicode_class,
    with_both_cases,
)

MOST_REPEATS: Final = 1_000
ENDLESS: Final = -1
LARGEST_CODE_POINT: Final = 0x10FFFF

INTERNAL: Final = "regexp/syntax: internal error"  # of an unmatched ), whose stack underflows
INVALID_CLASS: Final = "invalid character class range"
INVALID_ESCAPE: Final = "invalid escape sequence"
INVALID_NAME: Final = "invalid named capture"
DUPLICATE_NAME: Final = "duplicate capture group name"
INVALID_COUNT: Final = "invalid repeat count"
MISSING_ARGUMENT: Final = "missing argument to repetition operator"
MISSING_BRACKET: Final = "missing closing ]"
MISSING_PARENTHESIS: Final = "missing closing )"
NESTED_REPEAT: Final = "invalid nested repetition operator"
PERL: Final = "invalid or unsupported Perl syntax"
TRAILING_BACKSLASH: Final = "trailing backslash at end of expression"


class TopicPatternError(ValueError):
    """An expression that the brokers refuse; the text is RE2/J's description."""


class NodeKind(StrEnum):
    """What a node of an expression stands for."""

    CLASS = "CLASS"
    PLACE = "PLACE"
    SEQUENCE = "SEQUENCE"
    CHOICE = "CHOICE"
    REPEAT = "REPEAT"


class PlaceKind(StrEnum):
    """A condition on the place between two characters. Names have one line, so `(?m)` changes nothing."""

    BEGINNING = "BEGINNING"
    END = "END"
    BOUNDARY = "BOUNDARY"
    NO_BOUNDARY = "NO_BOUNDARY"


class PatternNode(NamedTuple):
    """A node: the characters of `mask`, a `place`, its `parts` in turn, one of them, or the first repeated.

    `most` is ENDLESS where nothing ends a repetition.
    """

    kind: NodeKind
    mask: int = 0
    place: PlaceKind | None = None
    parts: tuple["PatternNode", ...] = ()
    least: int = 0
    most: int = 0


_SIMPLE_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_PLACES: Final = {
    "A": PlaceKind.BEGINNING, "b": PlaceKind.BOUNDARY, "B": PlaceKind.NO_BOUNDARY, "z": PlaceKind.END,
}  # fmt: skip
_REPEATS: Final = {"*": (0, ENDLESS), "+": (1, ENDLESS), "?": (0, 1)}


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


class _OpenGroup:
    """A group that is being read: the flags outside it, its finished alternatives, and the one that is read."""

    def __init__(self, ignore_case: bool, dot_newline: bool) -> None:
        self.ignore_case = ignore_case
        self.dot_newline = dot_newline
        self.alternatives: list[PatternNode] = []
        self.parts: list[PatternNode] = []

    def next_alternative(self) -> None:
        self.alternatives.append(PatternNode(NodeKind.SEQUENCE, parts=tuple(self.parts)))
        self.parts = []

    def node(self) -> PatternNode:
        self.next_alternative()
        if len(self.alternatives) == 1:
            return self.alternatives[0]
        return PatternNode(NodeKind.CHOICE, parts=tuple(self.alternatives))


class Re2Parser:
    """Reads one expression: `parse`."""

    def __init__(self, regex: str) -> None:
        self._text = regex
        self._at = 0
        self._ignore_case = False
        self._dot_newline = False
        self._names: set[str] = set()
        self._open = [_OpenGroup(False, False)]

    def parse(self) -> PatternNode:
        """The tree of the expression. Raises TopicPatternError, with RE2/J's words, at its first mistake."""
        after_repeat = False  # RE2/J refuses a repetition of a repetition only where they touch
        while self._at < len(self._text):
            after_repeat = self._next(after_repeat)
        if len(self._open) != 1:
            raise TopicPatternError(MISSING_PARENTHESIS)
        return self._open[0].node()

    def _next(self, after_repeat: bool) -> bool:
        """Read one thing; whether it was a repetition."""
        character = self._text[self._at]
        if character in _REPEATS:
            self._at += 1
            self._repeat(*_REPEATS[character], after_repeat)
            return True
        if character == "{":
            counts = self._counts()
            if counts is None:
                self._at += 1
                self._literal(ord(character))
            else:
                self._repeat(*counts, after_repeat)
            return True  # RE2/J refuses a repetition behind a brace that stands for itself, too
        if character == "(":
            self._group()
        elif character == "[":
            self._push(PatternNode(NodeKind.CLASS, self._class()))
        elif character == "\\":
            self._escape()
        else:
            self._at += 1
            self._plain(character)
        return False

    def _plain(self, character: str) -> None:
        if character == "|":
            self._open[-1].next_alternative()
        elif character == ")":
            self._close()
        elif character == "^":
            self._push(PatternNode(NodeKind.PLACE, place=PlaceKind.BEGINNING))
        elif character == "$":
            self._push(PatternNode(NodeKind.PLACE, place=PlaceKind.END))
        elif character == ".":
            self._push(PatternNode(NodeKind.CLASS, ALL if self._dot_newline else ALL & ~mask_of(10, 10)))
        else:
            self._literal(ord(character))

    def _push(self, node: PatternNode) -> None:
        self._open[-1].parts.append(node)

    def _literal(self, code: int) -> None:
        self._push(PatternNode(NodeKind.CLASS, self._range(code, code)))

    def _range(self, low: int, high: int) -> int:
        return folded(low, high) if self._ignore_case else mask_of(low, high)

    # --- groups -------------------------------------------------------------------------------------------------------

    def _group(self) -> None:
        if self._text.startswith(("(?P<", "(?<"), self._at):
            self._named_group()
        elif self._text.startswith("(?", self._at):
            self._flags()
        else:
            self._at += 1
            self._open_group()

    def _open_group(self) -> None:
        self._open.append(_OpenGroup(self._ignore_case, self._dot_newline))

    def _close(self) -> None:
        if len(self._open) == 1:
            raise TopicPatternError(INTERNAL)
        group = self._open.pop()
        self._ignore_case, self._dot_newline = group.ignore_case, group.dot_newline
        self._push(PatternNode(NodeKind.SEQUENCE, parts=(group.node(),)))

    def _named_group(self) -> None:
        begin = self._text.index("<", self._at) + 1
        end = self._text.find(">", begin)
        name = self._text[begin:end] if end >= 0 else ""
        if not name or not all(map(_is_word, name)):
            raise TopicPatternError(INVALID_NAME)
        if name in self._names:
            raise TopicPatternError(DUPLICATE_NAME)
        self._names.add(name)
        self._at = end + 1
        self._open_group()

    def _flags(self) -> None:
        """`(?i)`, `(?s-i:`. The flags m and U change no match of a whole name of one line."""
        flags = {"i": self._ignore_case, "s": self._dot_newline, "m": False, "U": False}
        value = seen = True
        for place in range(self._at + 2, len(self._text)):
            character = self._text[place]
            if character in flags:
                flags[character] = value
                seen = True
            elif character == "-" and value:
                value = seen = False
            elif character in ":)" and seen:
                self._at = place + 1
                if character == ":":
                    self._open_group()
                self._ignore_case, self._dot_newline = flags["i"], flags["s"]
                return
            else:
                break
        raise TopicPatternError(PERL)

    # --- repetitions --------------------------------------------------------------------------------------------------

    def _repeat(self, least: int, most: int, after_repeat: bool) -> None:
        if self._text.startswith("?", self._at):
            self._at += 1  # lazy or greedy: the same names match
        if after_repeat:
            raise TopicPatternError(NESTED_REPEAT)
        parts = self._open[-1].parts
        if not parts:
            raise TopicPatternError(MISSING_ARGUMENT)
        parts[-1] = PatternNode(NodeKind.REPEAT, parts=(parts[-1],), least=least, most=most)

    def _counts(self) -> tuple[int, int] | None:
        """`{2}`, `{2,}`, `{2,3}`; None, and nothing read, where the brace stands for itself."""
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_count(least) or not (_is_count(most) or not most):
            return None
        counts = int(least[:9]), int(most[:9]) if most else ENDLESS if comma else int(least[:9])
        if counts[0] > MOST_REPEATS or counts[1] > MOST_REPEATS or 0 <= counts[1] < counts[0]:
            raise TopicPatternError(INVALID_COUNT)
        self._at = end + 1
        return counts

    # --- escapes and classes ------------------------------------------------------------------------------------------

    def _escape(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "Q":
            begin = self._at + 2
            end = self._text.find("\\E", begin)
            for character in self._text[begin : end if end >= 0 else None]:
                self._literal(ord(character))
            self._at = end + 2 if end >= 0 else len(self._text)
        elif following in _PLACES:
            self._at += 2
            self._push(PatternNode(NodeKind.PLACE, place=_PLACES[following]))
        else:
            found = self._class_escape()
            if found is None:
                self._literal(self._character_escape())
            else:
                self._push(PatternNode(NodeKind.CLASS, found))

    def _class_escape(self) -> int | None:
        r"""The characters of `\d`, `\W`, `\pL`, `\P{Greek}`; None, and nothing read, for another escape."""
        kind = self._text[self._at + 1 : self._at + 2]
        if kind.lower() in PERL_CLASSES:
            self._at += 2
            mask = PERL_CLASSES[kind.lower()]
            return mask if kind.islower() else ALL & ~mask
        if kind not in {"p", "P"}:
            return None
        name = self._text[self._at + 2 : self._at + 3]
        end = self._at + 3
        if name == "{":
            closing = self._text.find("}", end)
            name = self._text[end:closing] if closing >= 0 else ""
            end = closing + 1
        negated = (kind == "P") is not name.startswith("^")
        found = unicode_class(name.removeprefix("^"), self._ignore_case)
        if found is None:
            raise TopicPatternError(INVALID_CLASS)
        self._at = end
        return ALL & ~found if negated else found

    def _character_escape(self) -> int:
        r"""The code point of an escape such as `\.`, `\t`, `\012` or `\x{2d}`."""
        self._at += 1
        if self._at == len(self._text):
            raise TopicPatternError(TRAILING_BACKSLASH)
        character = self._text[self._at]
        self._at += 1
        if character in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[character]
        if character == "x":
            return self._hexadecimal()
        if character in "01234567":
            octal = character
            while len(octal) < 3 and self._text[self._at : self._at + 1] in tuple("01234567"):
                octal += self._text[self._at]
                self._at += 1
            if character == "0" or len(octal) > 1:
                return int(octal, 8)
        if character.isascii() and character.isalnum():
            raise TopicPatternError(INVALID_ESCAPE)
        return ord(character)

    def _hexadecimal(self) -> int:
        end = self._at + 2
        digits = self._text[self._at : end]
        if digits.startswith("{"):
            end = self._text.find("}", self._at) + 1
            digits = self._text[self._at + 1 : end - 1] if end else ""
        elif len(digits) < 2:
            digits = ""
        if not digits or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise TopicPatternError(INVALID_ESCAPE)
        code = int(digits, 16)
        if code > LARGEST_CODE_POINT:
            raise TopicPatternError(INVALID_ESCAPE)
        self._at = end
        return code

    def _class(self) -> int:
        """The characters of `[…]`."""
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        mask, first = 0, True
        while first or not self._text.startswith("]", self._at):
            first = False
            named = self._posix_class() if self._text.startswith("[:", self._at) else None
            if named is None and self._text.startswith("\\", self._at):
                named = self._class_escape()
            mask |= self._class_range() if named is None else named
        self._at += 1
        return ALL & ~mask if negated else mask

    def _posix_class(self) -> int | None:
        """The characters of `[:alpha:]`, `[:^digit:]`; None, and nothing read, where no `:]` follows."""
        end = self._text.find(":]", self._at)
        if end < 0:
            return None
        name = self._text[self._at + 2 : max(end, self._at + 2)]
        mask = POSIX_CLASSES.get(name.removeprefix("^"))
        if mask is None:
            raise TopicPatternError(INVALID_CLASS)
        self._at = end + 2
        if self._ignore_case:
            mask = with_both_cases(mask)
        return ALL & ~mask if name.startswith("^") else mask

    def _class_range(self) -> int:
        low = high = self._class_character()
        following = self._text[self._at : self._at + 2]
        if following.startswith("-") and following != "-]":
            self._at += 1
            high = self._class_character()
            if high < low:
                raise TopicPatternError(INVALID_CLASS)
        return self._range(low, high)

    def _class_character(self) -> int:
        if self._at >= len(self._text):
            raise TopicPatternError(MISSING_BRACKET)
        if self._text[self._at] == "\\":
            return self._character_escape()
        self._at += 1
        return ord(self._text[self._at - 1])


def _is_count(digits: str) -> bool:
    """Whether RE2/J reads it as a number: without leading zeros."""
    return digits.isascii() and digits.isdigit() and (len(digits) == 1 or digits[0] != "0")
